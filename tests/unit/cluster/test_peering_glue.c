#include "cluster/peering_glue.h"

#include <stdatomic.h>

#include "support/held_port.h"
#include "support/nng_leaks.h"
#include "support/test.h"
#include "wire/peer_socket.h"

#include "support/store_fixture.h"

/* Two real stores joined by real peering over loopback: what the services see of it. */

#define PATIENCE_MS 60000

struct pair {
    struct fx fx[2];
    struct at_glue glue[2];
    struct held_port held[2];
    struct at_cluster_config clusters[2];
    struct at_instance_config instance;
    struct at_arena arena;
    struct at_slice infos[2];
};

static void start(struct pair *p, int i)
{
    struct at_error error = {0};
    enum at_code code = at_glue_start(&p->glue[i], &p->clusters[i], at_clock_system(), &error);

    if (code != AT_OK)
        print_error("%s\n", error.msg);
    assert_int_equal(code, AT_OK);
}

static int setup(void **state)
{
    static const char *const IDS[] = {"c1", "c2"};
    struct pair *p = AT_NEW(struct pair);

    at_arena_init(&p->arena, AT_KIB);
    for (uint32_t i = 0; i < 2; i++) {
        held_port_take(&p->held[i]);
        p->clusters[i] = (struct at_cluster_config){.id = IDS[i],
                                                    .zone = "z",
                                                    .host = "127.0.0.1",
                                                    .member = i + 1,
                                                    .peer_port = p->held[i].port};
    }
    p->instance = (struct at_instance_config){.clusters = p->clusters, .cluster_count = 2};
    assert_int_equal(at_glue_member_infos(&p->instance, &p->arena, p->infos, NULL), AT_OK);
    for (uint32_t i = 0; i < 2; i++) {
        fx_prepare(&p->fx[i], i + 1, 2);
        p->fx[i].config.replica.infos = p->infos;
        p->fx[i].config.on_commit = at_glue_on_commit;
        p->fx[i].config.on_applied = at_glue_on_applied;
        p->fx[i].config.ctx = &p->glue[i];
        fx_reopen(&p->fx[i]);
        p->glue[i].store = p->fx[i].store;
    }
    start(p, 0);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct pair *p = *state;

    for (int i = 0; i < 2; i++)
        if (atomic_load(&p->glue[i].peering))
            at_glue_stop(&p->glue[i]);
    for (int i = 0; i < 2; i++) {
        fx_close(&p->fx[i]);
        held_port_let_go(&p->held[i]);
    }
    at_arena_deinit(&p->arena);
    at_free(p);
    return 0;
}

static void on_spread(struct at_spread_wait *wait)
{
    sem_post(wait->ctx);
}

static void on_survey(struct at_survey *survey)
{
    sem_post(survey->ctx);
}

static void await(sem_t *done)
{
    while (sem_wait(done) != 0)
        continue;
}

static bool spread(struct pair *p, uint64_t seq, uint32_t timeout_ms)
{
    struct at_service_port port = at_glue_service_port(&p->glue[0]);
    sem_t done;
    struct at_spread_wait wait = {
        .seq = seq, .timeout_ms = timeout_ms, .done = on_spread, .ctx = &done};

    sem_init(&done, 0, 0);
    port.wait_spread(port.ctx, &wait);
    await(&done);
    sem_destroy(&done);
    return wait.all;
}

static uint64_t own_seq(struct pair *p)
{
    struct at_replica_view view;

    fx_view(&p->fx[0], &view);
    uint64_t seq = view.seq;
    at_replica_view_deinit(&view);
    return seq;
}

/* Looks at the one link of c1 until its state is `state`. */
static bool link_becomes(struct pair *p, enum at_link_state state)
{
    struct at_service_port port = at_glue_service_port(&p->glue[0]);
    uint64_t end_ns = fx_mono_ns(NULL) + PATIENCE_MS * AT_MS_NS;

    while (fx_mono_ns(NULL) < end_ns) {
        struct at_link_status links[AT_MEMBERS_MAX];
        uint32_t count = port.links(port.ctx, links, AT_MEMBERS_MAX);
        assert_in_range(count, 0, 1); /* 0: its thread has just begun */
        if (count == 1) {
            assert_int_equal(links[0].peer.v, 2);
            if (links[0].state == state)
                return true;
        }
        usleep(2000);
    }
    return false;
}

static void a_write_spreads_to_the_other_store(void **state)
{
    struct pair *p = *state;

    start(p, 1);
    assert_true(link_becomes(p, AT_LINK_STREAMING));
    fx_make_table(&p->fx[0]);
    assert_int_equal(fx_set(&p->fx[0], "r", "f", "q", 1000, "v"), AT_OK);
    assert_true(spread(p, own_seq(p), PATIENCE_MS));
    fx_expect_rows(&p->fx[1], "t", "r: f:q@1000=v|");
}

static void a_member_that_never_spoke_is_not_waited_for(void **state)
{
    struct pair *p = *state;
    struct at_service_port port = at_glue_service_port(&p->glue[0]);

    fx_make_table(&p->fx[0]);
    assert_true(link_becomes(p, AT_LINK_CUT));
    assert_false(spread(p, own_seq(p), PATIENCE_MS));
    struct at_service_lag lag = port.lag(port.ctx);
    assert_true(lag.alone);
}

static void a_survey_hears_all_that_are_in_touch(void **state)
{
    struct pair *p = *state;
    struct at_service_port port = at_glue_service_port(&p->glue[0]);
    sem_t done;

    start(p, 1);
    assert_true(link_becomes(p, AT_LINK_STREAMING));
    sem_init(&done, 0, 0);
    struct at_survey survey = {.timeout_ms = PATIENCE_MS, .done = on_survey, .ctx = &done};
    port.survey(port.ctx, &survey);
    await(&done);
    assert_int_equal(survey.count, 2);
    for (uint32_t i = 0; i < survey.count; i++) {
        assert_non_null(survey.answers[i]);
        assert_true(at_member_eq(survey.answers[i]->from, survey.members[i]));
    }
    at_survey_free(&survey);
    sem_destroy(&done);
    assert_true(link_becomes(p, AT_LINK_STREAMING));
    struct at_service_lag lag = port.lag(port.ctx);
    assert_false(lag.alone);
}

static void a_member_that_stops_is_out_of_touch_soon(void **state)
{
    struct pair *p = *state;
    struct at_service_port port = at_glue_service_port(&p->glue[0]);

    start(p, 1);
    assert_true(link_becomes(p, AT_LINK_STREAMING));
    at_glue_stop(&p->glue[1]);
    assert_true(link_becomes(p, AT_LINK_CUT));
    struct at_service_lag lag = port.lag(port.ctx);
    assert_true(lag.alone);
}

static void a_store_without_peering_goes_on(void **state)
{
    struct pair *p = *state;

    at_glue_stop(&p->glue[0]);
    fx_make_table(&p->fx[0]); /* its commits wake nobody */
    assert_int_equal(fx_set(&p->fx[0], "r", "f", "q", 1000, "v"), AT_OK);
    fx_expect_rows(&p->fx[0], "t", "r: f:q@1000=v|");
}

static void a_port_that_is_taken_is_told(void **state)
{
    struct pair *p = *state;
    struct at_error error = {0};
    uint16_t port = p->clusters[1].peer_port;

    p->clusters[1].peer_port = p->clusters[0].peer_port;
    assert_int_not_equal(at_glue_start(&p->glue[1], &p->clusters[1], at_clock_system(), &error),
                         AT_OK);
    assert_true(error.msg[0] != '\0');
    assert_null(atomic_load(&p->glue[1].peering));
    p->clusters[1].peer_port = port;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_write_spreads_to_the_other_store, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_that_never_spoke_is_not_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_survey_hears_all_that_are_in_touch, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_that_stops_is_out_of_touch_soon, setup, teardown),
        cmocka_unit_test_setup_teardown(a_store_without_peering_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_port_that_is_taken_is_told, setup, teardown),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
