/* hash.h: fast digests of bytes (XXH3 from libxxhash). PURE. Not for secrets. */
#ifndef ATOLL_BASE_HASH_H
#define ATOLL_BASE_HASH_H

#include "base/slice.h"

struct at_hash128 {
    uint64_t low;
    uint64_t high;
};

uint64_t at_hash64(struct at_slice s, uint64_t seed);
struct at_hash128 at_hash128(struct at_slice s, uint64_t seed);

#endif
