#include "base/crc32c.h"
#include "replication/peer/rooms.h"

/* What is told of the size of a copy is an estimate of what it takes packed on a disk. */
#define TIMES_MAX 1024u
#define BYTES_MORE (1024 * AT_MIB)
#define THIN_BYTES (8 * AT_KIB)
#define THIN_MORE 1000u

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

void at_copy_bound_init(struct at_copy_bound *b, uint64_t told_bytes, uint32_t part_count)
{
    b->bytes_left =
        told_bytes < UINT64_MAX / TIMES_MAX / 2 ? told_bytes * TIMES_MAX + BYTES_MORE : UINT64_MAX;
    b->thin_left = part_count + THIN_MORE;
}

bool at_copy_bound_take(struct at_copy_bound *b, uint64_t bytes, bool last)
{
    bool thin = bytes < THIN_BYTES && !last;

    if (bytes > b->bytes_left || (thin && b->thin_left == 0))
        return false;
    b->bytes_left -= bytes;
    b->thin_left -= thin;
    return true;
}
