#include "cluster/service/details.h"

#include "base/limits.h"
#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"
#include "support/test.h"

/* The one detail of a status, of the type that is expected. */
static struct at_slice
only_detail(struct at_slice bytes, enum at_code code, const char *type, struct at_arena *arena)
{
    Google__Rpc__Status *status = google__rpc__status__unpack(NULL, bytes.len, bytes.data);

    assert_non_null(status);
    assert_int_equal(status->code, code);
    assert_string_equal(status->message, "why");
    assert_int_equal(status->n_details, 1);
    assert_string_equal(status->details[0]->type_url, type);
    struct at_slice value = at_arena_copy(
        arena, at_slice_make(status->details[0]->value.data, status->details[0]->value.len));
    google__rpc__status__free_unpacked(status, NULL);
    return value;
}

static void a_retry_tells_how_long_to_wait(void **state)
{
    struct at_error error = {.code = AT_UNAVAILABLE, .retry_after_ms = 1250, .msg = "why"};
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 4096);
    struct at_slice value = only_detail(at_details_retry(&error, &arena), AT_UNAVAILABLE,
                                        "type.googleapis.com/google.rpc.RetryInfo", &arena);
    Google__Rpc__RetryInfo *info = google__rpc__retry_info__unpack(NULL, value.len, value.data);
    assert_non_null(info);
    assert_int_equal(info->retry_delay->seconds, 1);
    assert_int_equal(info->retry_delay->nanos, 250000000);
    google__rpc__retry_info__free_unpacked(info, NULL);
    at_arena_deinit(&arena);
}

static void a_large_row_is_named(void **state)
{
    struct at_error error = {.code = AT_FAILED_PRECONDITION, .msg = "why"};
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 4096);
    struct at_slice value =
        only_detail(at_details_large_row(&error, AT_LIT("r\0\xff"), &arena), AT_FAILED_PRECONDITION,
                    "type.googleapis.com/google.rpc.ErrorInfo", &arena);
    Google__Rpc__ErrorInfo *info = google__rpc__error_info__unpack(NULL, value.len, value.data);
    assert_non_null(info);
    assert_string_equal(info->reason, "LargeRowReadError");
    assert_string_equal(info->domain, "bigtable.googleapis.com");
    assert_int_equal(info->n_metadata, 1);
    assert_string_equal(info->metadata[0]->key, "rowKeyBase64Encoded");
    assert_string_equal(info->metadata[0]->value, "cgD/");
    google__rpc__error_info__free_unpacked(info, NULL);
    at_arena_deinit(&arena);
}

static void the_longest_row_key_fits(void **state)
{
    static uint8_t key[AT_ROW_KEY_BYTES_MAX];
    struct at_error error = {.code = AT_FAILED_PRECONDITION, .msg = "why"};
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 4096);
    struct at_slice details = at_details_large_row(&error, at_slice_make(key, sizeof(key)), &arena);
    assert_true(details.len > sizeof(key) * 4 / 3);
    assert_true(details.len < 16 * AT_KIB); /* what fits into the trailer */
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_tells_how_long_to_wait),
        cmocka_unit_test(a_large_row_is_named),
        cmocka_unit_test(the_longest_row_key_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
