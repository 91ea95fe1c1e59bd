/* rfc3339.h: times as text. PURE. */
#ifndef ATOLL_CLUSTER_ADMIN_RFC3339_H
#define ATOLL_CLUSTER_ADMIN_RFC3339_H

#include "base/slice.h"

/* at_rfc3339_read: "2026-01-31T12:00:00Z", with a fraction or not, with an offset ("+01:00") or Z.
 * Years 1 to 9999. False when it is no such time. */
bool at_rfc3339_read(struct at_slice text, int64_t *ret_micros);

#endif
