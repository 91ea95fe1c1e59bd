/* import_batch.c: entries are packed straight from the CSV record, without a message tree. */
#include "cli/cbt/import_batch.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/pbwire.h"
#include "cli/cbt/args.h"
#include "cli/cbt/session.h"

#define BATCH_BYTES_SOFT (32 * AT_MIB)
#define FIELD_TABLE 1 /* of MutateRowsRequest */
#define FIELD_ENTRIES 2
#define FIELD_PROFILE 3

static struct at_slice *copy_fields(struct at_import_source *s, size_t count)
{
    struct at_slice *fields = AT_ARENA_ARRAY(s->arena, struct at_slice, count);
    for (size_t i = 0; i < count; i++)
        fields[i] = at_arena_copy(s->arena, s->csv.fields[i]);
    return fields;
}

enum at_code at_import_source_begin(struct at_import_source *s, struct at_error *reterr)
{
    struct at_error reason;
    size_t count = 0;
    if (!s->family) {
        enum at_code code = at_csv_read(&s->csv, &count, &reason);
        if (code == AT_OK && count == 0)
            code = at_fail(&reason, AT_INVALID_ARGUMENT, "EOF");
        if (code != AT_OK)
            return at_fail(reterr, code, "family header reader error:%s", reason.msg);
        s->families = copy_fields(s, count);
    }
    enum at_code code = at_csv_read(&s->csv, &count, &reason);
    if (code == AT_OK && count == 0)
        code = at_fail(&reason, AT_INVALID_ARGUMENT, "EOF");
    if (code != AT_OK)
        return at_fail(reterr, code, "columns header reader error:%s", reason.msg);
    s->qualifiers = copy_fields(s, count);
    if (count < 2)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "at least 2 columns are required (rowkey + data)");
    if (s->family) {
        s->families = AT_ARENA_ARRAY(s->arena, struct at_slice, count);
        s->families[1] = at_slice_cstr(s->family);
    }
    if (s->families[0].len > 0 || s->qualifiers[0].len > 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "the first column must be empty for column-family and column name rows");
    if (s->families[1].len == 0 || s->qualifiers[1].len == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "the second column (first data column) must have values for column family "
                       "and column name rows if present");
    for (size_t i = 2; i < count; i++)
        if (s->families[i].len == 0)
            s->families[i] = s->families[i - 1];
    return AT_OK;
}

enum at_code at_import_batch_init(struct at_import_batch *b,
                                  const char *table,
                                  const char *profile,
                                  size_t entry_max)
{
    *b = (struct at_import_batch){.entry_max = entry_max,
                                  .pending = at_alloc(entry_max * sizeof(bool))};
    at_buf_init(&b->head, AT_MIB);
    at_buf_init(&b->message, AT_GRPC_MESSAGE_BYTES_MAX);
    at_buf_init(&b->spare, AT_GRPC_MESSAGE_BYTES_MAX);
    at_buf_init(&b->scratch, AT_GRPC_MESSAGE_BYTES_MAX);
    AT_TRY(at_pb_put_bytes(&b->head, FIELD_TABLE, at_slice_cstr(table)));
    return profile ? at_pb_put_bytes(&b->head, FIELD_PROFILE, at_slice_cstr(profile)) : AT_OK;
}

void at_import_batch_deinit(struct at_import_batch *b)
{
    at_buf_deinit(&b->head);
    at_buf_deinit(&b->message);
    at_buf_deinit(&b->spare);
    at_buf_deinit(&b->scratch);
    at_free(b->pending);
}

/* Appends a Mutation with a SetCell, as field 2 of an Entry. */
static enum at_code
put_cell(const struct at_import_source *s, struct at_buf *out, size_t column, struct at_slice value)
{
    int64_t micros = s->now_micros;
    struct at_slice family = s->families[column];
    struct at_slice qualifier = s->qualifiers[column];
    if (s->encoded_timestamps)
        (void)at_cbt_split_timestamp(&value, &micros);
    size_t set_cell = 1 + at_pb_varint_size(family.len) + family.len + 1 +
                      at_pb_varint_size(qualifier.len) + qualifier.len + 1 +
                      at_pb_varint_size((uint64_t)micros) + 1 + at_pb_varint_size(value.len) +
                      value.len;
    AT_TRY(at_pb_put_head(out, 2, 1 + at_pb_varint_size(set_cell) + set_cell));
    AT_TRY(at_pb_put_head(out, 1, set_cell));
    AT_TRY(at_pb_put_bytes(out, 1, family));
    AT_TRY(at_pb_put_bytes(out, 2, qualifier));
    AT_TRY(at_pb_put_varint(out, 3, (uint64_t)micros));
    return at_pb_put_bytes(out, 4, value);
}

static void show_key(char *shown, struct at_slice key)
{
    (void)snprintf(shown, AT_IMPORT_KEY_SHOWN_BYTES, "%.*s", AT_SLICE_ARG(key));
}

/* Adds the record that was read to the batch, unless it holds no row. */
static enum at_code
add_record(struct at_import_batch *b, const struct at_import_source *s, size_t field_count)
{
    struct at_slice key = s->csv.fields[0];
    at_buf_clear(&b->scratch);
    AT_TRY(at_pb_put_bytes(&b->scratch, 1, key));
    size_t empty_len = b->scratch.len;
    for (size_t i = 1; i < field_count; i++)
        if (s->csv.fields[i].len > 0)
            AT_TRY(put_cell(s, &b->scratch, i, s->csv.fields[i]));
    if (b->scratch.len == empty_len) {
        at_cbt_log("[%zu] RowKey '%.*s' has no mutations, skipping", b->worker, AT_SLICE_ARG(key));
        return AT_OK;
    }
    if (key.len == 0) {
        at_cbt_log("[%zu] RowKey not present, skipping line", b->worker);
        return AT_OK;
    }
    AT_TRY(at_pb_put_bytes(&b->message, FIELD_ENTRIES, at_buf_slice(&b->scratch)));
    if (b->entry_count == 0)
        show_key(b->first_key, key);
    show_key(b->last_key, key);
    b->pending[b->entry_count++] = true;
    return AT_OK;
}

/* Reads rows until the batch is full or the file ends. */
enum at_code
at_import_batch_fill(struct at_import_batch *b, struct at_import_source *s, struct at_error *reterr)
{
    at_buf_clear(&b->message);
    AT_TRY(at_buf_append(&b->message, at_buf_slice(&b->head)));
    b->entry_count = 0;
    while (b->entry_count < b->entry_max && b->message.len < BATCH_BYTES_SOFT) {
        size_t count = 0;
        AT_TRY(at_csv_read(&s->csv, &count, reterr));
        if (count == 0)
            break;
        if (add_record(b, s, count) != AT_OK)
            return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "row on line %" PRIu64 " is too large",
                           s->csv.line - 1);
    }
    return AT_OK;
}

/* Leaves only pending entries in the message. */
enum at_code at_import_batch_narrow(struct at_import_batch *b)
{
    struct at_slice rest = at_slice_from(at_buf_slice(&b->message), b->head.len);
    struct at_pb_field field;
    bool bad = false;
    size_t kept = 0;
    at_buf_clear(&b->spare);
    AT_TRY(at_buf_append(&b->spare, at_buf_slice(&b->head)));
    for (size_t i = 0; at_pb_next(&rest, &field, &bad); i++) {
        if (!b->pending[i])
            continue;
        AT_TRY(at_pb_put_bytes(&b->spare, FIELD_ENTRIES, field.bytes));
        kept++;
    }
    AT_ASSERT(!bad);
    struct at_buf swap = b->message;
    b->message = b->spare;
    b->spare = swap;
    b->entry_count = kept;
    return AT_OK;
}
