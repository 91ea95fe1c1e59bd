/* Which instances are in use, and which app profiles they have. */
#include "cluster/service/namespaces.h"

#include "base/alloc.h"
#include "support/test.h"

#define P1 "projects/p/instances/i1"
#define P2 "projects/p/instances/i2"
#define P3 "projects/q/instances/i1"

struct room {
    struct at_arena arena;
    struct at_catalog *catalog;
};

static void put(struct room *r, enum at_catalog_kind kind, const char *name, uint64_t counter)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf fields;
    struct at_table_fields none = {.granularity_micros = 1000};
    struct at_catalog *next = NULL;

    at_buf_init(&fields, 1024);
    if (kind == AT_CATALOG_TABLE)
        assert_int_equal(at_table_fields_encode(&none, &fields), AT_OK);
    struct at_catalog_record record = {
        .kind = kind,
        .name = at_slice_cstr(name),
        .counter = counter,
        .stamp = {.hlc = counter, .origin = {1}},
        .fields = at_arena_copy(&r->arena, at_buf_slice(&fields)),
    };
    assert_int_equal(at_catalog_apply(r->catalog, &record, 1, NULL, &next, NULL), AT_OK);
    at_catalog_free(&r->catalog);
    r->catalog = next;
}

static int setup(void **state)
{
    static struct room room;

    at_arena_init(&room.arena, 4096);
    room.catalog = at_catalog_new();
    *state = &room;
    return 0;
}

static int teardown(void **state)
{
    struct room *r = *state;

    at_catalog_free(&r->catalog);
    at_arena_deinit(&r->arena);
    return 0;
}

static void instances_are_in_use_while_something_of_them_is_there(void **state)
{
    struct room *r = *state;

    put(r, AT_CATALOG_TABLE, "t", 1);
    put(r, AT_CATALOG_PROFILE, "default", 1);
    assert_int_equal(at_namespaces_used(r->catalog, &r->arena).count, 0);
    put(r, AT_CATALOG_TABLE, P2 "/tables/t", 1);
    put(r, AT_CATALOG_TABLE, P2 "/tables/u", 1);
    put(r, AT_CATALOG_PROFILE, P1 "/appProfiles/a", 1);
    put(r, AT_CATALOG_INSTANCE, P3, 1);
    put(r, AT_CATALOG_TABLE, P3 "/tables/t", 1);
    put(r, AT_CATALOG_PROFILE, P2 "/appProfiles/a", 1);
    struct at_namespaces used = at_namespaces_used(r->catalog, &r->arena);
    assert_int_equal(used.count, 3);
    assert_true(at_slice_eq_cstr(used.names[0], P1));
    assert_true(at_slice_eq_cstr(used.names[1], P2));
    assert_true(at_slice_eq_cstr(used.names[2], P3));
    put(r, AT_CATALOG_TABLE, P2 "/tables/t", 2);
    put(r, AT_CATALOG_TABLE, P2 "/tables/u", 2);
    put(r, AT_CATALOG_PROFILE, P2 "/appProfiles/a", 2);
    used = at_namespaces_used(r->catalog, &r->arena);
    assert_int_equal(used.count, 2);
    assert_true(at_slice_eq_cstr(used.names[1], P3));
}

static void the_default_profile_is_that_of_home_until_it_is_changed(void **state)
{
    struct room *r = *state;
    struct at_named_record record;

    assert_false(at_namespaces_profile(r->catalog, AT_LIT(P1 "/appProfiles/default"), &record));
    put(r, AT_CATALOG_PROFILE, "default", 1);
    put(r, AT_CATALOG_PROFILE, "other", 1);
    assert_true(at_namespaces_profile(r->catalog, AT_LIT("default"), &record));
    assert_int_equal(record.generation, 1);
    assert_true(at_namespaces_profile(r->catalog, AT_LIT(P1 "/appProfiles/default"), &record));
    assert_int_equal(record.generation, 0);
    assert_true(at_slice_eq_cstr(record.name, P1 "/appProfiles/default"));
    assert_false(at_namespaces_profile(r->catalog, AT_LIT(P1 "/appProfiles/other"), &record));
    put(r, AT_CATALOG_PROFILE, P1 "/appProfiles/default", 3);
    assert_true(at_namespaces_profile(r->catalog, AT_LIT(P1 "/appProfiles/default"), &record));
    assert_int_equal(record.generation, 3);
    assert_true(at_namespaces_profile(r->catalog, AT_LIT(P2 "/appProfiles/default"), &record));
    assert_int_equal(record.generation, 0);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test_setup_teardown(instances_are_in_use_while_something_of_them_is_there,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_default_profile_is_that_of_home_until_it_is_changed,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
