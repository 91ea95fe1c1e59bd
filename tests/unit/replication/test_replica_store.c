#include "base/bytes.h"
#include "support/replica_model.h"
#include "support/test.h"

/* Stored records. That they bring everything back is what the model's crashes test. */

static const struct at_member_id members[] = {{1}, {2}};

static struct at_replica *fresh(uint64_t instance_id, uint32_t self)
{
    struct at_replica_config config = {.instance_id = instance_id,
                                       .self = {self},
                                       .members = members,
                                       .member_count = 2,
                                       .max_skew_ns = 400 * MODEL_MS,
                                       .reserve_step_ns = 100 * MODEL_MS};
    return at_replica_new(&config);
}

static void copy_over(void *ctx, struct at_slice key, struct at_slice value)
{
    assert_int_equal(at_replica_restore(ctx, key, value, NULL), AT_OK);
}

/* A replica restored from what `from` puts. */
static struct at_replica *moved(struct at_replica *from, uint64_t instance_id, uint32_t self)
{
    struct at_replica *to = fresh(instance_id, self);

    assert_true(at_replica_flush(from, copy_over, to));
    return to;
}

static void a_store_of_another_instance_or_member_does_not_start(void **state)
{
    static const struct {
        uint64_t instance_id;
        uint32_t self;
        enum at_code rc;
    } cases[] = {{77, 1, AT_OK}, {78, 1, AT_FAILED_PRECONDITION}, {77, 2, AT_FAILED_PRECONDITION}};
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        struct at_replica *from = fresh(77, 1);
        assert_int_equal(at_replica_start(from, false, 1000, NULL), AT_OK);
        struct at_replica *to = moved(from, cases[i].instance_id, cases[i].self);
        assert_int_equal(at_replica_start(to, false, 1000, NULL), cases[i].rc);
        at_replica_free(&from);
        at_replica_free(&to);
    }
}

static void a_store_without_its_identity_does_not_start(void **state)
{
    struct at_replica *r = fresh(77, 1);
    (void)state;

    copy_over(r, AT_LIT("r/clock"), AT_LIT("\0\0\0\0\0\0\0\1"));
    assert_int_equal(at_replica_start(r, false, 1000, NULL), AT_FAILED_PRECONDITION);
    at_replica_free(&r);
}

struct bad_case {
    const char *name;
    struct at_slice key;
    struct at_slice value;
};

static void damaged_and_unknown_records_are_refused(void **state)
{
    const struct bad_case cases[] = {
        {"unknown key", AT_LIT("r/later"), AT_LIT("x")},
        {"short clock", AT_LIT("r/clock"), AT_LIT("1234567")},
        {"a clock beyond all", AT_LIT("r/clock"), AT_LIT("\x80\0\0\0\0\0\0\0")},
        {"long horizon", AT_LIT("r/horizon"), AT_LIT("123456789")},
        {"later version", AT_LIT("r/id"), AT_LIT("\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\1")},
        {"epoch 0", AT_LIT("r/epoch"), AT_LIT("\0\0\0\0\0\0\0\1")},
        {"closed beyond the epoch", AT_LIT("r/epoch"), AT_LIT("\0\0\0\1\0\0\0\2")},
        {"unknown mode", AT_LIT("r/mode"), AT_LIT("\x7f\1")},
        {"short pair key", AT_LIT("r/v/\0\0\0\1\0\0\0"), AT_LIT("\0\0\0\0\0\0\0\1")},
        {"origin 0", AT_LIT("r/v/\0\0\0\0\0\0\0\1"), AT_LIT("\0\0\0\0\0\0\0\1")},
        {"short base", AT_LIT("r/base/\0\0\0\1\0\0\0\1"), AT_LIT("\0\0\0\0\0\0\1")},
        {"an origin of no msgpack", AT_LIT("r/origin/\0\0\0\1"), AT_LIT("\xc1")},
    };
    struct at_error e;
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct at_replica *r = fresh(77, 1);
        if (at_replica_restore(r, cases[i].key, cases[i].value, &e) != AT_INVALID_ARGUMENT)
            fail_msg("accepted: %s", cases[i].name);
        at_replica_free(&r);
    }
}

static void a_deleted_record_is_nothing(void **state)
{
    struct at_replica *r = fresh(77, 1);
    (void)state;

    assert_int_equal(at_replica_restore(r, AT_LIT("r/v/\0\0\0\1\0\0\0\1"), AT_LIT(""), NULL),
                     AT_OK);
    at_replica_free(&r);
}

static void count_records(void *ctx, struct at_slice key, struct at_slice value)
{
    (void)key;
    (void)value;
    ++*(uint32_t *)ctx;
}

static void a_flush_without_changes_puts_nothing(void **state)
{
    struct at_replica *r = fresh(77, 1);
    uint32_t count = 0;
    (void)state;

    assert_int_equal(at_replica_start(r, false, 1000, NULL), AT_OK);
    assert_true(at_replica_flush(r, count_records, &count)); /* birth is synced */
    assert_true(count >= 5);
    at_replica_committed(r, true);
    count = 0;
    assert_false(at_replica_flush(r, count_records, &count));
    assert_int_equal(count, 0);
    at_replica_free(&r);
}

static void keep_clock(void *ctx, struct at_slice key, struct at_slice value)
{
    if (at_slice_eq(key, AT_LIT("r/clock")))
        *(uint64_t *)ctx = at_get_be64(value.data);
}

static void the_clock_is_reserved_further_without_a_sync_of_its_own(void **state)
{
    struct at_replica *r = fresh(77, 1);
    uint64_t clock = 0;
    (void)state;

    assert_int_equal(at_replica_start(r, false, 1000, NULL), AT_OK);
    assert_true(at_replica_flush(r, keep_clock, &clock));
    at_replica_committed(r, true);
    uint64_t late = clock - 10 * MODEL_MS;
    assert_true(at_replica_promise(r, late));
    assert_false(at_replica_wants_sync(r)); /* it is not even stored */
    assert_false(at_replica_flush(r, keep_clock, &clock));
    assert_int_equal(clock, late + 100 * MODEL_MS);
    at_replica_committed(r, false);
    assert_true(at_replica_wants_sync(r));
    assert_int_equal(at_replica_clock_stored(r), clock);

    struct at_vector nothing = {0};
    at_replica_synced(r, &nothing, clock);
    assert_false(at_replica_wants_sync(r));
    assert_false(at_replica_promise(r, late + 50 * MODEL_MS));
    at_replica_free(&r);
}

static void a_clock_beyond_what_is_durable_is_synced(void **state)
{
    struct at_replica *r = fresh(77, 1);
    uint64_t clock = 0;
    (void)state;

    assert_int_equal(at_replica_start(r, false, 1000, NULL), AT_OK);
    assert_true(at_replica_flush(r, keep_clock, &clock));
    at_replica_committed(r, true);
    uint64_t durable = clock;
    assert_true(at_replica_promise(r, durable - 1));
    assert_false(at_replica_flush(r, keep_clock, &clock));
    at_replica_committed(r, false);
    assert_true(at_replica_promise(r, durable + 1));
    assert_true(at_replica_flush(r, keep_clock, &clock));
    assert_int_equal(clock, durable + 1 + 100 * MODEL_MS);
    at_replica_committed(r, true);
    at_replica_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_of_another_instance_or_member_does_not_start),
        cmocka_unit_test(a_store_without_its_identity_does_not_start),
        cmocka_unit_test(damaged_and_unknown_records_are_refused),
        cmocka_unit_test(a_deleted_record_is_nothing),
        cmocka_unit_test(a_flush_without_changes_puts_nothing),
        cmocka_unit_test(the_clock_is_reserved_further_without_a_sync_of_its_own),
        cmocka_unit_test(a_clock_beyond_what_is_durable_is_synced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
