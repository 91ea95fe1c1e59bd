/* tokens.h: the idempotency tokens of the last quarter of an hour. PURE.
 *
 * Tokens are kept by the time of their entries, in spans of a few minutes, and forgotten a span at
 * a time: no sooner than AT_TOKEN_LIFE_NS after the entry, and at most one span later. */
#ifndef ATOLL_CLUSTER_TABLET_TOKENS_H
#define ATOLL_CLUSTER_TABLET_TOKENS_H

#include "base/hash.h"
#include "base/limits.h"

#define AT_TOKEN_BYTES_MIN 8
#define AT_TOKEN_LIFE_NS (UINT64_C(15 * 60) * 1000000000)
#define AT_TOKEN_SPAN_NS (UINT64_C(3 * 60) * 1000000000)
/* Those that live, with room for clocks that are ahead. */
#define AT_TOKEN_SPANS 8

/* Open addressing; an id of zeros is an empty slot. */
struct at_token_span {
    uint64_t number; /* of the span: time / AT_TOKEN_SPAN_NS */
    struct at_hash128 *slots;
    uint32_t count;
    uint32_t cap; /* a power of two, or 0 */
};

/* Zeroed, it is empty. */
struct at_tokens {
    struct at_token_span spans[AT_TOKEN_SPANS]; /* at number % AT_TOKEN_SPANS */
    uint32_t count;
};

void at_tokens_deinit(struct at_tokens *t);

/* at_token_id: a token guards one row of one generation of a table. Never zeros. */
struct at_hash128 at_token_id(struct at_slice table,
                              uint64_t table_generation,
                              struct at_slice row,
                              struct at_slice token);

bool at_tokens_has(const struct at_tokens *t, struct at_hash128 id);

/* at_tokens_full: AT_TOKENS_MAX are kept. */
bool at_tokens_full(const struct at_tokens *t);

/* at_tokens_add keeps an id in a span. False when it is not kept: it was there, or there are too
 * many, or the span is older than those that live. */
bool at_tokens_add(struct at_tokens *t, struct at_hash128 id, uint64_t span);

/* at_tokens_expire forgets one span whose time is over; false when there is none. */
bool at_tokens_expire(struct at_tokens *t, uint64_t now_ns, uint64_t *ret_span);

static inline uint64_t at_token_span_of(uint64_t time_ns)
{
    return time_ns / AT_TOKEN_SPAN_NS;
}

#endif
