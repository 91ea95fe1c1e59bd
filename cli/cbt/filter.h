/* filter.h: row filters of cbt's options. PURE. */
#ifndef ATOLL_CLI_CBT_FILTER_H
#define ATOLL_CLI_CBT_FILTER_H

#include "base/arena.h"
#include "base/status.h"
#include "google/bigtable/v2/data.pb-c.h"

#define AT_CBT_FILTERS_MAX 256

/* at_cbt_filters: filters that a row passes one after the other. */
struct at_cbt_filters {
    struct at_arena *arena;
    Google__Bigtable__V2__RowFilter *list[AT_CBT_FILTERS_MAX];
    size_t count;
};

void at_cbt_filter_latest(struct at_cbt_filters *f, int32_t cells_per_column);
void at_cbt_filter_key(struct at_cbt_filters *f, const char *regex);
void at_cbt_filter_strip(struct at_cbt_filters *f);
void at_cbt_filter_first(struct at_cbt_filters *f, int32_t cells_per_row);

/* at_cbt_filter_columns adds "family:qualifier,family:,:qualifier,qualifier,...", each part a
 * regex. INVALID_ARGUMENT for a part with more colons, or too many parts. */
AT_MUST_USE enum at_code
at_cbt_filter_columns(struct at_cbt_filters *f, const char *columns, struct at_error *reterr);

/* at_cbt_filter_all returns them as one filter, NULL when there is none. */
Google__Bigtable__V2__RowFilter *at_cbt_filter_all(const struct at_cbt_filters *f);

#endif
