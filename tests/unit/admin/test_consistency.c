#include "support/admin_fixture.h"

/* Consistency tokens, from request bytes to answer bytes, with a second member that has less. */

#define CREATE(id) "CreateTable", "1:" AFX_INSTANCE " 2:" id " 3{3{1:f 2{}}}"
#define SET_R "MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=0 4:v}}"

static struct afx_case cases[] = {
    {"what is no token of this table is not valid",
     {{CREATE("t"), AT_OK, NULL},
      {"CheckConsistency", "1:$t 2:x", AT_INVALID_ARGUMENT, "token \"x\" not valid"},
      {"CheckConsistency", "1:$t", AT_INVALID_ARGUMENT, "token \"\" not valid"},
      {"CheckConsistency", "1:$t 2:TokenFor-" AFX_T, AT_INVALID_ARGUMENT, "not valid"}}},
    {"a table that is not there has no tokens",
     {{"GenerateConsistencyToken", "1:$t", AT_NOT_FOUND, AFX_T},
      {"CheckConsistency", "1:$t 2:x", AT_NOT_FOUND, AFX_T},
      {"GenerateConsistencyToken", "1:t", AT_INVALID_ARGUMENT, NULL}}},
};

static int setup(void **state)
{
    static const struct afx_step steps[] = {{CREATE("t"), AT_OK, NULL}, {CREATE("u"), AT_OK, NULL}};
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

static const char *token_of(struct afx *s, const char *request)
{
    struct afx_call c;

    afx_call_init(&c, s);
    (void)afx_start(&c, "GenerateConsistencyToken", request, 0);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    const char *text = at_buf_cstr(&c.text);
    assert_int_equal(strncmp(text, "consistency_token:", 18), 0);
    text = at_arena_printf(&s->arena, "%s", text + 18);
    afx_call_deinit(&c);
    return text;
}

static void expect(struct afx *s, const char *table, const char *token, const char *out)
{
    const struct afx_step step = {
        "CheckConsistency", at_arena_printf(&s->arena, "1:%s 2:%s", table, token), AT_OK, out};

    afx_run_steps(s, &step, 1);
}

static void a_token_is_covered_only_when_every_member_has_it(void **state)
{
    static const struct afx_step write = {SET_R, AT_OK, NULL};
    struct afx *s = *state;

    afx_freeze(s); /* before the write */
    afx_run_steps(s, &write, 1);
    const char *token = token_of(s, "1:$t");
    expect(s, "$t", token, "");
    atomic_store(&s->peer, AFX_PEER_GONE);
    expect(s, "$t", token, "");
    atomic_store(&s->peer, AFX_PEER_FOLLOWS);
    expect(s, "$t", token, "consistent:true");
    /* Both modes. */
    expect(s, "$t", at_arena_printf(&s->arena, "%s 3{}", token), "consistent:true");
    expect(s, "$t", at_arena_printf(&s->arena, "%s 4{}", token), "consistent:true");
}

static void a_token_made_while_a_member_was_away_needs_it_back(void **state)
{
    struct afx *s = *state;

    atomic_store(&s->peer, AFX_PEER_GONE);
    const char *token = token_of(s, "1:$t");
    expect(s, "$t", token, "");
    atomic_store(&s->peer, AFX_PEER_FOLLOWS);
    expect(s, "$t", token, "consistent:true");
}

static void a_token_counts_for_its_table_and_its_generation_only(void **state)
{
    struct afx *s = *state;
    const char *token = token_of(s, "1:$t");
    const char *request = at_arena_printf(&s->arena, "1:$t 2:%s", token);
    const struct afx_step steps[] = {
        {"CheckConsistency", at_arena_printf(&s->arena, "1:$u 2:%s", token), AT_INVALID_ARGUMENT,
         "not valid"},
        {"CheckConsistency", at_arena_printf(&s->arena, "1:$t 2:%sA", token), AT_INVALID_ARGUMENT,
         "not valid"},
        {"CheckConsistency", request, AT_OK, "consistent:true"},
        {"DeleteTable", "1:$t", AT_OK, NULL},
        {"CheckConsistency", request, AT_NOT_FOUND, NULL},
        {CREATE("t"), AT_OK, NULL},
        {"CheckConsistency", request, AT_INVALID_ARGUMENT, "not valid"},
    };

    afx_run_steps(s, steps, sizeof(steps) / sizeof(steps[0]));
}

static void a_cancelled_call_lets_its_survey_go(void **state)
{
    struct afx *s = *state;
    struct afx_call c;

    for (int i = 0; i < 2; i++) {
        atomic_store(&s->peer, AFX_PEER_HOLDS);
        afx_call_init(&c, s);
        struct at_grpc_client_call *call = afx_start(&c, "GenerateConsistencyToken", "1:$t", 0);
        while (sem_trywait(&s->asked) != 0) {
            (void)uv_run(at_loop_uv(s->loop), UV_RUN_NOWAIT);
            usleep(200);
        }
        if (i == 0)
            at_grpc_client_cancel(call);
        for (int k = 0; k < 20; k++) {
            (void)uv_run(at_loop_uv(s->loop), UV_RUN_NOWAIT);
            usleep(1000);
        }
        afx_release(s, AFX_PEER_FOLLOWS);
        if (i == 1) {
            afx_finish(&c);
            assert_int_equal(c.code, AT_OK);
        }
        afx_call_deinit(&c);
    }
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test_setup_teardown(a_token_is_covered_only_when_every_member_has_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_token_made_while_a_member_was_away_needs_it_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_token_counts_for_its_table_and_its_generation_only, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_call_lets_its_survey_go, setup, teardown),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others,
                    sizeof(others) / sizeof(others[0]));
}
