/* gc.c: `atoll gc run`: garbage collection on every cluster, now. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "atoll/v1/control.pb-c.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/state_dir.h"
#include "cli/table_name.h"

#define COLLECT_MS 3600000

struct gc_options {
    const char *state_dir;
    const char *act;
    const char *table;
};

enum { OPT_STATE = 256 };

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is argp's. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct gc_options *o = state->input;
    switch (key) {
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (o->table)
            return ARGP_ERR_UNKNOWN;
        if (o->act)
            o->table = arg;
        else
            o->act = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->act || strcmp(o->act, "run") != 0)
            argp_error(state, "what? gc run [TABLE]");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Has one cluster collect and prints what went; false when it did not. */
static bool collect(const struct at_state_dir *s, uint32_t index, const char *table)
{
    struct at_arena arena;
    struct at_error error = {0};
    const struct at_cluster_config *c = &s->instance.clusters[index];
    Atoll__V1__CollectRequest request = ATOLL__V1__COLLECT_REQUEST__INIT;
    struct at_ask ask = {c->host, c->grpc_port, "/atoll.v1.Cluster/Collect", COLLECT_MS};
    void *answer = NULL;
    at_arena_init(&arena, 4 * AT_KIB);
    request.table_name =
        table ? at_table_name_full(&arena, s->instance.project, s->instance.instance, table)
              : at_arena_printf(&arena, "%s", "");
    enum at_code code = at_ask_alive(c->host, c->grpc_port, AT_ASK_ALIVE_MS, &arena, &error);
    if (code == AT_OK)
        code = at_ask_unary(&ask, &request.base, &atoll__v1__collect_response__descriptor, &arena,
                            &answer, &error);
    if (code == AT_OK) {
        const Atoll__V1__CollectResponse *r = answer;
        (void)printf("%-16s %10" PRIu64 " cells collected, %" PRIu64 " by compaction\n", c->id,
                     r->collected + r->compacted, r->compacted);
    } else {
        (void)printf("%-16s %s: %s\n", c->id, at_code_name(code), error.msg);
    }
    (void)fflush(stdout);
    at_arena_deinit(&arena);
    return code == AT_OK;
}

int at_command_gc(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        {"state-dir", OPT_STATE, "DIR", 0,
         "the instance's folder (default " AT_STATE_DIR_DEFAULT ")", 0},
        {0},
    };
    static const struct argp ARGP = {
        OPTIONS,
        parse,
        "run [TABLE]",
        "Has every cluster remove now what garbage collection would remove in time: cells of TABLE "
        "(default: all tables) that their family's rule condemns, that are deleted or overwritten. "
        "Exit status 0: all did; 1: one did not.",
        NULL,
        NULL,
        NULL};
    struct gc_options o = {.state_dir = AT_STATE_DIR_DEFAULT};
    struct at_state_dir s;
    struct at_error error;
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    if (at_state_dir_open(&s, o.state_dir, &error) != AT_OK) {
        (void)fprintf(stderr, "atoll gc: %s\n", error.msg);
        at_state_dir_close(&s);
        return 1;
    }
    bool all = true;
    for (uint32_t i = 0; i < s.instance.cluster_count; i++)
        all = collect(&s, i, o.table) && all;
    at_state_dir_close(&s);
    return all ? 0 : 1;
}
