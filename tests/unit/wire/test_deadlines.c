#include "support/test.h"

#include "base/prng.h"
#include "wire/deadlines.h"

#define COUNT 500

static void check_invariant(const struct at_deadlines *d)
{
    for (size_t i = 0; i < d->count; i++) {
        assert_int_equal(d->items[i]->place, i + 1);
        if (i > 0)
            assert_true(d->items[(i - 1) / 2]->due_ns <= d->items[i]->due_ns);
    }
}

static void the_first_is_always_the_one_due_first(void **state)
{
    (void)state;
    static struct at_deadline items[COUNT];
    struct at_deadlines d = {0};
    struct at_prng prng;
    at_prng_init(&prng, 1);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < COUNT; i++)
            at_deadlines_add(&d, &items[i], at_prng_below(&prng, 1000));
        check_invariant(&d);
        for (int i = 0; i < COUNT / 2; i++) {
            at_deadlines_remove(&d, &items[at_prng_below(&prng, COUNT)]);
            check_invariant(&d);
        }
        uint64_t last = 0;
        while (at_deadlines_first(&d)) {
            struct at_deadline *first = at_deadlines_first(&d);
            assert_true(first->due_ns >= last);
            last = first->due_ns;
            at_deadlines_remove(&d, first);
        }
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(items[i].place, 0);
    }
    at_deadlines_deinit(&d);
}

static void removing_what_is_not_queued_does_nothing(void **state)
{
    (void)state;
    struct at_deadlines d = {0};
    struct at_deadline item = {0};
    at_deadlines_remove(&d, &item);
    assert_null(at_deadlines_first(&d));
    at_deadlines_add(&d, &item, 5);
    assert_ptr_equal(at_deadlines_first(&d), &item);
    at_deadlines_remove(&d, &item);
    at_deadlines_remove(&d, &item);
    assert_null(at_deadlines_first(&d));
    at_deadlines_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_always_the_one_due_first),
        cmocka_unit_test(removing_what_is_not_queued_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
