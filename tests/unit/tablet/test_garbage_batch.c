/* What walks found is kept whole, wherever they stop. */
#include "cluster/tablet/garbage_batch.h"

#include "base/alloc.h"
#include "support/test.h"

static void a_list_gives_its_keys_back_in_order(void **state)
{
    struct at_key_list list;

    (void)state;
    at_key_list_init(&list);
    assert_true(at_key_list_add(&list, AT_LIT("one")));
    assert_true(at_key_list_add(&list, AT_LIT("")));
    assert_true(at_key_list_add(&list, AT_LIT("three")));
    assert_true(at_slice_eq_cstr(at_key_list_at(&list, 0), "one"));
    assert_int_equal(at_key_list_at(&list, 1).len, 0);
    assert_true(at_slice_eq_cstr(at_key_list_at(&list, 2), "three"));
    at_key_list_clear(&list);
    assert_true(at_key_list_add(&list, AT_LIT("four")));
    assert_true(at_slice_eq_cstr(at_key_list_at(&list, 0), "four"));
    at_key_list_deinit(&list);
}

static void a_list_is_full_by_count_and_by_bytes(void **state)
{
    static const uint8_t large[AT_KEY_BYTES_MAX];
    struct at_key_list list;
    uint32_t count = 0;

    (void)state;
    at_key_list_init(&list);
    while (at_key_list_add(&list, AT_LIT("key")))
        count++;
    assert_int_equal(count, AT_KEY_LIST_MAX);
    at_key_list_clear(&list);
    for (count = 0; at_key_list_add(&list, at_slice_make(large, sizeof(large)));)
        count++;
    assert_in_range(count, 1, AT_KEY_LIST_BYTES_MAX / AT_KEY_BYTES_MAX + 1);
    at_key_list_deinit(&list);
}

static void a_batch_counts_what_is_forgotten_and_the_oldest_schema(void **state)
{
    struct at_garbage_batch *b = at_alloc(sizeof(*b));

    (void)state;
    at_garbage_batch_init(b);
    at_garbage_batch_add(b, AT_LIT("a"), 9);
    at_garbage_batch_forget(b, AT_LIT("b"), 7);
    at_garbage_batch_fold(b, AT_LIT("c"), AT_LIT("value"), 8);
    assert_int_equal(b->count, 2);
    assert_int_equal(b->forgotten, 1);
    assert_int_equal(b->fold_count, 1);
    assert_int_equal(b->schema_version, 7);
    assert_true(at_slice_eq_cstr(b->keys[0], "a"));
    assert_true(at_slice_eq_cstr(b->keys[1], "b"));
    assert_true(at_slice_eq_cstr(b->folds[0].key, "c"));
    assert_true(at_slice_eq_cstr(b->folds[0].value, "value"));
    at_garbage_batch_clear(b);
    assert_int_equal(b->count + b->forgotten + b->fold_count, 0);
    at_garbage_batch_deinit(b);
    at_free(b);
}

/* The most that one look at a key can add. */
static void there_is_room_behind_the_mark(void **state)
{
    static uint8_t large[AT_KEY_BYTES_MAX];
    static uint8_t value[AT_HLL_STATE_BYTES_MAX];
    struct at_garbage_batch *b = at_alloc(sizeof(*b));
    size_t list_bytes = AT_KEY_LIST_BYTES_MAX + sizeof(large);

    (void)state;
    at_garbage_batch_init(b);
    while (b->bytes.len + 1 + sizeof(large) < AT_GARBAGE_BYTES_MAX)
        at_garbage_batch_add(b, at_slice_make(large, sizeof(large)), 1);
    at_garbage_batch_add(b, at_slice_make(large, AT_GARBAGE_BYTES_MAX - 1 - b->bytes.len), 1);
    assert_false(at_garbage_batch_full(b));
    for (size_t left = AT_KEY_LISTS_AT_ONCE * list_bytes; left > 0;) {
        size_t len = left < sizeof(large) ? left : sizeof(large);
        at_garbage_batch_forget(b, at_slice_make(large, len), 1);
        left -= len;
    }
    at_garbage_batch_fold(b, at_slice_make(large, sizeof(large)),
                          at_slice_make(value, sizeof(value)), 1);
    at_garbage_batch_add(b, at_slice_make(large, sizeof(large)), 1);
    assert_true(at_garbage_batch_full(b));
    at_garbage_batch_clear(b);
    for (int i = 0; i < AT_GARBAGE_KEYS_MAX; i++) {
        assert_false(at_garbage_batch_full(b));
        at_garbage_batch_add(b, AT_LIT("k"), 1);
    }
    assert_true(at_garbage_batch_full(b));
    at_garbage_batch_deinit(b);
    at_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_gives_its_keys_back_in_order),
        cmocka_unit_test(a_list_is_full_by_count_and_by_bytes),
        cmocka_unit_test(a_batch_counts_what_is_forgotten_and_the_oldest_schema),
        cmocka_unit_test(there_is_room_behind_the_mark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
