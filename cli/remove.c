/* remove.c: `atoll remove` and `atoll release`: acts on an instance that a live cluster does. */
#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "atoll/v1/control.pb-c.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/launch.h"

#define REMOVE_MS 60000
#define SPAN_MS_DEFAULT 0

struct remove_options {
    const char *state_dir;
    const char *instance; /* NULL: the first one */
    char *clusters[AT_MEMBERS_MAX];
    uint32_t cluster_count;
    bool minority_survives;
    bool force;
    uint64_t span_ms;
    bool takes_clusters;
};

enum { OPT_STATE = 256, OPT_INSTANCE, OPT_MINORITY, OPT_FORCE, OPT_SPAN };

static enum at_code release_at(struct at_state_dir *s,
                               uint32_t cluster,
                               uint64_t span_ms,
                               uint64_t at_least_hlc,
                               uint64_t *ret_hlc,
                               struct at_error *reterr);

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct remove_options *o = state->input;
    char *end;
    switch (key) {
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case OPT_INSTANCE:
        o->instance = arg;
        return 0;
    case OPT_MINORITY:
        o->minority_survives = true;
        return 0;
    case OPT_FORCE:
        o->force = true;
        return 0;
    case OPT_SPAN:
        o->span_ms = strtoull(arg, &end, 10);
        if (*arg < '0' || *arg > '9' || *end != '\0')
            argp_error(state, "--span: expected milliseconds");
        return 0;
    case ARGP_KEY_ARG:
        if (!o->takes_clusters || o->cluster_count == AT_MEMBERS_MAX)
            return ARGP_ERR_UNKNOWN;
        o->clusters[o->cluster_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->takes_clusters && o->cluster_count == 0)
            argp_error(state, "which clusters?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define COMMON                                                                               \
    {"state-dir",                                                                            \
     OPT_STATE,                                                                              \
     "DIR",                                                                                  \
     0,                                                                                      \
     "the first instance's folder (default " AT_STATE_DIR_DEFAULT ")",                       \
     0},                                                                                     \
    {                                                                                        \
        "instance", OPT_INSTANCE, "ID", 0, "another instance below it (ID or ID@PROJECT)", 0 \
    }

/* The folder of the instance; locked. */
static enum at_code
open_folder(const struct remove_options *o, struct at_state_dir *s, struct at_error *reterr)
{
    char path[PATH_MAX];
    int n = o->instance ? snprintf(path, sizeof(path), "%s/instances/%s", o->state_dir, o->instance)
                        : snprintf(path, sizeof(path), "%s", o->state_dir);
    if (n < 0 || (size_t)n >= sizeof(path))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "the name is too long");
    AT_TRY(at_state_dir_open(s, path, reterr));
    return at_state_dir_lock(s, reterr);
}

static bool is_named(const struct remove_options *o, const char *id)
{
    for (uint32_t i = 0; i < o->cluster_count; i++)
        if (strcmp(o->clusters[i], id) == 0)
            return true;
    return false;
}

/* Asks the clusters that stay, one after the other, until one answers. */
/* NOLINTNEXTLINE(readability-function-size): one question, whole */
static enum at_code ask_any(struct at_state_dir *s,
                            const struct remove_options *o,
                            struct at_ask ask,
                            const ProtobufCMessage *request,
                            const ProtobufCMessageDescriptor *descriptor,
                            void **ret_answer,
                            struct at_error *reterr)
{
    enum at_code code = at_fail(reterr, AT_UNAVAILABLE, "no cluster that stays is running");
    for (uint32_t i = 0; i < s->instance.cluster_count && code == AT_UNAVAILABLE; i++) {
        const struct at_cluster_config *c = &s->instance.clusters[i];
        if (is_named(o, c->id) || !at_state_dir_running(s, c->id).alive)
            continue;
        ask.host = c->host;
        ask.port = c->grpc_port;
        code = at_ask_unary(&ask, request, descriptor, &s->arena, ret_answer, reterr);
    }
    return code;
}

static enum at_code
check(struct at_state_dir *s, const struct remove_options *o, struct at_error *reterr)
{
    for (uint32_t i = 0; i < o->cluster_count; i++) {
        if (at_state_dir_cluster(s, o->clusters[i]) < 0)
            return at_fail(reterr, AT_NOT_FOUND, "the instance has no cluster %s", o->clusters[i]);
        if (at_state_dir_running(s, o->clusters[i]).alive)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "%s runs: delete it by DeleteCluster, which loses nothing, or `atoll "
                           "kill %s` first",
                           o->clusters[i], o->clusters[i]);
    }
    if (o->force)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "removing a cluster that is down gives up the writes that only it has; if it "
                   "cannot be started any more, say --force");
}

static enum at_code
remove_clusters(struct at_state_dir *s, struct remove_options *o, struct at_error *reterr)
{
    Atoll__V1__RemoveRequest request = ATOLL__V1__REMOVE_REQUEST__INIT;
    struct at_ask ask = {.path = "/atoll.v1.Cluster/Remove", .timeout_ms = REMOVE_MS};
    void *answer;
    AT_TRY(open_folder(o, s, reterr));
    AT_TRY(check(s, o, reterr));
    request.cluster_ids = o->clusters;
    request.n_cluster_ids = o->cluster_count;
    request.minority_survives = o->minority_survives;
    AT_TRY(ask_any(s, o, ask, &request.base, &atoll__v1__remove_response__descriptor, &answer,
                   reterr));
    for (uint32_t i = 0; i < o->cluster_count; i++)
        AT_TRY(at_launch_drop(s, o->clusters[i], reterr));
    (void)printf("removed; %" PRIu64 " acknowledged writes that nobody has are known of\n",
                 ((Atoll__V1__RemoveResponse *)answer)->lost_count_min);
    return AT_OK;
}

int at_command_remove(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        COMMON,
        {"minority-survives", OPT_MINORITY, NULL, 0,
         "fewer stay than are removed: those removed must be dead for good", 0},
        {"force", OPT_FORCE, NULL, 0, "give up the writes that only they have", 0},
        {0},
    };
    static const struct argp ARGP = {OPTIONS,
                                     parse,
                                     "CLUSTER...",
                                     "Removes clusters that are down and will not come back. Their "
                                     "files are removed, they can never rejoin.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct remove_options o = {.state_dir = AT_STATE_DIR_DEFAULT, .takes_clusters = true};
    struct at_state_dir s = {.lock_fd = -1};
    struct at_error error;
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    enum at_code code = remove_clusters(&s, &o, &error);
    if (code != AT_OK)
        (void)fprintf(stderr, "atoll remove: %s\n", error.msg);
    at_state_dir_close(&s);
    return code == AT_OK ? 0 : 1;
}

/* Each cluster that runs writes a release of its own, all up to the furthest of what they have
 * stamped: one that is written by a cluster whose clock is ahead would be parked where it is
 * needed. */
static enum at_code
release_all(struct at_state_dir *s, uint64_t span_ms, uint64_t *ret_hlc, struct at_error *reterr)
{
    uint64_t released[AT_MEMBERS_MAX] = {0};
    enum at_code outcome = AT_OK; /* one that fails does not keep the others */

    *ret_hlc = 0;
    for (uint32_t i = 0; i < s->instance.cluster_count; i++) {
        enum at_code code = release_at(s, i, span_ms, 0, &released[i], reterr);
        outcome = code != AT_OK ? code : outcome;
        if (released[i] > *ret_hlc)
            *ret_hlc = released[i];
    }
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (released[i] != 0 && released[i] < *ret_hlc)
            AT_TRY(release_at(s, i, 0, *ret_hlc, &released[i], reterr));
    if (outcome == AT_OK && *ret_hlc == 0)
        return at_fail(reterr, AT_UNAVAILABLE, "no cluster is running");
    return outcome;
}

/* OK with nothing released where it does not run. */
static enum at_code release_at(struct at_state_dir *s,
                               uint32_t cluster,
                               uint64_t span_ms,
                               uint64_t at_least_hlc,
                               uint64_t *ret_hlc,
                               struct at_error *reterr)
{
    const struct at_cluster_config *c = &s->instance.clusters[cluster];
    struct at_ask ask = {c->host, c->grpc_port, "/atoll.v1.Cluster/Release", REMOVE_MS};
    Atoll__V1__ReleaseRequest request = ATOLL__V1__RELEASE_REQUEST__INIT;
    void *answer;

    if (!at_state_dir_running(s, c->id).alive)
        return AT_OK;
    request.span_ms = span_ms;
    request.at_least_hlc = at_least_hlc;
    enum at_code code = at_ask_unary(&ask, &request.base, &atoll__v1__release_response__descriptor,
                                     &s->arena, &answer, reterr);
    if (code != AT_OK)
        return at_wrap(reterr, code, "%s", c->id);
    *ret_hlc = ((Atoll__V1__ReleaseResponse *)answer)->released_hlc;
    return AT_OK;
}

int at_command_release(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        COMMON,
        {"span", OPT_SPAN, "MS", 0, "how far beyond it stamps are accepted (default 0)", 0},
        {0},
    };
    static const struct argp ARGP = {OPTIONS,
                                     parse,
                                     NULL,
                                     "Accepts what was parked because a cluster's clock ran ahead: "
                                     "all that was stamped so far, and the span beyond it, on all "
                                     "clusters that run.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct remove_options o = {.state_dir = AT_STATE_DIR_DEFAULT, .span_ms = SPAN_MS_DEFAULT};
    struct at_state_dir s = {.lock_fd = -1};
    struct at_error error;
    uint64_t hlc = 0;
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    enum at_code code = open_folder(&o, &s, &error);
    if (code == AT_OK)
        code = release_all(&s, o.span_ms, &hlc, &error);
    if (code == AT_OK)
        (void)printf("released up to %" PRIu64 "\n", hlc);
    else
        (void)fprintf(stderr, "atoll release: %s\n", error.msg);
    at_state_dir_close(&s);
    return code == AT_OK ? 0 : 1;
}
