/* key.h: the keys of stored cells and delete markers. PURE.
 *
 *   cell            table(4) family(4) esc(row) 00 02 esc(qualifier) 00 02 ~timestamp(8) ~stamp(12)
 *   partial         table(4) family(4) esc(row) 00 02 esc(qualifier) 00 03 ~timestamp(8) ~stamp(12)
 *   column marker   table(4) family(4) esc(row) 00 02 esc(qualifier) 00 01 ~stamp(12)
 *                   its value: start(8) end(8)
 *   family marker   table(4) family(4) esc(row) 00 01 ~stamp(12)
 *   row marker      table(4) 00000000  esc(row) 00 01 ~stamp(12)   family-less: it also hides
 *                   families that are not known yet
 *
 * A stamp is hlc(8) origin(4). A partial is what an add or a merge left in a column of an aggregate
 * family; a cell is what a set left. Which of the two counts is decided by the family's type when
 * it is read: the other kind is kept and hidden, as clusters may learn the type after the data.
 *
 * Integers are big-endian, ~ is the complement, so newer sorts first; esc writes a byte 00 as 00
 * FF. The two bytes behind esc(...) end it below every continuation and carry the kind, so byte
 * order of keys is: rows in unsigned byte order; in a row the markers before what they cover;
 * columns in byte order; cells before partials; newest timestamp first; highest stamp first. Rows
 * and tables that are prefixes of each other never mix.
 *
 * Table and family ids are local to a cluster; 0 is no family. */
#ifndef ATOLL_CLUSTER_MODEL_KEY_H
#define ATOLL_CLUSTER_MODEL_KEY_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/stamp.h"

#define AT_KEY_PREFIX_BYTES 8
#define AT_KEY_STAMP_BYTES 12
/* Longest key: every byte of row and qualifier escaped. */
#define AT_KEY_BYTES_MAX                                                                       \
    (AT_KEY_PREFIX_BYTES + 2 * AT_ROW_KEY_BYTES_MAX + 2 + 2 * AT_QUALIFIER_BYTES_MAX + 2 + 8 + \
     AT_KEY_STAMP_BYTES)

enum at_key_kind {
    AT_KEY_ROW_MARKER,
    AT_KEY_FAMILY_MARKER,
    AT_KEY_COLUMN_MARKER,
    AT_KEY_CELL,
    AT_KEY_PARTIAL,
};

struct at_key {
    enum at_key_kind kind;
    uint32_t table;
    uint32_t family;
    struct at_slice row;       /* unescaped */
    struct at_slice qualifier; /* unescaped; CELL, PARTIAL and COLUMN_MARKER */
    int64_t timestamp_micros;  /* CELL and PARTIAL */
    struct at_stamp stamp;
};

/* at_key_encode appends the key. RESOURCE_EXHAUSTED from the buffer. */
AT_MUST_USE enum at_code at_key_encode(const struct at_key *key, struct at_buf *out);

/* Encoding in parts, for a writer that puts many cells of one row: prefix and row once, then per
 * column, then per cell. Each appends. */
AT_MUST_USE enum at_code at_key_put_row(struct at_buf *out,
                                        uint32_t table,
                                        uint32_t family,
                                        struct at_slice row); /* no terminator yet */
AT_MUST_USE enum at_code at_key_put_marker_end(struct at_buf *out, struct at_stamp stamp);
AT_MUST_USE enum at_code at_key_put_qualifier(struct at_buf *out, struct at_slice qualifier);
AT_MUST_USE enum at_code
at_key_put_cell_end(struct at_buf *out, int64_t timestamp_micros, struct at_stamp stamp);
AT_MUST_USE enum at_code
at_key_put_partial_end(struct at_buf *out, int64_t timestamp_micros, struct at_stamp stamp);

/* at_key_decode reads a stored key. Row and qualifier borrow `stored` unless they hold escapes;
 * then they are unescaped into `scratch` (cleared by each call). DATA_LOSS when it is not a key. */
AT_MUST_USE enum at_code
at_key_decode(struct at_slice stored, struct at_buf *scratch, struct at_key *ret_key);

/* at_key_row_end returns how many leading bytes of `stored` are prefix and escaped row (without the
 * terminator): two keys are of the same row of a family exactly when these bytes are equal. 0 when
 * malformed. */
size_t at_key_row_end(struct at_slice stored);

/* at_key_row_group returns how many leading bytes of a stored key or of a seek target in a row tell
 * table, family and row apart from all others: one more than at_key_row_end. It is the same for
 * what it cuts off itself. 0 for anything else, as the start of a family. */
size_t at_key_row_group(struct at_slice key);

/* Seek targets, appended to `out`.
 * at_key_seek_row: the first possible key of `row` in (table, family); an empty row gives the start
 * of the family.
 * at_key_seek_row_after: the first possible key behind all of `row`'s.
 * at_key_seek_family_end: the first key behind the family.
 * at_key_seek_column_after: the first possible key behind all of the column's. */
AT_MUST_USE enum at_code
at_key_seek_row(struct at_buf *out, uint32_t table, uint32_t family, struct at_slice row);
AT_MUST_USE enum at_code
at_key_seek_row_after(struct at_buf *out, uint32_t table, uint32_t family, struct at_slice row);
AT_MUST_USE enum at_code
at_key_seek_family_end(struct at_buf *out, uint32_t table, uint32_t family);
AT_MUST_USE enum at_code at_key_seek_column_after(struct at_buf *out,
                                                  uint32_t table,
                                                  uint32_t family,
                                                  struct at_slice row,
                                                  struct at_slice qualifier);

#endif
