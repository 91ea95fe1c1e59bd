/* cut.c: `atoll cut` and `atoll heal`: links between clusters, for drills. Each end is told its
 * part; one that does not run has nothing to be cut. */
#include <argp.h>
#include <string.h>

#include "atoll/v1/control.pb-c.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/process.h"

#define ASK_MS 5000

struct cut_options {
    const char *state_dir;
    char *clusters[2];
    uint32_t cluster_count;
    bool one_way;
    bool heals;
};

enum { OPT_STATE = 256, OPT_ONE_WAY };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cut_options *o = state->input;
    switch (key) {
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case OPT_ONE_WAY:
        o->one_way = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->cluster_count == 2)
            return ARGP_ERR_UNKNOWN;
        o->clusters[o->cluster_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->cluster_count != 2 && !(o->heals && o->cluster_count == 0))
            argp_error(state, "which two clusters?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum at_code tell(struct at_state_dir *s,
                         const char *cluster,
                         Atoll__V1__SetCutRequest request,
                         struct at_error *reterr)
{
    int at = at_state_dir_cluster(s, cluster);
    void *answer;
    if (at < 0)
        return at_fail(reterr, AT_NOT_FOUND, "the instance has no cluster %s", cluster);
    const struct at_cluster_config *c = &s->instance.clusters[at];
    if (!at_state_dir_running(s, cluster).alive)
        return AT_OK;
    struct at_ask ask = {c->host, c->grpc_port, "/atoll.v1.Cluster/SetCut", ASK_MS};
    enum at_code code = at_ask_unary(&ask, &request.base, &atoll__v1__set_cut_response__descriptor,
                                     &s->arena, &answer, reterr);
    return code == AT_OK ? AT_OK : at_wrap(reterr, code, "%s", cluster);
}

static enum at_code
tell_both(struct at_state_dir *s, const struct cut_options *o, struct at_error *reterr)
{
    Atoll__V1__SetCutRequest request = ATOLL__V1__SET_CUT_REQUEST__INIT;
    bool one_way = o->one_way && !o->heals;
    request.asking = !o->heals;
    request.answering = !o->heals && !one_way;
    request.cluster_id = o->clusters[1];
    AT_TRY(tell(s, o->clusters[0], request, reterr));
    request.cluster_id = o->clusters[0];
    return one_way ? AT_OK : tell(s, o->clusters[1], request, reterr);
}

/* Tells all, also those behind one that does not answer; the first error counts. */
static enum at_code heal_all(struct at_state_dir *s, struct at_error *reterr)
{
    Atoll__V1__SetCutRequest none = ATOLL__V1__SET_CUT_REQUEST__INIT;
    enum at_code code = AT_OK;
    struct at_error later;
    for (uint32_t i = 0; i < s->instance.cluster_count; i++) {
        bool first = code == AT_OK;
        enum at_code one = tell(s, s->instance.clusters[i].id, none, first ? reterr : &later);
        if (first)
            code = one;
    }
    return code;
}

static enum at_code
act(struct at_state_dir *s, const struct cut_options *o, struct at_error *reterr)
{
    AT_TRY(at_state_dir_open(s, o->state_dir, reterr));
    return o->cluster_count == 2 ? tell_both(s, o, reterr) : heal_all(s, reterr);
}

static int run(int argc, char **argv, const struct argp *argp, struct cut_options *o)
{
    struct at_state_dir s = {.lock_fd = -1};
    struct at_error error;
    o->state_dir = AT_STATE_DIR_DEFAULT;
    if (argp_parse(argp, argc, argv, 0, NULL, o) != 0)
        return 2;
    enum at_code code = act(&s, o, &error);
    if (code != AT_OK)
        (void)fprintf(stderr, "%s: %s\n", argv[0], error.msg);
    at_state_dir_close(&s);
    return code == AT_OK ? 0 : 1;
}

#define STATE_DIR_OPTION                                                  \
    {                                                                     \
        "state-dir", OPT_STATE, "DIR", 0,                                 \
            "the instance's folder (default " AT_STATE_DIR_DEFAULT ")", 0 \
    }

int at_command_cut(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        STATE_DIR_OPTION,
        {"one-way", OPT_ONE_WAY, NULL, 0,
         "the first asks nothing of the second any more, which still asks it", 0},
        {0},
    };
    static const struct argp ARGP = {OPTIONS,
                                     parse,
                                     "CLUSTER CLUSTER",
                                     "Cuts the link between two clusters until it is healed. A "
                                     "process that is started anew has no cuts.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct cut_options o = {0};
    return run(argc, argv, &ARGP, &o);
}

int at_command_heal(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {STATE_DIR_OPTION, {0}};
    static const struct argp ARGP = {OPTIONS,
                                     parse,
                                     "[CLUSTER CLUSTER]",
                                     "Heals the link between two clusters, or all links.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct cut_options o = {.heals = true};
    return run(argc, argv, &ARGP, &o);
}
