#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/model/operation.h"
#include "cluster/tablet/read.h"
#include "replication/origin.h"
#include "sim/real_world.h"

#include <stdio.h>

/* What is written is read from the logs, what must be visible follows from that. */

#define LOG_BYTES_MAX (4 * AT_MIB)
#define SIZES_MAX 1024

const struct at_slice real_tables[SIM_TABLES] = {AT_LIT_INIT("t0"), AT_LIT_INIT("t1")};
const struct at_slice real_families[SIM_FAMILIES] = {AT_LIT_INIT("f0"), AT_LIT_INIT("f1"),
                                                     AT_LIT_INIT("f2")};
const struct at_slice real_rows[SIM_ROWS] = {AT_LIT_INIT("a0"), AT_LIT_INIT("a1"),
                                             AT_LIT_INIT("b0")};
const struct at_slice real_columns[SIM_COLUMNS] = {AT_LIT_INIT("q0"), AT_LIT_INIT("q1")};

static uint8_t index_of(const struct at_slice *names, uint32_t count, struct at_slice name)
{
    uint32_t i = 0;

    while (i < count && !at_slice_eq(names[i], name))
        i++;
    AT_ASSERT(i < count);
    return (uint8_t)i;
}

static uint8_t time_of(int64_t micros)
{
    return (uint8_t)(micros == 0 ? SIM_TIMES : micros / 1000 - 1);
}

static void take_mutation(const struct at_mutation *from, struct sim_mutation *to)
{
    to->kind = from->kind;
    to->family_generation = from->family_generation;
    if (from->kind == AT_MUTATION_DELETE_ROW)
        return;
    to->family = index_of(real_families, SIM_FAMILIES, from->family);
    if (from->kind == AT_MUTATION_DELETE_FAMILY)
        return;
    to->column = index_of(real_columns, SIM_COLUMNS, from->qualifier);
    if (from->kind == AT_MUTATION_DELETE_COLUMN) {
        to->time = time_of(from->start_micros);
        to->time_end = time_of(from->end_micros);
        return;
    }
    to->time = time_of(from->timestamp_micros);
    AT_ASSERT(from->value.len == 8);
    to->value = (int64_t)at_get_be64(from->value.data);
}

static void take_records(const struct at_operation *from, struct sim_op *to)
{
    AT_ASSERT(from->record_count <= SIM_RECORDS_MAX);
    to->change_count = (uint8_t)from->record_count;
    for (uint32_t i = 0; i < from->record_count; i++) {
        const struct at_catalog_record *r = &from->records[i];
        bool family = r->kind == AT_CATALOG_FAMILY;
        to->table = index_of(real_tables, SIM_TABLES, family ? r->table : r->name);
        to->changes[i] = (struct sim_catalog_change){
            .is_family = family,
            .type = family && r->fields.len > 0 ? AT_FAMILY_SUM : AT_FAMILY_PLAIN,
            .family = family ? index_of(real_families, SIM_FAMILIES, r->name) : 0,
            .table_generation = (uint32_t)r->table_generation,
            .counter = (uint32_t)r->counter,
        };
        AT_ASSERT(r->stamp.hlc == to->hlc + i);
    }
}

static void take_operation(struct real_world *w, struct at_position p, const struct at_entry *e)
{
    struct at_operation op;
    struct sim_op to = {.at = p, .hlc = e->hlc, .ticks = e->ticks};

    enum at_code code = at_operation_decode(e->payload, &w->arena, &op);
    AT_ASSERT(code == AT_OK);
    to.table_generation = (uint32_t)op.table_generation;
    switch (op.kind) {
    case AT_OPERATION_ROW:
        to.kind = SIM_OP_ROW;
        to.table = index_of(real_tables, SIM_TABLES, op.table);
        to.row = index_of(real_rows, SIM_ROWS, op.row);
        AT_ASSERT(op.mutation_count <= SIM_MUTATIONS_MAX && e->ticks == op.mutation_count);
        to.mutation_count = (uint8_t)op.mutation_count;
        for (uint32_t i = 0; i < op.mutation_count; i++)
            take_mutation(&op.mutations[i], &to.mutations[i]);
        break;
    case AT_OPERATION_DROP_RANGE:
        to.kind = SIM_OP_DROP;
        to.table = index_of(real_tables, SIM_TABLES, op.table);
        to.row = op.row.len > 0 && op.row.data[0] == 'b' ? 2 : 0;
        to.row_end = op.row.len > 0 && op.row.data[0] == 'a' ? 2 : SIM_ROWS;
        break;
    case AT_OPERATION_CATALOG:
        to.kind = SIM_OP_CATALOG;
        take_records(&op, &to);
        break;
    case AT_OPERATION_MEMBER:
        to.kind = SIM_OP_MEMBER;
        break;
    case AT_OPERATION_LEAVE:
        to.kind = SIM_OP_LEAVE;
        break;
    case AT_OPERATION_REMOVE:
        to.kind = SIM_OP_REMOVE;
        w->stats.removed++;
        break;
    case AT_OPERATION_RELEASE:
        to.kind = SIM_OP_RELEASE;
        break;
    }
    real_trace(w, "cluster %u writes (%u, %llu): kind %d, hlc ..%llu", p.origin.v - 1, p.epoch,
               (unsigned long long)p.seq, (int)op.kind,
               (unsigned long long)(e->hlc - REAL_START_NS));
    (void)sim_oracle_add(&w->oracle, &to);
}

static void take_record(struct real_world *w, struct at_position next, struct at_slice bytes)
{
    struct at_record_reader reader;
    struct at_entry e;

    enum at_code code = at_record_open(&reader, bytes);
    AT_ASSERT(code == AT_OK);
    while (at_record_next(&reader, &e) == AT_OK) {
        if (e.seq < next.seq)
            continue;
        next.seq = e.seq;
        at_arena_reset(&w->arena);
        take_operation(w, next, &e);
        next.seq++;
    }
}

void real_truth_read(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];
    uint32_t sizes[SIZES_MAX];

    at_store_view(n->disk.store, &n->view);
    const struct at_replica_view *v = &n->view;
    AT_ASSERT(v->epoch <= SIM_EPOCHS_MAX);
    const struct sim_history *h = &w->oracle.truth[node][v->epoch - 1];
    while (h->count < v->seq) {
        struct at_log_read what = {
            {v->self, v->epoch, h->count + 1}, v->seq, LOG_BYTES_MAX, SIZES_MAX};
        uint32_t count = 0;
        uint32_t had = h->count;
        size_t at = 0;
        at_buf_clear(&w->scratch);
        enum at_code code =
            at_store_read_log(n->disk.store, &what, &w->scratch, sizes, &count, NULL);
        for (uint32_t i = 0; code == AT_OK && i < count; i++) {
            take_record(w, (struct at_position){v->self, v->epoch, h->count + 1},
                        at_slice_make(w->scratch.data + at, sizes[i]));
            at += sizes[i];
        }
        if (h->count == had) {
            real_fail(w, "own log", "cluster %u: (%u, %u) can't be read: %s", node, v->epoch, had,
                      at_code_name(code));
            return;
        }
    }
}

void real_coverage(const struct real_world *w, uint32_t node, sim_coverage *ret)
{
    const struct at_replica_view *v = &w->nodes[node].view;

    memset(ret, 0, sizeof(*ret));
    for (uint32_t i = 0; i < v->facts.end_count; i++) {
        const struct at_epoch_end *e = &v->facts.ends[i];
        if (e->epoch < at_positions_facts_first_open(&v->facts, e->origin))
            (*ret)[e->origin.v - 1][e->epoch - 1] = (uint32_t)e->end;
    }
    for (uint32_t i = 0; i < v->applied.count; i++) {
        struct at_position p = v->applied.items[i];
        uint32_t *c = &(*ret)[p.origin.v - 1][p.epoch - 1];
        if (*c < p.seq)
            *c = (uint32_t)p.seq;
    }
}

/* --- rows --- */

static void on_row(void *ctx, struct at_slice row)
{
    (void)ctx;
    (void)row;
}

static void on_row_end(void *ctx)
{
    (void)ctx;
}

static void on_cell(void *ctx, const struct at_cell *cell)
{
    struct sim_row_state *row = ctx;
    uint32_t f = index_of(real_families, SIM_FAMILIES, cell->family);
    uint32_t c = index_of(real_columns, SIM_COLUMNS, cell->qualifier);

    AT_ASSERT(cell->value.len == 8);
    row->cells[f][c][time_of(cell->timestamp_micros)] =
        (struct sim_cell_state){true, (int64_t)at_get_be64(cell->value.data)};
}

static bool same_row(const struct sim_row_state *a, const struct sim_row_state *b, char *why)
{
    for (uint32_t f = 0; f < SIM_FAMILIES; f++)
        for (uint32_t c = 0; c < SIM_COLUMNS; c++)
            for (uint32_t t = 0; t < SIM_TIMES; t++) {
                const struct sim_cell_state *x = &a->cells[f][c][t];
                const struct sim_cell_state *y = &b->cells[f][c][t];
                if (x->present == y->present && (!x->present || x->value == y->value))
                    continue;
                (void)snprintf(why, 100, "f%u:q%u@%u: is %d %lld, must be %d %lld", f, c, t,
                               x->present, (long long)x->value, y->present, (long long)y->value);
                return false;
            }
    return true;
}

static void check_row(struct real_world *w,
                      uint32_t node,
                      const sim_coverage *coverage,
                      const struct sim_schema *schema,
                      uint32_t which)
{
    struct real_node *n = &w->nodes[node];
    struct sim_row_state is = {0};
    struct sim_row_state must;
    struct at_read_sink sink = {&is, on_row, on_cell, on_row_end};
    uint32_t table = which / SIM_ROWS;
    uint32_t row = which % SIM_ROWS;
    char why[100];

    enum at_code code =
        at_read_row(n->disk.store, real_tables[table], real_rows[row], NULL, &sink, NULL);
    w->stats.rows_checked++;
    if (code != AT_OK && (code != AT_NOT_FOUND || schema->tables[table].counter % 2 == 1)) {
        real_fail(w, "rows", "cluster %u: t%u can't be read: %s", node, table, at_code_name(code));
        return;
    }
    sim_oracle_row(&w->oracle, coverage, schema, table, row, &must);
    if (!same_row(&is, &must, why))
        real_fail(w, "rows", "cluster %u, t%u, row %u, %s", node, table, row, why);
}

static void check_schema(struct real_world *w, uint32_t node, const struct sim_schema *schema)
{
    struct at_schema *have = at_store_schema(w->nodes[node].disk.store);

    for (uint32_t t = 0; t < SIM_TABLES; t++) {
        const struct sim_table_state *must = &schema->tables[t];
        uint64_t counter = at_catalog_table_counter(have->catalog, real_tables[t]);
        if (counter != must->counter)
            real_fail(w, "schema", "cluster %u: t%u is %llu, must be %u", node, t,
                      (unsigned long long)counter, must->counter);
        for (uint32_t f = 0; f < SIM_FAMILIES && must->counter % 2 == 1; f++) {
            counter = at_catalog_family_counter(have->catalog, real_tables[t], must->counter,
                                                real_families[f]);
            if (counter != must->families[f].counter)
                real_fail(w, "schema", "cluster %u: t%u f%u is %llu, must be %u", node, t, f,
                          (unsigned long long)counter, must->families[f].counter);
        }
    }
    at_schema_unref(&have);
}

void real_check_rows(struct real_world *w, uint32_t node, bool all)
{
    sim_coverage coverage;
    struct sim_schema schema;

    at_store_view(w->nodes[node].disk.store, &w->nodes[node].view);
    real_coverage(w, node, &coverage);
    sim_oracle_schema(&w->oracle, (const sim_coverage *)&coverage, &schema);
    check_schema(w, node, &schema);
    for (uint32_t i = 0; all && i < SIM_TABLES * SIM_ROWS && !w->failed; i++)
        check_row(w, node, (const sim_coverage *)&coverage, &schema, i);
    if (!all && !w->failed)
        check_row(w, node, (const sim_coverage *)&coverage, &schema,
                  real_below(w, SIM_TABLES * SIM_ROWS));
}

/* --- positions --- */

static bool
still_there(const struct at_replica_view *v, struct at_position p, const struct real_world *w)
{
    uint32_t first = at_positions_facts_first_open(&v->facts, p.origin);

    (void)w;
    return p.epoch < first || at_vector_get(&v->applied, p.origin, p.epoch) >= p.seq;
}

static void
expect_covers(struct real_world *w, uint32_t node, const char *check, const struct at_vector *floor)
{
    const struct at_replica_view *v = &w->nodes[node].view;

    for (uint32_t i = 0; i < floor->count; i++)
        if (!still_there(v, floor->items[i], w))
            real_fail(w, check, "cluster %u had (%u, %u, %llu), has %llu", node,
                      floor->items[i].origin.v - 1, floor->items[i].epoch,
                      (unsigned long long)floor->items[i].seq,
                      (unsigned long long)at_vector_get(&v->applied, floor->items[i].origin,
                                                        floor->items[i].epoch));
}

void real_check_view(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];
    const struct at_replica_view *v = &n->view;

    expect_covers(w, node, "positions fall", &n->last.applied);
    if (v->horizon < n->last.horizon)
        real_fail(w, "horizon falls", "cluster %u: %llu from %llu", node,
                  (unsigned long long)v->horizon, (unsigned long long)n->last.horizon);
    if (v->may_write && (v->mode != AT_MODE_READY || v->left || !v->joined))
        real_fail(w, "may write", "cluster %u: mode %d, joined %d", node, (int)v->mode, v->joined);
    if (n->last.mode == AT_MODE_REMOVED && v->mode != AT_MODE_REMOVED)
        real_fail(w, "mode", "cluster %u was removed, and is %d", node, (int)v->mode);
    for (uint32_t i = 0; i < v->applied.count; i++) {
        struct at_position p = v->applied.items[i];
        if (p.seq > w->oracle.truth[p.origin.v - 1][p.epoch - 1].count)
            real_fail(w, "positions", "cluster %u has (%u, %u, %llu), which never was", node,
                      p.origin.v - 1, p.epoch, (unsigned long long)p.seq);
    }
    if (v->mode == AT_MODE_NEEDS_COPY && n->last.mode != AT_MODE_NEEDS_COPY &&
        n->last.mode != AT_MODE_COPYING)
        w->stats.needs_copy++;
    if (v->mode != n->last.mode)
        real_trace(w, "cluster %u: mode %d, was %d", node, (int)v->mode, (int)n->last.mode);
    if (v->joined && !n->last.joined)
        w->stats.joined++;
    at_replica_view_copy(&n->last, v);
}

void real_check_start(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];
    const struct at_replica_view *v = &n->view;
    bool lost = false;

    expect_covers(w, node, "durable, and lost", &n->durable_floor);
    if (!n->power_lost)
        expect_covers(w, node, "lost without a power cut", &n->disk_floor);
    for (uint32_t e = 0; e < SIM_EPOCHS_MAX; e++) {
        const struct sim_history *h = &w->oracle.truth[node][e];
        uint64_t has = at_vector_get(&v->applied, v->self, e + 1);
        if (e + 1 < at_positions_facts_first_open(&v->facts, v->self))
            continue;
        for (uint64_t s = has; s < h->count; s++) {
            if (w->sync_commits && w->acked[node][e] > s)
                real_fail(w, "acknowledged, and lost", "cluster %u: (%u, %llu)", node, e + 1,
                          (unsigned long long)s + 1);
            w->stats.lost_entries += !h->ops[s]->lost;
            lost = lost || !h->ops[s]->lost;
            h->ops[s]->lost = true;
        }
    }
    if (lost && v->epoch <= n->last.epoch && n->last.epoch != 0)
        real_fail(w, "epoch", "cluster %u lost entries and goes on in epoch %u", node, v->epoch);
    w->stats.losses += lost;
    n->power_lost = false;
}
