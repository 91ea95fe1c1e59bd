#include "cluster/service/lane.h"

#include "google/rpc/status.pb-c.h"
#include "support/service_fixture.h"

#include <semaphore.h>

/* Bursts of writes: each is answered once, with its own result, whatever becomes of its call. */

#define BURST 2000

static struct sfx *fixture;

static const char *request(struct sfx_call *c, int i)
{
    const char *family = i % 10 == 3 ? "zz" : "f"; /* each tenth is refused by the writer */

    return at_arena_printf(&c->arena, "1:$t 2:r%04d 3{1{1:%s 2:q}}", i, family);
}

static void a_burst_is_answered_one_by_one_and_written_together(void **state)
{
    static struct sfx_call calls[BURST];
    struct at_store_stats before;
    struct at_store_stats after;

    (void)state;
    sfx_clear(fixture);
    at_store_stats(fixture->fx.store, &before);
    for (int i = 0; i < BURST; i++) {
        sfx_call_init(&calls[i], fixture);
        (void)sfx_start(&calls[i], "MutateRow", wire_text(request(&calls[i], i), &calls[i].arena),
                        NULL);
    }
    for (int i = 0; i < BURST; i++) {
        sfx_finish(&calls[i]);
        assert_int_equal(calls[i].code, i % 10 == 3 ? AT_NOT_FOUND : AT_OK);
        if (i % 10 == 3)
            assert_non_null(
                strstr(calls[i].message, at_arena_printf(&calls[i].arena, "'r%04d'", i)));
        sfx_call_deinit(&calls[i]);
    }
    at_store_stats(fixture->fx.store, &after);
    /* The store may count the clearing just before it only now. */
    assert_in_range(after.operations - before.operations, BURST - BURST / 10,
                    BURST - BURST / 10 + 3);
    assert_true(after.rounds - before.rounds < BURST / 4);
}

static void writes_of_cancelled_calls_harm_nobody(void **state)
{
    struct sfx_call c;

    (void)state;
    sfx_clear(fixture);
    for (int i = 0; i < BURST; i++) {
        sfx_call_init(&c, fixture);
        struct at_grpc_client_call *call =
            sfx_start(&c, "MutateRow", wire_text(request(&c, i), &c.arena), NULL);
        if (i % 3 == 0) { /* let it get under way */
            struct sfx_call other;
            sfx_call_init(&other, fixture);
            sfx_run(&other, "PingAndWarm", "1:projects/p/instances/i");
            assert_int_equal(other.code, AT_OK);
            sfx_call_deinit(&other);
        }
        if (!c.done)
            at_grpc_client_cancel(call);
        sfx_call_deinit(&c);
    }
    sfx_call_init(&c, fixture);
    sfx_run(&c, "MutateRow", "1:$t 2:last 3{1{1:f 2:q}}");
    assert_int_equal(c.code, AT_OK);
    sfx_call_deinit(&c);
}

static void the_api_limit_of_mutations_is_over_all_entries(void **state)
{
    struct sfx_call c;
    struct at_buf text;

    (void)state;
    sfx_clear(fixture);
    for (int extra = 0; extra < 2; extra++) {
        sfx_call_init(&c, fixture);
        at_buf_init(&text, 16 * AT_MIB);
        assert_int_equal(at_buf_printf(&text, "1:$t "), AT_OK);
        for (int i = 0; i < AT_MUTATIONS_MAX / 2 + extra; i++)
            assert_int_equal(at_buf_printf(&text, "2{1:r%05d 2{4{}} 2{4{}}}", i), AT_OK);
        sfx_run(&c, "MutateRows", at_buf_cstr(&text));
        assert_int_equal(c.code, extra ? AT_INVALID_ARGUMENT : AT_OK);
        assert_true(extra || c.message_count > 1); /* fifty thousand entries in pieces */
        at_buf_deinit(&text);
        sfx_call_deinit(&c);
    }
}

/* --- a full queue --- */

struct stall {
    struct at_write_catalog write;
    sem_t entered;
    sem_t go_on;
    sem_t done;
};

static enum at_code
stall(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct stall *s = (struct stall *)write;

    (void)catalog;
    sem_post(&s->entered);
    while (sem_wait(&s->go_on) != 0)
        continue;
    return at_fail(reterr, AT_ABORTED, "stalled enough");
}

static void stall_done(struct at_write *write)
{
    sem_post(&((struct stall *)write)->done);
}

static void filler_done(struct at_write *write)
{
    (void)write;
}

/* Clients never try RESOURCE_EXHAUSTED again, and they must. */
static void a_full_queue_is_unavailable_and_says_when_to_try_again(void **state)
{
    struct stall s = {
        .write = {.base = {.kind = AT_WRITE_CATALOG, .done = stall_done}, .decide = stall}};
    struct at_write_rows *fillers = at_alloc(AT_WRITER_QUEUE_MAX * sizeof(*fillers));
    struct sfx_call c;
    uint32_t count = 0;

    (void)state;
    sem_init(&s.entered, 0, 0);
    sem_init(&s.go_on, 0, 0);
    sem_init(&s.done, 0, 0);
    assert_int_equal(at_store_submit(fixture->fx.store, &s.write.base), AT_OK);
    while (sem_wait(&s.entered) != 0)
        continue;
    for (enum at_code code = AT_OK; code == AT_OK && count < AT_WRITER_QUEUE_MAX; count++) {
        fillers[count].base = (struct at_write){.kind = AT_WRITE_ROWS, .done = filler_done};
        fillers[count].table = AT_LIT("t");
        code = at_store_submit(fixture->fx.store, &fillers[count].base);
    }
    sfx_call_init(&c, fixture);
    sfx_run(&c, "MutateRow", "1:$t 2:r 3{1{1:f 2:q}}");
    assert_int_equal(c.code, AT_UNAVAILABLE);
    Google__Rpc__Status *status = google__rpc__status__unpack(NULL, c.details.len, c.details.data);
    assert_non_null(status);
    assert_string_equal(status->details[0]->type_url, "type.googleapis.com/google.rpc.RetryInfo");
    google__rpc__status__free_unpacked(status, NULL);
    sfx_call_deinit(&c);
    sem_post(&s.go_on);
    while (sem_wait(&s.done) != 0)
        continue;
    sfx_clear(fixture); /* behind the fillers */
    sfx_call_init(&c, fixture);
    sfx_run(&c, "MutateRow", "1:$t 2:r 3{1{1:f 2:q}}");
    assert_int_equal(c.code, AT_OK);
    sfx_call_deinit(&c);
    at_free(fillers);
}

static int open_fixture(void **state)
{
    (void)state;
    fixture = AT_NEW(struct sfx);
    sfx_open(fixture);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    sfx_close(fixture);
    at_free(fixture);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_answered_one_by_one_and_written_together),
        cmocka_unit_test(writes_of_cancelled_calls_harm_nobody),
        cmocka_unit_test(the_api_limit_of_mutations_is_over_all_entries),
        cmocka_unit_test(a_full_queue_is_unavailable_and_says_when_to_try_again),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
