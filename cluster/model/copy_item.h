/* copy_item.h: what the chunks of a copy are made of. PURE.
 *
 * A copy of a store has parts. Part 0 is a sequence of msgpack arrays that begin with their kind:
 *     [1, [record]]                                    a catalog record, see catalog.h
 *     [2, table, table_generation, prefix, hlc, origin]       a dropped row range
 *     [3, span, id]                                    an idempotency token, 16 bytes
 *     [4, table, table_generation, family, family_generation, bytes, start, end]
 *                                                      what the next part is: parts 1, 2, ... in
 *                                                      the order in which they are told
 * A part is the stored keys of the rows [start, end) (empty: unbounded) of one family, or, family
 * "" and generation 0, of a table's row markers. `bytes` is an estimate.
 *
 * Any other part is a sequence of stored keys and their values, two msgpack bins each, in the order
 * of the keys. A key goes without its first AT_KEY_PREFIX_BYTES: the ids in it are the donor's own.
 *
 * Decoding borrows its input and is bounded by the limits of the API. */
#ifndef ATOLL_CLUSTER_MODEL_COPY_ITEM_H
#define ATOLL_CLUSTER_MODEL_COPY_ITEM_H

#include "base/hash.h"
#include "cluster/model/catalog.h"
#include "cluster/model/key.h"

enum at_copy_item_kind {
    AT_COPY_CATALOG = 1,
    AT_COPY_DROP = 2,
    AT_COPY_TOKEN = 3,
    AT_COPY_PART = 4,
};

struct at_copy_drop {
    struct at_slice table;
    uint64_t table_generation;
    struct at_slice prefix;
    struct at_stamp stamp;
};

struct at_copy_token {
    uint64_t span; /* see tokens.h */
    struct at_hash128 id;
};

struct at_copy_part {
    struct at_slice table;
    uint64_t table_generation;
    struct at_slice family; /* empty: the table's row markers */
    uint64_t family_generation;
    uint64_t bytes;
    struct at_slice start; /* rows */
    struct at_slice end;
};

struct at_copy_item {
    enum at_copy_item_kind kind;
    union {
        struct at_catalog_record record;
        struct at_copy_drop drop;
        struct at_copy_token token;
        struct at_copy_part part;
    } u;
};

/* Encode appends: RESOURCE_EXHAUSTED from the buffer, which is then unchanged. Decode takes the
 * next item: INVALID_ARGUMENT when malformed. */
AT_MUST_USE enum at_code at_copy_item_encode(const struct at_copy_item *item, struct at_buf *out);
AT_MUST_USE enum at_code at_copy_item_decode(struct at_unpack *in, struct at_copy_item *ret_item);

/* A stored key and its value. */
struct at_copy_cell {
    struct at_slice key; /* without the prefix */
    struct at_slice value;
};
/* at_copy_cell_size_max: what at_copy_cell_encode appends at most. */
size_t at_copy_cell_size_max(const struct at_copy_cell *cell);
AT_MUST_USE enum at_code at_copy_cell_encode(const struct at_copy_cell *cell, struct at_buf *out);
AT_MUST_USE enum at_code at_copy_cell_decode(struct at_unpack *in, struct at_copy_cell *ret_cell);

/* at_copy_cell_check: `stored` is a whole key (decoded into *ret_key, see at_key_decode) of the
 * kinds that a part of row markers, or of a family, may hold, with a value that can be read back.
 * INVALID_ARGUMENT when not. */
AT_MUST_USE enum at_code at_copy_cell_check(struct at_slice stored,
                                            struct at_slice value,
                                            struct at_buf *scratch,
                                            struct at_key *ret_key);

#endif
