/* record.h: mutation log records: a run of entries of one (origin, epoch). PURE.
 *
 * The log stores one record for all entries of a commit round, and a reply
 * carries records as they are stored. A record is msgpack:
 *     [first_seq, count, hlc, ticks, payload, hlc, ticks, payload, ...]
 * Entry i has seq first_seq + i. Its operations have the stamps (hlc + 0 ..
 * hlc + ticks - 1, origin). Its payload (cluster/model/operation.h) is opaque here. */
#ifndef ATOLL_REPLICATION_RECORD_H
#define ATOLL_REPLICATION_RECORD_H

#include "base/pack.h"
#include "base/stamp.h"

struct at_entry {
    uint64_t seq;
    uint64_t hlc;   /* of its first operation */
    uint32_t ticks; /* >= 1 */
    struct at_slice payload;
};

/* --- building: the count is patched in at the end, so entries stream in --- */

struct at_record_builder {
    struct at_buf bytes;
    uint64_t first_seq;
    uint32_t count;
    size_t entry_at;   /* private: where the open entry begins, 0 when none is open */
    size_t payload_at; /* private: where its payload begins */
};

void at_record_builder_init(struct at_record_builder *b, size_t max_bytes);
void at_record_builder_deinit(struct at_record_builder *b);

/* at_record_begin empties the builder for a run that starts at first_seq. */
void at_record_begin(struct at_record_builder *b, uint64_t first_seq);

/* at_record_add appends the next entry (its seq must be first_seq + count).
 * at_record_add_begin/_commit let the caller append the payload to `bytes` in place: `payload_max`
 * is an upper bound of its length and decides the width of the length field. RESOURCE_EXHAUSTED
 * beyond max_bytes; then the record is as before. */
AT_MUST_USE enum at_code at_record_add(struct at_record_builder *b, const struct at_entry *entry);
AT_MUST_USE enum at_code
at_record_add_begin(struct at_record_builder *b, uint64_t hlc, uint32_t ticks, size_t payload_max);
void at_record_add_commit(struct at_record_builder *b);

/* at_record_finish returns the record's bytes; they live until the next begin. */
struct at_slice at_record_finish(struct at_record_builder *b);

static inline uint64_t at_record_last_seq(const struct at_record_builder *b)
{
    return b->first_seq + b->count - 1;
}

/* --- reading --- */

struct at_record_reader {
    struct at_unpack in;
    uint64_t next_seq;
    uint32_t left;
};

/* at_record_open reads the head. INVALID_ARGUMENT on malformed bytes, count 0 or seq overflow. */
AT_MUST_USE enum at_code at_record_open(struct at_record_reader *r, struct at_slice record);

/* at_record_next returns the next entry (its payload borrows the record), OUT_OF_RANGE at the end,
 * INVALID_ARGUMENT when malformed (also: bytes left behind the last entry, ticks 0, hlc overflow).
 */
AT_MUST_USE enum at_code at_record_next(struct at_record_reader *r, struct at_entry *ret_entry);

#endif
