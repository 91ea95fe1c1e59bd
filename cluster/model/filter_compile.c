#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/model/filter_impl.h"

/* From the tree to the program, back to front: a filter is compiled when what follows it already
 * is, so that `next` is known and lower. Passing everything then needs no step at all.
 *
 * Each level of conditions costs one more pass over the row; what the passes of one row may take
 * together is bounded by WORK_MAX steps a cell. */

#define WORK_MAX 1000000

enum { PC_EMIT = 0, PC_DROP = 1 };

static enum at_code
compile_root(struct at_filter *f, const struct at_filter_node *root, struct at_error *reterr);
static enum at_code compile(struct at_filter *f,
                            const struct at_filter_node *n,
                            uint32_t next,
                            uint32_t *ret_entry,
                            struct at_error *reterr);
static enum at_code analyse(struct at_filter *f, struct at_error *reterr);

enum at_code at_filter_compile(const struct at_filter_node *root,
                               struct at_filter **ret_filter,
                               struct at_error *reterr)
{
    AT_TRY(at_filter_check(root, reterr));

    AT_CLEANUP(at_filter_free) struct at_filter *f = AT_NEW(struct at_filter);
    AT_TRY(compile_root(f, root, reterr));
    AT_TRY(analyse(f, reterr));
    AT_CLEANUP(at_free_ptr) uint8_t *alive = at_alloc(f->step_count);
    f->blocked = !at_filter_sweep(f, NULL, NULL, alive);
    *ret_filter = AT_TAKE(f);
    return AT_OK;
}

void at_filter_free(struct at_filter **filter)
{
    struct at_filter *f = *filter;

    if (f == NULL)
        return;
    for (uint32_t i = 0; i < f->step_count; i++) {
        if (f->steps[i].regex != NULL)
            at_regex_free(&f->steps[i].regex);
    }
    at_free(f->steps);
    at_free(f->branches);
    at_free(f);
    *filter = NULL;
}

static uint32_t add(struct at_filter *f, struct filter_step step)
{
    if (f->step_count == f->step_cap) {
        f->step_cap = f->step_cap ? 2 * f->step_cap : 8;
        f->steps = at_realloc(f->steps, f->step_cap * sizeof(f->steps[0]));
    }
    AT_ASSERT(f->step_count <= PC_DROP || step.next < f->step_count);
    f->steps[f->step_count] = step;
    return f->step_count++;
}

/* contains tells whether a node of the kind is in the tree. */
/* NOLINTNEXTLINE(misc-no-recursion): at_filter_check has bounded the depth of the tree. */
static bool contains(const struct at_filter_node *n, enum at_filter_kind kind)
{
    if (n == NULL)
        return false;
    if (n->kind == kind)
        return true;
    for (uint32_t i = 0; i < n->child_count; i++) {
        if (contains(n->children[i], kind))
            return true;
    }
    return false;
}

/* compile_part compiles children [from, to) of a chain. */
/* NOLINTNEXTLINE(misc-no-recursion): at_filter_check has bounded the depth of the tree. */
static enum at_code compile_part(struct at_filter *f,
                                 const struct at_filter_node *chain,
                                 uint32_t from,
                                 uint32_t to,
                                 uint32_t *next,
                                 struct at_error *reterr)
{
    for (uint32_t i = to; i-- > from;)
        AT_TRY(compile(f, chain->children[i], *next, next, reterr));
    return AT_OK;
}

/* head_count: how many filters of a root chain come before the first condition, and so need not
 * wait for the end of the row. A sink among them would put out too early. */
static uint32_t head_count(const struct at_filter_node *chain)
{
    uint32_t count = 0;

    while (!contains(chain->children[count], AT_FILTER_CONDITION)) {
        if (contains(chain->children[count], AT_FILTER_SINK))
            return 0;
        count++;
    }
    return count;
}

static enum at_code
compile_root(struct at_filter *f, const struct at_filter_node *root, struct at_error *reterr)
{
    uint32_t next = add(f, (struct filter_step){.op = FILTER_EMIT});

    add(f, (struct filter_step){.op = FILTER_DROP});
    f->entry = next;
    if (root == NULL)
        return AT_OK;
    f->buffered = contains(root, AT_FILTER_CONDITION);
    if (!f->buffered)
        return compile(f, root, next, &f->entry, reterr);

    uint32_t head = 0;
    if (root->kind == AT_FILTER_CHAIN) {
        head = head_count(root);
        AT_TRY(compile_part(f, root, head, root->child_count, &next, reterr));
    } else {
        AT_TRY(compile(f, root, next, &next, reterr));
    }
    f->body = next;
    f->entry = add(f, (struct filter_step){.op = FILTER_BUFFER, .next = next});
    return head > 0 ? compile_part(f, root, 0, head, &f->entry, reterr) : AT_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): at_filter_check has bounded the depth of the tree. */
static enum at_code compile_interleave(struct at_filter *f,
                                       const struct at_filter_node *n,
                                       uint32_t next,
                                       uint32_t *ret_entry,
                                       struct at_error *reterr)
{
    AT_CLEANUP(at_free_ptr) uint32_t *entries = at_alloc(n->child_count * sizeof(*entries));
    for (uint32_t i = n->child_count; i-- > 0;)
        AT_TRY(compile(f, n->children[i], next, &entries[i], reterr));

    uint32_t first = f->branch_count;
    if (first + n->child_count > f->branch_cap) {
        f->branch_cap = 2 * (first + n->child_count);
        f->branches = at_realloc(f->branches, f->branch_cap * sizeof(*entries));
    }
    memcpy(f->branches + first, entries, n->child_count * sizeof(*entries));
    f->branch_count += n->child_count;
    *ret_entry =
        add(f, (struct filter_step){.op = FILTER_FAN, .first = first, .count = n->child_count});
    return AT_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): at_filter_check has bounded the depth of the tree. */
static enum at_code compile_condition(struct at_filter *f,
                                      const struct at_filter_node *n,
                                      uint32_t next,
                                      uint32_t *ret_entry,
                                      struct at_error *reterr)
{
    struct filter_step step = {.op = FILTER_MARK, .first = PC_DROP, .count = PC_DROP};

    step.index = f->cond_count++;
    if (n->children[1] != NULL)
        AT_TRY(compile(f, n->children[1], next, &step.first, reterr));
    if (n->children[2] != NULL)
        AT_TRY(compile(f, n->children[2], next, &step.count, reterr));
    uint32_t mark = add(f, step);
    step.op = FILTER_COND;
    AT_TRY(compile(f, n->children[0], mark, &step.next, reterr));
    *ret_entry = add(f, step);
    return AT_OK;
}

/* compile_regex: a pattern that is one string becomes a comparison. */
static enum at_code compile_regex(struct at_filter *f,
                                  const struct at_filter_node *n,
                                  struct filter_step step,
                                  uint32_t *ret_entry,
                                  struct at_error *reterr)
{
    bool cached = step.op == FILTER_FAMILY_REGEX || step.op == FILTER_QUALIFIER_REGEX;
    enum at_code code = at_regex_new(n->bytes, &step.regex, reterr);

    if (code != AT_OK) {
        static const char *const fields[] = {
            [AT_FILTER_ROW_KEY_REGEX] = "row_key_regex_filter",
            [AT_FILTER_FAMILY_REGEX] = "family_name_regex_filter",
            [AT_FILTER_QUALIFIER_REGEX] = "column_qualifier_regex_filter",
            [AT_FILTER_VALUE_REGEX] = "value_regex_filter",
        };
        return at_wrap(reterr, code, "Error in field '%s' ", fields[n->kind]);
    }
    if (at_regex_literal(step.regex, &step.bytes))
        step.op =
            (enum filter_op)(step.op - 1); /* see filter_op: each literal precedes its regex */
    else if (cached)
        step.index = f->cache_count++;
    if (n->kind == AT_FILTER_ROW_KEY_REGEX)
        step.index = f->row_count++;
    *ret_entry = add(f, step);
    return AT_OK;
}

static enum at_code compile_simple(struct at_filter *f,
                                   struct filter_step step,
                                   uint32_t *index_count,
                                   uint32_t *ret_entry)
{
    step.bytes = step.node->bytes;
    if (index_count != NULL)
        step.index = (*index_count)++;
    *ret_entry = add(f, step);
    return AT_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): at_filter_check has bounded the depth of the tree. */
static enum at_code compile(struct at_filter *f,
                            const struct at_filter_node *n,
                            uint32_t next,
                            uint32_t *ret_entry,
                            struct at_error *reterr)
{
#define STEP(op_) ((struct filter_step){.op = (op_), .next = next, .node = n})
    switch (n->kind) {
    case AT_FILTER_PASS_ALL:
        *ret_entry = next;
        return AT_OK;
    case AT_FILTER_BLOCK_ALL:
        *ret_entry = PC_DROP;
        return AT_OK;
    case AT_FILTER_SINK:
        *ret_entry = PC_EMIT;
        return AT_OK;
    case AT_FILTER_CHAIN:
        *ret_entry = next;
        return compile_part(f, n, 0, n->child_count, ret_entry, reterr);
    case AT_FILTER_INTERLEAVE:
        return compile_interleave(f, n, next, ret_entry, reterr);
    case AT_FILTER_CONDITION:
        return compile_condition(f, n, next, ret_entry, reterr);
    case AT_FILTER_ROW_KEY_REGEX:
        return compile_regex(f, n, STEP(FILTER_ROW_REGEX), ret_entry, reterr);
    case AT_FILTER_FAMILY_REGEX:
        return compile_regex(f, n, STEP(FILTER_FAMILY_REGEX), ret_entry, reterr);
    case AT_FILTER_QUALIFIER_REGEX:
        return compile_regex(f, n, STEP(FILTER_QUALIFIER_REGEX), ret_entry, reterr);
    case AT_FILTER_VALUE_REGEX:
        return compile_regex(f, n, STEP(FILTER_VALUE_REGEX), ret_entry, reterr);
    case AT_FILTER_ROW_SAMPLE:
        return compile_simple(f, STEP(FILTER_SAMPLE), &f->row_count, ret_entry);
    case AT_FILTER_COLUMN_RANGE:
        return compile_simple(f, STEP(FILTER_COLUMN_RANGE), NULL, ret_entry);
    case AT_FILTER_TIMESTAMP_RANGE:
        return compile_simple(f, STEP(FILTER_TIMESTAMP_RANGE), NULL, ret_entry);
    case AT_FILTER_VALUE_RANGE:
        return compile_simple(f, STEP(FILTER_VALUE_RANGE), NULL, ret_entry);
    case AT_FILTER_CELLS_PER_ROW_OFFSET:
        return compile_simple(f, STEP(FILTER_ROW_OFFSET), &f->counter_count, ret_entry);
    case AT_FILTER_CELLS_PER_ROW_LIMIT:
        return compile_simple(f, STEP(FILTER_ROW_LIMIT), &f->counter_count, ret_entry);
    case AT_FILTER_CELLS_PER_COLUMN_LIMIT:
        f->tracks_columns = true;
        return compile_simple(f, STEP(FILTER_COLUMN_LIMIT), &f->counter_count, ret_entry);
    case AT_FILTER_STRIP_VALUE:
        return compile_simple(f, STEP(FILTER_STRIP), NULL, ret_entry);
    case AT_FILTER_APPLY_LABEL:
        return compile_simple(f, STEP(FILTER_LABEL), NULL, ret_entry);
    case AT_FILTER_VALUE_BITMASK:
        return compile_simple(f, STEP(FILTER_VALUE_BITMASK), NULL, ret_entry);
    }
#undef STEP
    return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'filter' : unknown filter");
}

/* raise notes that conditions of `level` stand before the step. */
static void raise(uint32_t *level, uint32_t to)
{
    *level = to > *level ? to : *level;
}

/* pass_on raises what follows step `pc`. A mark is below all steps of its predicate and above both
 * branches, so levels are known when they are needed. A predicate that cannot reach its mark leaves
 * the condition at level 1: it is false from the first pass on. */
static void pass_on(struct at_filter *f, uint32_t pc, uint32_t *levels)
{
    struct filter_step *s = &f->steps[pc];
    uint32_t level = levels[pc];

    switch ((int)s->op) {
    case FILTER_EMIT:
    case FILTER_DROP:
        break;
    case FILTER_FAN:
        for (uint32_t i = 0; i < s->count; i++)
            raise(&levels[f->branches[s->first + i]], level);
        break;
    case FILTER_MARK:
        level = s->level = level + 1;
        raise(&f->level_max, level);
        raise(&levels[s->first], level);
        raise(&levels[s->count], level);
        break;
    case FILTER_COND:
        raise(&levels[s->first], level);
        raise(&levels[s->count], level);
        raise(&levels[s->next], level);
        break;
    default:
        raise(&levels[s->next], level);
        break;
    }
}

/* analyse finds the levels of the conditions. */
static enum at_code analyse(struct at_filter *f, struct at_error *reterr)
{
    AT_CLEANUP(at_free_ptr) uint32_t *levels = at_alloc(f->step_count * sizeof(*levels));
    AT_CLEANUP(at_free_ptr) uint32_t *by_cond = at_alloc(f->cond_count * sizeof(*by_cond));

    f->tracks_columns |= f->cache_count > 0;
    for (uint32_t pc = f->step_count; pc-- > 0;) {
        pass_on(f, pc, levels);
        if (f->steps[pc].op == FILTER_MARK)
            by_cond[f->steps[pc].index] = f->steps[pc].level;
    }
    for (uint32_t pc = 0; pc < f->step_count; pc++) {
        if (f->steps[pc].op == FILTER_COND)
            f->steps[pc].level = by_cond[f->steps[pc].index];
    }
    if ((uint64_t)f->step_count * f->level_max > WORK_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'condition' : too many conditions follow each other");
    return AT_OK;
}
