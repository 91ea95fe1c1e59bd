/* bench_request.c: the places of keys and times are found by what was put there at first: a key in
 * lower case (values have none), and a time whose varint has bytes that no text has. */
#include "cli/bench_request.h"

#include "base/assert.h"
#include "base/limits.h"
#include "cli/cbt/proto.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

#define KEY_BYTES 16
#define KEY_DIGITS 12
#define FIRST_KEY "user000000000000"
#define TIME_BYTES 8
#define FIRST_MICROS UINT64_C(1234567891234000)
#define ARENA_BYTES (64 * AT_KIB)

const char *at_bench_work_name(enum at_bench_work work)
{
    static const char *const NAMES[] = {"mutate", "read", "bulk", "scan", "mixed"};
    return NAMES[work];
}

static void put_time(uint8_t *p, uint64_t micros)
{
    for (int i = 0; i < TIME_BYTES; i++, micros >>= 7)
        p[i] = (uint8_t)((micros & 0x7f) | (i + 1 < TIME_BYTES ? 0x80 : 0));
}

static Google__Bigtable__V2__Mutation **new_mutations(struct at_arena *arena, uint32_t value_bytes)
{
    Google__Bigtable__V2__Mutation **list =
        AT_ARENA_ARRAY(arena, Google__Bigtable__V2__Mutation *, 1);
    Google__Bigtable__V2__Mutation__SetCell *set =
        AT_PROTO_NEW(arena, google__bigtable__v2__mutation__set_cell);
    uint8_t *value = at_arena_alloc(arena, value_bytes);
    struct at_prng prng;
    at_prng_init(&prng, value_bytes);
    for (uint32_t i = 0; i < value_bytes; i++)
        value[i] = (uint8_t)('A' + at_prng_below(&prng, 26));
    set->family_name = at_proto_text("f");
    set->column_qualifier = at_proto_borrow(AT_LIT("q"));
    set->timestamp_micros = (int64_t)FIRST_MICROS;
    set->value = at_proto_borrow(at_slice_make(value, value_bytes));
    list[0] = AT_PROTO_NEW(arena, google__bigtable__v2__mutation);
    list[0]->mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_SET_CELL;
    list[0]->set_cell = set;
    return list;
}

static const ProtobufCMessage *
new_mutate(struct at_arena *arena, const char *table, const char *profile, uint32_t value_bytes)
{
    Google__Bigtable__V2__MutateRowRequest *request =
        AT_PROTO_NEW(arena, google__bigtable__v2__mutate_row_request);
    request->table_name = at_proto_text(table);
    request->app_profile_id = at_proto_text(profile);
    request->row_key = at_proto_borrow(AT_LIT(FIRST_KEY));
    request->n_mutations = 1;
    request->mutations = new_mutations(arena, value_bytes);
    return &request->base;
}

static const ProtobufCMessage *
new_bulk(struct at_arena *arena, const char *table, const char *profile, uint32_t value_bytes)
{
    Google__Bigtable__V2__MutateRowsRequest *request =
        AT_PROTO_NEW(arena, google__bigtable__v2__mutate_rows_request);
    request->table_name = at_proto_text(table);
    request->app_profile_id = at_proto_text(profile);
    request->n_entries = AT_BENCH_BULK_ROWS;
    request->entries =
        AT_ARENA_ARRAY(arena, Google__Bigtable__V2__MutateRowsRequest__Entry *, AT_BENCH_BULK_ROWS);
    for (size_t i = 0; i < AT_BENCH_BULK_ROWS; i++) {
        request->entries[i] = AT_PROTO_NEW(arena, google__bigtable__v2__mutate_rows_request__entry);
        request->entries[i]->row_key = at_proto_borrow(AT_LIT(FIRST_KEY));
        request->entries[i]->n_mutations = 1;
        request->entries[i]->mutations = new_mutations(arena, value_bytes);
    }
    return &request->base;
}

static const ProtobufCMessage *
new_read(struct at_arena *arena, const char *table, const char *profile, bool scan)
{
    Google__Bigtable__V2__ReadRowsRequest *request =
        AT_PROTO_NEW(arena, google__bigtable__v2__read_rows_request);
    request->table_name = at_proto_text(table);
    request->app_profile_id = at_proto_text(profile);
    request->rows = AT_PROTO_NEW(arena, google__bigtable__v2__row_set);
    request->rows_limit = scan ? AT_BENCH_SCAN_ROWS : 1;
    if (scan) {
        Google__Bigtable__V2__RowRange *range =
            AT_PROTO_NEW(arena, google__bigtable__v2__row_range);
        range->start_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_CLOSED;
        range->start_key_closed = at_proto_borrow(AT_LIT(FIRST_KEY));
        request->rows->n_row_ranges = 1;
        request->rows->row_ranges = AT_ARENA_ARRAY(arena, Google__Bigtable__V2__RowRange *, 1);
        request->rows->row_ranges[0] = range;
    } else {
        request->rows->n_row_keys = 1;
        request->rows->row_keys = AT_ARENA_ARRAY(arena, ProtobufCBinaryData, 1);
        request->rows->row_keys[0] = at_proto_borrow(AT_LIT(FIRST_KEY));
    }
    return &request->base;
}

/* Notes where `bytes` stand in the request; returns how often. */
static size_t find(struct at_slice in, struct at_slice bytes, size_t *offsets)
{
    size_t count = 0;
    for (size_t at = 0; at + bytes.len <= in.len && count < AT_BENCH_BULK_ROWS;) {
        if (memcmp(in.data + at, bytes.data, bytes.len) != 0) {
            at++;
            continue;
        }
        offsets[count++] = at;
        at += bytes.len;
    }
    return count;
}

enum at_code at_bench_request_init(struct at_bench_request *r,
                                   enum at_bench_work work,
                                   const char *table,
                                   const char *profile,
                                   uint32_t value_bytes)
{
    static const char *const PATHS[] = {
        "/google.bigtable.v2.Bigtable/MutateRow", "/google.bigtable.v2.Bigtable/ReadRows",
        "/google.bigtable.v2.Bigtable/MutateRows", "/google.bigtable.v2.Bigtable/ReadRows"};
    const ProtobufCMessage *message = NULL;
    struct at_arena arena;
    uint8_t time[TIME_BYTES];
    AT_ASSERT(work < AT_BENCH_MIXED);
    at_arena_init(&arena, ARENA_BYTES);
    if (work == AT_BENCH_MUTATE)
        message = new_mutate(&arena, table, profile, value_bytes);
    else if (work == AT_BENCH_BULK)
        message = new_bulk(&arena, table, profile, value_bytes);
    else
        message = new_read(&arena, table, profile, work == AT_BENCH_SCAN);
    *r = (struct at_bench_request){.path = PATHS[work]};
    at_buf_init(&r->bytes, AT_GRPC_MESSAGE_BYTES_MAX);
    enum at_code code = at_proto_pack(&r->bytes, message);
    at_arena_deinit(&arena);
    AT_TRY(code);
    put_time(time, FIRST_MICROS);
    r->key_count = find(at_buf_slice(&r->bytes), AT_LIT(FIRST_KEY), r->key_offsets);
    r->time_count =
        find(at_buf_slice(&r->bytes), at_slice_make(time, sizeof(time)), r->time_offsets);
    return AT_OK;
}

void at_bench_request_deinit(struct at_bench_request *r)
{
    at_buf_deinit(&r->bytes);
}

void at_bench_request_set_key(struct at_bench_request *r, size_t index, uint64_t row)
{
    AT_ASSERT(index < r->key_count);
    uint8_t *end = r->bytes.data + r->key_offsets[index] + KEY_BYTES;
    for (int i = 1; i <= KEY_DIGITS; i++, row /= 10)
        *(end - i) = (uint8_t)('0' + row % 10);
}

void at_bench_request_set_time(struct at_bench_request *r, uint64_t micros)
{
    AT_ASSERT(micros >> 49 != 0);
    AT_ASSERT(micros >> 56 == 0);
    for (size_t i = 0; i < r->time_count; i++)
        put_time(r->bytes.data + r->time_offsets[i], micros);
}
