#include "property/program.h"

#include "base/bytes.h"

/* Few rows, columns, timestamps and values, so that operations meet each other; each pool holds
 * what breaks encodings: bytes 00 and FF, the empty string, keys that are prefixes of others. */

struct gen {
    struct at_prng prng;
    struct at_arena *arena;
    /* Most picks of a program are one of two, or always the same. */
    uint32_t focus;
    uint32_t focus_count;
    bool rules; /* families with rules are used */
    uint64_t seed;
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PICK(g, pool) ((pool)[below((g), COUNT(pool))])
#define PICK_NEAR(g, pool) ((pool)[near((g), (uint32_t)COUNT(pool))])

static const struct at_slice rows[] = {
    AT_LIT_INIT("a"),     AT_LIT_INIT("a\0"),      AT_LIT_INIT("a\0b"),
    AT_LIT_INIT("a\xff"), AT_LIT_INIT("b"),        AT_LIT_INIT("\0"),
    AT_LIT_INIT("\xff"),  AT_LIT_INIT("\xff\xff"), AT_LIT_INIT("a\0\xff"),
};
static const struct at_slice qualifiers[] = {
    AT_LIT_INIT(""),     AT_LIT_INIT("a"),  AT_LIT_INIT("a\0"),
    AT_LIT_INIT("\xff"), AT_LIT_INIT("\0"), AT_LIT_INIT("b"),
};
static const struct at_slice values[] = {
    AT_LIT_INIT(""),     AT_LIT_INIT("a"),  AT_LIT_INIT("b"),
    AT_LIT_INIT("ab"),   AT_LIT_INIT("\n"), AT_LIT_INIT("\0\0\0\0\0\0\0\x05"),
    AT_LIT_INIT("\xff"), AT_LIT_INIT("\0"), AT_LIT_INIT("\x7f\xff\xff\xff\xff\xff\xff\xff"),
};
static const int64_t timestamps[] = {
    0, 1000, 2000, 3000, AT_TIMESTAMP_SERVER, PROGRAM_NOW_MICROS, PROGRAM_FUTURE_MICROS,
};
static const int64_t bounds[] = {
    0, 0, 1000, 1001, 2000, 3000, 3001, PROGRAM_NOW_MICROS, PROGRAM_NOW_MICROS + 1000,
};
static const char *const plain[] = {"f", "g"};
static const char *const aggregates[] = {"sum", "max", "min"};
static const char *const ruled[] = {"two", "any", "aged", "both"};

static uint32_t below(struct gen *g, uint64_t n)
{
    return (uint32_t)at_prng_below(&g->prng, n);
}

static bool one_in(struct gen *g, uint32_t n)
{
    return below(g, n) == 0;
}

static uint32_t near(struct gen *g, uint32_t n)
{
    return one_in(g, 4) ? below(g, n) : (g->focus + below(g, g->focus_count)) % n;
}

static struct at_slice pick_row(struct gen *g)
{
    return one_in(g, 150) ? at_slice_make(NULL, 0) : PICK_NEAR(g, rows);
}

static struct at_slice pick_plain(struct gen *g)
{
    return at_slice_cstr(g->rules && one_in(g, 2) ? PICK_NEAR(g, ruled) : PICK_NEAR(g, plain));
}

static struct at_slice pick_aggregate(struct gen *g)
{
    if (one_in(g, 6))
        return AT_LIT("hll");
    return at_slice_cstr(g->rules && one_in(g, 4) ? "top" : PICK_NEAR(g, aggregates));
}

static struct at_slice pick_family(struct gen *g)
{
    if (one_in(g, 80))
        return AT_LIT("zz");
    return one_in(g, 3) ? pick_aggregate(g) : pick_plain(g);
}

/* --- filters --- */

static struct at_filter_bound pick_bound(struct gen *g, const struct at_slice *pool, size_t count)
{
    return (struct at_filter_bound){
        .set = !one_in(g, 3), .open = one_in(g, 2), .bytes = pool[below(g, count)]};
}

static void order_bounds(struct gen *g, struct at_filter_node *n)
{
    struct at_filter_bound start = n->start;

    if (at_slice_cmp(n->start.bytes, n->end.bytes) > 0 && !one_in(g, 20)) {
        n->start.bytes = n->end.bytes;
        n->end.bytes = start.bytes;
    }
}

static void make_leaf(struct gen *g, struct at_filter_node *n)
{
    static const char *const row_regexes[] = {"a", "a.*", "\\C*", "[ab]", "a\\x00\\C?", "\\xff+"};
    static const char *const families[] = {"f", "g|sum", "m.*|f", ".*", "[gs].*", "(max|g)?", "g"};
    static const char *const qualifier_regexes[] = {"",      "a", "a?",   "\\x00|b",
                                                    "a\\C*", ".", "\\xff"};
    static const char *const value_regexes[] = {"",     "a|b",         "a+b?", ".*",
                                                "\\C*", "\\x00*\\x05", "[^a]", "(ab|a)*"};
    static const struct at_slice masks[] = {AT_LIT_INIT("\x01"), AT_LIT_INIT(""), AT_LIT_INIT("a"),
                                            AT_LIT_INIT("\0\0\0\0\0\0\0\1")};

    n->number = (one_in(g, 2) ? 1 : (int64_t)below(g, 4) + 1) - (one_in(g, 60) ? 2 : 0);
    n->start_micros = PICK(g, bounds);
    n->end_micros = PICK(g, bounds);
    if (n->end_micros != 0 && n->start_micros > n->end_micros && !one_in(g, 20))
        n->end_micros = n->start_micros;
    n->probability = 0.5;
    if (n->kind == AT_FILTER_ROW_KEY_REGEX)
        n->bytes = at_slice_cstr(one_in(g, 100) ? "(" : PICK(g, row_regexes));
    else if (n->kind == AT_FILTER_FAMILY_REGEX)
        n->bytes = at_slice_cstr(one_in(g, 40) ? "zz" : PICK(g, families));
    else if (n->kind == AT_FILTER_COLUMN_RANGE)
        n->bytes = one_in(g, 60) ? at_slice_make(NULL, 0) : pick_family(g);
    else if (n->kind == AT_FILTER_QUALIFIER_REGEX)
        n->bytes = at_slice_cstr(PICK(g, qualifier_regexes));
    else if (n->kind == AT_FILTER_VALUE_REGEX)
        n->bytes = at_slice_cstr(PICK(g, value_regexes));
    else if (n->kind == AT_FILTER_APPLY_LABEL)
        n->bytes = at_slice_cstr(one_in(g, 60) ? "L" : one_in(g, 2) ? "l" : "m-1");
    else if (n->kind == AT_FILTER_VALUE_BITMASK)
        n->bytes = PICK(g, masks);
    if (n->kind == AT_FILTER_COLUMN_RANGE || n->kind == AT_FILTER_VALUE_RANGE) {
        bool column = n->kind == AT_FILTER_COLUMN_RANGE;
        n->start =
            pick_bound(g, column ? qualifiers : values, column ? COUNT(qualifiers) : COUNT(values));
        n->end =
            pick_bound(g, column ? qualifiers : values, column ? COUNT(qualifiers) : COUNT(values));
        order_bounds(g, n);
    }
}

/* What the place of a node allows, so that most filters are legal. */
struct place {
    uint32_t *budget;
    bool in_condition; /* no sinks */
    bool labels;       /* may still be given */
    bool sample;       /* may still be used: a result then is one of two */
};

static enum at_filter_kind leaf_kind(struct gen *g, struct place *place)
{
    enum at_filter_kind kind = (enum at_filter_kind)(
        AT_FILTER_ROW_KEY_REGEX + below(g, AT_FILTER_VALUE_BITMASK - AT_FILTER_ROW_KEY_REGEX + 1));

    if (one_in(g, 4)) /* what counts is what goes wrong */
        return (enum at_filter_kind)(AT_FILTER_CELLS_PER_ROW_OFFSET + below(g, 3));
    if (one_in(g, 8))
        return one_in(g, 4) ? AT_FILTER_BLOCK_ALL : AT_FILTER_PASS_ALL;
    if (one_in(g, 12) && (!place->in_condition || one_in(g, 30)))
        return AT_FILTER_SINK;
    if (kind == AT_FILTER_APPLY_LABEL && !place->labels && !one_in(g, 30))
        return AT_FILTER_STRIP_VALUE;
    if (kind == AT_FILTER_ROW_SAMPLE && !place->sample)
        return AT_FILTER_VALUE_REGEX;
    if (kind == AT_FILTER_ROW_SAMPLE)
        place->sample = false;
    return kind;
}

static struct at_filter_node *make_filter(struct gen *g, struct place *place)
{
    struct at_filter_node *n = AT_ARENA_NEW(g->arena, struct at_filter_node);
    struct place below_it = *place;
    uint32_t roll = below(g, 32);

    *place->budget -= *place->budget > 0;
    if (*place->budget == 0 || roll >= 16) {
        n->kind = leaf_kind(g, place);
        make_leaf(g, n);
        return n;
    }
    n->kind = roll < 8 ? AT_FILTER_CHAIN : roll < 13 ? AT_FILTER_INTERLEAVE : AT_FILTER_CONDITION;
    n->child_count = n->kind == AT_FILTER_CONDITION ? 3 : 2 + below(g, 2) - one_in(g, 80);
    n->children = AT_ARENA_ARRAY(g->arena, struct at_filter_node *, n->child_count);
    below_it.in_condition |= n->kind == AT_FILTER_CONDITION;
    uint32_t labelled = below(g, n->child_count);
    for (uint32_t i = 0; i < n->child_count; i++) {
        if (n->kind == AT_FILTER_CONDITION && i > 0 && one_in(g, 5))
            continue;
        below_it.labels = place->labels && (n->kind == AT_FILTER_CHAIN ? i == labelled : i > 0);
        if (n->kind == AT_FILTER_INTERLEAVE)
            below_it.labels = place->labels;
        n->children[i] = make_filter(g, &below_it);
    }
    place->sample = below_it.sample;
    return n;
}

static struct at_filter_node *pick_filter(struct gen *g, bool sample)
{
    uint32_t budget = 1 + below(g, 10);
    struct place place = {&budget, false, true, sample};

    return make_filter(g, &place);
}

/* --- writes --- */

static struct at_slice number_value(struct gen *g)
{
    static const int64_t numbers[] = {0, 1, -1, 5, 7, -300, INT64_MAX, INT64_MIN};
    uint8_t *bytes = at_arena_alloc(g->arena, 8);

    at_put_be64(bytes, (uint64_t)PICK(g, numbers));
    return at_slice_make(bytes, 8);
}

static struct at_mutation make_mutation(struct gen *g)
{
    struct at_mutation m = {.family = pick_plain(g),
                            .qualifier = PICK_NEAR(g, qualifiers),
                            .timestamp_micros = PICK(g, timestamps)};
    uint32_t roll = below(g, 32);

    if (roll < 14) {
        m.kind = AT_MUTATION_SET;
        m.value = PICK(g, values);
    } else if (roll < 22) {
        m.kind = one_in(g, 4) ? AT_MUTATION_MERGE : AT_MUTATION_ADD;
        m.value = number_value(g);
        if (m.kind == AT_MUTATION_MERGE && one_in(g, 8))
            m.value = at_slice_make(NULL, 0); /* nothing */
        m.family = pick_aggregate(g);
        if (at_slice_eq_cstr(m.family, "hll") && m.kind == AT_MUTATION_MERGE) {
            m.kind = AT_MUTATION_ADD; /* the programs make no sketches */
            m.value = number_value(g);
        }
    } else if (roll < 28) {
        m.kind = AT_MUTATION_DELETE_COLUMN;
        m.family = pick_family(g);
        m.start_micros = one_in(g, 3) ? 0 : PICK(g, bounds);
        m.end_micros = one_in(g, 3) ? 0 : PICK(g, bounds);
        if (m.end_micros != 0 && m.end_micros <= m.start_micros && !one_in(g, 30))
            m.end_micros = m.start_micros + 1000;
    } else if (roll < 30) {
        m.kind = AT_MUTATION_DELETE_FAMILY;
        m.family = pick_family(g);
    } else {
        m.kind = AT_MUTATION_DELETE_ROW;
    }
    if (one_in(g, 150) && m.kind != AT_MUTATION_DELETE_ROW)
        m.family = pick_family(g); /* perhaps of the wrong kind */
    if (one_in(g, 250))
        m.timestamp_micros = one_in(g, 2) ? 1001 : -2;
    return m;
}

static struct op_row make_mutations(struct gen *g, struct at_slice row, uint32_t count)
{
    struct op_row r = {row, AT_ARENA_ARRAY(g->arena, struct at_mutation, count), count, 0};

    for (uint32_t i = 0; i < count; i++)
        r.mutations[i] = make_mutation(g);
    return r;
}

/* The same token comes again, for the same row and for others, with other mutations. */
static struct op_row make_guarded(struct gen *g, struct at_slice row, uint32_t count)
{
    struct op_row r = make_mutations(g, row, count);

    if (one_in(g, 5))
        r.token = g->seed * 4 + 1 + below(g, 2);
    return r;
}

static uint32_t mutation_count(struct gen *g)
{
    return one_in(g, 120) ? 0 : 1 + below(g, 3) + (one_in(g, 3) ? below(g, 16) : 0);
}

static void make_modify(struct gen *g, struct op *op)
{
    op->rows[0].row = pick_row(g);
    op->rule_count = one_in(g, 100) ? 0 : 1 + below(g, 3);
    for (uint32_t i = 0; i < op->rule_count; i++) {
        struct at_modify_rule *r = &op->rules[i];
        r->kind = one_in(g, 2) ? AT_RULE_APPEND : AT_RULE_INCREMENT;
        r->family = one_in(g, 60) ? pick_family(g) : pick_plain(g);
        r->qualifier = PICK_NEAR(g, qualifiers);
        r->append = PICK(g, values);
        r->increment = one_in(g, 8) ? INT64_MAX : (int64_t)below(g, 5) - 2;
    }
}

/* --- reads --- */

static struct at_row_bound pick_row_bound(struct gen *g)
{
    struct at_row_bound b = {(enum at_bound_kind)below(g, 3), PICK(g, rows)};

    if (one_in(g, 12))
        b.key = at_slice_make(NULL, 0);
    return b;
}

static struct op_range make_range(struct gen *g)
{
    struct op_range r = {pick_row_bound(g), pick_row_bound(g)};
    struct at_slice key = r.start.key;

    if (r.end.key.len > 0 && at_slice_cmp(r.start.key, r.end.key) > 0 && !one_in(g, 20)) {
        r.start.key = r.end.key;
        r.end.key = key;
    }
    if (at_slice_eq(r.start.key, r.end.key) && !one_in(g, 10)) {
        r.start.kind = AT_BOUND_CLOSED;
        r.end.kind = AT_BOUND_CLOSED;
    }
    return r;
}

static void make_read(struct gen *g, struct op *op)
{
    bool limited = one_in(g, 2);

    if (one_in(g, 2)) {
        op->key_count = below(g, PROGRAM_LIST_MAX);
        op->range_count = below(g, PROGRAM_LIST_MAX - 1);
    }
    for (uint32_t i = 0; i < op->key_count; i++)
        op->keys[i] = pick_row(g);
    for (uint32_t i = 0; i < op->range_count; i++)
        op->ranges[i] = make_range(g);
    if (limited)
        op->limit = one_in(g, 60) ? -1 : (int64_t)below(g, 3) + 1;
    op->reversed = one_in(g, 3);
    if (!one_in(g, 6))
        op->filter = pick_filter(g, !limited);
}

static void make_op(struct gen *g, struct op *op, bool pair)
{
    static const char *const prefixes[] = {"a", "b", "\xff"};
    uint32_t roll = below(g, 100);

    if (roll < 28) {
        op->kind = OP_MUTATE_ROW;
        op->row_count = 1;
        op->rows[0] = make_guarded(g, pick_row(g), mutation_count(g));
    } else if (roll < 38) {
        op->kind = OP_MUTATE_ROWS;
        op->row_count = 1 + below(g, PROGRAM_ROWS_MAX);
        for (uint32_t i = 0; i < op->row_count; i++)
            op->rows[i] = make_guarded(g, pick_row(g), mutation_count(g));
    } else if (roll < 50) {
        op->kind = OP_CHECK;
        op->row_count = 2;
        op->rows[0] = make_mutations(g, pick_row(g), one_in(g, 4) ? 0 : mutation_count(g));
        op->rows[1] = make_mutations(g, op->rows[0].row, one_in(g, 4) ? 0 : mutation_count(g));
        op->filter = one_in(g, 6) ? NULL : pick_filter(g, false);
    } else if (roll < 60) {
        op->kind = OP_MODIFY;
        make_modify(g, op);
    } else if (g->rules && one_in(g, 12)) {
        op->kind = OP_COLLECT;
    } else if (roll < 91) {
        op->kind = OP_READ;
        make_read(g, op);
    } else if (roll < 93) {
        op->kind = OP_DROP;
        op->prefix = one_in(g, 4) ? at_slice_make(NULL, 0) : at_slice_cstr(PICK(g, prefixes));
    } else if (roll < 97) {
        op->kind = OP_TICK;
        op->limit = 1 + below(g, 3);
    } else if (pair && roll < 99) {
        op->kind = OP_EXCHANGE;
    } else if (one_in(g, g->rules ? 12 : 6)) {
        op->kind = OP_KILL;
        op->row_count = below(g, 2);
        if (op->row_count)
            op->rows[0] = make_mutations(g, PICK_NEAR(g, rows), 1 + below(g, 3));
    } else {
        op->kind = OP_COLLECT;
    }
}

void program_make(struct program *p, uint64_t seed, struct at_arena *arena)
{
    struct gen g = {.arena = arena, .seed = seed};

    at_prng_init(&g.prng, seed);
    g.focus = below(&g, 60);
    g.focus_count = 1 + below(&g, 2);
    *p = (struct program){.seed = seed};
    uint32_t roll = below(&g, 8);
    p->mode = roll < 6 ? PROGRAM_ALONE : roll == 6 ? PROGRAM_STRICT : PROGRAM_LOOSE;
    g.rules = p->mode != PROGRAM_LOOSE && one_in(&g, 2);
    p->count = 1 + below(&g, PROGRAM_OPS_MAX);
    for (uint32_t i = 0; i < p->count; i++) {
        make_op(&g, &p->ops[i], p->mode != PROGRAM_ALONE);
        p->ops[i].side = p->mode == PROGRAM_ALONE ? 0 : below(&g, 2);
    }
}
