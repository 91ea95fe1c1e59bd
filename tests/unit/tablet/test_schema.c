#include "cluster/tablet/schema.h"

#include <pthread.h>

#include "base/prng.h"
#include "cluster/tablet/schema_build.h"
#include "support/test.h"

static void a_schema_lives_until_its_last_reference_goes(void **state)
{
    struct at_schema_spec spec = {.catalog = at_catalog_new(), .version = 7};
    struct at_schema *s = at_schema_new(&spec);
    struct at_schema *other = at_schema_ref(s);

    (void)state;
    assert_ptr_equal(s, other);
    at_schema_unref(&s);
    assert_null(s);
    assert_int_equal(other->version, 7);
    assert_int_equal(at_catalog_table_count(other->catalog), 0);
    at_schema_unref(&other);
    at_schema_unref(&other);
}

static void two_schemas_may_share_a_catalog(void **state)
{
    struct at_schema_table table = {.table_id = 3, .row_markers = true};
    struct at_schema_spec first_spec = {.catalog = at_catalog_new()};
    struct at_schema *first = at_schema_new(&first_spec);
    struct at_schema_spec spec = {.share = first, .tables = &table, .table_count = 1};
    struct at_schema *second = at_schema_new(&spec);

    (void)state;
    assert_ptr_equal(first->catalog, second->catalog);
    assert_false(at_schema_has_row_markers(first, 3));
    at_schema_unref(&first);
    assert_int_equal(at_catalog_table_count(second->catalog), 0);
    assert_true(at_schema_has_row_markers(second, 3));
    assert_false(at_schema_has_row_markers(second, 2));
    at_schema_unref(&second);
}

static void drops_are_sorted_and_the_highest_stamp_of_a_prefix_stays(void **state)
{
    struct at_dropped_range drops[] = {
        {AT_LIT("b"), {5, {1}}},
        {AT_LIT("a"), {6, {1}}},
        {AT_LIT("b"), {9, {2}}},
        {AT_LIT("b"), {9, {1}}},
    };
    struct at_schema_table table = {.table_id = 3, .drops = drops, .drop_count = 4};
    struct at_schema_spec spec = {.catalog = at_catalog_new(), .tables = &table, .table_count = 1};
    struct at_schema *s = at_schema_new(&spec);
    uint32_t count;

    (void)state;
    const struct at_dropped_range *got = at_schema_drops(s, 3, &count);
    assert_int_equal(count, 2);
    assert_true(at_slice_eq(got[0].prefix, AT_LIT("a")));
    assert_true(at_slice_eq(got[1].prefix, AT_LIT("b")));
    assert_int_equal(got[1].stamp.hlc, 9);
    assert_int_equal(got[1].stamp.origin.v, 2);
    assert_null(at_schema_drops(s, 4, &count));
    assert_int_equal(count, 0);
    at_schema_unref(&s);
}

/* Against looking at every range. */
static void a_row_is_hidden_by_the_highest_stamp_that_covers_it(void **state)
{
    struct at_prng prng;
    uint8_t bytes[64][4];
    struct at_dropped_range drops[64];

    (void)state;
    at_prng_init(&prng, 11);
    for (int round = 0; round < 200; round++) {
        uint32_t count = (uint32_t)at_prng_below(&prng, 64);
        for (uint32_t i = 0; i < count; i++) {
            for (int k = 0; k < 4; k++)
                bytes[i][k] = (uint8_t)(at_prng_below(&prng, 3) * 127);
            drops[i].prefix = at_slice_make(bytes[i], at_prng_below(&prng, 5));
            drops[i].stamp = (struct at_stamp){1 + at_prng_below(&prng, 1000), {1}};
        }
        struct at_schema_table tables[] = {
            {.table_id = 9, .row_markers = true},
            {.table_id = 3, .drops = drops, .drop_count = count},
        };
        struct at_schema_spec spec = {
            .catalog = at_catalog_new(), .tables = tables, .table_count = 2};
        struct at_schema *s = at_schema_new(&spec);
        for (int i = 0; i < 100; i++) {
            uint8_t row_bytes[6];
            struct at_stamp want = {0};
            for (int k = 0; k < 6; k++)
                row_bytes[k] = (uint8_t)(at_prng_below(&prng, 3) * 127);
            struct at_slice row = at_slice_make(row_bytes, 1 + at_prng_below(&prng, 6));
            for (uint32_t k = 0; k < count; k++)
                if (at_slice_has_prefix(row, drops[k].prefix) &&
                    at_stamp_cmp(drops[k].stamp, want) > 0)
                    want = drops[k].stamp;
            struct at_stamp got = at_schema_row_hidden(s, 3, row);
            assert_int_equal(at_stamp_cmp(got, want), 0);
            got = at_schema_row_hidden(s, 9, row);
            assert_int_equal(got.hlc, 0);
        }
        at_schema_unref(&s);
    }
}

static void *take_and_drop(void *ctx)
{
    struct at_schema *s = ctx;

    for (int i = 0; i < 20000; i++) {
        struct at_schema *mine = at_schema_ref(s);
        at_schema_unref(&mine);
    }
    at_schema_unref(&s);
    return NULL;
}

static void references_are_counted_across_threads(void **state)
{
    struct at_schema_spec spec = {.catalog = at_catalog_new()};
    struct at_schema *s = at_schema_new(&spec);
    pthread_t threads[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_drop, at_schema_ref(s)), 0);
    at_schema_unref(&s);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void floors_are_found_by_family(void **state)
{
    struct at_family_floor floors[] = {{.family_id = 3, .floor = {5, {6, {1}}}},
                                       {.family_id = 9, .dead = true}};
    const struct at_schema_table tables[] = {{.table_id = 4, .dead = true},
                                             {.table_id = 2, .floors = floors, .floor_count = 2}};
    struct at_schema_spec spec = {
        .catalog = at_catalog_new(), .floors_version = 8, .tables = tables, .table_count = 2};
    struct at_schema *s = at_schema_new(&spec);

    (void)state;
    floors[0].floor.before_micros = 0; /* they are copied */
    assert_int_equal(s->floors_version, 8);
    assert_int_equal(at_schema_floor(s, 2, 3)->floor.before_micros, 5);
    assert_true(at_schema_floor(s, 2, 9)->dead);
    assert_int_equal(at_schema_floor(s, 2, 4)->floor.before_micros, 0);
    assert_false(at_schema_floor(s, 3, 3)->dead);
    assert_true(at_schema_floor(s, 4, 1)->dead && at_schema_floor(s, 4, 0)->dead);
    at_schema_unref(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_lives_until_its_last_reference_goes),
        cmocka_unit_test(two_schemas_may_share_a_catalog),
        cmocka_unit_test(drops_are_sorted_and_the_highest_stamp_of_a_prefix_stays),
        cmocka_unit_test(a_row_is_hidden_by_the_highest_stamp_that_covers_it),
        cmocka_unit_test(references_are_counted_across_threads),
        cmocka_unit_test(floors_are_found_by_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
