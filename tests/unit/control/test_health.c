#include "support/admin_fixture.h"

static struct afx_case cases[] = {
    {"the server and each of its services serve",
     {{"Check", "", AT_OK, "status:SERVING"},
      {"Check", "1:google.bigtable.v2.Bigtable", AT_OK, "status:SERVING"},
      {"Check", "1:google.bigtable.admin.v2.BigtableTableAdmin", AT_OK, "status:SERVING"},
      {"Check", "1:google.bigtable.admin.v2.BigtableInstanceAdmin", AT_OK, "status:SERVING"},
      {"Check", "1:nosuch", AT_NOT_FOUND, NULL}}},
};

static void a_cluster_that_was_told_to_stop_does_not_serve(void **state)
{
    static const struct afx_step step = {"Check", "", AT_OK, "status:NOT_SERVING"};
    struct afx *s = at_alloc(sizeof(*s));

    (void)state;
    afx_open(s);
    atomic_store(&s->service.draining, true);
    afx_run_steps(s, &step, 1);
    afx_close(s);
    at_free(s);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_cluster_that_was_told_to_stop_does_not_serve),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others, 1);
}
