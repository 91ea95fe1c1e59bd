#include "replication/peer/rooms.h"

enum at_code at_copy_chunk_open(const struct at_copy_chunk *chunk,
                                struct at_buf *raw,
                                struct at_slice *ret_items,
                                struct at_error *reterr)
{
    *ret_items = chunk->items;
    if (chunk->packed) {
        at_buf_clear(raw);
        enum at_code code = at_unpack_into(chunk->items, chunk->raw_bytes, raw);
        if (code != AT_OK)
            return at_fail(reterr, code, "a chunk can't be unpacked");
        *ret_items = at_buf_slice(raw);
    }
    if (ret_items->len != chunk->raw_bytes || at_crc32c(*ret_items) != chunk->checksum)
        return at_fail(reterr, AT_DATA_LOSS, "a chunk does not match its checksum");
    return AT_OK;
}
