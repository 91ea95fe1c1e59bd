#include "cluster/service/heat.h"

#include <stdio.h>

#include "support/admin_fixture.h"

#define MINUTE AT_HEAT_WINDOW_NS
#define T0 (1000 * MINUTE)
#define C1 "1:" AFX_INSTANCE "/clusters/c1"

static struct at_heat_stretch *
report(struct at_heat *h, uint64_t now, struct at_arena *a, uint32_t *n)
{
    struct at_heat_stretch *out;

    *n = at_heat_report(h, now, a, &out);
    return out;
}

static void one_request_of_sixteen_is_looked_at(void **state)
{
    struct at_heat *h = at_heat_new();
    unsigned due = 0;

    (void)state;
    for (int i = 0; i < 16 * 10; i++)
        due += at_heat_due(h);
    assert_int_equal(due, 10);
    at_heat_free(&h);
}

static void a_row_with_much_traffic_is_a_stretch_by_itself(void **state)
{
    struct at_heat *h = at_heat_new();
    struct at_arena arena;
    char row[16];
    uint32_t count;

    (void)state;
    at_arena_init(&arena, 4096);
    for (int i = 0; i < 900; i++) {
        (void)snprintf(row, sizeof(row), "r%03d", i % 100);
        at_heat_note(h, AT_LIT("t"), i % 3 == 0 ? AT_LIT("r050") : at_slice_cstr(row), T0 + 5);
    }
    const struct at_heat_stretch *s = report(h, T0 + 9, &arena, &count);
    assert_true(count > 5);
    assert_true(at_slice_eq_cstr(s[0].first_row, "r050"));
    assert_true(at_slice_eq_cstr(s[0].last_row, "r050"));
    assert_true(s[0].percent > 30 && s[0].percent < 40);
    assert_true(at_slice_eq_cstr(s[0].table, "t"));
    assert_int_equal(s[0].start_ns, T0);
    assert_int_equal(s[0].end_ns, T0 + 9);
    double all = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += s[i].percent;
        assert_true(i == 0 || s[i].percent <= s[i - 1].percent);
        assert_true(at_slice_cmp(s[i].first_row, s[i].last_row) <= 0);
    }
    assert_true(all > 99.9 && all < 100.1);
    at_heat_free(&h);
    at_arena_deinit(&arena);
}

static void minutes_are_kept_for_an_hour(void **state)
{
    struct at_heat *h = at_heat_new();
    struct at_arena arena;
    uint32_t count;

    (void)state;
    at_arena_init(&arena, 4096);
    for (uint64_t m = 0; m < 100; m++)
        at_heat_note(h, AT_LIT("t"), AT_LIT("r"), T0 + m * MINUTE);
    const struct at_heat_stretch *s = report(h, T0 + 99 * MINUTE + 1, &arena, &count);
    assert_int_equal(count, 1 + AT_HEAT_WINDOWS);
    assert_int_equal(s[0].start_ns, T0 + 99 * MINUTE);
    assert_int_equal(s[1].start_ns, T0 + 98 * MINUTE);
    assert_int_equal(s[1].end_ns, T0 + 99 * MINUTE);
    (void)report(h, T0 + 300 * MINUTE, &arena, &count);
    assert_int_equal(count, 0);
    at_heat_free(&h);
    at_arena_deinit(&arena);
}

static void memory_is_bounded_whatever_comes(void **state)
{
    static const uint8_t row[5000] = {1};
    struct at_heat *h = at_heat_new();
    struct at_arena arena;
    char table[16];
    uint32_t count;

    (void)state;
    at_arena_init(&arena, 4096);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(table, sizeof(table), "t%d", i % 500);
        at_heat_note(h, at_slice_cstr(table), at_slice_make(row, (size_t)i), T0 + 1);
    }
    const struct at_heat_stretch *s = report(h, T0 + 2, &arena, &count);
    assert_true(count > 0 && count <= AT_HEAT_STRETCHES_MAX);
    for (uint32_t i = 0; i < count; i++)
        assert_true(s[i].last_row.len <= AT_HEAT_KEY_BYTES_MAX);
    at_heat_free(&h);
    at_arena_deinit(&arena);
}

static struct afx_case cases[] = {
    {"hot tablets are of a cluster and a time",
     {{"ListHotTablets", C1, AT_OK, ""},
      {"ListHotTablets", "1:" AFX_INSTANCE "/clusters/c9", AT_NOT_FOUND, "c9"},
      {"ListHotTablets", "1:" AFX_INSTANCE "/clusters/c2", AT_FAILED_PRECONDITION, "itself"},
      {"ListHotTablets", "1:" AFX_INSTANCE, AT_INVALID_ARGUMENT, NULL},
      {"ListHotTablets", C1 " 4=-1", AT_INVALID_ARGUMENT, "page_size"},
      {"ListHotTablets", C1 " 5:abc", AT_INVALID_ARGUMENT, "page_token"},
      {"ListHotTablets", C1 " 5:'5H-QQ3Q'", AT_INVALID_ARGUMENT, "a list of hot tablets"},
      {"ListHotTablets", C1 " 2{1=9} 3{1=8}", AT_INVALID_ARGUMENT, "start_time"}}},
};

static void requests_make_tablets_hot(void **state)
{
    struct afx *s = at_alloc(sizeof(*s));
    struct afx_call c;

    (void)state;
    afx_open(s);
    afx_run_step(
        s, &(struct afx_step){"CreateTable", "1:" AFX_INSTANCE " 2:t 3{3{1:f 2{}}}", AT_OK, NULL});
    for (int i = 0; i < 40; i++)
        afx_run_step(
            s, &(struct afx_step){"MutateRow", "1:$t 2:'h\\1' 3{1{1:f 2:q 3=0 4:v}}", AT_OK, NULL});
    afx_call_init(&c, s);
    (void)afx_start(&c, "ListHotTablets", C1, 0);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    const Google__Bigtable__Admin__V2__ListHotTabletsResponse *out = at_proto_unpack(
        &s->arena, &google__bigtable__admin__v2__list_hot_tablets_response__descriptor,
        at_buf_slice(&c.bytes));
    assert_int_equal(out->n_hot_tablets, 1);
    assert_string_equal(out->hot_tablets[0]->table_name, AFX_INSTANCE "/tables/t");
    assert_string_equal(out->hot_tablets[0]->start_key, "h\\x01");
    assert_true(out->hot_tablets[0]->node_cpu_usage_percent > 99);
    afx_call_deinit(&c);
    afx_close(s);
    at_free(s);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(one_request_of_sixteen_is_looked_at),
        cmocka_unit_test(a_row_with_much_traffic_is_a_stretch_by_itself),
        cmocka_unit_test(minutes_are_kept_for_an_hour),
        cmocka_unit_test(memory_is_bounded_whatever_comes),
        cmocka_unit_test(requests_make_tablets_hot),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others,
                    sizeof(others) / sizeof(others[0]));
}
