/* pack_size.h: how many bytes msgpack will take (see base/pack.h), before it is written. PURE. */
#ifndef ATOLL_CLUSTER_MODEL_PACK_SIZE_H
#define ATOLL_CLUSTER_MODEL_PACK_SIZE_H

#include "base/slice.h"

static inline size_t at_pack_size_u64(uint64_t v)
{
    if (v < 0x80)
        return 1;
    if (v <= UINT8_MAX)
        return 2;
    if (v <= UINT16_MAX)
        return 3;
    return v <= UINT32_MAX ? 5 : 9;
}

static inline size_t at_pack_size_i64(int64_t v)
{
    return v >= 0 ? at_pack_size_u64((uint64_t)v) : 9;
}

static inline size_t at_pack_size_bin(struct at_slice s)
{
    return s.len + (s.len <= UINT8_MAX ? 2u : s.len <= UINT16_MAX ? 3u : 5u);
}

static inline size_t at_pack_size_str(struct at_slice s)
{
    return s.len < 32 ? s.len + 1 : at_pack_size_bin(s);
}

static inline size_t at_pack_size_array(uint64_t count)
{
    return count < 16 ? 1 : count <= UINT16_MAX ? 3 : 5;
}

#endif
