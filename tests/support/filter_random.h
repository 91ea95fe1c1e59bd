/* filter_random.h: random filters and rows from a source of bytes: a generator's or a fuzzer's. */
#ifndef ATOLL_TESTS_SUPPORT_FILTER_RANDOM_H
#define ATOLL_TESTS_SUPPORT_FILTER_RANDOM_H

#include "base/arena.h"
#include "base/prng.h"
#include "cluster/model/filter.h"

/* Numbers come from `bytes` while there are any, and then from `prng`, or are 0 without one. */
struct random_source {
    struct at_slice bytes;
    struct at_prng *prng;
};

#define RANDOM_NODE_BUDGET 24
#define RANDOM_CELLS_MAX 24

static inline uint32_t random_below(struct random_source *r, uint32_t n)
{
    if (r->bytes.len > 0) {
        uint8_t byte = r->bytes.data[0];
        r->bytes = at_slice_from(r->bytes, 1);
        return byte % n;
    }
    return r->prng ? (uint32_t)at_prng_below(r->prng, n) : 0;
}

static inline struct at_slice random_pick(struct random_source *r, const char *const *words)
{
    uint32_t count = 0;

    while (words[count] != NULL)
        count++;
    return at_slice_cstr(words[random_below(r, count)]);
}

static inline struct at_filter_bound random_bound(struct random_source *r)
{
    static const char *const words[] = {"", "a", "b", "ba", "c", NULL};
    struct at_filter_bound bound = {.set = random_below(r, 4) > 0};

    bound.open = random_below(r, 2);
    bound.bytes = random_pick(r, words);
    return bound;
}

static inline void random_leaf(struct random_source *r, struct at_filter_node *n)
{
    static const char *const regexes[] = {"a", "b",  "a|b", "[ab].?", "\\C*", "",
                                          "c", ".+", "a|",  "(b)a?",  NULL};
    static const char *const families[] = {"f", "g", "f|h", "h", "[gh]", ".*", NULL};
    static const char *const rows[] = {"row", "r.*", "x", "x|row", NULL};
    static const char *const masks[] = {"\x01", "a", "", "\x01\x01", NULL};
    static const char *const labels[] = {"l", "m-1", NULL};

    n->number = random_below(r, 5) + (n->kind != AT_FILTER_CELLS_PER_ROW_OFFSET);
    n->start_micros = random_below(r, 5);
    n->end_micros = random_below(r, 6);
    n->start = random_bound(r);
    n->end = random_bound(r);
    n->probability = 0.5;
    if (n->kind == AT_FILTER_ROW_KEY_REGEX)
        n->bytes = random_pick(r, rows);
    else if (n->kind == AT_FILTER_FAMILY_REGEX || n->kind == AT_FILTER_COLUMN_RANGE)
        n->bytes = random_pick(r, families);
    else if (n->kind == AT_FILTER_VALUE_BITMASK)
        n->bytes = random_pick(r, masks);
    else if (n->kind == AT_FILTER_APPLY_LABEL)
        n->bytes = random_pick(r, labels);
    else if (n->kind == AT_FILTER_QUALIFIER_REGEX || n->kind == AT_FILTER_VALUE_REGEX)
        n->bytes = random_pick(r, regexes);
}

/* random_filter makes a tree of at most `*budget` nodes, forbidden forms included. */
static inline struct at_filter_node *
random_filter(struct random_source *r, struct at_arena *arena, uint32_t *budget)
{
    struct at_filter_node *n = AT_ARENA_NEW(arena, struct at_filter_node);
    uint32_t roll = random_below(r, 32);

    *budget -= *budget > 0;
    if (*budget == 0 || roll >= 14) {
        n->kind = (enum at_filter_kind)(
            AT_FILTER_SINK + random_below(r, AT_FILTER_VALUE_BITMASK - AT_FILTER_SINK + 1));
        if (n->kind == AT_FILTER_SINK && random_below(r, 3) > 0)
            n->kind = random_below(r, 4) ? AT_FILTER_PASS_ALL : AT_FILTER_BLOCK_ALL;
        random_leaf(r, n);
        return n;
    }
    n->kind = roll < 6 ? AT_FILTER_CHAIN : roll < 11 ? AT_FILTER_INTERLEAVE : AT_FILTER_CONDITION;
    n->child_count = n->kind == AT_FILTER_CONDITION ? 3 : 2 + random_below(r, 3);
    n->children = AT_ARENA_ARRAY(arena, struct at_filter_node *, n->child_count);
    for (uint32_t i = 0; i < n->child_count; i++) {
        if (n->kind == AT_FILTER_CONDITION && i > 0 && random_below(r, 5) == 0)
            continue;
        n->children[i] = random_filter(r, arena, budget);
    }
    return n;
}

/* random_row makes up to RANDOM_CELLS_MAX cells, in storage order. */
static inline uint32_t random_row(struct random_source *r, struct at_cell *cells)
{
    static const char *const families[] = {"f", "g", "h"};
    static const char *const qualifiers[] = {"", "a", "b", "ba", "c"};
    static const char *const values[] = {"", "a", "b", "ab", "c", "aa", "\x03", "\n", NULL};
    uint32_t count = 0;

    for (uint32_t column = 0; column < 15; column++) {
        if (random_below(r, 3) == 0)
            continue;
        for (int64_t micros = 4; micros >= 0 && count < RANDOM_CELLS_MAX; micros--) {
            if (random_below(r, 3) > 0)
                continue;
            cells[count++] = (struct at_cell){.family = at_slice_cstr(families[column / 5]),
                                              .qualifier = at_slice_cstr(qualifiers[column % 5]),
                                              .timestamp_micros = micros,
                                              .value = random_pick(r, values)};
        }
    }
    return count;
}

#endif
