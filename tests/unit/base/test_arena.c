#include "base/arena.h"

#include "base/alloc.h"
#include "base/prng.h"
#include "support/test.h"

#include <stdalign.h>

static void memory_is_zeroed_and_aligned(void **state)
{
    AT_CLEANUP(at_arena_deinit) struct at_arena a;
    static const uint8_t zeros[700];

    (void)state;
    at_arena_init(&a, 512);
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < sizeof(zeros); size++) {
            uint8_t *p = at_arena_alloc(&a, size);
            assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
            assert_memory_equal(p, zeros, size);
            memset(p, 0xff, size);
        }
        at_arena_reset(&a);
    }
}

static void pieces_never_overlap(void **state)
{
    enum { COUNT = 500 };
    AT_CLEANUP(at_arena_deinit) struct at_arena a;
    struct at_slice pieces[COUNT];
    struct at_prng rng;

    (void)state;
    at_prng_init(&rng, 1);
    at_arena_init(&a, 300);
    for (int i = 0; i < COUNT; i++) {
        size_t size = at_prng_below(&rng, i % 50 == 0 ? 3000000 : 2000);
        uint8_t *p = at_arena_alloc_raw(&a, size);
        memset(p, i & 0xff, size);
        pieces[i] = at_slice_make(p, size);
    }
    for (int i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < pieces[i].len; k++)
            assert_true(pieces[i].data[k] == (i & 0xff));
    }
}

static void what_fits_the_first_block_allocates_nothing_after_a_reset(void **state)
{
    AT_CLEANUP(at_arena_deinit) struct at_arena a;

    (void)state;
    at_arena_init(&a, 1024);
    at_arena_reset(&a);
    void *first = at_arena_alloc(&a, 1000);
    const struct at_arena_block *block = a.head;
    at_arena_reset(&a);
    assert_ptr_equal(at_arena_alloc(&a, 1000), first);
    assert_ptr_equal(a.head, block);

    (void)at_arena_alloc(&a, 5000);
    (void)at_arena_alloc(&a, 50);
    (void)at_arena_alloc(&a, 5000000);
    assert_ptr_not_equal(a.head, block);
    at_arena_reset(&a);
    assert_ptr_equal(a.head, block);
    assert_ptr_equal(at_arena_alloc(&a, 1000), first);
}

static void a_large_piece_does_not_waste_the_newest_block(void **state)
{
    AT_CLEANUP(at_arena_deinit) struct at_arena a;

    (void)state;
    at_arena_init(&a, 256);
    (void)at_arena_alloc(&a, 200);
    uint8_t *before = at_arena_alloc(&a, 300);
    (void)at_arena_alloc(&a, 10000000);
    uint8_t *after = at_arena_alloc(&a, 16);
    assert_ptr_equal(after, before + 304);
}

static void used_bytes_counts_since_the_last_reset(void **state)
{
    AT_CLEANUP(at_arena_deinit) struct at_arena a;

    (void)state;
    at_arena_init(&a, 256);
    (void)at_arena_alloc(&a, 32);
    (void)at_arena_alloc(&a, 16000);
    assert_int_equal(a.used_bytes, 16032);
    at_arena_reset(&a);
    assert_int_equal(a.used_bytes, 0);
}

static void copies_and_prints(void **state)
{
    AT_CLEANUP(at_arena_deinit) struct at_arena a;

    (void)state;
    at_arena_init(&a, 256);
    struct at_slice s = at_arena_copy(&a, at_slice_make("a\0b", 3));
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.data, "a\0b", 4);
    s = at_arena_copy(&a, at_slice_make(NULL, 0));
    assert_int_equal(s.len, 0);
    assert_int_equal(s.data[0], 0);
    assert_string_equal(at_arena_printf(&a, "%s-%d", "x", 5), "x-5");
    assert_int_equal(strlen(at_arena_printf(&a, "%0*d", 1000, 5)), 1000);
}

static void asan_sees_the_edges(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    static const size_t sizes[] = {5, 2000, 10000000};
    AT_CLEANUP(at_arena_deinit) struct at_arena a;

    (void)state;
    at_arena_init(&a, 256);
    for (size_t i = 0; i < 3; i++) {
        uint8_t *p = at_arena_alloc(&a, sizes[i] - 1);
        assert_int_equal(__asan_address_is_poisoned(p + sizes[i] - 2), 0);
        assert_int_equal(__asan_address_is_poisoned(p + sizes[i] - 1), 1);
    }
    uint8_t *first = a.next;
    at_arena_reset(&a);
    assert_int_equal(__asan_address_is_poisoned(a.next), 1);
    assert_ptr_not_equal(a.next, first);
#else
    (void)state;
    skip();
#endif
}

static void an_arena_that_was_never_used_can_go(void **state)
{
    struct at_arena a;

    (void)state;
    at_arena_init(&a, 0);
    at_arena_deinit(&a);
    at_arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(pieces_never_overlap),
        cmocka_unit_test(what_fits_the_first_block_allocates_nothing_after_a_reset),
        cmocka_unit_test(a_large_piece_does_not_waste_the_newest_block),
        cmocka_unit_test(used_bytes_counts_since_the_last_reset),
        cmocka_unit_test(copies_and_prints),
        cmocka_unit_test(asan_sees_the_edges),
        cmocka_unit_test(an_arena_that_was_never_used_can_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
