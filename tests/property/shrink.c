#include "property/shrink.h"

static bool fails(struct shrink *s, const struct program *p)
{
    if (s->tries_left == 0)
        return false;
    s->tries_left--;
    return s->fails(s->ctx, p);
}

/* --- operations --- */

static bool drop_ops(struct shrink *s, struct program *p)
{
    struct program less;
    bool shorter = false;

    for (uint32_t n = p->count; n > 0; n /= 2)
        for (uint32_t i = 0; i + n <= p->count;) {
            less = *p;
            less.count -= n;
            memmove(&less.ops[i], &less.ops[i + n], (less.count - i) * sizeof(struct op));
            if (fails(s, &less)) {
                *p = less;
                shorter = true;
            } else {
                i += n;
            }
        }
    return shorter;
}

static bool use_one_store(struct shrink *s, struct program *p)
{
    struct program less = *p;

    if (p->mode == PROGRAM_ALONE)
        return false;
    less.mode = PROGRAM_ALONE;
    for (uint32_t i = 0; i < less.count; i++)
        less.ops[i].side = 0;
    if (!fails(s, &less))
        return false;
    *p = less;
    return true;
}

/* --- parts of an operation --- */

static bool try_op(struct shrink *s, struct program *p, uint32_t i, const struct op *simpler)
{
    struct op old = p->ops[i];

    p->ops[i] = *simpler;
    if (fails(s, p))
        return true;
    p->ops[i] = old;
    return false;
}

static bool drop_mutations(struct shrink *s, struct program *p, uint32_t i)
{
    bool shorter = false;

    for (uint32_t r = 0; r < p->ops[i].row_count; r++)
        for (uint32_t k = 0; k < p->ops[i].rows[r].count;) {
            struct op simpler = p->ops[i];
            struct op_row *row = &simpler.rows[r];
            struct at_mutation *all = row->mutations;
            row->count--;
            row->mutations = AT_ARENA_ARRAY(s->arena, struct at_mutation, row->count + 1);
            memcpy(row->mutations, all, k * sizeof(*all));
            memcpy(row->mutations + k, all + k + 1, (row->count - k) * sizeof(*all));
            if (try_op(s, p, i, &simpler))
                shorter = true;
            else
                k++;
        }
    return shorter;
}

#define DROP_FROM(s, p, i, list, length)                            \
    for (uint32_t k_ = 0; k_ < (p)->ops[i].length;) {               \
        struct op simpler_ = (p)->ops[i];                           \
        simpler_.length--;                                          \
        memmove(&simpler_.list[k_], &simpler_.list[k_ + 1],         \
                (simpler_.length - k_) * sizeof(simpler_.list[0])); \
        if (try_op((s), (p), (i), &simpler_))                       \
            shorter = true;                                         \
        else                                                        \
            k_++;                                                   \
    }

static bool drop_parts(struct shrink *s, struct program *p, uint32_t i)
{
    bool shorter = false;

    if (p->ops[i].kind == OP_MUTATE_ROWS)
        DROP_FROM(s, p, i, rows, row_count)
    DROP_FROM(s, p, i, rules, rule_count)
    DROP_FROM(s, p, i, keys, key_count)
    DROP_FROM(s, p, i, ranges, range_count)
    for (int what = 0; what < 4; what++) {
        struct op simpler = p->ops[i];
        if (what == 0)
            simpler.limit = 0;
        else if (what == 1)
            simpler.reversed = false;
        else if (what == 2)
            simpler.filter = NULL;
        else if (simpler.kind == OP_KILL)
            simpler.row_count = 0;
        if (memcmp(&simpler, &p->ops[i], sizeof(simpler)) != 0)
            shorter |= try_op(s, p, i, &simpler);
    }
    return shorter;
}

/* --- filters --- */

static bool try_node(struct shrink *s,
                     struct program *p,
                     struct at_filter_node **slot,
                     struct at_filter_node *simpler)
{
    struct at_filter_node *old = *slot;

    *slot = simpler;
    if (fails(s, p))
        return true;
    *slot = old;
    return false;
}

static bool
drop_child(struct shrink *s, struct program *p, struct at_filter_node **slot, uint32_t i)
{
    struct at_filter_node *less = AT_ARENA_NEW(s->arena, struct at_filter_node);
    struct at_filter_node *n = *slot;

    *less = *n;
    less->children = AT_ARENA_ARRAY(s->arena, struct at_filter_node *, n->child_count);
    memcpy(less->children, n->children, n->child_count * sizeof(*n->children));
    less->children[i] = NULL;
    if (n->kind != AT_FILTER_CONDITION) {
        less->child_count--;
        memmove(&less->children[i], &less->children[i + 1],
                (less->child_count - i) * sizeof(*n->children));
    }
    return try_node(s, p, slot, less);
}

static bool shrink_filter(struct shrink *s, struct program *p, struct at_filter_node **slot)
{
    struct at_filter_node *n = *slot;
    bool shorter = false;

    for (uint32_t i = 0; n && i < n->child_count; i++)
        if (n->children[i] && try_node(s, p, slot, n->children[i])) {
            shorter = true;
            n = *slot;
            i = UINT32_MAX; /* from the first */
        }
    if (n == NULL)
        return shorter;
    if (n->child_count == 0 && n->kind != AT_FILTER_PASS_ALL) {
        struct at_filter_node *all = AT_ARENA_NEW(s->arena, struct at_filter_node);
        return try_node(s, p, slot, all) || shorter;
    }
    for (uint32_t i = n->child_count; i-- > 0;)
        if (n->children[i] && (n->kind == AT_FILTER_CONDITION ? i > 0 : n->child_count > 2) &&
            drop_child(s, p, slot, i)) {
            shorter = true;
            n = *slot;
        }
    for (uint32_t i = 0; i < n->child_count; i++)
        shorter |= shrink_filter(s, p, &n->children[i]);
    return shorter;
}

void shrink_program(struct shrink *s, struct program *p)
{
    bool shorter = true;

    while (shorter && s->tries_left > 0) {
        shorter = drop_ops(s, p);
        shorter |= use_one_store(s, p);
        for (uint32_t i = 0; i < p->count; i++) {
            shorter |= drop_mutations(s, p, i);
            shorter |= drop_parts(s, p, i);
            shorter |= shrink_filter(s, p, &p->ops[i].filter);
        }
    }
}
