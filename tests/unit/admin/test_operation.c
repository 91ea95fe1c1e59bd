#include "cluster/admin/operation.h"

#include "support/admin_fixture.h"
#include "wire/proto_alloc.h"

#define T AFX_INSTANCE "/tables/t"
#define ADD "1:c3 2{4=2} 3{1:c3 2:z3 3=33 4:127.0.0.1 5=7001 6=7002} 4{1:" AFX_INSTANCE " 2:c3}"

struct fixture {
    struct afx s;
    struct afx_call call;
};

static const struct at_buf *call(struct fixture *f, const char *rpc, const char *request)
{
    afx_call_deinit(&f->call);
    afx_call_init(&f->call, &f->s);
    (void)afx_start(&f->call, rpc, request, 0);
    afx_finish(&f->call);
    return &f->call.bytes;
}

static int setup(void **state)
{
    struct fixture *f = at_alloc(sizeof(*f));

    afx_open(&f->s);
    afx_call_init(&f->call, &f->s);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    afx_call_deinit(&f->call);
    afx_close(&f->s);
    at_free(f);
    return 0;
}

static Google__Longrunning__Operation *operation_of(struct fixture *f, const struct at_buf *bytes)
{
    return at_proto_unpack(&f->s.arena, &google__longrunning__operation__descriptor,
                           at_arena_copy(&f->s.arena, at_buf_slice(bytes)));
}

/* The name of an operation that is done. */
static const char *protect(struct fixture *f, const char *how)
{
    const struct at_buf *bytes =
        call(f, "UpdateTable",
             at_arena_printf(&f->s.arena, "1{1:" T " 9=%s} 2{1:deletion_protection}", how));
    assert_int_equal(f->call.code, AT_OK);
    return operation_of(f, bytes)->name;
}

static void operations_stay_when_the_resource_goes_on_changing(void **state)
{
    struct fixture *f = *state;

    (void)call(f, "CreateTable", "1:" AFX_INSTANCE " 2:t 3{}");
    const char *first = protect(f, "1");
    const char *second = protect(f, "0");
    assert_string_not_equal(first, second);
    const Google__Longrunning__Operation *got =
        operation_of(f, call(f, "GetOperation", at_arena_printf(&f->s.arena, "1:%s", first)));
    assert_string_equal(got->name, first);
    assert_true(got->done);
    const Google__Bigtable__Admin__V2__Table *table =
        at_proto_unpack(&f->s.arena, &google__bigtable__admin__v2__table__descriptor,
                        at_slice_make(got->response->value.data, got->response->value.len));
    assert_true(table->deletion_protection); /* as it was when the operation ended */
}

static size_t listed(struct fixture *f, const char *request)
{
    const struct at_buf *bytes = call(f, "ListOperations", request);

    assert_int_equal(f->call.code, AT_OK);
    const Google__Longrunning__ListOperationsResponse *out =
        at_proto_unpack(&f->s.arena, &google__longrunning__list_operations_response__descriptor,
                        at_arena_copy(&f->s.arena, at_buf_slice(bytes)));
    return out->n_operations;
}

static void they_are_listed_by_project_instance_and_resource(void **state)
{
    struct fixture *f = *state;

    (void)call(f, "CreateTable", "1:" AFX_INSTANCE " 2:t 3{}");
    (void)protect(f, "1");
    (void)protect(f, "0");
    assert_int_equal(listed(f, "4:operations/projects/p"), 2);
    assert_int_equal(listed(f, "4:operations/projects/p/operations"), 2);
    assert_int_equal(listed(f, "4:operations/projects/p/instances/-"), 2);
    assert_int_equal(listed(f, "4:operations/" AFX_INSTANCE "/operations"), 2);
    assert_int_equal(listed(f, "4:operations/" T), 2);
    assert_int_equal(listed(f, "4:operations/" AFX_INSTANCE "/tables/tt"), 0);
    assert_int_equal(listed(f, "4:operations/projects/pp"), 0);
    assert_int_equal(listed(f, "4:operations/projects/p 2=1"), 1);
    (void)call(f, "ListOperations", "4:projects/p");
    assert_int_equal(f->call.code, AT_INVALID_ARGUMENT);
}

static void lists_are_filtered_by_done_alone(void **state)
{
    struct fixture *f = *state;
    static const char *const BAD[] = {"done", "done:maybe", "name:x", "done:true AND done:false",
                                      "not done:true"};

    (void)call(f, "CreateTable", "1:" AFX_INSTANCE " 2:t 3{}");
    (void)protect(f, "1");
    (void)call(f, "AddCluster", ADD);
    assert_int_equal(f->call.code, AT_OK);
    assert_int_equal(listed(f, "4:operations/projects/p"), 2);
    assert_int_equal(listed(f, "4:operations/projects/p 1:done:true"), 1);
    assert_int_equal(listed(f, "4:operations/projects/p 1:'done = false'"), 1);
    assert_int_equal(listed(f, "4:operations/projects/p 1:' '"), 2);
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        (void)call(f, "ListOperations",
                   at_arena_printf(&f->s.arena, "4:operations/projects/p 1:'%s'", BAD[i]));
        assert_int_equal(f->call.code, AT_INVALID_ARGUMENT);
    }
}

static void one_that_is_under_way_is_not_cancelled(void **state)
{
    struct fixture *f = *state;

    const struct at_buf *bytes = call(f, "AddCluster", ADD);
    const Atoll__V1__AddClusterResponse *out =
        at_proto_unpack(&f->s.arena, &atoll__v1__add_cluster_response__descriptor,
                        at_arena_copy(&f->s.arena, at_buf_slice(bytes)));
    const Google__Longrunning__Operation *operation =
        at_proto_unpack(&f->s.arena, &google__longrunning__operation__descriptor,
                        at_slice_make(out->operation.data, out->operation.len));
    const char *by_name = at_arena_printf(&f->s.arena, "1:%s", operation->name);
    (void)call(f, "CancelOperation", by_name);
    assert_int_equal(f->call.code, AT_FAILED_PRECONDITION);
    assert_non_null(strstr(f->call.message, "can't be cancelled"));
    (void)call(f, "DeleteOperation", by_name);
    assert_int_equal(f->call.code, AT_FAILED_PRECONDITION);
    (void)call(f, "WaitOperation", at_arena_printf(&f->s.arena, "%s 2{2=200000000}", by_name));
    assert_int_equal(f->call.code, AT_OK); /* and it is not done, after that time */
    assert_null(strstr(at_buf_cstr(&f->call.text), "done:true"));
}

/* The change and its operation are one entry of the log: whoever has one has the other. */
static void a_change_and_its_operation_are_one(void **state)
{
    struct fixture *f = *state;
    struct at_replica_view before, after;

    (void)call(f, "CreateTable", "1:" AFX_INSTANCE " 2:t 3{}");
    at_replica_view_init(&before);
    at_replica_view_init(&after);
    at_store_view(f->s.fx.store, &before);
    const char *name = protect(f, "1");
    at_store_view(f->s.fx.store, &after);
    assert_int_equal(after.seq, before.seq + 1);
    struct at_schema *schema = at_store_schema(f->s.fx.store);
    const struct at_catalog_record *of_table =
        at_catalog_record_of(schema->catalog, AT_CATALOG_TABLE, AT_LIT("t"));
    const struct at_catalog_record *of_operation =
        at_catalog_record_of(schema->catalog, AT_CATALOG_OPERATION, at_slice_cstr(name));
    assert_int_equal(of_table->stamp.hlc + 1, of_operation->stamp.hlc);
    at_schema_unref(&schema);
    at_replica_view_deinit(&before);
    at_replica_view_deinit(&after);
}

static void one_that_is_done_is_waited_for_cancelled_and_deleted(void **state)
{
    struct fixture *f = *state;

    (void)call(f, "CreateTable", "1:" AFX_INSTANCE " 2:t 3{}");
    const char *by_name = at_arena_printf(&f->s.arena, "1:%s", protect(f, "1"));
    (void)call(f, "WaitOperation", by_name);
    assert_int_equal(f->call.code, AT_OK);
    (void)call(f, "CancelOperation", by_name);
    assert_int_equal(f->call.code, AT_OK);
    (void)call(f, "DeleteOperation", by_name);
    assert_int_equal(f->call.code, AT_OK);
    static const char *const RPCS[] = {"GetOperation", "WaitOperation", "CancelOperation",
                                       "DeleteOperation"};
    for (size_t i = 0; i < sizeof(RPCS) / sizeof(RPCS[0]); i++) {
        (void)call(f, RPCS[i], by_name);
        assert_int_equal(f->call.code, AT_NOT_FOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operations_stay_when_the_resource_goes_on_changing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(they_are_listed_by_project_instance_and_resource, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(lists_are_filtered_by_done_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_under_way_is_not_cancelled, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_and_its_operation_are_one, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_done_is_waited_for_cancelled_and_deleted, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
