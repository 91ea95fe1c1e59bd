/* filter_decode.h: a RowFilter message becomes the model's filter tree. PURE. */
#ifndef ATOLL_CLUSTER_SERVICE_FILTER_DECODE_H
#define ATOLL_CLUSTER_SERVICE_FILTER_DECODE_H

#include "base/arena.h"
#include "cluster/model/filter.h"
#include "google/bigtable/v2/data.pb-c.h"

/* at_filter_decode builds the tree in the arena; bytes borrow the request. No filter gives NULL, an
 * empty one passes all. UNIMPLEMENTED for a filter this server does not know, which is named, so
 * that none is ever ignored; INVALID_ARGUMENT for more than AT_FILTER_BYTES_MAX, for nesting beyond
 * AT_FILTER_DEPTH_MAX and for flags that are set to false. All else is checked by
 * at_filter_compile. */
AT_MUST_USE enum at_code at_filter_decode(const Google__Bigtable__V2__RowFilter *filter,
                                          struct at_arena *arena,
                                          struct at_filter_node **ret_root,
                                          struct at_error *reterr);

#endif
