/* test_bench_request.c: packed requests get other keys and times. */
#include "support/test.h"

#include "cli/bench_request.h"
#include "cli/cbt/proto.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

#define MICROS UINT64_C(1790000000123000)

static void a_bulk_request_holds_what_was_set(void **state)
{
    (void)state;
    struct at_bench_request r;
    struct at_arena arena;
    at_arena_init(&arena, 4096);
    assert_int_equal(at_bench_request_init(&r, AT_BENCH_BULK, "t", "p", 50), AT_OK);
    assert_int_equal(r.key_count, AT_BENCH_BULK_ROWS);
    assert_int_equal(r.time_count, AT_BENCH_BULK_ROWS);
    for (size_t i = 0; i < r.key_count; i++)
        at_bench_request_set_key(&r, i, 987654321000 + i);
    at_bench_request_set_time(&r, MICROS);
    Google__Bigtable__V2__MutateRowsRequest *m = at_proto_unpack(
        &arena, &google__bigtable__v2__mutate_rows_request__descriptor, at_buf_slice(&r.bytes));
    assert_non_null(m);
    assert_string_equal(m->table_name, "t");
    assert_string_equal(m->app_profile_id, "p");
    assert_int_equal(m->n_entries, AT_BENCH_BULK_ROWS);
    assert_true(at_slice_eq_cstr(at_proto_bytes(m->entries[42]->row_key), "user987654321042"));
    assert_int_equal(m->entries[99]->mutations[0]->set_cell->timestamp_micros, MICROS);
    assert_int_equal(m->entries[0]->mutations[0]->set_cell->value.len, 50);
    at_bench_request_deinit(&r);
    at_arena_deinit(&arena);
}

static void reads_have_one_key_and_a_limit(void **state)
{
    (void)state;
    for (int work = AT_BENCH_READ; work <= AT_BENCH_SCAN; work += AT_BENCH_SCAN - AT_BENCH_READ) {
        struct at_bench_request r;
        struct at_arena arena;
        at_arena_init(&arena, 4096);
        assert_int_equal(at_bench_request_init(&r, (enum at_bench_work)work, "t", "", 1), AT_OK);
        assert_int_equal(r.key_count, 1);
        assert_int_equal(r.time_count, 0);
        at_bench_request_set_key(&r, 0, 7);
        Google__Bigtable__V2__ReadRowsRequest *m = at_proto_unpack(
            &arena, &google__bigtable__v2__read_rows_request__descriptor, at_buf_slice(&r.bytes));
        assert_non_null(m);
        ProtobufCBinaryData key =
            work == AT_BENCH_READ ? m->rows->row_keys[0] : m->rows->row_ranges[0]->start_key_closed;
        assert_true(at_slice_eq_cstr(at_proto_bytes(key), "user000000000007"));
        assert_int_equal(m->rows_limit, work == AT_BENCH_READ ? 1 : AT_BENCH_SCAN_ROWS);
        at_bench_request_deinit(&r);
        at_arena_deinit(&arena);
    }
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(a_bulk_request_holds_what_was_set),
        cmocka_unit_test(reads_have_one_key_and_a_limit),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
