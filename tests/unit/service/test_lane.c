#include "cluster/service/lane.h"

#include "support/service_fixture.h"

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
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
