/* Instances and clusters come and go while requests are under way. */
#include "routing/proxy/fleet.h"

#include "router_fixture.h"

#define MUTATE R_DATA "MutateRow"

static struct router_fixture r;
static struct got got;
static struct fake_cluster c4;
static struct at_cluster_config second_cluster;
static struct at_instance_config second;
static _Atomic uint32_t done_count;

static int set_up(void **state)
{
    (void)state;
    atomic_store(&done_count, 0);
    r_up(&r);
    fake_init(&c4, "c4", "z4");
    fake_set_profiles(&c4, R_PROFILES, 1, 78);
    fake_up(&c4);
    second_cluster = (struct at_cluster_config){
        .id = "c4", .zone = "z4", .host = "127.0.0.1", .grpc_port = c4.port};
    second = r.instance;
    second.instance = "second";
    second.clusters = &second_cluster;
    second.cluster_count = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    r_got_deinit(&got);
    r_down(&r);
    fake_deinit(&c4);
    return 0;
}

static struct at_slice mutation(const char *instance)
{
    static struct at_buf b;
    static uint8_t room[256];
    char name[128];
    b = (struct at_buf){.data = room, .cap = sizeof(room), .max = sizeof(room)};
    (void)snprintf(name, sizeof(name), "projects/p/instances/%s/tables/t", instance);
    assert_int_equal(at_pb_put_bytes(&b, 1, at_slice_cstr(name)), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, 2, AT_LIT("row")), AT_OK);
    return at_buf_slice(&b);
}

static enum at_code call(const char *path, const char *instance)
{
    r_got_deinit(&got);
    (void)r_call(&r, &got, path, mutation(instance), R_CALL_MS);
    return got.code;
}

static void on_done(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&done_count, 1);
}

/* On the leader's loop. */
struct act {
    struct at_task task;
    bool remove;
};

static void run_act(struct at_task *task)
{
    struct act *act = (struct act *)task;
    struct at_error error;
    const struct at_fleet_done done = {on_done, NULL};
    struct at_realm *realm = at_fleet_realm(&r.fleet, AT_LIT("projects/p/instances/second"));
    if (act->remove)
        at_fleet_remove(realm, done);
    else
        assert_int_equal(at_fleet_add(&r.fleet, &second, NULL, false, done, &error), AT_OK);
}

static void act(bool remove)
{
    static struct act all[128];
    static uint32_t next;
    struct act *a = &all[next++ % 128];
    *a = (struct act){.task.run = run_act, .remove = remove};
    at_loop_post(r.loops[0], &a->task);
}

static struct at_board *second_board(void)
{
    struct at_realm *realm = at_fleet_realm(&r.fleet, AT_LIT("projects/p/instances/second"));
    return realm ? &realm->board : NULL;
}

static void add_second(void)
{
    uint32_t before = atomic_load(&done_count);
    act(false);
    FAKE_WAIT(atomic_load(&done_count) == before + 1);
    FAKE_WAIT(atomic_load(&second_board()->informed) == R_LOOPS);
    FAKE_WAIT(atomic_load(&second_board()->targets[0].up));
}

static void requests_go_to_the_instance_they_name(void **state)
{
    (void)state;
    assert_int_equal(call(MUTATE, "second"), AT_NOT_FOUND);
    assert_non_null(strstr(got.message, "projects/p/instances/second"));
    add_second();
    assert_int_equal(call(MUTATE, "second"), AT_OK);
    assert_string_equal(got.header_by, "c4");
    assert_int_equal(call(MUTATE, "drill"), AT_OK);
    assert_string_equal(got.header_by, "c1");
    assert_int_equal(call(R_INSTANCES "GetInstance", "second"), AT_OK);
    assert_string_equal(got.header_by, "c4");
    assert_int_equal(call(MUTATE, "secon"), AT_NOT_FOUND);
    act(true);
    FAKE_WAIT(atomic_load(&done_count) == 2);
    assert_int_equal(call(MUTATE, "second"), AT_NOT_FOUND);
    assert_int_equal(call(MUTATE, "drill"), AT_OK);
}

static void the_profiles_are_the_instances_own(void **state)
{
    (void)state;
    static const struct fake_profile OWN[] = {{.id = "default", .single = "c4"}, {.id = "own"}};
    struct at_slice name = AT_LIT("projects/p/instances/second/tables/t");
    uint8_t room[128];
    struct at_buf b = {.data = room, .cap = sizeof(room), .max = sizeof(room)};
    fake_set_profiles(&c4, OWN, 2, 79);
    add_second();
    assert_int_equal(at_pb_put_bytes(&b, 1, name), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, 4, AT_LIT("pair")), AT_OK);
    (void)r_call(&r, &got, MUTATE, at_buf_slice(&b), R_CALL_MS);
    assert_int_equal(got.code, AT_NOT_FOUND);
    r_got_deinit(&got);
    at_buf_clear(&b);
    assert_int_equal(at_pb_put_bytes(&b, 1, name), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, 4, AT_LIT("own")), AT_OK);
    (void)r_call(&r, &got, MUTATE, at_buf_slice(&b), R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
}

static void an_instance_goes_when_its_last_request_has_ended(void **state)
{
    (void)state;
    add_second();
    assert_int_equal(call(MUTATE, "second"), AT_OK); /* connected */
    r_got_deinit(&got);
    atomic_store(&c4.behaviour, FAKE_HANG);
    (void)r_start(&r, &got, MUTATE, mutation("second"), 5000);
    R_TURN_UNTIL(r.loop, fake_count(&c4) == 2);
    act(true);
    (void)usleep(100 * 1000);
    assert_int_equal(atomic_load(&done_count), 1);
    assert_non_null(second_board());
    r_wait(&got);
    assert_int_equal(got.code, AT_DEADLINE_EXCEEDED);
    FAKE_WAIT(atomic_load(&done_count) == 2);
    assert_null(second_board());
}

static void a_profile_change_of_an_instance_that_goes_is_answered(void **state)
{
    (void)state;
    add_second();
    assert_int_equal(call(MUTATE, "second"), AT_OK); /* connected */
    r_got_deinit(&got);
    atomic_store(&c4.pulse, FAKE_PULSE_HANG);
    (void)r_start(&r, &got, R_INSTANCES "CreateAppProfile", mutation("second"), R_CALL_MS);
    R_TURN_UNTIL(r.loop, fake_count(&c4) == 2);
    act(true);
    r_wait(&got);
    assert_int_equal(got.code, AT_OK);
    FAKE_WAIT(atomic_load(&done_count) == 2);
}

static void many_come_and_go(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; i++) {
        act(false);
        FAKE_WAIT(atomic_load(&done_count) == 2 * i + 1);
        if (i % 5 == 0) {
            FAKE_WAIT(atomic_load(&second_board()->informed) == R_LOOPS);
            assert_int_equal(call(MUTATE, "second"), AT_OK);
        }
        act(true);
        FAKE_WAIT(atomic_load(&done_count) == 2 * i + 2);
    }
    assert_int_equal(r.fleet.realm_count, 1);
    assert_int_equal(call(MUTATE, "drill"), AT_OK);
}

static void an_instance_that_is_still_there_at_the_end_leaves_nothing(void **state)
{
    (void)state;
    add_second();
}

/* --- clusters of one instance --- */

#define MEMBER(i)                                                \
    {                                                            \
        r.fakes[i].id, r.fakes[i].zone, r.fakes[i].port, (i) + 1 \
    }

static uint32_t shown(void)
{
    struct at_board_view views[AT_BOARD_TARGETS_MAX];
    return at_board_views(r.board, views);
}

static bool is_shown(const char *id)
{
    struct at_board_view views[AT_BOARD_TARGETS_MAX];
    uint32_t count = at_board_views(r.board, views);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(views[i].id, id) == 0 && views[i].up)
            return true;
    return false;
}

static void clusters_follow_what_the_nearest_tells(void **state)
{
    (void)state;
    const struct fake_member four[] = {MEMBER(0), MEMBER(1), MEMBER(2), {"c4", "z4", c4.port, 4}};
    const struct fake_member later[] = {{"c4", "z4", c4.port, 4}, MEMBER(0), MEMBER(2)};
    fake_set_members(&r.fakes[1], later, 3, 9); /* not the nearest */
    FAKE_WAIT_BEATS(&r.fakes[1], R_LOOPS);
    assert_int_equal(shown(), 3);
    assert_true(is_shown("c2"));
    fake_set_members(&r.fakes[0], four, 4, 10);
    FAKE_WAIT(is_shown("c4"));
    fake_set_members(&r.fakes[0], later, 3, 11);
    FAKE_WAIT(shown() == 3);
    assert_false(is_shown("c2"));
    assert_int_equal(call(MUTATE, "drill"), AT_OK);
    fake_set_members(&r.fakes[0], four, 4, 12);
    FAKE_WAIT(is_shown("c2"));
    assert_int_equal(shown(), 4);
}

static void a_request_at_a_cluster_that_leaves_ends_there(void **state)
{
    (void)state;
    const struct fake_member two[] = {MEMBER(1), MEMBER(2)};
    assert_int_equal(call(MUTATE, "drill"), AT_OK); /* connected */
    atomic_store(&r.fakes[0].behaviour, FAKE_STREAM);
    atomic_store(&r.fakes[0].stream_bytes, 20 * 1024 * 1024);
    r_got_deinit(&got);
    (void)r_start(&r, &got, R_DATA "ReadRows",
                  AT_LIT("\x0a\x27projects/p/instances/drill/tables/table"), R_CALL_MS);
    R_TURN_UNTIL(r.loop, fake_count(&r.fakes[0]) == 2);
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        fake_set_members(&r.fakes[i], two, 2, 20);
    FAKE_WAIT(shown() == 2);
    got.discard = true;
    r_wait(&got);
    assert_int_equal(got.code, AT_OK);
    assert_int_equal(got.body_bytes, 20 * 1024 * 1024);
    assert_int_equal(call(MUTATE, "drill"), AT_OK);
    assert_string_equal(got.header_by, "c2");
}

static void one_made_again_under_its_old_id_is_another_cluster(void **state)
{
    (void)state;
    const struct fake_member old[] = {MEMBER(0), MEMBER(1), {"x", "z4", r.fakes[2].port, 7}};
    const struct fake_member new[] = {MEMBER(0), MEMBER(1), {"x", "z4", c4.port, 8}};
    fake_set_members(&r.fakes[0], old, 3, 30);
    FAKE_WAIT(is_shown("x"));
    fake_set_members(&r.fakes[0], new, 3, 31);
    FAKE_WAIT(atomic_load(&c4.heartbeats) > 0);
    FAKE_WAIT(is_shown("x"));
    assert_int_equal(shown(), 3);
}

static void one_without_a_port_is_not_asked_yet(void **state)
{
    (void)state;
    const struct fake_member list[] = {MEMBER(0), MEMBER(1), MEMBER(2), {"c4", "z4", 0, 4}};
    fake_set_members(&r.fakes[0], list, 4, 40);
    FAKE_WAIT_BEATS(&r.fakes[0], R_LOOPS);
    assert_int_equal(shown(), 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(requests_go_to_the_instance_they_name),
        CASE(the_profiles_are_the_instances_own),
        CASE(an_instance_goes_when_its_last_request_has_ended),
        CASE(a_profile_change_of_an_instance_that_goes_is_answered),
        CASE(many_come_and_go),
        CASE(an_instance_that_is_still_there_at_the_end_leaves_nothing),
        CASE(clusters_follow_what_the_nearest_tells),
        CASE(a_request_at_a_cluster_that_leaves_ends_there),
        CASE(one_made_again_under_its_old_id_is_another_cluster),
        CASE(one_without_a_port_is_not_asked_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
