#include "support/copy_fixture.h"
#include "support/world_fixture.h"

/* Entries that change members: written by one, applied by all, there after a restart. */

static uint8_t state_of(struct fx *f, uint32_t member, struct at_position *ret_registered)
{
    struct at_replica_view view;
    uint8_t result = AT_ORIGIN_KNOWN;

    fx_view(f, &view);
    for (uint32_t i = 0; i < view.member_count; i++) {
        if (view.members[i].id.v != member)
            continue;
        result = view.members[i].state;
        *ret_registered = view.members[i].registered;
    }
    at_replica_view_deinit(&view);
    return result;
}

#define expect_state(f, member, wanted)                                    \
    do {                                                                   \
        struct at_position registered_ = {0};                              \
        assert_int_equal(state_of((f), (member), &registered_), (wanted)); \
    } while (0)

/* --- MEMBER and RELEASE, with a catalog change or alone --- */

struct act_catalog {
    struct at_write_catalog write;
    const struct at_operation *acts;
    uint32_t act_count;
    struct at_catalog_record record; /* kind 0: none */
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *c, struct at_error *reterr)
{
    struct act_catalog *x = (struct act_catalog *)write;

    (void)c, (void)reterr;
    write->acts = x->acts;
    write->act_count = x->act_count;
    if (x->record.kind != 0) {
        write->records = &x->record;
        write->record_count = 1;
    }
    return AT_OK;
}

static enum at_code act(struct fx *f, struct act_catalog *x)
{
    struct at_arena arena;

    at_arena_init(&arena, 1024);
    x->write = (struct at_write_catalog){
        .base = {.kind = AT_WRITE_CATALOG}, .decide = decide, .arena = &arena};
    enum at_code code = fx_run(f, &x->write.base);
    at_schema_unref(&x->write.ret_schema);
    at_arena_deinit(&arena);
    return code;
}

static void a_member_joins_with_the_record_that_makes_it(void **state)
{
    struct world *w = *state;
    const struct at_operation acts[] = {
        {.kind = AT_OPERATION_MEMBER, .members = {{9}}, .member_count = 1, .info = AT_LIT("info")},
        {.kind = AT_OPERATION_RELEASE, .hlc = 12345},
    };
    struct act_catalog x = {
        .acts = acts,
        .act_count = 2,
        .record = {.kind = AT_CATALOG_PROFILE, .name = AT_LIT("p"), .counter = 1}};
    struct at_position registered = {0};

    fx_pull(&w->b, &w->a, 1 << 20);
    expect_state(&w->b, 9, AT_ORIGIN_KNOWN);
    assert_int_equal(act(&w->a, &x), AT_OK);
    assert_int_equal(x.write.base.seq, 3); /* the record, then one entry each */
    assert_int_equal(state_of(&w->a, 9, &registered), AT_ORIGIN_ACTIVE);
    assert_int_equal(registered.origin.v, 1);
    assert_int_equal(registered.seq, 2);
    assert_int_equal(fx_pull(&w->b, &w->a, 1 << 20), 3);
    assert_int_equal(state_of(&w->b, 9, &registered), AT_ORIGIN_ACTIVE);
    assert_int_equal(registered.seq, 2);
    at_store_close(&w->a.store);
    at_store_close(&w->b.store);
    fx_reopen(&w->a);
    fx_reopen(&w->b);
    expect_state(&w->a, 9, AT_ORIGIN_ACTIVE);
    expect_state(&w->b, 9, AT_ORIGIN_ACTIVE);
    assert_int_equal(fx_pull(&w->c, &w->b, 1 << 20), 3); /* relayed */
    expect_state(&w->c, 9, AT_ORIGIN_ACTIVE);
}

static void acts_alone_are_entries_too(void **state)
{
    struct world *w = *state;
    const struct at_operation release = {.kind = AT_OPERATION_RELEASE, .hlc = 12345};
    struct act_catalog x = {.acts = &release, .act_count = 1};

    assert_int_equal(act(&w->a, &x), AT_OK);
    assert_int_equal(x.write.base.seq, 1);
    assert_int_equal(fx_pull(&w->b, &w->a, 1 << 20), 1);
    assert_int_equal(w->b.store->writer->replica->released, 12345);
}

static void who_may_not_write_registers_nobody(void **state)
{
    struct world *w = *state;
    const struct at_operation member = {
        .kind = AT_OPERATION_MEMBER, .members = {{9}}, .member_count = 1};
    struct act_catalog x = {.acts = &member, .act_count = 1};

    cfx_change(&w->a, cfx_set_mode, AT_MODE_NEEDS_COPY);
    assert_int_not_equal(act(&w->a, &x), AT_OK);
    expect_state(&w->a, 9, AT_ORIGIN_KNOWN);
}

/* --- LEAVE and REMOVE, asked for by peering --- */

struct waited_act {
    struct at_act_write write;
    sem_t done;
};

static void act_done(struct at_act_write *write)
{
    sem_post(&((struct waited_act *)write)->done);
}

static enum at_code ask(struct fx *f, enum at_member_act what, struct at_removal *ret_removal)
{
    struct waited_act x = {.write = {.act = what, .done = act_done}};

    sem_init(&x.done, 0, 0);
    assert_true(at_store_act(f->store, &x.write));
    while (sem_wait(&x.done) != 0)
        continue;
    sem_destroy(&x.done);
    if (ret_removal != NULL)
        *ret_removal = x.write.removal;
    return x.write.code;
}

static void begin_leave(struct at_replica *r, uint64_t arg)
{
    (void)arg;
    assert_int_equal(at_replica_leave_begin(r, NULL), AT_OK);
}

static void leaving_is_written_when_all_others_have_everything(void **state)
{
    struct world *w = *state;

    fx_make_table(&w->a);
    fx_pull(&w->b, &w->a, 1 << 20);
    assert_int_equal(ask(&w->a, AT_ACT_LEAVE, NULL), AT_FAILED_PRECONDITION);
    cfx_change(&w->a, begin_leave, 0);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "v"), AT_UNAVAILABLE);
    assert_int_equal(ask(&w->a, AT_ACT_LEAVE, NULL), AT_FAILED_PRECONDITION);
    fx_pull(&w->c, &w->a, 1 << 20);
    for (int i = 0; i < 2; i++) { /* durable there, and said so */
        struct fx *f = i == 0 ? &w->b : &w->c;
        at_store_close(&f->store);
        fx_reopen(f);
        fx_acknowledge(&w->a, f);
    }
    assert_int_equal(ask(&w->a, AT_ACT_LEAVE, NULL), AT_OK);
    assert_int_equal(ask(&w->a, AT_ACT_LEAVE, NULL), AT_FAILED_PRECONDITION);
    assert_int_equal(fx_pull(&w->b, &w->a, 1 << 20), 1);
    expect_state(&w->b, 1, AT_ORIGIN_LEFT);
    assert_int_equal(fx_pull(&w->c, &w->b, 1 << 20), 1);
    expect_state(&w->c, 1, AT_ORIGIN_LEFT);
    at_store_close(&w->b.store);
    fx_reopen(&w->b);
    expect_state(&w->b, 1, AT_ORIGIN_LEFT);
}

static void begin_fence(struct at_replica *r, uint64_t arg)
{
    struct at_member_id dead = {(uint32_t)arg};

    assert_int_equal(at_replica_fence_begin(r, &dead, 1, false, NULL), AT_OK);
}

static struct at_fence asked;
static struct at_fence_answer *answered;

static void make_fence(struct at_replica *r, uint64_t arg)
{
    struct at_member_id missing[AT_MEMBERS_MAX];
    uint32_t count = 0;

    (void)arg;
    assert_true(at_replica_fencing(r, &asked, missing, &count));
    assert_int_equal(count, 1);
}

static void answer_fence(struct at_replica *r, uint64_t arg)
{
    (void)arg;
    assert_int_equal(at_replica_on_fence(r, &asked, answered), AT_OK);
}

static void take_answer(struct at_replica *r, uint64_t arg)
{
    (void)arg;
    at_replica_on_fence_answer(r, answered);
}

static void a_removal_is_written_when_all_have_answered(void **state)
{
    struct world *w = *state;
    struct at_removal removal = {0};

    fx_make_table(&w->c); /* c dies; b has what it wrote */
    fx_pull(&w->b, &w->c, 1 << 20);
    assert_int_equal(ask(&w->a, AT_ACT_REMOVE, NULL), AT_FAILED_PRECONDITION);
    cfx_change(&w->a, begin_fence, 3);
    cfx_change(&w->a, make_fence, 0);
    assert_int_equal(ask(&w->a, AT_ACT_REMOVE, NULL), AT_FAILED_PRECONDITION);
    answered = at_alloc(sizeof(*answered));
    memset(answered, 0, sizeof(*answered));
    cfx_change(&w->b, answer_fence, 0);
    cfx_change(&w->a, take_answer, 0);
    assert_int_equal(ask(&w->a, AT_ACT_REMOVE, &removal), AT_OK);
    assert_int_equal(removal.member_count, 1);
    assert_int_equal(removal.members[0].v, 3);
    expect_state(&w->a, 3, AT_ORIGIN_REMOVED);
    fx_pull(&w->b, &w->a, 1 << 20);
    expect_state(&w->b, 3, AT_ORIGIN_REMOVED);
    fx_pull(&w->a, &w->b, 1 << 20); /* up to its final position it is taken */
    assert_true(cfx_same(&w->a, &w->b));
    at_store_close(&w->b.store);
    fx_reopen(&w->b);
    expect_state(&w->b, 3, AT_ORIGIN_REMOVED);
    at_vector_deinit(&answered->applied);
    at_positions_facts_deinit(&answered->facts);
    at_free(answered);
}

int main(void)
{
#define ACT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        ACT_TEST(a_member_joins_with_the_record_that_makes_it),
        ACT_TEST(acts_alone_are_entries_too),
        ACT_TEST(who_may_not_write_registers_nobody),
        ACT_TEST(leaving_is_written_when_all_others_have_everything),
        ACT_TEST(a_removal_is_written_when_all_have_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
