#include "replication/peer/packing.h"
#include "support/nng_leaks.h"
#include "unit/replication_peer/fake_trio.h"

/* A peer of which each answer is one round trip away, and that speaks by messages of the test: what
 * is counted is round trips, not time. It stands in for member 2 of three; 3 is not there. */

#define RTT_MS 40
#define RECORD_BYTES 100000
#define HUGE_RTT_MS 100
#define HUGE_RECORD_BYTES (4 * AT_MIB)

struct far_peer {
    struct at_peer_server *server;
    struct at_mailbox inbox;
    pthread_t thread;
    atomic_bool stop;
    atomic_uint waits;     /* pulls that found nobody else under way */
    atomic_uint continued; /* pulls that said so */
    atomic_uint packers;   /* pulls that take packed runs */
    atomic_uint most;      /* pulls under way at a time */
    uint32_t rtt_ms;
    uint32_t record_bytes;
    uint64_t seq; /* entries given out */
    uint64_t last_seq;
    bool packed;
    bool lies; /* about sizes */
    struct at_record_builder builder;
    struct at_buf out;
    struct at_buf pack;
};

struct held {
    struct at_peer_request *request;
    uint64_t due_ms;
};

static void on_far_request(void *ctx, struct at_peer_request *request)
{
    at_mailbox_push(&((struct far_peer *)ctx)->inbox, &request->mail, NULL);
}

static void far_reply(struct far_peer *f, const struct at_pull *pull)
{
    struct at_vector ends = {0};
    struct at_run run = {.origin = {2}, .epoch = 1};
    struct at_reply reply = {.to_request = pull->request_id,
                             .instance_id = FAKE_INSTANCE,
                             .from = {2},
                             .incarnation = 1,
                             .hlc = fake_wall_ns(),
                             .runs = &run};
    static char payload[HUGE_RECORD_BYTES];

    (void)at_vector_raise(&ends, (struct at_position){{2}, 1, f->last_seq});
    reply.ends_known = ends;
    if (pull->continues == 0) /* a plain one begins where it says */
        f->seq = at_vector_get(&pull->applied, (struct at_member_id){2}, 1);
    if (pull->max_bytes > 0 && f->seq < f->last_seq) {
        f->seq++;
        at_record_begin(&f->builder, f->seq);
        struct at_entry entry = {f->seq, fake_wall_ns(), 1,
                                 at_slice_make(payload, f->record_bytes)};
        assert_int_equal(at_record_add(&f->builder, &entry), AT_OK);
        run.record = at_record_finish(&f->builder);
        reply.run_count = 1;
        reply.more = true;
    }
    at_buf_clear(&f->pack);
    if (f->packed && reply.run_count == 1 && at_pack(run.record, &f->pack)) {
        run.packed_from = (uint32_t)run.record.len + (f->lies ? 1 : 0);
        run.record = at_buf_slice(&f->pack);
    }
    at_buf_clear(&f->out);
    assert_int_equal(at_reply_encode(&reply, &f->out), AT_OK);
    at_vector_deinit(&ends);
}

static void *far_main(void *arg)
{
    struct far_peer *f = arg;
    struct held held[16];
    uint32_t count = 0;
    struct at_arena arena;

    at_arena_init(&arena, AT_KIB);
    while (!atomic_load(&f->stop) || count > 0) {
        struct at_mail *next = NULL;
        for (struct at_mail *m = at_mailbox_wait(&f->inbox, 1); m != NULL; m = next) {
            next = m->next;
            held[count++] = (struct held){(struct at_peer_request *)m, now_ms() + f->rtt_ms};
        }
        if (count > atomic_load(&f->most))
            atomic_store(&f->most, count);
        while (count > 0 && now_ms() >= held[0].due_ms) {
            struct at_message m = {0};
            assert_int_equal(at_message_decode(held[0].request->body, &arena, &m), AT_OK);
            if (m.kind == AT_MESSAGE_PULL) {
                atomic_fetch_add(&f->waits, m.u.pull.continues == 0);
                atomic_fetch_add(&f->continued, m.u.pull.continues != 0);
                atomic_fetch_add(&f->packers, m.u.pull.unpacks);
                far_reply(f, &m.u.pull);
                at_peer_request_reply(held[0].request, at_buf_slice(&f->out));
            } else {
                at_peer_request_drop(held[0].request);
            }
            at_message_deinit(&m);
            at_arena_reset(&arena);
            memmove(&held[0], &held[1], --count * sizeof(held[0]));
        }
    }
    at_arena_deinit(&arena);
    return NULL;
}

static struct far_peer *far_new(uint16_t port, uint64_t entries)
{
    struct far_peer *f = AT_NEW(struct far_peer);
    struct at_peer_server_config config = {.host = "127.0.0.1",
                                           .port = port,
                                           .in_flight_max = 32,
                                           .on_request = on_far_request,
                                           .ctx = f};

    f->last_seq = entries;
    f->rtt_ms = RTT_MS;
    f->record_bytes = RECORD_BYTES;
    at_mailbox_init(&f->inbox, 64);
    at_record_builder_init(&f->builder, 8 * AT_MIB);
    at_buf_init(&f->out, 8 * AT_MIB);
    at_buf_init(&f->pack, AT_MIB);
    assert_int_equal(at_peer_server_open(&config, &f->server, NULL), AT_OK);
    assert_int_equal(pthread_create(&f->thread, NULL, far_main, f), 0);
    return f;
}

static void far_free(struct far_peer *f)
{
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    struct at_mail *next = NULL;
    for (struct at_mail *m = at_mailbox_take(&f->inbox); m != NULL; m = next) {
        next = m->next;
        at_peer_request_drop((struct at_peer_request *)m);
    }
    at_peer_server_close(&f->server);
    at_mailbox_deinit(&f->inbox);
    at_record_builder_deinit(&f->builder);
    at_buf_deinit(&f->out);
    at_buf_deinit(&f->pack);
    at_free(f);
}

static uint64_t applied_of(struct fake_member *m)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    fake_port_view(m, &view);
    uint64_t seq = at_vector_get(&view.applied, (struct at_member_id){2}, 1);
    at_replica_view_deinit(&view);
    return seq;
}

static void await_applied(struct fake_member *m, uint64_t seq)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (applied_of(m) < seq && now_ms() < end_ms)
        pause_ms(2);
    assert_int_equal(applied_of(m), seq);
}

static void a_long_link_carries_several_replies_a_round_trip(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct far_peer *f = far_new(t->ports[1], 80);

    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    await_applied(&t->m[0], 80);
    assert_int_equal(t->m[0].disk.entry_count[2], 80); /* each once, in order */
    /* One at a time would be 80 pulls that continue nothing. Three at a time are 27, if the asker
     * always comes so late that all have been answered. */
    assert_true(atomic_load(&f->waits) < 40);
    assert_true(atomic_load(&f->continued) > 40);
    assert_in_range(atomic_load(&f->most), 3, 8);
    fake_stop(&t->m[0]);
    far_free(f);
    trio_free(t);
}

/* The wire is not what bounds it: as many bytes come in a round trip as are asked for in one. */
static void full_replies_over_100_ms_are_not_one_a_round_trip(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct far_peer *f = far_new(t->ports[1], 24);

    f->rtt_ms = HUGE_RTT_MS;
    f->record_bytes = HUGE_RECORD_BYTES;
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    await_applied(&t->m[0], 24);
    assert_int_equal(t->m[0].disk.entry_count[2], 24);
    assert_true(atomic_load(&f->waits) < 16); /* one at a time would be 24 */
    assert_true(atomic_load(&f->continued) >= 8);
    assert_in_range(atomic_load(&f->most), 3, 8);
    fake_stop(&t->m[0]);
    far_free(f);
    trio_free(t);
}

static void a_slow_link_takes_packed_runs(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct far_peer *f = far_new(t->ports[1], 20);

    f->packed = true;
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    await_applied(&t->m[0], 20);
    assert_true(atomic_load(&f->packers) > 15);
    fake_stop(&t->m[0]);
    far_free(f);
    trio_free(t);
}

static void runs_that_lie_about_their_size_are_not_applied(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct far_peer *f = far_new(t->ports[1], 20);

    f->packed = f->lies = true;
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    pause_ms(600);
    assert_int_equal(applied_of(&t->m[0]), 0);
    fake_stop(&t->m[0]);
    far_free(f);
    trio_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_link_carries_several_replies_a_round_trip),
        cmocka_unit_test(full_replies_over_100_ms_are_not_one_a_round_trip),
        cmocka_unit_test(a_slow_link_takes_packed_runs),
        cmocka_unit_test(runs_that_lie_about_their_size_are_not_applied),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
