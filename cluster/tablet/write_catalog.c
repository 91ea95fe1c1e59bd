#include "cluster/tablet/writer.h"

/* Changes of tables, families and profiles: decided against the newest catalog, on the one thread
 * that changes it, so two of them never decide against the same state. */

static void change(struct writer *w, struct at_write_catalog *write);
static size_t acts_size(const struct at_write_catalog *write);
static void put_acts(struct writer *w, struct at_write_catalog *write);
static enum at_code
check_readable(struct writer *w, const struct at_operation *op, struct at_error *reterr);
static void stamp_records(struct writer *w, struct at_write_catalog *write, uint64_t hlc);

void write_catalog(struct writer *w, struct at_write_catalog *write)
{
    write->ret_schema = NULL;
    write->records = NULL;
    write->record_count = 0;
    write->acts = NULL;
    write->act_count = 0;
    enum at_code code = round_may_write(w, &write->base.error);
    if (code == AT_OK)
        code = write->decide(write, w->schema->catalog, &write->base.error);
    for (uint32_t i = 0; code == AT_OK && i < write->act_count; i++)
        code = act_check(w, &write->acts[i], &write->base.error);
    if (code == AT_OK && write->record_count > 0) {
        change(w, write);
        return;
    }
    if (code == AT_OK && write->act_count > 0) {
        if (!round_room(w, acts_size(write))) {
            round_refuse(w, &write->base);
            return;
        }
        put_acts(w, write);
    }
    if (code == AT_OK)
        write->ret_schema = at_schema_ref(w->schema);
    round_answer(w, &write->base, code);
}

/* The stamps must stand in the records before the catalog takes them, and the entry is made after
 * it did. A change that is refused wastes a few ticks of the clock. */
static void change(struct writer *w, struct at_write_catalog *write)
{
    struct at_error *error = &write->base.error;
    uint32_t count = write->record_count;
    struct at_operation op = {
        .kind = AT_OPERATION_CATALOG,
        .records = write->records,
        .record_count = count,
    };

    stamp_records(w, write, UINT64_MAX - count); /* the longest form: for the size */
    size_t size = at_operation_size_max(&op);
    if (size > AT_ENTRY_BYTES_MAX) {
        round_answer(w, &write->base, at_fail(error, AT_INVALID_ARGUMENT, "Change too large"));
        return;
    }
    enum at_code code = check_readable(w, &op, error);
    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    if (!round_room(w, size + acts_size(write))) {
        round_refuse(w, &write->base);
        return;
    }
    uint64_t hlc = at_replica_issue(w->replica, count, w->round.wall_ns);
    stamp_records(w, write, hlc);
    code = writer_apply_catalog(w, write->records, count, error);
    if (code == AT_OK) {
        round_own_issued(w, &op, hlc, count, size);
        write->base.seq = w->round.own_last.seq;
        write->ret_schema = at_schema_ref(w->schema);
        put_acts(w, write);
    }
    round_answer(w, &write->base, code);
}

static size_t acts_size(const struct at_write_catalog *write)
{
    size_t size = 0;

    for (uint32_t i = 0; i < write->act_count; i++)
        size += at_operation_size_max(&write->acts[i]);
    return size;
}

static void put_acts(struct writer *w, struct at_write_catalog *write)
{
    for (uint32_t i = 0; i < write->act_count; i++) {
        const struct at_operation *op = &write->acts[i];
        uint64_t hlc = round_own(w, op, 1, at_operation_size_max(op));
        act_apply(w, op, w->round.own_last, hlc);
        write->base.seq = w->round.own_last.seq;
        w->round.sync = true;
    }
}

/* An entry that others refuse to decode would stop them from ever taking what follows it. Catalog
 * changes are rare enough to try. */
static enum at_code
check_readable(struct writer *w, const struct at_operation *op, struct at_error *reterr)
{
    struct at_operation again;

    at_buf_clear(&w->meta_value);
    at_arena_reset(&w->arena);
    enum at_code code = at_operation_encode(op, &w->meta_value);
    if (code == AT_OK)
        code = at_operation_decode(at_buf_slice(&w->meta_value), &w->arena, &again);
    for (uint32_t i = 0; code == AT_OK && i < op->record_count; i++)
        if (!at_catalog_record_readable(&op->records[i]))
            return at_fail(reterr, AT_INVALID_ARGUMENT, "Change refused: record %u is malformed",
                           i);
    if (code == AT_OK)
        return AT_OK;
    return at_fail(
        reterr, AT_INVALID_ARGUMENT,
        "Change refused: more than %d records, or of a name that was created and deleted "
        "too often",
        AT_OPERATION_RECORDS_MAX);
}

static void stamp_records(struct writer *w, struct at_write_catalog *write, uint64_t hlc)
{
    for (uint32_t i = 0; i < write->record_count; i++)
        write->records[i].stamp = (struct at_stamp){hlc + i, w->store->config.replica.self};
}
