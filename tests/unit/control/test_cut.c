#include "cluster/control/cut.h"

#include "replication/peer/peering.h"
#include "support/admin_fixture.h"

/* SetCut, with links that only note what they are told. */

static struct {
    uint32_t member;
    bool asking;
    bool answering;
} told[8];
static uint32_t told_count;

static void fake_cut(void *ctx, struct at_member_id member, bool asking, bool answering)
{
    (void)ctx;
    told[told_count].member = member.v;
    told[told_count].asking = asking;
    told[told_count++].answering = answering;
}

static void
run(struct afx *s, const char *request, enum at_code code, const char *o, uint32_t expect_count)
{
    told_count = 0;
    afx_run_step(s, &(struct afx_step){"SetCut", request, code, o});
    assert_int_equal(told_count, expect_count);
}

static void one_link_is_cut_or_all_are(void **state)
{
    struct afx *s = at_alloc(sizeof(*s));

    (void)state;
    afx_open(s);
    run(s, "", AT_UNIMPLEMENTED, "no links", 0);
    s->service.port.cut = fake_cut;
    run(s, "1:c2 2=1 3=1", AT_OK, NULL, 1);
    assert_int_equal(told[0].member, 2);
    assert_true(told[0].asking && told[0].answering);
    run(s, "1:c2 2=1", AT_OK, NULL, 1);
    assert_true(told[0].asking && !told[0].answering);
    run(s, "", AT_OK, NULL, 1); /* heals all */
    assert_false(told[0].asking || told[0].answering);
    run(s, "1:c1 2=1", AT_NOT_FOUND, "c1", 0);
    run(s, "1:c9 2=1", AT_NOT_FOUND, "c9", 0);
    afx_close(s);
    at_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_link_is_cut_or_all_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
