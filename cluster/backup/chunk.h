/* chunk.h: the bytes of a backup's file. PURE.
 *
 *   file    "ATOLLBK1"  head  cells*  end
 *   chunk   length(4) crc32c(4) payload      length and crc of the payload, big-endian
 *   head    [1, source table, granularity, [family, fields, ...]]
 *   cells   [2, [row, family, qualifier, timestamp, value] ...]    family: its place in the head
 *   end     [3, rows, cells]                 a file without it is not whole
 *
 * Payloads are msgpack, without the outer array's frame for cells: items follow each other to the
 * end of the chunk. An item without a row (nil) is of the row of the item before; a chunk begins
 * with one that has it. Cells come in the order of reads: ascending rows. What is kept of an
 * aggregate cell is its state. Decoding is bounded and borrows. */
#ifndef ATOLL_CLUSTER_BACKUP_CHUNK_H
#define ATOLL_CLUSTER_BACKUP_CHUNK_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/pack.h"

#define AT_BACKUP_MAGIC "ATOLLBK1"
#define AT_BACKUP_MAGIC_BYTES 8
#define AT_BACKUP_CHUNK_HEAD_BYTES 8
/* A chunk is closed when it passes this; one cell is always taken whole. */
#define AT_BACKUP_CHUNK_BYTES AT_MIB
#define AT_BACKUP_PAYLOAD_BYTES_MAX (AT_VALUE_BYTES_MAX + 4 * AT_MIB)

enum at_backup_chunk { AT_BACKUP_HEAD = 1, AT_BACKUP_CELLS = 2, AT_BACKUP_END = 3 };

struct at_backup_family {
    struct at_slice name;
    struct at_slice fields; /* a serialized ColumnFamily */
};
struct at_backup_head {
    struct at_slice source_table; /* full name */
    int64_t granularity_micros;   /* 1000 or 1 */
    struct at_backup_family *families;
    uint32_t family_count;
};
struct at_backup_end {
    uint64_t rows;
    uint64_t cells;
};
struct at_backup_item {
    struct at_slice row; /* empty: as before */
    uint32_t family;
    struct at_slice qualifier;
    int64_t timestamp_micros;
    struct at_slice value;
};

/* Payloads. The encoders append, kind first; RESOURCE_EXHAUSTED from the buffer, then unchanged or
 * to be thrown away. */
AT_MUST_USE enum at_code at_backup_head_encode(const struct at_backup_head *head,
                                               struct at_buf *out);
AT_MUST_USE enum at_code at_backup_end_encode(const struct at_backup_end *end, struct at_buf *out);
AT_MUST_USE enum at_code at_backup_cells_begin(struct at_buf *out);
AT_MUST_USE enum at_code at_backup_item_encode(const struct at_backup_item *item,
                                               struct at_buf *out);

/* at_backup_payload_kind takes the kind off the front; `ret_rest` reads what follows. DATA_LOSS for
 * an unknown one. The decoders: DATA_LOSS when malformed or beyond a limit of the API. */
AT_MUST_USE enum at_code at_backup_payload_kind(struct at_slice payload,
                                                enum at_backup_chunk *ret_kind,
                                                struct at_unpack *ret_rest);
AT_MUST_USE enum at_code at_backup_head_decode(struct at_unpack *in,
                                               struct at_arena *arena,
                                               struct at_backup_head *ret_head);
AT_MUST_USE enum at_code at_backup_end_decode(struct at_unpack *in, struct at_backup_end *ret_end);
/* At the end of the chunk (at_unpack_done) there is no item. `family_count`: of the head. */
AT_MUST_USE enum at_code
at_backup_item_decode(struct at_unpack *in, uint32_t family_count, struct at_backup_item *ret_item);

/* at_backup_chunk_head writes the frame of a payload. */
void at_backup_chunk_head(struct at_slice payload, uint8_t ret_head[AT_BACKUP_CHUNK_HEAD_BYTES]);
/* at_backup_chunk_size: the length that a frame tells; DATA_LOSS when it is beyond
 * AT_BACKUP_PAYLOAD_BYTES_MAX. */
AT_MUST_USE enum at_code at_backup_chunk_size(const uint8_t head[AT_BACKUP_CHUNK_HEAD_BYTES],
                                              size_t *ret_size);
/* at_backup_chunk_check: is this the payload that the frame was made for? */
bool at_backup_chunk_check(const uint8_t head[AT_BACKUP_CHUNK_HEAD_BYTES], struct at_slice payload);

#endif
