/* copy.h: the two sides of an online copy: a pinned source, and a sink that merges what comes with
 * what is here, aside, and switches once. ADAPTER (engine, files).
 *
 * A source is one snapshot of the engine and what the replica said of itself at that commit. Its
 * parts: 0 is the catalog, dropped ranges, idempotency tokens, and the list of the other parts;
 * each other part is a stretch of rows of one (table, generation, family, generation), or of a
 * table's row markers. A chunk's items are as cluster/model/copy_item.h says.
 *
 * A sink owns a keyspace of its own (an at_aside), made empty when it begins. Each chunk is merged,
 * by at_copy_rule, with the same stretch of the receiver's own picture (a snapshot of the moment it
 * began) and put into sorted files that are ingested. at_copy_sink_finish adds what only the
 * receiver has and switches: in one batch, synced, the aside keyspace becomes CELLS, V, base, F and
 * members move, catalog, drops and tokens are merged, logs that grew are emptied. Until then
 * nothing is changed, and a crash leaves what was; the remains of an aside are dropped when a store
 * opens. Readers that hold a snapshot of before keep reading what they had.
 *
 * One sink at a time per store. All functions block on disk or on the writer; any thread but the
 * writer's and a loop's. */
#ifndef ATOLL_CLUSTER_TABLET_COPY_H
#define ATOLL_CLUSTER_TABLET_COPY_H

#include "cluster/tablet/store.h"
#include "replication/fill.h"

struct at_copy_source;
struct at_copy_sink;

/* FAILED_PRECONDITION by rule 27, UNAVAILABLE when closing. */
AT_MUST_USE enum at_code at_copy_source_open(struct at_store *store,
                                             struct at_member_id receiver,
                                             const struct at_vector *needs,
                                             struct at_copy_source **ret_source,
                                             struct at_error *reterr);
struct at_copy_offer at_copy_source_offer(const struct at_copy_source *source);
/* at_copy_source_read reads a chunk. INVALID_ARGUMENT: no such part or cursor. */
AT_MUST_USE enum at_code at_copy_source_read(struct at_copy_source *source,
                                             struct at_copy_read *read,
                                             struct at_error *reterr);
void at_copy_source_close(struct at_copy_source **source);

/* at_copy_sink_open: mode COPYING, synced. The state is copied. */
AT_MUST_USE enum at_code at_copy_sink_open(struct at_store *store,
                                           const struct at_copy_state *donor,
                                           uint32_t part_count,
                                           struct at_copy_sink **ret_sink,
                                           struct at_error *reterr);
/* at_copy_sink_take merges one chunk. Chunks of a part come in order, part 0 whole before all
 * others. INVALID_ARGUMENT when malformed or out of order: the donor can't be trusted, abort. */
AT_MUST_USE enum at_code at_copy_sink_take(struct at_copy_sink *sink,
                                           uint32_t part,
                                           struct at_slice cursor,
                                           bool last,
                                           struct at_slice items,
                                           struct at_error *reterr);
/* at_copy_sink_finish: FAILED_PRECONDITION when a part is missing. On any error nothing changed;
 * abort then. On success the sink is gone. */
AT_MUST_USE enum at_code at_copy_sink_finish(struct at_copy_sink **sink, struct at_error *reterr);
void at_copy_sink_abort(struct at_copy_sink **sink);

/* Progress by table, for CreateCluster's metadata. Any thread. */
struct at_copy_table_progress {
    char table[AT_KEPT_NAME_BYTES_MAX + 1];
    uint64_t bytes; /* estimate of all */
    uint64_t copied_bytes;
};
uint32_t at_store_copy_progress(struct at_store *store,
                                struct at_copy_table_progress *ret_tables,
                                uint32_t count_max);

#endif
