#include "cluster/admin/backup_run.h"

#include "support/backup_service.h"

/* Single jobs, run by the test. */

#define B1 BS_C1 "/backups/b1"

static _Atomic bool worker_stop;
static _Atomic bool stop;

static bool run(struct bs *b, struct at_backup_job *job)
{
    return at_backup_run(&(struct at_backup_run){
        .service = &b->s.service, .worker_stop = &worker_stop, .stop = &stop, .job = job});
}

static void takes_and_restores(void **state)
{
    struct bs *b = bs_open(false);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    struct at_backup_job job = bs_job(b);
    assert_true(run(b, &job));
    bs_expect(b, "GetBackup", "1:" B1, AT_OK, "state:READY");
    assert_true(bs_file(b, "c1+b1.1"));
    assert_int_equal(bs_job(b).name.len, 0);
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_OK, NULL);
    job = bs_job(b);
    assert_true(run(b, &job));
    assert_int_equal(bs_job(b).name.len, 0);
    fx_expect_rows(&b->s.fx, "u", "r: f:q@1000=v|");
    bs_close(b);
}

static void damaged(void **state)
{
    struct bs *b = bs_open(false);
    char path[160];

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    struct at_backup_job job = bs_job(b);
    assert_true(run(b, &job));
    (void)snprintf(path, sizeof(path), "%s/c1+b1.1", b->dir);
    assert_int_equal(truncate(path, 60), 0);
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_OK, NULL);
    job = bs_job(b);
    assert_true(run(b, &job));
    bs_expect(b, "GetTable", "1:$u", AT_NOT_FOUND, NULL);
    bs_expect(b, "ListOperations", "4:operations/" AFX_INSTANCE "/tables/u", AT_OK,
              "error{code:15");
    bs_close(b);
}

/* What is written to such a table would be lost if its cluster were killed, as it begins anew. */
static void refuses_requests(void **state)
{
    static const struct {
        const char *rpc, *request;
    } CASES[] = {
        {"ReadRows", "1:$u"},
        {"SampleRowKeys", "1:$u"},
        {"MutateRow", "1:$u 2:r 3{1{1:f 2:q 3=2000 4:w}}"},
        {"MutateRows", "1:$u 2{1:r 2{1{1:f 2:q 3=2000 4:w}}}"},
        {"CheckAndMutateRow", "1:$u 2:r 4{1{1:f 2:q 3=2000 4:w}} 7:tx"},
        {"ReadModifyWriteRow", "1:$u 2:r 3{1:f 2:q 3:w} 4:tx"},
        {"DropRowRange", "1:$u 3=1"},
        {"ModifyColumnFamilies", "1:$u 2{1:g 2{}}"},
        {"CreateBackup", "1:" BS_C1 " 2:b2 3{2:$u 3{1=@86400}}"},
    };
    struct bs *b = bs_open(false);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateAppProfile", "1:" AFX_INSTANCE " 2:tx 3{6{1:c1 2=1}} 4=1", AT_OK, NULL);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    struct at_backup_job job = bs_job(b);
    assert_true(run(b, &job));
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_OK, NULL);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        bs_expect(b, CASES[i].rpc, CASES[i].request, AT_FAILED_PRECONDITION, "being restored");
    job = bs_job(b);
    assert_true(run(b, &job));
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        bs_expect(b, CASES[i].rpc, CASES[i].request, AT_OK, NULL);
    bs_close(b);
}

static const char *name_of_operation(struct bs *b, const char *resource)
{
    static char name[200];
    char list[200];

    (void)snprintf(list, sizeof(list), "4:operations/%s", resource);
    bs_expect(b, "ListOperations", list, AT_OK, "name:");
    const char *at = strstr(b->text, "operations/projects");
    (void)snprintf(name, sizeof(name), "1:%.*s", (int)strcspn(at, " ,;}\""), at);
    return name;
}

/* Cancelled while work is under way, then the worker goes on with what it had begun. */
static void cancels(void **state)
{
    struct bs *b = bs_open(false);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    struct at_backup_job job = bs_job(b);
    bs_expect(b, "CancelOperation", name_of_operation(b, B1), AT_OK, NULL);
    assert_true(run(b, &job));
    bs_expect(b, "GetBackup", "1:" B1, AT_NOT_FOUND, NULL);
    bs_expect(b, "ListOperations", "4:operations/" B1, AT_OK, "error{code:1 ");
    assert_false(bs_file(b, "c1+b1.1"));
    bs_expect(b, "CancelOperation", name_of_operation(b, B1), AT_OK, NULL);

    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b2"), AT_OK, NULL);
    job = bs_job(b);
    assert_true(run(b, &job));
    bs_expect(b, "CancelOperation", name_of_operation(b, BS_C1 "/backups/b2"), AT_OK, NULL);
    bs_expect(b, "GetBackup", "1:" BS_C1 "/backups/b2", AT_OK, "state:READY");
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" BS_C1 "/backups/b2", AT_OK, NULL);
    job = bs_job(b);
    bs_expect(b, "CancelOperation", name_of_operation(b, AFX_INSTANCE "/tables/u"), AT_OK, NULL);
    assert_true(run(b, &job));
    bs_expect(b, "GetTable", "1:$u", AT_NOT_FOUND, NULL);
    bs_expect(b, "UndeleteTable", "1:$u", AT_NOT_FOUND, NULL);
    bs_expect(b, "ListOperations", "4:operations/" AFX_INSTANCE "/tables/u", AT_OK,
              "error{code:1 ");
    assert_int_equal(bs_job(b).name.len, 0);
    bs_expect(b, "CancelOperation", "1:operations/" B1 "/operations/7", AT_NOT_FOUND, NULL);
    bs_close(b);
}

static void table_gone(void **state)
{
    struct bs *b = bs_open(false);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_expect(b, "DeleteTable", "1:$t", AT_OK, NULL);
    struct at_backup_job job = bs_job(b);
    assert_true(run(b, &job));
    bs_expect(b, "GetBackup", "1:" B1, AT_NOT_FOUND, NULL);
    bs_expect(b, "ListOperations", "4:operations/" B1, AT_OK, "error{code:5");
    bs_close(b);
}

static void remains(void **state)
{
    struct bs *b = bs_open(false);
    uint32_t count = 9;

    (void)state;
    bs_table(b);
    (void)at_backup_run_remains(&b->s.service, &b->s.arena, &count);
    assert_int_equal(count, 0);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b2"), AT_OK, NULL);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C2, "b3"), AT_OK, NULL);
    struct at_backup_job *jobs = at_backup_run_remains(&b->s.service, &b->s.arena, &count);
    assert_int_equal(count, 2);
    at_backup_run_give_up(&b->s.service, &worker_stop, &jobs[0]);
    bs_expect(b, "GetBackup", "1:" B1, AT_NOT_FOUND, NULL);
    bs_expect(b, "GetBackup", "1:" BS_C1 "/backups/b2", AT_OK, NULL);
    bs_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a table is taken, and one is restored", takes_and_restores, NULL, NULL, NULL},
        {"a damaged file gives no table", damaged, NULL, NULL, NULL},
        {"a table that is being restored takes no requests", refuses_requests, NULL, NULL, NULL},
        {"what is cancelled is gone, and stays so", cancels, NULL, NULL, NULL},
        {"a table deleted before it was read gives no backup", table_gone, NULL, NULL, NULL},
        {"what a process before was making is listed and given up", remains, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
