/* fuzz_apply: what a peer's log says, applied to a real store. The first byte decides: the rest is
 * the payload of an entry as it stands, or a script of mutations of a row, which must be applied.
 * Whatever came, the store serves reads afterwards. Catalog entries are the affair of
 * fuzz_operation. */
#include "base/assert.h"
#include "cluster/model/operation.h"
#include "replication/record.h"
#include "support/store_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUTATIONS_MAX 12
#define TICKS 4096
#define INPUTS_PER_STORE 1000
#define EPOCH 9

/* One store for many inputs, since opening one is slow; made anew before it has grown. */
static struct {
    struct fx fx;
    bool open;
    uint64_t seq; /* applied of the peer's log */
    uint32_t inputs;
} world;

static struct at_slice script;

static void close_store(void)
{
    if (world.open)
        fx_close(&world.fx);
    world.open = false;
}

static void open_store(void)
{
    static bool registered;

    if (world.open && world.inputs++ < INPUTS_PER_STORE)
        return;
    close_store();
    fx_open(&world.fx, 1, 3);
    if (!registered && atexit(close_store) != 0) /* after RocksDB's own, so that it runs before */
        abort();
    registered = true;
    fx_make_table(&world.fx);
    AT_ASSERT(fx_change(&world.fx, "t", "sum", FX_FIELDS(FX_SUM), true) == AT_OK);
    AT_ASSERT(fx_change(&world.fx, "t", "max", FX_FIELDS(FX_MAX), true) == AT_OK);
    AT_ASSERT(fx_change(&world.fx, "t", "hll", FX_FIELDS(FX_HLL), true) == AT_OK);
    world.open = true;
    world.seq = 0;
    world.inputs = 0;
}

/* Gives the store one more entry of the peer's log; true when it was applied. */
static bool apply(struct at_slice payload)
{
    struct at_replica_view view;
    struct at_record_builder builder;
    struct at_run run = {{2}, EPOCH, {NULL, 0}, 0};
    struct fx_reply *reply = AT_NEW(struct fx_reply);

    fx_view(&world.fx, &view);
    struct at_entry entry = {world.seq + 1, view.hlc + 1, TICKS, payload};
    at_record_builder_init(&builder, payload.len + 256);
    at_record_begin(&builder, entry.seq);
    enum at_code code = at_record_add(&builder, &entry);
    AT_ASSERT(code == AT_OK);
    run.record = at_record_finish(&builder);

    at_replica_view_init(&reply->view);
    at_buf_init(&reply->bytes, 1);
    at_arena_init(&reply->arena, 64);
    struct at_message *message = &reply->apply.apply.message;
    message->kind = AT_MESSAGE_REPLY;
    message->u.reply = (struct at_reply){.instance_id = 77,
                                         .from = {2},
                                         .incarnation = EPOCH,
                                         .hlc = view.hlc,
                                         .runs = &run,
                                         .run_count = 1};
    at_vector_init(&message->u.reply.ends_known);
    fx_reply_give(reply, &world.fx);
    AT_ASSERT(!reply->apply.apply.dropped);
    bool applied = reply->apply.apply.applied_count == 1;
    world.seq += applied;
    fx_reply_free(reply);
    at_free(reply);
    at_record_builder_deinit(&builder);
    at_replica_view_deinit(&view);
    return applied;
}

/* Reads one row of the table, in small steps; true when there is something. */
static bool read_row(struct at_slice row)
{
    struct at_arena arena;
    struct at_row_set rows;
    struct at_buf out;

    at_arena_init(&arena, 1024);
    at_buf_init(&out, 64 * AT_MIB);
    at_row_set_init(&rows);
    enum at_code code = at_row_set_add_key(&rows, &arena, row, NULL);
    AT_ASSERT(code == AT_OK);
    at_row_set_finish(&rows, &arena);
    struct at_read_spec spec = {.table = fx_s("t"), .rows = &rows};
    read_text(world.fx.store, &spec, 100, &out);
    bool there = out.len > 0;
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
    return there;
}

static void apply_raw(struct at_slice payload)
{
    struct at_arena arena;
    struct at_operation op;

    at_arena_init(&arena, 4096);
    enum at_code code = at_operation_decode(payload, &arena, &op);
    if (code != AT_OK || op.kind != AT_OPERATION_CATALOG) {
        bool applied = apply(payload);
        AT_ASSERT(!applied || code == AT_OK);
    }
    if (code == AT_OK && op.kind == AT_OPERATION_ROW)
        (void)read_row(op.row);
    at_arena_deinit(&arena);
}

/* --- scripts --- */

static uint8_t next_byte(void)
{
    if (script.len == 0)
        return 0;
    uint8_t b = script.data[0];
    script = at_slice_from(script, 1);
    return b;
}

static struct at_slice next_bytes(size_t n)
{
    struct at_slice s = at_slice_make(script.data, n < script.len ? n : script.len);
    script = at_slice_from(script, s.len);
    return s;
}

static struct at_mutation next_mutation(void)
{
    static const char *const FAMILIES[] = {"f", "g", "sum", "max", "hll", "none"};
    static const int64_t TIMES[] = {0, 1000, 2000, 3000, INT64_MAX / 1000 * 1000, 1, 2, 999};
    static const uint8_t KINDS[] = {AT_MUTATION_SET,           AT_MUTATION_SET,
                                    AT_MUTATION_DELETE_COLUMN, AT_MUTATION_DELETE_FAMILY,
                                    AT_MUTATION_DELETE_ROW,    AT_MUTATION_ADD,
                                    AT_MUTATION_MERGE,         AT_MUTATION_SET};
    uint8_t what = next_byte();
    uint8_t where = next_byte();
    uint8_t when = next_byte();
    struct at_mutation m = {.kind = (enum at_mutation_kind)KINDS[what & 7]};

    if (m.kind == AT_MUTATION_DELETE_ROW)
        return m;
    m.family = at_slice_cstr(FAMILIES[(where & 7) % 6]);
    m.family_generation = where >> 6 == 3 ? 3 : 1;
    if (m.kind == AT_MUTATION_DELETE_FAMILY)
        return m;
    m.qualifier = next_bytes(where >> 3 & 3);
    if (m.kind == AT_MUTATION_DELETE_COLUMN) {
        m.start_micros = TIMES[when & 3];
        m.end_micros = when & 4 ? m.start_micros + 1000 : 0;
        return m;
    }
    m.timestamp_micros = TIMES[when & 7];
    m.value = next_bytes(what & 128 ? 8 : what >> 3);
    return m;
}

static void apply_script(void)
{
    struct at_mutation mutations[MUTATIONS_MAX];
    struct at_operation op = {.kind = AT_OPERATION_ROW,
                              .table = fx_s("t"),
                              .table_generation = 1,
                              .mutations = mutations};
    uint8_t row[9];
    struct at_operation again;
    struct at_arena arena;
    struct at_buf payload;

    row[0] = next_byte();
    at_put_be64(row + 1, world.inputs);
    op.row = at_slice_make(row, sizeof(row));
    do
        mutations[op.mutation_count++] = next_mutation();
    while (script.len > 0 && op.mutation_count < MUTATIONS_MAX);
    at_arena_init(&arena, 4096);
    at_buf_init(&payload, AT_MIB);
    enum at_code code = at_operation_encode(&op, &payload);
    AT_ASSERT(code == AT_OK);
    bool valid = at_operation_decode(at_buf_slice(&payload), &arena, &again) == AT_OK;
    bool applied = apply(at_buf_slice(&payload));
    AT_ASSERT(applied == valid);
    const struct at_mutation *last = &mutations[op.mutation_count - 1];
    bool there = read_row(op.row);
    if (last->kind == AT_MUTATION_DELETE_ROW || !valid)
        AT_ASSERT(!there);
    else if (last->kind == AT_MUTATION_SET && last->family.len == 1 && last->family_generation == 1)
        AT_ASSERT(there);
    at_buf_deinit(&payload);
    at_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    open_store();
    script = at_slice_make(data + 1, size - 1);
    if (data[0] & 1)
        apply_raw(script);
    else
        apply_script();
    return 0;
}
