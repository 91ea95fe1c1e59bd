/* Starting and stopping processes. They run this very program (at_process_spawn starts the program
 * that calls it): what it does then is decided by the name of the cluster. */
#include "cli/process.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/runfile.h"
#include "support/test.h"
#include "support/test_path.h"

extern char **environ;

static char dir[PATH_MAX];
static struct at_state_dir s;
static struct at_error error;

static const char *argument(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return "";
}

/* The started process. */
static int serve(int argc, char **argv)
{
    struct at_runfile_port ports[] = {{"grpc", 4711}};
    const char *id = argument(argc, argv, "--cluster");
    (void)alarm(240); /* should its test fail */
    if (strcmp(id, "fails") == 0) {
        (void)fputs("level=error msg=\"the disk is full\"\nmsg=stopped\n", stderr);
        return 1;
    }
    if (strcmp(id, "stubborn") == 0)
        (void)signal(SIGTERM, SIG_IGN);
    if (strcmp(id, "mute") != 0 &&
        at_runfile_write(argument(argc, argv, "--run-file"), ports, 1, NULL) != AT_OK)
        return 1;
    for (;;)
        (void)pause();
}

static int set_up(void **unused)
{
    (void)unused;
    char made[TEST_PATH_BYTES], file[PATH_MAX + 16];
    (void)test_path(made, sizeof(made), "atoll-test");
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, dir));
    (void)snprintf(file, sizeof(file), "%s/file.yaml", dir);
    FILE *out = fopen(file, "we");
    assert_non_null(out);
    (void)fputs("instance: lab\nclusters:\n", out);
    static const char *const IDS[] = {"good", "fails", "stubborn", "mute"};
    for (int i = 0; i < 4; i++)
        (void)fprintf(out, "- id: %s\n  zone: z%d\n", IDS[i], i);
    (void)fputs("router:\n  grpc_port: 0\n  http_port: 0\n", out);
    assert_int_equal(fclose(out), 0);
    if (at_state_dir_create(&s, dir, file, -1, -1, &error) != AT_OK)
        fail_msg("%s", error.msg);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    at_state_dir_close(&s);
    pid_t pid;
    char rm[] = "rm", rf[] = "-rf";
    char *arguments[] = {rm, rf, dir, NULL};
    assert_int_equal(posix_spawnp(&pid, "rm", NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return 0;
}

static pid_t spawn(const char *name)
{
    pid_t pid = 0;
    assert_int_equal(at_process_spawn(&s, name, &pid, &error), AT_OK);
    assert_true(pid > 0);
    return pid;
}

static void a_process_serves_when_it_says_so(void **unused)
{
    (void)unused;
    pid_t good = spawn("good"), router = spawn(AT_ROUTER_NAME);
    assert_int_equal(at_process_wait_serving(&s, "good", good, 60000, &error), AT_OK);
    assert_int_equal(at_process_wait_serving(&s, AT_ROUTER_NAME, router, 60000, &error), AT_OK);
    assert_int_equal(at_state_dir_running(&s, "good").grpc, 4711);
    assert_int_equal(getpgid(good), good); /* a Ctrl-C at our terminal is not its business */
    assert_int_equal(at_process_stop_all(&s, 60000), 2);
    assert_false(at_state_dir_running(&s, "good").alive);
    assert_int_not_equal(access(at_state_dir_path(&s, "run", "good", ".json"), F_OK), 0);
    assert_int_equal(at_process_stop_all(&s, 60000), 0);
}

static void one_that_dies_at_once_is_quoted(void **unused)
{
    (void)unused;
    pid_t pid = spawn("fails");
    assert_int_equal(at_process_wait_serving(&s, "fails", pid, 60000, &error), AT_UNAVAILABLE);
    assert_non_null(strstr(error.msg, "the disk is full"));
    assert_non_null(strstr(error.msg, "fails.log"));
}

static void one_that_never_serves_is_given_up(void **unused)
{
    (void)unused;
    pid_t pid = spawn("mute");
    assert_int_equal(at_process_wait_serving(&s, "mute", pid, 100, &error), AT_DEADLINE_EXCEEDED);
    assert_non_null(strstr(error.msg, "mute.log"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void waiting_ends_by_a_signal_that_is_held_back(void **unused)
{
    (void)unused;
    sigset_t set, old;
    int number;
    pid_t pid = spawn("mute");
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, &old), 0);
    assert_int_equal(raise(SIGINT), 0);
    assert_int_equal(at_process_wait_serving(&s, "mute", pid, 60000, &error), AT_CANCELLED);
    assert_int_equal(sigwait(&set, &number), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void kill_is_for_those_that_run(void **unused)
{
    (void)unused;
    assert_int_equal(at_process_kill(&s, "good", &error), AT_FAILED_PRECONDITION);
    pid_t pid = spawn("good");
    assert_int_equal(at_process_wait_serving(&s, "good", pid, 60000, &error), AT_OK);
    assert_int_equal(at_process_kill(&s, "good", &error), AT_OK);
    assert_false(at_state_dir_running(&s, "good").alive);
    assert_int_equal(at_process_kill(&s, "good", &error), AT_FAILED_PRECONDITION);
    pid = spawn("good"); /* the old run file does not count */
    assert_int_equal(at_process_wait_serving(&s, "good", pid, 60000, &error), AT_OK);
    assert_int_equal(at_process_stop_all(&s, 60000), 1);
}

static void touch(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void a_cluster_whose_data_is_gone_does_not_start_anew(void **unused)
{
    (void)unused;
    const char *current = at_state_dir_path(&s, "data", "good/CURRENT", "");
    const char *born = at_state_dir_path(&s, "data", "good.born", "");
    (void)mkdir(at_state_dir_path(&s, "data", "good", ""), 0777);
    touch(current);
    pid_t pid = spawn("good");
    assert_int_equal(at_process_wait_serving(&s, "good", pid, 60000, &error), AT_OK);
    assert_int_equal(access(born, F_OK), 0);
    assert_int_equal(at_process_stop_all(&s, 60000), 1);

    assert_int_equal(unlink(current), 0);
    assert_int_equal(at_process_spawn(&s, "good", &pid, &error), AT_FAILED_PRECONDITION);
    assert_non_null(strstr(error.msg, "the data of good is gone"));
    assert_int_equal(unlink(born), 0);
}

static void one_that_ignores_sigterm_is_killed_in_the_end(void **unused)
{
    (void)unused;
    pid_t pid = spawn("stubborn");
    assert_int_equal(at_process_wait_serving(&s, "stubborn", pid, 60000, &error), AT_OK);
    assert_int_equal(at_process_stop_all(&s, 200), 1);
    assert_int_not_equal(kill(pid, 0), 0);
}

/* A process has no command line yet for a moment after it was spawned. */
static pid_t spawn_mute(void)
{
    pid_t pid = spawn("mute");
    while (!at_state_dir_is_process(pid, at_state_dir_path(&s, "run", "mute", ".json")))
        (void)usleep(1000);
    return pid;
}

/* As when the command that started it was killed at once. */
static void what_was_started_and_never_served_is_found(void **unused)
{
    (void)unused;
    pid_t first = spawn_mute();
    pid_t second = spawn_mute();
    assert_int_not_equal(kill(first, 0), 0);
    assert_int_equal(kill(second, 0), 0);
    assert_false(at_process_stop_one(&s, "mute", 0));
    assert_int_not_equal(kill(second, 0), 0);
    pid_t third = spawn("good");
    assert_int_equal(at_process_wait_serving(&s, "good", third, 60000, &error), AT_OK);
    assert_int_not_equal(access(at_state_dir_path(&s, "run", "good", ".starting"), F_OK), 0);
    assert_true(at_process_stop_one(&s, "good", 60000));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "cluster") == 0 || strcmp(argv[1], "router") == 0))
        return serve(argc, argv);
    const struct CMUnitTest tests[] = {
        CASE(a_process_serves_when_it_says_so),
        CASE(one_that_dies_at_once_is_quoted),
        CASE(one_that_never_serves_is_given_up),
        CASE(waiting_ends_by_a_signal_that_is_held_back),
        CASE(kill_is_for_those_that_run),
        CASE(what_was_started_and_never_served_is_found),
        CASE(a_cluster_whose_data_is_gone_does_not_start_anew),
        CASE(one_that_ignores_sigterm_is_killed_in_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
