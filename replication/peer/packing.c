#include "replication/peer/packing.h"

#include <zstd.h>

#define LEVEL 1

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
