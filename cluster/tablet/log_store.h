/* log_store.h: mutation log records in the engine. ADAPTER (engine).
 *
 * Key: origin(4) epoch(4) last_seq(8), big-endian; value: a record of replication/record.h. By the
 * last seq, so that a seek to any seq finds the record that holds it. */
#ifndef ATOLL_CLUSTER_TABLET_LOG_STORE_H
#define ATOLL_CLUSTER_TABLET_LOG_STORE_H

#include "cluster/engine/engine.h"
#include "replication/peer/peering.h"

#define AT_LOG_KEY_BYTES 16

/* at_log_key fills the key of the record that ends at `last` and borrows `ret_key`. */
struct at_slice at_log_key(uint8_t ret_key[AT_LOG_KEY_BYTES], struct at_position last);
/* at_log_key_decode returns false when it is not such a key. */
bool at_log_key_decode(struct at_slice key, struct at_position *ret_last);

/* at_log_put puts a record that ends at `last` into the batch. */
void at_log_put(struct at_batch *batch, struct at_position last, struct at_slice record);

/* at_log_read: see read_log of at_peering_port. */
AT_MUST_USE enum at_code at_log_read(struct at_engine *e,
                                     const struct at_log_read *what,
                                     struct at_buf *out,
                                     uint32_t *sizes,
                                     uint32_t *ret_count,
                                     struct at_error *reterr);

/* --- what there is of each (origin, epoch) --- */

/* One (origin, epoch) that has, or had, records here. */
struct at_log_part {
    struct at_member_id origin;
    uint32_t epoch;
    uint64_t trimmed; /* nothing at or below is here any more (as far as this process knows) */
};

struct at_log_parts {
    struct at_log_part *items;
    uint32_t count;
    uint32_t cap;
};

void at_log_parts_deinit(struct at_log_parts *parts);
/* at_log_parts_note makes sure that the part is listed; cheap when it is. */
void at_log_parts_note(struct at_log_parts *parts, struct at_member_id origin, uint32_t epoch);
/* at_log_parts_load lists all parts of the engine, one seek each. */
AT_MUST_USE enum at_code
at_log_parts_load(struct at_log_parts *parts, struct at_engine *e, struct at_error *reterr);

/* at_log_part_bytes estimates what a part takes. */
uint64_t at_log_part_bytes(const struct at_log_part *part, struct at_engine *e);
/* at_log_part_trim deletes the records that end at or below `bound`, never cutting one, and returns
 * the new trimmed seq (as before: nothing to delete). */
AT_MUST_USE enum at_code at_log_part_trim(struct at_log_part *part,
                                          struct at_engine *e,
                                          uint64_t bound,
                                          struct at_batch *batch,
                                          struct at_error *reterr);
/* at_log_part_seq_at returns the last seq of the record that ends the first `bytes` of the part: a
 * bound to trim by. 0 when it is empty. */
uint64_t at_log_part_seq_at(const struct at_log_part *part, struct at_engine *e, uint64_t bytes);

#endif
