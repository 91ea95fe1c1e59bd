#include "support/test.h"

#include <stdio.h>

#include "cluster/tablet/local_ids.h"

static void names_and_generations_have_ids_of_their_own(void **state)
{
    struct at_local_ids ids;

    (void)state;
    at_local_ids_init(&ids);
    assert_int_equal(at_local_ids_find(&ids, 0, AT_LIT("t"), 1), 0);
    uint32_t t1 = at_local_ids_add(&ids, 0, AT_LIT("t"), 1)->id;
    uint32_t t3 = at_local_ids_add(&ids, 0, AT_LIT("t"), 3)->id;
    uint32_t f = at_local_ids_add(&ids, t1, AT_LIT("t"), 1)->id;
    uint32_t g = at_local_ids_add(&ids, t3, AT_LIT("t"), 1)->id;
    assert_int_not_equal(t1, t3);
    assert_int_not_equal(f, g);
    assert_int_equal(at_local_ids_find(&ids, 0, AT_LIT("t"), 1), t1);
    assert_int_equal(at_local_ids_find(&ids, t1, AT_LIT("t"), 1), f);
    assert_int_equal(at_local_ids_find(&ids, t3, AT_LIT("t"), 1), g);
    assert_int_equal(at_local_ids_find(&ids, t3, AT_LIT("t"), 3), 0);
    at_local_ids_deinit(&ids);
}

static void restored_ids_are_found_and_never_given_again(void **state)
{
    struct at_local_ids ids;
    struct at_local_ids again;
    struct at_buf key;
    char name[16];

    (void)state;
    at_local_ids_init(&ids);
    at_local_ids_init(&again);
    at_buf_init(&key, AT_LOCAL_ID_KEY_BYTES_MAX);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        const struct at_local_id *item = at_local_ids_add(&ids, 0, at_slice_cstr(name), 1);
        uint8_t id[4] = {0, 0, (uint8_t)(item->id >> 8), (uint8_t)item->id};
        at_buf_clear(&key);
        assert_int_equal(at_local_id_key(item, &key), AT_OK);
        struct at_slice value = at_slice_make(id, 4);
        assert_int_equal(at_local_ids_restore(&again, at_buf_slice(&key), value), AT_OK);
        assert_int_equal(at_local_ids_restore(&again, at_buf_slice(&key), value), AT_DATA_LOSS);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        struct at_slice s = at_slice_cstr(name);
        assert_int_equal(at_local_ids_find(&again, 0, s, 1), at_local_ids_find(&ids, 0, s, 1));
    }
    assert_int_equal(at_local_ids_add(&again, 0, AT_LIT("new"), 1)->id, 1001);
    at_buf_deinit(&key);
    at_local_ids_deinit(&again);
    at_local_ids_deinit(&ids);
}

static void malformed_records_are_refused(void **state)
{
    struct at_local_ids ids;

    (void)state;
    at_local_ids_init(&ids);
    assert_int_equal(at_local_ids_restore(&ids, AT_LIT("short"), AT_LIT("\0\0\0\1")), AT_DATA_LOSS);
    assert_int_equal(at_local_ids_restore(&ids, AT_LIT("aaaabbbbbbbbn"), AT_LIT("\0\0\1")),
                     AT_DATA_LOSS);
    assert_int_equal(at_local_ids_restore(&ids, AT_LIT("aaaabbbbbbbbn"), AT_LIT("\0\0\0\0")),
                     AT_DATA_LOSS);
    at_local_ids_deinit(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_generations_have_ids_of_their_own),
        cmocka_unit_test(restored_ids_are_found_and_never_given_again),
        cmocka_unit_test(malformed_records_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
