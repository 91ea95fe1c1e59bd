#include "cluster/admin/cluster_progress.h"

#include "cluster/tablet/copy.h"
#include "replication/peer/peering.h"
#include "support/admin_fixture.h"
#include "wire/proto_alloc.h"

/* The progress of a CreateCluster, as another cluster tells it and as the newcomer itself does. */

#define ADD "1:c3 2{} 3{1:c3 2:z3 3=3 4:h 5=1 6=2} 4{1:" AFX_INSTANCE " 2:c3}"

typedef Google__Bigtable__Admin__V2__CreateClusterMetadata metadata_t;

static struct at_member_progress other;

static uint32_t fake_progress(void *ctx, struct at_member_progress *ret, uint32_t max)
{
    (void)ctx;
    assert_true(max > 0);
    *ret = other;
    return 1;
}

static uint32_t fake_copy(void *ctx, struct at_copy_table_progress *ret, uint32_t max)
{
    (void)ctx;
    assert_true(max > 0);
    *ret = (struct at_copy_table_progress){.table = "t", .bytes = 1000, .copied_bytes = 250};
    return 1;
}

static const metadata_t *progress_of(struct afx *s, const char *name)
{
    Google__Longrunning__Operation *operation = at_operation_find(&s->service, &s->arena, name);

    assert_non_null(operation);
    return at_proto_unpack(
        &s->arena, &google__bigtable__admin__v2__create_cluster_metadata__descriptor,
        at_slice_make(operation->metadata->value.data, operation->metadata->value.len));
}

static const char *add(struct afx *s)
{
    struct afx_call c;

    afx_call_init(&c, s);
    (void)afx_start(&c, "AddCluster", ADD, 0);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    const Atoll__V1__AddClusterResponse *out = at_proto_unpack(
        &s->arena, &atoll__v1__add_cluster_response__descriptor, at_buf_slice(&c.bytes));
    const Google__Longrunning__Operation *operation =
        at_proto_unpack(&s->arena, &google__longrunning__operation__descriptor,
                        at_slice_make(out->operation.data, out->operation.len));
    afx_call_deinit(&c);
    return operation->name;
}

static void progress_is_told_by_others_and_by_itself(void **state)
{
    const int pending =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_CLUSTER_METADATA__TABLE_PROGRESS__STATE__PENDING;
    const int copying =
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_CLUSTER_METADATA__TABLE_PROGRESS__STATE__COPYING;
    struct afx *s = at_alloc(sizeof(*s));

    (void)state;
    afx_open(s);
    afx_run_step(
        s, &(struct afx_step){"CreateTable", "1:" AFX_INSTANCE " 2:t 3{3{1:f 2{}}}", AT_OK, NULL});
    for (int i = 0; i < 3; i++)
        afx_run_step(
            s, &(struct afx_step){"MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=-1 4:value}}", AT_OK, NULL});
    const char *name = add(s);
    assert_int_equal(progress_of(s, name)->n_tables, 1);
    assert_int_equal(progress_of(s, name)->tables[0]->value->state, pending);
    s->service.port.progress = fake_progress;
    other = (struct at_member_progress){.member = {3}, .mode = AT_MODE_COPYING, .copy_bytes = 10};
    assert_int_equal(progress_of(s, name)->tables[0]->value->state, pending);
    int64_t bytes = progress_of(s, name)->tables[0]->value->estimated_size_bytes;
    assert_true(bytes > 0);
    other.copied_bytes = 5;
    assert_int_equal(progress_of(s, name)->tables[0]->value->estimated_copied_bytes, bytes / 2);
    other.copied_bytes = 10; /* not switched yet */
    assert_int_equal(progress_of(s, name)->tables[0]->value->state, copying);
    other.mode = AT_MODE_READY;
    const metadata_t *filled = progress_of(s, name);
    assert_int_equal(
        filled->tables[0]->value->state,
        GOOGLE__BIGTABLE__ADMIN__V2__CREATE_CLUSTER_METADATA__TABLE_PROGRESS__STATE__COMPLETED);
    assert_int_equal(filled->tables[0]->value->estimated_size_bytes, bytes);
    assert_int_equal(filled->tables[0]->value->estimated_copied_bytes, bytes);
    s->service.port.copy_progress = fake_copy;
    s->service.member = 3; /* as the newcomer sees it */
    const metadata_t *own = progress_of(s, name);
    assert_int_equal(own->tables[0]->value->estimated_size_bytes, bytes);
    assert_int_equal(own->tables[0]->value->estimated_copied_bytes, bytes / 4);
    assert_int_equal(own->tables[0]->value->state, copying);
    s->service.member = 1;
    afx_close(s);
    at_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_told_by_others_and_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
