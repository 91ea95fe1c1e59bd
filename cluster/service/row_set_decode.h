/* row_set_decode.h: a RowSet message becomes ascending, disjoint key ranges. PURE. */
#ifndef ATOLL_CLUSTER_SERVICE_ROW_SET_DECODE_H
#define ATOLL_CLUSTER_SERVICE_ROW_SET_DECODE_H

#include "cluster/model/row_set.h"
#include "google/bigtable/v2/data.pb-c.h"

/* at_row_set_decode fills and finishes the set; no message, or an empty one, is the whole table.
 * Keys borrow the request or lie in the arena. INVALID_ARGUMENT from the set's own checks. */
AT_MUST_USE enum at_code at_row_set_decode(const Google__Bigtable__V2__RowSet *rows,
                                           struct at_arena *arena,
                                           struct at_row_set *ret_set,
                                           struct at_error *reterr);

#endif
