/* filter.c: strings are borrowed from the arguments or copied into the arena. */
#include "cli/cbt/filter.h"

#include "base/assert.h"
#include "cli/cbt/proto.h"

typedef Google__Bigtable__V2__RowFilter row_filter;

static row_filter *new_filter(struct at_arena *arena,
                              Google__Bigtable__V2__RowFilter__FilterCase filter_case)
{
    row_filter *filter = AT_PROTO_NEW(arena, google__bigtable__v2__row_filter);
    filter->filter_case = filter_case;
    return filter;
}

static void add(struct at_cbt_filters *f, row_filter *filter)
{
    AT_ASSERT(f->count < AT_CBT_FILTERS_MAX);
    f->list[f->count++] = filter;
}

void at_cbt_filter_latest(struct at_cbt_filters *f, int32_t cells_per_column)
{
    row_filter *filter = new_filter(
        f->arena, GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_CELLS_PER_COLUMN_LIMIT_FILTER);
    filter->cells_per_column_limit_filter = cells_per_column;
    add(f, filter);
}

void at_cbt_filter_key(struct at_cbt_filters *f, const char *regex)
{
    row_filter *filter =
        new_filter(f->arena, GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_ROW_KEY_REGEX_FILTER);
    filter->row_key_regex_filter = at_proto_borrow(at_slice_cstr(regex));
    add(f, filter);
}

void at_cbt_filter_strip(struct at_cbt_filters *f)
{
    row_filter *filter =
        new_filter(f->arena, GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_STRIP_VALUE_TRANSFORMER);
    filter->strip_value_transformer = true;
    add(f, filter);
}

void at_cbt_filter_first(struct at_cbt_filters *f, int32_t cells_per_row)
{
    row_filter *filter =
        new_filter(f->arena, GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_CELLS_PER_ROW_LIMIT_FILTER);
    filter->cells_per_row_limit_filter = cells_per_row;
    add(f, filter);
}

static row_filter *chain(const struct at_cbt_filters *f)
{
    row_filter *filter = new_filter(f->arena, GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_CHAIN);
    filter->chain = AT_PROTO_NEW(f->arena, google__bigtable__v2__row_filter__chain);
    filter->chain->n_filters = f->count;
    filter->chain->filters = AT_ARENA_ARRAY(f->arena, row_filter *, f->count);
    memcpy(filter->chain->filters, f->list, f->count * sizeof(row_filter *));
    return filter;
}

row_filter *at_cbt_filter_all(const struct at_cbt_filters *f)
{
    if (f->count == 0)
        return NULL;
    return f->count == 1 ? f->list[0] : chain(f);
}

/* A filter for one column; NULL when it has too many colons. */
static row_filter *column_filter(struct at_arena *arena, struct at_slice column)
{
    struct at_cbt_filters parts = {.arena = arena};
    const uint8_t *colon = memchr(column.data, ':', column.len);
    struct at_slice family = at_slice_make(column.data, colon ? (size_t)(colon - column.data) : 0);
    struct at_slice qualifier = at_slice_from(column, colon ? family.len + 1 : 0);
    if (qualifier.len > 0 && memchr(qualifier.data, ':', qualifier.len))
        return NULL;
    if (family.len > 0) {
        row_filter *filter =
            new_filter(arena, GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_FAMILY_NAME_REGEX_FILTER);
        filter->family_name_regex_filter = at_arena_printf(arena, "%.*s", AT_SLICE_ARG(family));
        add(&parts, filter);
    }
    if (qualifier.len > 0 || family.len == 0) {
        row_filter *filter = new_filter(
            arena, GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_COLUMN_QUALIFIER_REGEX_FILTER);
        filter->column_qualifier_regex_filter = at_proto_borrow(qualifier);
        add(&parts, filter);
    }
    return at_cbt_filter_all(&parts);
}

enum at_code
at_cbt_filter_columns(struct at_cbt_filters *f, const char *columns, struct at_error *reterr)
{
    struct at_cbt_filters each = {.arena = f->arena};
    for (const char *at = columns; *at != '\0';) {
        size_t len = strcspn(at, ",");
        struct at_slice column = at_slice_make(at, len);
        at += len + (at[len] == ',');
        if (len == 0)
            continue;
        row_filter *filter =
            each.count < AT_CBT_FILTERS_MAX ? column_filter(f->arena, column) : NULL;
        if (!filter)
            return at_fail(reterr, AT_INVALID_ARGUMENT, "bad format for column \"%.*s\"",
                           AT_SLICE_ARG(column));
        add(&each, filter);
    }
    if (each.count == 1)
        add(f, each.list[0]);
    if (each.count < 2)
        return AT_OK;
    row_filter *filter = new_filter(f->arena, GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_INTERLEAVE);
    filter->interleave = AT_PROTO_NEW(f->arena, google__bigtable__v2__row_filter__interleave);
    filter->interleave->n_filters = each.count;
    filter->interleave->filters = chain(&each)->chain->filters;
    add(f, filter);
    return AT_OK;
}
