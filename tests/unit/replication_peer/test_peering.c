#include "support/nng_leaks.h"
#include "unit/replication_peer/fake_trio.h"

static void what_is_written_anywhere_gets_everywhere(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    for (int round = 0; round < 20; round++)
        for (int i = 0; i < FAKE_MEMBERS; i++)
            fake_write_entries(&t->m[i], 5, 20, 100);
    await_convergence(t, 20 * 3 * 100);
    assert_int_equal(t->m[0].disk.entry_count[3], 2000);
    trio_free(t);
}

static void news_do_not_wait_for_the_heartbeat(void **state)
{
    (void)state;
    struct trio *t = trio_new();

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++)
        fake_start(&t->m[i], t->ports, false, 3 * PATIENCE_MS);
    fake_write_entries(&t->m[0], 1, 1, 100);
    await_convergence(t, 1);
    for (int i = 0; i < 10; i++) {
        fake_write_entries(&t->m[i % 3], 1, 1, 100);
        await_convergence(t, (uint64_t)i + 2);
    }
    trio_free(t);
}

static void a_member_that_was_away_catches_up(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    fake_write_entries(&t->m[2], 10, 10, 50);
    await_convergence(t, 100);
    fake_stop(&t->m[2]);
    fake_write_entries(&t->m[0], 300, 20, 100);
    fake_write_entries(&t->m[1], 300, 20, 100);
    await_convergence(t, 12000);
    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    await_convergence(t, 12100);
    fake_write_entries(&t->m[2], 10, 10, 50);
    await_convergence(t, 12200);
    assert_int_equal(t->m[0].disk.entry_count[3], 200);
    trio_free(t);
}

static void a_third_member_relays_where_the_direct_link_is_cut(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct held_port nowhere;
    held_port_take(&nowhere);
    uint16_t ports_of_a[FAKE_MEMBERS] = {0, t->ports[1], nowhere.port};
    uint16_t ports_of_c[FAKE_MEMBERS] = {nowhere.port, t->ports[1], 0};

    fake_start(&t->m[0], ports_of_a, false, WAIT_MS);
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    fake_start(&t->m[2], ports_of_c, false, WAIT_MS);
    fake_write_entries(&t->m[0], 50, 10, 100);
    fake_write_entries(&t->m[2], 50, 10, 100);
    await_convergence(t, 1000);
    assert_int_equal(t->m[0].relayed_count, 500);
    assert_int_equal(t->m[2].relayed_count, 500);
    assert_int_equal(t->m[1].relayed_count, 0);
    trio_free(t);
    held_port_let_go(&nowhere);
}

/* Writes 1000 entries; whether each went straight to each. */
static bool cross_once(struct trio *t, uint64_t already)
{
    pause_ms(2 * WAIT_MS); /* all links have proved to be alive, all pulls say so */
    uint32_t before = t->m[1].relayed_count + t->m[2].relayed_count;
    atomic_store(&t->m[1].log_bytes_read, 0);
    atomic_store(&t->m[2].log_bytes_read, 0);
    for (int i = 0; i < 100; i++) {
        fake_write_entries(&t->m[0], 1, 10, 100);
        pause_ms(1);
    }
    await_convergence(t, already + 1000);
    /* Nor do they go back to where they came from. */
    return t->m[1].relayed_count + t->m[2].relayed_count == before &&
           atomic_load(&t->m[1].log_bytes_read) == 0 && atomic_load(&t->m[2].log_bytes_read) == 0;
}

/* A machine that is busy holds up a link now and then, and then the instance is not healthy. */
static void entries_cross_a_healthy_instance_once(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    bool once = false;

    fake_write_entries(&t->m[0], 1, 1, 10);
    await_convergence(t, 1);
    for (uint64_t i = 0; i < 10 && !once; i++)
        once = cross_once(t, 1 + i * 1000);
    assert_true(once);
    trio_free(t);
}

static void large_entries_and_cut_replies_pass(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    fake_write_entries(&t->m[0], 2, 1, 9 << 20); /* each beyond the size of a reply */
    fake_write_entries(&t->m[0], 60, 1, 100000); /* more than one reply together */
    fake_write_entries(&t->m[1], 1, 1, 100000);
    fake_write_entries(&t->m[2], 1000, 1, 100);
    await_convergence(t, 1063);
    trio_free(t);
}

/* --- surveys --- */

struct survey_wait {
    struct at_survey survey;
    struct at_mailbox done;
};

static void on_survey_done(struct at_survey *survey)
{
    struct survey_wait *w = survey->ctx;
    at_mailbox_push(&w->done, &survey->mail, NULL);
}

static void survey_begin(struct survey_wait *w, struct fake_member *m, uint32_t timeout_ms)
{
    *w = (struct survey_wait){
        .survey = {.timeout_ms = timeout_ms, .done = on_survey_done, .ctx = w}};
    at_mailbox_init(&w->done, 1);
    at_peering_survey(m->peering, &w->survey);
}

static void survey_end(struct survey_wait *w)
{
    assert_non_null(at_mailbox_wait(&w->done, PATIENCE_MS));
    assert_int_equal(w->survey.count, FAKE_MEMBERS);
}

static void survey_free(struct survey_wait *w)
{
    at_survey_free(&w->survey);
    at_mailbox_deinit(&w->done);
}

static void a_survey_tells_the_synced_positions_of_all(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct survey_wait w[8];

    fake_write_entries(&t->m[0], 10, 10, 100);
    await_convergence(t, 100);
    for (int i = 0; i < 8; i++) /* they share rounds */
        survey_begin(&w[i], &t->m[i % 2], PATIENCE_MS / 2);
    for (int i = 0; i < 8; i++) {
        survey_end(&w[i]);
        for (uint32_t k = 0; k < FAKE_MEMBERS; k++) {
            const struct at_vector_answer *answer = w[i].survey.answers[k];
            assert_non_null(answer);
            assert_int_equal(answer->from.v, w[i].survey.members[k].v);
            assert_true(answer->ready);
            assert_int_equal(answer->member_count, FAKE_MEMBERS);
            assert_int_equal(at_vector_get(&answer->durable, t->m[0].id, 1), 100);
        }
    }
    for (int i = 0; i < 8; i++)
        survey_free(&w[i]);
    trio_free(t);
}

/* All but one answer; on a machine that is busy it takes them longer, so they are given it. */
static void assert_only_one_is_not_reached(struct fake_member *m, uint32_t silent)
{
    uint32_t reached = 0;

    for (uint32_t timeout_ms = 300; reached < FAKE_MEMBERS - 1; timeout_ms *= 2) {
        struct survey_wait w;
        assert_true(timeout_ms < PATIENCE_MS);
        survey_begin(&w, m, timeout_ms);
        survey_end(&w);
        reached = 0;
        for (uint32_t k = 0; k < FAKE_MEMBERS; k++) {
            reached += w.survey.answers[k] != NULL;
            if (w.survey.members[k].v == silent)
                assert_null(w.survey.answers[k]);
        }
        survey_free(&w);
    }
}

static void a_survey_names_who_was_not_reached(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    fake_stop(&t->m[1]);
    assert_only_one_is_not_reached(&t->m[0], 2);
    trio_free(t);
}

static struct at_link_status link_to(struct fake_member *m, uint32_t peer);
static void await_link(struct fake_member *m, uint32_t peer, enum at_link_state state);

static void cut(struct trio *t, uint32_t at, uint32_t other, bool asking, bool answering)
{
    at_peering_cut(t->m[at].peering, t->m[other].id, asking, answering);
}

static uint64_t applied_of(struct fake_member *m, uint32_t origin)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    fake_port_view(m, &view);
    uint64_t seq = at_vector_get(&view.applied, (struct at_member_id){origin}, 1);
    at_replica_view_deinit(&view);
    return seq;
}

static void await_applied(struct fake_member *m, uint32_t origin, uint64_t seq)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    while (applied_of(m, origin) < seq && now_ms() < end_ms)
        pause_ms(2);
    assert_int_equal(applied_of(m, origin), seq);
}

static void a_link_that_is_cut_passes_nothing_until_it_is_healed(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    cut(t, 0, 1, true, true);
    cut(t, 1, 0, true, true);
    assert_int_equal(link_to(&t->m[0], 2).state, AT_LINK_CUT);
    assert_false(link_to(&t->m[0], 2).lag_known);
    assert_only_one_is_not_reached(&t->m[0], 2);
    fake_write_entries(&t->m[0], 50, 10, 100); /* by the third member */
    fake_write_entries(&t->m[1], 50, 10, 100);
    await_convergence(t, 1000);
    await_link(&t->m[0], 3, AT_LINK_STREAMING);
    cut(t, 0, 2, true, true);
    fake_write_entries(&t->m[1], 1, 1, 100);
    await_applied(&t->m[2], 2, 501);
    pause_ms(WAIT_MS);
    assert_int_equal(applied_of(&t->m[0], 2), 500);
    for (uint32_t i = 0; i < 2; i++) {
        cut(t, 0, i + 1, false, false);
        cut(t, 1, 0, false, false);
    }
    await_convergence(t, 1001);
    trio_free(t);
}

static void a_link_that_is_cut_one_way_passes_the_other_way(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    fake_stop(&t->m[2]);
    cut(t, 0, 1, true, false);
    fake_write_entries(&t->m[0], 10, 10, 100);
    fake_write_entries(&t->m[1], 10, 10, 100);
    await_applied(&t->m[1], 1, 100);
    assert_int_equal(applied_of(&t->m[0], 2), 0);
    assert_int_equal(link_to(&t->m[0], 2).state, AT_LINK_CUT);
    await_link(&t->m[1], 1, AT_LINK_STREAMING);
    cut(t, 0, 1, false, false);
    await_convergence(t, 200);
    trio_free(t);
}

static void a_survey_that_is_open_ends_with_the_peering(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct survey_wait w[3];

    fake_stop(&t->m[1]);
    for (int i = 0; i < 3; i++) {
        survey_begin(&w[i], &t->m[0], 60000);
        pause_ms(20); /* one after the other, so that not all share one round */
    }
    fake_stop(&t->m[0]);
    for (int i = 0; i < 3; i++) {
        survey_end(&w[i]); /* long before its time is up */
        survey_free(&w[i]);
    }
    trio_free(t);
}

/* --- spread --- */

#define NEVER_MS 600000 /* what takes so long is not waited for */

struct spread {
    struct at_spread_wait wait;
    struct at_mailbox done;
};

static void on_spread(struct at_spread_wait *wait)
{
    struct spread *s = wait->ctx;
    at_mailbox_push(&s->done, &wait->mail, NULL);
}

static bool spread_all(struct fake_member *m, uint64_t seq, uint32_t timeout_ms)
{
    struct spread s = {
        .wait = {.seq = seq, .timeout_ms = timeout_ms, .done = on_spread, .ctx = &s}};

    at_mailbox_init(&s.done, 1);
    at_peering_wait_spread(m->peering, &s.wait);
    assert_non_null(at_mailbox_wait(&s.done, PATIENCE_MS));
    at_mailbox_deinit(&s.done);
    return s.wait.all;
}

static void waiting_for_spread_ends_when_all_have_the_entry(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    for (int i = 1; i <= 5; i++) {
        fake_write_entries(&t->m[0], 1, 10, 100);
        assert_true(spread_all(&t->m[0], (uint64_t)i * 10, NEVER_MS));
        assert_true(converged(t));
    }
    trio_free(t);
}

static void a_member_out_of_touch_is_not_waited_for_and_not_all(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    fake_write_entries(&t->m[0], 1, 10, 100);
    assert_true(spread_all(&t->m[0], 10, PATIENCE_MS / 2));
    fake_stop(&t->m[2]);
    fake_write_entries(&t->m[0], 1, 10, 100);
    assert_false(spread_all(&t->m[0], 20, 200)); /* still in touch: its time is up */
    atomic_store(&t->m[0].clock_ahead_ns, 3 * AT_S_NS);
    assert_false(spread_all(&t->m[0], 20, NEVER_MS)); /* until it is out of touch */
    assert_false(spread_all(&t->m[0], 20, NEVER_MS)); /* known by now */
    trio_free(t);
}

struct registration {
    struct at_replica_call call; /* first */
    struct at_position registered;
};

static void run_register(struct at_replica_call *call, struct at_replica *replica)
{
    const struct registration *r = (struct registration *)call;
    const struct at_member_seed newcomer = {{9}, at_slice_make(NULL, 0)};

    at_replica_member_joined(replica, &newcomer, r->registered, fake_wall_ns());
}

static void on_registered(struct at_replica_call *call)
{
    (void)call;
}

/* It does not run yet. */
static void a_newcomer_is_waited_for_only_by_what_came_after_its_registration(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct registration r = {{.run = run_register, .done = on_registered}, {t->m[0].id, 1, 20}};

    fake_write_entries(&t->m[0], 2, 10, 100);
    assert_true(spread_all(&t->m[0], 20, PATIENCE_MS / 2));
    assert_true(fake_port_call(&t->m[0], &r.call));
    fake_write_entries(&t->m[0], 1, 10, 100);
    await_convergence(t, 30);
    assert_true(spread_all(&t->m[0], 19, PATIENCE_MS / 2));
    assert_true(spread_all(&t->m[0], 20, NEVER_MS));
    assert_false(spread_all(&t->m[0], 21, 200));
    trio_free(t);
}

/* --- lost tails --- */

static bool await_closed(struct fake_member *m, uint32_t patience_ms)
{
    struct at_replica_view view;
    uint64_t end_ms = now_ms() + patience_ms;
    bool closing = true;

    at_replica_view_init(&view);
    while (closing && now_ms() < end_ms) {
        fake_port_view(m, &view);
        closing = view.closing;
        pause_ms(5);
    }
    at_replica_view_deinit(&view);
    return !closing;
}

static void a_lost_tail_comes_back_and_its_epoch_is_closed_by_all(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct fake_disk before;

    fake_write_entries(&t->m[0], 10, 10, 100);
    await_convergence(t, 100);
    fake_stop(&t->m[0]);
    fake_disk_copy(&before, &t->m[0].disk);
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    fake_write_entries(&t->m[0], 5, 10, 100);
    await_convergence(t, 150);
    fake_stop(&t->m[0]);
    fake_disk_free(&t->m[0].disk);
    t->m[0].disk = before; /* the disk as it was 50 entries ago */

    fake_stop(&t->m[2]);
    fake_start(&t->m[0], t->ports, true, WAIT_MS);
    assert_false(await_closed(&t->m[0], 500)); /* one member has not answered */
    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    assert_true(await_closed(&t->m[0], PATIENCE_MS));
    fake_write_entries(&t->m[0], 1, 10, 100); /* in the new epoch */
    await_convergence(t, 10);
    assert_int_equal(t->m[0].disk.entry_count[1], 160);
    trio_free(t);
}

/* --- status --- */

static struct at_link_status link_to(struct fake_member *m, uint32_t peer)
{
    struct at_link_status links[AT_MEMBERS_MAX];
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    uint32_t count = at_peering_links(m->peering, links, AT_MEMBERS_MAX);

    for (; count < FAKE_MEMBERS - 1 && now_ms() < end_ms; pause_ms(2)) /* it has just started */
        count = at_peering_links(m->peering, links, AT_MEMBERS_MAX);
    assert_int_equal(count, FAKE_MEMBERS - 1);
    for (uint32_t i = 0; i < count; i++)
        if (links[i].peer.v == peer)
            return links[i];
    fail_msg("no link");
    return links[0];
}

static void await_link(struct fake_member *m, uint32_t peer, enum at_link_state state)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    while (link_to(m, peer).state != state && now_ms() < end_ms)
        pause_ms(2);
    assert_int_equal(link_to(m, peer).state, state);
}

static void await_lag_known(struct fake_member *m, uint32_t peer, bool known)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    while (link_to(m, peer).lag_known != known && now_ms() < end_ms)
        pause_ms(2);
    assert_int_equal(link_to(m, peer).lag_known, known);
}

static void lag_is_zero_only_while_the_peer_says_so(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_link_status link = {0};
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    fake_write_entries(&t->m[1], 10, 10, 100);
    await_convergence(t, 100);
    for (; now_ms() < end_ms; pause_ms(2)) { /* a machine that is busy does not always hear it */
        link = link_to(&t->m[0], 2);
        if (link.state == AT_LINK_STREAMING && link.lag_known && link.lag_ms == 0)
            break;
    }
    assert_int_equal(link.state, AT_LINK_STREAMING);
    assert_true(link.lag_known);
    assert_int_equal(link.lag_entries, 0);
    assert_int_equal(link.lag_ms, 0);
    assert_int_equal(link_to(&t->m[0], 2).applied_entries + link_to(&t->m[0], 3).applied_entries,
                     100); /* some perhaps by way of the third */

    fake_stop(&t->m[1]);
    await_lag_known(&t->m[0], 2, false);
    assert_true(link_to(&t->m[0], 2).lag_ms > 0);
    atomic_store(&t->m[0].clock_ahead_ns, 3 * AT_S_NS);
    await_link(&t->m[0], 2, AT_LINK_CUT);
    await_link(&t->m[0], 3, AT_LINK_STREAMING);
    trio_free(t);
}

static void every_link_state_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(at_link_state_name(AT_LINK_CUT), "CUT");
    assert_string_equal(at_link_state_name(AT_LINK_NEEDS_COPY), "NEEDS_COPY");
}

/* --- strangers --- */

static void on_answer(void *ctx, struct at_peer_question *question)
{
    at_mailbox_push(ctx, &question->mail, NULL);
}

static void strangers_and_nonsense_are_refused(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_mailbox answers;
    struct at_peer_client *client = NULL;
    struct at_arena arena;
    struct at_buf body;

    at_mailbox_init(&answers, 10);
    at_arena_init(&arena, 1024);
    at_buf_init(&body, 10000);
    struct at_peer_client_config config = {.host = "127.0.0.1",
                                           .port = t->ports[0],
                                           .in_flight_max = 1,
                                           .on_reply = on_answer,
                                           .ctx = &answers};
    assert_int_equal(at_peer_client_open(&config, &client, NULL), AT_OK);
    for (int i = 0; i < 5; i++) {
        struct at_peer_question q = {0};
        struct at_message m = {0};
        struct at_vector_ask ask = {.instance_id = FAKE_INSTANCE, .from = {2}};
        bool good = i == 0;
        at_buf_clear(&body);
        if (i == 1)
            ask.instance_id++;
        if (i == 2)
            ask.from.v = 9;
        if (i == 3)
            assert_int_equal(at_refused_encode(AT_LIT("you"), &body), AT_OK);
        else if (i == 4)
            assert_int_equal(at_buf_append(&body, AT_LIT("\xc1nonsense")), AT_OK);
        else
            assert_int_equal(at_vector_ask_encode(&ask, &body), AT_OK);
        assert_int_equal(at_peer_client_ask(client, &q, at_buf_slice(&body), PATIENCE_MS), AT_OK);
        assert_non_null(at_mailbox_wait(&answers, PATIENCE_MS));
        assert_int_equal(q.code, AT_OK);
        assert_int_equal(at_message_decode(q.reply, &arena, &m), AT_OK);
        assert_int_equal(m.kind, good ? AT_MESSAGE_VECTOR_ANSWER : AT_MESSAGE_REFUSED);
        at_message_deinit(&m);
        at_peer_question_done(&q);
    }
    at_peer_client_close(&client);
    at_buf_deinit(&body);
    at_arena_deinit(&arena);
    at_mailbox_deinit(&answers);
    trio_free(t);
}

static void the_writer_is_not_flooded_with_acknowledgements(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    fake_write_entries(&t->m[0], 1, 1, 10);
    await_convergence(t, 1);
    uint64_t begin_ms = now_ms();
    pthread_mutex_lock(&t->m[0].lock);
    uint32_t before = t->m[0].call_count;
    pthread_mutex_unlock(&t->m[0].lock);
    for (int i = 0; i < 300; i++) {
        fake_write_entries(&t->m[0], 1, 10, 100);
        pause_ms(2);
    }
    await_convergence(t, 3001);
    pthread_mutex_lock(&t->m[0].lock);
    uint32_t calls = t->m[0].call_count - before;
    pthread_mutex_unlock(&t->m[0].lock);
    uint64_t took_ms = now_ms() - begin_ms;
    assert_true(calls <= 2 * (took_ms / 50 + 2));
    trio_free(t);
}

static void stopping_in_the_middle_of_everything_is_clean(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        struct trio *t = trio_start();
        for (int i = 0; i < FAKE_MEMBERS; i++)
            fake_write_entries(&t->m[i], 50, 10, 1000);
        pause_ms((uint32_t)round * 7);
        for (int i = 0; i < FAKE_MEMBERS; i++)
            fake_stop(&t->m[i]);
        trio_free(t);
    }
}

static void a_port_in_use_fails_the_start(void **state)
{
    (void)state;
    struct trio *t = trio_start();
    struct at_peering *second = NULL;
    struct at_peering_config config = {.clock = at_clock_system(),
                                       .listen_host = "127.0.0.1",
                                       .listen_port = t->ports[0],
                                       .wait_ms = WAIT_MS,
                                       .port = {.ctx = &t->m[0],
                                                .view = fake_port_view,
                                                .read_log = fake_port_read_log,
                                                .apply = fake_port_apply,
                                                .call = fake_port_call}};
    struct at_error error = {0};

    assert_int_equal(at_peering_start(&config, &second, &error), AT_FAILED_PRECONDITION);
    assert_null(second);
    trio_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_anywhere_gets_everywhere),
        cmocka_unit_test(news_do_not_wait_for_the_heartbeat),
        cmocka_unit_test(a_member_that_was_away_catches_up),
        cmocka_unit_test(a_third_member_relays_where_the_direct_link_is_cut),
        cmocka_unit_test(entries_cross_a_healthy_instance_once),
        cmocka_unit_test(large_entries_and_cut_replies_pass),
        cmocka_unit_test(a_survey_tells_the_synced_positions_of_all),
        cmocka_unit_test(a_survey_names_who_was_not_reached),
        cmocka_unit_test(a_link_that_is_cut_passes_nothing_until_it_is_healed),
        cmocka_unit_test(a_link_that_is_cut_one_way_passes_the_other_way),
        cmocka_unit_test(a_survey_that_is_open_ends_with_the_peering),
        cmocka_unit_test(waiting_for_spread_ends_when_all_have_the_entry),
        cmocka_unit_test(a_member_out_of_touch_is_not_waited_for_and_not_all),
        cmocka_unit_test(a_newcomer_is_waited_for_only_by_what_came_after_its_registration),
        cmocka_unit_test(a_lost_tail_comes_back_and_its_epoch_is_closed_by_all),
        cmocka_unit_test(lag_is_zero_only_while_the_peer_says_so),
        cmocka_unit_test(every_link_state_has_a_name),
        cmocka_unit_test(strangers_and_nonsense_are_refused),
        cmocka_unit_test(the_writer_is_not_flooded_with_acknowledgements),
        cmocka_unit_test(stopping_in_the_middle_of_everything_is_clean),
        cmocka_unit_test(a_port_in_use_fails_the_start),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
