/* features.h: what a client said about itself in the header "bigtable-features". PURE. */
#ifndef ATOLL_CLUSTER_SERVICE_FEATURES_H
#define ATOLL_CLUSTER_SERVICE_FEATURES_H

#include "base/arena.h"

struct at_features {
    bool reverse_scans;
    bool last_scanned_row_responses;
};

/* at_features_decode reads base64 of google.bigtable.v2.FeatureFlags: either alphabet, padded or
 * not. What cannot be read announces nothing. */
struct at_features at_features_decode(struct at_slice header, struct at_arena *arena);

#endif
