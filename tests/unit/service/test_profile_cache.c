#include "cluster/service/profile_cache.h"

#include "appprofile/profile.h"
#include "base/alloc.h"
#include "support/test.h"

/* Profiles as a catalog holds them, and what they allow on cluster c1. */

struct profile_case {
    const char *id;
    struct at_profile profile;
    struct at_profile_grant grant;
};

static struct at_slice several[] = {AT_LIT_INIT("c2"), AT_LIT_INIT("c1")};

static const struct profile_case profiles[] = {
    {"any", {.routing = AT_ROUTING_ANY}, {true, false, false}},
    {"boost",
     {.routing = AT_ROUTING_SINGLE, .cluster_id = AT_LIT_INIT("c1"), .data_boost = true},
     {true, false, true}},
    {"default",
     {.routing = AT_ROUTING_SINGLE,
      .cluster_id = AT_LIT_INIT("c1"),
      .allow_transactional_writes = true},
     {true, true, false}},
    {"elsewhere",
     {.routing = AT_ROUTING_SINGLE,
      .cluster_id = AT_LIT_INIT("c2"),
      .allow_transactional_writes = true},
     {false, true, false}},
    {"group",
     {.routing = AT_ROUTING_ANY, .cluster_ids = several, .cluster_id_count = 2},
     {true, false, false}},
    {"group1",
     {.routing = AT_ROUTING_ANY, .cluster_ids = several, .cluster_id_count = 1},
     {false, false, false}},
};
#define PROFILE_COUNT (sizeof(profiles) / sizeof(profiles[0]))

static const struct at_catalog_ids NO_IDS = {0};

static struct at_catalog *with_profile(const struct at_catalog *catalog,
                                       const char *id,
                                       struct at_slice fields,
                                       uint64_t counter)
{
    struct at_catalog *next;
    const struct at_catalog_record record = {.kind = AT_CATALOG_PROFILE,
                                             .name = at_slice_cstr(id),
                                             .counter = counter,
                                             .fields = fields};

    assert_int_equal(at_catalog_apply(catalog, &record, 1, &NO_IDS, &next, NULL), AT_OK);
    return next;
}

static struct at_catalog *new_catalog(void)
{
    struct at_catalog *catalog = at_catalog_new();
    struct at_buf fields;

    for (size_t i = 0; i < PROFILE_COUNT; i++) {
        at_buf_init(&fields, AT_KIB);
        assert_int_equal(at_profile_encode(&profiles[i].profile, &fields), AT_OK);
        struct at_catalog *next = with_profile(catalog, profiles[i].id, at_buf_slice(&fields), 1);
        at_catalog_free(&catalog);
        catalog = next;
        at_buf_deinit(&fields);
    }
    return catalog;
}

static void grants_are_those_of_the_catalog(void **state)
{
    struct at_profile_cache cache;
    struct at_profile_grant grant;
    struct at_catalog *catalog = new_catalog();
    uint64_t version = at_catalog_kind_version(catalog, AT_CATALOG_PROFILE);

    (void)state;
    at_profile_cache_init(&cache);
    assert_int_equal(at_profile_cache_find(&cache, version, AT_LIT("any"), &grant),
                     AT_PROFILE_STALE);
    assert_int_equal(at_profile_cache_refill(&cache, catalog, AT_LIT("c1"), AT_LIT("nope"), &grant),
                     AT_PROFILE_ABSENT);
    for (size_t i = 0; i < PROFILE_COUNT; i++) {
        assert_int_equal(
            at_profile_cache_find(&cache, version, at_slice_cstr(profiles[i].id), &grant),
            AT_PROFILE_FOUND);
        assert_int_equal(grant.serves, profiles[i].grant.serves);
        assert_int_equal(grant.transactions, profiles[i].grant.transactions);
        assert_int_equal(grant.read_only, profiles[i].grant.read_only);
    }
    assert_int_equal(at_profile_cache_find(&cache, version, AT_LIT("zzz"), &grant),
                     AT_PROFILE_ABSENT);
    assert_int_equal(at_profile_cache_find(&cache, version, AT_LIT(""), &grant), AT_PROFILE_ABSENT);
    at_profile_cache_deinit(&cache);
    at_catalog_free(&catalog);
}

static void a_changed_profile_makes_the_cache_stale(void **state)
{
    struct at_profile_cache cache;
    struct at_profile_grant grant;
    struct at_catalog *old = new_catalog();
    struct at_catalog *deleted = with_profile(old, "any", AT_LIT(""), 2);
    uint64_t version = at_catalog_kind_version(deleted, AT_CATALOG_PROFILE);

    (void)state;
    at_profile_cache_init(&cache);
    assert_int_equal(at_profile_cache_refill(&cache, old, AT_LIT("c1"), AT_LIT("any"), &grant),
                     AT_PROFILE_FOUND);
    assert_int_equal(at_profile_cache_find(&cache, version, AT_LIT("any"), &grant),
                     AT_PROFILE_STALE);
    assert_int_equal(at_profile_cache_refill(&cache, deleted, AT_LIT("c1"), AT_LIT("any"), &grant),
                     AT_PROFILE_ABSENT);
    assert_int_equal(at_profile_cache_find(&cache, version, AT_LIT("group"), &grant),
                     AT_PROFILE_FOUND);
    at_profile_cache_deinit(&cache);
    at_catalog_free(&old);
    at_catalog_free(&deleted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_are_those_of_the_catalog),
        cmocka_unit_test(a_changed_profile_makes_the_cache_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
