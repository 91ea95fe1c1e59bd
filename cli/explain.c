/* explain.c: `atoll explain`: everything that is stored of a row, and why it shows or does not. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "atoll/v1/control.pb-c.h"
#include "base/alloc.h"
#include "base/escape.h"
#include "cli/ask.h"
#include "cli/cbt/proto.h"
#include "cli/command.h"
#include "cli/state_dir.h"
#include "cli/table_name.h"

#define ASK_MS 30000
#define VALUE_BYTES_SHOWN 64

struct explain_options {
    const char *state_dir;
    const char *cluster; /* NULL: all */
    const char *table;
    const char *row;
};

enum { OPT_STATE = 256 };

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is argp's. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct explain_options *o = state->input;
    switch (key) {
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case 'c':
        o->cluster = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (o->row)
            return ARGP_ERR_UNKNOWN;
        if (o->table)
            o->row = arg;
        else
            o->table = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->row)
            argp_error(state, "which TABLE and ROW?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_quoted(ProtobufCBinaryData bytes, size_t size)
{
    struct at_buf text AT_CLEANUP(at_buf_deinit) = {0};
    size_t shown = bytes.len < VALUE_BYTES_SHOWN ? bytes.len : VALUE_BYTES_SHOWN;

    at_buf_init(&text, 4 * AT_KIB);
    if (at_escape_quoted(&text, at_slice_make(bytes.data, shown)) == AT_OK)
        (void)fwrite(text.data, 1, text.len, stdout);
    if (shown < size)
        (void)printf("... (%zu bytes)", size);
}

/* The time of a stamp by the clock of the cluster that made it. */
static void print_stamp(const Atoll__V1__StoredItem *item)
{
    char date[40] = "?";
    struct tm utc;
    time_t seconds = (time_t)(item->hlc / AT_S_NS);

    if (gmtime_r(&seconds, &utc))
        (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &utc);
    (void)printf("%s at %s.%09" PRIu64 "Z  stamp %" PRIu64 ".%u", item->cluster_id, date,
                 (uint64_t)(item->hlc % AT_S_NS), item->hlc, item->member_id);
}

static void print_marker(const Atoll__V1__StoredItem *item)
{
    if (item->kind == ATOLL__V1__STORED_KIND__DROPPED_RANGE) {
        (void)printf("all rows with prefix ");
        print_quoted(item->prefix, item->prefix.len);
        (void)printf(" dropped");
    } else if (item->kind == ATOLL__V1__STORED_KIND__ROW_MARKER) {
        (void)printf("row deleted");
    } else if (item->kind == ATOLL__V1__STORED_KIND__FAMILY_MARKER) {
        (void)printf("%s: deleted in this row", item->family);
    } else {
        (void)printf("%s:", item->family);
        print_quoted(item->qualifier, item->qualifier.len);
        if (item->start_micros == 0 && item->end_micros == 0)
            (void)printf(" deleted");
        else if (item->end_micros == 0)
            (void)printf(" deleted from %" PRId64 " on", item->start_micros);
        else
            (void)printf(" deleted from %" PRId64 " to before %" PRId64, item->start_micros,
                         item->end_micros);
    }
}

static void print_reason(const Atoll__V1__StoredItem *item)
{
    static const char *const TEXTS[] = {
        [ATOLL__V1__SHOW_REASON__SHOW_REASON_UNSPECIFIED] = "hides",
        [ATOLL__V1__SHOW_REASON__SHOWS] = "SHOWS",
        [ATOLL__V1__SHOW_REASON__DELETED] = "hidden: deleted by",
        [ATOLL__V1__SHOW_REASON__OVERWRITTEN] = "hidden: overwritten by",
        [ATOLL__V1__SHOW_REASON__COLLECTED] = "hidden: garbage collection by age was here",
        [ATOLL__V1__SHOW_REASON__OTHER_KIND] = "hidden: not what the family's type asks for",
        [ATOLL__V1__SHOW_REASON__CONDEMNED] =
            "shows until garbage collection comes by: the family's rule condemns it",
    };
    size_t reason = (size_t)item->reason;

    (void)printf("%s",
                 reason < sizeof(TEXTS) / sizeof(TEXTS[0]) ? TEXTS[reason] : "for unknown reasons");
    if (reason == ATOLL__V1__SHOW_REASON__DELETED || reason == ATOLL__V1__SHOW_REASON__OVERWRITTEN)
        (void)printf(" #%u, whose stamp is higher", item->hidden_by);
    else if (reason == ATOLL__V1__SHOW_REASON__SHOW_REASON_UNSPECIFIED)
        (void)printf(" %u of the versions below", item->hides);
}

static void print_item(size_t number, const Atoll__V1__StoredItem *item)
{
    bool partial = item->kind == ATOLL__V1__STORED_KIND__PARTIAL;

    (void)printf("  #%zu ", number);
    if (partial || item->kind == ATOLL__V1__STORED_KIND__CELL) {
        (void)printf("%s:", item->family);
        print_quoted(item->qualifier, item->qualifier.len);
        (void)printf(" @ %" PRId64 " %s ", item->timestamp_micros, partial ? "add" : "=");
        print_quoted(item->value, item->value_size);
    } else {
        print_marker(item);
    }
    (void)printf("\n      by ");
    print_stamp(item);
    (void)printf("\n      ");
    print_reason(item);
    (void)puts("");
}

/* Asks one cluster and prints; false when it did not answer. */
static bool explain(const struct at_state_dir *s, uint32_t index, const struct explain_options *o)
{
    struct at_arena arena;
    struct at_error error = {0};
    const struct at_cluster_config *c = &s->instance.clusters[index];
    Atoll__V1__ExplainRequest request = ATOLL__V1__EXPLAIN_REQUEST__INIT;
    struct at_ask ask = {c->host, c->grpc_port, "/atoll.v1.Cluster/Explain", ASK_MS};
    void *answer = NULL;

    at_arena_init(&arena, 16 * AT_KIB);
    request.table_name =
        at_table_name_full(&arena, s->instance.project, s->instance.instance, o->table);
    request.row_key = at_proto_borrow(at_slice_cstr(o->row));
    enum at_code code = at_ask_unary(&ask, &request.base, &atoll__v1__explain_response__descriptor,
                                     &arena, &answer, &error);
    (void)printf("%s (%s)\n", c->id, c->zone);
    if (code == AT_OK) {
        const Atoll__V1__ExplainResponse *r = answer;
        for (size_t i = 0; i < r->n_items; i++)
            print_item(i + 1, r->items[i]);
        if (r->n_items == 0)
            (void)puts("  nothing is stored of this row");
        if (r->truncated)
            (void)puts("  and more");
    } else {
        (void)printf("  %s: %s\n", at_code_name(code), error.msg);
    }
    (void)fflush(stdout);
    at_arena_deinit(&arena);
    return code == AT_OK;
}

int at_command_explain(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        {"state-dir", OPT_STATE, "DIR", 0,
         "the instance's folder (default " AT_STATE_DIR_DEFAULT ")", 0},
        {"cluster", 'c', "ID", 0, "ask this cluster only", 0},
        {0},
    };
    static const struct argp ARGP = {
        OPTIONS,
        parse,
        "TABLE ROW",
        "Shows all that the clusters have stored of a row: each version of each cell and each "
        "delete that covers it, with the cluster that accepted it and when, and why it shows or "
        "does not. Exit status 0: all that were asked answered; 1: one did not.",
        NULL,
        NULL,
        NULL};
    struct explain_options o = {.state_dir = AT_STATE_DIR_DEFAULT};
    struct at_state_dir s;
    struct at_error error;

    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    enum at_code code = at_state_dir_open(&s, o.state_dir, &error);
    if (code == AT_OK && o.cluster && at_state_dir_cluster(&s, o.cluster) < 0)
        code = at_fail(&error, AT_NOT_FOUND, "the instance has no cluster %s", o.cluster);
    bool all = code == AT_OK;
    if (code != AT_OK)
        (void)fprintf(stderr, "atoll explain: %s\n", error.msg);
    for (uint32_t i = 0; code == AT_OK && i < s.instance.cluster_count; i++)
        if (!o.cluster || strcmp(o.cluster, s.instance.clusters[i].id) == 0)
            all = explain(&s, i, &o) && all;
    at_state_dir_close(&s);
    return all ? 0 : 1;
}
