/* hll.h: the sketch of a unique count: HyperLogLog++ with its sparse form. PURE.
 *
 * A sketch is a function of the set of values it has seen: neither order nor repetition nor the way
 * in which partial sketches were merged shows in its state, byte for byte. So merging is
 * commutative, associative and idempotent, and clusters that folded differently agree.
 *
 * State, as stored and as read by clients (docs/AGGREGATES.md):
 *     'H' 'L' 'L' version(1) precision(1) form(1), then
 *     form 1, sparse: at most AT_HLL_SPARSE_MAX entries of 4 bytes, big-endian, ascending:
 *             index(25 bits) << 6 | rank(6 bits), each index once
 *     form 2, dense: 2^14 registers of 6 bits, the first in the highest bits
 * A sketch is sparse exactly as long as it has seen at most AT_HLL_SPARSE_MAX indexes. No state has
 * 8 bytes, so it is never taken for an integer. */
#ifndef ATOLL_CLUSTER_MODEL_HLL_H
#define ATOLL_CLUSTER_MODEL_HLL_H

#include "base/slice.h"
#include "base/status.h"

#define AT_HLL_PRECISION 14
#define AT_HLL_SPARSE_PRECISION 25
#define AT_HLL_SPARSE_MAX 3072
#define AT_HLL_HEADER_BYTES 6
#define AT_HLL_ENTRY_BYTES 4
#define AT_HLL_ONE_BYTES (AT_HLL_HEADER_BYTES + AT_HLL_ENTRY_BYTES)
#define AT_HLL_DENSE_BYTES ((1 << AT_HLL_PRECISION) * 6 / 8)
#define AT_HLL_STATE_BYTES_MAX (AT_HLL_HEADER_BYTES + AT_HLL_SPARSE_MAX * AT_HLL_ENTRY_BYTES)

/* Zeroed, it is the empty sketch. Invariant: once dense, entry_count is 0. */
struct at_hll {
    uint32_t *entries;  /* ascending; room for AT_HLL_SPARSE_MAX + 1, NULL until needed */
    uint8_t *registers; /* 2^AT_HLL_PRECISION, NULL until needed */
    uint32_t entry_count;
    bool dense;
};

void at_hll_deinit(struct at_hll *hll);
/* at_hll_clear empties; the memory is kept. */
void at_hll_clear(struct at_hll *hll);

/* at_hll_add counts a value: its bytes, whatever type they came from. */
void at_hll_add(struct at_hll *hll, struct at_slice value);

/* at_hll_merge makes the union with a state. INVALID_ARGUMENT when it is none; then unchanged. */
AT_MUST_USE enum at_code at_hll_merge(struct at_hll *hll, struct at_slice state);

/* at_hll_check: INVALID_ARGUMENT when `state` is none. */
AT_MUST_USE enum at_code at_hll_check(struct at_slice state);

/* at_hll_encode writes the state, at most AT_HLL_STATE_BYTES_MAX bytes, and returns how many. */
size_t at_hll_encode(const struct at_hll *hll, uint8_t *out);

/* at_hll_one writes the state of a sketch that has seen one value: AT_HLL_ONE_BYTES. */
void at_hll_one(struct at_slice value, uint8_t *out);

/* at_hll_estimate: about how many values it has seen; the standard error is 0.8 %. */
uint64_t at_hll_estimate(const struct at_hll *hll);

#endif
