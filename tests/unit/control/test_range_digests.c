/* atoll.v1.Cluster/RangeDigests and Explain over loopback. */
#include "cluster/control/range_digests.h"

#include "support/control_fixture.h"

#define NAME "projects/p/instances/i/tables/t"

static const Atoll__V1__RangeDigestsResponse *
digests(struct fixture *f, Atoll__V1__RangeDigestsRequest request, enum at_code expected)
{
    void *answer = NULL;

    request.table_name = at_arena_printf(&f->arena, "%s", NAME);
    assert_int_equal(ask(f, "/atoll.v1.Cluster/RangeDigests", &request.base,
                         &atoll__v1__range_digests_response__descriptor, &answer),
                     expected);
    return answer;
}

static ProtobufCBinaryData bytes(struct fixture *f, const char *s)
{
    struct at_slice copy = at_arena_copy(&f->arena, at_slice_cstr(s));

    return (ProtobufCBinaryData){copy.len, (uint8_t *)(uintptr_t)copy.data};
}

static void ranges_are_cut_by_rows_and_by_the_cuts_that_come_of_it(void **state)
{
    struct fixture *f = *state;
    char row[16];

    for (int i = 0; i < 10; i++) {
        snprintf(row, sizeof(row), "r%d", i);
        assert_int_equal(fx_set(&f->fx, row, "f", "q", 1000, "x"), AT_OK);
    }
    Atoll__V1__RangeDigestsRequest request = ATOLL__V1__RANGE_DIGESTS_REQUEST__INIT;
    request.piece_rows = 4;
    const Atoll__V1__RangeDigestsResponse *led = digests(f, request, AT_OK);
    assert_int_equal(led->n_pieces, 3);
    assert_int_equal(led->schema_digest.len, 16);
    assert_memory_equal(led->pieces[0]->end_key.data, "r4", 2);
    assert_int_equal(led->pieces[2]->rows, 2);
    assert_int_equal(led->pieces[2]->end_key.len, 0);

    ProtobufCBinaryData cuts[] = {led->pieces[0]->end_key, led->pieces[1]->end_key};
    request.cuts = cuts;
    request.n_cuts = 2;
    const Atoll__V1__RangeDigestsResponse *same = digests(f, request, AT_OK);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(led->pieces[i]->digest.data, same->pieces[i]->digest.data, 16);
    request.n_cuts = 0;
    request.pieces_max = 1;
    assert_int_equal(digests(f, request, AT_OK)->n_pieces, 1);
    request.piece_rows = 0;
    request.start_key = bytes(f, "r5");
    request.end_key = bytes(f, "r7");
    const Atoll__V1__RangeDigestsResponse *one = digests(f, request, AT_OK);
    assert_int_equal(one->n_pieces, 1);
    assert_int_equal(one->pieces[0]->rows, 2);
    request.end_key = bytes(f, "r5");
    (void)digests(f, request, AT_INVALID_ARGUMENT);
}

static const Atoll__V1__ExplainResponse *
explain(struct fixture *f, const char *row, enum at_code expected)
{
    Atoll__V1__ExplainRequest request = ATOLL__V1__EXPLAIN_REQUEST__INIT;
    void *answer = NULL;

    request.table_name = at_arena_printf(&f->arena, "%s", NAME);
    request.row_key = bytes(f, row);
    assert_int_equal(ask(f, "/atoll.v1.Cluster/Explain", &request.base,
                         &atoll__v1__explain_response__descriptor, &answer),
                     expected);
    return answer;
}

static void a_row_is_explained_with_the_names_of_clusters(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(fx_set(&f->fx, "r", "f", "q", 1000, "old"), AT_OK);
    assert_int_equal(fx_delete_row(&f->fx, "r"), AT_OK);
    assert_int_equal(fx_set(&f->fx, "r", "f", "q", 1000, "new"), AT_OK);
    const Atoll__V1__ExplainResponse *x = explain(f, "r", AT_OK);
    assert_int_equal(x->n_items, 3);
    assert_int_equal(x->items[0]->kind, ATOLL__V1__STORED_KIND__ROW_MARKER);
    assert_int_equal(x->items[0]->hides, 1);
    assert_int_equal(x->items[1]->reason, ATOLL__V1__SHOW_REASON__SHOWS);
    assert_string_equal(x->items[1]->cluster_id, "c1");
    assert_string_equal(x->items[1]->family, "f");
    assert_true(x->items[1]->hlc > x->items[0]->hlc);
    assert_int_equal(x->items[2]->reason, ATOLL__V1__SHOW_REASON__DELETED);
    assert_int_equal(x->items[2]->hidden_by, 1);
    assert_memory_equal(x->items[2]->value.data, "old", 3);
    assert_int_equal(explain(f, "nosuch", AT_OK)->n_items, 0);
    (void)explain(f, "", AT_INVALID_ARGUMENT);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ranges_are_cut_by_rows_and_by_the_cuts_that_come_of_it),
        CASE(a_row_is_explained_with_the_names_of_clusters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
