#include "replication/facts.h"

#include "base/limits.h"
#include "support/test.h"

static void fill(struct at_positions_facts *f, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        at_positions_facts_add_first_open(f, (struct at_first_open){{i}, i + 1});
        at_positions_facts_add_end(f, (struct at_epoch_end){{i}, i, 1000 + i});
        at_positions_facts_add_promise(f, (struct at_promise){{i}, i + 5, i, 7 * i, i});
        at_positions_facts_add_vouch(f, (struct at_vouch){{i}, {{i + 1}, i, 2 * i}});
    }
}

static void same(const struct at_positions_facts *a, const struct at_positions_facts *b)
{
    assert_int_equal(a->first_open_count, b->first_open_count);
    assert_int_equal(a->end_count, b->end_count);
    assert_int_equal(a->promise_count, b->promise_count);
    assert_int_equal(a->vouch_count, b->vouch_count);
    for (uint32_t i = 0; i < a->end_count; i++) {
        assert_int_equal(a->first_open[i].epoch, b->first_open[i].epoch);
        assert_int_equal(a->ends[i].end, b->ends[i].end);
        assert_int_equal(a->promises[i].hlc, b->promises[i].hlc);
        assert_int_equal(a->promises[i].closed_from, b->promises[i].closed_from);
        assert_int_equal(a->vouches[i].voucher.v, b->vouches[i].voucher.v);
        assert_int_equal(a->vouches[i].position.seq, b->vouches[i].position.seq);
    }
}

static void a_copy_owns_what_it_has_and_reuses_its_memory(void **state)
{
    struct at_positions_facts a;
    struct at_positions_facts b;
    (void)state;

    at_positions_facts_init(&a);
    at_positions_facts_init(&b);
    fill(&a, 20);
    at_positions_facts_copy(&b, &a);
    same(&a, &b);
    const void *memory = b.promises;
    at_positions_facts_clear(&a);
    fill(&a, 3);
    at_positions_facts_copy(&b, &a);
    same(&a, &b);
    assert_ptr_equal(b.promises, memory);
    at_positions_facts_deinit(&a);
    assert_int_equal(b.vouches[2].position.seq, 6);
    at_positions_facts_deinit(&b);
}

static void decoded_facts_are_the_encoded_ones_and_prefixes_are_refused(void **state)
{
    struct at_positions_facts a;
    struct at_positions_facts got;
    struct at_positions_facts copy;
    struct at_arena arena;
    struct at_buf out;
    struct at_unpack in;
    (void)state;

    at_positions_facts_init(&a);
    at_positions_facts_init(&copy);
    at_arena_init(&arena, 1024);
    at_buf_init(&out, 1 << 16);
    fill(&a, 9);
    assert_int_equal(at_positions_facts_encode(&a, &out), AT_OK);
    for (size_t n = 0; n < out.len; n++) {
        uint8_t *cut = test_malloc(n + 1);
        memcpy(cut, out.data, n);
        at_unpack_init(&in, at_slice_make(cut, n));
        assert_int_equal(at_positions_facts_decode(&got, &in, &arena), AT_INVALID_ARGUMENT);
        test_free(cut);
    }
    at_unpack_init(&in, at_buf_slice(&out));
    assert_int_equal(at_positions_facts_decode(&got, &in, &arena), AT_OK);
    same(&a, &got);
    at_positions_facts_copy(&copy, &got);
    at_positions_facts_deinit(&got); /* the arena's, not its own */
    same(&a, &copy);
    at_positions_facts_deinit(&copy);
    at_positions_facts_deinit(&a);
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
}

struct bad_case {
    const char *name;
    uint8_t bytes[16];
    size_t len;
};

static const struct bad_case bad_cases[] = {
    {"three lists", {0x93, 0x90, 0x90, 0x90}, 4},
    {"half an item", {0x94, 0x91, 1, 0x90, 0x90, 0x90}, 6},
    {"origin 0", {0x94, 0x92, 0, 1, 0x90, 0x90, 0x90}, 7},
    {"epoch 0", {0x94, 0x92, 1, 0, 0x90, 0x90, 0x90}, 7},
    {"closed_from 0", {0x94, 0x90, 0x90, 0x95, 1, 1, 1, 1, 0, 0x90}, 10},
    {"closed_from beyond the epoch", {0x94, 0x90, 0x90, 0x95, 1, 1, 1, 1, 2, 0x90}, 10},
    {"voucher 0", {0x94, 0x90, 0x90, 0x90, 0x94, 0, 1, 1, 1}, 9},
};

static void malformed_facts_are_refused(void **state)
{
    struct at_positions_facts got;
    struct at_arena arena;
    struct at_unpack in;
    (void)state;

    at_arena_init(&arena, 1024);
    for (size_t i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
        at_unpack_init(&in, at_slice_make(bad_cases[i].bytes, bad_cases[i].len));
        if (at_positions_facts_decode(&got, &in, &arena) != AT_INVALID_ARGUMENT)
            fail_msg("accepted: %s", bad_cases[i].name);
    }
    at_arena_deinit(&arena);
}

static void the_first_open_epoch_is_one_until_told(void **state)
{
    struct at_positions_facts f;
    (void)state;

    at_positions_facts_init(&f);
    fill(&f, 2);
    assert_int_equal(at_positions_facts_first_open(&f, (struct at_member_id){2}), 3);
    assert_int_equal(at_positions_facts_first_open(&f, (struct at_member_id){9}), 1);
    at_positions_facts_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_owns_what_it_has_and_reuses_its_memory),
        cmocka_unit_test(decoded_facts_are_the_encoded_ones_and_prefixes_are_refused),
        cmocka_unit_test(malformed_facts_are_refused),
        cmocka_unit_test(the_first_open_epoch_is_one_until_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
