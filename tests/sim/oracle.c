#include "sim/oracle.h"

#include "base/alloc.h"
#include "base/assert.h"

static void add_row_op(struct sim_row_history *h, struct sim_row_op item);
static struct at_stamp stamp_of(struct sim_row_op item);
static void add_catalog_op(struct sim_oracle *o, const struct sim_op *op);
static void
apply_mutation(struct sim_row_state *row, const struct sim_table_state *table, struct sim_row_op i);
static void
add(struct sim_cell_state *cell, enum at_family_type type, const struct sim_mutation *m);
static void erase_family(struct sim_row_state *row, uint32_t family);

void sim_oracle_deinit(struct sim_oracle *o)
{
    for (uint32_t n = 0; n < SIM_NODES_MAX; n++)
        for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++) {
            for (uint32_t i = 0; i < o->truth[n][e].count; i++)
                at_free(o->truth[n][e].ops[i]);
            at_free(o->truth[n][e].ops);
        }
    for (uint32_t t = 0; t < SIM_TABLES; t++)
        for (uint32_t r = 0; r < SIM_ROWS; r++)
            at_free(o->rows[t][r].items);
    at_free(o->catalog_ops);
    *o = (struct sim_oracle){0};
}

struct sim_op *sim_oracle_add(struct sim_oracle *o, const struct sim_op *given)
{
    struct sim_history *h = &o->truth[given->at.origin.v - 1][given->at.epoch - 1];
    struct sim_op *op = AT_NEW(struct sim_op);

    *op = *given;
    AT_ASSERT(op->at.seq == h->count + 1);
    if (h->count == h->cap) {
        h->cap = h->cap == 0 ? 16 : h->cap * 2;
        h->ops = at_realloc(h->ops, h->cap * sizeof(struct sim_op *));
    }
    h->ops[h->count++] = op;
    o->op_count++;
    if (op->hlc + op->ticks - 1 > o->stamp_max)
        o->stamp_max = op->hlc + op->ticks - 1;
    if (op->kind == SIM_OP_ROW)
        for (uint32_t i = 0; i < op->mutation_count; i++)
            add_row_op(&o->rows[op->table][op->row], (struct sim_row_op){op, i});
    if (op->kind == SIM_OP_DROP)
        for (uint32_t r = op->row; r < op->row_end; r++)
            add_row_op(&o->rows[op->table][r], (struct sim_row_op){op, 0});
    if (op->kind == SIM_OP_CATALOG)
        add_catalog_op(o, op);
    return op;
}

void sim_oracle_retract(struct sim_oracle *o, uint32_t origin, uint32_t epoch)
{
    struct sim_history *h = &o->truth[origin][epoch - 1];

    AT_ASSERT(h->count > 0 && h->ops[h->count - 1]->kind == SIM_OP_ROW);
    struct sim_op *op = h->ops[--h->count];
    struct sim_row_history *rows = &o->rows[op->table][op->row];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->items[i].op != op)
            rows->items[kept++] = rows->items[i];
    rows->count = kept;
    o->op_count--;
    at_free(op);
}

struct sim_op *sim_oracle_op(const struct sim_oracle *o, struct at_position p)
{
    if (p.origin.v == 0 || p.origin.v > SIM_NODES_MAX || p.epoch == 0 || p.epoch > SIM_EPOCHS_MAX)
        return NULL;
    const struct sim_history *h = &o->truth[p.origin.v - 1][p.epoch - 1];
    return p.seq == 0 || p.seq > h->count ? NULL : h->ops[p.seq - 1];
}

void sim_oracle_schema(const struct sim_oracle *o,
                       const sim_coverage *set,
                       struct sim_schema *ret_schema)
{
    struct at_stamp type_stamps[SIM_TABLES][SIM_FAMILIES] = {0};

    *ret_schema = (struct sim_schema){0};
    for (uint32_t i = 0; i < o->catalog_count; i++) {
        const struct sim_op *op = o->catalog_ops[i];
        struct sim_table_state *t = &ret_schema->tables[op->table];
        for (uint32_t k = 0; k < op->change_count && sim_covered(set, op->at); k++)
            if (!op->changes[k].is_family && op->changes[k].counter > t->counter)
                t->counter = op->changes[k].counter;
    }
    for (uint32_t i = 0; i < o->catalog_count; i++) {
        const struct sim_op *op = o->catalog_ops[i];
        struct sim_table_state *t = &ret_schema->tables[op->table];
        for (uint32_t k = 0; k < op->change_count && sim_covered(set, op->at); k++) {
            const struct sim_catalog_change *c = &op->changes[k];
            if (!c->is_family || c->table_generation != t->counter)
                continue;
            struct sim_family_state *f = &t->families[c->family];
            struct at_stamp stamp = {op->hlc + k, op->at.origin};
            struct at_stamp *best = &type_stamps[op->table][c->family];
            if (c->counter < f->counter ||
                (c->counter == f->counter && at_stamp_cmp(stamp, *best) < 0))
                continue;
            *f = (struct sim_family_state){c->counter, c->type};
            *best = stamp;
        }
    }
}

void sim_oracle_row(const struct sim_oracle *o,
                    const sim_coverage *set,
                    const struct sim_schema *schema,
                    uint32_t table,
                    uint32_t row,
                    struct sim_row_state *ret_row)
{
    const struct sim_row_history *h = &o->rows[table][row];
    const struct sim_table_state *t = &schema->tables[table];

    memset(ret_row, 0, sizeof(*ret_row));
    if (t->counter % 2 == 0)
        return;
    for (uint32_t i = 0; i < h->count; i++) {
        const struct sim_op *op = h->items[i].op;
        if (!sim_covered(set, op->at) || op->table_generation != t->counter)
            continue;
        if (op->kind == SIM_OP_DROP)
            memset(ret_row, 0, sizeof(*ret_row));
        else
            apply_mutation(ret_row, t, h->items[i]);
    }
}

static void
apply_mutation(struct sim_row_state *row, const struct sim_table_state *table, struct sim_row_op i)
{
    const struct sim_mutation *m = &i.op->mutations[i.index];
    const struct sim_family_state *f = &table->families[m->family];

    if (m->kind == AT_MUTATION_DELETE_ROW) {
        memset(row, 0, sizeof(*row));
        return;
    }
    if (m->family_generation != f->counter || f->counter % 2 == 0)
        return;
    struct sim_cell_state *cell = &row->cells[m->family][m->column][m->time];
    switch (m->kind) {
    case AT_MUTATION_SET:
        if (f->type == AT_FAMILY_PLAIN)
            *cell = (struct sim_cell_state){true, m->value};
        break;
    case AT_MUTATION_ADD:
    case AT_MUTATION_MERGE:
        add(cell, f->type, m);
        break;
    case AT_MUTATION_DELETE_COLUMN:
        for (uint32_t k = m->time; k < m->time_end; k++)
            row->cells[m->family][m->column][k] = (struct sim_cell_state){0};
        break;
    case AT_MUTATION_DELETE_FAMILY:
        erase_family(row, m->family);
        break;
    case AT_MUTATION_DELETE_ROW:
        break;
    }
}

/* What is added to a family of another kind is hidden. */
static void add(struct sim_cell_state *cell, enum at_family_type type, const struct sim_mutation *m)
{
    int64_t value = m->value;

    if (type == AT_FAMILY_PLAIN || m->sketch != (type == AT_FAMILY_HLL))
        return;
    if (type == AT_FAMILY_HLL)
        value = cell->value | INT64_C(1) << m->value;
    else if (type == AT_FAMILY_SUM)
        value += cell->value;
    else if (cell->present && (type == AT_FAMILY_MAX) == (cell->value > value))
        value = cell->value;
    *cell = (struct sim_cell_state){true, value};
}

static void erase_family(struct sim_row_state *row, uint32_t family)
{
    memset(row->cells[family], 0, sizeof(row->cells[family]));
}

static void add_row_op(struct sim_row_history *h, struct sim_row_op item)
{
    if (h->count == h->cap) {
        h->cap = h->cap == 0 ? 64 : h->cap * 2;
        h->items = at_realloc(h->items, h->cap * sizeof(*h->items));
    }
    uint32_t at = h->count++;
    for (; at > 0 && at_stamp_cmp(stamp_of(h->items[at - 1]), stamp_of(item)) > 0; at--)
        h->items[at] = h->items[at - 1];
    h->items[at] = item;
}

static struct at_stamp stamp_of(struct sim_row_op item)
{
    return (struct at_stamp){item.op->hlc + item.index, item.op->at.origin};
}

static void add_catalog_op(struct sim_oracle *o, const struct sim_op *op)
{
    if (o->catalog_count == o->catalog_cap) {
        o->catalog_cap = o->catalog_cap == 0 ? 32 : o->catalog_cap * 2;
        o->catalog_ops = at_realloc(o->catalog_ops, o->catalog_cap * sizeof(struct sim_op *));
    }
    o->catalog_ops[o->catalog_count++] = op;
}
