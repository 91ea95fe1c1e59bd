/* range_hunt.h: where do clusters differ? Cuts ranges of rows finer and finer where their digests
 * do. PURE.
 *
 * One cluster cuts a range, the others give digests of the same pieces. A piece that differs is cut
 * again, by the cluster that has most rows in it, until no cluster has more than one row there.
 * Each round has fewer rows than the last, so it ends. What is equal is read once. */
#ifndef ATOLL_CLI_RANGE_HUNT_H
#define ATOLL_CLI_RANGE_HUNT_H

#include "base/arena.h"
#include "base/limits.h"
#include "base/status.h"

#define AT_HUNT_PIECES_MAX 1024

struct at_hunt_range {
    struct at_slice start;
    struct at_slice end; /* not in it; empty: no end */
};

struct at_hunt_piece {
    struct at_slice end;
    uint64_t rows;
    uint64_t cells;
    struct at_slice digest;
};

struct at_hunt_question {
    uint32_t cluster;
    struct at_hunt_range range;
    const struct at_slice *cuts; /* where to cut; NULL: as piece_rows says */
    uint32_t cut_count;
    uint64_t piece_rows; /* 0 and no cuts: one piece */
};

struct at_hunt_port {
    void *ctx;
    /* Digests of the pieces of a range, at most AT_HUNT_PIECES_MAX, in the arena. Without cuts the
     * last piece may end before the range does: there is more. */
    enum at_code (*ask)(void *ctx,
                        const struct at_hunt_question *question,
                        struct at_arena *arena,
                        struct at_hunt_piece **ret_pieces,
                        uint32_t *ret_count,
                        struct at_error *reterr);
    /* A range that differs, with at most one row on each cluster; AT_ABORTED ends the hunt. */
    enum at_code (*found)(void *ctx, struct at_hunt_range range, struct at_error *reterr);
};

struct at_hunt_totals {
    uint64_t rows[AT_MEMBERS_MAX];
    uint64_t cells[AT_MEMBERS_MAX];
    uint64_t digested_rows; /* of all clusters, as often as they were read */
};

/* at_range_hunt_run goes over all rows. Ranges are found in ascending order. What the port says;
 * DATA_LOSS for answers that do not fit together. */
AT_MUST_USE enum at_code at_range_hunt_run(const struct at_hunt_port *port,
                                           uint32_t cluster_count,
                                           struct at_hunt_totals *ret_totals,
                                           struct at_error *reterr);

#endif
