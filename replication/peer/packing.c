#include "replication/peer/packing.h"

#include <zstd.h>

#define LEVEL 1
#define CRC_START 0xffffffffu

static uint32_t crc_by_nibbles(uint32_t crc, struct at_slice s);

bool at_pack(struct at_slice raw, struct at_buf *out)
{
    size_t bound = ZSTD_compressBound(raw.len);

    if (raw.len < AT_PACK_BYTES_MIN || at_buf_reserve(out, bound) != AT_OK)
        return false;
    size_t size = ZSTD_compress(out->data + out->len, bound, raw.data, raw.len, LEVEL);
    if (ZSTD_isError(size) || size >= raw.len)
        return false;
    out->len += size;
    return true;
}

enum at_code at_unpack_into(struct at_slice packed, size_t raw_bytes, struct at_buf *out)
{
    /* What the frame says of its size is checked before there is memory for it. */
    if (raw_bytes == 0 || ZSTD_getFrameContentSize(packed.data, packed.len) != raw_bytes)
        return AT_INVALID_ARGUMENT;
    AT_TRY(at_buf_reserve(out, raw_bytes));
    size_t size = ZSTD_decompress(out->data + out->len, raw_bytes, packed.data, packed.len);
    if (ZSTD_isError(size) || size != raw_bytes)
        return AT_INVALID_ARGUMENT;
    out->len += raw_bytes;
    return AT_OK;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc,
                                                                     struct at_slice s)
{
    uint64_t wide = crc;
    size_t at = 0;

    for (; at + sizeof(wide) <= s.len; at += sizeof(wide)) {
        uint64_t word = 0;
        memcpy(&word, s.data + at, sizeof(word));
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; at < s.len; at++)
        crc = __builtin_ia32_crc32qi(crc, s.data[at]);
    return crc;
}
#endif

uint32_t at_crc32c(struct at_slice bytes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_by_instruction(CRC_START, bytes);
#endif
    return ~crc_by_nibbles(CRC_START, bytes);
}

/* Where the machine has no instruction for it. */
static uint32_t crc_by_nibbles(uint32_t crc, struct at_slice s)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };

    for (size_t i = 0; i < s.len; i++) {
        crc ^= s.data[i];
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return crc;
}
