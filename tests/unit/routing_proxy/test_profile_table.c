/* The table is what the last good heartbeat said. */
#include "routing/proxy/profile_table.h"

#include "support/fake_cluster.h"

static const struct fake_profile PROFILES[] = {
    {.id = "zebra", .single = "c2", .transactional = true},
    {.id = "default"},
    {.id = "group", .group = {"c3", "c1", NULL}, .affinity = true},
};

static enum at_code load(struct at_profile_table *t,
                         const struct fake_profile *profiles,
                         uint32_t count,
                         uint64_t version)
{
    struct fake_cluster f;
    struct at_arena arena;
    struct at_buf bytes;
    fake_init(&f, "c1", "z1");
    at_arena_init(&arena, 4096);
    at_buf_init(&bytes, AT_MIB);
    fake_set_profiles(&f, profiles, count, version);
    Atoll__V1__HeartbeatRequest knows_nothing = ATOLL__V1__HEARTBEAT_REQUEST__INIT;
    fake_pack_heartbeat(&f, &knows_nothing, &arena, &bytes);
    enum at_code code = at_profile_table_load(t, at_buf_slice(&bytes), NULL);
    at_buf_deinit(&bytes); /* the table has copied what it keeps */
    at_arena_deinit(&arena);
    fake_deinit(&f);
    return code;
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct at_profile_table t;
    at_profile_table_init(&t);
    assert_false(t.known);
    assert_null(at_profile_table_find(&t, AT_LIT("default")));
    at_profile_table_deinit(&t);
}

static void profiles_are_found_by_id(void **state)
{
    (void)state;
    struct at_profile_table t;
    at_profile_table_init(&t);
    assert_int_equal(load(&t, PROFILES, 3, UINT64_MAX), AT_OK);
    assert_true(t.known);
    assert_true(t.version == UINT64_MAX);
    const struct at_profile *zebra = at_profile_table_find(&t, AT_LIT("zebra"));
    assert_non_null(zebra);
    assert_int_equal(zebra->routing, AT_ROUTING_SINGLE);
    assert_true(at_slice_eq_cstr(zebra->cluster_id, "c2"));
    assert_true(zebra->allow_transactional_writes);
    const struct at_profile *group = at_profile_table_find(&t, AT_LIT("group"));
    assert_non_null(group);
    assert_int_equal(group->cluster_id_count, 2);
    assert_true(at_slice_eq_cstr(group->cluster_ids[0], "c3"));
    assert_true(group->row_affinity);
    assert_null(at_profile_table_find(&t, AT_LIT("zebr")));
    assert_null(at_profile_table_find(&t, AT_LIT("zebraa")));
    at_profile_table_deinit(&t);
}

static void the_empty_id_is_the_default_profile(void **state)
{
    (void)state;
    struct at_profile_table t;
    at_profile_table_init(&t);
    assert_int_equal(load(&t, PROFILES, 3, 1), AT_OK);
    const struct at_profile *p = at_profile_table_find(&t, (struct at_slice){0});
    assert_non_null(p);
    assert_true(at_slice_eq_cstr(p->name, "default"));
    at_profile_table_deinit(&t);
}

static void a_new_set_replaces_the_old(void **state)
{
    (void)state;
    struct at_profile_table t;
    at_profile_table_init(&t);
    assert_int_equal(load(&t, PROFILES, 3, 1), AT_OK);
    assert_int_equal(load(&t, PROFILES, 2, 2), AT_OK);
    assert_null(at_profile_table_find(&t, AT_LIT("group")));
    assert_non_null(at_profile_table_find(&t, AT_LIT("zebra")));
    assert_int_equal(load(&t, NULL, 0, 3), AT_OK);
    assert_null(at_profile_table_find(&t, AT_LIT("default")));
    at_profile_table_deinit(&t);
}

static void malformed_bytes_leave_the_table_as_it_was(void **state)
{
    (void)state;
    static const char *const BAD[] = {"\x32\x7f", "\x32\x02\x0a\x05", "\x32\x00\xff"};
    struct at_profile_table t;
    at_profile_table_init(&t);
    assert_int_equal(load(&t, PROFILES, 3, 1), AT_OK);
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct at_slice bytes = at_slice_make(BAD[i], i == 1 ? 4 : i == 2 ? 3 : 2);
        assert_int_equal(at_profile_table_load(&t, bytes, NULL), AT_INVALID_ARGUMENT);
        assert_int_equal(t.version, 1);
        assert_non_null(at_profile_table_find(&t, AT_LIT("group")));
    }
    at_profile_table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(profiles_are_found_by_id),
        cmocka_unit_test(the_empty_id_is_the_default_profile),
        cmocka_unit_test(a_new_set_replaces_the_old),
        cmocka_unit_test(malformed_bytes_leave_the_table_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
