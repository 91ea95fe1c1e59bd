/* What an app profile says, its wire form, and what makes it valid. */
#include "appprofile/profile.h"

#include "base/pbwire.h"
#include "support/test.h"

static const struct at_slice CLUSTERS[] = {AT_LIT_INIT("c1"), AT_LIT_INIT("c2"), AT_LIT_INIT("c3")};

struct check_case {
    const char *name;
    struct at_profile profile;
    enum at_code code;
};

static struct at_slice one_id[] = {AT_LIT_INIT("c1")};
static struct at_slice twice[] = {AT_LIT_INIT("c1"), AT_LIT_INIT("c1")};
static struct at_slice unknown[] = {AT_LIT_INIT("c9")};

static const struct check_case CHECKS[] = {
    {"refuses a profile without routing", {.routing = AT_ROUTING_NONE}, AT_INVALID_ARGUMENT},
    {"accepts any cluster", {.routing = AT_ROUTING_ANY}, AT_OK},
    {"accepts a group",
     {.routing = AT_ROUTING_ANY, .cluster_ids = one_id, .cluster_id_count = 1},
     AT_OK},
    {"refuses a cluster named twice",
     {.routing = AT_ROUTING_ANY, .cluster_ids = twice, .cluster_id_count = 2},
     AT_INVALID_ARGUMENT},
    {"refuses an unknown cluster in a group",
     {.routing = AT_ROUTING_ANY, .cluster_ids = unknown, .cluster_id_count = 1},
     AT_NOT_FOUND},
    {"refuses single routing without a cluster",
     {.routing = AT_ROUTING_SINGLE},
     AT_INVALID_ARGUMENT},
    {"refuses single routing to an unknown cluster",
     {.routing = AT_ROUTING_SINGLE, .cluster_id = AT_LIT_INIT("c9")},
     AT_NOT_FOUND},
    {"accepts single routing",
     {.routing = AT_ROUTING_SINGLE, .cluster_id = AT_LIT_INIT("c2")},
     AT_OK},
    {"refuses data boost with any routing",
     {.routing = AT_ROUTING_ANY, .data_boost = true},
     AT_INVALID_ARGUMENT},
    {"refuses data boost with transactions",
     {.routing = AT_ROUTING_SINGLE,
      .cluster_id = AT_LIT_INIT("c1"),
      .allow_transactional_writes = true,
      .data_boost = true},
     AT_INVALID_ARGUMENT},
    {"refuses a description that is not UTF-8",
     {.routing = AT_ROUTING_ANY, .description = AT_LIT_INIT("\xff")},
     AT_INVALID_ARGUMENT},
};

static void check_follows_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CHECKS) / sizeof(CHECKS[0]); i++) {
        enum at_code code = at_profile_check(&CHECKS[i].profile, CLUSTERS, 3, NULL);
        if (code != CHECKS[i].code)
            fail_msg("%s: got %s", CHECKS[i].name, at_code_name(code));
    }
}

static void ids_follow_production(void **state)
{
    (void)state;
    assert_int_equal(at_profile_id_check(AT_LIT("default"), NULL), AT_OK);
    assert_int_equal(at_profile_id_check(AT_LIT("_a-b.c9"), NULL), AT_OK);
    assert_int_equal(at_profile_id_check(AT_LIT(""), NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_profile_id_check(AT_LIT("-a"), NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_profile_id_check(AT_LIT("a b"), NULL), AT_INVALID_ARGUMENT);
    char longest[AT_PROFILE_ID_BYTES_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(at_profile_id_check(at_slice_make(longest, AT_PROFILE_ID_BYTES_MAX), NULL),
                     AT_OK);
    assert_int_equal(at_profile_id_check(at_slice_make(longest, sizeof(longest)), NULL),
                     AT_INVALID_ARGUMENT);
}

static void round_trip(const struct at_profile *in, struct at_profile *out, struct at_arena *arena)
{
    struct at_buf bytes;
    at_buf_init(&bytes, AT_MIB);
    assert_int_equal(at_profile_encode(in, &bytes), AT_OK);
    struct at_slice kept = at_arena_copy(arena, at_buf_slice(&bytes));
    at_buf_deinit(&bytes);
    assert_int_equal(at_profile_decode(kept, arena, out, NULL), AT_OK);
}

static void every_field_survives_the_wire(void **state)
{
    (void)state;
    struct at_arena arena;
    at_arena_init(&arena, 4096);
    struct at_slice group[] = {AT_LIT("c3"), AT_LIT("c1")};
    struct at_profile in = {.name = AT_LIT("projects/p/instances/i/appProfiles/x"),
                            .etag = AT_LIT("e"),
                            .description = AT_LIT("d"),
                            .routing = AT_ROUTING_ANY,
                            .cluster_ids = group,
                            .cluster_id_count = 2,
                            .row_affinity = true,
                            .priority = AT_PRIORITY_LOW};
    struct at_profile out;
    round_trip(&in, &out, &arena);
    assert_true(at_slice_eq(out.name, in.name) && at_slice_eq(out.etag, in.etag));
    assert_true(at_slice_eq(out.description, in.description));
    assert_int_equal(out.routing, AT_ROUTING_ANY);
    assert_int_equal(out.cluster_id_count, 2);
    assert_true(at_slice_eq(out.cluster_ids[0], group[0]) && out.row_affinity);
    assert_int_equal(out.priority, AT_PRIORITY_LOW);

    struct at_profile single = {.routing = AT_ROUTING_SINGLE,
                                .cluster_id = AT_LIT("c1"),
                                .data_boost = true,
                                .compute_billing_owner = 1};
    round_trip(&single, &out, &arena);
    assert_int_equal(out.routing, AT_ROUTING_SINGLE);
    assert_true(out.data_boost && out.compute_billing_owner == 1);
    assert_false(out.allow_transactional_writes);
    at_arena_deinit(&arena);
}

static void an_isolation_is_always_there(void **state)
{
    (void)state;
    struct at_arena arena;
    at_arena_init(&arena, 1024);
    struct at_profile p;
    /* Nothing set at all; then the deprecated field alone: 7 = LOW. */
    assert_int_equal(at_profile_decode((struct at_slice){0}, &arena, &p, NULL), AT_OK);
    assert_int_equal(p.priority, AT_PRIORITY_HIGH);
    assert_int_equal(at_profile_decode(AT_LIT("\x38\x01"), &arena, &p, NULL), AT_OK);
    assert_int_equal(p.priority, AT_PRIORITY_LOW);
    struct at_profile out;
    round_trip(&p, &out, &arena);
    assert_int_equal(out.priority, AT_PRIORITY_LOW);
    at_arena_deinit(&arena);
}

static void malformed_bytes_are_refused(void **state)
{
    (void)state;
    struct at_arena arena;
    at_arena_init(&arena, 1024);
    struct at_profile p;
    assert_int_equal(at_profile_decode(AT_LIT("\x0a\x05zz"), &arena, &p, NULL),
                     AT_INVALID_ARGUMENT);
    assert_int_equal(at_profile_decode(AT_LIT("\x2a\x02\x0a\x09"), &arena, &p, NULL),
                     AT_INVALID_ARGUMENT);
    at_arena_deinit(&arena);
}

static void etag_follows_what_the_profile_says(void **state)
{
    (void)state;
    struct at_profile a = {.routing = AT_ROUTING_ANY, .etag = AT_LIT("1"), .name = AT_LIT("n")};
    struct at_profile b = {.routing = AT_ROUTING_ANY};
    struct at_profile c = {.routing = AT_ROUTING_ANY, .description = AT_LIT("d")};
    struct at_buf ea, eb, ec;
    at_buf_init(&ea, 64);
    at_buf_init(&eb, 64);
    at_buf_init(&ec, 64);
    assert_int_equal(at_profile_etag(&a, &ea), AT_OK);
    assert_int_equal(at_profile_etag(&b, &eb), AT_OK);
    assert_int_equal(at_profile_etag(&c, &ec), AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&ea), at_buf_slice(&eb)));
    assert_false(at_slice_eq(at_buf_slice(&ea), at_buf_slice(&ec)));
    at_buf_deinit(&ea);
    at_buf_deinit(&eb);
    at_buf_deinit(&ec);
}

static void transactions_need_single_routing_that_allows_them(void **state)
{
    (void)state;
    struct at_error error;
    struct at_profile any = {.routing = AT_ROUTING_ANY};
    struct at_profile single = {.routing = AT_ROUTING_SINGLE, .cluster_id = AT_LIT("c1")};
    assert_int_equal(at_profile_transactions(&any, &error), AT_FAILED_PRECONDITION);
    assert_string_equal(error.msg, "Single-row transactions are not allowed by this app profile");
    assert_int_equal(at_profile_transactions(&single, NULL), AT_FAILED_PRECONDITION);
    single.allow_transactional_writes = true;
    assert_int_equal(at_profile_transactions(&single, NULL), AT_OK);
}

static void serves_only_the_clusters_it_routes_to(void **state)
{
    (void)state;
    struct at_profile any = {.routing = AT_ROUTING_ANY};
    struct at_profile group = {
        .routing = AT_ROUTING_ANY, .cluster_ids = one_id, .cluster_id_count = 1};
    struct at_profile single = {.routing = AT_ROUTING_SINGLE, .cluster_id = AT_LIT("c2")};
    assert_true(at_profile_serves(&any, AT_LIT("c7")));
    assert_true(at_profile_serves(&group, AT_LIT("c1")));
    assert_false(at_profile_serves(&group, AT_LIT("c2")));
    assert_true(at_profile_serves(&single, AT_LIT("c2")));
    assert_false(at_profile_serves(&single, AT_LIT("c1")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_follows_the_table),
        cmocka_unit_test(ids_follow_production),
        cmocka_unit_test(every_field_survives_the_wire),
        cmocka_unit_test(an_isolation_is_always_there),
        cmocka_unit_test(malformed_bytes_are_refused),
        cmocka_unit_test(etag_follows_what_the_profile_says),
        cmocka_unit_test(transactions_need_single_routing_that_allows_them),
        cmocka_unit_test(serves_only_the_clusters_it_routes_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
