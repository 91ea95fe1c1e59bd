#include "replication/origin.h"
#include "support/nng_leaks.h"
#include "unit/replication_peer/raw_peer.h"

/* Members that leave or are removed, across restarts and in each other's way. */

static struct at_replica_view view_of(struct fake_member *m)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    fake_port_view(m, &view);
    return view;
}

static uint8_t state_at(struct fake_member *m, uint32_t id)
{
    struct at_replica_view view = view_of(m);
    uint8_t state = AT_ORIGIN_KNOWN;
    for (uint32_t i = 0; i < view.member_count; i++)
        if (view.members[i].id.v == id)
            state = view.members[i].state;
    at_replica_view_deinit(&view);
    return state;
}

static bool fenced_at(struct fake_member *m, uint32_t id)
{
    struct at_replica_view view = view_of(m);
    bool fenced = false;
    for (uint32_t i = 0; i < view.member_count; i++)
        fenced = fenced || (view.members[i].id.v == id && view.members[i].fenced);
    at_replica_view_deinit(&view);
    return fenced;
}

static void await_state(struct fake_member *m, uint32_t id, uint8_t state)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (state_at(m, id) != state && now_ms() < end_ms)
        pause_ms(3);
    assert_int_equal(state_at(m, id), state);
}

static void await_fenced(struct fake_member *m, uint32_t id)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (!fenced_at(m, id) && now_ms() < end_ms)
        pause_ms(3);
    assert_true(fenced_at(m, id));
}

static void await_mode(struct fake_member *m, enum at_replica_mode mode)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    enum at_replica_mode is = AT_MODE_READY;

    do {
        struct at_replica_view view = view_of(m);
        is = view.mode;
        at_replica_view_deinit(&view);
        pause_ms(3);
    } while (is != mode && now_ms() < end_ms);
    assert_int_equal(is, mode);
}

static void on_left(struct at_leave *leave)
{
    at_mailbox_push(leave->ctx, &leave->mail, NULL);
}

static void on_removed(struct at_remove *remove)
{
    at_mailbox_push(remove->ctx, &remove->mail, NULL);
}

static void a_leaver_goes_on_by_itself_after_a_restart(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox done;
    struct at_leave leave = {.done = on_left, .ctx = &done};

    at_mailbox_init(&done, 1);
    fake_write_entries(&t->m[2], 5, 10, 100);
    await_convergence(t, 50);
    fake_stop(&t->m[1]);
    at_peering_leave(t->m[2].peering, &leave);
    await_mode(&t->m[2], AT_MODE_LEAVING);
    fake_stop(&t->m[2]);
    assert_non_null(at_mailbox_take(&done));
    assert_int_equal(leave.code, AT_CANCELLED);
    fake_start(&t->m[2], t->ports, true, WAIT_MS); /* with an old epoch to close, too */
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    await_mode(&t->m[2], AT_MODE_REMOVED);
    assert_int_equal(state_at(&t->m[0], 3), AT_ORIGIN_LEFT);
    assert_int_equal(state_at(&t->m[1], 3), AT_ORIGIN_LEFT);
    at_mailbox_deinit(&done);
    trio_free(t);
}

static void a_fence_without_its_coordinator_is_shown_and_can_be_completed(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox done;
    struct at_remove remove = {
        .members = {{3}}, .member_count = 1, .timeout_ms = 500, .done = on_removed, .ctx = &done};

    at_mailbox_init(&done, 2);
    fake_write_entries(&t->m[2], 5, 10, 100);
    await_convergence(t, 50);
    fake_stop(&t->m[2]);
    fake_stop(&t->m[1]);
    at_peering_remove(t->m[0].peering, &remove);
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(remove.code, AT_DEADLINE_EXCEEDED);
    await_fenced(&t->m[0], 3);
    fake_stop(&t->m[0]); /* the coordinator dies */
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    pause_ms(500);
    assert_true(fenced_at(&t->m[0], 3));
    assert_int_equal(state_at(&t->m[0], 3), AT_ORIGIN_ACTIVE);
    remove.timeout_ms = PATIENCE_MS;
    at_peering_remove(t->m[1].peering, &remove); /* anyone may complete it */
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(remove.code, AT_OK);
    assert_int_equal(remove.lost_count_min, 0);
    await_state(&t->m[0], 3, AT_ORIGIN_REMOVED);
    assert_false(fenced_at(&t->m[0], 3));
    fake_start(&t->m[2], t->ports, false, WAIT_MS); /* the dead comes back, and is told */
    await_mode(&t->m[2], AT_MODE_REMOVED);
    at_mailbox_deinit(&done);
    trio_free(t);
}

/* Says that member 3 has 80 entries, and gives none. */
static bool tells_of_80(struct raw_server *s, const struct at_message *m)
{
    struct at_reply reply = {
        .instance_id = FAKE_INSTANCE, .from = {3}, .incarnation = 1, .hlc = fake_wall_ns()};

    if (m->kind != AT_MESSAGE_PULL)
        return false;
    atomic_fetch_or((atomic_uint *)s->ctx, 1u << m->u.pull.from.v);
    reply.to_request = m->u.pull.request_id;
    at_vector_init(&reply.ends_known);
    (void)at_vector_raise(&reply.ends_known, (struct at_position){{3}, 1, 80});
    bool good = at_reply_encode(&reply, &s->out) == AT_OK;
    at_vector_deinit(&reply.ends_known);
    pause_ms(20);
    return good;
}

static bool lacks_30_of(struct fake_member *m, uint32_t peer)
{
    struct at_link_status links[AT_MEMBERS_MAX];
    uint32_t count = at_peering_links(m->peering, links, AT_MEMBERS_MAX);
    bool lacks = false;

    for (uint32_t i = 0; i < count; i++)
        lacks = lacks || (links[i].peer.v == peer && links[i].lag_entries == 30);
    return lacks;
}

static void two_coordinators_both_succeed_and_tell_what_is_lost(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox done;
    atomic_uint told = 0;
    struct raw_server ghost = {.answer = tells_of_80, .ctx = &told};
    struct at_remove removes[2];

    at_mailbox_init(&done, 2);
    fake_write_entries(&t->m[2], 5, 10, 100);
    await_convergence(t, 50);
    fake_stop(&t->m[2]);
    raw_serve(&ghost, t->ports[2]);
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while ((atomic_load(&told) != 6 || !lacks_30_of(&t->m[0], 3) || !lacks_30_of(&t->m[1], 3)) &&
           now_ms() < end_ms)
        pause_ms(5);
    for (int i = 0; i < 2; i++)
        removes[i] = (struct at_remove){.members = {{3}},
                                        .member_count = 1,
                                        .timeout_ms = PATIENCE_MS,
                                        .done = on_removed,
                                        .ctx = &done};
    for (int i = 0; i < 2; i++)
        at_peering_remove(t->m[i].peering, &removes[i]);
    for (int got = 0; got < 2;)
        for (struct at_mail *m = at_mailbox_wait(&done, PATIENCE_MS); m != NULL; m = m->next)
            got++;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(removes[i].code, AT_OK);
        assert_int_equal(removes[i].lost_count_min, 30);
        assert_int_equal(state_at(&t->m[i], 3), AT_ORIGIN_REMOVED);
    }
    fake_write_entries(&t->m[0], 5, 10, 100);
    await_convergence(t, 50);
    raw_end(&ghost);
    at_mailbox_deinit(&done);
    trio_free(t);
}

static void a_leaver_that_is_removed_by_force_ends(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox left;
    struct at_mailbox removed;
    struct at_leave leave = {.done = on_left, .ctx = &left};
    struct at_remove remove = {.members = {{3}},
                               .member_count = 1,
                               .timeout_ms = PATIENCE_MS,
                               .done = on_removed,
                               .ctx = &removed};

    at_mailbox_init(&left, 1);
    at_mailbox_init(&removed, 1);
    fake_write_entries(&t->m[2], 5, 10, 100);
    await_convergence(t, 50);
    at_peering_cut(t->m[1].peering, (struct at_member_id){3}, true, false); /* can't leave so */
    fake_write_entries(&t->m[2], 1, 10, 100);
    pause_ms(100);
    at_peering_leave(t->m[2].peering, &leave);
    await_mode(&t->m[2], AT_MODE_LEAVING);
    at_peering_remove(t->m[0].peering, &remove);
    assert_non_null(at_mailbox_wait(&removed, PATIENCE_MS));
    assert_int_equal(remove.code, AT_OK);
    assert_non_null(at_mailbox_wait(&left, PATIENCE_MS));
    assert_int_equal(leave.code, AT_OK);
    await_mode(&t->m[2], AT_MODE_REMOVED);
    at_mailbox_deinit(&left);
    at_mailbox_deinit(&removed);
    trio_free(t);
}

static void a_minority_goes_on_only_by_an_operators_word_and_as_another_instance(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox done;
    struct at_remove remove = {.members = {{2}, {3}},
                               .member_count = 2,
                               .timeout_ms = 1000,
                               .done = on_removed,
                               .ctx = &done};

    at_mailbox_init(&done, 1);
    fake_write_entries(&t->m[0], 5, 10, 100);
    await_convergence(t, 50);
    fake_stop(&t->m[1]);
    fake_stop(&t->m[2]);
    at_peering_remove(t->m[0].peering, &remove);
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(remove.code, AT_DEADLINE_EXCEEDED);
    assert_int_equal(state_at(&t->m[0], 2), AT_ORIGIN_ACTIVE);
    remove.minority_survives = true;
    remove.timeout_ms = PATIENCE_MS;
    at_peering_remove(t->m[0].peering, &remove);
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(remove.code, AT_OK);
    struct at_replica_view view = view_of(&t->m[0]);
    assert_int_not_equal(view.instance_id, FAKE_INSTANCE);
    at_replica_view_deinit(&view);
    /* The majority goes on without it, and neither obeys the other. */
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    remove = (struct at_remove){.members = {{1}},
                                .member_count = 1,
                                .timeout_ms = PATIENCE_MS,
                                .done = on_removed,
                                .ctx = &done};
    at_peering_remove(t->m[1].peering, &remove);
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(remove.code, AT_OK);
    fake_write_entries(&t->m[0], 5, 10, 100);
    pause_ms(1000);
    await_mode(&t->m[0], AT_MODE_READY);
    at_mailbox_deinit(&done);
    trio_free(t);
}

static void what_is_no_member_any_more_is_refused_at_once(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox done;
    struct at_remove remove = {.members = {{1}},
                               .member_count = 1,
                               .timeout_ms = PATIENCE_MS,
                               .done = on_removed,
                               .ctx = &done};

    at_mailbox_init(&done, 1);
    at_peering_remove(t->m[0].peering, &remove); /* itself */
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(remove.code, AT_FAILED_PRECONDITION);
    at_mailbox_deinit(&done);
    trio_free(t);
}

/* What member 3 is told when it pulls from `m`. */
static void assert_refused(struct fake_member *m, const char *why)
{
    struct at_pull pull = {
        .request_id = 1, .instance_id = FAKE_INSTANCE, .from = {3}, .incarnation = 1};
    struct at_message answer;
    struct raw_asker asker;

    at_vector_init(&pull.applied);
    at_vector_init(&pull.durable);
    at_positions_facts_init(&pull.facts);
    raw_open(&asker, m->port);
    assert_int_equal(at_pull_encode(&pull, &asker.body), AT_OK);
    assert_int_equal(raw_ask(&asker, &answer), AT_MESSAGE_REFUSED);
    assert_true(at_slice_eq_cstr(answer.u.refused, why));
    at_message_deinit(&answer);
    raw_close(&asker);
}

/* One of three has fenced it, and may be the one that is wrong. */
static void one_that_is_only_fenced_is_not_told_that_it_is_removed(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox done;
    struct at_remove remove = {
        .members = {{3}}, .member_count = 1, .timeout_ms = 300, .done = on_removed, .ctx = &done};

    at_mailbox_init(&done, 1);
    fake_write_entries(&t->m[0], 5, 10, 100);
    await_convergence(t, 50);
    fake_stop(&t->m[1]);
    at_peering_remove(t->m[0].peering, &remove);
    assert_non_null(at_mailbox_wait(&done, PATIENCE_MS));
    assert_int_equal(remove.code, AT_DEADLINE_EXCEEDED);
    await_fenced(&t->m[0], 3);
    assert_refused(&t->m[0], "your removal from this instance has begun");
    pause_ms(2 * WAIT_MS); /* it has asked by itself since */
    await_mode(&t->m[2], AT_MODE_READY);
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    await_state(&t->m[1], 3, AT_ORIGIN_REMOVED);
    assert_refused(&t->m[1], "you are removed from this instance");
    await_mode(&t->m[2], AT_MODE_REMOVED);
    at_mailbox_deinit(&done);
    trio_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaver_goes_on_by_itself_after_a_restart),
        cmocka_unit_test(a_fence_without_its_coordinator_is_shown_and_can_be_completed),
        cmocka_unit_test(two_coordinators_both_succeed_and_tell_what_is_lost),
        cmocka_unit_test(a_leaver_that_is_removed_by_force_ends),
        cmocka_unit_test(a_minority_goes_on_only_by_an_operators_word_and_as_another_instance),
        cmocka_unit_test(what_is_no_member_any_more_is_refused_at_once),
        cmocka_unit_test(one_that_is_only_fenced_is_not_told_that_it_is_removed),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
