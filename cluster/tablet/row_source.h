/* row_source.h: one family's iterator, seen as rows. ADAPTER (engine).
 *
 * A row cursor merges one of these per family, and one for the family-less row markers. All slices
 * live until the source moves. One thread at a time. */
#ifndef ATOLL_CLUSTER_TABLET_ROW_SOURCE_H
#define ATOLL_CLUSTER_TABLET_ROW_SOURCE_H

#include "cluster/engine/engine.h"
#include "cluster/model/catalog.h"
#include "cluster/model/key.h"
#include "cluster/model/visible.h"

/* Invariant: key and row are those of the iterator's place when valid, and empty when not. */
struct at_row_source {
    struct at_iter *iter;
    const struct at_family *family; /* NULL: row markers */
    uint32_t table_id;
    uint32_t family_id;    /* 0: row markers */
    struct at_floor floor; /* of the family */
    bool valid;
    bool in_row;            /* for the cursor: it has keys of the current row */
    struct at_slice key;    /* as stored */
    struct at_slice row;    /* escaped, without terminator: compares like the row itself */
    uint64_t *passed_bytes; /* a counter of the owner: rises by keys and values moved over, and by a
                               price per seek */
};

/* at_row_source_open gives `s` an iterator over the rest of its family under `snapshot`, standing
 * at the first key at or behind the start of `row` (empty: the family's first). The owner closes
 * it. */
AT_MUST_USE enum at_code at_row_source_open(struct at_row_source *s,
                                            struct at_engine *engine,
                                            const struct at_snapshot *snapshot,
                                            struct at_slice row,
                                            struct at_error *reterr);

/* Moves return DATA_LOSS for what is not a key, else what the iterator says. */
AT_MUST_USE enum at_code at_row_source_next(struct at_row_source *s, struct at_error *reterr);
AT_MUST_USE enum at_code
at_row_source_seek(struct at_row_source *s, struct at_slice key, struct at_error *reterr);
AT_MUST_USE enum at_code
at_row_source_seek_back(struct at_row_source *s, struct at_slice key, struct at_error *reterr);
AT_MUST_USE enum at_code at_row_source_seek_last(struct at_row_source *s, struct at_error *reterr);

/* at_row_source_decode reads the current key; slices as with at_key_decode. */
AT_MUST_USE enum at_code at_row_source_decode(const struct at_row_source *s,
                                              struct at_buf *scratch,
                                              struct at_key *ret_key,
                                              struct at_error *reterr);

/* at_row_source_at tells whether the source stands on a key of this (escaped) row. */
static inline bool at_row_source_at(const struct at_row_source *s, struct at_slice row)
{
    return s->valid && at_slice_eq(s->row, row);
}

/* at_row_source_pass_row moves behind all keys of the escaped row on which the source stands: by
 * a few steps, and by a seek when those do not do. */
AT_MUST_USE enum at_code at_row_source_pass_row(struct at_row_source *s,
                                                struct at_slice escaped,
                                                struct at_buf *scratch,
                                                struct at_error *reterr);

/* at_row_source_reach moves forwards to the first key at or behind the start of the row. */
AT_MUST_USE enum at_code at_row_source_reach(struct at_row_source *s,
                                             struct at_slice row,
                                             struct at_buf *scratch,
                                             struct at_error *reterr);

#endif
