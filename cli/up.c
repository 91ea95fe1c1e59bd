/* up.c: `atoll up`: all processes of an instance, until each serves. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/process.h"
#include "cli/table.h"

#define SERVING_MS_MAX 30000
#define STOP_MS_MAX 10000
#define SHIPPED "configs/three-zones.yaml"

struct up_options {
    const char *file; /* NULL: the one in the state directory, else configs/three-zones.yaml */
    const char *state_dir;
    int grpc_port; /* -1: as the file says */
    int http_port;
    bool detach;
};

enum { OPT_GRPC = 256, OPT_HTTP, OPT_STATE, OPT_DETACH };

static int up(const struct up_options *o);
/* The processes that this command started. */
struct started {
    const char *names[AT_MEMBERS_MAX + 1];
    pid_t pids[AT_MEMBERS_MAX + 1];
    uint32_t count;
};

static void start_others(struct at_state_dir *root);
static void stop_others(struct at_state_dir *root);

static enum at_code
start_all(struct at_state_dir *s, struct started *ret_started, struct at_error *reterr);
static int stay(struct at_state_dir *s, const struct started *started);

static int port_of(const char *arg, struct argp_state *state, const char *name)
{
    char *end;
    unsigned long port = strtoul(arg, &end, 10);
    if (*arg == '\0' || *end != '\0' || port > 65535)
        argp_error(state, "%s: expected a port number, 0 for a free one", name);
    return (int)port;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct up_options *o = state->input;
    switch (key) {
    case 'c':
        o->file = arg;
        return 0;
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case OPT_GRPC:
        o->grpc_port = port_of(arg, state, "--grpc-port");
        return 0;
    case OPT_HTTP:
        o->http_port = port_of(arg, state, "--http-port");
        return 0;
    case OPT_DETACH:
        o->detach = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int at_command_up(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        {"config", 'c', "FILE", 0,
         "instance file (default: the running one's, else configs/three-zones.yaml)", 0},
        {"state-dir", OPT_STATE, "DIR", 0,
         "where data, logs and run files are (default " AT_STATE_DIR_DEFAULT ")", 0},
        {"grpc-port", OPT_GRPC, "PORT", 0, "the router's gRPC port, 0 for a free one", 0},
        {"http-port", OPT_HTTP, "PORT", 0, "the router's HTTP port, 0 for a free one", 0},
        {"detach", OPT_DETACH, NULL, 0, "return once all serve; stop them with `atoll down`", 0},
        {0},
    };
    static const struct argp ARGP = {OPTIONS,
                                     parse,
                                     NULL,
                                     "Starts all processes of an instance and waits until each "
                                     "serves. In the foreground, Ctrl-C stops them.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct up_options o = {.state_dir = AT_STATE_DIR_DEFAULT, .grpc_port = -1, .http_port = -1};
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    return up(&o);
}

/* The file to use when none is named: this folder's own, then the one that is shipped, found from
 * the current directory or from where the program was built. */
static const char *default_file(struct at_arena *arena, const char *state_dir)
{
    const char *own = at_arena_printf(arena, "%s/instance.yaml", state_dir);
    if (access(own, R_OK) == 0)
        return own;
    if (access(SHIPPED, R_OK) == 0)
        return SHIPPED;
    char program[4096];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[len > 0 ? len : 0] = '\0';
    for (int up_levels = 0; up_levels < 3; up_levels++) {
        char *slash = strrchr(program, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    return at_arena_printf(arena, "%s/%s", program, SHIPPED);
}

static int fail(const struct at_error *error)
{
    (void)fprintf(stderr, "atoll up: %s\n", error->msg);
    return 1;
}

/* Ctrl-C is waited for, not suffered: while processes start, too. */
static sigset_t stop_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGCHLD);
    return set;
}

static void block_signals(void)
{
    sigset_t set = stop_signals();
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static int up(const struct up_options *o)
{
    struct at_error error;
    struct at_state_dir s;
    struct started started;
    struct at_arena arena;
    at_arena_init(&arena, AT_KIB);
    const char *file = o->file ? o->file : default_file(&arena, o->state_dir);
    int status = 0;
    if (!o->file && access(file, F_OK) != 0) {
        (void)fputs("atoll up: which instance file? There is no " SHIPPED " here; say -c FILE\n",
                    stderr);
        at_arena_deinit(&arena);
        return 2;
    }
    block_signals();
    if (at_state_dir_create(&s, o->state_dir, file, o->grpc_port, o->http_port, &error) != AT_OK ||
        start_all(&s, &started, &error) != AT_OK)
        status = fail(&error);
    if (status == 0) {
        start_others(&s);
        (void)close(s.lock_fd); /* other commands may act from here on */
        s.lock_fd = -1;
        at_table_print_instance(stdout, &s);
        (void)fflush(stdout);
        if (!o->detach)
            status = stay(&s, &started);
    }
    at_state_dir_close(&s);
    at_arena_deinit(&arena);
    return status;
}

/* All at once: clusters do not need each other to start, and the router waits for them. On failure
 * what was started is stopped again. */
static enum at_code
start_all(struct at_state_dir *s, struct started *ret_started, struct at_error *reterr)
{
    uint32_t count = 0;
    struct started *started = ret_started;
    *started = (struct started){.count = 0};
    pid_t *pids = started->pids;
    enum at_code code = AT_OK;
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (!at_process_unborn(s, &s->instance.clusters[i]))
            started->names[count++] = s->instance.clusters[i].id;
    started->names[count++] = AT_ROUTER_NAME;
    started->count = count;
    for (uint32_t i = 0; i < count && code == AT_OK; i++)
        code = at_process_spawn(s, started->names[i], &pids[i], reterr);
    for (uint32_t i = 0; i < count && code == AT_OK; i++)
        code = at_process_wait_serving(s, started->names[i], pids[i], SERVING_MS_MAX, reterr);
    if (code == AT_OK)
        return AT_OK;
    (void)at_process_stop_all(s, STOP_MS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (pids[i] > 0 && waitpid(pids[i], NULL, WNOHANG) == 0) {
            (void)kill(pids[i], SIGKILL); /* not serving yet, so without a run file */
            (void)waitpid(pids[i], NULL, 0);
        }
    }
    return code;
}

static enum at_code start_other(struct at_state_dir *s, struct at_error *reterr)
{
    pid_t pids[AT_MEMBERS_MAX];
    bool changed = false;
    AT_TRY(at_state_dir_lock(s, reterr));
    AT_TRY(at_state_dir_ports(s, &changed, reterr));
    if (changed)
        AT_TRY(at_state_dir_save(s, reterr));
    AT_TRY(at_process_start_clusters(s, pids, reterr));
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (pids[i] > 0)
            AT_TRY(at_process_wait_serving(s, s->instance.clusters[i].id, pids[i], SERVING_MS_MAX,
                                           reterr));
    return AT_OK;
}

/* The instances beside the first one. One that does not start is told, and keeps nobody else from
 * starting. One whose making or removal was not finished is the router's matter. */
static void start_others(struct at_state_dir *root)
{
    const char **paths;
    uint32_t count = at_state_dir_folders(root, &paths);
    for (uint32_t i = 0; i < count; i++) {
        struct at_state_dir s;
        struct at_error error;
        if (access(at_arena_printf(&root->arena, "%s/creation.json", paths[i]), F_OK) == 0 ||
            access(at_arena_printf(&root->arena, "%s/deletion", paths[i]), F_OK) == 0)
            continue;
        enum at_code code = at_state_dir_open(&s, paths[i], &error);
        if (code == AT_OK)
            code = start_other(&s, &error);
        if (code != AT_OK)
            (void)fail(&error);
        at_state_dir_close(&s);
    }
}

static void stop_others(struct at_state_dir *root)
{
    const char **paths;
    uint32_t count = at_state_dir_folders(root, &paths);
    for (uint32_t i = 0; i < count; i++) {
        struct at_state_dir s;
        struct at_error error;
        if (at_state_dir_open(&s, paths[i], &error) == AT_OK &&
            at_state_dir_lock(&s, &error) == AT_OK)
            (void)at_process_stop_all(&s, STOP_MS_MAX);
        at_state_dir_close(&s);
    }
}

static const char *name_of(const struct started *started, pid_t pid)
{
    for (uint32_t i = 0; i < started->count; i++)
        if (started->pids[i] == pid)
            return started->names[i];
    return NULL;
}

static bool any_runs(struct at_state_dir *s)
{
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (at_state_dir_running(s, s->instance.clusters[i].id).alive)
            return true;
    return at_state_dir_running(s, AT_ROUTER_NAME).alive;
}

/* Waits for Ctrl-C, or until nothing is left to stop, telling of processes that end meanwhile.
 */
static int stay(struct at_state_dir *s, const struct started *started)
{
    sigset_t set = stop_signals();
    /* what the router has started for it becomes this command's when the launcher ends */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)puts("\nCtrl-C stops all.");
    (void)fflush(stdout);
    for (;;) {
        int status, number = sigwaitinfo(&set, NULL);
        if (number != SIGCHLD && number > 0)
            break;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            const char *name = name_of(started, pid);
            if (!name)
                continue; /* of the launcher: the router tells */
            if (WIFSIGNALED(status))
                (void)printf("%s (pid %d) was ended by signal %d; `atoll start %s` starts it\n",
                             name, (int)pid, WTERMSIG(status), name);
            else
                (void)printf("%s (pid %d) ended with status %d\n", name, (int)pid,
                             WEXITSTATUS(status));
            (void)fflush(stdout);
        }
        if (!any_runs(s)) {
            (void)puts("nothing runs any more");
            return 0;
        }
    }
    struct at_error error;
    if (at_state_dir_lock(s, &error) != AT_OK)
        return fail(&error);
    (void)at_process_stop_all(s, STOP_MS_MAX);
    stop_others(s);
    return 0;
}
