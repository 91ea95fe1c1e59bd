#include "support/test.h"

#include "support/copy_fixture.h"

#include <signal.h>
#include <sys/wait.h>

/* What a process that dies in a copy leaves behind, and a disk that refuses the switch. */

#define NONE ((struct at_slice){NULL, 0})

enum point { OPENED, CATALOG, HALF, WHOLE, FINISHED, POINTS };

static void prepare(struct fx *a, struct fx *b)
{
    fx_prepare(a, 1, 2);
    fx_prepare(b, 2, 2);
}

static void must(bool ok)
{
    if (!ok)
        _exit(9);
}

/* The child: a has r, b has s, and b dies at `point` of a copy from a. */
static void die_at(struct fx *a, struct fx *b, enum point point)
{
    struct cfx c;

    fx_reopen(a);
    fx_reopen(b);
    fx_make_table(a);
    fx_pull(b, a, 1 << 20);
    must(fx_set(a, "r", "f", "q", 1000, "a") == AT_OK);
    must(fx_set(a, "r2", "g", "q", 1000, "a") == AT_OK);
    must(fx_set(b, "s", "f", "q", 1000, "b") == AT_OK);
    cfx_begin(&c, b, a);
    c.chunk_bytes = 1;
    if (point >= CATALOG)
        while (c.part == 0)
            must(cfx_step(&c));
    if (point >= HALF)
        must(cfx_step(&c) && cfx_step(&c));
    if (point >= WHOLE)
        while (cfx_step(&c))
            continue;
    if (point == FINISHED)
        must(at_copy_sink_finish(&c.sink, NULL) == AT_OK);
    _exit(0);
}

static void expect_after(struct fx *b, enum point point)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/aside", b->dir);
    assert_int_not_equal(access(path, F_OK), 0);
    if (point == FINISHED) {
        assert_int_equal(cfx_mode(b), AT_MODE_READY);
        fx_expect_rows(b, "t", "r: f:q@1000=a|r2: g:q@1000=a|s: f:q@1000=b|");
    } else {
        assert_int_equal(cfx_mode(b), AT_MODE_NEEDS_COPY);
        fx_expect_rows(b, "t", "s: f:q@1000=b|");
    }
}

static void a_crash_in_a_copy_leaves_one_picture_and_no_remains(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it does not follow threads of a child that was forked beside threads */
#endif
    for (enum point point = OPENED; point < POINTS; point++) {
        struct fx a, b;
        int status = 0;
        prepare(&a, &b);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            die_at(&a, &b, point);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        fx_reopen(&a);
        fx_reopen(&b);
        expect_after(&b, point);
        cfx_copy(&b, &a, 1 << 20); /* and it can be done again */
        expect_after(&b, FINISHED);
        fx_close(&a);
        fx_close(&b);
    }
}

/* Killed at any moment while copies follow one another: what is there is what one of them left. */
static void copy_on(struct fx *a, struct fx *b, int out)
{
    fx_reopen(a);
    fx_reopen(b);
    fx_make_table(a);
    fx_pull(b, a, 1 << 20);
    must(fx_set(b, "s", "f", "q", 1000, "b") == AT_OK);
    for (uint32_t i = 0;; i++) {
        char value[16];
        snprintf(value, sizeof(value), "%08u", i);
        must(fx_set(a, "r", "f", "q", 1000, value) == AT_OK &&
             fx_set(a, "r", "g", "q", 1000, value) == AT_OK);
        cfx_copy(b, a, 1);
        must(write(out, &i, sizeof(i)) == sizeof(i));
    }
}

static void a_kill_leaves_what_one_of_the_copies_left(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    for (useconds_t round = 0; round < 3; round++) {
        struct fx a, b;
        int fds[2];
        uint32_t last = 0;
        char expected[2][80];
        prepare(&a, &b);
        assert_int_equal(pipe(fds), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            copy_on(&a, &b, fds[1]);
        close(fds[1]);
        assert_int_equal(read(fds[0], &last, sizeof(last)), sizeof(last));
        usleep(20000 + round * 17000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        while (read(fds[0], &last, sizeof(last)) == sizeof(last))
            continue;
        close(fds[0]);
        fx_reopen(&b);
        char *text = fx_rows(&b, "t");
        for (uint32_t i = 0; i < 2; i++) /* one more may be done and not told */
            snprintf(expected[i], sizeof(expected[i]),
                     "r: f:q@1000=%08u g:q@1000=%08u|s: f:q@1000=b|", last + i, last + i);
        assert_true(strcmp(text, expected[0]) == 0 || strcmp(text, expected[1]) == 0);
        at_free(text);
        fx_close(&b);
        nftw(a.dir, fx_remove, 8, FTW_DEPTH | FTW_PHYS);
    }
}

static void a_step_on_a_store_that_closes_is_refused(void **state)
{
    struct fx a, b;
    struct cfx c;
    struct at_vector needs = {0};
    struct at_copy_source *source = NULL;

    (void)state;
    fx_open(&a, 1, 2);
    fx_open(&b, 2, 2);
    fx_make_table(&a);
    cfx_begin(&c, &b, &a);
    atomic_store(&a.store->closing, true);
    at_mailbox_close(&a.store->mailbox);
    assert_int_equal(at_copy_source_open(a.store, (struct at_member_id){2}, &needs, &source, NULL),
                     AT_UNAVAILABLE);
    while (cfx_step(&c)) /* what is open goes on */
        continue;
    atomic_store(&b.store->closing, true);
    at_mailbox_close(&b.store->mailbox);
    assert_int_equal(at_copy_sink_finish(&c.sink, NULL), AT_UNAVAILABLE);
    cfx_abort(&c);
    fx_close(&a);
    at_store_close(&b.store);
    fx_reopen(&b);
    assert_int_equal(cfx_mode(&b), AT_MODE_NEEDS_COPY);
    fx_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_in_a_copy_leaves_one_picture_and_no_remains),
        cmocka_unit_test(a_kill_leaves_what_one_of_the_copies_left),
        cmocka_unit_test(a_step_on_a_store_that_closes_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
