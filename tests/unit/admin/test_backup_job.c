#include "cluster/admin/backup_job.h"

#include "support/backup_service.h"

/* What the catalog asks for, without a worker. */

#define B1 BS_C1 "/backups/b1"

static bool wanted(struct bs *b, const struct at_backup_job *job)
{
    struct at_schema *schema = at_store_schema(b->s.fx.store);
    bool is = at_backup_job_wanted(&b->s.service, schema->catalog, job, &b->s.arena);

    assert_true(!is || !at_backup_job_moot(schema->catalog, job));
    at_schema_unref(&schema);
    return is;
}

static void takes(void **state)
{
    struct bs *b = bs_open(false);

    (void)state;
    bs_table(b);
    assert_int_equal(bs_job(b).name.len, 0);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C2, "b2"), AT_OK, NULL);
    assert_int_equal(bs_job(b).name.len, 0); /* another cluster's */
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    struct at_backup_job job = bs_job(b);
    assert_int_equal(job.kind, AT_BACKUP_JOB_TAKE);
    assert_true(at_slice_eq_cstr(job.name, "c1/b1"));
    assert_int_equal(job.counter, 1);
    assert_string_equal(job.resource, B1);
    assert_string_equal(job.source, AFX_T);
    assert_non_null(strstr(job.operation, "operations/" B1 "/operations/"));
    const struct at_backup_job *running[] = {&job};
    struct at_backup_job other;
    struct at_schema *schema = at_store_schema(b->s.fx.store);
    assert_false(
        at_backup_job_next(&b->s.service, schema->catalog, running, 1, &b->s.arena, &other));
    at_schema_unref(&schema);
    assert_true(wanted(b, &job));
    bs_expect(b, "DeleteBackup", "1:" B1, AT_OK, NULL);
    assert_false(wanted(b, &job));
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    assert_false(wanted(b, &job)); /* one made anew is another */
    other = bs_job(b);
    assert_int_equal(other.counter, 3);
    assert_true(at_backup_job_same(&job, &other));
    assert_true(strcmp(job.operation, other.operation) != 0 ||
                strcmp(job.resource, other.resource) == 0);
    bs_close(b);
}

static void fetches_and_restores(void **state)
{
    struct bs *b = bs_open(true);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_await(b, "GetBackup", "1:" B1, AT_OK, "state:READY");
    at_backup_worker_stop(&b->worker);
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_OK, NULL);
    struct at_backup_job restore = bs_job(b);
    assert_int_equal(restore.kind, AT_BACKUP_JOB_RESTORE);
    assert_true(at_slice_eq_cstr(restore.name, "u"));
    assert_string_equal(restore.source, B1);
    assert_true(wanted(b, &restore));
    bs_expect(b, "CopyBackup", "1:" BS_C1 " 2:x 3:" B1 " 4{1=@86400}", AT_OK, NULL);
    struct at_backup_job fetch = bs_job(b); /* backups come first */
    assert_int_equal(fetch.kind, AT_BACKUP_JOB_FETCH);
    assert_string_equal(fetch.source, B1);
    assert_false(at_backup_job_same(&fetch, &restore));
    bs_expect(b, "DeleteTable", "1:$u", AT_OK, NULL);
    assert_false(wanted(b, &restore));
    bs_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a backup that is CREATING, in its cluster", takes, NULL, NULL, NULL},
        {"copies and tables to be filled", fetches_and_restores, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
