#include "cluster/graduation.h"

#include "support/test.h"

struct graduation_case {
    const char *name;
    enum at_replica_mode mode;
    bool caught_up, joined, may_write;
    uint64_t counter;
    bool creating;
    enum at_graduation_step step;
};

static const struct graduation_case CASES[] = {
    {"nothing before it is filled", AT_MODE_INIT, false, false, false, 1, true, AT_GRADUATION_WAIT},
    {"nor while it is", AT_MODE_COPYING, false, false, false, 1, true, AT_GRADUATION_WAIT},
    {"nor before it caught up", AT_MODE_READY, false, true, true, 1, true, AT_GRADUATION_WAIT},
    {"nor before all others know it", AT_MODE_READY, true, false, true, 1, true,
     AT_GRADUATION_WAIT},
    {"nor while writes are refused", AT_MODE_READY, true, true, false, 1, true, AT_GRADUATION_WAIT},
    {"nor before its record has come", AT_MODE_READY, true, true, true, 0, false,
     AT_GRADUATION_WAIT},
    {"then it says so", AT_MODE_READY, true, true, true, 1, true, AT_GRADUATION_WRITE},
    {"once", AT_MODE_READY, true, true, true, 1, false, AT_GRADUATION_DONE},
    {"and not if it was deleted meanwhile", AT_MODE_READY, true, true, true, 2, false,
     AT_GRADUATION_DONE},
    {"made again, it says so again", AT_MODE_READY, true, true, true, 3, true, AT_GRADUATION_WRITE},
};

static void a_newcomer_says_once_that_it_is_ready(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct graduation_case *c = &CASES[i];
        struct at_replica_view view = {.mode = c->mode,
                                       .caught_up = c->caught_up,
                                       .joined = c->joined,
                                       .may_write = c->may_write};
        if (at_graduation_next(&view, c->counter, c->creating) != c->step)
            fail_msg("%s", c->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_says_once_that_it_is_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
