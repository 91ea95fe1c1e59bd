#include "base/assert.h"
#include "cluster/model/filter_impl.h"

/* One cell through the program. The steps form a loop; only fan-outs recurse, at most as deep as
 * the program has of them.
 *
 * Hints travel back: a step that will let nothing more of the column or row through says so, and a
 * fan-out passes on the weakest of its branches' hints. A count over the whole row must see every
 * cell, so behind one only SKIP_ROW is believed. */

/* What a step that only looks at the cell says about it. */
enum verdict { PASS, DROP_CELL, DROP_COLUMN, DROP_ROW };

static enum verdict
judge(struct at_filter_run *run, const struct filter_step *s, const struct at_cell *cell);

static enum at_filter_next skip(enum verdict v)
{
    return v == DROP_ROW      ? AT_FILTER_SKIP_ROW
           : v == DROP_COLUMN ? AT_FILTER_SKIP_COLUMN
                              : AT_FILTER_NEXT_CELL;
}

static bool change(struct at_buf *last, struct at_slice now)
{
    if (at_slice_eq(at_buf_slice(last), now))
        return false;
    at_buf_clear(last);
    enum at_code code = at_buf_append(last, now);
    AT_ASSERT(code == AT_OK); /* the buffer's maximum is above what the engine can hold */
    return true;
}

enum at_filter_next
at_filter_feed(struct at_filter_run *run, uint32_t pc, const struct at_cell *cell)
{
    if (run->filter->tracks_columns) {
        bool family = change(&run->family, cell->family);
        bool qualifier = change(&run->qualifier, cell->qualifier);
        run->family_epoch += family;
        run->column_epoch += family || qualifier;
    }
    run->copy_count = 0;
    return at_filter_exec(run, pc, cell);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as interleaves nest, which at_filter_check has bounded.
 */

static enum at_filter_next
fan(struct at_filter_run *run, const struct filter_step *s, const struct at_cell *cell)
{
    const uint32_t *branches = run->filter->branches + s->first;
    enum at_filter_next weakest = AT_FILTER_SKIP_ROW;

    run->copy_count += s->count;
    if (run->copy_count > FILTER_COPIES_MAX)
        run->code = AT_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < s->count && run->code == AT_OK; i++) {
        enum at_filter_next hint = at_filter_exec(run, branches[i], cell);
        weakest = hint < weakest ? hint : weakest;
    }
    return weakest;
}

static void mark(struct at_filter_run *run, const struct filter_step *s)
{
    if (s->level == run->pass && !run->conds[s->index]) {
        run->conds[s->index] = true;
        run->undecided--;
    }
}

/* route returns the step that follows a condition. Before its own pass the predicate is run for
 * the sake of conditions inside it. */
static uint32_t route(const struct at_filter_run *run, const struct filter_step *s)
{
    if (run->pass <= s->level)
        return s->next;
    return run->conds[s->index] ? s->first : s->count;
}

static struct filter_counter *
counter(struct at_filter_run *run, const struct filter_step *s, uint64_t epoch)
{
    struct filter_counter *c = &run->counters[s->index];

    if (c->epoch != epoch)
        *c = (struct filter_counter){.epoch = epoch};
    return c;
}

/* How a cell stands with an offset or limit, which counts it. */
enum tally { TALLY_PASS, TALLY_LAST, TALLY_DROP, TALLY_SPENT };

static enum tally tally(struct at_filter_run *run, const struct filter_step *s)
{
    bool by_column = s->op == FILTER_COLUMN_LIMIT;
    struct filter_counter *c = counter(run, s, by_column ? run->column_epoch : 0);
    uint64_t number = (uint64_t)s->node->number;

    if (s->op == FILTER_ROW_OFFSET) {
        if (c->count == number)
            return TALLY_PASS;
        c->count++;
        return TALLY_DROP;
    }
    if (c->count == number)
        return TALLY_SPENT;
    c->count++;
    return c->count == number ? TALLY_LAST : TALLY_PASS;
}

/* at_filter_exec keeps in `least` what is known of the path behind the cell, and in `counted` that
 * the path has counted it for the row. */
enum at_filter_next
at_filter_exec(struct at_filter_run *run, uint32_t pc, const struct at_cell *cell)
{
    enum at_filter_next least = AT_FILTER_NEXT_CELL;
    enum at_filter_next hint = AT_FILTER_NEXT_CELL;
    bool counted = false;
    struct at_cell changed;

    for (;;) {
        const struct filter_step *s = &run->filter->steps[pc];
        enum verdict verdict;
        pc = s->next;
        if (s->op == FILTER_EMIT) {
            if (run->emitting)
                run->emit(run->ctx, cell);
            break;
        }
        if (s->op == FILTER_ROW_OFFSET || s->op == FILTER_ROW_LIMIT ||
            s->op == FILTER_COLUMN_LIMIT) {
            enum at_filter_next spent =
                s->op == FILTER_COLUMN_LIMIT ? AT_FILTER_SKIP_COLUMN : AT_FILTER_SKIP_ROW;
            enum tally t = tally(run, s);
            if (t == TALLY_LAST && spent > least && !(counted && spent != AT_FILTER_SKIP_ROW))
                least = spent;
            if (t == TALLY_SPENT)
                hint = spent;
            if (t == TALLY_SPENT || t == TALLY_DROP)
                break;
            counted |= s->op != FILTER_COLUMN_LIMIT;
        } else if (s->op == FILTER_STRIP || s->op == FILTER_LABEL) {
            changed = *cell;
            cell = &changed;
            if (s->op == FILTER_STRIP)
                changed.value = at_slice_make("", 0);
            else
                changed.label = s->node->bytes;
        } else if (s->op == FILTER_FAN) {
            hint = fan(run, s, cell);
            break;
        } else if (s->op == FILTER_BUFFER) {
            hint = at_filter_keep(run, cell);
            break;
        } else if (s->op == FILTER_COND) {
            pc = route(run, s);
        } else if (s->op == FILTER_MARK) {
            mark(run, s);
            break;
        } else if ((verdict = judge(run, s, cell)) != PASS) {
            hint = skip(verdict);
            break;
        }
    }
    if (hint == AT_FILTER_SKIP_COLUMN && counted)
        hint = AT_FILTER_NEXT_CELL;
    return hint > least ? hint : least;
}

/* NOLINTEND(misc-no-recursion) */

/* matches asks a regex about what the epoch stands for, once. */
static bool matches(struct at_filter_run *run,
                    const struct filter_step *s,
                    uint64_t epoch,
                    struct at_slice text)
{
    struct filter_cache *c = &run->caches[s->index];

    if (c->epoch != epoch)
        *c = (struct filter_cache){epoch, at_regex_matches(s->regex, text)};
    return c->matches;
}

static bool below(const struct at_filter_bound *start, struct at_slice bytes)
{
    if (!start->set)
        return false;
    int c = at_slice_cmp(bytes, start->bytes);
    return c < 0 || (c == 0 && start->open);
}

static bool above(const struct at_filter_bound *end, struct at_slice bytes)
{
    if (!end->set || (end->open && end->bytes.len == 0))
        return false;
    int c = at_slice_cmp(bytes, end->bytes);
    return c > 0 || (c == 0 && end->open);
}

static enum verdict judge_family(struct at_slice family, struct at_slice wanted)
{
    int c = at_slice_cmp(family, wanted);

    return c == 0 ? PASS : c < 0 ? DROP_COLUMN : DROP_ROW; /* families come in order */
}

static enum verdict judge_column_range(const struct filter_step *s, const struct at_cell *cell)
{
    enum verdict v = judge_family(cell->family, s->bytes);

    if (v != PASS)
        return v;
    if (below(&s->node->start, cell->qualifier))
        return DROP_COLUMN;
    return above(&s->node->end, cell->qualifier) ? DROP_ROW : PASS;
}

static enum verdict judge_timestamp(const struct at_filter_node *n, int64_t micros)
{
    if (micros < n->start_micros && n->start_micros != 0)
        return DROP_COLUMN; /* older ones follow */
    return n->end_micros != 0 && micros >= n->end_micros ? DROP_CELL : PASS;
}

static bool mask_matches(struct at_slice mask, struct at_slice value)
{
    if (mask.len != value.len)
        return false;
    for (size_t i = 0; i < mask.len; i++) {
        if ((value.data[i] & mask.data[i]) != mask.data[i])
            return false;
    }
    return true;
}

static enum verdict
judge(struct at_filter_run *run, const struct filter_step *s, const struct at_cell *cell)
{
    switch (s->op) {
    case FILTER_DROP:
        return DROP_ROW;
    case FILTER_SAMPLE:
    case FILTER_ROW_LITERAL:
    case FILTER_ROW_REGEX:
        return run->row_passes[s->index] ? PASS : DROP_ROW;
    case FILTER_FAMILY_LITERAL:
        return judge_family(cell->family, s->bytes);
    case FILTER_FAMILY_REGEX:
        return matches(run, s, run->family_epoch, cell->family) ? PASS : DROP_COLUMN;
    case FILTER_QUALIFIER_LITERAL:
        return at_slice_eq(cell->qualifier, s->bytes) ? PASS : DROP_COLUMN;
    case FILTER_QUALIFIER_REGEX:
        return matches(run, s, run->column_epoch, cell->qualifier) ? PASS : DROP_COLUMN;
    case FILTER_COLUMN_RANGE:
        return judge_column_range(s, cell);
    case FILTER_TIMESTAMP_RANGE:
        return judge_timestamp(s->node, cell->timestamp_micros);
    case FILTER_VALUE_LITERAL:
        return at_slice_eq(cell->value, s->bytes) ? PASS : DROP_CELL;
    case FILTER_VALUE_REGEX:
        return at_regex_matches(s->regex, cell->value) ? PASS : DROP_CELL;
    case FILTER_VALUE_RANGE:
        return below(&s->node->start, cell->value) || above(&s->node->end, cell->value) ? DROP_CELL
                                                                                        : PASS;
    case FILTER_VALUE_BITMASK:
        return mask_matches(s->bytes, cell->value) ? PASS : DROP_CELL;
    case FILTER_EMIT:
    case FILTER_FAN:
    case FILTER_COND:
    case FILTER_MARK:
    case FILTER_BUFFER:
    case FILTER_ROW_OFFSET:
    case FILTER_ROW_LIMIT:
    case FILTER_COLUMN_LIMIT:
    case FILTER_STRIP:
    case FILTER_LABEL:
        break;
    }
    return DROP_ROW; /* at_filter_exec takes these itself */
}
