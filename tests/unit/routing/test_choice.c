/* Which cluster is tried first. */
#include "routing/choice.h"

#include "support/test.h"

#define T(i, z, u, rtt, lat)                                                      \
    {                                                                             \
        .id = AT_LIT_INIT(i), .zone = AT_LIT_INIT(z), .up = (u), .rtt_us = (rtt), \
        .latency_us = (lat)                                                       \
    }

struct choice_case {
    const char *name;
    struct at_target targets[3];
    const char *zone;
    const char *group; /* one id, or NULL for all */
    bool single;
    const char *order; /* indices */
};

static const struct choice_case CASES[] = {
    {"own zone first, though another answers faster",
     {T("a", "z1", true, 90, -1), T("b", "z2", true, 5000, -1), T("c", "z3", true, 2000, -1)},
     "z2",
     NULL,
     false,
     "102"},
    {"configured latency before measured round trip",
     {T("a", "z1", true, 9000, 1000), T("b", "z2", true, 10, 30000), T("c", "z3", true, 5, 2000)},
     "z9",
     NULL,
     false,
     "021"},
    {"noise below a millisecond does not decide",
     {T("a", "z1", true, 900, -1), T("b", "z2", true, 100, -1), T("c", "z3", true, 500, -1)},
     "z9",
     NULL,
     false,
     "012"},
    {"a cluster that is down comes last, however near",
     {T("a", "z1", false, 10, -1), T("b", "z2", true, 5000, -1), T("c", "z3", true, 90000, -1)},
     "z1",
     NULL,
     false,
     "120"},
    {"an unmeasured cluster comes behind measured ones",
     {T("a", "z1", true, 0, -1), T("b", "z2", true, 90000, -1), T("c", "z3", true, 5000, -1)},
     "z9",
     NULL,
     false,
     "210"},
    {"a group never leaves its members",
     {T("a", "z1", true, 10, -1), T("b", "z2", false, 10, -1), T("c", "z3", true, 10, -1)},
     "z1",
     "b",
     false,
     "1"},
    {"single-cluster routing keeps a cluster that is down",
     {T("a", "z1", true, 10, -1), T("b", "z2", true, 10, -1), T("c", "z3", false, 10, -1)},
     "z1",
     "c",
     true,
     "2"},
    {"an unknown cluster gives nobody",
     {T("a", "z1", true, 10, -1), T("b", "z2", true, 10, -1), T("c", "z3", true, 10, -1)},
     "z1",
     "x",
     true,
     ""},
};

static void order_follows_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct choice_case *c = &CASES[i];
        struct at_slice group = at_slice_cstr(c->group);
        struct at_choice_rule rule = {.single = c->single,
                                      .group = &group,
                                      .group_count = c->group ? 1 : 0,
                                      .router_zone = at_slice_cstr(c->zone)};
        uint32_t order[AT_MEMBERS_MAX];
        uint32_t count = at_choice_order(&rule, c->targets, 3, order);
        char got[8] = "";
        for (uint32_t k = 0; k < count; k++)
            got[k] = (char)('0' + order[k]);
        if (strcmp(got, c->order) != 0)
            fail_msg("%s: got %s, want %s", c->name, got, c->order);
    }
}

static uint32_t first_for(const struct at_target *targets, uint32_t count, struct at_slice row)
{
    struct at_choice_rule rule = {.affinity_row = row};
    uint32_t order[AT_MEMBERS_MAX];
    assert_int_equal(at_choice_order(&rule, targets, count, order), count);
    return order[0];
}

static void affinity_spreads_rows_and_keeps_them(void **state)
{
    (void)state;
    static const struct at_target targets[] = {
        T("a", "z1", true, 10, -1), T("b", "z2", true, 10, -1), T("c", "z3", true, 10, -1)};
    uint32_t hits[3] = {0};
    for (uint32_t i = 0; i < 300; i++) {
        struct at_slice row = at_slice_make(&i, sizeof(i));
        uint32_t with_three = first_for(targets, 3, row);
        uint32_t with_two = first_for(targets, 2, row);
        hits[with_three]++;
        /* Without the third cluster only its rows move. */
        if (with_three != 2)
            assert_int_equal(with_two, with_three);
    }
    for (int k = 0; k < 3; k++)
        assert_in_range(hits[k], 50, 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_follows_the_table),
        cmocka_unit_test(affinity_spreads_rows_and_keeps_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
