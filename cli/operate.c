/* operate.c: `atoll down`, `atoll kill`, `atoll start`: small acts on a running instance. */
#include <argp.h>
#include <limits.h>
#include <string.h>

#include "cli/command.h"
#include "cli/process.h"

#define SERVING_MS_MAX 30000
#define STOP_MS_MAX 10000

struct operate_options {
    const char *state_dir;
    const char *cluster;
    bool takes_cluster;
};

enum { OPT_STATE = 256 };

static const struct argp_option OPTIONS[] = {
    {"state-dir", OPT_STATE, "DIR", 0, "the instance's folder (default " AT_STATE_DIR_DEFAULT ")",
     0},
    {0},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is argp's. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct operate_options *o = state->input;
    switch (key) {
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (!o->takes_cluster || o->cluster)
            return ARGP_ERR_UNKNOWN;
        o->cluster = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->takes_cluster && !o->cluster)
            argp_error(state, "which cluster?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* CLUSTER is of the first instance, INSTANCE/CLUSTER of another one. */
static enum at_code
open_folder(struct operate_options *o, struct at_state_dir *s, struct at_error *reterr)
{
    const char *slash = o->cluster ? strchr(o->cluster, '/') : NULL;
    AT_TRY(at_state_dir_open(s, o->state_dir, reterr));
    if (!slash)
        return AT_OK;
    char path[PATH_MAX];
    size_t len = (size_t)(slash - o->cluster);
    bool first =
        strlen(s->instance.instance) == len && strncmp(s->instance.instance, o->cluster, len) == 0;
    int n = snprintf(path, sizeof(path), "%s/instances/%.*s", s->path, (int)len, o->cluster);
    o->cluster = slash + 1;
    if (first)
        return AT_OK;
    at_state_dir_close(s);
    if (n < 0 || (size_t)n >= sizeof(path))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "the name is too long");
    return at_state_dir_open(s, path, reterr);
}

/* Parses, opens and locks the folder, and checks that the cluster is one. Returns an exit code. */
static int begin(int argc,
                 char **argv,
                 const struct argp *argp,
                 struct operate_options *o,
                 struct at_state_dir *s)
{
    struct at_error error;
    o->state_dir = AT_STATE_DIR_DEFAULT;
    if (argp_parse(argp, argc, argv, 0, NULL, o) != 0)
        return 2;
    enum at_code code = open_folder(o, s, &error);
    if (code == AT_OK)
        code = at_state_dir_lock(s, &error);
    if (code == AT_OK && o->cluster && strcmp(o->cluster, AT_ROUTER_NAME) != 0 &&
        at_state_dir_cluster(s, o->cluster) < 0)
        code = at_fail(&error, AT_NOT_FOUND, "the instance has no cluster %s", o->cluster);
    if (code == AT_OK)
        return 0;
    (void)fprintf(stderr, "%s: %s\n", argv[0], error.msg);
    at_state_dir_close(s);
    return 1;
}

static int
end(const char *command, enum at_code code, const struct at_error *error, struct at_state_dir *s)
{
    if (code != AT_OK)
        (void)fprintf(stderr, "atoll %s: %s\n", command, error->msg);
    at_state_dir_close(s);
    return code == AT_OK ? 0 : 1;
}

int at_command_down(int argc, char **argv)
{
    static const struct argp ARGP = {
        OPTIONS, parse, NULL, "Stops all processes of all instances. Data stays.",
        NULL,    NULL,  NULL};
    struct operate_options o = {0};
    struct at_state_dir s;
    int status = begin(argc, argv, &ARGP, &o, &s);
    if (status != 0)
        return status;
    const char **paths;
    uint32_t stopped = at_process_stop_all(&s, STOP_MS_MAX);
    uint32_t count = at_state_dir_folders(&s, &paths);
    for (uint32_t i = 0; i < count; i++) {
        struct at_state_dir other;
        struct at_error error;
        if (at_state_dir_open(&other, paths[i], &error) == AT_OK &&
            at_state_dir_lock(&other, &error) == AT_OK)
            stopped += at_process_stop_all(&other, STOP_MS_MAX);
        at_state_dir_close(&other);
    }
    (void)printf("stopped %u processes\n", stopped);
    return end("down", AT_OK, NULL, &s);
}

int at_command_kill(int argc, char **argv)
{
    static const struct argp ARGP = {OPTIONS,
                                     parse,
                                     "[INSTANCE/]CLUSTER",
                                     "Ends one cluster (or the router) by SIGKILL, as a power cut "
                                     "of its zone would.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct operate_options o = {.takes_cluster = true};
    struct at_state_dir s;
    struct at_error error;
    int status = begin(argc, argv, &ARGP, &o, &s);
    if (status != 0)
        return status;
    enum at_code code = at_process_kill(&s, o.cluster, &error);
    if (code == AT_OK)
        (void)printf("killed %s\n", o.cluster);
    return end("kill", code, &error, &s);
}

int at_command_start(int argc, char **argv)
{
    static const struct argp ARGP = {
        OPTIONS,
        parse,
        "[INSTANCE/]CLUSTER",
        "Starts a cluster (or the router) that is down and waits until "
        "it serves.",
        NULL,
        NULL,
        NULL};
    struct operate_options o = {.takes_cluster = true};
    struct at_state_dir s;
    struct at_error error;
    int status = begin(argc, argv, &ARGP, &o, &s);
    if (status != 0)
        return status;
    struct at_running running = at_state_dir_running(&s, o.cluster);
    pid_t pid = 0;
    enum at_code code = AT_OK;
    if (running.alive)
        code = at_fail(&error, AT_FAILED_PRECONDITION, "%s runs already (pid %d)", o.cluster,
                       (int)running.pid);
    if (code == AT_OK)
        code = at_process_spawn(&s, o.cluster, &pid, &error);
    if (code == AT_OK)
        code = at_process_wait_serving(&s, o.cluster, pid, SERVING_MS_MAX, &error);
    if (code == AT_OK)
        (void)printf("started %s (pid %d)\n", o.cluster, (int)pid);
    return end("start", code, &error, &s);
}
