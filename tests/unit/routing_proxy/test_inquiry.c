/* One question to one cluster. */
#include "routing/proxy/inquiry.h"

#include "google/longrunning/operations.pb-c.h"
#include "router_fixture.h"

static struct router_fixture r;

struct asking {
    struct at_inquiry inquiry; /* first */
    struct at_task task;
    struct at_front_pick pick;
    uint64_t patience_ns;
    _Atomic bool done;
    enum at_code code;
};

static struct asking a;

static void on_done(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct asking *asking = (struct asking *)inquiry;
    asking->code = result->code;
    atomic_store(&asking->done, true);
}

static void run(struct at_task *task)
{
    (void)task;
    Google__Longrunning__GetOperationRequest request =
        GOOGLE__LONGRUNNING__GET_OPERATION_REQUEST__INIT;
    const struct at_inquiry_question question = {"/google.longrunning.Operations/GetOperation",
                                                 &request.base, a.patience_ns};
    a.inquiry.front = r.fronts[0];
    a.inquiry.done = on_done;
    at_inquire(&a.inquiry, a.pick, &question);
}

static int set_up(void **state)
{
    (void)state;
    memset(&a, 0, sizeof(a));
    a.task.run = run;
    a.patience_ns = R_CALL_MS * AT_MS_NS;
    at_inquiry_init(&a.inquiry);
    r_init_clusters(&r);
    r_open_fronts(&r);
    r_start_loops(&r);
    FAKE_WAIT(r_all_up(&r));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    r_stop_loops(&r);
    r_close_fronts(&r);
    at_inquiry_deinit(&a.inquiry);
    r_free_fronts(&r);
    r_deinit_clusters(&r);
    return 0;
}

static void ask(uint32_t slot, uint32_t generation)
{
    a.pick = (struct at_front_pick){slot, generation};
    at_loop_post(r.loops[0], &a.task);
    FAKE_WAIT(atomic_load(&a.done));
}

static void the_cluster_that_was_picked_answers(void **state)
{
    (void)state;
    ask(1, 1);
    assert_int_equal(a.code, AT_OK);
    assert_true(at_slice_eq_cstr(at_buf_slice(&a.inquiry.answer), "c2"));
}

static void its_refusal_is_told(void **state)
{
    (void)state;
    atomic_store(&r.fakes[2].behaviour, FAKE_FAIL);
    atomic_store(&r.fakes[2].code, AT_FAILED_PRECONDITION);
    ask(2, 1);
    assert_int_equal(a.code, AT_FAILED_PRECONDITION);
}

static void one_that_has_left_is_not_asked(void **state)
{
    (void)state;
    ask(0, 9);
    assert_int_equal(a.code, AT_UNAVAILABLE);
    assert_int_equal(fake_count(&r.fakes[0]), 0);
}

static void one_that_hangs_is_waited_for_as_long_as_said(void **state)
{
    (void)state;
    atomic_store(&r.fakes[0].behaviour, FAKE_HANG);
    a.patience_ns = AT_S_NS;
    ask(0, 1);
    assert_int_equal(a.code, AT_DEADLINE_EXCEEDED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_cluster_that_was_picked_answers),
        CASE(its_refusal_is_told),
        CASE(one_that_has_left_is_not_asked),
        CASE(one_that_hangs_is_waited_for_as_long_as_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
