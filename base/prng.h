/* prng.h: reproducible random numbers (xoshiro256**, seeded by splitmix64). PURE. Not for secrets.
 */
#ifndef ATOLL_BASE_PRNG_H
#define ATOLL_BASE_PRNG_H

#include <stdint.h>

struct at_prng {
    uint64_t s[4];
};

void at_prng_init(struct at_prng *p, uint64_t seed);
uint64_t at_prng_u64(struct at_prng *p);

/* at_prng_below returns a number in [0, n), without bias; n must not be 0. */
uint64_t at_prng_below(struct at_prng *p, uint64_t n);

/* at_random_bytes fills from the system's secure source (ids, tokens). ADAPTER. Never fails. */
void at_random_bytes(void *data, uint64_t len);

#endif
