/* details.h: what an error says to programs: google.rpc.Status for grpc-status-details-bin. PURE.
 * Results are in the arena. */
#ifndef ATOLL_CLUSTER_SERVICE_DETAILS_H
#define ATOLL_CLUSTER_SERVICE_DETAILS_H

#include "base/arena.h"
#include "base/status.h"

/* at_details_retry: a RetryInfo with the error's retry_after_ms: clients wait that long, and try
 * again even what they would not have tried again. */
struct at_slice at_details_retry(const struct at_error *error, struct at_arena *arena);

/* at_details_large_row: the ErrorInfo by which clients that may skip too large rows know one, and
 * its key. */
struct at_slice
at_details_large_row(const struct at_error *error, struct at_slice row, struct at_arena *arena);

#endif
