/* The temporary folder of a process: it goes, and those of dead processes with it. */
#include "cli/temp_store.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"
#include "support/test_path.h"

static char parent[TEST_PATH_BYTES];
static struct at_temp_store s;
static struct at_error error;

static int set_up(void **unused)
{
    (void)unused;
    assert_non_null(mkdtemp(test_path(parent, sizeof(parent), "atoll-test")));
    return 0;
}

/* Fails when a test has left something. */
static int tear_down(void **unused)
{
    (void)unused;
    return rmdir(parent);
}

static void put_file(const char *dir)
{
    char path[AT_TEMP_STORE_BYTES + 16];

    (void)snprintf(path, sizeof(path), "%s/sub", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/sub/file", dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

/* The folder of a process that was killed; its path, in a static buffer. */
static const char *of_a_dead_one(void)
{
    static struct at_temp_store dead;
    int pipes[2], status;

    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool opened = at_temp_store_open(&dead, parent, NULL) == AT_OK &&
                      write(pipes[1], &dead, sizeof(dead)) == (ssize_t)sizeof(dead);
        (void)raise(SIGKILL);
        _exit(opened);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(read(pipes[0], &dead, sizeof(dead)), sizeof(dead));
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    assert_int_equal(access(dead.dir, F_OK), 0);
    return dead.dir;
}

static void it_goes_with_all_below_it(void **unused)
{
    (void)unused;
    assert_int_equal(at_temp_store_open(&s, parent, &error), AT_OK);
    put_file(s.dir);
    at_temp_store_remove(&s);
    assert_int_not_equal(access(s.dir, F_OK), 0);
}

static void that_of_a_dead_process_is_swept(void **unused)
{
    (void)unused;
    const char *dead = of_a_dead_one();
    put_file(dead);
    assert_int_equal(at_temp_store_open(&s, parent, &error), AT_OK);
    assert_int_not_equal(access(dead, F_OK), 0);
    at_temp_store_remove(&s);
}

static void that_of_a_living_process_stays(void **unused)
{
    (void)unused;
    struct at_temp_store other;
    assert_int_equal(at_temp_store_open(&other, parent, &error), AT_OK);
    assert_int_equal(at_temp_store_open(&s, parent, &error), AT_OK);
    assert_int_equal(access(other.dir, F_OK), 0);
    at_temp_store_remove(&s);
    at_temp_store_remove(&other);
}

static void other_folders_stay(void **unused)
{
    (void)unused;
    static const char *const NAMES[] = {"atoll-emulator-abc", "other"}; /* of an unknown process */
    char paths[2][TEST_PATH_BYTES + 32], locked[TEST_PATH_BYTES + 48];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", parent, NAMES[i]);
        assert_int_equal(mkdir(paths[i], 0700), 0);
    }
    (void)snprintf(locked, sizeof(locked), "%s/in-use", paths[1]);
    FILE *file = fopen(locked, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(at_temp_store_open(&s, parent, &error), AT_OK);
    at_temp_store_remove(&s);
    assert_int_equal(unlink(locked), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rmdir(paths[i]), 0);
}

static void where_nothing_can_be_made_is_told(void **unused)
{
    (void)unused;
    assert_int_equal(at_temp_store_open(&s, "/nonexistent", &error), AT_UNAVAILABLE);
    assert_non_null(strstr(error.msg, "/nonexistent"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_goes_with_all_below_it),         CASE(that_of_a_dead_process_is_swept),
        CASE(that_of_a_living_process_stays),    CASE(other_folders_stay),
        CASE(where_nothing_can_be_made_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
