/* fake_member.h: one cluster without a store: a fake store, and a real at_peering on loopback. For
 * tests of peering. */
#ifndef ATOLL_TESTS_FAKE_MEMBER_H
#define ATOLL_TESTS_FAKE_MEMBER_H

#include "unit/replication_peer/fake_copy.h"

static void fake_info(struct at_buf *text, uint16_t port)
{
    struct at_member_info info = {.cluster_id = AT_LIT("peer"),
                                  .zone = AT_LIT("here"),
                                  .host = AT_LIT("127.0.0.1"),
                                  .grpc_port = 1,
                                  .peer_port = port};

    at_buf_init(text, AT_MEMBER_INFO_BYTES_MAX);
    assert_int_equal(at_member_info_encode(&info, text), AT_OK);
}

static uint64_t fake_clock_wall_ns(void *ctx)
{
    return fake_wall_ns() + atomic_load(&((struct fake_member *)ctx)->clock_ahead_ns);
}

static uint64_t fake_clock_mono_ns(void *ctx)
{
    return fake_mono_ns() + atomic_load(&((struct fake_member *)ctx)->clock_ahead_ns);
}

/* A wrong port in `ports` cuts the link to that member. */
static void
fake_start(struct fake_member *m, const uint16_t *ports, bool tail_may_be_lost, uint32_t wait_ms)
{
    struct at_member_id members[FAKE_MEMBERS];
    struct at_slice infos[FAKE_MEMBERS];
    struct at_buf texts[FAKE_MEMBERS];
    struct at_error error = {0};

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++) {
        members[i].v = i + 1;
        fake_info(&texts[i], i + 1 == m->id.v ? m->port : ports[i]);
        infos[i] = at_buf_slice(&texts[i]);
    }
    struct at_replica_config config = {.instance_id = FAKE_INSTANCE,
                                       .self = m->id,
                                       .members = members,
                                       .infos = infos,
                                       .member_count = FAKE_MEMBERS,
                                       .newcomer = m->newcomer,
                                       .join_hlc = m->join_hlc,
                                       .registered = m->registered,
                                       .max_skew_ns = 10 * AT_S_NS,
                                       .reserve_step_ns = AT_S_NS,
                                       .sync_commits = true};
    m->replica = at_replica_new(&config);
    for (uint32_t i = 0; i < m->disk.pair_count; i++) {
        const struct fake_pair *pair = &m->disk.pairs[i];
        if (at_replica_restore(m->replica, at_slice_make(pair->key, pair->key_len),
                               at_slice_make(pair->value, pair->value_len), &error) != AT_OK)
            fail_msg("%s", error.msg);
    }
    if (at_replica_start(m->replica, tail_may_be_lost, fake_wall_ns(), &error) != AT_OK)
        fail_msg("%s", error.msg);
    m->stopping = false;
    m->queue_count = 0;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->more, NULL);
    at_replica_view_init(&m->view);
    fake_commit(m);

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++)
        at_buf_deinit(&texts[i]);
    struct at_peering_config peering = {.clock = {fake_clock_wall_ns, fake_clock_mono_ns, m},
                                        .listen_host = "127.0.0.1",
                                        .listen_port = m->port,
                                        .wait_ms = wait_ms,
                                        .manual = m->manual,
                                        .port = {.ctx = m,
                                                 .view = fake_port_view,
                                                 .read_log = fake_port_read_log,
                                                 .apply = fake_port_apply,
                                                 .call = fake_port_call,
                                                 .act = fake_port_act,
                                                 .copy = fake_copy_port(m)}};
    struct at_peering *started = NULL;
    assert_int_equal(pthread_create(&m->writer, NULL, fake_writer, m), 0);
    if (at_peering_start(&peering, &started, &error) != AT_OK)
        fail_msg("%s", error.msg);
    pthread_mutex_lock(&m->lock);
    m->peering = started;
    pthread_mutex_unlock(&m->lock);
    assert_int_equal(at_peering_port(started), m->port);
}

static void fake_stop(struct fake_member *m)
{
    pthread_mutex_lock(&m->lock);
    struct at_peering *peering = AT_TAKE(m->peering);
    pthread_mutex_unlock(&m->lock);
    at_peering_stop(&peering);
    fake_push(m, (struct fake_work){.kind = FAKE_STOP});
    pthread_join(m->writer, NULL);
    at_replica_free(&m->replica);
    at_replica_view_deinit(&m->view);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->more);
}

__attribute__((unused)) static void fake_write_entries(struct fake_member *m,
                                                       uint32_t records,
                                                       uint32_t entry_count,
                                                       uint32_t entry_bytes)
{
    for (uint32_t i = 0; i < records;) {
        struct fake_work work = {
            .kind = FAKE_WRITE, .entry_count = entry_count, .entry_bytes = entry_bytes};
        if (fake_push(m, work))
            i++;
        else
            sched_yield();
    }
}

static uint64_t fake_seq(struct fake_member *m)
{
    pthread_mutex_lock(&m->lock);
    uint64_t seq = m->view.seq;
    pthread_mutex_unlock(&m->lock);
    return seq;
}

#endif
