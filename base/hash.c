#include "base/hash.h"

#include <xxhash.h>

uint64_t at_hash64(struct at_slice s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.data, s.len, seed);
}

struct at_hash128 at_hash128(struct at_slice s, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(s.data, s.len, seed);

    return (struct at_hash128){.low = h.low64, .high = h.high64};
}
