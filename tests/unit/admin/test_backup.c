#include "cluster/admin/backup.h"

#include "support/backup_service.h"

/* The RPCs, and what the worker makes of them. */

#define B1 BS_C1 "/backups/b1"

static void life(void **state)
{
    struct bs *b = bs_open(true);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, "name:operations/" B1);
    assert_non_null(strstr(b->text, "metadata"));
    assert_null(strstr(b->text, "done:"));
    bs_await(b, "GetBackup", "1:" B1, AT_OK, "state:READY");
    assert_non_null(strstr(b->text, "source_table:" AFX_T));
    assert_non_null(strstr(b->text, "size_bytes:"));
    assert_non_null(strstr(b->text, "end_time{"));
    assert_non_null(strstr(b->text, "backup_type:STANDARD"));
    assert_true(bs_file(b, "c1+b1.1"));
    bs_expect(b, "ListOperations", "4:operations/" B1, AT_OK, "response");
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_ALREADY_EXISTS, B1);
    bs_expect(b, "MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=2000 4:later}}", AT_OK, NULL);
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_OK, "backup_info");
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_ALREADY_EXISTS, "already");
    bs_await(b, "ListOperations", "4:operations/" AFX_INSTANCE "/tables/u", AT_OK,
             "progress_percent:100");
    fx_expect_rows(&b->s.fx, "u", "r: f:q@1000=v|");
    bs_expect(b, "GetTable", "1:$u 2=4", AT_OK, "restore_info{source_type:BACKUP");
    assert_non_null(strstr(b->text, "max_num_versions:2"));
    assert_non_null(strstr(b->text, "sum{}"));
    assert_null(strstr(b->text, "INITIALIZING"));
    bs_expect(b, "DeleteTable", "1:$t", AT_OK, NULL);
    bs_expect(b, "GetBackup", "1:" B1, AT_OK, NULL);
    bs_expect(b, "DeleteBackup", "1:" B1, AT_OK, NULL);
    bs_expect(b, "GetBackup", "1:" B1, AT_NOT_FOUND, B1);
    bs_expect(b, "DeleteBackup", "1:" B1, AT_NOT_FOUND, B1);
    for (int i = 0; i < 1200 && bs_file(b, "c1+b1.1"); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    assert_false(bs_file(b, "c1+b1.1"));
    bs_close(b);
}

struct refusal {
    const char *name;
    const char *rpc;
    const char *request;
    enum at_code code;
    const char *part;
};
static struct refusal refusals[] = {
    {"no backup", "CreateBackup", "1:" BS_C1 " 2:b", AT_INVALID_ARGUMENT, "'backup'"},
    {"no id", "CreateBackup", "1:" BS_C1 " 3{2:$t 3{1=@86400}}", AT_INVALID_ARGUMENT, "backup_id"},
    {"a bad id", "CreateBackup", BS_CREATE(BS_C1, "'a b'"), AT_INVALID_ARGUMENT, "backup_id"},
    {"a long id", "CreateBackup", BS_CREATE(BS_C1, "*51"), AT_INVALID_ARGUMENT, "backup_id"},
    {"no expiry", "CreateBackup", "1:" BS_C1 " 2:b 3{2:$t}", AT_INVALID_ARGUMENT, "expire_time"},
    {"expiry within six hours", "CreateBackup", "1:" BS_C1 " 2:b 3{2:$t 3{1=@21500}}",
     AT_INVALID_ARGUMENT, "6 hours to 90 days"},
    {"expiry beyond 90 days", "CreateBackup", "1:" BS_C1 " 2:b 3{2:$t 3{1=@7776100}}",
     AT_INVALID_ARGUMENT, "6 hours to 90 days"},
    {"no such table", "CreateBackup", "1:" BS_C1 " 2:b 3{2:$none 3{1=@86400}}", AT_NOT_FOUND,
     "none"},
    {"no such cluster", "CreateBackup", BS_CREATE(AFX_INSTANCE "/clusters/c9", "b"), AT_NOT_FOUND,
     "c9"},
    {"a table of another instance", "CreateBackup",
     "1:" BS_C1 " 2:b 3{2:projects/p/instances/o/tables/t 3{1=@86400}}", AT_UNIMPLEMENTED,
     "another instance"},
    {"an unknown type", "CreateBackup", "1:" BS_C1 " 2:b 3{2:$t 3{1=@86400} 11=3}",
     AT_INVALID_ARGUMENT, "backup_type"},
    {"a hot time of a standard one", "CreateBackup",
     "1:" BS_C1 " 2:b 3{2:$t 3{1=@86400} 12{1=@90000}}", AT_INVALID_ARGUMENT, "hot backups only"},
    {"a hot time within a day", "CreateBackup",
     "1:" BS_C1 " 2:b 3{2:$t 3{1=@186400} 11=2 12{1=@80000}}", AT_INVALID_ARGUMENT, "24 hours"},
    {"a parent that is none", "CreateBackup", BS_CREATE(AFX_INSTANCE, "b"), AT_INVALID_ARGUMENT,
     "clusters/<cluster>"},
    {"a copy of nothing", "CopyBackup", "1:" BS_C2 " 2:b 3:" B1 " 4{1=@86400}", AT_NOT_FOUND, B1},
    {"a copy for more than 30 days", "CopyBackup", "1:" BS_C2 " 2:b 3:" B1 " 4{1=@2600000}",
     AT_INVALID_ARGUMENT, "30 days"},
    {"a copy from another instance", "CopyBackup",
     "1:" BS_C2 " 2:b 3:projects/p/instances/o/clusters/c/backups/b 4{1=@86400}", AT_UNIMPLEMENTED,
     "another instance"},
    {"a restore of nothing", "RestoreTable", "1:" AFX_INSTANCE " 2:u", AT_INVALID_ARGUMENT,
     "'backup'"},
    {"a restore of what is not there", "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_NOT_FOUND,
     B1},
    {"a restore to a bad table id", "RestoreTable", "1:" AFX_INSTANCE " 2:'a b' 3:" B1,
     AT_INVALID_ARGUMENT, "Table id"},
    {"a restore from another instance", "RestoreTable",
     "1:" AFX_INSTANCE " 2:u 3:projects/p/instances/o/clusters/c/backups/b", AT_UNIMPLEMENTED,
     "another instance"},
    {"a name that is none", "GetBackup", "1:b1", AT_INVALID_ARGUMENT, "b1"},
    {"a list of no cluster", "ListBackups", "1:" AFX_INSTANCE, AT_INVALID_ARGUMENT, "clusters/"},
    {"a list of an unknown cluster", "ListBackups", "1:" AFX_INSTANCE "/clusters/c9", AT_NOT_FOUND,
     "c9"},
    {"a token of another list", "ListBackups", "1:" BS_C1 " 5:'5H-QQ3Q'", AT_INVALID_ARGUMENT,
     "a list of backups"},
    {"a bad filter", "ListBackups", "1:" BS_C1 " 2:colour", AT_INVALID_ARGUMENT, "filter"},
    {"a bad order", "ListBackups", "1:" BS_C1 " 3:colour", AT_INVALID_ARGUMENT, "order_by"},
    {"an update without a mask", "UpdateBackup", "1{1:" B1 "}", AT_INVALID_ARGUMENT, "update_mask"},
    {"an update of something else", "UpdateBackup", "1{1:" B1 "} 2{1:source_table}",
     AT_INVALID_ARGUMENT, "only expire_time"},
    {"an update of what is not there", "UpdateBackup", "1{1:" B1 " 3{1=@86400}} 2{1:expire_time}",
     AT_NOT_FOUND, B1},
    {"a file that is not there", "ReadBackup", "1:" B1 " 3=10", AT_NOT_FOUND, B1},
};

static void refused(void **state)
{
    const struct refusal *r = *state;
    struct bs *b = bs_open(false);

    bs_table(b);
    bs_expect(b, r->rpc, r->request, r->code, r->part);
    bs_expect(b, "ListBackups", "1:" BS_C1, AT_OK, "");
    assert_string_equal(b->text, "");
    bs_close(b);
}

/* Without the worker all stay CREATING. */
static void lists(void **state)
{
    struct bs *b = bs_open(false);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b1"), AT_OK, NULL);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C2, "b2"), AT_OK, NULL);
    bs_expect(b, "CreateBackup", BS_CREATE(BS_C1, "b3"), AT_OK, NULL);
    bs_expect(b, "ListBackups", "1:" BS_C2, AT_OK, "backups{name:" BS_C2 "/backups/b2");
    assert_null(strstr(b->text, "/b1"));
    bs_expect(b, "ListBackups", "1:" AFX_INSTANCE "/clusters/- 2:'name:b3'", AT_OK, "/b3");
    assert_null(strstr(b->text, "/b1"));
    bs_expect(b, "ListBackups", "1:" BS_C1 " 2:'state:READY'", AT_OK, "");
    assert_string_equal(b->text, "");
    bs_expect(b, "ListBackups", "1:" AFX_INSTANCE "/clusters/- 3:'name desc' 4=1", AT_OK, "/b2");
    const char *token = strstr(b->text, "next_page_token:");
    assert_non_null(token);
    char request[1000];
    (void)snprintf(request, sizeof(request),
                   "1:" AFX_INSTANCE "/clusters/- 3:'name desc' 4=5 5:'%s'",
                   strchr(token, ':') + 1);
    bs_expect(b, "ListBackups", request, AT_OK, "backups{name:" BS_C1 "/backups/b3");
    assert_non_null(strstr(b->text, "/b1"));
    assert_null(strstr(b->text, "/b2"));
    assert_null(strstr(b->text, "next_page_token"));
    bs_expect(b, "DeleteBackup", "1:" BS_C2 "/backups/b2", AT_OK, NULL); /* the one it names */
    bs_expect(b, "ListBackups", request, AT_OK, "backups{name:" BS_C1 "/backups/b3");
    assert_non_null(strstr(b->text, "/b1"));
    bs_expect(b, "CopyBackup", "1:" BS_C2 " 2:c 3:" B1 " 4{1=@86400}", AT_FAILED_PRECONDITION,
              "not ready");
    bs_expect(b, "RestoreTable", "1:" AFX_INSTANCE " 2:u 3:" B1, AT_FAILED_PRECONDITION,
              "not ready");
    bs_expect(b, "ReadBackup", "1:" B1 " 3=10", AT_FAILED_PRECONDITION, "not to be had");
    bs_close(b);
}

static void updates(void **state)
{
    struct bs *b = bs_open(true);

    (void)state;
    bs_table(b);
    bs_expect(b, "CreateBackup", "1:" BS_C1 " 2:b1 3{2:$t 3{1=@186400} 11=2 12{1=@90000}}", AT_OK,
              NULL);
    bs_await(b, "GetBackup", "1:" B1, AT_OK, "state:READY");
    assert_non_null(strstr(b->text, "backup_type:HOT hot_to_standard_time{"));
    bs_expect(b, "UpdateBackup", "1{1:" B1 " 3{1=@400000}} 2{1:expireTime}", AT_OK, "expire_time{");
    bs_expect(b, "UpdateBackup", "1{1:" B1 " 3{1=@400}} 2{1:expire_time}", AT_INVALID_ARGUMENT,
              "6 hours");
    bs_expect(b, "UpdateBackup", "1{1:" B1 "} 2{1:hot_to_standard_time}", AT_OK, "HOT");
    assert_null(strstr(b->text, "hot_to_standard_time"));
    bs_expect(b, "ReadBackup", "1:" B1 " 3=8", AT_OK, "data:ATOLLBK1");
    bs_expect(b, "CopyBackup", "1:" BS_C2 " 2:copy 3:" B1 " 4{1=@86400}", AT_OK,
              "source_backup_info{backup:" B1);
    bs_expect(b, "CopyBackup", "1:" BS_C1 " 2:again 3:" BS_C2 "/backups/copy 4{1=@86400}",
              AT_FAILED_PRECONDITION, "is a copy itself");
    bs_close(b);
}

int main(void)
{
    enum { COUNT = sizeof(refusals) / sizeof(refusals[0]) };
    struct CMUnitTest tests[COUNT + 3];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){refusals[i].name, refused, NULL, NULL, &refusals[i]};
    tests[COUNT] = (struct CMUnitTest){"made, restored, deleted", life, NULL, NULL, NULL};
    tests[COUNT + 1] = (struct CMUnitTest){"lists, pages, and what waits", lists, NULL, NULL, NULL};
    tests[COUNT + 2] = (struct CMUnitTest){"updated, read and copied", updates, NULL, NULL, NULL};
    return _cmocka_run_group_tests("backup", tests, COUNT + 3, NULL, NULL);
}
