#include "cluster/departure.h"

#include "replication/peer/peering.h"
#include "support/store_fixture.h"
#include "support/test.h"

struct departure_case {
    const char *name;
    enum at_replica_mode mode;
    bool joined;
    uint32_t active_count;
    uint64_t counter;
    enum at_departure_step step;
};

static const struct departure_case CASES[] = {
    {"a member stays", AT_MODE_READY, true, 2, 1, AT_DEPARTURE_STAY},
    {"one without a record too", AT_MODE_READY, true, 2, 0, AT_DEPARTURE_STAY},
    {"one whose record is deleted leaves", AT_MODE_READY, true, 2, 2, AT_DEPARTURE_LEAVE},
    {"unless it is the last", AT_MODE_READY, true, 1, 2, AT_DEPARTURE_RESTORE},
    {"what is under way goes on by itself", AT_MODE_LEAVING, true, 2, 2, AT_DEPARTURE_STAY},
    {"one that needs a copy gets it first", AT_MODE_NEEDS_COPY, true, 2, 2, AT_DEPARTURE_STAY},
    {"one that is filled is no member yet", AT_MODE_COPYING, false, 2, 2, AT_DEPARTURE_STAY},
    {"nor is one that not all know", AT_MODE_READY, false, 2, 2, AT_DEPARTURE_STAY},
    {"one that has left ends", AT_MODE_REMOVED, true, 2, 2, AT_DEPARTURE_END},
    {"so does one that was removed", AT_MODE_REMOVED, true, 2, 1, AT_DEPARTURE_END},
};

static void a_cluster_ends_as_its_record_and_its_mode_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct departure_case *c = &CASES[i];
        struct at_replica_view view = {
            .mode = c->mode, .joined = c->joined, .member_count = c->active_count + 1};
        for (uint32_t m = 0; m < c->active_count; m++)
            view.members[m].active = true; /* and one more that is gone */
        if (at_departure_next(&view, c->counter) != c->step)
            fail_msg("%s", c->name);
    }
}

/* --- on a store --- */

struct world {
    struct fx fx;
    struct at_service service;
    struct at_loop *loop;
    unsigned asked;
    bool restored; /* waits for that, not for being asked to leave */
    uv_timer_t watch;
};

static uint64_t counter_of(struct world *w)
{
    struct at_schema *schema = at_store_schema(w->fx.store);
    uint64_t counter = at_catalog_named_counter(schema->catalog, AT_CATALOG_CLUSTER, AT_LIT("c1"));

    at_schema_unref(&schema);
    return counter;
}

/* The record as a call that was killed left it. */
static enum at_code
decide_deleted(struct at_write_catalog *write, const struct at_catalog *c, struct at_error *reterr)
{
    (void)c;
    (void)reterr;
    write->records = AT_ARENA_NEW(write->arena, struct at_catalog_record);
    write->records[0] = (struct at_catalog_record){.kind = AT_CATALOG_CLUSTER,
                                                   .name = AT_LIT("c1"),
                                                   .counter = 2,
                                                   .fields = AT_LIT("as it was")};
    write->record_count = 1;
    return AT_OK;
}

static void delete_record(struct world *w)
{
    struct at_arena arena;
    struct at_write_catalog write = {
        .base = {.kind = AT_WRITE_CATALOG}, .decide = decide_deleted, .arena = &arena};

    at_arena_init(&arena, 1024);
    assert_int_equal(fx_run(&w->fx, &write.base), AT_OK);
    at_schema_unref(&write.ret_schema);
    at_arena_deinit(&arena);
}

static void fake_leave(void *ctx, struct at_leave *leave)
{
    struct world *w = ctx;

    w->asked++;
    leave->code = at_fail(&leave->error, AT_FAILED_PRECONDITION, "not now");
    leave->done(leave);
}

static void on_watch(uv_timer_t *timer)
{
    struct world *w = timer->data;

    if (w->restored ? counter_of(w) == 3 : w->asked >= 2)
        at_loop_stop(w->loop);
}

static void on_end(void *ctx, bool left)
{
    (void)ctx;
    (void)left;
    fail_msg("it is a member still");
}

static void run(struct world *w, uint32_t member_count)
{
    fx_open(&w->fx, 1, member_count);
    w->service = (struct at_service){.store = w->fx.store,
                                     .clock = at_clock_system(),
                                     .cluster_id = "c1",
                                     .port = {.ctx = w, .leave = fake_leave}};
    delete_record(w);
    w->loop = at_loop_new(at_clock_system());
    struct at_departure *d = at_departure_start(
        &(struct at_departure_config){.service = &w->service, .patience_ms = 150, .on_end = on_end},
        w->loop);
    (void)uv_timer_init(at_loop_uv(w->loop), &w->watch);
    w->watch.data = w;
    (void)uv_timer_start(&w->watch, on_watch, 20, 20);
    at_loop_run(w->loop);
    uv_close((uv_handle_t *)&w->watch, NULL);
    at_departure_stop(d);
    at_loop_stop(w->loop);
    at_loop_run(w->loop);
    at_store_close(&w->fx.store);
    at_departure_free(&d);
    at_loop_free(&w->loop);
    fx_reopen(&w->fx);
}

static void one_that_was_to_leave_goes_on_until_it_can(void **state)
{
    struct world w = {0};

    (void)state;
    run(&w, 2);
    assert_true(w.asked >= 2);
    assert_int_equal(counter_of(&w), 2);
    fx_close(&w.fx);
}

static void the_last_one_has_its_record_back_as_it_was(void **state)
{
    struct world w = {.restored = true};

    (void)state;
    run(&w, 1);
    assert_int_equal(w.asked, 0);
    struct at_schema *schema = at_store_schema(w.fx.store);
    const struct at_named_record *record =
        at_catalog_named(schema->catalog, AT_CATALOG_CLUSTER, AT_LIT("c1"));
    assert_non_null(record);
    assert_true(at_slice_eq(record->fields, AT_LIT("as it was")));
    at_schema_unref(&schema);
    fx_close(&w.fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_ends_as_its_record_and_its_mode_say),
        cmocka_unit_test(one_that_was_to_leave_goes_on_until_it_can),
        cmocka_unit_test(the_last_one_has_its_record_back_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
