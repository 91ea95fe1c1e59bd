/* chunk_reader.h: rows out of the chunks of a ReadRows stream, with every rule of that protocol
 * checked. PURE.
 *
 * A reader is in exactly one state:
 *   between rows  the next chunk begins a row: key, family and qualifier must be there
 *   in a row      some cells are complete; the next chunk begins a cell, commits or resets
 *   in a cell     a part of a value with its total size came; only further parts may follow
 *
 * Row keys go strictly up over the stream, strictly down when it is reversed. After an error the
 * reader must not be used again. */
#ifndef ATOLL_CLI_CBT_CHUNK_READER_H
#define ATOLL_CLI_CBT_CHUNK_READER_H

#include "base/arena.h"
#include "base/buf.h"
#include "google/bigtable/v2/bigtable.pb-c.h"

/* at_row_cell: one cell of a row; lives as long as the row. */
struct at_row_cell {
    struct at_slice family;
    struct at_slice qualifier;
    struct at_slice value;
    int64_t timestamp_micros;
};

/* at_client_row: a complete row, in the order in which the cells came. Lives during on_row. */
struct at_client_row {
    struct at_slice key;
    struct at_row_cell *cells;
    size_t cell_count;
};

struct at_chunk_reader {
    void (*on_row)(void *ctx, const struct at_client_row *row);
    void *ctx;
    bool reversed;
    struct at_buf last_key; /* of the last committed or scanned row; data NULL: none yet */
    bool has_last_key;

    bool in_row;
    bool in_cell;
    struct at_arena arena; /* of the row */
    struct at_client_row row;
    size_t cell_cap;
    struct at_row_cell cell; /* the newest one: its family and qualifier are inherited */
    struct at_buf value;     /* parts that came of it */
    size_t value_bytes;      /* in_cell: its total size */
    size_t row_bytes;
};

void at_chunk_reader_init(struct at_chunk_reader *r,
                          bool reversed,
                          void (*on_row)(void *ctx, const struct at_client_row *row),
                          void *ctx);
void at_chunk_reader_deinit(struct at_chunk_reader *r);

/* at_chunk_reader_take reads one response message and calls on_row for each row that it commits.
 * INTERNAL for a breach of the protocol, RESOURCE_EXHAUSTED for a row beyond
 * AT_ROW_READ_BYTES_MAX. */
AT_MUST_USE enum at_code
at_chunk_reader_take(struct at_chunk_reader *r,
                     const Google__Bigtable__V2__ReadRowsResponse *response,
                     struct at_error *reterr);

/* at_chunk_reader_end checks that the stream may end here. INTERNAL in the middle of a row. */
AT_MUST_USE enum at_code at_chunk_reader_end(const struct at_chunk_reader *r,
                                             struct at_error *reterr);

/* at_chunk_reader_restart drops an unfinished row: the call broke off and is made again for the
 * rows behind last_key. */
void at_chunk_reader_restart(struct at_chunk_reader *r);

#endif
