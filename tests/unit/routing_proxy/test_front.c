/* What one loop of a router knows of its clusters, from their heartbeats and from requests. */
#include "router_fixture.h"

static struct router_fixture r;

static int set_up(void **state)
{
    (void)state;
    r_init_clusters(&r);
    return 0;
}

static void begin(void)
{
    r_open_fronts(&r);
    r_start_loops(&r);
}

static void end(void)
{
    r_stop_loops(&r);
    r_close_fronts(&r);
    r_free_fronts(&r);
}

static int tear_down(void **state)
{
    (void)state;
    r_deinit_clusters(&r);
    return 0;
}

static bool up(uint32_t i)
{
    return atomic_load(&r.board->targets[i].up);
}

static bool reason_is(uint32_t i, const char *reason)
{
    const char *shown = atomic_load(&r.board->targets[i].reason); /* NULL: not opened yet */
    return shown && strcmp(shown, reason) == 0;
}

/* The fronts are looked into only after their loops have stopped. */
static void the_order_is_by_zone_then_latency_then_health(void **state)
{
    (void)state;
    struct at_front_pick order[AT_MEMBERS_MAX];
    begin();
    FAKE_WAIT(r_all_up(&r));
    atomic_store(&r.fakes[1].state, (int)ATOLL__V1__CLUSTER_STATE__DRAINING);
    FAKE_WAIT(reason_is(1, "not ready"));
    r_stop_loops(&r);
    struct at_front *front = r.fronts[0];
    assert_int_equal(at_front_order(front, NULL, (struct at_slice){0}, order), 3);
    assert_int_equal(order[0].index, 0);
    assert_int_equal(order[1].index, 2);
    assert_int_equal(order[2].index, 1);
    const struct at_profile *pair = at_profile_table_find(&front->profiles, AT_LIT("pair"));
    assert_int_equal(at_front_order(front, pair, (struct at_slice){0}, order), 2);
    assert_int_equal(order[0].index, 2);
    const struct at_profile *one = at_profile_table_find(&front->profiles, AT_LIT("one"));
    assert_int_equal(at_front_order(front, one, (struct at_slice){0}, order), 1);
    assert_int_equal(order[0].index, 0);
    r_close_fronts(&r);
    r_free_fronts(&r);
}

static void a_lost_cluster_returns_after_three_good_heartbeats(void **state)
{
    (void)state;
    begin();
    FAKE_WAIT(r_all_up(&r));
    fake_down(&r.fakes[1]);
    FAKE_WAIT(!up(1));
    assert_true(up(0) && up(2));
    atomic_store(&r.fakes[1].heartbeats, 0);
    fake_up(&r.fakes[1]);
    FAKE_WAIT(up(1));
    assert_true(atomic_load(&r.fakes[1].heartbeats) >= 3);
    FAKE_WAIT(reason_is(1, "healthy again"));
    end();
}

static void a_hung_heartbeat_takes_a_cluster_down(void **state)
{
    (void)state;
    begin();
    FAKE_WAIT(r_all_up(&r));
    atomic_store(&r.fakes[0].pulse, FAKE_PULSE_HANG);
    FAKE_WAIT(!up(0));
    FAKE_WAIT(reason_is(0, "heartbeat lost"));
    atomic_store(&r.fakes[0].pulse, FAKE_PULSE_FAIL);
    FAKE_WAIT_BEATS(&r.fakes[0], R_LOOPS);
    assert_false(up(0));
    atomic_store(&r.fakes[0].pulse, FAKE_PULSE_OK);
    FAKE_WAIT(up(0));
    end();
}

static void a_cluster_that_is_behind_does_not_return(void **state)
{
    (void)state;
    begin();
    FAKE_WAIT(r_all_up(&r));
    atomic_store(&r.fakes[2].lag_ms, 5000);
    FAKE_WAIT_BEATS(&r.fakes[2], R_LOOPS);
    assert_true(up(2)); /* lag alone drives nobody away */
    fake_down(&r.fakes[2]);
    FAKE_WAIT(!up(2));
    fake_up(&r.fakes[2]);
    FAKE_WAIT(reason_is(2, "replication behind"));
    atomic_store(&r.fakes[2].lag_known, false);
    FAKE_WAIT_BEATS(&r.fakes[2], R_LOOPS);
    assert_false(up(2)); /* unknown is not small */
    atomic_store(&r.fakes[2].lag_ms, 10);
    atomic_store(&r.fakes[2].lag_known, true);
    FAKE_WAIT(up(2));
    end();
}

static void a_cluster_that_is_not_ready_is_not_believed(void **state)
{
    (void)state;
    fake_set_profiles(&r.fakes[0], NULL, 0, 5); /* new and empty, yet the nearest */
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        atomic_store(&r.fakes[i].state, (int)ATOLL__V1__CLUSTER_STATE__INITIALIZING);
    begin();
    FAKE_WAIT(atomic_load(&r.fakes[0].heartbeats) > 8);
    assert_int_equal(atomic_load(&r.board->informed), 0);
    atomic_store(&r.fakes[2].state, (int)ATOLL__V1__CLUSTER_STATE__READY);
    FAKE_WAIT(atomic_load(&r.board->informed) == R_LOOPS);
    FAKE_WAIT_BEATS(&r.fakes[0], R_LOOPS);
    r_stop_loops(&r);
    for (uint32_t i = 0; i < R_LOOPS; i++)
        assert_non_null(at_profile_table_find(&r.fronts[i]->profiles, AT_LIT("default")));
    r_close_fronts(&r);
    r_free_fronts(&r);
}

static bool has_near_alone(const struct at_front *front, uint32_t unused)
{
    (void)unused;
    return at_profile_table_find(&front->profiles, AT_LIT("near")) &&
           !at_profile_table_find(&front->profiles, AT_LIT("far"));
}

static void profiles_follow_the_nearest_cluster(void **state)
{
    (void)state;
    static const struct fake_profile OTHER[] = {{.id = "default"}, {.id = "far"}};
    static const struct fake_profile NEWER[] = {{.id = "default"}, {.id = "near"}};
    fake_set_profiles(&r.fakes[1], OTHER, 2, 90);
    fake_set_profiles(&r.fakes[2], OTHER, 2, 90);
    begin();
    FAKE_WAIT(r_all_up(&r));
    fake_set_profiles(&r.fakes[0], NEWER, 2, 91);
    FAKE_WAIT(r_on_all(&r, has_near_alone, 0));
    end();
}

static void requests_tell_before_heartbeats_do(void **state)
{
    (void)state;
    begin();
    FAKE_WAIT(r_all_up(&r));
    r_stop_loops(&r);
    struct at_front *front = r.fronts[0];
    struct at_grpc_result lost = {.code = AT_UNAVAILABLE};
    struct at_grpc_result busy = {.code = AT_UNAVAILABLE, .from_peer = true};
    struct at_grpc_result refused = {.code = AT_NOT_FOUND, .from_peer = true};
    for (int i = 0; i < 20; i++)
        at_front_outcome(front, 2, &refused);
    assert_true(up(2));
    at_front_outcome(front, 0, &lost);
    assert_false(up(0));
    assert_true(reason_is(0, "connection refused or lost"));
    for (int i = 0; i < 4; i++)
        at_front_outcome(front, 1, &busy);
    assert_true(up(1));
    at_front_outcome(front, 1, &busy);
    assert_false(up(1));
    assert_true(reason_is(1, "burst of errors"));
    r_close_fronts(&r);
    r_free_fronts(&r);
}

static uint32_t refreshes_done;

static void count_refresh(struct at_refresh *refresh)
{
    (void)refresh;
    refreshes_done++;
}

static void a_closing_front_ends_its_refreshes(void **state)
{
    (void)state;
    struct at_refresh refreshes[3] = {{.target = {0, 1}, .done = count_refresh},
                                      {.target = {2, 1}, .done = count_refresh},
                                      {.target = {2, 1}, .done = count_refresh}};
    refreshes_done = 0;
    begin();
    r_stop_loops(&r);
    at_front_refresh(r.fronts[0], &refreshes[0]);
    at_front_refresh(r.fronts[0], &refreshes[1]);
    r_close_fronts(&r);
    assert_int_equal(refreshes_done, 2);
    at_front_refresh(r.fronts[0], &refreshes[2]);
    assert_int_equal(refreshes_done, 3);
    r_free_fronts(&r);
}

static void a_bad_address_is_refused_cleanly(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        r.clusters[i].host = "no such host"; /* found out later, by heartbeats */
    begin();
    FAKE_WAIT(reason_is(0, "heartbeat lost"));
    assert_false(up(0));
    end();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_order_is_by_zone_then_latency_then_health),
        CASE(a_lost_cluster_returns_after_three_good_heartbeats),
        CASE(a_hung_heartbeat_takes_a_cluster_down),
        CASE(a_cluster_that_is_behind_does_not_return),
        CASE(a_cluster_that_is_not_ready_is_not_believed),
        CASE(profiles_follow_the_nearest_cluster),
        CASE(requests_tell_before_heartbeats_do),
        CASE(a_closing_front_ends_its_refreshes),
        CASE(a_bad_address_is_refused_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
