/* status.c: `atoll status` and `atoll digest`. */
#include <argp.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/table_name.h"

#define DIGEST_MS 600000
#define WATCH_S 1
/* What is about to be condemned is left out too: a cluster's clock may be ahead of ours. */
#define DIGEST_AHEAD_US INT64_C(60000000)

struct status_options {
    const char *state_dir;
    const char *table;
    bool takes_table;
    bool watch;
    bool json;
};

enum { OPT_STATE = 256, OPT_WATCH, OPT_JSON };

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is argp's. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct status_options *o = state->input;
    switch (key) {
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case OPT_WATCH:
        o->watch = true;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (!o->takes_table || o->table)
            return ARGP_ERR_UNKNOWN;
        o->table = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define STATE_OPTION                                                      \
    {                                                                     \
        "state-dir", OPT_STATE, "DIR", 0,                                 \
            "the instance's folder (default " AT_STATE_DIR_DEFAULT ")", 0 \
    }

static int open_state(struct at_state_dir *s, const struct status_options *o, const char *command)
{
    struct at_error error;
    if (at_state_dir_open(s, o->state_dir, &error) == AT_OK)
        return 0;
    (void)fprintf(stderr, "atoll %s: %s\n", command, error.msg);
    at_state_dir_close(s);
    return 1;
}

static void show(struct at_state_dir *s, struct at_arena *arena, bool json)
{
    struct at_instance_report report;
    struct at_instance_report **others;
    at_instance_ask(s, arena, &report);
    uint32_t count = at_instance_ask_others(s, &report, arena, &others);
    if (json) {
        at_table_print_json(stdout, &report, others, count);
        return;
    }
    at_table_print_report(stdout, &report);
    for (uint32_t i = 0; i < count; i++)
        at_table_print_other(stdout, others[i]);
}

int at_command_status(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        STATE_OPTION,
        {"watch", OPT_WATCH, NULL, 0, "show it again every second", 0},
        {"json", OPT_JSON, NULL, 0, "for scripts", 0},
        {0},
    };
    static const struct argp ARGP = {
        OPTIONS,
        parse,
        NULL,
        "Shows state, health, replication lag of each pair of clusters "
        "and sizes. A lag of ? is not known, which is not 0. A link is STREAMING, CATCHING_UP, "
        "PARKED (for a clock that ran ahead: atoll release), NEEDS_COPY, COPYING, or CUT: out of "
        "touch, because it was cut or because one of the two is down.",
        NULL,
        NULL,
        NULL};
    struct status_options o = {.state_dir = AT_STATE_DIR_DEFAULT};
    struct at_state_dir s;
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    do {
        struct at_arena arena;
        if (open_state(&s, &o, "status") != 0)
            return 1;
        at_arena_init(&arena, 16 * AT_KIB);
        if (o.watch)
            (void)fputs("\033[H\033[2J", stdout);
        show(&s, &arena, o.json);
        (void)fflush(stdout);
        at_arena_deinit(&arena);
        at_state_dir_close(&s);
    } while (o.watch && sleep(WATCH_S) == 0);
    return 0;
}

/* Prints one cluster's digest; false when it did not answer. */
static bool print_digest(struct at_state_dir *s,
                         uint32_t index,
                         Atoll__V1__DigestRequest request,
                         uint8_t ret_digest[16])
{
    struct at_arena arena;
    struct at_error error;
    const struct at_cluster_config *c = &s->instance.clusters[index];
    struct at_ask ask = {c->host, c->grpc_port, "/atoll.v1.Cluster/Digest", DIGEST_MS};
    void *answer = NULL;
    at_arena_init(&arena, 4 * AT_KIB);
    enum at_code code = at_ask_alive(c->host, c->grpc_port, AT_ASK_ALIVE_MS, &arena, &error);
    if (code == AT_OK)
        code = at_ask_unary(&ask, &request.base, &atoll__v1__digest_response__descriptor, &arena,
                            &answer, &error);
    bool ok = code == AT_OK && ((Atoll__V1__DigestResponse *)answer)->digest.len == 16;
    if (ok) {
        Atoll__V1__DigestResponse *d = answer;
        memcpy(ret_digest, d->digest.data, 16);
        (void)printf("%-16s rows %10" PRIu64 "  cells %10" PRIu64 "  ", c->id, d->rows, d->cells);
        for (int i = 0; i < 16; i++)
            (void)printf("%02x", d->digest.data[i]);
        (void)puts("");
    } else {
        (void)printf("%-16s %s: %s\n", c->id, at_code_name(code), code ? error.msg : "bad answer");
    }
    at_arena_deinit(&arena);
    return ok;
}

int at_command_digest(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {STATE_OPTION, {0}};
    static const struct argp ARGP = {
        OPTIONS,
        parse,
        "[TABLE]",
        "Has every cluster compute a digest over its visible rows of TABLE (default: all tables). "
        "Exit status 0: all are equal; 1: they differ, or one did not answer.",
        NULL,
        NULL,
        NULL};
    struct status_options o = {.state_dir = AT_STATE_DIR_DEFAULT, .takes_table = true};
    struct at_state_dir s;
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    if (open_state(&s, &o, "digest") != 0)
        return 1;
    struct at_clock clock = at_clock_system();
    Atoll__V1__DigestRequest request = ATOLL__V1__DIGEST_REQUEST__INIT;
    request.now_micros = (int64_t)(at_clock_wall_ns(&clock) / 1000) + DIGEST_AHEAD_US;
    request.table_name = at_arena_printf(&s.arena, "%s", "");
    if (o.table)
        request.table_name =
            at_table_name_full(&s.arena, s.instance.project, s.instance.instance, o.table);
    uint8_t digests[AT_MEMBERS_MAX][16];
    bool equal = true;
    for (uint32_t i = 0; i < s.instance.cluster_count; i++) {
        equal = print_digest(&s, i, request, digests[i]) && equal;
        equal = equal && memcmp(digests[i], digests[0], 16) == 0;
    }
    (void)puts(equal ? "equal" : "NOT EQUAL");
    at_state_dir_close(&s);
    return equal ? 0 : 1;
}
