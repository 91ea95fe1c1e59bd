#include "replication/fill.h"

#include "support/test.h"

/* One valid message of each kind, with every field set. */

struct fixture {
    struct at_buf out;
    struct at_arena arena;
    struct at_vector vector;
    struct at_positions_facts facts;
};

static int setup(void **state)
{
    static struct fixture f;

    at_buf_init(&f.out, 1 << 20);
    at_arena_init(&f.arena, 4096);
    at_vector_init(&f.vector);
    at_positions_facts_init(&f.facts);
    (void)at_vector_raise(&f.vector, (struct at_position){{1}, 1, 5});
    (void)at_vector_raise(&f.vector, (struct at_position){{2}, 300, UINT64_C(1) << 40});
    at_positions_facts_add_first_open(&f.facts, (struct at_first_open){{1}, 2});
    at_positions_facts_add_end(&f.facts, (struct at_epoch_end){{1}, 1, 5});
    at_positions_facts_add_promise(&f.facts, (struct at_promise){{1}, 3, 9, 1000, 2});
    at_positions_facts_add_vouch(&f.facts, (struct at_vouch){{2}, {{1}, 2, 77}});
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    at_buf_deinit(&f->out);
    at_arena_deinit(&f->arena);
    at_vector_deinit(&f->vector);
    at_positions_facts_deinit(&f->facts);
    return 0;
}

static enum at_code encode_member_kind(struct fixture *f, enum at_message_kind kind)
{
    struct at_join join = {.instance_id = 2,
                           .from = {7},
                           .incarnation = 3,
                           .mode = 3,
                           .caught_up = true,
                           .copied_bytes = 10,
                           .copy_bytes = 20,
                           .info = AT_LIT("info"),
                           .registered = {{1}, 2, 3},
                           .hlc = 44};
    struct at_join_answer join_answer = {.instance_id = 2,
                                         .from = {1},
                                         .from_incarnation = 4,
                                         .to = {7},
                                         .verdict = AT_JOIN_KNOWN,
                                         .hlc = 55,
                                         .members = {{{1}, AT_LIT("one")}, {{7}, AT_LIT("")}},
                                         .member_count = 2};
    struct at_fence fence = {.instance_id = 2,
                             .from = {1},
                             .round = 9,
                             .minority_survives = true,
                             .members = {{3}, {4}},
                             .member_count = 2};
    struct at_fence_answer fence_answer = {.instance_id = 2,
                                           .from = {7},
                                           .from_incarnation = 5,
                                           .round = 9,
                                           .applied = f->vector,
                                           .facts = f->facts,
                                           .members = {{{1}, AT_LIT("one")}},
                                           .member_count = 1};

    switch ((int)kind) {
    case AT_MESSAGE_JOIN:
        return at_join_encode(&join, &f->out);
    case AT_MESSAGE_JOIN_ANSWER:
        return at_join_answer_encode(&join_answer, &f->out);
    case AT_MESSAGE_FENCE:
        return at_fence_encode(&fence, &f->out);
    default:
        return at_fence_answer_encode(&fence_answer, &f->out);
    }
}

static enum at_code encode_copy_kind(struct fixture *f, enum at_message_kind kind)
{
    struct at_copy_member members[] = {
        {{1}, 1, false, 2, {{0}, 0, 0}, {{0}, 0, 0}, AT_LIT("one")},
        {{3}, 2, true, 0, {{1}, 1, 5}, {{3}, 4, 5}, AT_LIT("")},
    };
    struct at_copy_state state = {.from = {1},
                                  .incarnation = 6,
                                  .applied = f->vector,
                                  .facts = f->facts,
                                  .horizon = 1000,
                                  .hlc = 2000,
                                  .released = 3000,
                                  .fork_from = 4000,
                                  .fork_id = 5000,
                                  .members = members,
                                  .member_count = 2};

    switch ((int)kind) {
    case AT_MESSAGE_COPY_OPEN:
        return at_copy_open_encode(&(struct at_copy_open){2, {7}, 3, f->vector}, &f->out);
    case AT_MESSAGE_COPY_OPENED:
        return at_copy_opened_encode(&(struct at_copy_opened){2, 77, 1000, 4, &state}, &f->out);
    case AT_MESSAGE_COPY_ASK:
        return at_copy_ask_encode(&(struct at_copy_ask){2, {7}, 77, 3, AT_LIT("cursor"), 4096},
                                  &f->out);
    case AT_MESSAGE_COPY_CHUNK:
        return at_copy_chunk_encode(
            &(struct at_copy_chunk){77, 3, AT_LIT("next"), true, true, 500, 12345, AT_LIT("items")},
            &f->out);
    default:
        return at_copy_close_encode(&(struct at_copy_close){2, {7}, 77}, &f->out);
    }
}

static void encode(struct fixture *f, enum at_message_kind kind)
{
    struct at_run runs[2] = {{{1}, 1, AT_LIT("record"), 99}, {{2}, 3, AT_LIT(""), 0}};
    struct at_gap gap = {{{2}, 1, 44}};
    struct at_pull pull = {.request_id = 1,
                           .instance_id = UINT64_MAX,
                           .from = {7},
                           .incarnation = 3,
                           .applied = f->vector,
                           .durable = f->vector,
                           .facts = f->facts,
                           .member_count = 2,
                           .members = {{1}, {7}},
                           .skip = {{1}},
                           .skip_count = 1,
                           .max_bytes = 4000000,
                           .wait_ms = 1000,
                           .hlc = 123456789,
                           .continues = 17,
                           .unpacks = true};
    struct at_reply reply = {.to_request = 1,
                             .instance_id = 2,
                             .from = {7},
                             .incarnation = 3,
                             .hlc = 99,
                             .runs = runs,
                             .run_count = 2,
                             .gaps = &gap,
                             .gap_count = 1,
                             .ends_known = f->vector,
                             .facts = f->facts,
                             .member_count = 1,
                             .members = {{1}},
                             .more = true};
    struct at_close_answer answer = {.instance_id = 2,
                                     .from = {7},
                                     .from_incarnation = 8,
                                     .origin = {1},
                                     .incarnation = 4,
                                     .round = 2,
                                     .positions = {{{1}, 1, 9}, {{1}, 2, 0}},
                                     .position_count = 2};
    struct at_vector_answer vector_answer = {.instance_id = 2,
                                             .from = {7},
                                             .ready = true,
                                             .durable = f->vector,
                                             .facts = f->facts,
                                             .member_count = 1,
                                             .members = {{1}}};
    enum at_code rc = AT_UNKNOWN;

    at_buf_clear(&f->out);
    switch (kind) {
    case AT_MESSAGE_PULL:
        rc = at_pull_encode(&pull, &f->out);
        break;
    case AT_MESSAGE_REPLY:
        rc = at_reply_encode(&reply, &f->out);
        break;
    case AT_MESSAGE_CLOSE:
        rc = at_close_encode(&(struct at_close){.instance_id = 2,
                                                .origin = {1},
                                                .incarnation = 4,
                                                .round = 3,
                                                .known_count = 1,
                                                .known = {{{5}, 6}}},
                             &f->out);
        break;
    case AT_MESSAGE_CLOSE_ANSWER:
        rc = at_close_answer_encode(&answer, &f->out);
        break;
    case AT_MESSAGE_VECTOR:
        rc = at_vector_ask_encode(&(struct at_vector_ask){2, {7}}, &f->out);
        break;
    case AT_MESSAGE_VECTOR_ANSWER:
        rc = at_vector_answer_encode(&vector_answer, &f->out);
        break;
    case AT_MESSAGE_JOIN:
    case AT_MESSAGE_JOIN_ANSWER:
    case AT_MESSAGE_FENCE:
    case AT_MESSAGE_FENCE_ANSWER:
        rc = encode_member_kind(f, kind);
        break;
    case AT_MESSAGE_COPY_OPEN:
    case AT_MESSAGE_COPY_OPENED:
    case AT_MESSAGE_COPY_ASK:
    case AT_MESSAGE_COPY_CHUNK:
    case AT_MESSAGE_COPY_CLOSE:
        rc = encode_copy_kind(f, kind);
        break;
    case AT_MESSAGE_REFUSED:
        rc = at_refused_encode(AT_LIT("not a member"), &f->out);
        break;
    }
    assert_int_equal(rc, AT_OK);
}

static void same_vector(const struct at_vector *a, const struct at_vector *b)
{
    assert_int_equal(a->count, b->count);
    assert_true(at_vector_covers(a, b) && at_vector_covers(b, a));
}

static void a_pull_comes_out_as_it_went_in(void **state)
{
    struct fixture *f = *state;
    struct at_message m;

    encode(f, AT_MESSAGE_PULL);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    const struct at_pull *p = &m.u.pull;
    assert_int_equal(m.kind, AT_MESSAGE_PULL);
    assert_int_equal(p->request_id, 1);
    assert_true(p->instance_id == UINT64_MAX);
    assert_int_equal(p->from.v, 7);
    assert_int_equal(p->incarnation, 3);
    same_vector(&p->applied, &f->vector);
    same_vector(&p->durable, &f->vector);
    assert_int_equal(at_positions_facts_first_open(&p->facts, (struct at_member_id){1}), 2);
    assert_int_equal(p->facts.ends[0].end, 5);
    assert_int_equal(p->member_count, 2);
    assert_int_equal(p->members[1].v, 7);
    assert_int_equal(p->skip_count, 1);
    assert_int_equal(p->max_bytes, 4000000);
    assert_int_equal(p->wait_ms, 1000);
    assert_int_equal(p->hlc, 123456789);
    assert_int_equal(p->continues, 17);
    assert_true(p->unpacks);
    at_message_deinit(&m);
}

static void a_reply_comes_out_as_it_went_in(void **state)
{
    struct fixture *f = *state;
    struct at_message m;

    encode(f, AT_MESSAGE_REPLY);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    const struct at_reply *r = &m.u.reply;
    assert_int_equal(r->to_request, 1);
    assert_int_equal(r->incarnation, 3);
    assert_int_equal(r->hlc, 99);
    assert_int_equal(r->run_count, 2);
    assert_true(at_slice_eq_cstr(r->runs[0].record, "record"));
    assert_int_equal(r->runs[0].packed_from, 99);
    assert_int_equal(r->runs[1].epoch, 3);
    assert_int_equal(r->runs[1].packed_from, 0);
    assert_int_equal(r->gap_count, 1);
    assert_int_equal(r->gaps[0].base.seq, 44);
    same_vector(&r->ends_known, &f->vector);
    assert_int_equal(r->facts.promise_count, 1);
    assert_int_equal(r->facts.promises[0].hlc, 1000);
    assert_int_equal(r->facts.promises[0].closed_from, 2);
    assert_int_equal(r->facts.vouches[0].voucher.v, 2);
    assert_int_equal(r->facts.vouches[0].position.seq, 77);
    assert_true(r->more);
    at_message_deinit(&m);
}

static void the_small_messages_come_out_as_they_went_in(void **state)
{
    struct fixture *f = *state;
    struct at_message m;

    encode(f, AT_MESSAGE_CLOSE);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.close.origin.v, 1);
    assert_int_equal(m.u.close.incarnation, 4);
    assert_int_equal(m.u.close.round, 3);
    assert_int_equal(m.u.close.known_count, 1);
    assert_int_equal(m.u.close.known[0].member.v, 5);
    assert_int_equal(m.u.close.known[0].incarnation, 6);

    encode(f, AT_MESSAGE_CLOSE_ANSWER);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.close_answer->position_count, 2);
    assert_int_equal(m.u.close_answer->positions[0].seq, 9);
    assert_int_equal(m.u.close_answer->from.v, 7);
    assert_int_equal(m.u.close_answer->from_incarnation, 8);
    assert_int_equal(m.u.close_answer->round, 2);

    encode(f, AT_MESSAGE_VECTOR);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.vector_ask.from.v, 7);

    encode(f, AT_MESSAGE_VECTOR_ANSWER);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_true(m.u.vector_answer.ready);
    same_vector(&m.u.vector_answer.durable, &f->vector);
    at_message_deinit(&m);

    encode(f, AT_MESSAGE_REFUSED);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_true(at_slice_eq_cstr(m.u.refused, "not a member"));
}

static void messages_of_members_come_out_as_they_went_in(void **state)
{
    struct fixture *f = *state;
    struct at_message m;

    encode(f, AT_MESSAGE_JOIN);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.join.from.v, 7);
    assert_int_equal(m.u.join.mode, 3);
    assert_true(m.u.join.caught_up);
    assert_int_equal(m.u.join.copied_bytes, 10);
    assert_int_equal(m.u.join.copy_bytes, 20);
    assert_true(at_slice_eq_cstr(m.u.join.info, "info"));
    assert_int_equal(m.u.join.registered.epoch, 2);
    assert_int_equal(m.u.join.registered.seq, 3);
    assert_int_equal(m.u.join.hlc, 44);

    encode(f, AT_MESSAGE_JOIN_ANSWER);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.join_answer.to.v, 7);
    assert_int_equal(m.u.join_answer.verdict, AT_JOIN_KNOWN);
    assert_int_equal(m.u.join_answer.hlc, 55);
    assert_int_equal(m.u.join_answer.member_count, 2);
    assert_true(at_slice_eq_cstr(m.u.join_answer.members[0].info, "one"));

    encode(f, AT_MESSAGE_FENCE);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.fence.round, 9);
    assert_true(m.u.fence.minority_survives);
    assert_int_equal(m.u.fence.member_count, 2);
    assert_int_equal(m.u.fence.members[1].v, 4);

    encode(f, AT_MESSAGE_FENCE_ANSWER);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.fence_answer->round, 9);
    assert_int_equal(m.u.fence_answer->from_incarnation, 5);
    same_vector(&m.u.fence_answer->applied, &f->vector);
    assert_int_equal(m.u.fence_answer->facts.vouches[0].position.seq, 77);
    assert_int_equal(m.u.fence_answer->member_count, 1);
    at_message_deinit(&m);
}

static void messages_of_copies_come_out_as_they_went_in(void **state)
{
    struct fixture *f = *state;
    struct at_message m;

    encode(f, AT_MESSAGE_COPY_OPEN);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.copy_open.incarnation, 3);
    same_vector(&m.u.copy_open.needs, &f->vector);
    at_message_deinit(&m);

    encode(f, AT_MESSAGE_COPY_OPENED);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    const struct at_copy_state *s = m.u.copy_opened.state;
    assert_int_equal(m.u.copy_opened.snapshot_id, 77);
    assert_int_equal(m.u.copy_opened.part_count, 4);
    assert_int_equal(m.u.copy_opened.bytes, 1000);
    assert_int_equal(s->incarnation, 6);
    same_vector(&s->applied, &f->vector);
    assert_int_equal(s->horizon, 1000);
    assert_int_equal(s->hlc, 2000);
    assert_int_equal(s->released, 3000);
    assert_int_equal(s->fork_from, 4000);
    assert_int_equal(s->fork_id, 5000);
    assert_int_equal(s->facts.promises[0].hlc, 1000);
    assert_int_equal(s->member_count, 2);
    assert_int_equal(s->members[0].min_incarnation, 2);
    assert_true(at_slice_eq_cstr(s->members[0].info, "one"));
    assert_true(s->members[1].fenced);
    assert_int_equal(s->members[1].registered.seq, 5);
    assert_int_equal(s->members[1].last.epoch, 4);
    at_message_deinit(&m);

    encode(f, AT_MESSAGE_COPY_ASK);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.copy_ask.part, 3);
    assert_int_equal(m.u.copy_ask.max_bytes, 4096);
    assert_true(at_slice_eq_cstr(m.u.copy_ask.cursor, "cursor"));

    encode(f, AT_MESSAGE_COPY_CHUNK);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_true(m.u.copy_chunk.last && m.u.copy_chunk.packed);
    assert_int_equal(m.u.copy_chunk.raw_bytes, 500);
    assert_int_equal(m.u.copy_chunk.checksum, 12345);
    assert_true(at_slice_eq_cstr(m.u.copy_chunk.items, "items"));

    encode(f, AT_MESSAGE_COPY_CLOSE);
    assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.copy_close.snapshot_id, 77);
}

static void every_prefix_of_every_message_is_refused(void **state)
{
    struct fixture *f = *state;
    struct at_message m;

    for (int kind = AT_MESSAGE_PULL; kind <= AT_MESSAGE_COPY_CLOSE; kind++) {
        encode(f, (enum at_message_kind)kind);
        for (size_t n = 0; n < f->out.len; n++) {
            uint8_t *cut = test_malloc(n + 1);
            memcpy(cut, f->out.data, n);
            assert_int_equal(at_message_decode(at_slice_make(cut, n), &f->arena, &m),
                             AT_INVALID_ARGUMENT);
            test_free(cut);
        }
        assert_int_equal(at_buf_append(&f->out, AT_LIT("\x01")), AT_OK);
        assert_int_equal(at_message_decode(at_buf_slice(&f->out), &f->arena, &m),
                         AT_INVALID_ARGUMENT);
        at_arena_reset(&f->arena);
    }
}

static void no_changed_byte_makes_the_decoder_misbehave(void **state)
{
    struct fixture *f = *state;
    struct at_message m;

    for (int kind = AT_MESSAGE_PULL; kind <= AT_MESSAGE_COPY_CLOSE; kind++) {
        encode(f, (enum at_message_kind)kind);
        for (size_t i = 0; i < f->out.len; i++) {
            uint8_t was = f->out.data[i];
            for (unsigned v = 0; v < 256; v += 5) {
                f->out.data[i] = (uint8_t)v;
                if (at_message_decode(at_buf_slice(&f->out), &f->arena, &m) == AT_OK)
                    at_message_deinit(&m);
                at_arena_reset(&f->arena);
            }
            f->out.data[i] = was;
        }
    }
}

static void fields_of_later_versions_are_skipped(void **state)
{
    static const uint8_t good[] = {0x87, 0,  3,    1, 9,    3,    1, 4, 4, 11,
                                   0,    31, 0x92, 1, 0xc0, 0xcd, 1, 0, 5};
    struct fixture *f = *state;
    struct at_message m;

    assert_int_equal(at_message_decode(at_slice_make(good, sizeof(good)), &f->arena, &m), AT_OK);
    assert_int_equal(m.u.close.origin.v, 1);
}

struct bad_case {
    const char *name;
    uint8_t bytes[40];
    size_t len;
};

static const struct bad_case bad_cases[] = {
    {"an empty map", {0x80}, 1},
    {"no kind in front", {0x82, 1, 9, 0, 3}, 5},
    {"kind 0", {0x81, 0, 0}, 3},
    {"a kind nobody knows", {0x81, 0, 99}, 3},
    {"a close without incarnation", {0x84, 0, 3, 1, 9, 3, 1, 11, 0}, 9},
    {"a field twice", {0x86, 0, 3, 1, 9, 3, 1, 4, 4, 11, 0, 4, 5}, 13},
    {"the kind twice", {0x86, 0, 3, 1, 9, 3, 1, 4, 4, 11, 0, 0, 2}, 13},
    {"member 0", {0x85, 0, 3, 1, 9, 3, 0, 4, 4, 11, 0}, 11},
    {"a text as key", {0x85, 0, 3, 0xa1, 1, 9, 3, 1, 4, 4, 11, 0}, 12},
    {"a key without value", {0x85, 0, 3, 1, 9, 3, 1, 4, 4, 11}, 10},
    {"a promise with two thirds of a position",
     {0x82, 0, 2, 9, 0x94, 0x90, 0x90, 0x91, 1, 0x90},
     10},
};

static void malformed_messages_are_refused(void **state)
{
    struct fixture *f = *state;
    struct at_message m;

    for (size_t i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
        struct at_slice bytes = at_slice_make(bad_cases[i].bytes, bad_cases[i].len);
        if (at_message_decode(bytes, &f->arena, &m) != AT_INVALID_ARGUMENT)
            fail_msg("accepted: %s", bad_cases[i].name);
    }
}

static void a_list_longer_than_its_limit_is_refused(void **state)
{
    struct fixture *f = *state;
    struct at_message m;
    struct at_buf *out = &f->out;

    /* {0: PULL, 8: [1, 1, ...]}: more members than an instance may have */
    at_buf_clear(out);
    assert_int_equal(at_pack_map(out, 2), AT_OK);
    assert_int_equal(at_pack_u64(out, 0), AT_OK);
    assert_int_equal(at_pack_u64(out, AT_MESSAGE_PULL), AT_OK);
    assert_int_equal(at_pack_u64(out, 8), AT_OK);
    assert_int_equal(at_pack_array(out, AT_MEMBERS_MAX + 1), AT_OK);
    for (uint32_t i = 0; i < AT_MEMBERS_MAX + 1; i++)
        assert_int_equal(at_pack_u64(out, 1), AT_OK);
    assert_int_equal(at_message_decode(at_buf_slice(out), &f->arena, &m), AT_INVALID_ARGUMENT);
}

static void an_encoder_that_meets_the_limit_of_its_buffer_says_so(void **state)
{
    struct fixture *f = *state;
    struct at_buf small;

    encode(f, AT_MESSAGE_PULL);
    for (size_t max = 0; max < f->out.len; max++) {
        struct at_pull pull = {.applied = f->vector, .durable = f->vector, .facts = f->facts};
        struct at_reply reply = {.ends_known = f->vector, .facts = f->facts};
        at_buf_init(&small, max);
        if (max < 40)
            assert_int_equal(at_pull_encode(&pull, &small), AT_RESOURCE_EXHAUSTED);
        at_buf_clear(&small);
        if (max < 30)
            assert_int_equal(at_reply_encode(&reply, &small), AT_RESOURCE_EXHAUSTED);
        at_buf_deinit(&small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(a_pull_comes_out_as_it_went_in),
        TEST(a_reply_comes_out_as_it_went_in),
        TEST(the_small_messages_come_out_as_they_went_in),
        TEST(messages_of_members_come_out_as_they_went_in),
        TEST(messages_of_copies_come_out_as_they_went_in),
        TEST(every_prefix_of_every_message_is_refused),
        TEST(no_changed_byte_makes_the_decoder_misbehave),
        TEST(fields_of_later_versions_are_skipped),
        TEST(malformed_messages_are_refused),
        TEST(a_list_longer_than_its_limit_is_refused),
        TEST(an_encoder_that_meets_the_limit_of_its_buffer_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
