/* fold.h: the partials of one aggregate cell become one value. PURE.
 *
 * Sums, minima and maxima are 64-bit integers, big-endian; a sum wraps around. A unique count is a
 * sketch (cluster/model/hll.h). */
#ifndef ATOLL_CLUSTER_TABLET_FOLD_H
#define ATOLL_CLUSTER_TABLET_FOLD_H

#include "cluster/model/catalog.h"
#include "cluster/model/hll.h"

#define AT_FOLD_INT_BYTES 8

/* Zeroed, it holds nothing. */
struct at_fold {
    bool active; /* a value was taken since the last reset */
    enum at_family_type type;
    int64_t timestamp_micros;
    int64_t value;
    struct at_hll hll;
    uint8_t *bytes; /* the value after at_fold_take; room for any, NULL until needed */
};

void at_fold_deinit(struct at_fold *fold);

/* at_fold_applies: cells of families of this type are folded from partials. */
static inline bool at_fold_applies(enum at_family_type type)
{
    return type != AT_FAMILY_PLAIN;
}

/* at_fold_fits tells whether this is a partial of the family's type at all. What is not may have
 * come from a cluster that gave the family another type; it is kept and hidden. */
bool at_fold_fits(enum at_family_type type, struct at_slice partial);

/* at_fold_add takes one more partial. False when it does not fit the type: then unchanged. */
AT_MUST_USE bool at_fold_add(struct at_fold *fold,
                             enum at_family_type type,
                             int64_t timestamp_micros,
                             struct at_slice partial);

/* at_fold_drop ends the fold without a value. */
void at_fold_drop(struct at_fold *fold);

/* at_fold_take ends the fold and returns its value, which lives in the fold. */
struct at_slice at_fold_take(struct at_fold *fold);

#endif
