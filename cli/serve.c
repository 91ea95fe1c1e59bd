/* serve.c: `atoll cluster` and `atoll router`: the processes that `atoll up` starts. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/join.h"
#include "cluster/cluster.h"
#include "routing/proxy/router.h"

struct serve_options {
    const char *instance;
    const char *cluster;
    const char *data;
    const char *run_file;
    const char *state_dir;
    unsigned loops;
    struct at_join_options join;
};

enum {
    OPT_INSTANCE = 'i',
    OPT_CLUSTER = 'c',
    OPT_DATA = 'd',
    OPT_RUN = 'r',
    OPT_LOOPS = 'l',
    OPT_STATE = 's',
    OPT_JOIN = 256,
    OPT_ZONE,
    OPT_HOST,
    OPT_GRPC,
    OPT_PEER
};

static uint16_t parse_port(const char *text, struct argp_state *state)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || port > UINT16_MAX)
        argp_error(state, "%s: expected a port", text);
    return (uint16_t)port;
}

/* The options of a cluster that joins. */
static error_t parse_join(int key, char *arg, struct argp_state *state)
{
    struct at_join_options *o = &((struct serve_options *)state->input)->join;
    switch (key) {
    case OPT_JOIN:
        o->member = arg;
        return 0;
    case OPT_ZONE:
        o->zone = arg;
        return 0;
    case OPT_HOST:
        o->host = arg;
        return 0;
    case OPT_GRPC:
        o->grpc_port = parse_port(arg, state);
        return 0;
    case OPT_PEER:
        o->peer_port = parse_port(arg, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct serve_options *o = state->input;
    switch (key) {
    case OPT_INSTANCE:
        o->instance = arg;
        return 0;
    case OPT_CLUSTER:
        o->cluster = arg;
        return 0;
    case OPT_DATA:
        o->data = arg;
        return 0;
    case OPT_RUN:
        o->run_file = arg;
        return 0;
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case OPT_LOOPS:
        o->loops = (unsigned)strtoul(arg, NULL, 10);
        if (o->loops < 1 || o->loops > 16)
            argp_error(state, "--loops: expected a number from 1 to 16");
        return 0;
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN;
    case ARGP_KEY_END:
        if (!o->instance && !o->join.member)
            argp_error(state, "--instance is needed");
        return 0;
    default:
        return parse_join(key, arg, state);
    }
}

#define COMMON                                                                                \
    {"instance", OPT_INSTANCE, "FILE", 0, "resolved instance file (STATE/instance.yaml)", 0}, \
        {"run-file", OPT_RUN, "FILE", 0, "where to write pid and ports once serving", 0},     \
    {                                                                                         \
        "loops", OPT_LOOPS, "N", 0, "network threads", 0                                      \
    }

/* Clients, peers and the tables of the database share the descriptors: as many as are allowed. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        at_log(AT_LOG_WARN, "the limit of open files stays as it is",
               AT_KV_STR("error", strerrordesc_np(errno)));
}

static enum at_code load(const struct serve_options *o,
                         struct at_arena *arena,
                         struct at_instance_config *instance,
                         const char *who)
{
    struct at_error error;
    enum at_code code = at_instance_load(o->instance, arena, instance, &error);
    if (code != AT_OK)
        (void)fprintf(stderr, "atoll %s: %s\n", who, error.msg);
    return code;
}

static enum at_code join(struct serve_options *o, struct at_arena *arena)
{
    struct at_error error;
    if (!o->join.member)
        return AT_OK;
    o->join.cluster = o->cluster;
    o->join.data = o->data;
    enum at_code code = at_join(&o->join, arena, &o->instance, &error);
    if (code != AT_OK)
        (void)fprintf(stderr, "atoll cluster: %s: %s\n", at_code_name(code), error.msg);
    return code;
}

int at_command_cluster(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        COMMON,
        {"cluster", OPT_CLUSTER, "ID", 0, "which cluster of the file to be", 0},
        {"data", OPT_DATA, "DIR", 0, "where its data is", 0},
        {"join", OPT_JOIN, "HOST:PORT", 0,
         "instead of an instance file: any member, which is asked for it the first time; the "
         "cluster was created before",
         0},
        {"zone", OPT_ZONE, "ZONE", 0, "with --join: refuses to be in another one", 0},
        {"host", OPT_HOST, "HOST", 0, "with --join: where the others find this one (127.0.0.1)", 0},
        {"grpc-port", OPT_GRPC, "PORT", 0, "with --join (default: a free one)", 0},
        {"peer-port", OPT_PEER, "PORT", 0, "with --join (default: a free one)", 0},
        {0},
    };
    static const struct argp ARGP = {OPTIONS, parse, NULL, "Runs one cluster until SIGTERM.",
                                     NULL,    NULL,  NULL};
    struct serve_options o = {.loops = 1};
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    if (!o.cluster || !o.data) {
        (void)fputs("atoll cluster: --cluster and --data are needed\n", stderr);
        return 2;
    }
    struct at_arena arena;
    struct at_instance_config instance;
    at_arena_init(&arena, 16 * AT_KIB);
    at_log_setup(o.cluster, AT_LOG_INFO);
    raise_descriptor_limit();
    int status = 1;
    if (join(&o, &arena) == AT_OK && load(&o, &arena, &instance, "cluster") == AT_OK) {
        struct at_cluster_options options = {.instance = &instance,
                                             .cluster_id = o.cluster,
                                             .data_dir = o.data,
                                             .loop_count = o.loops,
                                             .run_file = o.run_file};
        status = at_cluster_main(&options);
    }
    at_arena_deinit(&arena);
    return status;
}

int at_command_router(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        COMMON,
        {"state-dir", OPT_STATE, "DIR", 0,
         "folder of the instances: the router serves all, and has processes started there", 0},
        {0},
    };
    static const struct argp ARGP = {OPTIONS, parse, NULL, "Runs a router until SIGTERM.",
                                     NULL,    NULL,  NULL};
    struct serve_options o = {.loops = 1};
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    struct at_arena arena;
    struct at_instance_config instance;
    at_arena_init(&arena, 16 * AT_KIB);
    at_log_setup("router", AT_LOG_INFO);
    raise_descriptor_limit();
    int status = 1;
    if (load(&o, &arena, &instance, "router") == AT_OK) {
        char program[PATH_MAX] = "";
        if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
            at_log(AT_LOG_WARN, "the program does not find itself");
        struct at_router_config config = {.instance = &instance,
                                          .loop_count = o.loops,
                                          .run_file = o.run_file,
                                          .state_dir = o.state_dir,
                                          .program = program};
        status = at_router_main(&config);
    }
    at_arena_deinit(&arena);
    return status;
}
