/* cell.h: one visible cell on its way from storage to a client. PURE. */
#ifndef ATOLL_CLUSTER_MODEL_CELL_H
#define ATOLL_CLUSTER_MODEL_CELL_H

#include "base/slice.h"

/* All slices borrow; they live until the producer goes on to the next cell. */
struct at_cell {
    struct at_slice family;
    struct at_slice qualifier;
    int64_t timestamp_micros;
    struct at_slice value;
    struct at_slice label; /* data NULL: none */
};

#endif
