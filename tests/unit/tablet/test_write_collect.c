/* What the writer does with garbage, and how floors rise. */
#include "cluster/tablet/write.h"

#include "support/gc_fixture.h"

#define NONE at_slice_make(NULL, 0)

static int setup(void **state)
{
    struct fx *f = AT_NEW(struct fx);

    gcx_open(f, 1, 1);
    gcx_family(f, "f", "a5000", NONE);
    gcx_family(f, "g", "v1", NONE);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fx_close(*state);
    at_free(*state);
    return 0;
}

static struct at_floor floor_of(struct fx *f, const char *family)
{
    struct at_schema *schema = at_store_schema(f->store);
    const struct at_table *table = at_catalog_table(schema->catalog, fx_s("t"));
    struct at_floor floor =
        at_schema_floor(schema, table->id, at_table_family(table, fx_s(family))->id)->floor;

    at_schema_unref(&schema);
    return floor;
}

static void floors_follow_the_clock_where_a_rule_knows_age(void **state)
{
    struct fx *f = *state;

    gcx_raise_floors(f);
    struct at_floor first = floor_of(f, "f");
    assert_int_equal(first.before_micros, gcx_now_micros() - 5000000);
    assert_int_equal(floor_of(f, "g").before_micros, 0);
    assert_int_equal(fx_set(f, "r", "f", "q", 1000, "x"), AT_OK);
    gcx_raise_floors(f); /* the clock stands */
    assert_int_equal(at_stamp_cmp(floor_of(f, "f").stamp, first.stamp), 0);
    gcx_pass_ms(1);
    gcx_raise_floors(f);
    assert_int_equal(floor_of(f, "f").before_micros, first.before_micros + 1000);
    assert_true(at_stamp_cmp(floor_of(f, "f").stamp, first.stamp) > 0);
}

static void a_floor_stays_when_the_rule_is_relaxed(void **state)
{
    struct fx *f = *state;

    gcx_raise_floors(f);
    struct at_floor first = floor_of(f, "f");
    gcx_change_rule(f, "f", "a9000", NONE);
    gcx_pass_ms(1000);
    gcx_raise_floors(f);
    assert_int_equal(floor_of(f, "f").before_micros, first.before_micros);
    at_store_close(&f->store);
    fx_reopen(f);
    assert_int_equal(floor_of(f, "f").before_micros, first.before_micros);
    assert_int_equal(at_stamp_cmp(floor_of(f, "f").stamp, first.stamp), 0);
}

static void exact_keys_go_and_nothing_is_logged(void **state)
{
    struct fx *f = *state;
    struct at_replica_view before;
    struct at_replica_view after;
    struct at_iter_options options = {0};
    struct at_buf key;

    assert_int_equal(fx_set(f, "r", "g", "q", 1000, "x"), AT_OK);
    assert_int_equal(fx_set(f, "r", "g", "q", 2000, "y"), AT_OK);
    at_buf_init(&key, AT_KEY_BYTES_MAX);
    struct at_iter *i = at_iter_open(at_store_engine(f->store), AT_SPACE_CELLS, &options);
    at_iter_seek(i, at_slice_make("", 0)); /* the newest version */
    assert_int_equal(at_buf_append(&key, at_iter_key(i)), AT_OK);
    at_iter_close(&i);
    const struct at_slice keys[] = {at_buf_slice(&key)};
    struct at_write_collect write = {.base = {.kind = AT_WRITE_COLLECT},
                                     .schema_version = UINT64_MAX,
                                     .keys = keys,
                                     .key_count = 1};
    fx_view(f, &before);
    assert_int_equal(fx_run(f, &write.base), AT_OK);
    fx_view(f, &after);
    assert_int_equal(write.ret_now_micros, 0);
    assert_true(at_vector_covers(&before.applied, &after.applied));
    fx_expect_rows(f, "t", "r: g:q@1000=x|");
    at_replica_view_deinit(&before);
    at_replica_view_deinit(&after);
    at_buf_deinit(&key);
}

static void what_a_void_schema_judged_is_refused(void **state)
{
    struct fx *f = *state;
    const struct at_slice keys[] = {AT_LIT("key")};
    struct at_write_collect write = {
        .base = {.kind = AT_WRITE_COLLECT}, .schema_version = 0, .keys = keys, .key_count = 1};

    assert_int_equal(fx_run(f, &write.base), AT_ABORTED);
}

static void floors_of_the_dead_are_forgotten(void **state)
{
    struct fx *f = *state;

    gcx_raise_floors(f);
    assert_int_equal(fx_change(f, "t", "f", NONE, false), AT_OK);
    gcx_family(f, "f", "n", NONE);
    assert_int_equal(floor_of(f, "f").before_micros, 0);
    at_store_close(&f->store);
    fx_reopen(f);
    assert_int_equal(floor_of(f, "f").before_micros, 0);
    assert_int_equal(fx_set(f, "r", "f", "q", 1000, "x"), AT_OK);
    fx_expect_rows(f, "t", "r: f:q@1000=x|");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(floors_follow_the_clock_where_a_rule_knows_age),
        CASE(a_floor_stays_when_the_rule_is_relaxed),
        CASE(exact_keys_go_and_nothing_is_logged),
        CASE(what_a_void_schema_judged_is_refused),
        CASE(floors_of_the_dead_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
