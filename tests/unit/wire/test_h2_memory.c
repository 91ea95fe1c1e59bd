#include "support/test.h"

#include "wire/h2_memory.h"
#include <string.h>

static struct at_h2_memory m;

static int begin(void **state)
{
    (void)state;
    at_h2_memory_init(&m);
    return 0;
}

static int end(void **state)
{
    (void)state;
    at_h2_memory_deinit(&m);
    return 0;
}

static void *take(size_t size)
{
    void *p = m.mem.malloc(size, m.mem.mem_user_data);

    memset(p, 0xa5, size);
    return p;
}

static void give_back(void *p)
{
    m.mem.free(p, m.mem.mem_user_data);
}

static void what_was_given_back_is_taken_again(void **state)
{
    (void)state;
    void *first = take(100);
    void *second = take(100);
    assert_ptr_not_equal(first, second);
    give_back(first);
    assert_int_equal(m.kept_bytes, 128);
    void *third = take(200); /* does not fit */
    assert_ptr_not_equal(third, first);
    assert_ptr_equal(take(70), first);
    assert_int_equal(m.kept_bytes, 0);
    give_back(third);
    give_back(second);
    give_back(first);
    give_back(NULL);
}

static void zeroed_blocks_are_zeroed_again(void **state)
{
    static const uint8_t ZEROS[96] = {0};
    (void)state;
    give_back(take(96));
    void *p = m.mem.calloc(6, 16, m.mem.mem_user_data);
    assert_memory_equal(p, ZEROS, sizeof(ZEROS));
    give_back(p);
}

static void a_resized_block_keeps_what_it_holds(void **state)
{
    uint8_t expected[60];
    (void)state;
    memset(expected, 0xa5, sizeof(expected));
    void *p = take(60);
    assert_ptr_equal(m.mem.realloc(p, 64, m.mem.mem_user_data), p);
    for (size_t size = 65; size < 10000; size *= 3) {
        p = m.mem.realloc(p, size, m.mem.mem_user_data);
        assert_memory_equal(p, expected, sizeof(expected));
    }
    give_back(p);
    p = m.mem.realloc(NULL, 10, m.mem.mem_user_data);
    give_back(p);
}

static void large_blocks_and_too_many_are_not_kept(void **state)
{
    static void *blocks[2000];
    (void)state;
    give_back(take(100000));
    give_back(take(1025));
    assert_int_equal(m.kept_bytes, 0);
    for (size_t i = 0; i < 2000; i++)
        blocks[i] = take(1024);
    for (size_t i = 0; i < 2000; i++)
        give_back(blocks[i]);
    assert_int_equal(m.kept_bytes, AT_H2_MEMORY_KEPT_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_given_back_is_taken_again, begin, end),
        cmocka_unit_test_setup_teardown(zeroed_blocks_are_zeroed_again, begin, end),
        cmocka_unit_test_setup_teardown(a_resized_block_keeps_what_it_holds, begin, end),
        cmocka_unit_test_setup_teardown(large_blocks_and_too_many_are_not_kept, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
