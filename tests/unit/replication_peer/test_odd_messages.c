#include "replication/origin.h"
#include "support/nng_leaks.h"
#include "unit/replication_peer/raw_peer.h"

/* Messages that are well formed and say what can't be, at members that run: nothing breaks, no
 * clock is carried off, and nobody becomes a member or is one no more. */

static struct at_replica_view view_of(struct fake_member *m)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    fake_port_view(m, &view);
    return view;
}

static void assert_as_before(struct fake_member *m)
{
    struct at_replica_view view = view_of(m);

    assert_int_equal(view.mode, AT_MODE_READY);
    assert_true(view.may_write);
    assert_int_equal(view.member_count, FAKE_MEMBERS);
    for (uint32_t i = 0; i < view.member_count; i++) {
        assert_true(view.members[i].active);
        assert_false(view.members[i].fenced);
    }
    assert_true(view.hlc < fake_wall_ns() + 15 * AT_S_NS);
    at_replica_view_deinit(&view);
}

static int ask_join(struct raw_asker *a, struct at_join *join, uint8_t *ret_verdict)
{
    struct at_message m;

    at_buf_clear(&a->body);
    assert_int_equal(at_join_encode(join, &a->body), AT_OK);
    int kind = raw_ask(a, &m);
    *ret_verdict = kind == AT_MESSAGE_JOIN_ANSWER ? m.u.join_answer.verdict : UINT8_MAX;
    at_message_deinit(&m);
    return kind;
}

static void a_join_of_one_that_is_no_member_changes_nothing(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct raw_asker a;
    struct at_member_progress all[AT_MEMBERS_MAX];
    uint8_t verdict = 0;

    raw_open(&a, t->ports[0]);
    for (uint32_t id = 4; id < 100; id++) {
        struct at_join join = {.instance_id = FAKE_INSTANCE,
                               .from = {id},
                               .mode = AT_MODE_READY,
                               .caught_up = true,
                               .copied_bytes = UINT64_MAX,
                               .registered = {{1}, 1, UINT64_MAX}};
        assert_int_equal(ask_join(&a, &join, &verdict), AT_MESSAGE_JOIN_ANSWER);
        assert_int_equal(verdict, AT_JOIN_UNKNOWN);
    }
    uint32_t count = at_peering_progress(t->m[0].peering, all, AT_MEMBERS_MAX);
    for (uint32_t i = 0; i < count; i++)
        assert_in_range(all[i].member.v, 1, 3);
    for (int i = 0; i < FAKE_MEMBERS; i++)
        assert_as_before(&t->m[i]);
    fake_write_entries(&t->m[2], 5, 10, 100);
    await_convergence(t, 50);
    raw_close(&a);
    trio_free(t);
}

static void progress_that_can_not_be_is_shown_as_what_is_known(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct raw_asker a;
    struct at_member_progress all[AT_MEMBERS_MAX];
    uint8_t verdict = 0;

    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    raw_open(&a, t->ports[0]);
    for (uint64_t i = 0; i < 3; i++) {
        struct at_join join = {.instance_id = FAKE_INSTANCE,
                               .from = {3},
                               .mode = 15,
                               .copied_bytes = UINT64_MAX - 2 + i,
                               .copy_bytes = 1};
        assert_int_equal(ask_join(&a, &join, &verdict), AT_MESSAGE_JOIN_ANSWER);
        assert_int_equal(verdict, AT_JOIN_KNOWN);
    }
    assert_int_equal(at_peering_progress(t->m[0].peering, all, AT_MEMBERS_MAX), 1);
    assert_int_equal(all[0].member.v, 3);
    assert_int_equal(all[0].mode, AT_MODE_INIT);
    assert_true(all[0].copied_bytes == UINT64_MAX && all[0].bytes_per_s > 0);
    raw_close(&a);
    trio_free(t);
}

/* Somebody says that member 3 is where member 2 is. */
static void an_address_that_is_told_wrong_heals(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct raw_asker a;
    struct at_buf info;
    uint8_t verdict = 0;

    fake_write_entries(&t->m[2], 5, 10, 100);
    await_convergence(t, 50);
    raw_open(&a, t->ports[0]);
    fake_info(&info, t->ports[1]);
    struct at_join join = {.instance_id = FAKE_INSTANCE,
                           .from = {3},
                           .mode = AT_MODE_READY,
                           .caught_up = true,
                           .info = at_buf_slice(&info)};
    assert_int_equal(ask_join(&a, &join, &verdict), AT_MESSAGE_JOIN_ANSWER);
    at_peering_cut(t->m[0].peering, (struct at_member_id){2}, true, true); /* no relaying */
    fake_write_entries(&t->m[2], 5, 10, 100);
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    uint64_t has = 0;
    while (has < 100 && now_ms() < end_ms) {
        struct at_replica_view view = view_of(&t->m[0]);
        has = at_vector_get(&view.applied, (struct at_member_id){3}, 1);
        at_replica_view_deinit(&view);
        pause_ms(5);
    }
    assert_int_equal(has, 100);
    at_buf_deinit(&info);
    raw_close(&a);
    trio_free(t);
}

static void odd_fences_copies_and_closes_are_refused(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct raw_asker a;
    struct at_fence fences[] = {
        {.instance_id = FAKE_INSTANCE, .from = {9}, .members = {{2}}, .member_count = 1},
        {.instance_id = FAKE_INSTANCE + 1, .from = {2}, .members = {{3}}, .member_count = 1},
        {.instance_id = FAKE_INSTANCE, .from = {2}, .members = {{1}}, .member_count = 1},
        {.instance_id = FAKE_INSTANCE, .from = {2}, .members = {{2}}, .member_count = 1},
        {.instance_id = FAKE_INSTANCE, .from = {1}, .members = {{3}}, .member_count = 1},
    };
    struct at_close closes[] = {
        {.instance_id = FAKE_INSTANCE, .origin = {1}, .incarnation = UINT32_MAX},
        {.instance_id = FAKE_INSTANCE, .origin = {9}, .incarnation = 2},
        {.instance_id = FAKE_INSTANCE + 1, .origin = {2}, .incarnation = 2},
    };
    struct at_copy_open open = {.instance_id = FAKE_INSTANCE, .from = {3}, .incarnation = 1};

    raw_open(&a, t->ports[0]);
    for (size_t i = 0; i < sizeof(fences) / sizeof(fences[0]); i++) {
        at_buf_clear(&a.body);
        assert_int_equal(at_fence_encode(&fences[i], &a.body), AT_OK);
        assert_int_equal(raw_ask(&a, NULL), AT_MESSAGE_REFUSED);
        assert_as_before(&t->m[0]);
    }
    for (size_t i = 0; i < sizeof(closes) / sizeof(closes[0]); i++) {
        at_buf_clear(&a.body);
        assert_int_equal(at_close_encode(&closes[i], &a.body), AT_OK);
        assert_int_equal(raw_ask(&a, NULL), AT_MESSAGE_REFUSED);
    }
    for (uint32_t k = 1; k <= 3; k++) /* gaps that nobody can fill, far ahead */
        (void)at_vector_raise(&open.needs, (struct at_position){{k}, k, UINT64_MAX});
    at_buf_clear(&a.body);
    assert_int_equal(at_copy_open_encode(&open, &a.body), AT_OK);
    assert_int_equal(raw_ask(&a, NULL), AT_MESSAGE_REFUSED);
    at_vector_deinit(&open.needs);
    assert_int_equal(atomic_load(&t->m[0].sources_open), 0);
    assert_as_before(&t->m[0]);
    fake_write_entries(&t->m[1], 5, 10, 100);
    await_convergence(t, 50);
    raw_close(&a);
    trio_free(t);
}

struct odd {
    atomic_uint kind;
    atomic_uint pulls;
    struct at_position told_registered;
    atomic_bool joined;
};

/* Stands in for member 3. */
static bool odd_reply(struct raw_server *s, const struct at_message *m)
{
    static const uint64_t clocks[] = {0, INT64_MAX, INT64_MAX - 1};
    struct odd *odd = s->ctx;
    struct at_promise promise = {.origin = {3}, .epoch = 1, .hlc = INT64_MAX, .closed_from = 1};
    struct at_reply reply = {.instance_id = FAKE_INSTANCE, .from = {3}, .incarnation = 1};
    bool good = false;

    if (m->kind == AT_MESSAGE_JOIN) {
        odd->told_registered = m->u.join.registered;
        atomic_store(&odd->joined, true);
        struct at_join_answer answer = {.instance_id = FAKE_INSTANCE,
                                        .from = {3},
                                        .to = m->u.join.from,
                                        .verdict = AT_JOIN_KNOWN,
                                        .hlc = INT64_MAX};
        for (uint32_t i = 0; i < AT_MEMBERS_MAX; i++)
            answer.members[answer.member_count++].id.v = UINT32_MAX - i;
        return at_join_answer_encode(&answer, &s->out) == AT_OK;
    }
    if (m->kind != AT_MESSAGE_PULL)
        return false;
    uint32_t n = atomic_fetch_add(&odd->pulls, 1);
    reply.to_request = m->u.pull.request_id;
    reply.hlc = clocks[n % 3];
    reply.facts.promises = &promise;
    reply.facts.promise_count = 1;
    at_vector_init(&reply.ends_known);
    (void)at_vector_raise(&reply.ends_known, (struct at_position){{3}, 1, UINT64_MAX});
    good = at_reply_encode(&reply, &s->out) == AT_OK;
    at_vector_deinit(&reply.ends_known);
    pause_ms(10);
    return good;
}

static bool is_told_of_all(struct fake_member *m)
{
    struct at_link_status links[AT_MEMBERS_MAX];
    uint32_t count = at_peering_links(m->peering, links, AT_MEMBERS_MAX);
    bool told = false;

    for (uint32_t i = 0; i < count; i++)
        told = told || (links[i].peer.v == 3 && links[i].lag_entries == UINT64_MAX);
    return told;
}

static void clocks_and_positions_of_the_far_future_are_only_shown(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct odd odd = {0};
    struct raw_server server = {.answer = odd_reply, .ctx = &odd};
    struct at_link_status links[AT_MEMBERS_MAX];
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    raw_serve(&server, t->ports[2]);
    t->m[0].registered = (struct at_position){{2}, 1, 17};
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    while (
        (atomic_load(&odd.pulls) < 12 || !atomic_load(&odd.joined) || !is_told_of_all(&t->m[0])) &&
        now_ms() < end_ms)
        pause_ms(10);
    fake_write_entries(&t->m[1], 5, 10, 100);
    await_convergence(t, 50);
    uint32_t count = at_peering_links(t->m[0].peering, links, AT_MEMBERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(links[i].skew_ms >= -INT64_C(1000000000000));
        assert_true(links[i].skew_ms <= INT64_C(1000000000000));
        if (links[i].peer.v == 3)
            assert_true(links[i].lag_entries == UINT64_MAX);
    }
    for (int i = 0; i < 2; i++) {
        struct at_replica_view view = view_of(&t->m[i]);
        assert_int_equal(view.mode, AT_MODE_READY);
        assert_true(view.hlc < fake_wall_ns() + 15 * AT_S_NS);
        assert_true(view.horizon < fake_wall_ns() + 15 * AT_S_NS);
        at_replica_view_deinit(&view);
    }
    fake_stop(&t->m[0]);
    fake_stop(&t->m[1]);
    raw_end(&server);
    trio_free(t);
}

/* Who was registered where is what its being a member hangs on. */
static void a_newcomer_tells_where_it_was_registered(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct odd odd = {0};
    struct raw_server server = {.answer = odd_reply, .ctx = &odd};
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    raw_serve(&server, t->ports[2]);
    t->m[0].newcomer = true;
    t->m[0].registered = (struct at_position){{2}, 1, 17};
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    while (!atomic_load(&odd.joined) && now_ms() < end_ms)
        pause_ms(5);
    fake_stop(&t->m[0]);
    raw_end(&server);
    assert_int_equal(odd.told_registered.origin.v, 2);
    assert_int_equal(odd.told_registered.seq, 17);
    trio_free(t);
}

/* Its request ids begin with its wall clock. */
static void acknowledgements_count_after_a_clock_was_set_back(void **state)
{
    (void)state;
    enum { SET_BACK_MS = 9000 };
    struct trio *t = trio_new();

    atomic_store(&t->m[1].clock_ahead_ns, SET_BACK_MS * AT_MS_NS);
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    fake_write_entries(&t->m[0], 5, 10, 100);
    await_convergence(t, 50);
    fake_stop(&t->m[1]);
    atomic_store(&t->m[1].clock_ahead_ns, 0);
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    fake_write_entries(&t->m[0], 5, 10, 100);
    uint64_t end_ms = now_ms() + SET_BACK_MS * 4 / 5; /* not when it is again what it was */
    uint64_t acked = 0;
    while (acked < 100 && now_ms() < end_ms) {
        struct at_replica_view view = view_of(&t->m[0]);
        acked = view.members[1].acked_seq;
        at_replica_view_deinit(&view);
        pause_ms(5);
    }
    assert_int_equal(acked, 100);
    trio_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_of_one_that_is_no_member_changes_nothing),
        cmocka_unit_test(progress_that_can_not_be_is_shown_as_what_is_known),
        cmocka_unit_test(an_address_that_is_told_wrong_heals),
        cmocka_unit_test(odd_fences_copies_and_closes_are_refused),
        cmocka_unit_test(clocks_and_positions_of_the_far_future_are_only_shown),
        cmocka_unit_test(a_newcomer_tells_where_it_was_registered),
        cmocka_unit_test(acknowledgements_count_after_a_clock_was_set_back),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
