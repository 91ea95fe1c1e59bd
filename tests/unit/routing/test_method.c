/* What the router reads of a request without decoding it. */
#include "routing/method.h"

#include "support/test.h"

static const struct at_route_method *method(const char *last)
{
    uint32_t count;
    const struct at_route_method *all = at_route_methods(&count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(strrchr(all[i].path, '/') + 1, last) == 0)
            return &all[i];
    fail_msg("no method %s", last);
    return NULL;
}

static struct at_request_head peek(const char *name, struct at_slice message)
{
    struct at_request_head head;
    assert_int_equal(at_request_peek(method(name), message, &head, NULL), AT_OK);
    return head;
}

static void reads_table_profile_and_row_of_a_mutation(void **state)
{
    (void)state;
    /* table_name=1 "t", row_key=2 "r", mutations=3 {set_cell=1 {}}, app_profile_id=4 "p" */
    struct at_request_head h =
        peek("MutateRow", AT_LIT("\x0a\x01t\x12\x01r\x1a\x02\x0a\x00\x22\x01p"));
    assert_true(at_slice_eq_cstr(h.table_name, "t"));
    assert_true(at_slice_eq_cstr(h.app_profile_id, "p"));
    assert_true(at_slice_eq_cstr(h.row_key, "r"));
    assert_false(h.adds);
}

static void the_last_of_two_values_counts(void **state)
{
    (void)state;
    struct at_request_head h = peek("MutateRow", AT_LIT("\x0a\x01t\x0a\x01u"));
    assert_true(at_slice_eq_cstr(h.table_name, "u"));
    assert_int_equal(h.app_profile_id.len, 0);
}

static void adding_to_a_cell_is_seen(void **state)
{
    (void)state;
    /* mutations=3 {set_cell}, then {add_to_cell=5 {}}; in a bulk inside its entries */
    assert_true(peek("MutateRow", AT_LIT("\x1a\x02\x0a\x00\x1a\x02\x2a\x00")).adds);
    assert_true(peek("MutateRows", AT_LIT("\x12\x07\x0a\x01r\x12\x02\x2a\x00")).adds);
    assert_true(peek("MutateRows", AT_LIT("\x12\x07\x0a\x01r\x12\x02\x32\x00")).adds);
    assert_false(peek("MutateRows", AT_LIT("\x12\x07\x0a\x01r\x12\x02\x0a\x00")).adds);
}

static void a_row_counts_only_when_it_is_the_only_one(void **state)
{
    (void)state;
    /* ReadRows rows=2 {row_keys=1 "r"}; with a second key; with a range */
    assert_true(at_slice_eq_cstr(peek("ReadRows", AT_LIT("\x12\x03\x0a\x01r")).row_key, "r"));
    assert_int_equal(peek("ReadRows", AT_LIT("\x12\x06\x0a\x01r\x0a\x01s")).row_key.len, 0);
    assert_int_equal(peek("ReadRows", AT_LIT("\x12\x05\x0a\x01r\x12\x00")).row_key.len, 0);
    assert_int_equal(peek("ReadRows", AT_LIT("\x0a\x01t")).row_key.len, 0);
    /* MutateRows: one entry {row_key=1 "r", mutations=2 {}}; two entries */
    assert_true(
        at_slice_eq_cstr(peek("MutateRows", AT_LIT("\x12\x05\x0a\x01r\x12\x00")).row_key, "r"));
    assert_int_equal(peek("MutateRows", AT_LIT("\x12\x03\x0a\x01r\x12\x03\x0a\x01r")).row_key.len,
                     0);
}

static void malformed_bytes_are_refused(void **state)
{
    (void)state;
    struct at_request_head h;
    static const struct at_slice bad[] = {AT_LIT_INIT("\x0a\x05t"), AT_LIT_INIT("\xff"),
                                          AT_LIT_INIT("\x12\x03\x0a\x09r")};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(at_request_peek(method("ReadRows"), bad[i], &h, NULL),
                         AT_INVALID_ARGUMENT);
}

static void transactions_are_never_idempotent(void **state)
{
    (void)state;
    uint32_t count;
    const struct at_route_method *all = at_route_methods(&count);
    for (uint32_t i = 0; i < count; i++)
        assert_false(all[i].transaction && all[i].idempotent);
    assert_true(method("CheckAndMutateRow")->transaction);
    assert_true(method("ReadModifyWriteRow")->transaction);
}

static void names_are_found_wherever_they_stand(void **state)
{
    (void)state;
    /* app_profile=1 {name=1 "n"}; authorized_view_name=9; backup=3 */
    assert_true(
        at_slice_eq_cstr(peek("UpdateAppProfile", AT_LIT("\x0a\x03\x0a\x01n")).table_name, "n"));
    assert_true(at_slice_eq_cstr(peek("ReadRows", AT_LIT("\x4a\x01v")).table_name, "v"));
    assert_true(at_slice_eq_cstr(peek("ReadRows", AT_LIT("\x5a\x01m\x0a\x01t")).table_name, "t"));
    struct at_request_head h = peek("RestoreTable", AT_LIT("\x0a\x01i\x1a\x01"
                                                           "b"));
    assert_true(at_slice_eq_cstr(h.table_name, "i"));
    assert_true(at_slice_eq_cstr(h.cluster_name, "b"));
    assert_true(at_slice_eq_cstr(peek("DeleteBackup", AT_LIT("\x0a\x01n")).cluster_name, "n"));
    assert_int_equal(peek("GetTable", AT_LIT("\x0a\x01n")).cluster_name.len, 0);
    struct at_request_head bad;
    assert_int_equal(at_request_peek(method("UpdateTable"), AT_LIT("\x0a\x02\x0a\x05"), &bad, NULL),
                     AT_INVALID_ARGUMENT);
}

static void every_rpc_of_the_public_services_is_there(void **state)
{
    (void)state;
    uint32_t count;
    (void)at_route_methods(&count);
    assert_int_equal(count, 11 + 35 + 31 + 5);
}

static void every_path_stands_once(void **state)
{
    (void)state;
    uint32_t count;
    const struct at_route_method *all = at_route_methods(&count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(all[i].path, all[k].path);
}

static void admin_calls_go_to_any_cluster_and_only_questions_twice(void **state)
{
    (void)state;
    static const char *const CHANGES[] = {"CreateTable", "UpdateTable", "DeleteTable",
                                          "ModifyColumnFamilies", "UpdateAppProfile"};
    static const char *const QUESTIONS[] = {"GetTable",      "ListTables",  "GetInstance",
                                            "ListBackups",   "GetCluster",  "ListClusters",
                                            "GetAppProfile", "GetOperation"};
    for (size_t i = 0; i < sizeof(CHANGES) / sizeof(CHANGES[0]); i++) {
        assert_int_equal(method(CHANGES[i])->route, AT_ROUTE_ADMIN);
        assert_false(method(CHANGES[i])->idempotent);
    }
    for (size_t i = 0; i < sizeof(QUESTIONS) / sizeof(QUESTIONS[0]); i++) {
        assert_int_equal(method(QUESTIONS[i])->route, AT_ROUTE_ADMIN);
        assert_true(method(QUESTIONS[i])->idempotent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_table_profile_and_row_of_a_mutation),
        cmocka_unit_test(the_last_of_two_values_counts),
        cmocka_unit_test(adding_to_a_cell_is_seen),
        cmocka_unit_test(a_row_counts_only_when_it_is_the_only_one),
        cmocka_unit_test(malformed_bytes_are_refused),
        cmocka_unit_test(transactions_are_never_idempotent),
        cmocka_unit_test(every_path_stands_once),
        cmocka_unit_test(names_are_found_wherever_they_stand),
        cmocka_unit_test(every_rpc_of_the_public_services_is_there),
        cmocka_unit_test(admin_calls_go_to_any_cluster_and_only_questions_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
