/* One request through a router: where it goes, what comes back, what happens when clusters fail. */
#include "router_fixture.h"

#define MUTATE R_DATA "MutateRow"
#define READ R_DATA "ReadRows"
#define CHECK R_DATA "CheckAndMutateRow"
#define MODIFY R_DATA "ReadModifyWriteRow"

static struct router_fixture r;
static struct router_fixture other; /* one more client, in some tests: loop, server, channel */
static struct got got;

static int set_up(void **state)
{
    (void)state;
    r_up(&r);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    r_got_deinit(&got);
    at_grpc_channel_close(&other.channel);
    at_loop_free(&other.loop);
    r_down(&r);
    return 0;
}

static void open_other(void)
{
    other.loop = at_loop_new(at_clock_system());
    other.server = r.server;
    other.channel = r_open_channel(&other);
}

/* MutateRow{table_name, row_key, one mutation of kind `kind`, app_profile_id}, with an unknown
 * field that no decoder keeps. */
static struct at_slice mutate_row(const char *profile, uint32_t kind)
{
    static struct at_buf b;
    static uint8_t room[512];
    b = (struct at_buf){.data = room, .cap = sizeof(room), .max = sizeof(room)};
    uint8_t mutation[] = {(uint8_t)(kind << 3 | 2), 0};
    assert_int_equal(at_pb_put_bytes(&b, 1, AT_LIT("projects/p/instances/drill/tables/t")), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, 2, AT_LIT("row")), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, 3, at_slice_make(mutation, sizeof(mutation))), AT_OK);
    if (profile[0])
        assert_int_equal(at_pb_put_bytes(&b, 4, at_slice_cstr(profile)), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, 4000, AT_LIT("what no decoder keeps")), AT_OK);
    return at_buf_slice(&b);
}

/* A request whose profile is in field `field`. */
static struct at_slice with_profile(uint32_t field, const char *profile)
{
    static struct at_buf b;
    static uint8_t room[256];
    b = (struct at_buf){.data = room, .cap = sizeof(room), .max = sizeof(room)};
    assert_int_equal(at_pb_put_bytes(&b, 1, AT_LIT("projects/p/instances/drill/tables/t")), AT_OK);
    assert_int_equal(at_pb_put_bytes(&b, field, at_slice_cstr(profile)), AT_OK);
    return at_buf_slice(&b);
}

enum { SET_CELL = 1, ADD_TO_CELL = 5 };

static struct at_slice set_cell(const char *profile)
{
    return mutate_row(profile, SET_CELL);
}

static uint32_t sent(void)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        sum += fake_count(&r.fakes[i]);
    return sum;
}

static const struct fake_record *record_of(uint32_t i)
{
    static struct fake_record records[R_CLUSTERS];
    fake_latest(&r.fakes[i], &records[i]);
    return &records[i];
}

static void script(uint32_t i, enum fake_behaviour behaviour, enum at_code code)
{
    atomic_store(&r.fakes[i].code, (int)code);
    atomic_store(&r.fakes[i].behaviour, (int)behaviour);
}

static void assert_served_by(const char *id)
{
    assert_int_equal(got.code, AT_OK);
    assert_true(at_slice_eq_cstr(at_buf_slice(&got.body), id));
    assert_string_equal(got.header_by, id);
    assert_int_equal(got.header_by_count, 1);
}

static void assert_timing(void)
{
    assert_memory_equal(got.timing, "gfet4t7; dur=", strlen("gfet4t7; dur="));
    assert_true(got.timing[strlen("gfet4t7; dur=")] >= '0');
}

/* --- plain ways --- */

static void bytes_go_through_untouched_both_ways(void **state)
{
    (void)state;
    struct at_slice request = set_cell("");
    (void)r_call(&r, &got, MUTATE, request, R_CALL_MS);
    assert_served_by("c1");
    const struct fake_record *c1 = record_of(0);
    assert_true(at_slice_eq(at_slice_make(c1->request, c1->request_len), request));
    assert_string_equal(c1->path, MUTATE);
    assert_string_equal(c1->features, "CgwKAggB");
    assert_int_equal(got.message_count, 1);
    assert_timing();
    assert_false(got.private_seen);
    assert_int_equal(atomic_load(&r.board->targets[0].served), 1);
    assert_int_equal(atomic_load(&r.board->failovers), 0);
}

static void the_router_supplies_the_time_of_writes_itself(void **state)
{
    (void)state;
    struct at_clock clock = at_clock_system();
    uint64_t from = at_clock_wall_ns(&clock) / 1000;
    (void)r_call(&r, &got, MUTATE, set_cell(""), R_CALL_MS);
    uint64_t micros = strtoull(record_of(0)->write_micros, NULL, 10);
    assert_true(micros >= from && micros <= at_clock_wall_ns(&clock) / 1000);
    r_got_deinit(&got);
    (void)r_call(&r, &got, READ, with_profile(5, ""), R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
    assert_string_equal(record_of(0)->write_micros, "");
}

static void an_unknown_profile_is_not_found_and_nothing_is_sent(void **state)
{
    (void)state;
    (void)r_call(&r, &got, MUTATE, set_cell("nobody"), R_CALL_MS);
    assert_int_equal(got.code, AT_NOT_FOUND);
    assert_non_null(strstr(got.message, "nobody"));
    assert_timing();
    assert_int_equal(sent(), 0);
}

static void malformed_bytes_are_refused_and_not_sent(void **state)
{
    (void)state;
    (void)r_call(&r, &got, MUTATE, AT_LIT("\x0a\xff"), R_CALL_MS);
    assert_int_equal(got.code, AT_INVALID_ARGUMENT);
    assert_int_equal(sent(), 0);
}

static void a_profile_for_a_cluster_that_is_not_there_fails(void **state)
{
    (void)state;
    (void)r_call(&r, &got, MUTATE, set_cell("gone"), R_CALL_MS);
    assert_int_equal(got.code, AT_FAILED_PRECONDITION);
    assert_int_equal(sent(), 0);
}

static void transactions_need_a_profile_that_allows_them(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint32_t field;
        const char *profile;
        enum at_code code;
    } ROWS[] = {
        {CHECK, 7, "", AT_FAILED_PRECONDITION},
        {MODIFY, 4, "", AT_FAILED_PRECONDITION},
        {CHECK, 7, "pair", AT_FAILED_PRECONDITION},
        {MODIFY, 4, "one", AT_FAILED_PRECONDITION},
        {CHECK, 7, "one", AT_FAILED_PRECONDITION},
        {CHECK, 7, "tx", AT_OK},
        {MODIFY, 4, "tx", AT_OK},
    };
    uint32_t allowed = 0;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        (void)r_call(&r, &got, ROWS[i].path, with_profile(ROWS[i].field, ROWS[i].profile),
                     R_CALL_MS);
        assert_int_equal(got.code, ROWS[i].code);
        if (got.code != AT_OK)
            assert_string_equal(got.message,
                                "Single-row transactions are not allowed by this app profile");
        allowed += got.code == AT_OK;
        assert_int_equal(sent(), allowed);
        r_got_deinit(&got);
    }
    (void)r_call(&r, &got, MUTATE, set_cell("one"), R_CALL_MS);
    assert_served_by("c1");
}

static void an_error_of_the_cluster_comes_through_whole(void **state)
{
    (void)state;
    script(0, FAKE_FAIL, AT_NOT_FOUND);
    (void)r_call(&r, &got, MUTATE, set_cell(""), R_CALL_MS);
    assert_int_equal(got.code, AT_NOT_FOUND);
    assert_string_equal(got.message, "c1");
    assert_memory_equal(got.details, ((const uint8_t[]){8, 10, 0, 255}), 4);
    assert_int_equal(got.details_len, 4);
    assert_string_equal(got.trailer_by, "c1");
    assert_timing();
    assert_int_equal(sent(), 1);
}

/* --- failing clusters --- */

static void the_nearest_is_first_then_by_latency(void **state)
{
    (void)state;
    (void)r_call(&r, &got, MUTATE, set_cell("pair"), R_CALL_MS);
    assert_served_by("c2"); /* 10 ms, c3 is 30 ms away */
    r_got_deinit(&got);
    script(0, FAKE_FAIL, AT_UNAVAILABLE);
    (void)r_call(&r, &got, MUTATE, set_cell(""), R_CALL_MS);
    assert_served_by("c2");
}

static void unavailable_from_a_cluster_sends_the_same_elsewhere(void **state)
{
    (void)state;
    script(0, FAKE_FAIL, AT_UNAVAILABLE);
    struct at_slice request = set_cell("");
    (void)r_call(&r, &got, MUTATE, request, R_CALL_MS);
    assert_served_by("c2");
    const struct fake_record *c2 = record_of(1);
    assert_true(at_slice_eq(at_slice_make(c2->request, c2->request_len), request));
    assert_string_equal(record_of(0)->write_micros, record_of(1)->write_micros);
    assert_string_not_equal(record_of(0)->write_micros, "");
    assert_int_equal(atomic_load(&r.board->failovers), 1);
    assert_int_equal(atomic_load(&r.board->targets[0].failed), 1);
    assert_int_equal(atomic_load(&r.board->targets[0].served), 0);
}

static void a_refused_connection_sends_elsewhere(void **state)
{
    (void)state;
    fake_down(&r.fakes[0]);
    uint64_t took_ms = r_call(&r, &got, MUTATE, set_cell(""), R_CALL_MS);
    assert_served_by("c2");
    assert_true(took_ms < R_CALL_MS / 4); /* not because its time was half over */
}

static void a_connection_lost_before_the_first_byte_sends_elsewhere(void **state)
{
    (void)state;
    script(0, FAKE_DIE, AT_OK);
    (void)r_call(&r, &got, MUTATE, set_cell(""), R_CALL_MS);
    assert_served_by("c2");
    assert_string_equal(record_of(0)->write_micros, record_of(1)->write_micros);
}

static void headers_of_a_lost_attempt_leave_no_trace(void **state)
{
    (void)state;
    script(0, FAKE_HEAD_AND_DIE, AT_OK);
    (void)r_call(&r, &got, READ, with_profile(5, ""), R_CALL_MS);
    assert_served_by("c2");
    assert_int_equal(fake_count(&r.fakes[0]), 1);
}

static void after_the_first_byte_the_client_gets_the_error(void **state)
{
    (void)state;
    script(0, FAKE_BYTE_AND_DIE, AT_OK);
    (void)r_call(&r, &got, READ, with_profile(5, ""), R_CALL_MS);
    assert_int_equal(got.code, AT_UNAVAILABLE);
    assert_string_equal(got.header_by, "c1");
    assert_int_equal(sent(), 1);
}

static void a_single_cluster_that_is_down_is_unavailable_quickly(void **state)
{
    (void)state;
    fake_down(&r.fakes[0]);
    uint64_t took_ms = r_call(&r, &got, MUTATE, set_cell("one"), R_CALL_MS);
    assert_int_equal(got.code, AT_UNAVAILABLE);
    assert_true(took_ms < R_CALL_MS / 4); /* not because its time was half over */
    assert_int_equal(sent(), 0);
    assert_timing();
}

static void a_transaction_is_never_sent_twice(void **state)
{
    (void)state;
    static const enum fake_behaviour WAYS[] = {FAKE_DIE, FAKE_FAIL, FAKE_HEAD_AND_DIE};
    uint32_t before = 0;
    for (size_t i = 0; i < sizeof(WAYS) / sizeof(WAYS[0]); i++) {
        script(0, WAYS[i], AT_UNAVAILABLE);
        FAKE_WAIT(r_all_up(&r));
        (void)r_call(&r, &got, MODIFY, with_profile(4, "tx"), R_CALL_MS);
        assert_int_equal(got.code, AT_UNAVAILABLE);
        assert_true(sent() - before <= 1); /* 0: the connections were not back yet */
        before = sent();
        r_got_deinit(&got);
    }
    assert_true(before >= 1);
    script(0, FAKE_HANG, AT_OK);
    FAKE_WAIT(r_all_up(&r));
    (void)r_call(&r, &got, MODIFY, with_profile(4, "tx"), 1500);
    assert_int_equal(got.code, AT_DEADLINE_EXCEEDED);
    assert_true(sent() - before <= 1);
}

static void an_addition_that_may_have_run_is_not_sent_again(void **state)
{
    (void)state;
    script(0, FAKE_DIE, AT_OK);
    (void)r_call(&r, &got, MUTATE, mutate_row("", ADD_TO_CELL), R_CALL_MS);
    assert_int_equal(got.code, AT_UNAVAILABLE);
    assert_int_equal(sent(), 1);
    r_got_deinit(&got);
    script(0, FAKE_HANG, AT_OK);
    script(1, FAKE_HANG, AT_OK);
    (void)r_call(&r, &got, MUTATE, mutate_row("", ADD_TO_CELL), 1500);
    assert_int_equal(got.code, AT_DEADLINE_EXCEEDED);
    assert_int_equal(sent(), 2);
}

static void an_addition_that_was_never_sent_goes_elsewhere(void **state)
{
    (void)state;
    fake_down(&r.fakes[0]);
    FAKE_WAIT(r_all_lack(&r, 0));
    script(1, FAKE_ANSWER, AT_OK);
    (void)r_call(&r, &got, MUTATE, mutate_row("", ADD_TO_CELL), R_CALL_MS);
    assert_served_by("c2");
}

static void a_hung_cluster_costs_half_of_the_deadline(void **state)
{
    (void)state;
    script(0, FAKE_HANG, AT_OK);
    uint64_t took_ms = r_call(&r, &got, MUTATE, set_cell(""), 4000);
    assert_served_by("c2");
    assert_true(took_ms >= 1900);
    assert_string_equal(record_of(0)->write_micros, record_of(1)->write_micros);
    FAKE_WAIT(atomic_load(&r.fakes[0].cancelled) == 1);
}

static void clusters_that_come_back_in_time_are_waited_for(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        fake_down(&r.fakes[i]);
    (void)r_start(&r, &got, MUTATE, set_cell(""), R_CALL_MS);
    for (int i = 0; i < 30; i++) {
        at_loop_settle(r.loop);
        (void)usleep(20000);
    }
    assert_false(got.done);
    fake_up(&r.fakes[2]);
    r_wait(&got);
    assert_served_by("c3");
}

static void all_down_is_an_error_before_the_deadline(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < R_CLUSTERS; i++)
        fake_down(&r.fakes[i]);
    /* Where a round is so slow that it only ends after the deadline, there is more time. */
    for (uint64_t timeout_ms = 700; timeout_ms < R_CALL_MS; timeout_ms *= 2) {
        (void)r_call(&r, &got, MUTATE, set_cell(""), timeout_ms);
        if (got.code != AT_DEADLINE_EXCEEDED)
            break;
        r_got_deinit(&got);
    }
    assert_int_equal(got.code, AT_UNAVAILABLE);
    assert_int_equal(sent(), 0);
}

/* --- clients --- */

static void a_client_that_cancels_cancels_the_cluster(void **state)
{
    (void)state;
    script(0, FAKE_HANG, AT_OK);
    struct at_grpc_client_call *call = r_start(&r, &got, MUTATE, set_cell(""), 0);
    R_TURN_UNTIL(r.loop, fake_count(&r.fakes[0]) == 1);
    at_grpc_client_cancel(call);
    R_TURN_UNTIL(r.loop, atomic_load(&r.fakes[0].cancelled) > 0);
    assert_int_equal(atomic_load(&r.fakes[0].cancelled), 1);
    assert_int_equal(sent(), 1);
}

static void a_deadline_ends_the_call_on_both_sides(void **state)
{
    (void)state;
    script(0, FAKE_HANG, AT_OK);
    uint64_t took_ms = r_call(&r, &got, MUTATE, set_cell("one"), 1500);
    assert_int_equal(got.code, AT_DEADLINE_EXCEEDED);
    assert_true(took_ms >= 1490);
    FAKE_WAIT(atomic_load(&r.fakes[0].cancelled) == 1);
    assert_int_equal(sent(), 1);
}

/* A client that reads nothing: the cluster stops sending once windows and sockets are full. */
static void a_slow_client_holds_the_cluster_back(void **state)
{
    (void)state;
    enum { ALL_BYTES = 50 * 1024 * 1024, HELD_BYTES_MAX = 8 * 1024 * 1024 };
    atomic_store(&r.fakes[0].stream_bytes, ALL_BYTES);
    script(0, FAKE_STREAM, AT_OK);
    (void)r_start(&r, &got, READ, with_profile(5, ""), 0);
    got.discard = true;
    R_TURN_UNTIL(r.loop, fake_count(&r.fakes[0]) > 0);
    size_t before;
    do { /* until it stands still */
        before = atomic_load(&r.fakes[0].sent_bytes);
        (void)usleep(300 * 1000);
    } while (atomic_load(&r.fakes[0].sent_bytes) != before);
    assert_true(before < HELD_BYTES_MAX);
    r_wait(&got);
    assert_int_equal(got.code, AT_OK);
    assert_int_equal(got.body_bytes, ALL_BYTES);
    assert_int_equal(sent(), 1);
}

/* The other clients of the same cluster connection go on meanwhile. */
static void a_slow_client_does_not_stop_others(void **state)
{
    (void)state;
    enum { ALL_BYTES = 20 * 1024 * 1024 };
    atomic_store(&r.fakes[0].stream_bytes, ALL_BYTES);
    script(0, FAKE_STREAM, AT_OK);
    struct got slow;
    open_other();
    (void)r_start(&other, &slow, READ, with_profile(5, ""), 0);
    slow.discard = true;
    R_TURN_UNTIL(other.loop, fake_count(&r.fakes[0]) > 0);
    script(0, FAKE_ANSWER, AT_OK);
    for (int i = 0; i < 20; i++) {
        (void)r_call(&r, &got, MUTATE, set_cell("one"), R_CALL_MS);
        assert_served_by("c1");
        r_got_deinit(&got);
    }
    r_wait(&slow);
    assert_int_equal(slow.body_bytes, ALL_BYTES);
    r_got_deinit(&slow);
    r_got_init(&got, r.loop);
}

/* --- profiles that change --- */

static void a_changed_profile_is_in_force_on_every_loop_at_once(void **state)
{
    (void)state;
    open_other(); /* the next connection: another loop */
    for (uint64_t version = 100; version < 120; version++) {
        const char *home = version % 2 ? "c2" : "c3";
        struct fake_profile changed[] = {{.id = "default"}, {.id = "moving", .single = home}};
        for (uint32_t i = 0; i < R_CLUSTERS; i++)
            fake_set_profiles(&r.fakes[i], changed, 2, version);
        (void)r_call(&r, &got, R_INSTANCES "UpdateAppProfile", AT_LIT(""), R_CALL_MS);
        assert_served_by("c1");
        r_got_deinit(&got);
        struct router_fixture *const ways[] = {&r, &other};
        for (int i = 0; i < 2; i++) {
            (void)r_call(ways[i], &got, MUTATE, set_cell("moving"), R_CALL_MS);
            assert_served_by(home);
            r_got_deinit(&got);
        }
        for (uint32_t i = 0; i < R_CLUSTERS; i++)
            fake_set_profiles(&r.fakes[i], R_PROFILES, R_PROFILE_COUNT, 77);
    }
    r_got_init(&got, r.loop);
}

static void a_change_is_asked_of_the_cluster_that_made_it(void **state)
{
    (void)state;
    static const struct fake_profile CHANGED[] = {{.id = "default"}, {.id = "new", .single = "c2"}};
    fake_set_profiles(&r.fakes[1], CHANGED, 2, 78); /* c1 has not heard of it, and is gone */
    fake_down(&r.fakes[0]);
    FAKE_WAIT(r_all_lack(&r, 0)); /* sent to it, it would not be sent again */
    (void)r_call(&r, &got, R_INSTANCES "CreateAppProfile", AT_LIT(""), R_CALL_MS);
    assert_served_by("c2");
    r_got_deinit(&got);
    (void)r_call(&r, &got, MUTATE, set_cell("new"), R_CALL_MS);
    assert_served_by("c2");
}

static void a_client_that_gives_up_on_a_change_breaks_nothing(void **state)
{
    (void)state;
    atomic_store(&r.fakes[0].pulse, FAKE_PULSE_HANG);
    (void)r_call(&r, &got, R_INSTANCES "UpdateAppProfile", AT_LIT(""), 20);
    assert_int_equal(got.code, AT_DEADLINE_EXCEEDED);
    r_got_deinit(&got);
    atomic_store(&r.fakes[0].pulse, FAKE_PULSE_OK);
    (void)r_call(&r, &got, R_INSTANCES "UpdateAppProfile", AT_LIT(""), R_CALL_MS);
    assert_int_equal(got.code, AT_OK);
}

/* --- many at once --- */

/* Clusters die and come back under load; no idempotent request fails. */
static void no_write_fails_while_the_nearest_is_killed(void **state)
{
    (void)state;
    enum { CALLS = 300 };
    static struct got many[CALLS];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < CALLS; i++) {
            (void)r_start(&r, &many[i], MUTATE, set_cell(""), R_CALL_MS);
            if (i == CALLS / 2) {
                at_loop_settle(r.loop);
                if (round % 2 == 0)
                    fake_down(&r.fakes[0]);
                else
                    fake_up(&r.fakes[0]);
            }
        }
        for (int i = 0; i < CALLS; i++) {
            r_wait(&many[i]);
            assert_int_equal(many[i].code, AT_OK);
            r_got_deinit(&many[i]);
        }
    }
    r_got_init(&got, r.loop);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(bytes_go_through_untouched_both_ways),
        CASE(the_router_supplies_the_time_of_writes_itself),
        CASE(an_unknown_profile_is_not_found_and_nothing_is_sent),
        CASE(malformed_bytes_are_refused_and_not_sent),
        CASE(a_profile_for_a_cluster_that_is_not_there_fails),
        CASE(transactions_need_a_profile_that_allows_them),
        CASE(an_error_of_the_cluster_comes_through_whole),
        CASE(the_nearest_is_first_then_by_latency),
        CASE(unavailable_from_a_cluster_sends_the_same_elsewhere),
        CASE(a_refused_connection_sends_elsewhere),
        CASE(a_connection_lost_before_the_first_byte_sends_elsewhere),
        CASE(headers_of_a_lost_attempt_leave_no_trace),
        CASE(after_the_first_byte_the_client_gets_the_error),
        CASE(a_single_cluster_that_is_down_is_unavailable_quickly),
        CASE(a_transaction_is_never_sent_twice),
        CASE(an_addition_that_may_have_run_is_not_sent_again),
        CASE(an_addition_that_was_never_sent_goes_elsewhere),
        CASE(a_hung_cluster_costs_half_of_the_deadline),
        CASE(clusters_that_come_back_in_time_are_waited_for),
        CASE(all_down_is_an_error_before_the_deadline),
        CASE(a_client_that_cancels_cancels_the_cluster),
        CASE(a_deadline_ends_the_call_on_both_sides),
        CASE(a_slow_client_holds_the_cluster_back),
        CASE(a_slow_client_does_not_stop_others),
        CASE(a_changed_profile_is_in_force_on_every_loop_at_once),
        CASE(a_change_is_asked_of_the_cluster_that_made_it),
        CASE(a_client_that_gives_up_on_a_change_breaks_nothing),
        CASE(no_write_fails_while_the_nearest_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
