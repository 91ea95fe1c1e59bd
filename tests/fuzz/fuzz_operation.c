/* fuzz_operation: any bytes as the payload of a log entry; what decodes must survive a second
 * round, with the size foretold, and a catalog must take or refuse its records, but take those that
 * are readable. */
#include "base/assert.h"
#include "cluster/model/operation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct at_operation *op, struct at_arena *arena)
{
    struct at_operation again;
    struct at_buf b;

    at_buf_init(&b, 16 * AT_MIB);
    enum at_code code = at_operation_encode(op, &b);
    AT_ASSERT(code == AT_OK);
    AT_ASSERT(b.len == at_operation_size_max(op));
    code = at_operation_decode(at_buf_slice(&b), arena, &again);
    AT_ASSERT(code == AT_OK);
    AT_ASSERT(again.kind == op->kind && again.mutation_count == op->mutation_count &&
              again.record_count == op->record_count);
    AT_ASSERT(again.member_count == op->member_count && again.vouch_count == op->vouch_count &&
              again.fork_id == op->fork_id && again.hlc == op->hlc);
    AT_ASSERT(again.has_token == op->has_token && again.token.high == op->token.high &&
              again.token.low == op->token.low);
    at_buf_deinit(&b);
}

static void check_readable(const struct at_operation *op)
{
    struct at_catalog *empty = at_catalog_new();
    struct at_catalog *next = NULL;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < op->record_count; i++)
        if (at_catalog_record_readable(&op->records[i]))
            op->records[kept++] = op->records[i];
    enum at_code code = at_catalog_apply(empty, op->records, kept, NULL, &next, NULL);
    AT_ASSERT(code == AT_OK);
    at_catalog_free(&next);
    at_catalog_free(&empty);
}

static void check_catalog(const struct at_operation *op)
{
    struct at_catalog *empty = at_catalog_new();
    struct at_catalog *next = NULL;

    if (at_catalog_apply(empty, op->records, op->record_count, NULL, &next, NULL) == AT_OK) {
        AT_ASSERT(at_catalog_record_count(next) <= op->record_count);
        for (uint32_t i = 0; i < at_catalog_table_count(next); i++) {
            const struct at_table *t = at_catalog_table_at(next, i);
            AT_ASSERT(at_catalog_table(next, t->name) == t);
        }
    }
    at_catalog_free(&next);
    at_catalog_free(&empty);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_operation op;
    struct at_arena arena;

    at_arena_init(&arena, 4096);
    if (at_operation_decode(at_slice_make(data, size), &arena, &op) == AT_OK) {
        check_again(&op, &arena);
        if (op.kind == AT_OPERATION_CATALOG)
            check_catalog(&op);
        if (op.kind == AT_OPERATION_CATALOG)
            check_readable(&op);
    }
    at_arena_deinit(&arena);
    return 0;
}
