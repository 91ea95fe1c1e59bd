/* fold.h: adds to one aggregate cell become one value. PURE.
 *
 * Values are 64-bit integers, big-endian; a sum wraps around. */
#ifndef ATOLL_CLUSTER_TABLET_FOLD_H
#define ATOLL_CLUSTER_TABLET_FOLD_H

#include "cluster/model/catalog.h"

#define AT_FOLD_VALUE_BYTES 8

struct at_fold {
    bool active; /* a value was taken since the last reset */
    int64_t timestamp_micros;
    int64_t value;
    uint8_t bytes[AT_FOLD_VALUE_BYTES]; /* the value after at_fold_take */
};

/* at_fold_applies: families of this type are folded (a sketch is opaque: its newest one wins). */
static inline bool at_fold_applies(enum at_family_type type)
{
    return type == AT_FAMILY_SUM || type == AT_FAMILY_MIN || type == AT_FAMILY_MAX;
}

/* at_fold_add takes one more value. DATA_LOSS when it is not 8 bytes. */
AT_MUST_USE enum at_code at_fold_add(struct at_fold *fold,
                                     enum at_family_type type,
                                     int64_t timestamp_micros,
                                     struct at_slice value);

/* at_fold_take ends the fold and returns its value, which lives in the fold. */
struct at_slice at_fold_take(struct at_fold *fold);

#endif
