#include "base/bytes.h"
#include "cluster/model/hll.h"
#include "cluster/model/operation.h"
#include "sim/world.h"

#include "base/assert.h"

/* All are encoded as the product does. */

static const struct at_slice table_names[SIM_TABLES] = {AT_LIT_INIT("t0"), AT_LIT_INIT("t1")};
static const struct at_slice family_names[SIM_FAMILIES] = {AT_LIT_INIT("f0"), AT_LIT_INIT("f1"),
                                                           AT_LIT_INIT("f2")};
static const struct at_slice row_names[SIM_ROWS] = {AT_LIT_INIT("a0"), AT_LIT_INIT("a1"),
                                                    AT_LIT_INIT("b0")};
static const struct at_slice column_names[SIM_COLUMNS] = {AT_LIT_INIT("q0"), AT_LIT_INIT("q1")};
/* google.bigtable.admin.v2.ColumnFamily */
static const struct at_slice family_fields[] = {
    [AT_FAMILY_PLAIN] = AT_LIT_INIT(""),
    [AT_FAMILY_SUM] = AT_LIT_INIT("\x1a\x04\x32\x02\x22\x00"),
    [AT_FAMILY_MIN] = AT_LIT_INIT("\x1a\x04\x32\x02\x3a\x00"),
    [AT_FAMILY_MAX] = AT_LIT_INIT("\x1a\x04\x32\x02\x32\x00"),
    [AT_FAMILY_HLL] = AT_LIT_INIT("\x1a\x04\x32\x02\x2a\x00"),
};

static void fill_mutation(const struct sim_mutation *from, uint8_t *value, struct at_mutation *to);
static void
fill_removal(struct sim_world *w, const struct at_removal *removal, struct at_operation *out);

void sim_payload_encode(struct sim_world *w,
                        const struct sim_op *op,
                        const struct at_removal *removal)
{
    struct at_mutation mutations[SIM_MUTATIONS_MAX] = {0};
    struct at_catalog_record records[SIM_RECORDS_MAX] = {0};
    uint8_t values[SIM_MUTATIONS_MAX][AT_HLL_ONE_BYTES];
    struct at_operation out = {.table = table_names[op->table],
                               .table_generation = op->table_generation};

    at_buf_clear(&w->payload);
    switch (op->kind) {
    case SIM_OP_ROW:
        out.kind = AT_OPERATION_ROW;
        out.row = row_names[op->row];
        out.mutations = mutations;
        out.mutation_count = op->mutation_count;
        for (uint32_t i = 0; i < op->mutation_count; i++)
            fill_mutation(&op->mutations[i], values[i], &mutations[i]);
        break;
    case SIM_OP_DROP:
        out.kind = AT_OPERATION_DROP_RANGE;
        out.row = op->row_end - op->row == SIM_ROWS ? AT_LIT("")
                  : op->row == 0                    ? AT_LIT("a")
                                                    : AT_LIT("b");
        break;
    case SIM_OP_CATALOG:
        out.kind = AT_OPERATION_CATALOG;
        out.records = records;
        out.record_count = op->change_count;
        for (uint32_t i = 0; i < op->change_count; i++) {
            const struct sim_catalog_change *c = &op->changes[i];
            records[i] = (struct at_catalog_record){
                .kind = c->is_family ? AT_CATALOG_FAMILY : AT_CATALOG_TABLE,
                .name = c->is_family ? family_names[c->family] : out.table,
                .table = c->is_family ? out.table : AT_LIT(""),
                .table_generation = c->is_family ? c->table_generation : 0,
                .counter = c->counter,
                .stamp = {op->hlc + i, op->at.origin},
                .fields = c->is_family ? family_fields[c->type] : AT_LIT("\x80")};
        }
        break;
    case SIM_OP_MEMBER:
        out.kind = AT_OPERATION_MEMBER;
        out.members[0] = sim_id((uint32_t)__builtin_ctz(op->members));
        out.member_count = 1;
        break;
    case SIM_OP_LEAVE:
        out.kind = AT_OPERATION_LEAVE;
        break;
    case SIM_OP_REMOVE:
        out.kind = AT_OPERATION_REMOVE;
        fill_removal(w, removal, &out);
        break;
    case SIM_OP_RELEASE:
        out.kind = AT_OPERATION_RELEASE;
        out.hlc = op->hlc;
        break;
    }
    enum at_code code = at_operation_encode(&out, &w->payload);
    AT_ASSERT(code == AT_OK);
}

static void fill_mutation(const struct sim_mutation *from, uint8_t *value, struct at_mutation *to)
{
    const uint8_t seen = (uint8_t)from->value;
    size_t len = from->sketch ? AT_HLL_ONE_BYTES : 8;

    if (from->sketch)
        at_hll_one(at_slice_make(&seen, 1), value);
    else
        at_put_be64(value, (uint64_t)from->value);
    *to = (struct at_mutation){.kind = from->kind,
                               .family = family_names[from->family],
                               .family_generation = from->family_generation,
                               .qualifier = column_names[from->column],
                               .timestamp_micros = 1000 * (1 + from->time),
                               .value = {value, len}};
    if (from->kind != AT_MUTATION_DELETE_COLUMN)
        return;
    /* 0 is open: both forms of the widest range. */
    to->start_micros = from->time == 0 ? 0 : 1000 * (1 + from->time);
    to->end_micros = from->time_end == SIM_TIMES ? 0 : 1000 * (1 + from->time_end);
}

static void
fill_removal(struct sim_world *w, const struct at_removal *removal, struct at_operation *out)
{
    at_arena_reset(&w->op_arena);
    out->vouches =
        AT_ARENA_ARRAY(&w->op_arena, struct at_operation_vouch, removal->vouch_count + 1);
    for (uint32_t i = 0; i < removal->vouch_count; i++)
        out->vouches[i] =
            (struct at_operation_vouch){removal->vouches[i].voucher, removal->vouches[i].position};
    out->vouch_count = removal->vouch_count;
    for (uint32_t i = 0; i < removal->member_count; i++)
        out->members[i] = removal->members[i];
    out->member_count = removal->member_count;
    out->fork_id = removal->fork_id;
}
