/* atoll.v1.Cluster/Collect over loopback, and digests before and after it. */
#include "cluster/control/collect.h"

#include "support/control_fixture.h"

static enum at_code collect(struct fixture *f, const char *table, uint64_t *ret_collected)
{
    Atoll__V1__CollectRequest request = ATOLL__V1__COLLECT_REQUEST__INIT;
    void *answer = NULL;

    request.table_name = at_arena_printf(&f->arena, "%s", table);
    enum at_code code = ask(f, "/atoll.v1.Cluster/Collect", &request.base,
                            &atoll__v1__collect_response__descriptor, &answer);
    if (code == AT_OK)
        *ret_collected = ((Atoll__V1__CollectResponse *)answer)->collected +
                         ((Atoll__V1__CollectResponse *)answer)->compacted;
    return code;
}

static void digest(struct fixture *f, uint8_t ret_digest[16], uint64_t *ret_cells)
{
    Atoll__V1__DigestRequest request = ATOLL__V1__DIGEST_REQUEST__INIT;
    void *answer = NULL;

    request.now_micros = gcx_now_micros();
    request.table_name = at_arena_printf(&f->arena, "%s", "");
    assert_int_equal(ask(f, "/atoll.v1.Cluster/Digest", &request.base,
                         &atoll__v1__digest_response__descriptor, &answer),
                     AT_OK);
    const Atoll__V1__DigestResponse *d = answer;
    assert_int_equal(d->digest.len, 16);
    memcpy(ret_digest, d->digest.data, 16);
    *ret_cells = d->cells;
}

static void a_run_tells_what_went_and_no_digest_changes(void **state)
{
    struct fixture *f = *state;
    uint64_t collected = 0;
    uint64_t cells;
    uint8_t before[16];
    uint8_t after[16];

    for (int i = 1; i <= 3; i++)
        assert_int_equal(fx_set(&f->fx, "r", "f", "q", i * 1000, "x"), AT_OK);
    digest(f, before, &cells);
    assert_int_equal(cells, 1);
    assert_int_equal(collect(f, "projects/p/instances/i/tables/t", &collected), AT_OK);
    assert_int_equal(collected, 2);
    digest(f, after, &cells);
    assert_memory_equal(before, after, 16);
    assert_int_equal(collect(f, "", &collected), AT_OK);
    assert_int_equal(collected, 0);
    fx_expect_rows(&f->fx, "t", "r: f:q@3000=x|");
}

static void names_that_are_wrong_are_refused(void **state)
{
    struct fixture *f = *state;
    uint64_t collected;

    assert_int_equal(collect(f, "projects/p/instances/i/tables/nosuch", &collected), AT_NOT_FOUND);
    assert_int_equal(collect(f, "t", &collected), AT_INVALID_ARGUMENT);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_run_tells_what_went_and_no_digest_changes),
        CASE(names_that_are_wrong_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
