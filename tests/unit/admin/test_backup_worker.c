#include "cluster/admin/backup_worker.h"

#include <sys/stat.h>

#include "cluster/admin/backup_end.h"
#include "support/backup_service.h"

#define B1 BS_C1 "/backups/b1"

/* A start with a backup that a process before was making. */
static void gives_up(void **state)
{
    struct bs *b = bs_open(false);
    char path[160];

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C2, "b2"), AT_OK, NULL);
    assert_int_equal(mkdir(b->dir, 0755), 0);
    (void)snprintf(path, sizeof(path), "%s/c1+b1.1.tmp", b->dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    bs_start(b);
    bs_await(b, "GetBackup", "1:" B1, AT_NOT_FOUND, NULL);
    bs_expect(b, "ListOperations", "4:operations/" B1, AT_OK, "error{code:10");
    for (int i = 0; i < 1200 && bs_file(b, "c1+b1.1.tmp"); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    assert_false(bs_file(b, "c1+b1.1.tmp"));
    bs_expect(b, "GetBackup", "1:" BS_C2 "/backups/b2", AT_OK, "CREATING"); /* is another's */
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_await(b, "GetBackup", "1:" B1, AT_OK, "state:READY");
    assert_true(bs_file(b, "c1+b1.3"));
    bs_close(b);
}

/* A start with a table half restored: what it had does not count twice. */
static void begins_anew(void **state)
{
    struct bs *b = bs_open(true);

    (void)state;
    bs_table(b);
    assert_int_equal(fx_add(&b->s.fx, "r2", "s", "q", 7), AT_OK);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_await(b, "GetBackup", "1:" B1, AT_OK, "state:READY");
    at_backup_worker_stop(&b->worker);
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_OK, NULL);
    bs_expect(b, "GetTable", "1:$u 2=3", AT_OK, "INITIALIZING");
    struct at_backup_job job = bs_job(b);
    struct at_backup_family family = {AT_LIT("f"), AT_LIT("")};
    struct at_backup_head head = {AT_LIT("t"), 1000, &family, 1};
    const _Atomic bool stop = false;
    const struct at_backup_end_of end = {.service = &b->s.service, .stop = &stop, .job = &job};
    assert_int_equal(at_backup_end_begin_table(&end, &head, NULL), AT_OK);
    bs_restore_row(b, "u", "f");
    bs_start(b);
    bs_await(b, "GetTable", "1:$u 2=3", AT_OK, "READY");
    bs_await(b, "ListOperations", "4:operations/" AFX_INSTANCE "/tables/u", AT_OK, "response");
    fx_expect_rows(&b->s.fx, "u", "r: f:q@1000=v|r2: s:q@1000=%00%00%00%00%00%00%00%07|");
    bs_close(b);
}

static void expires(void **state)
{
    struct bs *b = bs_open(true);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_await(b, "GetBackup", "1:" B1, AT_OK, "state:READY");
    b->s.service.clock = (struct at_clock){fx_wall_ns, fx_mono_ns, &b->s.fx};
    atomic_store(&b->s.fx.wall_offset_ns, 2 * BS_DAY * AT_S_NS);
    bs_await(b, "GetBackup", "1:" B1, AT_NOT_FOUND, NULL);
    for (int i = 0; i < 1200 && bs_file(b, "c1+b1.1"); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    assert_false(bs_file(b, "c1+b1.1"));
    bs_close(b);
}

static void file_lost(void **state)
{
    struct bs *b = bs_open(true);
    char path[160];

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_await(b, "GetBackup", "1:" B1, AT_OK, "state:READY");
    (void)snprintf(path, sizeof(path), "%s/c1+b1.1", b->dir);
    assert_int_equal(unlink(path), 0);
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_OK, NULL);
    bs_await(b, "ListOperations", "4:operations/" AFX_INSTANCE "/tables/u", AT_OK, "error{code:5");
    bs_expect(b, "GetTable", "1:$u", AT_NOT_FOUND, NULL);
    bs_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a backup that was being made is given up", gives_up, NULL, NULL, NULL},
        {"a table half restored is begun anew", begins_anew, NULL, NULL, NULL},
        {"an expired backup goes, with its file", expires, NULL, NULL, NULL},
        {"a restore without a file fails, and leaves no table", file_lost, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
