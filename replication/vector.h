/* vector.h: how far each origin's log was applied: a map (origin, epoch) -> seq. PURE.
 *
 * Small (members x open epochs), so it is one sorted array. A pair that is not in it has seq 0. */
#ifndef ATOLL_REPLICATION_VECTOR_H
#define ATOLL_REPLICATION_VECTOR_H

#include "base/pack.h"
#include "base/stamp.h"

struct at_vector {
    struct at_position *items; /* ascending by (origin, epoch), unique */
    uint32_t count;
    uint32_t cap;
};

void at_vector_init(struct at_vector *v);
void at_vector_deinit(struct at_vector *v);
void at_vector_copy(struct at_vector *to, const struct at_vector *from);

/* at_vector_get returns the seq of (origin, epoch), 0 when absent. */
uint64_t at_vector_get(const struct at_vector *v, struct at_member_id origin, uint32_t epoch);

/* at_vector_set puts exactly this seq; at_vector_raise only ever moves up, and returns true when it
 * did. RESOURCE_EXHAUSTED (set) / false (raise) beyond AT_CLUSTERS_MAX * AT_EPOCHS_MAX pairs. */
AT_MUST_USE enum at_code at_vector_set(struct at_vector *v, struct at_position p);
bool at_vector_raise(struct at_vector *v, struct at_position p);

/* at_vector_drop removes the pair, if present. */
void at_vector_drop(struct at_vector *v, struct at_member_id origin, uint32_t epoch);

/* at_vector_merge raises every pair of `from`. */
void at_vector_merge(struct at_vector *to, const struct at_vector *from);

/* at_vector_covers: every pair of `b` is at or below its seq in `a`. */
bool at_vector_covers(const struct at_vector *a, const struct at_vector *b);

/* Msgpack form: array of [origin, epoch, seq]. Decode checks order, uniqueness and count. */
AT_MUST_USE enum at_code at_vector_encode(const struct at_vector *v, struct at_buf *out);
AT_MUST_USE enum at_code at_vector_decode(struct at_vector *v, struct at_unpack *in);

#endif
