#include "cluster/admin/rfc3339.h"

#include "support/test.h"

struct time_case {
    const char *text;
    bool ok;
    int64_t micros;
};

static struct time_case cases[] = {
    {"1970-01-01T00:00:00Z", true, 0},
    {"2018-03-28T14:50:00Z", true, INT64_C(1522248600000000)},
    {"2018-03-28t14:50:00z", true, INT64_C(1522248600000000)},
    {"2018-03-28T14:50:00.5Z", true, INT64_C(1522248600500000)},
    {"2018-03-28T14:50:00.123456789Z", true, INT64_C(1522248600123456)},
    {"2018-03-28T16:50:00+02:00", true, INT64_C(1522248600000000)},
    {"2018-03-28T09:20:00-05:30", true, INT64_C(1522248600000000)},
    {"2000-02-29T00:00:00Z", true, INT64_C(951782400000000)},
    {"2024-03-01T00:00:00Z", true, INT64_C(1709251200000000)},
    {"0001-01-01T00:00:00Z", true, INT64_C(-62135596800000000)},
    {"9999-12-31T23:59:59Z", true, INT64_C(253402300799000000)},
    {"1900-02-29T00:00:00Z", false, 0},
    {"2018-02-29T00:00:00Z", false, 0},
    {"2018-04-31T00:00:00Z", false, 0},
    {"2018-13-01T00:00:00Z", false, 0},
    {"2018-00-01T00:00:00Z", false, 0},
    {"2018-01-00T00:00:00Z", false, 0},
    {"0000-01-01T00:00:00Z", false, 0},
    {"2018-01-01T24:00:00Z", false, 0},
    {"2018-01-01T00:60:00Z", false, 0},
    {"2018-01-01T00:00:60Z", false, 0},
    {"2018-01-01T00:00:00", false, 0},
    {"2018-01-01T00:00:00.Z", false, 0},
    {"2018-01-01T00:00:00.1234567890Z", false, 0},
    {"2018-01-01T00:00:00+24:00", false, 0},
    {"2018-01-01T00:00:00+1:00", false, 0},
    {"2018-01-01T00:00:00Zx", false, 0},
    {"2018-01-01 00:00:00Z", false, 0},
    {"2018-01-01", false, 0},
    {"2018-1-01T00:00:00Z", false, 0},
    {"", false, 0},
};

static void run(void **state)
{
    const struct time_case *c = *state;
    int64_t micros = 0;

    assert_int_equal(at_rfc3339_read(at_slice_cstr(c->text), &micros), c->ok);
    if (c->ok)
        assert_true(micros == c->micros);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){cases[i].text, run, NULL, NULL, &cases[i]};
    return _cmocka_run_group_tests("rfc3339", tests, COUNT, NULL, NULL);
}
