#define FAKE_MEMBERS 8

#include "support/nng_leaks.h"
#include "unit/replication_peer/raw_peer.h"

/* What a donor reads of its log for the peers that pull it: as many bytes for each as each lacks,
 * in as many reads, however many others pull as well and however long the log is. */

#define RECORDS 300u
#define ENTRIES 10u
#define ENTRY_BYTES 100u
#define TAIL_SEQ ((RECORDS - 20) * ENTRIES) /* what a peer that is near the end has */
#define PULL_BYTES 4096u

struct puller {
    struct raw_asker asker;
    struct at_member_id id;
    uint64_t seq; /* of member 1, that it has */
    uint64_t request_id;
};

static void send_pull(struct puller *p)
{
    struct at_pull pull = {.request_id = ++p->request_id,
                           .instance_id = FAKE_INSTANCE,
                           .from = p->id,
                           .incarnation = 1,
                           .hlc = fake_wall_ns(),
                           .max_bytes = PULL_BYTES,
                           .wait_ms = 1000};

    for (uint32_t i = 0; i < FAKE_MEMBERS; i++)
        pull.members[pull.member_count++].v = i + 1;
    (void)at_vector_raise(&pull.applied, (struct at_position){{1}, 1, p->seq});
    at_vector_copy(&pull.durable, &pull.applied);
    at_buf_clear(&p->asker.body);
    assert_int_equal(at_pull_encode(&pull, &p->asker.body), AT_OK);
    at_vector_deinit(&pull.applied);
    at_vector_deinit(&pull.durable);
    raw_send(&p->asker, PATIENCE_MS);
}

static void take_reply(struct puller *p)
{
    struct at_message m;
    struct at_record_reader reader;
    struct at_entry entry;

    assert_int_equal(raw_take(&p->asker, &m, PATIENCE_MS), AT_MESSAGE_REPLY);
    for (uint32_t i = 0; i < m.u.reply.run_count; i++) {
        assert_int_equal(at_record_open(&reader, m.u.reply.runs[i].record), AT_OK);
        while (at_record_next(&reader, &entry) == AT_OK)
            if (entry.seq == p->seq + 1)
                p->seq++;
    }
    at_message_deinit(&m);
}

/* `count` peers, which all have the log up to `from`, pull it to its end, all at the same time.
 * Returns bytes read; the reads are counted too. */
static uint64_t bytes_read(struct trio *t, uint32_t count, uint64_t from, uint64_t *ret_reads)
{
    struct puller *pullers = at_alloc(count * sizeof(*pullers));
    struct fake_member *donor = &t->m[0];
    bool all = false;

    atomic_store(&donor->logs_read, 0);
    atomic_store(&donor->log_bytes_read, 0);
    for (uint32_t i = 0; i < count; i++) {
        raw_open(&pullers[i].asker, t->ports[0]);
        pullers[i].id.v = i + 2;
        pullers[i].seq = from;
    }
    while (!all) {
        all = true;
        for (uint32_t i = 0; i < count; i++)
            if (pullers[i].seq < RECORDS * ENTRIES)
                send_pull(&pullers[i]);
        for (uint32_t i = 0; i < count; i++)
            if (pullers[i].seq < RECORDS * ENTRIES) {
                uint64_t before = pullers[i].seq;
                take_reply(&pullers[i]);
                assert_true(pullers[i].seq > before);
                all = all && pullers[i].seq == RECORDS * ENTRIES;
            }
    }
    for (uint32_t i = 0; i < count; i++)
        raw_close(&pullers[i].asker);
    at_free(pullers);
    *ret_reads = atomic_load(&donor->logs_read);
    return atomic_load(&donor->log_bytes_read);
}

static void what_is_read_of_the_log_for_one_peer_does_not_grow_with_the_others(void **state)
{
    struct trio *t = trio_new();
    uint64_t reads = 0;
    uint64_t reads_of_one = 0;
    uint64_t tail_reads = 0;

    (void)state;
    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    fake_write_entries(&t->m[0], RECORDS, ENTRIES, ENTRY_BYTES);
    while (fake_seq(&t->m[0]) < RECORDS * ENTRIES)
        pause_ms(1);
    uint64_t of_one = bytes_read(t, 1, 0, &reads_of_one);
    /* Each byte once; what joins a reply half way would be read again. */
    assert_in_range(of_one, RECORDS * ENTRIES * ENTRY_BYTES,
                    RECORDS * ENTRIES * ENTRY_BYTES * 5 / 4);
    for (uint32_t count = 2; count < FAKE_MEMBERS; count += 5) {
        assert_int_equal(bytes_read(t, count, 0, &reads), count * of_one);
        assert_int_equal(reads, count * reads_of_one);
    }
    uint64_t of_tail = bytes_read(t, 1, TAIL_SEQ, &tail_reads);
    assert_in_range(of_tail, 1, of_one / 10); /* 20 of 300 records */
    assert_in_range(tail_reads, 1, reads_of_one / 10);
    trio_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_of_the_log_for_one_peer_does_not_grow_with_the_others),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
