#include "replication/token.h"

#include "base/alloc.h"
#include "support/test.h"

static const struct at_member_id members[] = {{1}, {2}};

static void fill(struct at_vector_answer *a, uint64_t one, uint64_t two)
{
    *a = (struct at_vector_answer){.ready = true, .member_count = 2, .members = {{1}, {2}}};
    (void)at_vector_raise(&a->durable, (struct at_position){{1}, 1, one});
    (void)at_vector_raise(&a->durable, (struct at_position){{2}, 1, two});
}

static void the_text_comes_back_and_nothing_else_is_taken(void **state)
{
    struct at_token t;
    struct at_token got;
    struct at_vector_answer a;
    struct at_buf text;
    (void)state;

    fill(&a, 5, 700);
    at_token_init(&t);
    t.instance_id = 77;
    t.table_hash = UINT64_MAX;
    at_token_note(&t, members[0], &a);
    at_token_note(&t, members[1], NULL);
    at_buf_init(&text, 4096);
    assert_int_equal(at_token_encode(&t, &text), AT_OK);
    at_token_init(&got);
    assert_int_equal(at_token_decode(&got, at_buf_slice(&text)), AT_OK);
    assert_int_equal(got.instance_id, 77);
    assert_true(got.table_hash == UINT64_MAX);
    assert_int_equal(at_vector_get(&got.positions, members[1], 1), 700);
    assert_int_equal(got.asked_count, 2);
    assert_int_equal(got.not_reached_count, 1);
    assert_int_equal(got.not_reached[0].v, 2);
    at_token_deinit(&got);

    for (size_t n = 0; n < text.len; n++) {
        at_token_init(&got);
        assert_int_equal(at_token_decode(&got, at_slice_make(text.data, n)), AT_INVALID_ARGUMENT);
        at_token_deinit(&got);
    }
    for (size_t i = 0; i < text.len; i++) {
        uint8_t was = text.data[i];
        text.data[i] = was == 'A' ? 'B' : 'A';
        at_token_init(&got);
        /* the last character holds bits that mean nothing */
        if (i + 1 < text.len)
            assert_int_equal(at_token_decode(&got, at_buf_slice(&text)), AT_INVALID_ARGUMENT);
        at_token_deinit(&got);
        text.data[i] = was;
    }
    static const char *const junk[] = {"", "TestToken", "\xff\xff", "AAAAAAAAAAAAAAAAAAAA", "%"};
    for (size_t i = 0; i < 5; i++) {
        at_token_init(&got);
        assert_int_equal(at_token_decode(&got, at_slice_cstr(junk[i])), AT_INVALID_ARGUMENT);
        at_token_deinit(&got);
    }
    at_buf_deinit(&text);
    at_vector_deinit(&a.durable);
    at_token_deinit(&t);
}

static void a_text_beyond_the_limit_is_refused(void **state)
{
    struct at_token got;
    size_t len = AT_TOKEN_BYTES_MAX * 3;
    char *text = test_malloc(len);
    (void)state;

    memset(text, 'A', len);
    at_token_init(&got);
    assert_int_equal(at_token_decode(&got, at_slice_make(text, len)), AT_INVALID_ARGUMENT);
    at_token_deinit(&got);
    test_free(text);
}

static void all_members_must_cover_it_durably(void **state)
{
    struct at_token t;
    struct at_vector_answer a;
    struct at_vector_answer b;
    const struct at_vector_answer *answers[] = {&a, &b};
    (void)state;

    fill(&a, 5, 3);
    fill(&b, 4, 3);
    at_token_init(&t);
    at_token_note(&t, members[0], &a);
    at_token_note(&t, members[1], &b);
    assert_false(at_token_check(&t, members, answers, 2));
    (void)at_vector_raise(&b.durable, (struct at_position){{1}, 1, 5});
    assert_true(at_token_check(&t, members, answers, 2));
    (void)at_vector_raise(&a.durable, (struct at_position){{1}, 1, 900}); /* later writes */
    assert_true(at_token_check(&t, members, answers, 2));
    at_vector_deinit(&a.durable);
    at_vector_deinit(&b.durable);
    at_token_deinit(&t);
}

static void a_member_that_is_silent_or_not_ready_keeps_it_false(void **state)
{
    struct at_token t;
    struct at_vector_answer a;
    struct at_vector_answer b;
    const struct at_vector_answer *answers[] = {&a, NULL};
    (void)state;

    fill(&a, 5, 3);
    fill(&b, 5, 3);
    at_token_init(&t);
    at_token_note(&t, members[0], &a);
    at_token_note(&t, members[1], &b);
    assert_false(at_token_check(&t, members, answers, 2));
    answers[1] = &b;
    b.ready = false;
    assert_false(at_token_check(&t, members, answers, 2));
    b.ready = true;
    assert_true(at_token_check(&t, members, answers, 2));
    assert_false(at_token_check(&t, members, answers, 0));
    at_vector_deinit(&a.durable);
    at_vector_deinit(&b.durable);
    at_token_deinit(&t);
}

static void an_epoch_that_left_the_vectors_is_covered(void **state)
{
    struct at_token t;
    struct at_vector_answer a;
    struct at_vector_answer b;
    const struct at_vector_answer *answers[] = {&a, &b};
    (void)state;

    fill(&a, 5, 3);
    fill(&b, 5, 3);
    at_token_init(&t);
    at_token_note(&t, members[0], &a);
    at_token_note(&t, members[1], &b);
    at_vector_drop(&b.durable, members[0], 1);
    assert_false(at_token_check(&t, members, answers, 2));
    at_positions_facts_add_first_open(&b.facts, (struct at_first_open){members[0], 2});
    assert_true(at_token_check(&t, members, answers, 2));
    at_positions_facts_deinit(&b.facts);
    at_vector_deinit(&a.durable);
    at_vector_deinit(&b.durable);
    at_token_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_comes_back_and_nothing_else_is_taken),
        cmocka_unit_test(a_text_beyond_the_limit_is_refused),
        cmocka_unit_test(all_members_must_cover_it_durably),
        cmocka_unit_test(a_member_that_is_silent_or_not_ready_keeps_it_false),
        cmocka_unit_test(an_epoch_that_left_the_vectors_is_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
