#include "cluster/admin/backup_order.h"

#include "support/test.h"

struct order_case {
    const char *name;
    const char *order;
    enum at_code code;
    int sign; /* of a against b */
};

/* a: older, larger, later in the alphabet. */
static struct order_case cases[] = {
    {"without one the newest come first", "", AT_OK, 1},
    {"by name", "name", AT_OK, 1},
    {"by name, downwards", "name desc", AT_OK, -1},
    {"by time", "start_time", AT_OK, -1},
    {"upwards, said so", "start_time asc", AT_OK, -1},
    {"in camel case", "startTime DESC", AT_OK, 1},
    {"by size", "size_bytes", AT_OK, 1},
    {"what is equal goes on with the next", "state, size_bytes desc", AT_OK, -1},
    {"what is equal goes by name at last", "state,source_table", AT_OK, 1},
    {"spaces do no harm", "  state  ,  start_time  ", AT_OK, -1},
    {"an unknown field", "colour", AT_INVALID_ARGUMENT, 0},
    {"no field behind a comma", "name,", AT_INVALID_ARGUMENT, 0},
    {"a comma alone", ",", AT_INVALID_ARGUMENT, 0},
    {"an unknown direction", "name down", AT_INVALID_ARGUMENT, 0},
    {"two directions", "name desc desc", AT_INVALID_ARGUMENT, 0},
    {"too many fields", "name,name,name,name,name,name,name,name,name", AT_INVALID_ARGUMENT, 0},
};

static void run(void **state)
{
    const struct order_case *c = *state;
    Google__Bigtable__Admin__V2__Backup a = GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__INIT;
    Google__Bigtable__Admin__V2__Backup b = GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__INIT;
    Google__Protobuf__Timestamp old = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Google__Protobuf__Timestamp new = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    char name_a[] = "x/b", name_b[] = "x/a";
    struct at_backup_order order;
    struct at_error error;

    old.seconds = 1;
    new.seconds = 2;
    a.name = name_a;
    b.name = name_b;
    a.start_time = &old;
    b.start_time = &new;
    a.size_bytes = 2;
    b.size_bytes = 1;
    assert_int_equal(at_backup_order_parse(c->order, &order, &error), c->code);
    if (c->code != AT_OK)
        return;
    int cmp = at_backup_order_cmp(&order, &a, &b);
    assert_int_equal((cmp > 0) - (cmp < 0), c->sign);
    assert_int_equal(at_backup_order_cmp(&order, &a, &a), 0);
    int back = at_backup_order_cmp(&order, &b, &a);
    assert_int_equal((back > 0) - (back < 0), -c->sign);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, run, NULL, NULL, &cases[i]};
    return _cmocka_run_group_tests("order", tests, COUNT, NULL, NULL);
}
