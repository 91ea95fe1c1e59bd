#include "cluster/service/namespaces.h"

#include "support/admin_fixture.h"

/* Instances of a cluster that accepts any name. */

#define J "projects/p/instances/j"
#define JT J "/tables/t"
#define CREATE "1:projects/p 2:j 3{2:J} 4{1:c1 2{}}"

static const struct afx_step STEPS[] = {
    {"CreateInstance", "1:projects/p 2:i 3{2:I} 4{1:c1 2{}}", AT_ALREADY_EXISTS, "already exists"},
    {"CreateInstance", "1:projects/p 2:j 4{1:c1 2{}}", AT_INVALID_ARGUMENT, "instance"},
    {"CreateInstance", "1:projects/p 2:j 3{2:J}", AT_INVALID_ARGUMENT, "clusters"},
    {"CreateInstance", CREATE, AT_OK, NULL},
    {"CreateInstance", CREATE, AT_ALREADY_EXISTS, NULL},
    {"ListOperations", "4:operations/" J, AT_OK, NULL},
    {"CreateTable", "1:" J " 2:t 3{3{1:f 2{}}}", AT_OK, NULL},
    {"CreateTable", "1:" J " 2:u 3{9=1}", AT_OK, NULL},
    {"MutateRow", "1:" JT " 2:r 3{1{1:f 2:q 3=1000 4:v}}", AT_OK, NULL},
    {"DeleteTable", "1:" JT, AT_OK, ""},
    {"UndeleteTable", "1:" JT, AT_OK, NULL},
    {"rows", JT, AT_OK, "r: f:q@1000=v|"},
    {"DeleteInstance", "1:" AFX_INSTANCE, AT_FAILED_PRECONDITION, "stays"},
    {"DeleteInstance", "1:" J, AT_FAILED_PRECONDITION, "protected"},
    {"UpdateTable", "1{1:" J "/tables/u} 2{1:deletion_protection}", AT_OK, NULL},
    {"DeleteTable", "1:" J "/tables/u", AT_OK, ""},
    {"DeleteInstance", "1:" J, AT_OK, ""},
    {"DeleteInstance", "1:" J, AT_NOT_FOUND, "not found"},
    /* Neither what it had, nor what had been deleted before. */
    {"UndeleteTable", "1:" JT, AT_NOT_FOUND, NULL},
    {"UndeleteTable", "1:" J "/tables/u", AT_NOT_FOUND, NULL},
    {"CreateInstance", CREATE, AT_OK, NULL},
    {"CreateTable", "1:" J " 2:t 3{3{1:f 2{}}}", AT_OK, NULL},
    {"rows", JT, AT_OK, ""},
};

static void an_instance_comes_with_its_tables_and_goes_with_them_for_good(void **state)
{
    struct afx *s = at_alloc(sizeof(*s));

    (void)state;
    afx_open(s);
    s->service.accept_any_instance = true;
    afx_run_steps(s, STEPS, sizeof(STEPS) / sizeof(STEPS[0]));
    afx_close(s);
    at_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance_comes_with_its_tables_and_goes_with_them_for_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
