/* bytes.h: big-endian integers at any address: the byte order of keys. PURE. */
#ifndef ATOLL_BASE_BYTES_H
#define ATOLL_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline void at_put_be32(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof(v));
}

static inline void at_put_be64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof(v));
}

static inline uint32_t at_get_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap32(v);
}

static inline uint64_t at_get_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap64(v);
}

#endif
