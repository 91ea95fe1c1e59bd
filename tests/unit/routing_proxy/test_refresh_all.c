/* A refresh ends when every loop has heard the cluster anew, whatever the cluster does. */
#include "routing/proxy/refresh_all.h"

#include "router_fixture.h"

static struct router_fixture r;
static _Atomic uint32_t done_count;
static _Atomic uint32_t start_count;

struct starter {
    struct at_task task;
    uint32_t target;
    bool forget;
    struct at_refresh_all *all;
};

static void on_done(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&done_count, 1);
}

static void start(struct at_task *task)
{
    struct starter *s = (struct starter *)task;
    atomic_fetch_add(&start_count, 1);
    const struct at_refresh_plan plan = {.home = r.fronts[0],
                                         .cluster = at_slice_cstr(r.fakes[s->target].id)};
    s->all = at_refresh_all_start(&plan, on_done, NULL);
    if (s->forget)
        at_refresh_all_forget(s->all);
}

static int set_up(void **state)
{
    (void)state;
    atomic_store(&done_count, 0);
    atomic_store(&start_count, 0);
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
    r_free_fronts(&r);
    r_deinit_clusters(&r);
    return 0;
}

/* A starter is the loop's until it ran, also when its test has failed: all are static. */

static void all_loops_have_heard_the_cluster_when_it_ends(void **state)
{
    (void)state;
    static const struct fake_profile NEW[] = {{.id = "new"}};
    atomic_store(&r.fakes[0].pulse, FAKE_PULSE_HANG); /* nearest, and silent: says nothing older */
    uint32_t beats = atomic_load(&r.fakes[0].heartbeats);
    FAKE_WAIT(atomic_load(&r.fakes[0].heartbeats) >= beats + R_LOOPS); /* nor is on its way */
    fake_set_profiles(&r.fakes[1], NEW, 1, 500);
    static struct starter s = {.task.run = start, .target = 1};
    at_loop_post(r.loops[0], &s.task);
    FAKE_WAIT(atomic_load(&done_count) == 1);
    r_stop_loops(&r);
    for (uint32_t i = 0; i < R_LOOPS; i++)
        assert_non_null(at_profile_table_find(&r.fronts[i]->profiles, AT_LIT("new")));
    r_start_loops(&r);
}

static void a_cluster_that_dies_ends_it(void **state)
{
    (void)state;
    fake_down(&r.fakes[0]);
    static struct starter s = {.task.run = start, .target = 0};
    at_loop_post(r.loops[0], &s.task);
    FAKE_WAIT(atomic_load(&done_count) == 1);
}

static void a_cluster_that_hangs_ends_it(void **state)
{
    (void)state;
    atomic_store(&r.fakes[0].pulse, FAKE_PULSE_HANG);
    static struct starter s = {.task.run = start, .target = 0};
    at_loop_post(r.loops[0], &s.task);
    FAKE_WAIT(atomic_load(&done_count) == 1);
}

static void one_that_is_forgotten_tells_nobody(void **state)
{
    (void)state;
    static struct starter s = {.task.run = start, .target = 0, .forget = true};
    at_loop_post(r.loops[0], &s.task);
    FAKE_WAIT(atomic_load(&start_count) == 1);
    (void)usleep(200 * 1000);
    assert_int_equal(atomic_load(&done_count), 0);
}

static void many_at_once_all_end(void **state)
{
    (void)state;
    enum { MANY = 200 };
    static struct starter many[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        many[i] = (struct starter){.task.run = start, .target = i % R_CLUSTERS};
        at_loop_post(r.loops[0], &many[i].task);
    }
    FAKE_WAIT(atomic_load(&done_count) == MANY);
}

static void a_router_that_stops_leaves_none_behind(void **state)
{
    (void)state;
    atomic_store(&r.fakes[0].pulse, FAKE_PULSE_HANG);
    static struct starter s = {.task.run = start, .target = 0};
    at_loop_post(r.loops[0], &s.task);
    /* tear_down stops the loops while the heartbeat hangs; leaks and late calls would show */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(all_loops_have_heard_the_cluster_when_it_ends),
        CASE(a_cluster_that_dies_ends_it),
        CASE(a_cluster_that_hangs_ends_it),
        CASE(one_that_is_forgotten_tells_nobody),
        CASE(many_at_once_all_end),
        CASE(a_router_that_stops_leaves_none_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
