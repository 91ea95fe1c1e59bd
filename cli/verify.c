/* verify.c: `atoll verify`: do the clusters show the same, and if not, in which cells do they
 * differ?
 *
 * All clusters are asked as of one moment a little ahead, as for a digest, so that what garbage
 * collection condemns counts nowhere, collected or not. A row whose digests differ is read from
 * each cluster itself, and the same rules are applied to what comes. */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "atoll/v1/control.pb-c.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/escape.h"
#include "cli/ask.h"
#include "cli/cbt/row_reading.h"
#include "cli/cbt/session.h"
#include "cli/cell_diff.h"
#include "cli/command.h"
#include "cli/range_hunt.h"
#include "cli/state_dir.h"
#include "cli/table_name.h"
#include "cluster/model/gc_rule.h"
#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"

#define ADMIN "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define CALL_MS 600000
#define AHEAD_US INT64_C(60000000)
#define ROWS_SHOWN_MAX 100
#define VALUE_BYTES_SHOWN 64

enum { EXIT_EQUAL, EXIT_DIFFERENT, EXIT_UNKNOWN };
enum { OPT_STATE = 256 };

struct verify_options {
    const char *state_dir;
    const char *table;
    const char *clusters[AT_MEMBERS_MAX];
    uint32_t cluster_count;
};

/* One cluster under comparison. */
struct side {
    const char *id;
    struct at_cbt cbt; /* its endpoint */
    const Google__Bigtable__Admin__V2__Table *table;
    uint8_t schema[16];
    struct at_listed_cell *cells; /* of the row being compared */
    size_t cell_count;
    size_t cell_cap;
};

struct verify {
    struct side sides[AT_MEMBERS_MAX];
    uint32_t side_count;
    const char *table; /* its id, or its full name */
    bool any_instance; /* there may be tables of other instances, which no list has all of */
    int64_t now_micros;
    struct at_arena arena; /* of the row being compared */
    struct at_slice shown_row;
    uint64_t rows_differ;
    uint64_t cells_differ;
    uint64_t rows_settled; /* digests differed, but what was read then did not */
};

static enum at_code call(struct side *side,
                         const struct at_cbt_method *method,
                         const void *request,
                         struct at_arena *arena,
                         void **ret_answer,
                         struct at_error *reterr)
{
    struct at_buf bytes AT_CLEANUP(at_buf_deinit) = {0};
    struct at_buf response AT_CLEANUP(at_buf_deinit) = {0};
    struct at_error error = {0};

    at_buf_init(&bytes, AT_GRPC_MESSAGE_BYTES_MAX);
    at_buf_init(&response, AT_GRPC_MESSAGE_BYTES_MAX);
    AT_TRY(at_proto_pack(&bytes, request));
    uint64_t now_ns = at_clock_mono_ns(at_loop_clock(side->cbt.loop));
    struct at_grpc_client_request r = {.path = method->path,
                                       .message = at_buf_slice(&bytes),
                                       .deadline_ns = now_ns + CALL_MS * AT_MS_NS};
    enum at_code code = at_grpc_unary(side->cbt.channel, &r, &response, &error);
    if (code != AT_OK)
        return at_fail(reterr, code, "%s: %s", side->id, error.msg);
    *ret_answer = at_proto_unpack(arena, method->answer, at_buf_slice(&response));
    if (!*ret_answer)
        return at_fail(reterr, AT_DATA_LOSS, "%s: an answer is malformed", side->id);
    return AT_OK;
}

/* --- the port of the hunt --- */

static enum at_code ask(void *ctx,
                        const struct at_hunt_question *q,
                        struct at_arena *arena,
                        struct at_hunt_piece **ret_pieces,
                        uint32_t *ret_count,
                        struct at_error *reterr)
{
    static const struct at_cbt_method METHOD = {
        "/atoll.v1.Cluster/RangeDigests", &atoll__v1__range_digests_response__descriptor, true};
    struct verify *v = ctx;
    struct side *side = &v->sides[q->cluster];
    Atoll__V1__RangeDigestsRequest request = ATOLL__V1__RANGE_DIGESTS_REQUEST__INIT;
    void *answer = NULL;

    request.table_name = at_table_name_full(arena, side->cbt.project, side->cbt.instance, v->table);
    request.start_key = at_proto_borrow(q->range.start);
    request.end_key = at_proto_borrow(q->range.end);
    request.n_cuts = q->cut_count;
    request.cuts = AT_ARENA_ARRAY(arena, ProtobufCBinaryData, q->cut_count + 1);
    for (uint32_t i = 0; i < q->cut_count; i++)
        request.cuts[i] = at_proto_borrow(q->cuts[i]);
    request.piece_rows = q->piece_rows;
    request.pieces_max = AT_HUNT_PIECES_MAX;
    request.now_micros = v->now_micros;
    AT_TRY(call(side, &METHOD, &request, arena, &answer, reterr));

    AT_ASSERT(answer != NULL);
    const Atoll__V1__RangeDigestsResponse *r = answer;
    if (r->schema_digest.len != sizeof(side->schema) || r->n_pieces > AT_HUNT_PIECES_MAX)
        return at_fail(reterr, AT_DATA_LOSS, "%s: an answer is malformed", side->id);
    memcpy(side->schema, r->schema_digest.data, sizeof(side->schema));
    *ret_count = (uint32_t)r->n_pieces;
    *ret_pieces = AT_ARENA_ARRAY(arena, struct at_hunt_piece, r->n_pieces + 1);
    for (size_t i = 0; i < r->n_pieces; i++)
        (*ret_pieces)[i] = (struct at_hunt_piece){
            .end = at_slice_make(r->pieces[i]->end_key.data, r->pieces[i]->end_key.len),
            .rows = r->pieces[i]->rows,
            .cells = r->pieces[i]->cells,
            .digest = at_slice_make(r->pieces[i]->digest.data, r->pieces[i]->digest.len),
        };
    return AT_OK;
}

static const struct at_gc_rule *
rule_of(const struct side *side, struct at_slice family, struct at_arena *arena)
{
    struct at_gc_rule *rule = AT_ARENA_NEW(arena, struct at_gc_rule);
    struct at_buf bytes AT_CLEANUP(at_buf_deinit) = {0};

    at_buf_init(&bytes, AT_GC_RULE_BYTES_MAX);
    for (size_t i = 0; i < side->table->n_column_families; i++) {
        const Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry *e =
            side->table->column_families[i];
        if (!at_slice_eq_cstr(family, e->key) || !e->value || !e->value->gc_rule)
            continue;
        if (at_proto_pack(&bytes, &e->value->gc_rule->base) != AT_OK ||
            at_gc_rule_parse(at_arena_copy(arena, at_buf_slice(&bytes)), arena, rule, NULL) !=
                AT_OK)
            *rule = (struct at_gc_rule){.kind = AT_GC_NEVER};
    }
    return rule;
}

struct reading {
    struct verify *v;
    struct side *side;
};

/* Keeps what the family's rule does not condemn. */
static void take_row(void *ctx, const struct at_client_row *row)
{
    struct reading *r = ctx;
    struct side *side = r->side;
    struct at_arena *arena = &r->v->arena;
    struct at_slice key = at_arena_copy(arena, row->key);
    const struct at_gc_rule *rule = NULL;
    uint32_t versions = 0;

    for (size_t i = 0; i < row->cell_count; i++) {
        const struct at_row_cell *cell = &row->cells[i];
        bool same_family = i > 0 && at_slice_eq(cell->family, cell[-1].family);
        if (!same_family)
            rule = rule_of(side, cell->family, arena);
        if (!same_family || !at_slice_eq(cell->qualifier, cell[-1].qualifier))
            versions = 0;
        if (at_gc_rule_condemns(rule, ++versions, cell->timestamp_micros, r->v->now_micros))
            continue;
        if (side->cell_count == side->cell_cap) {
            side->cell_cap = side->cell_cap ? side->cell_cap * 2 : 64;
            side->cells = at_realloc(side->cells, side->cell_cap * sizeof(*side->cells));
        }
        side->cells[side->cell_count++] = (struct at_listed_cell){
            .row = key,
            .family = at_arena_copy(arena, cell->family),
            .qualifier = at_arena_copy(arena, cell->qualifier),
            .timestamp_micros = cell->timestamp_micros,
            .value = at_arena_copy(arena, cell->value),
        };
    }
}

static void print_quoted(struct at_slice s, size_t bytes_max)
{
    struct at_buf text AT_CLEANUP(at_buf_deinit) = {0};
    size_t shown = s.len < bytes_max ? s.len : bytes_max;

    at_buf_init(&text, 8 * AT_ROW_KEY_BYTES_MAX + AT_KIB);
    if (at_escape_quoted(&text, at_slice_make(s.data, shown)) == AT_OK)
        (void)fwrite(text.data, 1, text.len, stdout);
    if (shown < s.len)
        (void)printf("... (%zu bytes)", s.len);
}

static void print_cell(void *ctx, const struct at_listed_cell *const *cells)
{
    struct verify *v = ctx;
    const struct at_listed_cell *any = NULL;

    for (uint32_t i = 0; i < v->side_count && any == NULL; i++)
        any = cells[i];
    AT_ASSERT(any != NULL);
    if (!at_slice_eq(v->shown_row, any->row)) {
        v->shown_row = any->row;
        v->rows_differ++;
        (void)printf("  row ");
        print_quoted(any->row, AT_ROW_KEY_BYTES_MAX);
        (void)puts("");
    }
    (void)printf("    %.*s:", AT_SLICE_ARG(any->family));
    print_quoted(any->qualifier, AT_ROW_KEY_BYTES_MAX);
    (void)printf(" @ %" PRId64 "\n", any->timestamp_micros);
    for (uint32_t i = 0; i < v->side_count; i++) {
        (void)printf("      %-16s ", v->sides[i].id);
        if (cells[i])
            print_quoted(cells[i]->value, VALUE_BYTES_SHOWN);
        else
            (void)printf("none");
        (void)puts("");
    }
}

/* Reads the rows of a range that differs from each cluster and prints the cells that differ. */
static enum at_code found(void *ctx, struct at_hunt_range range, struct at_error *reterr)
{
    struct verify *v = ctx;
    struct at_cell_list lists[AT_MEMBERS_MAX];

    if (v->rows_differ >= ROWS_SHOWN_MAX)
        return at_fail(reterr, AT_ABORTED, "more rows differ");
    at_arena_reset(&v->arena);
    v->shown_row = (struct at_slice){0};
    for (uint32_t i = 0; i < v->side_count; i++) {
        struct side *side = &v->sides[i];
        struct reading reading = {v, side};
        struct at_error error = {0};
        Google__Bigtable__V2__RowRange part;
        Google__Bigtable__V2__RowRange *parts[] = {&part};
        Google__Bigtable__V2__RowSet rows;
        Google__Bigtable__V2__ReadRowsRequest request;
        google__bigtable__v2__row_range__init(&part);
        google__bigtable__v2__row_set__init(&rows);
        google__bigtable__v2__read_rows_request__init(&request);
        part.start_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_CLOSED;
        part.start_key_closed = at_proto_borrow(range.start);
        part.end_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_OPEN;
        part.end_key_open = at_proto_borrow(range.end);
        rows.n_row_ranges = 1;
        rows.row_ranges = parts;
        request.rows = &rows;
        request.table_name =
            at_table_name_full(&v->arena, side->cbt.project, side->cbt.instance, v->table);
        struct at_row_reading run = {.request = &request, .on_row = take_row, .ctx = &reading};
        side->cell_count = 0;
        side->cbt.deadline_ns =
            at_clock_mono_ns(at_loop_clock(side->cbt.loop)) + CALL_MS * AT_MS_NS;
        enum at_code code = at_row_reading_run(&side->cbt, &run, &error);
        if (code != AT_OK)
            return at_fail(reterr, code, "%s: %s", side->id, error.msg);
        lists[i] = (struct at_cell_list){side->cells, side->cell_count};
    }
    size_t count = at_cell_diff(lists, v->side_count, print_cell, v);
    v->cells_differ += count;
    v->rows_settled += count == 0;
    return AT_OK;
}

/* --- tables --- */

static enum at_code
get_table(struct verify *v, struct side *side, struct at_arena *arena, struct at_error *reterr)
{
    static const struct at_cbt_method METHOD = {
        ADMIN "GetTable", &google__bigtable__admin__v2__table__descriptor, true};
    Google__Bigtable__Admin__V2__GetTableRequest request;
    void *answer = NULL;

    google__bigtable__admin__v2__get_table_request__init(&request);
    request.name = at_table_name_full(arena, side->cbt.project, side->cbt.instance, v->table);
    AT_TRY(call(side, &METHOD, &request, arena, &answer, reterr));
    side->table = answer;
    return AT_OK;
}

/* False when the table is not on all clusters, which is printed. */
static enum at_code
find_table(struct verify *v, struct at_arena *arena, bool *ret_everywhere, struct at_error *reterr)
{
    struct at_error error = {0};
    uint32_t missing = 0;

    for (uint32_t i = 0; i < v->side_count; i++) {
        enum at_code code = get_table(v, &v->sides[i], arena, &error);
        if (code != AT_OK && code != AT_NOT_FOUND) {
            if (reterr)
                *reterr = error;
            return code;
        }
        v->sides[i].table = code == AT_OK ? v->sides[i].table : NULL;
        missing += code == AT_NOT_FOUND;
    }
    *ret_everywhere = missing == 0;
    if (missing == v->side_count)
        return at_fail(reterr, AT_NOT_FOUND, "no cluster has a table %s", v->table);
    for (uint32_t i = 0; i < v->side_count; i++)
        if (!v->sides[i].table)
            (void)printf("  %s does not have the table\n", v->sides[i].id);
    return AT_OK;
}

static void print_totals(const struct verify *v, const struct at_hunt_totals *totals)
{
    for (uint32_t i = 0; i < v->side_count; i++)
        (void)printf("  %-16s rows %10" PRIu64 "  cells %10" PRIu64 "\n", v->sides[i].id,
                     totals->rows[i], totals->cells[i]);
}

/* An exit code. */
static int verify_table(struct verify *v, const char *table)
{
    const struct at_hunt_port port = {v, ask, found};
    struct at_hunt_totals totals = {0};
    struct at_error error = {0};
    struct at_arena arena;
    bool everywhere = false;
    bool schemas_equal = true;

    v->table = table;
    v->rows_differ = v->cells_differ = v->rows_settled = 0;
    (void)printf("%s\n", table);
    at_arena_init(&arena, 4 * AT_KIB);
    enum at_code code = find_table(v, &arena, &everywhere, &error);
    if (code == AT_OK && everywhere)
        code = at_range_hunt_run(&port, v->side_count, &totals, &error);
    bool stopped = code == AT_ABORTED && v->rows_differ >= ROWS_SHOWN_MAX;
    at_arena_deinit(&arena);
    if (code != AT_OK && !stopped) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "atoll verify: %s: %s\n", table, error.msg);
        return v->cells_differ > 0 ? EXIT_DIFFERENT : EXIT_UNKNOWN;
    }
    if (!everywhere)
        return EXIT_DIFFERENT;
    for (uint32_t i = 1; i < v->side_count; i++)
        schemas_equal = schemas_equal && memcmp(v->sides[i].schema, v->sides[0].schema,
                                                sizeof(v->sides[0].schema)) == 0;
    if (!stopped)
        print_totals(v, &totals);
    if (!schemas_equal)
        (void)printf("  the table's or its families' settings differ\n");
    if (v->rows_settled > 0)
        (void)printf("  %" PRIu64 " rows differed at first and agreed when they were read\n",
                     v->rows_settled);
    if (v->cells_differ > 0)
        (void)printf("  %" PRIu64 " cells in %" PRIu64 " rows differ%s\n", v->cells_differ,
                     v->rows_differ, stopped ? ", and there are more" : "");
    return schemas_equal && v->cells_differ == 0 ? EXIT_EQUAL : EXIT_DIFFERENT;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the tables of one cluster; names live in its session's arena. */
static enum at_code
add_tables(struct side *side, const char ***names, size_t *count, struct at_error *reterr)
{
    static const struct at_cbt_method METHOD = {
        ADMIN "ListTables", &google__bigtable__admin__v2__list_tables_response__descriptor, true};
    Google__Bigtable__Admin__V2__ListTablesRequest request;

    google__bigtable__admin__v2__list_tables_request__init(&request);
    request.parent = at_proto_text(side->cbt.instance_name);
    for (;;) {
        void *answer = NULL;
        AT_TRY(call(side, &METHOD, &request, &side->cbt.arena, &answer, reterr));
        AT_ASSERT(answer != NULL);
        Google__Bigtable__Admin__V2__ListTablesResponse *page = answer;
        *names = at_realloc(*names, (*count + page->n_tables + 1) * sizeof(**names));
        for (size_t i = 0; i < page->n_tables; i++) {
            const char *slash = strrchr(page->tables[i]->name, '/');
            (*names)[(*count)++] = slash ? slash + 1 : page->tables[i]->name;
        }
        if (page->next_page_token[0] == '\0')
            return AT_OK;
        request.page_token = page->next_page_token;
    }
}

static int worst(int a, int b)
{
    if (a == EXIT_DIFFERENT || b == EXIT_DIFFERENT)
        return EXIT_DIFFERENT;
    return a > b ? a : b;
}

/* All tables of all instances, by one digest each. */
static int verify_others(struct verify *v)
{
    static const struct at_cbt_method METHOD = {"/atoll.v1.Cluster/Digest",
                                                &atoll__v1__digest_response__descriptor, true};
    Atoll__V1__DigestRequest request = ATOLL__V1__DIGEST_REQUEST__INIT;
    const Atoll__V1__DigestResponse *first = NULL;
    struct at_error error = {0};
    bool equal = true;

    request.now_micros = v->now_micros;
    (void)puts("all instances");
    for (uint32_t i = 0; i < v->side_count; i++) {
        void *answer = NULL;
        if (call(&v->sides[i], &METHOD, &request, &v->sides[i].cbt.arena, &answer, &error) !=
            AT_OK) {
            (void)fprintf(stderr, "atoll verify: %s\n", error.msg);
            return EXIT_UNKNOWN;
        }
        const Atoll__V1__DigestResponse *digest = answer;
        first = first ? first : digest;
        equal = equal && digest->digest.len == first->digest.len &&
                memcmp(digest->digest.data, first->digest.data, first->digest.len) == 0;
        (void)printf("  %-16s rows %10" PRIu64 "  cells %10" PRIu64 "\n", v->sides[i].id,
                     digest->rows, digest->cells);
    }
    if (!equal)
        (void)puts("  differ: verify projects/P/instances/I/tables/T finds the cells of a table");
    return equal ? EXIT_EQUAL : EXIT_DIFFERENT;
}

static int verify_all(struct verify *v)
{
    const char **names = NULL;
    size_t count = 0;
    struct at_error error = {0};
    int status = EXIT_EQUAL;

    for (uint32_t i = 0; i < v->side_count; i++)
        if (add_tables(&v->sides[i], &names, &count, &error) != AT_OK) {
            (void)fprintf(stderr, "atoll verify: %s\n", error.msg);
            at_free(names);
            return EXIT_UNKNOWN;
        }
    if (count > 1)
        qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            status = worst(status, verify_table(v, names[i]));
    if (v->any_instance)
        status = worst(status, verify_others(v));
    at_free(names);
    return status;
}

/* --- the command --- */

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is argp's. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct verify_options *o = state->input;
    switch (key) {
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case 'c':
        if (o->cluster_count == AT_MEMBERS_MAX)
            argp_error(state, "too many clusters");
        else
            o->clusters[o->cluster_count++] = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (o->table)
            return ARGP_ERR_UNKNOWN;
        o->table = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool wanted(const struct verify_options *o, const char *id)
{
    for (uint32_t i = 0; i < o->cluster_count; i++)
        if (strcmp(o->clusters[i], id) == 0)
            return true;
    return o->cluster_count == 0;
}

static enum at_code open_sides(struct verify *v,
                               const struct at_state_dir *s,
                               const struct verify_options *o,
                               struct at_error *reterr)
{
    char endpoint[300];

    for (uint32_t i = 0; i < o->cluster_count; i++)
        if (at_state_dir_cluster(s, o->clusters[i]) < 0)
            return at_fail(reterr, AT_NOT_FOUND, "the instance has no cluster %s", o->clusters[i]);
    for (uint32_t i = 0; i < s->instance.cluster_count; i++) {
        const struct at_cluster_config *c = &s->instance.clusters[i];
        if (!wanted(o, c->id))
            continue;
        struct side *side = &v->sides[v->side_count++];
        side->id = c->id;
        at_cbt_init(&side->cbt);
        side->cbt.project = s->instance.project;
        side->cbt.instance = s->instance.instance;
        enum at_code code =
            at_ask_alive(c->host, c->grpc_port, AT_ASK_ALIVE_MS, &side->cbt.arena, reterr);
        if (code != AT_OK)
            return at_wrap(reterr, code, "%s", c->id);
        (void)snprintf(endpoint, sizeof(endpoint), "%s:%u", c->host, c->grpc_port);
        AT_TRY(at_cbt_connect(&side->cbt, endpoint, 1, reterr));
    }
    if (v->side_count < 2 || (o->cluster_count > 0 && v->side_count != o->cluster_count))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "two clusters of the instance are needed");
    return AT_OK;
}

static int run(struct verify *v, const struct at_state_dir *s, const struct verify_options *o)
{
    static const char *const WORDS[] = {"equal", "NOT EQUAL", "NOT COMPARED"};
    struct at_error error = {0};
    struct at_clock clock = at_clock_system();
    int status = EXIT_UNKNOWN;

    at_arena_init(&v->arena, 64 * AT_KIB);
    v->now_micros = (int64_t)(at_clock_wall_ns(&clock) / 1000) + AHEAD_US;
    v->any_instance = s->instance.accept_any_instance;
    if (open_sides(v, s, o, &error) != AT_OK)
        (void)fprintf(stderr, "atoll verify: %s\n", error.msg);
    else
        status = o->table ? verify_table(v, o->table) : verify_all(v);
    (void)puts(WORDS[status]);
    for (uint32_t i = 0; i < v->side_count; i++) {
        at_cbt_deinit(&v->sides[i].cbt);
        at_free(v->sides[i].cells);
    }
    at_arena_deinit(&v->arena);
    return status;
}

int at_command_verify(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        {"state-dir", OPT_STATE, "DIR", 0,
         "the instance's folder (default " AT_STATE_DIR_DEFAULT ")", 0},
        {"cluster", 'c', "ID", 0, "compare these clusters only; twice or more", 0},
        {0},
    };
    static const struct argp ARGP = {
        OPTIONS,
        parse,
        "[TABLE]",
        "Compares what the clusters show of TABLE (default: all tables) by digests, and prints the "
        "cells that differ. While there are writes, what is on its way differs too. Exit status 0: "
        "equal; 1: different; 2: could not compare.",
        NULL,
        NULL,
        NULL};
    struct verify_options o = {.state_dir = AT_STATE_DIR_DEFAULT};
    struct verify v = {0};
    struct at_state_dir s;
    struct at_error error;
    int status = EXIT_UNKNOWN;

    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return EXIT_UNKNOWN;
    if (at_state_dir_open(&s, o.state_dir, &error) == AT_OK)
        status = run(&v, &s, &o);
    else
        (void)fprintf(stderr, "atoll verify: %s\n", error.msg);
    at_state_dir_close(&s);
    return status;
}
