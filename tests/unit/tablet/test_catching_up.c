#include "support/test.h"

#include "support/store_fixture.h"

/* A cluster that lacks much, and has more local writes than it can do: what it lacks comes in no
 * slower than what it accepts. The clock goes on by a step with each look at it, as if each full
 * round took that long; what is counted is entries. */

#define STEP_NS (4 * AT_MS_NS)
#define ROUND 4096u /* rows of a write: as many as make a full round */
#define MISSED (10 * ROUND)
#define QUEUED 12u /* writes that wait at any time */
#define TURNS_MAX 64u

static _Atomic uint64_t mono_ns;

static uint64_t step_mono_ns(void *ctx)
{
    (void)ctx;
    return mono_ns += STEP_NS;
}

struct flood {
    struct at_write_rows write;
    struct at_row_mutations rows[ROUND];
    struct at_mutation mutation;
    char keys[ROUND][16];
    bool done;
};

static void flood_done(struct at_write *write)
{
    ((struct flood *)write)->done = true;
}

static void flood_submit(struct flood *w, struct fx *f, uint32_t number)
{
    w->mutation = fx_set_of("f", "q", 1000, "v");
    w->done = false;
    for (uint32_t i = 0; i < ROUND; i++) {
        snprintf(w->keys[i], sizeof(w->keys[i]), "r%u.%u", number, i);
        w->rows[i] = (struct at_row_mutations){
            .row = fx_s(w->keys[i]), .mutations = &w->mutation, .mutation_count = 1};
    }
    w->write = (struct at_write_rows){.base = {.kind = AT_WRITE_ROWS, .done = flood_done},
                                      .table = fx_s("t"),
                                      .full_name = FX_NAME,
                                      .rows = w->rows,
                                      .row_count = ROUND};
    assert_int_equal(at_store_submit(f->store, &w->write.base), AT_OK);
}

static uint64_t applied_of(struct fx *f, uint32_t origin)
{
    struct at_replica_view view;

    fx_view(f, &view);
    uint64_t seq = at_vector_get(&view.applied, (struct at_member_id){origin}, 1);
    at_replica_view_deinit(&view);
    return seq;
}

static void open_manual(struct fx *f, uint32_t member)
{
    fx_prepare(f, member, 2);
    f->config.manual = true;
    f->config.clock.mono_ns = step_mono_ns;
    fx_reopen(f);
}

static void under_a_flood_of_writes_what_is_missing_comes_in_no_slower(void **state)
{
    struct flood *floods = at_alloc(QUEUED * sizeof(*floods));
    struct fx_reply *reply = AT_NEW(struct fx_reply);
    struct at_vector nothing = {0};
    struct fx a;
    struct fx b;
    uint32_t number = 0;
    int back = 0;

    (void)state;
    open_manual(&a, 1);
    open_manual(&b, 2);
    fx_make_table(&a);
    fx_pull(&b, &a, AT_MIB);
    for (; number < MISSED / ROUND; number++) {
        flood_submit(&floods[0], &a, number);
        while (!floods[0].done)
            at_store_turn(a.store);
    }
    fx_reply_make(reply, &a, &nothing, 8 * AT_MIB);
    for (uint32_t i = 0; i < QUEUED; i++)
        flood_submit(&floods[i], &b, number++);
    sem_init(&reply->apply.done, 0, 0);
    assert_true(at_store_apply(b.store, &reply->apply.apply));

    for (uint32_t turn = 0; back == 0; turn++) {
        uint64_t own = applied_of(&b, 2);
        uint64_t foreign = applied_of(&b, 1);
        assert_true(turn < TURNS_MAX);
        at_store_turn(b.store);
        assert_int_equal(sem_getvalue(&reply->apply.done, &back), 0);
        own = applied_of(&b, 2) - own;
        foreign = applied_of(&b, 1) - foreign;
        assert_true(own >= ROUND); /* it is flooded, and goes on */
        assert_true(foreign >= own || back > 0);
        for (uint32_t i = 0; i < QUEUED; i++)
            if (floods[i].done)
                flood_submit(&floods[i], &b, number++);
    }
    assert_true(applied_of(&b, 1) >= MISSED);
    assert_false(reply->apply.apply.dropped);
    sem_destroy(&reply->apply.done);
    fx_reply_free(reply);
    at_store_close(&b.store); /* refuses what waits */
    at_store_close(&a.store);
    fx_close(&b);
    fx_close(&a);
    at_free(reply);
    at_free(floods);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(under_a_flood_of_writes_what_is_missing_comes_in_no_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
