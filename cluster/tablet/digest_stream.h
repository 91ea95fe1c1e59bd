/* digest_stream.h: what digests hash: visible data as one unambiguous stream of items. PURE.
 *
 * Items come with their lengths, in an order that every cluster shares: tables by name, families by
 * name, rows, cells. The stream is hashed in pieces; each begins with the hash of all before it,
 * and where pieces end depends on the content alone. A long value enters by its own hash. So memory
 * stays small, and equal content has equal sums, however it was stored. */
#ifndef ATOLL_CLUSTER_TABLET_DIGEST_STREAM_H
#define ATOLL_CLUSTER_TABLET_DIGEST_STREAM_H

#include "base/buf.h"
#include "cluster/model/catalog.h"
#include "cluster/model/cell.h"

#define AT_DIGEST_BYTES 16

struct at_digest_stream {
    struct at_buf piece; /* what is not hashed yet */
    uint8_t sum[AT_DIGEST_BYTES];
    bool full; /* an item did not fit: the sum means nothing */
};

void at_digest_stream_init(struct at_digest_stream *s);
void at_digest_stream_deinit(struct at_digest_stream *s);

/* Items. What can't be taken sets `full`. */
void at_digest_stream_table(struct at_digest_stream *s, const struct at_table *table);
void at_digest_stream_row(struct at_digest_stream *s, struct at_slice row);
void at_digest_stream_cell(struct at_digest_stream *s, const struct at_cell *cell);
void at_digest_stream_row_end(struct at_digest_stream *s);

/* at_digest_stream_end gives the sum of all items and starts an empty stream. RESOURCE_EXHAUSTED
 * when one did not fit. */
AT_MUST_USE enum at_code at_digest_stream_end(struct at_digest_stream *s,
                                              uint8_t ret_sum[AT_DIGEST_BYTES],
                                              struct at_error *reterr);

#endif
