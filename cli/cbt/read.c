/* read.c: read, lookup, count. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cbt/args.h"
#include "cli/cbt/command.h"
#include "cli/cbt/filter.h"
#include "cli/cbt/print.h"
#include "cli/cbt/row_reading.h"

typedef Google__Bigtable__V2__ReadRowsRequest read_request;

/* The options of read; lookup and count take some of them. */
enum option {
    VIEW,
    START,
    END,
    PREFIX,
    COLUMNS,
    COUNT,
    CELLS,
    REGEX,
    PROFILE,
    KEYS_ONLY,
    STATS,
    REVERSED,
    LIMIT,
    OPTION_COUNT
};

static const char *const KEYS[OPTION_COUNT] = {"authorized-view",
                                               "start",
                                               "end",
                                               "prefix",
                                               "columns",
                                               "count",
                                               "cells-per-column",
                                               "regex",
                                               "app-profile",
                                               "keys-only",
                                               "include-stats",
                                               "reversed",
                                               "limit"};

static void print_row(void *ctx, const struct at_client_row *row)
{
    *(bool *)ctx = true;
    at_cbt_print_row(stdout, row);
}

static void count_row(void *ctx, const struct at_client_row *row)
{
    (void)row;
    ++*(uint64_t *)ctx;
}

static read_request *new_request(struct at_cbt *cbt, const char *table, const char *profile)
{
    read_request *request = AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__read_rows_request);
    request->table_name = at_proto_text(at_cbt_table(cbt, table));
    request->app_profile_id = at_proto_text(profile ? profile : "");
    request->rows = AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__row_set);
    return request;
}

/* Gives the request one range; NULL ends are open. */
static void
set_range(struct at_cbt *cbt, read_request *request, struct at_slice start, struct at_slice end)
{
    Google__Bigtable__V2__RowRange *range =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__v2__row_range);
    if (start.len > 0) {
        range->start_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_CLOSED;
        range->start_key_closed = at_proto_borrow(start);
    }
    if (end.len > 0) {
        range->end_key_case = GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_OPEN;
        range->end_key_open = at_proto_borrow(end);
    }
    request->rows->n_row_ranges = 1;
    request->rows->row_ranges = AT_ARENA_ARRAY(&cbt->arena, Google__Bigtable__V2__RowRange *, 1);
    request->rows->row_ranges[0] = range;
}

/* The first key behind all that begin with `prefix`; empty: there is none. */
static struct at_slice prefix_end(struct at_cbt *cbt, struct at_slice prefix)
{
    while (prefix.len > 0 && prefix.data[prefix.len - 1] == 0xff)
        prefix.len--;
    if (prefix.len == 0)
        return prefix;
    uint8_t *end = at_arena_alloc(&cbt->arena, prefix.len);
    memcpy(end, prefix.data, prefix.len);
    end[prefix.len - 1]++;
    return at_slice_make(end, prefix.len);
}

static void set_prefix(struct at_cbt *cbt, read_request *request, const char *prefix)
{
    struct at_slice p = at_slice_cstr(prefix);
    set_range(cbt, request, p, prefix_end(cbt, p));
}

/* Adds the filters that options ask for; prints what is wrong and returns false. */
static bool add_filters(struct at_cbt_filters *f,
                        const struct at_cbt_option *cells,
                        const struct at_cbt_option *regex,
                        const struct at_cbt_option *columns,
                        const struct at_cbt_option *keys_only)
{
    struct at_error error;
    int64_t number = 0;
    bool strip = false;
    if (at_cbt_args_given(cells)) {
        if (!at_cbt_int(at_slice_cstr(cells->value), &number) || number < INT32_MIN ||
            number > INT32_MAX) {
            (void)at_cbt_fatal("Bad number of cells per column \"%s\"", cells->value);
            return false;
        }
        at_cbt_filter_latest(f, (int32_t)number);
    }
    if (regex && at_cbt_args_given(regex))
        at_cbt_filter_key(f, regex->value);
    if (at_cbt_args_given(columns) && at_cbt_filter_columns(f, columns->value, &error) != AT_OK) {
        (void)at_cbt_fatal("%s", error.msg);
        return false;
    }
    if (at_cbt_args_given(keys_only) && !at_cbt_bool(keys_only->value, &strip)) {
        (void)at_cbt_fatal("parsing \"%s\": invalid syntax", keys_only->value);
        return false;
    }
    if (strip)
        at_cbt_filter_strip(f);
    return true;
}

static bool set_stats(read_request *request, const struct at_cbt_option *stats)
{
    if (!at_cbt_args_given(stats))
        return true;
    request->request_stats_view =
        GOOGLE__BIGTABLE__V2__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
    if (strcmp(stats->value, "full") == 0)
        return true;
    (void)at_cbt_fatal("Bad include-stats value: \"%s\" is not one of the supported stats views.",
                       stats->value);
    return false;
}

static int print_stats(const struct at_row_reading *reading, const struct at_cbt_option *stats)
{
    if (!at_cbt_args_given(stats))
        return 0;
    if (!reading->has_stats)
        return at_cbt_fatal("Stats were requested but not received.");
    (void)printf("Summary Stats\n====================\n"
                 "rows_seen_count: %" PRId64 "\nrows_returned_count: %" PRId64
                 "\ncells_seen_count: %" PRId64 "\ncells_returned_count: %" PRId64
                 "\nfrontend_server_latency: %" PRId64 "ms\n\n",
                 reading->rows_seen, reading->rows_returned, reading->cells_seen,
                 reading->cells_returned, reading->latency_ms);
    return 0;
}

/* Sets what read's options say about rows; prints what is wrong and returns false. */
static bool set_rows(struct at_cbt *cbt, read_request *request, const struct at_cbt_option *o)
{
    if (o[LIMIT].value) {
        (void)at_cbt_fatal("Unknown arg key 'limit'; did you mean 'end'?");
        return false;
    }
    bool bounded = at_cbt_args_given(&o[START]) || at_cbt_args_given(&o[END]);
    if (bounded && at_cbt_args_given(&o[PREFIX])) {
        (void)at_cbt_fatal("\"start\"/\"end\" may not be mixed with \"prefix\"");
        return false;
    }
    if (at_cbt_args_given(&o[PREFIX]))
        set_prefix(cbt, request, o[PREFIX].value);
    else
        set_range(cbt, request, at_slice_cstr(o[START].value), at_slice_cstr(o[END].value));
    if (at_cbt_args_given(&o[COUNT]) &&
        !at_cbt_int(at_slice_cstr(o[COUNT].value), &request->rows_limit)) {
        (void)at_cbt_fatal("Bad count \"%s\": invalid syntax", o[COUNT].value);
        return false;
    }
    bool reversed = false;
    if (at_cbt_args_given(&o[REVERSED]) && !at_cbt_bool(o[REVERSED].value, &reversed)) {
        (void)at_cbt_fatal("parsing \"%s\": invalid syntax", o[REVERSED].value);
        return false;
    }
    request->reversed = reversed;
    if (at_cbt_args_given(&o[VIEW])) {
        request->authorized_view_name =
            at_proto_text(at_cbt_name(cbt, request->table_name, "authorizedViews", o[VIEW].value));
        request->table_name = at_proto_text("");
    }
    return true;
}

int at_cbt_read(struct at_cbt *cbt, int argc, char **argv)
{
    struct at_cbt_option o[OPTION_COUNT + 1] = {{0}};
    struct at_cbt_filters filters = {.arena = &cbt->arena};
    struct at_error error;
    bool found = false;
    for (size_t i = 0; i < OPTION_COUNT; i++)
        o[i].key = KEYS[i];
    if (argc < 1)
        return at_cbt_fatal("usage: cbt read <table> [args ...]");
    if (at_cbt_args_parse(argv + 1, argc - 1, o, &error) != AT_OK)
        return at_cbt_fatal("%s", error.msg);
    read_request *request = new_request(cbt, argv[0], o[PROFILE].value);
    if (!set_rows(cbt, request, o) || !set_stats(request, &o[STATS]) ||
        !add_filters(&filters, &o[CELLS], &o[REGEX], &o[COLUMNS], &o[KEYS_ONLY]))
        return 1;
    request->filter = at_cbt_filter_all(&filters);
    struct at_row_reading reading = {.request = request, .on_row = print_row, .ctx = &found};
    if (at_row_reading_run(cbt, &reading, &error) != AT_OK)
        return at_cbt_failed("Reading rows", &error);
    return print_stats(&reading, &o[STATS]);
}

int at_cbt_lookup(struct at_cbt *cbt, int argc, char **argv)
{
    struct at_cbt_option o[] = {{.key = "columns"},       {.key = "cells-per-column"},
                                {.key = "app-profile"},   {.key = "keys-only"},
                                {.key = "include-stats"}, {0}};
    struct at_cbt_filters filters = {.arena = &cbt->arena};
    struct at_error error;
    bool found = false;
    if (argc < 2)
        return at_cbt_fatal("usage: cbt lookup <table> <row> [columns=<family:qualifier>...] "
                            "[cells-per-column=<n>] [app-profile=<app profile id>]");
    if (at_cbt_args_parse(argv + 2, argc - 2, o, &error) != AT_OK)
        return at_cbt_fatal("%s", error.msg);
    read_request *request = new_request(cbt, argv[0], o[2].value);
    if (!set_stats(request, &o[4]) || !add_filters(&filters, &o[1], NULL, &o[0], &o[3]))
        return 1;
    request->filter = at_cbt_filter_all(&filters);
    request->rows_limit = 1;
    request->rows->n_row_keys = 1;
    request->rows->row_keys = AT_ARENA_ARRAY(&cbt->arena, ProtobufCBinaryData, 1);
    request->rows->row_keys[0] = at_proto_borrow(at_slice_cstr(argv[1]));
    struct at_row_reading reading = {.request = request, .on_row = print_row, .ctx = &found};
    if (at_row_reading_run(cbt, &reading, &error) != AT_OK)
        return at_cbt_failed("Reading row", &error);
    if (!found)
        at_cbt_print_row(stdout, &(struct at_client_row){0});
    return print_stats(&reading, &o[4]);
}

int at_cbt_count(struct at_cbt *cbt, int argc, char **argv)
{
    struct at_cbt_option o[] = {{.key = "prefix"}, {.key = "app-profile"}, {0}};
    struct at_cbt_filters filters = {.arena = &cbt->arena};
    struct at_error error;
    uint64_t count = 0;
    if (argc < 1)
        return at_cbt_fatal("usage: cbt count <table> [prefix=<row-key-prefix>] "
                            "[app-profile=<app-profile-id>]");
    if (at_cbt_args_parse(argv + 1, argc - 1, o, &error) != AT_OK)
        return at_cbt_fatal("%s", error.msg);
    read_request *request = new_request(cbt, argv[0], o[1].value);
    set_prefix(cbt, request, o[0].value);
    at_cbt_filter_first(&filters, 1);
    at_cbt_filter_strip(&filters);
    request->filter = at_cbt_filter_all(&filters);
    struct at_row_reading reading = {.request = request, .on_row = count_row, .ctx = &count};
    if (at_row_reading_run(cbt, &reading, &error) != AT_OK)
        return at_cbt_failed("Reading rows", &error);
    (void)printf("%" PRIu64 "\n", count);
    return 0;
}
