#include "base/crc32c.h"
#include "replication/peer/packing.h"
#include "support/nng_leaks.h"
#include "unit/replication_peer/raw_peer.h"

/* Copies that go wrong, seen from both ends: donors that lie, receivers that fall silent, and what
 * else is asked meanwhile. */

static struct at_replica_view view_of(struct fake_member *m)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    fake_port_view(m, &view);
    return view;
}

static enum at_replica_mode mode_of(struct fake_member *m)
{
    struct at_replica_view view = view_of(m);
    enum at_replica_mode mode = view.mode;
    at_replica_view_deinit(&view);
    return mode;
}

static void await_mode(struct fake_member *m, enum at_replica_mode mode)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (mode_of(m) != mode && now_ms() < end_ms)
        pause_ms(2);
    assert_int_equal(mode_of(m), mode);
}

static void await_count(atomic_uint *count, uint32_t at_least)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (atomic_load(count) < at_least && now_ms() < end_ms)
        pause_ms(2);
    assert_true(atomic_load(count) >= at_least);
}

static void await_sources(struct fake_member *m, uint32_t count)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (atomic_load(&m->sources_open) != count && now_ms() < end_ms)
        pause_ms(2);
    assert_int_equal(atomic_load(&m->sources_open), count);
}

static void await_filled(struct fake_member *m)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;

    for (;;) {
        struct at_replica_view view = view_of(m);
        bool filled = view.mode == AT_MODE_READY && view.caught_up && view.joined;
        at_replica_view_deinit(&view);
        if (filled)
            return;
        if (now_ms() > end_ms)
            fail_msg("not filled");
        pause_ms(5);
    }
}

/* --- a donor that lies --- */

enum lie {
    LIE_NONE,
    LIE_CHECKSUM,
    LIE_SNAPSHOT,
    LIE_PART,
    LIE_SIZE,
    LIE_PACKED_SIZE,
    LIE_PACKED_NONSENSE,
    LIE_BACK,
    LIE_NO_END,
    LIE_NO_PARTS,
    LIE_ALL_PARTS,
    LIE_OTHER_STATE,
    LIE_OTHER_INSTANCE,
    LIE_FUTURE_CLOCK,
    LIE_FUTURE_RELEASE,
    LIE_FUTURE_PROMISE,
    LIE_HUGE_POSITION,
    LIE_COUNT
};
static const char *const lies[LIE_COUNT] = {
    "none",           "checksum",     "snapshot",        "part",
    "size",           "packed size",  "nonsense",        "back",
    "no end",         "no parts",     "a million parts", "other state",
    "other instance", "future clock", "future release",  "future promise",
    "huge position"};

struct liar {
    struct raw_server server; /* first */
    atomic_uint lie;
    atomic_uint opens;
    atomic_uint chunks;
    atomic_uint closes;
    atomic_ullong closed_id;
};

static bool opened_by(struct raw_server *s, enum lie lie)
{
    struct at_copy_member members[3] = {
        {.id = {1}, .state = 1}, {.id = {2}, .state = 1}, {.id = {3}, .state = 1}};
    struct at_promise promise = {.origin = {3}, .epoch = 1, .hlc = INT64_MAX, .closed_from = 1};
    struct at_copy_state state = {.from = {1},
                                  .incarnation = 1,
                                  .hlc = fake_wall_ns(),
                                  .members = members,
                                  .member_count = 3};
    struct at_copy_opened opened = {.instance_id = FAKE_INSTANCE,
                                    .snapshot_id = 7,
                                    .bytes = 1000,
                                    .part_count = FAKE_PARTS,
                                    .state = &state};

    at_vector_init(&state.applied);
    if (lie == LIE_NO_PARTS)
        opened.part_count = 0;
    if (lie == LIE_ALL_PARTS)
        opened.part_count = UINT32_MAX;
    if (lie == LIE_OTHER_STATE)
        state.from.v = 2;
    if (lie == LIE_OTHER_INSTANCE)
        opened.instance_id = 1;
    if (lie == LIE_FUTURE_CLOCK)
        state.hlc = fake_wall_ns() + 3600 * AT_S_NS;
    if (lie == LIE_FUTURE_RELEASE)
        state.hlc = state.released = UINT64_MAX;
    if (lie == LIE_FUTURE_PROMISE) {
        state.facts.promises = &promise;
        state.facts.promise_count = 1;
    }
    if (lie == LIE_HUGE_POSITION)
        (void)at_vector_raise(&state.applied, (struct at_position){{1}, 1, UINT64_MAX});
    bool good = at_copy_opened_encode(&opened, &s->out) == AT_OK;
    at_vector_deinit(&state.applied);
    return good;
}

static bool chunk_by(struct raw_server *s, enum lie lie, const struct at_copy_ask *ask)
{
    static char bytes[4000];
    struct at_buf pack;
    char cursor[8] = "a";
    uint64_t at = 0;

    at_buf_init(&pack, AT_MIB);
    if (ask->cursor.len > 0)
        cursor[0] = (char)(ask->cursor.data[0] + 1);
    struct at_copy_chunk chunk = {
        .snapshot_id = ask->snapshot_id,
        .part = ask->part,
        .cursor = at_slice_make(cursor, 1),
        .last = cursor[0] == 'a' + FAKE_PART_CHUNKS - 1,
        .raw_bytes = sizeof(bytes),
        .checksum = at_crc32c(at_slice_make(bytes, sizeof(bytes))),
        .items = at_slice_make(bytes, sizeof(bytes)),
    };
    bool packs = lie == LIE_PACKED_SIZE || lie == LIE_PACKED_NONSENSE;
    if (packs && at_pack(chunk.items, &pack)) {
        chunk.packed = true;
        chunk.items = lie == LIE_PACKED_SIZE ? at_buf_slice(&pack) : chunk.items;
        chunk.raw_bytes = lie == LIE_PACKED_SIZE ? AT_PEER_MESSAGE_BYTES_MAX : sizeof(bytes);
    }
    chunk.checksum += lie == LIE_CHECKSUM;
    chunk.snapshot_id += lie == LIE_SNAPSHOT;
    chunk.part += lie == LIE_PART;
    chunk.raw_bytes += lie == LIE_SIZE;
    if (lie == LIE_BACK && cursor[0] > 'b')
        chunk.cursor = AT_LIT("a");
    if (lie == LIE_NO_END) {
        for (size_t i = 0; i < ask->cursor.len; i++)
            at = at << 8 | ask->cursor.data[i];
        at++;
        for (int i = 0; i < 8; i++)
            cursor[i] = (char)(at >> (56 - 8 * i));
        chunk.cursor = at_slice_make(cursor, 8);
        chunk.last = false;
    }
    bool good = at_copy_chunk_encode(&chunk, &s->out) == AT_OK;
    at_buf_deinit(&pack);
    return good;
}

static bool liar_answers(struct raw_server *s, const struct at_message *m)
{
    struct liar *liar = (struct liar *)s;
    enum lie lie = (enum lie)atomic_load(&liar->lie);

    if (m->kind == AT_MESSAGE_COPY_OPEN) {
        atomic_fetch_add(&liar->opens, 1);
        return opened_by(s, lie);
    }
    if (m->kind == AT_MESSAGE_COPY_ASK) {
        atomic_fetch_add(&liar->chunks, 1);
        return chunk_by(s, lie, &m->u.copy_ask);
    }
    if (m->kind == AT_MESSAGE_COPY_CLOSE) {
        atomic_store(&liar->closed_id, m->u.copy_close.snapshot_id);
        atomic_fetch_add(&liar->closes, 1);
        return at_refused_encode(AT_LIT(""), &s->out) == AT_OK;
    }
    struct at_join_answer answer = {.instance_id = FAKE_INSTANCE,
                                    .from = {1},
                                    .from_incarnation = 1,
                                    .to = {3},
                                    .verdict = AT_JOIN_UNKNOWN,
                                    .hlc = fake_wall_ns()};
    return m->kind == AT_MESSAGE_JOIN && at_join_answer_encode(&answer, &s->out) == AT_OK;
}

struct lied_to {
    struct trio *t;
    struct liar *liar;
};

static struct lied_to lie_begins(enum lie lie)
{
    struct lied_to x = {trio_new(), AT_NEW(struct liar)};

    x.liar->server.answer = liar_answers;
    atomic_store(&x.liar->lie, lie);
    raw_serve(&x.liar->server, x.t->ports[0]);
    x.t->m[2].newcomer = true;
    x.t->m[2].join_hlc = fake_wall_ns();
    atomic_store(&x.t->m[2].takes_all, true);
    fake_start(&x.t->m[2], x.t->ports, false, WAIT_MS);
    return x;
}

static void lie_ends(struct lied_to *x, enum lie lie)
{
    print_message("[ LIE      ] %s\n", lies[lie]);
    if (lie != LIE_FUTURE_PROMISE && lie != LIE_HUGE_POSITION && lie != LIE_FUTURE_RELEASE)
        await_count(&x->liar->opens, 2); /* it gave the first one up */
    struct at_replica_view view = view_of(&x->t->m[2]);
    assert_true(view.hlc < fake_wall_ns() + 20 * AT_S_NS || lie == LIE_FUTURE_RELEASE);
    assert_true(view.hlc < UINT64_MAX / 2 + 1);
    assert_int_equal(view.member_count, 3);
    if (lie < LIE_FUTURE_RELEASE) {
        assert_int_equal(view.applied.count, 0);
        assert_true(view.mode == AT_MODE_INIT || view.mode == AT_MODE_COPYING);
    }
    at_replica_view_deinit(&view);
    fake_stop(&x->t->m[2]);
    raw_end(&x->liar->server);
    at_free(x->liar);
    trio_free(x->t);
}

/* Nothing of it stands: no position, no clock, no member; and the next one is tried. All lies at
 * once: what takes its time is waiting before it is tried again. */
static void a_donor_that_lies_changes_nothing(void **state)
{
    (void)state;
    struct lied_to all[LIE_COUNT];

    for (uint32_t lie = LIE_CHECKSUM; lie < LIE_COUNT; lie++)
        all[lie] = lie_begins(lie);
    pause_ms(400);
    for (uint32_t lie = LIE_CHECKSUM; lie < LIE_COUNT; lie++)
        lie_ends(&all[lie], lie);
}

static void a_donor_is_told_when_its_copy_is_given_up(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct liar *liar = AT_NEW(struct liar);

    liar->server.answer = liar_answers;
    atomic_store(&liar->lie, LIE_NO_END);
    raw_serve(&liar->server, t->ports[0]);
    t->m[2].newcomer = true;
    atomic_store(&t->m[2].takes_all, true);
    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    await_count(&liar->chunks, 20);
    fake_stop(&t->m[2]); /* it stops in the middle */
    await_count(&liar->closes, 1);
    assert_int_equal(atomic_load(&liar->closed_id), 7);
    assert_int_equal(atomic_load(&t->m[2].sinks_aborted), 1);
    raw_end(&liar->server);
    at_free(liar);
    trio_free(t);
}

/* --- a receiver that is odd --- */

static void put_open(struct raw_asker *a, uint32_t from)
{
    struct at_copy_open open = {.instance_id = FAKE_INSTANCE, .from = {from}, .incarnation = 1};

    at_buf_clear(&a->body);
    assert_int_equal(at_copy_open_encode(&open, &a->body), AT_OK);
}

static int ask_open(struct raw_asker *a, uint32_t from, uint64_t *ret_id)
{
    struct at_message m;
    put_open(a, from);
    int kind = raw_ask(a, &m);
    if (kind == AT_MESSAGE_COPY_OPENED)
        *ret_id = m.u.copy_opened.snapshot_id;
    at_message_deinit(&m);
    return kind;
}

static void put_chunk(struct raw_asker *a, uint32_t from, uint64_t id, uint32_t part)
{
    struct at_copy_ask ask = {.instance_id = FAKE_INSTANCE,
                              .from = {from},
                              .snapshot_id = id,
                              .part = part,
                              .max_bytes = 100000};

    at_buf_clear(&a->body);
    assert_int_equal(at_copy_ask_encode(&ask, &a->body), AT_OK);
}

static int ask_chunk(struct raw_asker *a, uint32_t from, uint64_t id, uint32_t part)
{
    put_chunk(a, from, id, part);
    return raw_ask(a, NULL);
}

static int ask_close(struct raw_asker *a, uint32_t from, uint64_t id)
{
    struct at_copy_close close = {.instance_id = FAKE_INSTANCE, .from = {from}, .snapshot_id = id};

    at_buf_clear(&a->body);
    assert_int_equal(at_copy_close_encode(&close, &a->body), AT_OK);
    return raw_ask(a, NULL);
}

static struct trio *one_donor(struct raw_asker *a)
{
    struct trio *t = trio_new();

    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    raw_open(a, t->ports[0]);
    return t;
}

static void a_snapshot_is_freed_when_its_receiver_is_silent_for_30_s(void **state)
{
    (void)state;
    struct raw_asker a;
    struct trio *t = one_donor(&a);
    uint64_t id = 0;

    assert_int_equal(ask_open(&a, 3, &id), AT_MESSAGE_COPY_OPENED);
    assert_int_equal(ask_chunk(&a, 3, id, 0), AT_MESSAGE_COPY_CHUNK);
    atomic_store(&t->m[0].clock_ahead_ns, 20 * AT_S_NS);
    pause_ms(700);
    assert_int_equal(atomic_load(&t->m[0].sources_open), 1);
    assert_int_equal(ask_chunk(&a, 3, id, 1), AT_MESSAGE_COPY_CHUNK); /* not silent */
    atomic_store(&t->m[0].clock_ahead_ns, 40 * AT_S_NS);
    pause_ms(700);
    assert_int_equal(atomic_load(&t->m[0].sources_open), 1);
    atomic_store(&t->m[0].clock_ahead_ns, 60 * AT_S_NS);
    await_sources(&t->m[0], 0);
    assert_int_equal(ask_chunk(&a, 3, id, 1), AT_MESSAGE_REFUSED);
    raw_close(&a);
    trio_free(t);
}

static void who_waits_for_a_chunk_is_not_silent(void **state)
{
    (void)state;
    struct raw_asker a;
    struct trio *t = one_donor(&a);
    uint64_t id = 0;

    assert_int_equal(ask_open(&a, 3, &id), AT_MESSAGE_COPY_OPENED);
    for (int i = 0; i < 6; i++)
        assert_int_equal(ask_chunk(&a, 3, id, 0), AT_MESSAGE_COPY_CHUNK);
    atomic_store(&t->m[0].lie, FAKE_STALL);
    put_chunk(&a, 3, id, 1);
    raw_send(&a, PATIENCE_MS);
    put_chunk(&a, 3, id, 2);
    raw_send(&a, PATIENCE_MS);
    pause_ms(1000); /* until both have come */
    atomic_store(&t->m[0].clock_ahead_ns, 40 * AT_S_NS);
    pause_ms(700);
    assert_int_equal(atomic_load(&t->m[0].sources_open), 1);
    atomic_store(&t->m[0].lie, FAKE_HONEST);
    assert_int_equal(raw_take(&a, NULL, PATIENCE_MS), AT_MESSAGE_COPY_CHUNK);
    assert_int_equal(raw_take(&a, NULL, PATIENCE_MS), AT_MESSAGE_COPY_CHUNK);
    raw_close(&a);
    trio_free(t);
}

static void a_snapshot_is_freed_when_its_receiver_says_so(void **state)
{
    (void)state;
    struct raw_asker a;
    struct trio *t = one_donor(&a);
    uint64_t id = 0;

    assert_int_equal(ask_open(&a, 3, &id), AT_MESSAGE_COPY_OPENED);
    (void)ask_close(&a, 3, id + 1);
    (void)ask_close(&a, 2, id); /* not its own */
    pause_ms(100);
    assert_int_equal(atomic_load(&t->m[0].sources_open), 1);
    (void)ask_close(&a, 3, id);
    await_sources(&t->m[0], 0);
    assert_int_equal(ask_open(&a, 3, &id), AT_MESSAGE_COPY_OPENED);
    (void)ask_close(&a, 3, 0); /* whichever it is */
    await_sources(&t->m[0], 0);
    raw_close(&a);
    trio_free(t);
}

static void chunks_that_wait_are_refused_when_the_snapshot_goes(void **state)
{
    (void)state;
    struct raw_asker a;
    struct trio *t = one_donor(&a);
    uint64_t id = 0;

    assert_int_equal(ask_open(&a, 3, &id), AT_MESSAGE_COPY_OPENED);
    for (int i = 0; i < 6; i++)
        assert_int_equal(ask_chunk(&a, 3, id, 0), AT_MESSAGE_COPY_CHUNK);
    atomic_store(&t->m[0].lie, FAKE_STALL);
    put_chunk(&a, 3, id, 1);
    raw_send(&a, PATIENCE_MS);
    pause_ms(500);
    put_chunk(&a, 3, id, 2);
    raw_send(&a, PATIENCE_MS);
    pause_ms(500);
    int sum = ask_close(&a, 3, id); /* the three answers come in any order */
    atomic_store(&t->m[0].lie, FAKE_HONEST);
    sum += raw_take(&a, NULL, PATIENCE_MS);
    sum += raw_take(&a, NULL, PATIENCE_MS);
    assert_int_equal(sum, AT_MESSAGE_COPY_CHUNK + 2 * AT_MESSAGE_REFUSED);
    await_sources(&t->m[0], 0);
    raw_close(&a);
    trio_free(t);
}

static void one_copy_is_given_at_a_time(void **state)
{
    (void)state;
    struct raw_asker a;
    struct trio *t = one_donor(&a);
    uint64_t id = 0;
    uint64_t other = 0;

    assert_int_equal(ask_open(&a, 3, &id), AT_MESSAGE_COPY_OPENED);
    assert_int_equal(ask_open(&a, 2, &other), AT_MESSAGE_REFUSED);
    assert_int_equal(ask_chunk(&a, 2, id, 0), AT_MESSAGE_REFUSED);
    assert_int_equal(ask_chunk(&a, 3, id + 1, 0), AT_MESSAGE_REFUSED);
    assert_int_equal(ask_chunk(&a, 3, id, FAKE_PARTS), AT_MESSAGE_REFUSED);
    assert_int_equal(ask_chunk(&a, 3, id, UINT32_MAX), AT_MESSAGE_REFUSED);
    assert_int_equal(ask_chunk(&a, 3, id, 0), AT_MESSAGE_COPY_CHUNK);
    uint64_t end_ms = now_ms() + PATIENCE_MS; /* a receiver that was started again */
    while (ask_open(&a, 3, &other) != AT_MESSAGE_COPY_OPENED && now_ms() < end_ms)
        pause_ms(5);
    assert_int_not_equal(other, id);
    assert_int_equal(atomic_load(&t->m[0].sources_open), 1);
    assert_int_equal(ask_chunk(&a, 3, id, 0), AT_MESSAGE_REFUSED);
    assert_int_equal(ask_chunk(&a, 3, other, 0), AT_MESSAGE_COPY_CHUNK);
    assert_int_equal(ask_open(&a, 9, &id), AT_MESSAGE_REFUSED); /* no member */
    raw_close(&a);
    trio_free(t);
}

/* --- what is asked while a copy runs --- */

static void put_fence(struct raw_asker *a, uint32_t from, uint32_t of)
{
    struct at_fence fence = {.instance_id = FAKE_INSTANCE,
                             .from = {from},
                             .round = 5,
                             .members = {{of}},
                             .member_count = 1};
    at_buf_clear(&a->body);
    assert_int_equal(at_fence_encode(&fence, &a->body), AT_OK);
}

static void put_close(struct raw_asker *a, uint32_t origin)
{
    struct at_close close = {
        .instance_id = FAKE_INSTANCE, .origin = {origin}, .incarnation = 2, .round = 1};
    at_buf_clear(&a->body);
    assert_int_equal(at_close_encode(&close, &a->body), AT_OK);
}

/* The copy is dropped first: what the answer says would not hold after the switch. */
static void a_copy_is_dropped_before_a_close_or_a_fence_is_answered(void **state)
{
    (void)state;
    for (int fence = 0; fence < 2; fence++) {
        struct trio *t = trio_new();
        struct raw_asker a;
        struct at_message m;

        fake_start(&t->m[0], t->ports, false, WAIT_MS);
        fake_write_entries(&t->m[0], 5, 10, 100);
        atomic_store(&t->m[0].lie, FAKE_STALL);
        t->m[2].newcomer = true;
        fake_start(&t->m[2], t->ports, false, WAIT_MS);
        await_mode(&t->m[2], AT_MODE_COPYING);
        await_count(&t->m[0].chunks_read, 7);
        raw_open(&a, t->ports[2]);
        if (fence)
            put_fence(&a, 1, 2);
        else
            put_close(&a, 1);
        int kind = raw_ask(&a, &m);
        assert_int_equal(atomic_load(&t->m[2].sinks_aborted), 1);
        assert_int_not_equal(mode_of(&t->m[2]), AT_MODE_READY);
        assert_int_equal(kind, fence ? AT_MESSAGE_FENCE_ANSWER : AT_MESSAGE_CLOSE_ANSWER);
        if (fence)
            assert_int_equal(m.u.fence_answer->applied.count, 0);
        for (uint32_t i = 0; !fence && i < m.u.close_answer->position_count; i++)
            assert_int_equal(m.u.close_answer->positions[i].seq, 0);
        at_message_deinit(&m);
        atomic_store(&t->m[0].lie, FAKE_HONEST);
        raw_close(&a);
        trio_free(t);
    }
}

static void a_copy_of_an_older_process_is_not_begun(void **state)
{
    (void)state;
    struct trio *t = trio_new();
    struct liar *liar = AT_NEW(struct liar);
    struct raw_asker a;

    liar->server.answer = liar_answers; /* says incarnation 1 */
    raw_serve(&liar->server, t->ports[0]);
    raw_open(&a, t->ports[2]);
    t->m[2].newcomer = true;
    atomic_store(&liar->lie, LIE_NO_END);
    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    put_close(&a, 1);
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    while (raw_ask(&a, NULL) != AT_MESSAGE_CLOSE_ANSWER && now_ms() < end_ms)
        pause_ms(5);
    atomic_store(&liar->lie, LIE_NONE);
    uint32_t before = atomic_load(&liar->opens);
    await_count(&liar->opens, before + 2);
    assert_int_equal(mode_of(&t->m[2]), AT_MODE_INIT);
    raw_close(&a);
    fake_stop(&t->m[2]);
    raw_end(&liar->server);
    at_free(liar);
    trio_free(t);
}

/* --- several that need copies --- */

static void put_pair(struct fake_disk *d, const char *prefix, uint32_t origin, uint64_t seq)
{
    uint8_t key[20] = {0};
    uint8_t value[8] = {0};
    size_t len = strlen(prefix);

    memcpy(key, prefix, len);
    key[len + 3] = (uint8_t)origin;
    key[len + 7] = 1; /* epoch */
    value[7] = (uint8_t)seq;
    fake_put(d, at_slice_make(key, len + 8), at_slice_make(value, sizeof(value)));
}

/* Of each member's 100 entries one other has them, and nobody's log. */
static void three_that_all_need_copies_get_them(void **state)
{
    (void)state;
    struct trio *t = trio_start();

    for (int i = 0; i < FAKE_MEMBERS; i++)
        fake_stop(&t->m[i]);
    for (uint32_t i = 0; i < FAKE_MEMBERS; i++)
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t origin = (i + k) % FAKE_MEMBERS + 1;
            put_pair(&t->m[i].disk, "r/v/", origin, 100);
            put_pair(&t->m[i].disk, "r/base/", origin, 100);
            t->m[i].disk.entry_count[origin] = 100;
            t->m[i].disk.sum[origin] = origin;
        }
    for (int i = 0; i < FAKE_MEMBERS; i++)
        fake_start(&t->m[i], t->ports, false, WAIT_MS);
    uint64_t end_ms = now_ms() + 2 * PATIENCE_MS;
    bool all = false;
    while (!all && now_ms() < end_ms) {
        all = true;
        for (int i = 0; i < FAKE_MEMBERS; i++) {
            struct at_replica_view view = view_of(&t->m[i]);
            all = all && view.mode == AT_MODE_READY && view.caught_up && view.applied.count == 3;
            at_replica_view_deinit(&view);
        }
        pause_ms(5);
    }
    assert_true(all);
    await_convergence(t, 300);
    for (int i = 0; i < FAKE_MEMBERS; i++)
        await_sources(&t->m[i], 0);
    trio_free(t);
}

static void a_receiver_that_is_started_again_begins_anew(void **state)
{
    (void)state;
    struct trio *t = trio_new();

    fake_start(&t->m[0], t->ports, false, WAIT_MS);
    fake_start(&t->m[1], t->ports, false, WAIT_MS);
    fake_write_entries(&t->m[0], 5, 10, 100);
    t->m[2].newcomer = true;
    for (uint32_t i = 0; i < 3; i++) {
        atomic_store(&t->m[0].lie, FAKE_STALL);
        atomic_store(&t->m[1].lie, FAKE_STALL);
        uint64_t end_ms = now_ms() + PATIENCE_MS;
        uint32_t before = atomic_load(&t->m[0].chunks_read) + atomic_load(&t->m[1].chunks_read);
        uint32_t read = before;
        fake_start(&t->m[2], t->ports, false, WAIT_MS);
        for (; read <= before + (i == 0 ? 6 : 0) && now_ms() < end_ms; pause_ms(2))
            read = atomic_load(&t->m[0].chunks_read) + atomic_load(&t->m[1].chunks_read);
        assert_true(read > before);
        fake_stop(&t->m[2]);
        atomic_store(&t->m[0].lie, FAKE_HONEST);
        atomic_store(&t->m[1].lie, FAKE_HONEST);
        await_sources(&t->m[0], 0); /* none is left for its 30 s */
        await_sources(&t->m[1], 0);
    }
    fake_start(&t->m[2], t->ports, false, WAIT_MS);
    await_filled(&t->m[2]);
    await_convergence(t, 50);
    trio_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_donor_that_lies_changes_nothing),
        cmocka_unit_test(a_donor_is_told_when_its_copy_is_given_up),
        cmocka_unit_test(a_snapshot_is_freed_when_its_receiver_is_silent_for_30_s),
        cmocka_unit_test(who_waits_for_a_chunk_is_not_silent),
        cmocka_unit_test(a_snapshot_is_freed_when_its_receiver_says_so),
        cmocka_unit_test(chunks_that_wait_are_refused_when_the_snapshot_goes),
        cmocka_unit_test(one_copy_is_given_at_a_time),
        cmocka_unit_test(a_copy_is_dropped_before_a_close_or_a_fence_is_answered),
        cmocka_unit_test(a_copy_of_an_older_process_is_not_begun),
        cmocka_unit_test(three_that_all_need_copies_get_them),
        cmocka_unit_test(a_receiver_that_is_started_again_begins_anew),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its threads running */
        at_peer_sockets_end();
    return failed;
}
