#include "support/test.h"

#include "cluster/model/operation.h"
#include "support/store_fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

/* What the writer does when the disk does not take a commit, and with catalog changes in its
 * rounds. */

#define NONE ((struct at_slice){NULL, 0})

static atomic_bool disk_full;

/* In place of libc's: what the engine asks before it commits. */
int statvfs(const char *restrict path, struct statvfs *restrict st)
{
    (void)path;
    *st = (struct statvfs){.f_frsize = 4096, .f_bavail = disk_full ? 1 : UINT32_MAX};
    return 0;
}

/* Space is asked for once per MiB written. */
static enum at_code set_large(struct fx *f, const char *row, struct at_error *reterr)
{
    static char value[2 << 20];
    struct at_mutation m = fx_set_of("f", "q", 1000, "");

    m.value = at_slice_make(value, sizeof(value));
    return fx_mutate(f, row, &m, 1, reterr);
}

static enum at_code set_until_ok(struct fx *f, const char *row)
{
    enum at_code code = AT_UNKNOWN;

    for (int i = 0; i < 1200 && code != AT_OK; i++) {
        code = fx_set(f, row, "f", "q", 1000, "v");
        if (code != AT_OK)
            usleep(50000);
    }
    return code;
}

static void a_full_disk_is_told_and_leaves_nothing(void **state)
{
    struct at_replica_view view;
    struct at_error error = {0};
    struct fx f;

    (void)state;
    fx_open(&f, 1, 1);
    fx_make_table(&f);
    assert_int_equal(fx_set(&f, "a", "f", "q", 1000, "v"), AT_OK);
    disk_full = true;
    assert_int_equal(set_large(&f, "b", &error), AT_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(error.msg, "full"));
    assert_int_equal(fx_set(&f, "b", "f", "q", 1000, "v"), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(fx_change(&f, "u", NULL, NONE, true), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(fx_drop(&f, "t", ""), AT_RESOURCE_EXHAUSTED);
    fx_expect_rows(&f, "t", "a: f:q@1000=v|");
    disk_full = false;
    assert_int_equal(set_until_ok(&f, "c"), AT_OK);
    fx_expect_rows(&f, "t", "a: f:q@1000=v|c: f:q@1000=v|");
    fx_view(&f, &view);
    assert_int_equal(view.seq, 5);
    at_replica_view_deinit(&view);
    at_store_close(&f.store);
    fx_reopen(&f);
    fx_expect_rows(&f, "t", "a: f:q@1000=v|c: f:q@1000=v|");
    assert_int_equal(fx_change(&f, "u", NULL, NONE, true), AT_OK);
    fx_close(&f);
}

/* In the round that fails there are a schema change, a drop and a large row. */
static void a_failed_round_takes_its_schema_back(void **state)
{
    struct at_arena arena;
    struct fx_wait wait;
    struct fx f;

    (void)state;
    fx_open(&f, 1, 1);
    fx_make_table(&f);
    assert_int_equal(fx_set(&f, "a", "f", "q", 1000, "v"), AT_OK);
    at_arena_init(&arena, 1024);
    sem_init(&wait.done, 0, 0);
    static char value[2 << 20];
    struct at_mutation m[2] = {fx_set_of("f", "q", 1000, ""), {.kind = AT_MUTATION_DELETE_ROW}};
    m[0].value = at_slice_make(value, sizeof(value));
    struct at_row_mutations row = {.row = AT_LIT("r"), .mutations = m, .mutation_count = 2};
    struct at_write base = {.done = fx_done, .ctx = &wait};
    struct fx_catalog table = {.write = {.base = base, .decide = fx_decide, .arena = &arena},
                               .table = "u",
                               .create = true};
    struct at_write_drop drop = {.base = base, .table = AT_LIT("t"), .full_name = FX_NAME};
    struct at_write_rows set = {
        .base = base, .table = AT_LIT("t"), .full_name = FX_NAME, .rows = &row, .row_count = 1};
    table.write.base.kind = AT_WRITE_CATALOG;
    drop.base.kind = AT_WRITE_DROP;
    set.base.kind = AT_WRITE_ROWS;
    table.write.base.mail.next = &drop.base.mail;
    drop.base.mail.next = &set.base.mail;
    disk_full = true;
    assert_int_equal(at_store_submit_list(f.store, &table.write.base, 3), AT_OK);
    for (int i = 0; i < 3; i++)
        sem_wait(&wait.done);
    assert_int_equal(table.write.base.code, AT_RESOURCE_EXHAUSTED);
    assert_null(table.write.ret_schema);
    assert_int_equal(drop.base.code, AT_RESOURCE_EXHAUSTED);
    assert_int_equal(set.base.code, AT_RESOURCE_EXHAUSTED);
    fx_expect_rows(&f, "t", "a: f:q@1000=v|");
    struct at_schema *schema = at_store_schema(f.store);
    assert_null(at_catalog_table(schema->catalog, AT_LIT("u")));
    at_schema_unref(&schema);
    disk_full = false;
    assert_int_equal(set_until_ok(&f, "c"), AT_OK);
    fx_expect_rows(&f, "t", "a: f:q@1000=v|c: f:q@1000=v|");
    assert_int_equal(fx_drop(&f, "t", ""), AT_OK);
    fx_expect_rows(&f, "t", "");
    sem_destroy(&wait.done);
    at_arena_deinit(&arena);
    fx_close(&f);
}

static void replies_wait_for_the_disk(void **state)
{
    struct fx_reply *reply = at_alloc(sizeof(*reply));
    struct at_vector nothing = {0};
    struct fx a;
    struct fx b;
    int back = -1;

    (void)state;
    fx_open(&a, 1, 2);
    fx_open(&b, 2, 2);
    fx_make_table(&a);
    assert_int_equal(set_large(&a, "big", NULL), AT_OK);
    assert_int_equal(fx_delete_row(&a, "big"), AT_OK);
    assert_int_equal(fx_set(&a, "r", "f", "q", 1000, "v"), AT_OK);
    fx_reply_make(reply, &a, &nothing, 8 << 20);
    disk_full = true;
    fx_reply_give(reply, &b); /* fails at the commit, and comes back */
    assert_true(reply->apply.apply.dropped);
    sem_init(&reply->apply.done, 0, 0);
    assert_true(at_store_apply(b.store, &reply->apply.apply)); /* this one waits */
    usleep(300000);
    assert_int_equal(sem_getvalue(&reply->apply.done, &back), 0);
    assert_int_equal(back, 0);
    disk_full = false;
    sem_wait(&reply->apply.done);
    sem_destroy(&reply->apply.done);
    assert_false(reply->apply.apply.dropped);
    assert_int_equal(reply->apply.apply.applied_count, 6);
    fx_expect_rows(&b, "t", "r: f:q@1000=v|");
    fx_reply_free(reply);
    at_free(reply);
    fx_close(&b);
    fx_close(&a);
}

/* Returns 0 when all went as it should. */
static int child_with_io_errors(struct fx *f)
{
    struct rlimit limit;

    fx_reopen(f);
    fx_make_table(f);
    if (fx_set(f, "a", "f", "q", 1000, "v") != AT_OK)
        return 1;
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    struct rlimit one = {1, limit.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &one) != 0)
        return 2;
    for (int i = 0; i < 8; i++) {
        if (fx_set(f, "b", "f", "q", 1000, "v") != AT_UNAVAILABLE)
            return 3;
        usleep(100000); /* it tries again, in vain */
    }
    char *text = fx_rows(f, "t");
    if (strcmp(text, "a: f:q@1000=v|") != 0)
        return 4;
    at_store_close(&f->store);
    return 0;
}

/* An I/O error of RocksDB's own ends writing until a new process opens the store; reads go on. */
static void after_an_io_error_reads_go_on_and_opening_again_helps(void **state)
{
    struct fx f;
    int status = -1;

    (void)state;
    fx_prepare(&f, 1, 1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(child_with_io_errors(&f));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    fx_reopen(&f);
    assert_int_equal(fx_set(&f, "c", "f", "q", 1000, "v"), AT_OK);
    char *text = fx_rows(&f, "t");
    assert_non_null(strstr(text, "a: f:q@1000=v|"));
    assert_non_null(strstr(text, "c: f:q@1000=v|"));
    at_free(text);
    fx_close(&f);
}

static void nothing_of_a_dropped_family_or_table_comes_back(void **state)
{
    struct fx f;

    (void)state;
    fx_open(&f, 1, 1);
    fx_make_table(&f);
    assert_int_equal(fx_set(&f, "r", "f", "q", 1000, "1"), AT_OK);
    assert_int_equal(fx_set(&f, "r", "g", "q", 1000, "2"), AT_OK);
    assert_int_equal(fx_change(&f, "t", "f", NONE, false), AT_OK);
    fx_expect_rows(&f, "t", "r: g:q@1000=2|");
    assert_int_equal(fx_set(&f, "r", "f", "q", 1000, "3"), AT_NOT_FOUND);
    assert_int_equal(fx_change(&f, "t", "f", NONE, true), AT_OK);
    fx_expect_rows(&f, "t", "r: g:q@1000=2|");
    assert_int_equal(fx_change(&f, "t", NULL, NONE, false), AT_OK);
    assert_int_equal(fx_set(&f, "r", "g", "q", 1000, "3"), AT_NOT_FOUND);
    fx_make_table(&f);
    fx_expect_rows(&f, "t", "");
    fx_close(&f);
}

/* A table, its family and a row of it in one list are in one round; the answers show the order. */
static void a_round_may_make_a_table_and_fill_it(void **state)
{
    struct at_mutation m = fx_set_of("f", "q", 1000, "v");
    struct at_row_mutations row = {.row = AT_LIT("r"), .mutations = &m, .mutation_count = 1};
    struct at_arena arena;
    struct fx_wait wait;
    struct fx f;

    (void)state;
    fx_open(&f, 1, 1);
    at_arena_init(&arena, 1024);
    sem_init(&wait.done, 0, 0);
    struct at_write base = {.kind = AT_WRITE_CATALOG, .done = fx_done, .ctx = &wait};
    struct fx_catalog table = {.write = {.base = base, .decide = fx_decide, .arena = &arena},
                               .table = "t",
                               .create = true};
    struct fx_catalog family = table;
    family.family = "f";
    struct at_write_rows set = {
        .base = base, .table = AT_LIT("t"), .full_name = FX_NAME, .rows = &row, .row_count = 1};
    set.base.kind = AT_WRITE_ROWS;
    table.write.base.mail.next = &family.write.base.mail;
    family.write.base.mail.next = &set.base.mail;
    assert_int_equal(at_store_submit_list(f.store, &table.write.base, 3), AT_OK);
    for (int i = 0; i < 3; i++)
        sem_wait(&wait.done);
    assert_int_equal(set.base.code, AT_OK);
    assert_int_equal(row.code, AT_OK);
    assert_int_equal(set.base.seq, 3);
    assert_true(family.write.ret_schema->version > table.write.ret_schema->version);
    at_schema_unref(&table.write.ret_schema);
    at_schema_unref(&family.write.ret_schema);
    fx_expect_rows(&f, "t", "r: f:q@1000=v|");
    sem_destroy(&wait.done);
    at_arena_deinit(&arena);
    fx_close(&f);
}

struct odd_change {
    struct at_write_catalog write;
    uint32_t count;
    uint64_t counter;
};

static enum at_code
decide_odd(struct at_write_catalog *write, const struct at_catalog *c, struct at_error *reterr)
{
    const struct odd_change *odd = (const struct odd_change *)write;

    (void)c;
    (void)reterr;
    write->records = AT_ARENA_ARRAY(write->arena, struct at_catalog_record, odd->count);
    write->record_count = odd->count;
    for (uint32_t i = 0; i < odd->count; i++)
        write->records[i] = (struct at_catalog_record){
            .kind = AT_CATALOG_FAMILY,
            .name = at_slice_cstr(at_arena_printf(write->arena, "f%u", i)),
            .table = AT_LIT("t"),
            .table_generation = 1,
            .counter = odd->counter,
        };
    return AT_OK;
}

/* What peers would refuse to decode stops them for ever when it is in the log. */
static void a_change_that_others_could_not_take_is_refused(void **state)
{
    static const struct {
        uint32_t count;
        uint64_t counter;
        enum at_code code;
    } cases[] = {
        {1, UINT32_MAX, AT_OK},
        {1, (uint64_t)UINT32_MAX + 1, AT_INVALID_ARGUMENT},
        {AT_OPERATION_RECORDS_MAX + 1, 2, AT_INVALID_ARGUMENT},
        {AT_OPERATION_RECORDS_MAX, 2, AT_OK},
    };
    struct fx a;
    struct fx b;

    (void)state;
    fx_open(&a, 1, 2);
    fx_open(&b, 2, 2);
    fx_make_table(&a);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct at_arena arena;
        struct odd_change odd = {
            .write = {.base = {.kind = AT_WRITE_CATALOG}, .decide = decide_odd, .arena = &arena},
            .count = cases[i].count,
            .counter = cases[i].counter,
        };
        at_arena_init(&arena, 1024);
        assert_int_equal(fx_run(&a, &odd.write.base), cases[i].code);
        at_schema_unref(&odd.write.ret_schema);
        at_arena_deinit(&arena);
    }
    assert_int_equal(fx_set(&a, "r", "g", "q", 1000, "v"), AT_OK);
    assert_int_equal(fx_pull(&b, &a, 1 << 20), 6);
    fx_expect_rows(&b, "t", "r: g:q@1000=v|");
    fx_close(&a);
    fx_close(&b);
}

/* Own entries that no other member has are not freed: at the cap, writes are refused. */
static void a_full_log_that_nobody_has_refuses_writes(void **state)
{
    static char value[65536];
    struct at_mutation m = fx_set_of("f", "q", 1000, "");
    struct at_error error = {0};
    enum at_code code = AT_OK;
    struct fx f;

    (void)state;
    fx_prepare(&f, 1, 2);
    f.config.log_bytes_max = AT_MIB;
    fx_reopen(&f);
    fx_make_table(&f);
    m.value = at_slice_make(value, sizeof(value));
    for (int i = 0; i < 1200 && code == AT_OK; i++) {
        code = fx_mutate(&f, "r", &m, 1, &error);
        usleep(i < 40 ? 0 : 50000);
    }
    assert_int_equal(code, AT_UNAVAILABLE);
    assert_non_null(strstr(error.msg, "log"));
    fx_close(&f);
}

static bool has_on_disk(struct fx *f, struct fx *of)
{
    struct at_replica_view view, other;

    fx_view(f, &view);
    fx_view(of, &other);
    bool all = at_vector_covers(&view.durable, &other.applied);
    at_replica_view_deinit(&view);
    at_replica_view_deinit(&other);
    return all;
}

/* Sizes are estimates: a log that is only just below its cap would now and then be taken for full,
 * and nothing was freed then that would have changed it. */
static void a_log_over_its_cap_that_another_has_takes_writes(void **state)
{
    static char value[65536];
    struct at_mutation m = fx_set_of("f", "q", 1000, "");
    struct at_error error = {0};
    uint32_t refused = 0;
    uint32_t told = 0; /* times in a row that `b` had all of it, and said so */
    struct fx a, b;

    (void)state;
    fx_prepare(&a, 1, 3);
    a.config.log_bytes_max = AT_MIB;
    fx_reopen(&a);
    fx_prepare(&b, 2, 3);
    fx_reopen(&b);
    fx_make_table(&a);
    m.value = at_slice_make(value, sizeof(value));
    for (int i = 0; i < 120; i++) { /* six seconds: the log is looked after every two */
        bool full = fx_mutate(&a, "r", &m, 1, &error) != AT_OK;
        refused += full && told >= 20; /* a second ago all was told: for moments only, before */
        (void)fx_pull(&b, &a, 1 << 20);
        told = full && has_on_disk(&b, &a) ? told + 1 : 0;
        fx_acknowledge(&a, &b);
        usleep(50000);
    }
    struct at_store_stats stats;
    at_store_stats(a.store, &stats);
    assert_in_range(stats.log_bytes, 1, 2 * AT_MIB);
    assert_int_equal(refused, 0);
    fx_close(&a);
    fx_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_an_io_error_reads_go_on_and_opening_again_helps),
        cmocka_unit_test(a_full_disk_is_told_and_leaves_nothing),
        cmocka_unit_test(a_failed_round_takes_its_schema_back),
        cmocka_unit_test(replies_wait_for_the_disk),
        cmocka_unit_test(nothing_of_a_dropped_family_or_table_comes_back),
        cmocka_unit_test(a_round_may_make_a_table_and_fill_it),
        cmocka_unit_test(a_change_that_others_could_not_take_is_refused),
        cmocka_unit_test(a_full_log_that_nobody_has_refuses_writes),
        cmocka_unit_test(a_log_over_its_cap_that_another_has_takes_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
