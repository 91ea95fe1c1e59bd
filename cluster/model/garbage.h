/* garbage.h: which stored versions of a row may go from the disk: the collector's judgement. PURE.
 *
 * Garbage is what can never show again: hidden by a marker that stays, overwritten by a higher
 * stamp of the same cell, below the family's floor; and what the family's rule condemns, with
 * versions counted over those that show. In an aggregate family one version is all adds of one
 * (column, timestamp): they go together or not at all. Keys are fed in storage order, as to
 * visible.h.
 *
 * What a rule condemns of a column is always a run at its old end: rules count from the newest and
 * age with time. So taking any part of it away leaves the judgement of all the rest as it was. */
#ifndef ATOLL_CLUSTER_MODEL_GARBAGE_H
#define ATOLL_CLUSTER_MODEL_GARBAGE_H

#include "cluster/model/gc_rule.h"
#include "cluster/model/visible.h"

struct at_garbage {
    struct at_visible visible;
    const struct at_gc_rule *rule; /* borrowed */
    bool folds;                    /* an aggregate family */
    int64_t now_micros;
    uint32_t versions; /* of the column that showed so far */
    int64_t last_timestamp_micros;
    bool last_condemned;
};

void at_garbage_init(struct at_garbage *g);
void at_garbage_deinit(struct at_garbage *g);

/* What one family is judged by. */
struct at_garbage_law {
    const struct at_gc_rule *rule; /* borrowed until the next begin_family */
    struct at_floor floor;
    bool folds;
    int64_t now_micros;
};
/* at_garbage_begin_family starts a family; a row has to be started next. */
void at_garbage_begin_family(struct at_garbage *g, const struct at_garbage_law *law);
void at_garbage_begin_row(struct at_garbage *g, struct at_stamp hidden);
void at_garbage_begin_column(struct at_garbage *g);

/* at_garbage_marker takes a family or column marker. DATA_LOSS when malformed. */
AT_MUST_USE enum at_code
at_garbage_marker(struct at_garbage *g, const struct at_key *key, struct at_slice value);

/* at_garbage_cell tells whether this stored version may go. */
bool at_garbage_cell(struct at_garbage *g, int64_t timestamp_micros, struct at_stamp stamp);

#endif
