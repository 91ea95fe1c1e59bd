/* The folder of an instance: what is kept, what is refused, what is found. */
#include "cli/state_dir.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"
#include "support/test_path.h"

extern char **environ;

static char dir[PATH_MAX];
static char state[PATH_MAX + 16];
static char file[PATH_MAX + 16];
static struct at_state_dir s;
static struct at_error error;

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void write_instance(const char *second, const char *ports)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "instance: lab\nclusters:\n- id: c1\n  zone: z1\n%s- id: %s\n  zone: z2\n"
                   "router:\n  grpc_port: 0\n  http_port: 0\n",
                   ports, second);
    write_text(file, text);
}

static int set_up(void **unused)
{
    (void)unused;
    char made[TEST_PATH_BYTES];
    (void)test_path(made, sizeof(made), "atoll-test");
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, dir));
    (void)snprintf(state, sizeof(state), "%s/state", dir);
    (void)snprintf(file, sizeof(file), "%s/file.yaml", dir);
    write_instance("c2", "");
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    pid_t pid;
    char rm[] = "rm", rf[] = "-rf";
    char *arguments[] = {rm, rf, dir, NULL};
    assert_int_equal(posix_spawnp(&pid, "rm", NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return 0;
}

static enum at_code create(int grpc, int http)
{
    return at_state_dir_create(&s, state, file, grpc, http, &error);
}

static int listen_on(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static void a_new_folder_gets_ids_and_distinct_ports(void **unused)
{
    (void)unused;
    assert_int_equal(create(-1, -1), AT_OK);
    const struct at_instance_config *i = &s.instance;
    assert_true(i->instance_id != 0);
    assert_int_equal(i->clusters[0].member, 1);
    assert_int_equal(i->clusters[1].member, 2);
    uint16_t ports[] = {i->grpc_port,
                        i->http_port,
                        i->clusters[0].grpc_port,
                        i->clusters[0].peer_port,
                        i->clusters[1].grpc_port,
                        i->clusters[1].peer_port};
    for (size_t a = 0; a < 6; a++) {
        assert_in_range(ports[a], 1024, 32767); /* no outgoing connection is given such a one */
        for (size_t b = 0; b < a; b++)
            assert_int_not_equal(ports[a], ports[b]);
    }
    assert_int_equal(access(at_state_dir_path(&s, "data", "c2", ""), W_OK), 0);
    assert_int_equal(access(at_state_dir_path(&s, "", "logs", ""), W_OK), 0);
    at_state_dir_close(&s);
}

static void identity_and_ports_are_kept(void **unused)
{
    (void)unused;
    assert_int_equal(create(-1, -1), AT_OK);
    uint64_t id = s.instance.instance_id;
    uint16_t router = s.instance.grpc_port, c2 = s.instance.clusters[1].peer_port;
    at_state_dir_close(&s);
    assert_int_equal(create(0, 0), AT_OK);
    assert_true(s.instance.instance_id == id);
    assert_int_equal(s.instance.grpc_port, router);
    assert_int_equal(s.instance.clusters[1].peer_port, c2);
    at_state_dir_close(&s);
    assert_int_equal(at_state_dir_open(&s, state, &error), AT_OK);
    assert_true(s.instance.instance_id == id);
    assert_int_equal(s.instance.clusters[1].member, 2);
    assert_int_equal(at_state_dir_cluster(&s, "c2"), 1);
    assert_int_equal(at_state_dir_cluster(&s, "c3"), -1);
    at_state_dir_close(&s);
}

static void other_clusters_are_refused_and_leave_no_trace(void **unused)
{
    (void)unused;
    assert_int_equal(create(-1, -1), AT_OK);
    uint64_t id = s.instance.instance_id;
    at_state_dir_close(&s);
    write_instance("c9", "");
    assert_int_equal(create(-1, -1), AT_FAILED_PRECONDITION);
    assert_int_not_equal(access(at_state_dir_path(&s, "data", "c9", ""), F_OK), 0);
    at_state_dir_close(&s);
    assert_int_equal(at_state_dir_open(&s, state, &error), AT_OK);
    assert_true(s.instance.instance_id == id);
    at_state_dir_close(&s);
}

static void a_kept_port_that_is_taken_is_replaced(void **unused)
{
    (void)unused;
    assert_int_equal(create(-1, -1), AT_OK);
    uint16_t c1 = s.instance.clusters[0].grpc_port, c2 = s.instance.clusters[1].grpc_port;
    at_state_dir_close(&s);
    int fd = listen_on(c1);
    assert_int_equal(create(-1, -1), AT_OK);
    assert_int_not_equal(s.instance.clusters[0].grpc_port, c1);
    assert_int_equal(s.instance.clusters[1].grpc_port, c2);
    at_state_dir_close(&s);
    (void)close(fd);
}

static void a_port_that_was_asked_for_must_be_free(void **unused)
{
    (void)unused;
    char text[64], port[8];
    assert_int_equal(create(-1, -1), AT_OK);
    uint16_t taken = s.instance.grpc_port;
    at_state_dir_close(&s);
    (void)snprintf(port, sizeof(port), "%u", taken);
    int fd = listen_on(taken);
    assert_int_equal(create(taken, -1), AT_UNAVAILABLE);
    assert_non_null(strstr(error.msg, port));
    at_state_dir_close(&s);
    (void)snprintf(text, sizeof(text), "  peer_port: %u\n", taken);
    write_instance("c2", text);
    assert_int_equal(create(-1, -1), AT_UNAVAILABLE);
    at_state_dir_close(&s);
    (void)close(fd);
    assert_int_equal(create(-1, -1), AT_OK);
    assert_int_equal(s.instance.clusters[0].peer_port, taken);
    assert_int_not_equal(s.instance.grpc_port, taken);
    at_state_dir_close(&s);
    assert_int_equal(create(taken, taken), AT_INVALID_ARGUMENT);
    at_state_dir_close(&s);
}

static void a_folder_can_be_spelled_in_many_ways(void **unused)
{
    (void)unused;
    char spelled[2 * PATH_MAX];
    assert_int_equal(create(-1, -1), AT_OK);
    at_state_dir_close(&s);
    (void)snprintf(spelled, sizeof(spelled), "%s/../state/.", state);
    assert_int_equal(at_state_dir_open(&s, spelled, &error), AT_OK);
    assert_string_equal(s.path, state);
    at_state_dir_close(&s);
}

static void what_is_not_there_or_broken_is_named(void **unused)
{
    (void)unused;
    assert_int_equal(at_state_dir_open(&s, state, &error), AT_NOT_FOUND);
    assert_non_null(strstr(error.msg, "atoll up"));
    at_state_dir_close(&s);
    assert_int_equal(at_state_dir_open(&s, "", &error), AT_INVALID_ARGUMENT);
    at_state_dir_close(&s);
    assert_int_equal(at_state_dir_create(&s, state, "/nonexistent.yaml", -1, -1, &error),
                     AT_NOT_FOUND);
    at_state_dir_close(&s);
    assert_int_not_equal(access(state, F_OK), 0); /* nothing was made */
    assert_int_equal(at_state_dir_create(&s, "/proc/nowhere", file, -1, -1, &error),
                     AT_UNAVAILABLE);
    at_state_dir_close(&s);
    static const char *const BROKEN[] = {"", "\n", "# only this\n", ":::\n", "instance: [\n"};
    assert_int_equal(create(-1, -1), AT_OK);
    char own[PATH_MAX + 32];
    (void)snprintf(own, sizeof(own), "%s/instance.yaml", state);
    at_state_dir_close(&s);
    for (size_t i = 0; i < sizeof(BROKEN) / sizeof(BROKEN[0]); i++) {
        write_text(own, BROKEN[i]);
        assert_int_equal(at_state_dir_open(&s, state, &error), AT_INVALID_ARGUMENT);
        assert_non_null(strstr(error.msg, own));
        at_state_dir_close(&s);
        assert_int_equal(create(-1, -1), AT_INVALID_ARGUMENT);
        at_state_dir_close(&s);
    }
}

static void no_cluster_may_be_called_router(void **unused)
{
    (void)unused;
    write_instance("router", "");
    assert_int_equal(create(-1, -1), AT_INVALID_ARGUMENT);
    at_state_dir_close(&s);
}

static void one_command_at_a_time(void **unused)
{
    (void)unused;
    struct at_state_dir other;
    assert_int_equal(create(-1, -1), AT_OK); /* holds the lock */
    assert_int_equal(at_state_dir_lock(&s, &error), AT_OK);
    assert_int_equal(at_state_dir_open(&other, state, &error), AT_OK);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(1); /* still waiting then */
        _exit(at_state_dir_lock(&other, NULL) == AT_OK);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    at_state_dir_close(&s);
    assert_int_equal(at_state_dir_lock(&other, &error), AT_OK);
    at_state_dir_close(&other);
}

/* A process that has `run_file` on its command line: this program again (see main). */
static pid_t spawn_named(const char *run_file)
{
    pid_t pid;
    char self[] = "/proc/self/exe", name[PATH_MAX + 32];
    (void)snprintf(name, sizeof(name), "%s", run_file);
    char *arguments[] = {self, name, NULL};
    assert_int_equal(posix_spawn(&pid, self, NULL, NULL, arguments, environ), 0);
    return pid;
}

static void a_process_is_known_by_its_run_file(void **unused)
{
    (void)unused;
    char text[128];
    assert_int_equal(create(-1, -1), AT_OK);
    const char *run_file = at_state_dir_path(&s, "run", "c1", ".json");
    assert_false(at_state_dir_running(&s, "c1").alive);
    write_text(run_file, "{\"pid\": ");
    assert_false(at_state_dir_running(&s, "c1").alive);
    (void)snprintf(text, sizeof(text), "{\"pid\": %d, \"grpc\": 5}", getpid());
    write_text(run_file, text); /* alive, but another program: the pid was given again */
    assert_false(at_state_dir_running(&s, "c1").alive);
    pid_t pid = spawn_named(run_file);
    (void)snprintf(text, sizeof(text), "{\"pid\": %d, \"grpc\": 5, \"peer\": 6}", pid);
    write_text(run_file, text);
    for (int i = 0; i < 30000 && !at_state_dir_running(&s, "c1").alive; i++)
        (void)usleep(1000); /* until it is more than a fork of this one */
    struct at_running r = at_state_dir_running(&s, "c1");
    assert_true(r.alive);
    assert_int_equal(r.pid, pid);
    assert_int_equal(r.grpc, 5);
    assert_int_equal(r.peer, 6);
    at_state_dir_close(&s);
    assert_int_equal(create(-1, -1), AT_FAILED_PRECONDITION); /* running processes keep the file */
    assert_non_null(strstr(error.msg, "c1 runs already"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int i = 0; i < 30000 && at_state_dir_running(&s, "c1").alive; i++)
        (void)usleep(1000);
    assert_false(at_state_dir_running(&s, "c1").alive); /* dead, though nobody has waited for it */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    at_state_dir_close(&s);
}

static void other_instances_have_folders_below_the_first_ones(void **unused)
{
    (void)unused;
    const char **paths;
    assert_int_equal(create(-1, -1), AT_OK);
    assert_int_equal(at_state_dir_folders(&s, &paths), 0);
    const char *two = at_state_dir_of(&s, s.instance.project, "two");
    const char *far = at_state_dir_of(&s, "elsewhere", "two");
    assert_string_equal(strrchr(two, '/'), "/two");
    assert_string_equal(strrchr(far, '/'), "/two@elsewhere");
    assert_int_equal(mkdir(at_state_dir_path(&s, "", "instances", ""), 0777), 0);
    assert_int_equal(mkdir(two, 0777), 0);
    assert_int_equal(mkdir(far, 0777), 0);
    assert_int_equal(mkdir(at_state_dir_path(&s, "instances", ".gone-1", ""), 0777), 0);
    assert_int_equal(at_state_dir_folders(&s, &paths), 2);
    assert_string_equal(paths[0], two);
    assert_string_equal(paths[1], far);
    at_state_dir_close(&s);
}

static void ports_are_chosen_for_clusters_that_have_none(void **unused)
{
    (void)unused;
    bool changed = true;
    assert_int_equal(create(-1, -1), AT_OK);
    assert_int_equal(at_state_dir_ports(&s, &changed, &error), AT_OK);
    assert_false(changed);
    s.instance.clusters[1].peer_port = 0;
    assert_int_equal(at_state_dir_ports(&s, &changed, &error), AT_OK);
    assert_true(changed);
    assert_int_not_equal(s.instance.clusters[1].peer_port, 0);
    at_state_dir_close(&s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        (void)alarm(240); /* should nobody end it */
        return pause();
    }
    const struct CMUnitTest tests[] = {
        CASE(a_new_folder_gets_ids_and_distinct_ports),
        CASE(identity_and_ports_are_kept),
        CASE(other_clusters_are_refused_and_leave_no_trace),
        CASE(a_kept_port_that_is_taken_is_replaced),
        CASE(a_port_that_was_asked_for_must_be_free),
        CASE(a_folder_can_be_spelled_in_many_ways),
        CASE(what_is_not_there_or_broken_is_named),
        CASE(no_cluster_may_be_called_router),
        CASE(one_command_at_a_time),
        CASE(a_process_is_known_by_its_run_file),
        CASE(other_instances_have_folders_below_the_first_ones),
        CASE(ports_are_chosen_for_clusters_that_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
