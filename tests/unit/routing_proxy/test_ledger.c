/* What a router remembers of instances that are being made. */
#include "routing/proxy/ledger.h"

#include <stdio.h>

#include "base/limits.h"
#include "support/test.h"

static struct at_ledger l;
static struct at_buf out;

static int set_up(void **state)
{
    (void)state;
    at_ledger_init(&l);
    at_buf_init(&out, AT_KIB);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    at_buf_deinit(&out);
    at_ledger_deinit(&l);
    return 0;
}

static enum at_code open_one(const char *operation, const char *instance)
{
    return at_ledger_open(&l,
                          &(struct at_ledger_item){.operation = at_slice_cstr(operation),
                                                   .instance = at_slice_cstr(instance),
                                                   .state = AT_LIT("begun"),
                                                   .resource = AT_LIT("thing")},
                          NULL);
}

static void an_operation_is_told_until_it_is_forgotten(void **state)
{
    (void)state;
    assert_int_equal(open_one("o1", "p/i"), AT_OK);
    assert_true(at_ledger_state(&l, AT_LIT("o1"), &out));
    assert_true(at_slice_eq_cstr(at_buf_slice(&out), "begun"));
    at_buf_clear(&out);
    at_ledger_forget(&l, AT_LIT("p/i"));
    assert_true(at_ledger_state(&l, AT_LIT("o1"), &out)); /* not done: it stays */
    at_ledger_close(&l, AT_LIT("o1"), AT_LIT("ended"));
    at_buf_clear(&out);
    assert_true(at_ledger_state(&l, AT_LIT("o1"), &out));
    assert_true(at_slice_eq_cstr(at_buf_slice(&out), "ended"));
    at_ledger_forget(&l, AT_LIT("p/other"));
    assert_true(at_ledger_state(&l, AT_LIT("o1"), &out));
    at_ledger_forget(&l, AT_LIT("p/i"));
    assert_false(at_ledger_state(&l, AT_LIT("o1"), &out));
}

static void an_instance_is_made_once_at_a_time(void **state)
{
    (void)state;
    assert_int_equal(open_one("o1", "p/i"), AT_OK);
    assert_int_equal(open_one("o2", "p/i"), AT_ALREADY_EXISTS);
    assert_true(at_ledger_resource(&l, AT_LIT("p/i"), &out));
    assert_true(at_slice_eq_cstr(at_buf_slice(&out), "thing"));
    at_ledger_close(&l, AT_LIT("o1"), AT_LIT("failed"));
    assert_false(at_ledger_resource(&l, AT_LIT("p/i"), &out));
    assert_int_equal(open_one("o2", "p/i"), AT_OK);
}

static void count_item(void *ctx, const struct at_ledger_item *item)
{
    (void)item;
    ++*(uint32_t *)ctx;
}

static void those_of_a_project_that_are_not_done_are_listed(void **state)
{
    (void)state;
    uint32_t count = 0;
    assert_int_equal(open_one("o1", "p/i"), AT_OK);
    assert_int_equal(open_one("o2", "p/k"), AT_OK);
    assert_int_equal(open_one("o3", "q/i"), AT_OK);
    at_ledger_close(&l, AT_LIT("o2"), AT_LIT("ended"));
    at_ledger_each(&l, AT_LIT("p/"), count_item, &count);
    assert_int_equal(count, 1);
}

static void the_oldest_that_ended_gives_way(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < AT_ROUTER_OPERATIONS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "o%d", i);
        assert_int_equal(open_one(name, name), AT_OK);
    }
    assert_int_equal(open_one("more", "more"), AT_RESOURCE_EXHAUSTED);
    at_ledger_close(&l, AT_LIT("o7"), AT_LIT("ended"));
    at_ledger_close(&l, AT_LIT("o3"), AT_LIT("ended"));
    assert_int_equal(open_one("more", "more"), AT_OK);
    assert_false(at_ledger_state(&l, AT_LIT("o3"), &out));
    assert_true(at_ledger_state(&l, AT_LIT("o7"), &out));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_operation_is_told_until_it_is_forgotten),
        CASE(an_instance_is_made_once_at_a_time),
        CASE(those_of_a_project_that_are_not_done_are_listed),
        CASE(the_oldest_that_ended_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
