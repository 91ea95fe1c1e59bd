/* visible.h: which stored versions show: the rule of stamps, for one row. PURE.
 *
 * A cell version's identity is (row, family, qualifier, timestamp); of several stamps the highest
 * wins; a marker hides exactly the covered versions whose stamp is lower than its own. Keys are fed
 * in storage order, so markers come before what they cover. Aggregate families merge all versions
 * that are not hidden. The state is a few words and, per column, its markers.
 *
 * A floor is what garbage collection by age hides in a family, for good: see floor below. */
#ifndef ATOLL_CLUSTER_MODEL_VISIBLE_H
#define ATOLL_CLUSTER_MODEL_VISIBLE_H

#include "base/buf.h"
#include "base/stamp.h"
#include "cluster/model/key.h"

/* Cells older than before_micros and stamped at or below `stamp` are collected: they never show
 * again, whatever is left of them on disk. It is a cluster's own, and only rises. {0}: none. */
struct at_floor {
    int64_t before_micros;
    struct at_stamp stamp;
};

struct at_visible {
    struct at_stamp row_hidden;    /* all of the row below this stamp is hidden */
    struct at_stamp family_hidden; /* the same, for the current family */
    struct at_buf column_markers;  /* of the current column: (stamp, start, end) each */
    struct at_floor floor;         /* of the current family; the reader sets it */
    bool have_cell;                /* a version of (column, last_timestamp) was decided */
    int64_t last_timestamp_micros;
};

void at_visible_init(struct at_visible *v);
void at_visible_deinit(struct at_visible *v);

/* at_visible_begin_row starts a row; `hidden` is the highest stamp of row markers and range drops
 * that cover it ({0} when none). */
void at_visible_begin_row(struct at_visible *v, struct at_stamp hidden);
void at_visible_begin_family(struct at_visible *v); /* leaves the floor as it is */
void at_visible_begin_column(struct at_visible *v);

/* at_visible_marker takes a family or column marker (`value` as stored). DATA_LOSS when malformed.
 */
AT_MUST_USE enum at_code
at_visible_marker(struct at_visible *v, const struct at_key *key, struct at_slice value);

/* at_visible_cell tells whether this stored version shows (plain families). */
bool at_visible_cell(struct at_visible *v, int64_t timestamp_micros, struct at_stamp stamp);

/* at_visible_partial tells whether this add of an aggregate family counts. */
bool at_visible_partial(const struct at_visible *v,
                        int64_t timestamp_micros,
                        struct at_stamp stamp);

/* at_visible_covered tells whether a marker covers this stored version, of whatever kind: unlike
 * what a floor or another version hides, it may go as soon as it is stored. */
bool at_visible_covered(const struct at_visible *v,
                        int64_t timestamp_micros,
                        struct at_stamp stamp);

#endif
