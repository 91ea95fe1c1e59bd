#include "sim/world.h"

/* Random requests, checked as a cluster checks them: of a table and families that its own catalog
 * has. */

static void
random_mutation(struct sim_world *w, const struct at_table *table, struct sim_mutation *m);
static bool change_family(struct sim_world *w, uint32_t node, uint32_t table, uint32_t family);
static void fill_value(struct sim_world *w, enum at_family_type type, struct sim_mutation *m);
static enum at_family_type random_type(struct sim_world *w, uint32_t table, uint32_t family);

static const char *const table_names[SIM_TABLES] = {"t0", "t1"};
static const char *const family_names[SIM_FAMILIES] = {"f0", "f1", "f2"};

void sim_client_write(struct sim_world *w, uint32_t node, bool leave_open)
{
    uint32_t t = sim_below(w, 4) == 0 ? 1 : 0;
    const struct at_table *table =
        at_catalog_table(w->nodes[node].catalog, at_slice_cstr(table_names[t]));
    struct sim_op op = {.kind = SIM_OP_ROW, .table = (uint8_t)t};

    if (table == NULL || table->family_count == 0)
        return;
    op.table_generation = (uint32_t)table->generation;
    op.row = (uint8_t)sim_below(w, SIM_ROWS);
    op.mutation_count = (uint8_t)(1 + (sim_below(w, 3) == 0 ? sim_below(w, SIM_MUTATIONS_MAX) : 0));
    op.ticks = op.mutation_count;
    for (uint32_t i = 0; i < op.mutation_count; i++)
        random_mutation(w, table, &op.mutations[i]);
    (void)sim_write(w, node, &op, leave_open);
}

static void
random_mutation(struct sim_world *w, const struct at_table *table, struct sim_mutation *m)
{
    const struct at_family *f = &table->families[sim_below(w, table->family_count)];
    uint32_t dice = sim_below(w, 10);

    m->family = (uint8_t)(f->name.data[1] - '0');
    m->family_generation = (uint32_t)f->generation;
    m->column = (uint8_t)sim_below(w, SIM_COLUMNS);
    m->time = (uint8_t)sim_below(w, SIM_TIMES);
    if (dice < 6) {
        m->kind = f->type == AT_FAMILY_PLAIN ? AT_MUTATION_SET
                  : f->type == AT_FAMILY_HLL ? AT_MUTATION_MERGE
                                             : AT_MUTATION_ADD;
        fill_value(w, f->type, m);
    } else if (dice < 8) {
        m->kind = AT_MUTATION_DELETE_COLUMN;
        m->time_end = (uint8_t)(m->time + 1 + sim_below(w, SIM_TIMES - m->time));
    } else {
        m->kind = dice == 8 ? AT_MUTATION_DELETE_FAMILY : AT_MUTATION_DELETE_ROW;
    }
}

/* Every value is another one, so that none stands in for another; not ascending, for what takes the
 * highest. */
static void fill_value(struct sim_world *w, enum at_family_type type, struct sim_mutation *m)
{
    int64_t n = w->next_value++;

    m->sketch = type == AT_FAMILY_HLL;
    m->value = m->sketch ? n % SIM_SKETCH_VALUES : n % 2 == 0 ? n : 100000 - n;
}

void sim_client_drop(struct sim_world *w, uint32_t node)
{
    uint32_t t = sim_below(w, SIM_TABLES);
    const struct at_table *table =
        at_catalog_table(w->nodes[node].catalog, at_slice_cstr(table_names[t]));
    struct sim_op op = {.kind = SIM_OP_DROP, .table = (uint8_t)t, .ticks = 1, .row_end = SIM_ROWS};

    if (table == NULL)
        return;
    op.table_generation = (uint32_t)table->generation;
    switch (sim_below(w, 3)) {
    case 0:
        op.row_end = 2;
        break;
    case 1:
        op.row = 2;
        break;
    default:
        break;
    }
    (void)sim_write(w, node, &op, false);
}

void sim_client_schema(struct sim_world *w, uint32_t node)
{
    uint32_t t = sim_below(w, SIM_TABLES);
    const struct at_table *table =
        at_catalog_table(w->nodes[node].catalog, at_slice_cstr(table_names[t]));
    const enum at_family_type types[SIM_FAMILIES] = {AT_FAMILY_PLAIN, random_type(w, t, 1),
                                                     random_type(w, t, 2)};

    if (table == NULL)
        (void)sim_create_table(w, node, t, types);
    else if (sim_below(w, 4) == 0)
        (void)sim_delete_table(w, node, t);
    else
        (void)change_family(w, node, t, sim_below(w, SIM_FAMILIES));
}

/* What two clusters may give a family at the same time tells its data apart: from what is folded by
 * one type another one can't be made (see docs/REPLICATION.md, what is not promised). */
static enum at_family_type random_type(struct sim_world *w, uint32_t table, uint32_t family)
{
    static const enum at_family_type first[SIM_TABLES] = {AT_FAMILY_SUM, AT_FAMILY_MIN};
    static const enum at_family_type second[SIM_TABLES] = {AT_FAMILY_MAX, AT_FAMILY_SUM};

    if (family < 2)
        return family == 0 ? AT_FAMILY_PLAIN : first[table];
    switch (sim_below(w, 3)) {
    case 0:
        return AT_FAMILY_PLAIN;
    case 1:
        return AT_FAMILY_HLL;
    default:
        return second[table];
    }
}

bool sim_create_table(struct sim_world *w,
                      uint32_t node,
                      uint32_t table,
                      const enum at_family_type *types)
{
    struct at_slice name = at_slice_cstr(table_names[table]);
    uint32_t counter = (uint32_t)at_catalog_table_counter(w->nodes[node].catalog, name) + 1;
    struct sim_op op = {.kind = SIM_OP_CATALOG,
                        .table = (uint8_t)table,
                        .ticks = 1 + SIM_FAMILIES,
                        .change_count = 1 + SIM_FAMILIES,
                        .changes = {{.counter = counter}}};

    if (counter % 2 == 0)
        return false;
    for (uint32_t f = 0; f < SIM_FAMILIES; f++) {
        uint64_t was = at_catalog_family_counter(w->nodes[node].catalog, name, counter,
                                                 at_slice_cstr(family_names[f]));
        op.changes[1 + f] = (struct sim_catalog_change){.is_family = true,
                                                        .family = (uint8_t)f,
                                                        .type = types[f],
                                                        .table_generation = counter,
                                                        .counter = (uint32_t)(was | 1)};
    }
    return sim_write(w, node, &op, false);
}

bool sim_delete_table(struct sim_world *w, uint32_t node, uint32_t table)
{
    struct at_slice name = at_slice_cstr(table_names[table]);
    uint32_t counter = (uint32_t)at_catalog_table_counter(w->nodes[node].catalog, name) + 1;
    struct sim_op op = {.kind = SIM_OP_CATALOG,
                        .table = (uint8_t)table,
                        .ticks = 1,
                        .change_count = 1,
                        .changes = {{.counter = counter}}};

    if (counter % 2 == 1)
        return false;
    return sim_write(w, node, &op, false);
}

/* Creates or drops a family, or edits it (same counter, another type, which production does not
 * allow but two clusters' creations can do). */
static bool change_family(struct sim_world *w, uint32_t node, uint32_t table, uint32_t family)
{
    struct at_slice name = at_slice_cstr(table_names[table]);
    const struct at_table *t = at_catalog_table(w->nodes[node].catalog, name);
    uint32_t was = (uint32_t)at_catalog_family_counter(w->nodes[node].catalog, name, t->generation,
                                                       at_slice_cstr(family_names[family]));
    struct sim_op op = {.kind = SIM_OP_CATALOG,
                        .table = (uint8_t)table,
                        .ticks = 1,
                        .change_count = 1,
                        .changes = {{.is_family = true,
                                     .family = (uint8_t)family,
                                     .type = random_type(w, table, family),
                                     .table_generation = (uint32_t)t->generation,
                                     .counter = was + 1}}};
    return sim_write(w, node, &op, false);
}
