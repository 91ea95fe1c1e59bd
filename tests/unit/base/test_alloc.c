#include "base/alloc.h"

#include "support/test.h"

#include <string.h>

static void new_memory_is_zeroed(void **state)
{
    static const unsigned char zeros[4096];

    (void)state;
    AT_CLEANUP(at_free_ptr) unsigned char *p = at_alloc(sizeof(zeros));
    assert_memory_equal(p, zeros, sizeof(zeros));
}

static void size_zero_gives_a_pointer(void **state)
{
    (void)state;
    void *p = at_alloc(0);
    assert_non_null(p);
    p = at_realloc(p, 0);
    assert_non_null(p);
    at_free(p);
    at_free(NULL);
}

static void realloc_keeps_the_bytes(void **state)
{
    (void)state;
    char *p = at_realloc(NULL, 4);
    memcpy(p, "abc", 4);
    p = at_realloc(p, 100000);
    assert_string_equal(p, "abc");
    at_free(p);
}

static void dup_copies_embedded_nuls_and_adds_one(void **state)
{
    (void)state;
    AT_CLEANUP(at_free_ptr) char *p = at_dup("a\0b", 3);
    assert_memory_equal(p, "a\0b", 4);
    AT_CLEANUP(at_free_ptr) char *empty = at_dup(NULL, 0);
    assert_string_equal(empty, "");
}

static int *make(void)
{
    AT_CLEANUP(at_free_ptr) int *p = AT_NEW(int);
    *p = 7;
    return AT_TAKE(p);
}

static void take_hands_memory_out_of_a_cleanup_scope(void **state)
{
    (void)state;
    int *p = make();
    assert_int_equal(*p, 7);
    int *q = AT_TAKE(p);
    assert_null(p);
    at_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zeroed),
        cmocka_unit_test(size_zero_gives_a_pointer),
        cmocka_unit_test(realloc_keeps_the_bytes),
        cmocka_unit_test(dup_copies_embedded_nuls_and_adds_one),
        cmocka_unit_test(take_hands_memory_out_of_a_cleanup_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
