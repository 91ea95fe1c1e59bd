#include "cluster/admin/backup_end.h"

#include "support/backup_service.h"

/* The catalog after each end of a job, without a worker. */

#define B1 BS_C1 "/backups/b1"

static _Atomic bool stop;

static struct at_backup_end_of end_of(struct bs *b, struct at_backup_job *job)
{
    return (struct at_backup_end_of){.service = &b->s.service, .stop = &stop, .job = job};
}

static void files(void **state)
{
    struct bs *b = bs_open(false);
    struct at_error failed;

    (void)state;
    (void)at_fail(&failed, AT_DATA_LOSS, "it broke");
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    struct at_backup_job job = bs_job(b);
    struct at_backup_end_of end = end_of(b, &job);
    assert_int_equal(at_backup_end_file(&end, 77, NULL), AT_OK);
    bs_expect(b, "GetBackup", "1:" B1, AT_OK, "size_bytes:77 state:READY");
    bs_expect(b, "ListOperations", "4:operations/" B1, AT_OK, "done:true");
    assert_int_equal(at_backup_end_file(&end, 77, NULL), AT_ABORTED); /* it is over */
    bs_expect(b, "DeleteBackup", "1:" B1, AT_OK, NULL);

    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    job = bs_job(b);
    assert_int_equal(at_backup_end_file(&end, 0, &failed), AT_OK);
    bs_expect(b, "GetBackup", "1:" B1, AT_NOT_FOUND, NULL);
    bs_expect(b, "ListOperations", "4:operations/" B1, AT_OK, "error{code:15 ");

    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    job = bs_job(b);
    bs_expect(b, "DeleteBackup", "1:" B1, AT_OK, NULL);
    assert_int_equal(at_backup_end_file(&end, 77, NULL), AT_ABORTED);
    bs_expect(b, "GetBackup", "1:" B1, AT_NOT_FOUND, NULL);
    bs_expect(b, "ListOperations", "4:operations/" B1, AT_OK, "error{code:1 ");
    bs_close(b);
}

static void tables(void **state)
{
    struct at_backup_family family = {AT_LIT("f"), AT_LIT("")};
    struct at_backup_head head = {AT_LIT("t"), 1, &family, 1};
    struct bs *b = bs_open(false);
    struct at_error error;

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    struct at_backup_job job = bs_job(b);
    struct at_backup_end_of end = end_of(b, &job);
    assert_int_equal(at_backup_end_file(&end, 77, NULL), AT_OK);
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_OK, NULL);
    job = bs_job(b);
    assert_int_equal(job.counter, 1);
    for (uint64_t counter = 3; counter <= 5; counter += 2) {
        assert_int_equal(at_backup_end_begin_table(&end, &head, &error), AT_OK);
        assert_int_equal(job.counter, counter);
        bs_expect(b, "GetTable", "1:$u 2=4", AT_OK, "INITIALIZING");
        assert_non_null(strstr(b->text, "column_families{key:f"));
        fx_expect_rows(&b->s.fx, "u", "");
        bs_restore_row(b, "u", "f");
    }
    at_backup_end_progress(&end, 33);
    bs_expect(b, "ListOperations", "4:operations/" AFX_INSTANCE "/tables/u", AT_OK,
              "progress_percent:33");
    assert_int_equal(at_backup_end_table(&end, NULL), AT_OK);
    bs_expect(b, "GetTable", "1:$u 2=3", AT_OK, "READY");
    fx_expect_rows(&b->s.fx, "u", "r: f:q@1001=v|");
    bs_expect(b, "ListOperations", "4:operations/" AFX_INSTANCE "/tables/u", AT_OK, "done:true");
    assert_int_equal(at_backup_end_begin_table(&end, &head, &error), AT_ABORTED);
    fx_expect_rows(&b->s.fx, "u", "r: f:q@1001=v|");

    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:v 3:" B1, AT_OK, NULL);
    job = bs_job(b);
    (void)at_fail(&error, AT_DATA_LOSS, "it broke");
    assert_int_equal(at_backup_end_table(&end, &error), AT_OK);
    bs_expect(b, "GetTable", "1:$v", AT_NOT_FOUND, NULL);
    bs_close(b);
}

static void expired(void **state)
{
    struct bs *b = bs_open(false);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C2, "b2"), AT_OK, NULL);
    at_backup_end_expired(&b->s.service, &stop);
    bs_expect(b, "GetBackup", "1:" B1, AT_OK, NULL);
    b->s.service.clock = (struct at_clock){fx_wall_ns, fx_mono_ns, &b->s.fx};
    atomic_store(&b->s.fx.wall_offset_ns, 2 * BS_DAY * AT_S_NS);
    at_backup_end_expired(&b->s.service, &stop);
    bs_expect(b, "GetBackup", "1:" B1, AT_NOT_FOUND, NULL);
    bs_expect(b, "GetBackup", "1:" BS_C2 "/backups/b2", AT_OK, NULL); /* is for c2 to do */
    bs_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a file ends: ready, failed, or not wanted", files, NULL, NULL, NULL},
        {"a table is begun, begun anew, and ends", tables, NULL, NULL, NULL},
        {"what is expired goes, of this cluster", expired, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
