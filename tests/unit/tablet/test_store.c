#include "support/test.h"

#include "support/store_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* Opening, closing, dying: what was acknowledged is there afterwards. */

static const struct at_slice none = {NULL, 0};

static void all_is_there_after_closing_and_opening(void **state)
{
    struct fx f;

    (void)state;
    fx_open(&f, 1, 1);
    fx_make_table(&f);
    assert_int_equal(fx_set(&f, "a", "f", "q", 1000, "1"), AT_OK);
    assert_int_equal(fx_set(&f, "b", "f", "q", 1000, "2"), AT_OK);
    assert_int_equal(fx_delete_row(&f, "a"), AT_OK);
    assert_int_equal(fx_set(&f, "px", "g", "q", 1000, "3"), AT_OK);
    assert_int_equal(fx_drop(&f, "t", "p"), AT_OK);
    assert_int_equal(fx_set(&f, "py", "g", "q", 1000, "4"), AT_OK);
    for (int i = 0; i < 3; i++) {
        fx_expect_rows(&f, "t", "b: f:q@1000=2|py: g:q@1000=4|");
        at_store_close(&f.store);
        fx_reopen(&f);
    }
    assert_int_equal(fx_change(&f, "t", NULL, none, true), AT_ALREADY_EXISTS);
    assert_int_equal(fx_set(&f, "a", "f", "q", 1000, "5"), AT_OK);
    fx_expect_rows(&f, "t", "a: f:q@1000=5|b: f:q@1000=2|py: g:q@1000=4|");
    fx_close(&f);
}

static void numbering_and_clock_go_on_after_opening(void **state)
{
    struct at_replica_view before;
    struct at_replica_view after;
    struct fx f;

    (void)state;
    fx_open(&f, 1, 2);
    fx_make_table(&f);
    f.wall_offset_ns = 2 * AT_S_NS; /* a clock that was set back while it was down */
    assert_int_equal(fx_set(&f, "r", "f", "q", 1000, "new"), AT_OK);
    fx_view(&f, &before);
    assert_int_equal(before.seq, 4);
    assert_int_equal(before.epoch, 1);
    at_store_close(&f.store);
    f.wall_offset_ns = 0;
    fx_reopen(&f);
    assert_int_equal(fx_set(&f, "r", "f", "q", 1000, "newer"), AT_OK);
    fx_expect_rows(&f, "t", "r: f:q@1000=newer|");
    fx_view(&f, &after);
    assert_int_equal(after.epoch, 1);
    assert_int_equal(after.seq, 5);
    assert_true(after.hlc > before.hlc);
    at_replica_view_deinit(&before);
    at_replica_view_deinit(&after);
    fx_close(&f);
}

static void a_store_of_another_member_or_instance_is_not_opened(void **state)
{
    struct at_error error = {0};
    struct fx f;

    (void)state;
    fx_open(&f, 1, 2);
    at_store_close(&f.store);
    f.config.replica.self.v = 2;
    assert_int_equal(fx_try_open(&f, &error), AT_FAILED_PRECONDITION);
    f.config.replica.self.v = 1;
    f.config.replica.instance_id = 78;
    assert_int_equal(fx_try_open(&f, &error), AT_FAILED_PRECONDITION);
    f.config.replica.instance_id = 77;
    fx_reopen(&f);
    fx_close(&f);
}

static void genesis_is_applied_once(void **state)
{
    struct at_catalog_record genesis = {.kind = AT_CATALOG_PROFILE,
                                        .name = AT_LIT("default"),
                                        .counter = 1,
                                        .stamp = {1, {1}},
                                        .fields = AT_LIT("")};
    struct fx f;

    (void)state;
    fx_prepare(&f, 1, 1);
    f.config.genesis = &genesis;
    f.config.genesis_count = 1;
    fx_reopen(&f);
    struct at_schema *s = at_store_schema(f.store);
    assert_non_null(at_catalog_named(s->catalog, AT_CATALOG_PROFILE, AT_LIT("default")));
    at_schema_unref(&s);
    at_store_close(&f.store);
    genesis.name = AT_LIT("other");
    fx_reopen(&f);
    s = at_store_schema(f.store);
    assert_non_null(at_catalog_named(s->catalog, AT_CATALOG_PROFILE, AT_LIT("default")));
    assert_null(at_catalog_named(s->catalog, AT_CATALOG_PROFILE, AT_LIT("other")));
    at_schema_unref(&s);
    fx_close(&f);
}

/* --- kill -9 --- */

/* The child acknowledges each write on a pipe, until it is killed. */
static void child(struct fx *f, int out)
{
    fx_reopen(f);
    fx_make_table(f);
    for (uint32_t i = 0;; i++) {
        char row[16];
        snprintf(row, sizeof(row), "r%06u", i);
        if (fx_set(f, row, "f", "q", 1000, "v") != AT_OK || fx_delete_row(f, "gone") != AT_OK ||
            write(out, &i, sizeof(i)) != sizeof(i))
            _exit(1);
    }
}

static void kill_round(bool sync_commits, useconds_t after_us)
{
    struct fx f;
    int fds[2];
    uint32_t last = 0;
    uint32_t count = 0;

    fx_prepare(&f, 1, 1);
    f.config.sync_commits = f.config.replica.sync_commits = sync_commits;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child(&f, fds[1]);
    close(fds[1]);
    assert_int_equal(read(fds[0], &last, sizeof(last)), sizeof(last)); /* it runs */
    count++;
    usleep(after_us);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (read(fds[0], &last, sizeof(last)) == sizeof(last))
        count++;
    close(fds[0]);
    assert_int_equal(count, last + 1);
    fx_reopen(&f);
    char *text = fx_rows(&f, "t");
    uint32_t seen = 0;
    for (const char *p = text; (p = strchr(p, '|')) != NULL; p++)
        seen++;
    assert_true(seen == count || seen == count + 1); /* one may not have been told */
    at_free(text);
    assert_int_equal(fx_set(&f, "after", "f", "q", 1000, "v"), AT_OK);
    fx_close(&f);
}

static void acknowledged_writes_survive_a_kill(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it does not follow threads of a child that was forked beside threads */
#endif
    for (useconds_t i = 0; i < 4; i++)
        kill_round(i % 2 == 1, 3000 * i * i + 500);
}

/* --- a copy of the folder while it runs is what a dead machine would leave --- */

static void copy_dir(const char *from, const char *to)
{
    char command[256];

    snprintf(command, sizeof(command), "cp -r %s/. %s", from, to);
    assert_int_equal(system(command), 0);
}

static void with_sync_commits_a_copy_holds_what_was_acknowledged(void **state)
{
    struct fx f;
    struct fx copy;

    (void)state;
    fx_prepare(&f, 1, 1);
    f.config.sync_commits = f.config.replica.sync_commits = true;
    fx_reopen(&f);
    fx_make_table(&f);
    assert_int_equal(fx_set(&f, "r", "f", "q", 1000, "v"), AT_OK);
    fx_prepare(&copy, 1, 1);
    copy_dir(f.dir, copy.dir);
    fx_reopen(&copy);
    fx_expect_rows(&copy, "t", "r: f:q@1000=v|");
    fx_close(&copy);
    fx_close(&f);
}

/* Another boot, unclosed, async: a tail may be lost, so numbering goes on in a new epoch. The
 * boot id is in the record "s" of META. */
static void an_unclean_end_of_the_machine_opens_a_new_epoch(void **state)
{
    static const struct {
        const char *name;
        uint8_t flags;
        uint32_t epoch;
    } cases[] = {{"async, unclosed", 1, 2}, {"async, closed", 3, 2}, {"sync, unclosed", 0, 2}};
    struct at_replica_view view;
    struct fx f;

    (void)state;
    fx_open(&f, 1, 2);
    fx_make_table(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct at_engine *e = NULL;
        struct at_batch *b = at_batch_new();
        uint8_t run[2 + 36] = {1, cases[i].flags};
        at_store_close(&f.store);
        struct at_engine_options options = {.dir = f.dir,
                                            .block_cache_bytes = AT_MIB,
                                            .memtable_bytes = AT_MIB,
                                            .background_threads = 1};
        assert_int_equal(at_engine_open(&options, &e, NULL), AT_OK);
        at_batch_put(b, AT_SPACE_META, AT_LIT("s"), at_slice_make(run, sizeof(run)));
        assert_int_equal(at_engine_commit(e, b, true, NULL), AT_OK);
        at_batch_free(&b);
        at_engine_close(&e);
        fx_reopen(&f);
        fx_view(&f, &view);
        assert_int_equal(view.epoch, cases[i].epoch);
        assert_true(view.closing);
        at_replica_view_deinit(&view);
        assert_int_equal(fx_set(&f, "r", "f", "q", 1000, "v"), AT_OK);
    }
    fx_close(&f);
}

static void copy_directory(const char *from, const char *to)
{
    char command[256];

    snprintf(command, sizeof(command), "cp -rp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): of this test's own folders */
}

/* A set of numbers that others have may be used again there, whoever is in touch: never in one
 * epoch with what was there. Written in `sync` and closed, so that nothing else speaks against it.
 */
static void a_directory_that_was_copied_back_opens_a_new_epoch(void **state)
{
    struct at_replica_view view;
    char old[sizeof(((struct fx *)NULL)->dir) + 8];
    struct fx f;

    (void)state;
    fx_prepare(&f, 1, 2);
    f.config.sync_commits = f.config.replica.sync_commits = true;
    fx_reopen(&f);
    fx_make_table(&f);
    at_store_close(&f.store);
    fx_reopen(&f);
    fx_view(&f, &view);
    assert_int_equal(view.epoch, 1); /* the same place */
    at_replica_view_deinit(&view);
    at_store_close(&f.store);
    snprintf(old, sizeof(old), "%s.old", f.dir);
    copy_directory(f.dir, old);
    fx_reopen(&f);
    assert_int_equal(fx_set(&f, "later", "f", "q", 1000, "v"), AT_OK);
    at_store_close(&f.store);
    nftw(f.dir, fx_remove, 8, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(rename(old, f.dir), 0);
    fx_reopen(&f);
    fx_view(&f, &view);
    assert_int_equal(view.epoch, 2);
    assert_int_equal(view.seq, 0);
    assert_true(view.closing);
    at_replica_view_deinit(&view);
    at_store_close(&f.store);
    fx_reopen(&f); /* it stays there now */
    fx_view(&f, &view);
    assert_int_equal(view.epoch, 2);
    at_replica_view_deinit(&view);
    fx_close(&f);
}

/* --- positions --- */

static void under_async_the_durable_vector_follows_by_itself(void **state)
{
    struct at_replica_view view;
    struct fx f;
    uint64_t durable = 0;

    (void)state;
    fx_open(&f, 1, 1);
    fx_make_table(&f);
    assert_int_equal(fx_set(&f, "r", "f", "q", 1000, "v"), AT_OK);
    at_replica_view_init(&view);
    for (int i = 0; i < 6000 && durable < 4; i++) {
        usleep(10000);
        at_store_view(f.store, &view);
        durable = at_vector_get(&view.durable, (struct at_member_id){1}, 1);
    }
    assert_int_equal(durable, 4);
    at_replica_view_deinit(&view);
    fx_close(&f);
}

static void an_idle_store_keeps_promising(void **state)
{
    struct at_replica_view before;
    struct at_replica_view after;
    struct at_store_stats first;
    struct at_store_stats second;
    struct fx f;

    (void)state;
    fx_open(&f, 1, 1);
    fx_view(&f, &before);
    uint64_t begin_ns = fx_mono_ns(NULL);
    at_store_stats(f.store, &first);
    at_replica_view_init(&after);
    for (int i = 0; i < 100; i++) { /* ten at least: a busy machine takes longer to go on */
        usleep(60000);
        at_store_view(f.store, &after);
        if (i >= 9 && after.facts.promise_count == 1 &&
            after.facts.promises[0].hlc > before.hlc + 200 * AT_MS_NS)
            break;
    }
    assert_int_equal(after.facts.promise_count, 1);
    at_store_stats(f.store, &second);
    uint64_t took_ms = (fx_mono_ns(NULL) - begin_ns) / AT_MS_NS;
    assert_true(after.facts.promises[0].hlc > before.hlc + 200 * AT_MS_NS);
    assert_true(second.rounds - first.rounds <= 3 * (took_ms / 600));
    at_replica_view_deinit(&before);
    at_replica_view_deinit(&after);
    fx_close(&f);
}

static void a_list_is_taken_whole_and_answered_in_order(void **state)
{
    enum { COUNT = 5000 };
    struct at_write_rows *writes = at_alloc(COUNT * sizeof(*writes));
    struct at_row_mutations *rows = at_alloc(COUNT * sizeof(*rows));
    struct at_mutation m = fx_set_of("f", "q", 1000, "v");
    struct fx_wait wait;
    struct fx f;

    (void)state;
    fx_open(&f, 1, 1);
    fx_make_table(&f);
    sem_init(&wait.done, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        rows[i] =
            (struct at_row_mutations){.row = AT_LIT("r"), .mutations = &m, .mutation_count = 1};
        writes[i] = (struct at_write_rows){
            .base = {.kind = AT_WRITE_ROWS, .done = fx_done, .ctx = &wait},
            .table = AT_LIT("t"),
            .full_name = FX_NAME,
            .rows = &rows[i],
            .row_count = 1,
        };
        writes[i].base.mail.next = i + 1 < COUNT ? &writes[i + 1].base.mail : NULL;
    }
    assert_int_equal(at_store_submit_list(f.store, &writes[0].base, COUNT), AT_OK);
    for (int i = 0; i < COUNT; i++)
        sem_wait(&wait.done);
    for (int i = 1; i < COUNT; i++)
        assert_int_equal(writes[i].base.seq, writes[i - 1].base.seq + 1);
    sem_destroy(&wait.done);
    fx_close(&f);
    at_free(rows);
    at_free(writes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_writes_survive_a_kill),
        cmocka_unit_test(all_is_there_after_closing_and_opening),
        cmocka_unit_test(numbering_and_clock_go_on_after_opening),
        cmocka_unit_test(a_store_of_another_member_or_instance_is_not_opened),
        cmocka_unit_test(genesis_is_applied_once),
        cmocka_unit_test(with_sync_commits_a_copy_holds_what_was_acknowledged),
        cmocka_unit_test(an_unclean_end_of_the_machine_opens_a_new_epoch),
        cmocka_unit_test(a_directory_that_was_copied_back_opens_a_new_epoch),
        cmocka_unit_test(under_async_the_durable_vector_follows_by_itself),
        cmocka_unit_test(an_idle_store_keeps_promising),
        cmocka_unit_test(a_list_is_taken_whole_and_answered_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
