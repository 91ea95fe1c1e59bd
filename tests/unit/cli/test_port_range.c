/* From where free ports are taken. */
#include "cli/port_range.h"

#include <string.h>

#include "support/test.h"

struct wish {
    const char *name;
    const char *text;
    enum at_code code;
    uint32_t first;
    uint32_t last;
};

static const struct wish WISHES[] = {
    {"without a wish they are below the kernel's own", NULL, AT_OK, 16384, 32767},
    {"an empty wish is none", "", AT_OK, 16384, 32767},
    {"both ends belong to it", "20000-20999", AT_OK, 20000, 20999},
    {"one port", "1-1", AT_OK, 1, 1},
    {"all ports", "1-65535", AT_OK, 1, 65535},
    {"port 0 is refused", "0-5", AT_INVALID_ARGUMENT, 0, 0},
    {"a range that ends before it begins is refused", "6-5", AT_INVALID_ARGUMENT, 0, 0},
    {"a port beyond the last is refused", "5-65536", AT_INVALID_ARGUMENT, 0, 0},
    {"a number that does not fit is refused", "5-4294967302", AT_INVALID_ARGUMENT, 0, 0},
    {"half a range is refused", "5-", AT_INVALID_ARGUMENT, 0, 0},
    {"the other half is refused", "-5", AT_INVALID_ARGUMENT, 0, 0},
    {"one number is refused", "5", AT_INVALID_ARGUMENT, 0, 0},
    {"more behind it is refused", "5-6x", AT_INVALID_ARGUMENT, 0, 0},
    {"blanks are refused", "5 - 6", AT_INVALID_ARGUMENT, 0, 0},
};

static void test_wish(void **state)
{
    const struct wish *c = *state;
    struct at_port_range range;
    struct at_error error;

    assert_int_equal(at_port_range_of(c->text, &range, &error), c->code);
    if (c->code != AT_OK) {
        assert_non_null(strstr(error.msg, c->text));
        return;
    }
    assert_int_equal(range.first, c->first);
    assert_int_equal(range.first + range.count - 1, c->last);
    assert_int_equal(at_port_range_at(&range, 0), c->first);
    assert_int_equal(at_port_range_at(&range, range.count - 1), c->last);
    assert_int_equal(at_port_range_at(&range, range.count), c->first);
}

int main(void)
{
    enum { COUNT = sizeof(WISHES) / sizeof(WISHES[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = WISHES[i].name,
                                       .test_func = test_wish,
                                       .initial_state = (void *)(uintptr_t)&WISHES[i]};
    return _cmocka_run_group_tests("port_range", tests, COUNT, NULL, NULL);
}
