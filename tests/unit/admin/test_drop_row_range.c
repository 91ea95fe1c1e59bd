#include "support/admin_fixture.h"

/* DropRowRange, from request bytes to answer bytes, with a second member that follows or does not.
 */

#define CREATE_T "CreateTable", "1:" AFX_INSTANCE " 2:t 3{3{1:f 2{}}}"
#define SET(row) "MutateRow", "1:$t 2:" row " 3{1{1:f 2:q 3=0 4:v}}"
#define CELL(row) row ": f:q@0=v|"

static struct afx_case cases[] = {
    {"all rows go, and the same cells written again are there",
     {{CREATE_T, AT_OK, NULL},
      {SET("row0"), AT_OK, NULL},
      {SET("row1"), AT_OK, NULL},
      {"DropRowRange", "1:$t 3=1", AT_OK, ""},
      {"rows", "t", AT_OK, ""},
      {SET("row0"), AT_OK, NULL},
      {SET("row1"), AT_OK, NULL},
      {"rows", "t", AT_OK, CELL("row0") CELL("row1")}}},
    {"the rows of a prefix go, no others",
     {{CREATE_T, AT_OK, NULL},
      {SET("a"), AT_OK, NULL},
      {SET("ab"), AT_OK, NULL},
      {SET("abc"), AT_OK, NULL},
      {SET("b"), AT_OK, NULL},
      {"DropRowRange", "1:$t 2:ab", AT_OK, ""},
      {"rows", "t", AT_OK, CELL("a") CELL("b")}}},
    {"what names no rows is refused, and false drops nothing",
     {{CREATE_T, AT_OK, NULL},
      {SET("a"), AT_OK, NULL},
      {"DropRowRange", "1:$t 2:", AT_INVALID_ARGUMENT, "row_key_prefix"},
      {"DropRowRange", "1:$t", AT_INVALID_ARGUMENT, "row_key_prefix"},
      {"DropRowRange", "1:$t 2:*4097", AT_INVALID_ARGUMENT, "row_key_prefix"},
      {"DropRowRange", "1:$t 3=0", AT_OK, ""},
      {"DropRowRange", "1:$nosuch 3=1", AT_NOT_FOUND, "nosuch"},
      {"DropRowRange", "1:nosuch 3=1", AT_INVALID_ARGUMENT, "nosuch"},
      {"rows", "t", AT_OK, CELL("a")}}},
};

static int setup(void **state)
{
    static const struct afx_step steps[] = {{CREATE_T, AT_OK, NULL}, {SET("a"), AT_OK, NULL}};
    struct afx *s = at_alloc(sizeof(*s));

    afx_open(s);
    afx_run_steps(s, steps, 2);
    while (sem_trywait(&s->asked) == 0)
        continue;
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    afx_close(*state);
    at_free(*state);
    return 0;
}

static void turn_until_asked(struct afx *s)
{
    while (sem_trywait(&s->asked) != 0) {
        (void)uv_run(at_loop_uv(s->loop), UV_RUN_NOWAIT);
        usleep(200);
    }
}

static void a_second_one_on_the_table_is_refused_while_the_first_runs(void **state)
{
    static const struct afx_step refused[] = {{"DropRowRange", "1:$t 2:x", AT_UNAVAILABLE,
                                               "A DropRowRange operation is already ongoing"}};
    static const struct afx_step allowed[] = {{"DropRowRange", "1:$t 2:x", AT_OK, ""}};
    struct afx *s = *state;
    struct afx_call c;

    atomic_store(&s->peer, AFX_PEER_HOLDS);
    afx_call_init(&c, s);
    (void)afx_start(&c, "DropRowRange", "1:$t 3=1", 0);
    turn_until_asked(s);
    afx_run_steps(s, refused, 1);
    afx_release(s, AFX_PEER_FOLLOWS);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    afx_run_steps(s, allowed, 1);
    afx_call_deinit(&c);
}

static void a_member_that_comes_back_lets_it_end(void **state)
{
    struct afx *s = *state;
    struct afx_call c;

    atomic_store(&s->peer, AFX_PEER_GONE);
    afx_call_init(&c, s);
    (void)afx_start(&c, "DropRowRange", "1:$t 3=1", 0);
    turn_until_asked(s);
    turn_until_asked(s); /* it asks again */
    assert_false(c.done);
    fx_expect_rows(&s->fx, "t", "");
    atomic_store(&s->peer, AFX_PEER_FOLLOWS);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    afx_call_deinit(&c);
}

static void a_member_out_of_touch_holds_it_until_the_deadline(void **state)
{
    static const struct afx_step allowed[] = {{"DropRowRange", "1:$t 2:x", AT_OK, ""}};
    struct afx *s = *state;
    struct afx_call c;

    atomic_store(&s->peer, AFX_PEER_GONE);
    /* The client's own deadline comes first where the machine is busy; it is told nothing then. */
    bool told = false;
    for (uint32_t timeout_ms = 600; !told && timeout_ms < 60000; timeout_ms *= 2) {
        afx_call_init(&c, s);
        (void)afx_start(&c, "DropRowRange", "1:$t 3=1", timeout_ms);
        afx_finish(&c);
        assert_int_equal(c.code, AT_DEADLINE_EXCEEDED);
        told = strstr(c.message, "will be on every cluster") != NULL;
        afx_call_deinit(&c);
    }
    assert_true(told);
    fx_expect_rows(&s->fx, "t", "");
    atomic_store(&s->peer, AFX_PEER_FOLLOWS);
    afx_run_steps(s, allowed, 1);
}

static void a_cancelled_one_makes_room_for_the_next(void **state)
{
    static const struct afx_step step = {"DropRowRange", "1:$t 2:x", AT_OK, ""};
    struct afx *s = *state;
    struct afx_call c;

    for (int held = 0; held < 2; held++) {
        atomic_store(&s->peer, held ? AFX_PEER_HOLDS : AFX_PEER_GONE);
        afx_call_init(&c, s);
        struct at_grpc_client_call *call = afx_start(&c, "DropRowRange", "1:$t 3=1", 0);
        turn_until_asked(s);
        at_grpc_client_cancel(call);
        for (int i = 0; i < 20; i++) {
            (void)uv_run(at_loop_uv(s->loop), UV_RUN_NOWAIT);
            usleep(1000);
        }
        atomic_store(&s->peer, AFX_PEER_FOLLOWS);
        afx_run_steps(s, &step, 1);
        while (sem_trywait(&s->asked) == 0)
            continue;
        afx_release(s, AFX_PEER_FOLLOWS);
        afx_call_deinit(&c);
    }
}

static void one_that_waits_when_the_server_ends_harms_nobody(void **state)
{
    struct afx *s = *state;
    struct afx_call c;

    atomic_store(&s->peer, AFX_PEER_HOLDS);
    afx_call_init(&c, s);
    (void)afx_start(&c, "DropRowRange", "1:$t 3=1", 0);
    turn_until_asked(s);
    afx_call_deinit(&c);
    at_grpc_channel_close(&s->channel); /* teardown does the rest */
    (void)uv_run(at_loop_uv(s->loop), UV_RUN_NOWAIT);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test_setup_teardown(a_second_one_on_the_table_is_refused_while_the_first_runs,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_that_comes_back_lets_it_end, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_out_of_touch_holds_it_until_the_deadline, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_one_makes_room_for_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_waits_when_the_server_ends_harms_nobody, setup,
                                        teardown),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others,
                    sizeof(others) / sizeof(others[0]));
}
