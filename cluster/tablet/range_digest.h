/* range_digest.h: digests of stretches of a table's rows, to find where two clusters differ.
 * ADAPTER (engine).
 *
 * The first cluster that is asked cuts the range itself, every `piece_rows` rows; the others are
 * given its cuts. What differs is cut finer, down to single rows. As with at_digest, only what
 * shows at now_micros counts. A run works in bounded steps; one thread at a time. */
#ifndef ATOLL_CLUSTER_TABLET_RANGE_DIGEST_H
#define ATOLL_CLUSTER_TABLET_RANGE_DIGEST_H

#include "base/arena.h"
#include "cluster/tablet/digest_stream.h"
#include "cluster/tablet/read.h"

#define AT_RANGE_PIECES_MAX 1024

/* All is borrowed for the run's life. */
struct at_range_digest_spec {
    struct at_slice table;
    struct at_row_range range;   /* no point */
    const struct at_slice *cuts; /* ascending, inside the range; with them the range is not cut
                                    otherwise */
    uint32_t cut_count;          /* below AT_RANGE_PIECES_MAX */
    uint64_t piece_rows;         /* without cuts: rows a piece has, at least 1 */
    uint32_t pieces_max;         /* without cuts: the run ends with this many */
    uint64_t bytes_max; /* without cuts: the run ends at the next row behind so much work */
    int64_t now_micros;
};

/* The rows from the end of the piece before (or the start of the range) up to `end`, which is not
 * in it; empty: to the end of the table. */
struct at_range_piece {
    struct at_slice end;
    uint64_t rows;
    uint64_t cells;
    uint8_t sum[AT_DIGEST_BYTES];
};

struct at_range_digest {
    uint8_t schema_sum[AT_DIGEST_BYTES]; /* of the table's and its families' records */
    struct at_range_piece *pieces;       /* at least one; the last one ends the range, unless the
                                            run ended early. They live as long as the run */
    uint32_t count;
};

struct at_range_run;

/* at_range_digest_open: NOT_FOUND for the table, INVALID_ARGUMENT for cuts that do not ascend or
 * lie outside, RESOURCE_EXHAUSTED for too many. */
AT_MUST_USE enum at_code at_range_digest_open(struct at_store *store,
                                              const struct at_range_digest_spec *spec,
                                              struct at_range_run **ret_run,
                                              struct at_error *reterr);
/* at_range_digest_step is like at_read_step. */
AT_MUST_USE enum at_code at_range_digest_step(struct at_range_run *run,
                                              size_t bytes_max,
                                              bool *ret_done,
                                              struct at_error *reterr);
/* at_range_digest_result, once done. */
const struct at_range_digest *at_range_digest_result(const struct at_range_run *run);
void at_range_digest_close(struct at_range_run **run);

#endif
