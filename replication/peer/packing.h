/* packing.h: zstd for what travels on slow links: records and chunks of copies. PURE but for
 * zstd's own memory; any thread. */
#ifndef ATOLL_REPLICATION_PEER_PACKING_H
#define ATOLL_REPLICATION_PEER_PACKING_H

#include "base/buf.h"

#define AT_PACK_BYTES_MIN 1024 /* what is smaller is not worth it */

/* at_pack appends `raw` packed. False, with `out` as it was: it is small, or does not shrink. */
bool at_pack(struct at_slice raw, struct at_buf *out);

/* at_unpack_into appends exactly `raw_bytes` to `out`. INVALID_ARGUMENT: malformed, or not of that
 * size; RESOURCE_EXHAUSTED: `out` may not grow so far. Then `out` is as it was. */
AT_MUST_USE enum at_code
at_unpack_into(struct at_slice packed, size_t raw_bytes, struct at_buf *out);

#endif
