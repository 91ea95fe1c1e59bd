/* read.h: reading rows: one merge over a table's families under one snapshot. ADAPTER (engine).
 *
 * A read is resumable: each step does a bounded piece of work, so that a loop thread can serve
 * many. No torn row is ever seen: all families are read under one snapshot, which is renewed only
 * between rows, after some seconds. Memory does not grow with table or row (except by what the
 * filter must hold). One thread at a time. */
#ifndef ATOLL_CLUSTER_TABLET_READ_H
#define ATOLL_CLUSTER_TABLET_READ_H

#include "cluster/engine/engine.h"
#include "cluster/model/filter.h"
#include "cluster/model/row_set.h"
#include "cluster/tablet/schema.h"

struct at_store;
struct at_read;

struct at_read_spec {
    struct at_slice table;          /* table id */
    struct at_slice full_name;      /* for messages, borrowed; empty: the id */
    const struct at_row_set *rows;  /* finished; borrowed for the read's life */
    const struct at_filter *filter; /* NULL: everything; borrowed */
    uint64_t rows_limit;            /* rows with output; 0: no limit */
    int64_t gc_micros;              /* leave out what rules condemn at this time; 0: only if the
                                       store is strict, and then as of now */
    bool reversed;
    bool large_rows; /* rows beyond AT_ROW_READ_BYTES_MAX too: for what does not answer a client */
    uint64_t seed;   /* for row samples */
};

/* Receives the output. Slices live during the call. */
struct at_read_sink {
    void *ctx;
    void (*row)(void *ctx, struct at_slice row); /* before the first cell of a row */
    void (*cell)(void *ctx, const struct at_cell *cell);
    void (*row_end)(void *ctx); /* after the last cell of a row */
};

struct at_read_stats {
    uint64_t rows_seen;
    uint64_t rows_returned;
    uint64_t cells_seen;
    uint64_t cells_returned;
};

/* at_read_open: NOT_FOUND when the table is not in the schema, with production's wording. */
AT_MUST_USE enum at_code at_read_open(struct at_store *store,
                                      const struct at_read_spec *spec,
                                      struct at_read **ret_read,
                                      struct at_error *reterr);
void at_read_close(struct at_read **read);

/* at_read_step goes on until about `bytes_max` of output were given to the sink or as much was
 * passed over, possibly in the middle of a row, and sets *ret_done at the end. FAILED_PRECONDITION
 * for a row beyond AT_ROW_READ_BYTES_MAX (see at_read_large_row), UNAVAILABLE or DATA_LOSS from the
 * disk. */
AT_MUST_USE enum at_code at_read_step(struct at_read *read,
                                      const struct at_read_sink *sink,
                                      size_t bytes_max,
                                      bool *ret_done,
                                      struct at_error *reterr);

/* at_read_large_row: the row that was too large, when that is what ended the read; else empty. */
struct at_slice at_read_large_row(const struct at_read *read);

/* at_read_last_scanned: the last row the read is completely done with (with or without output);
 * empty before the first. Lives until the next step. */
struct at_slice at_read_last_scanned(const struct at_read *read);
const struct at_read_stats *at_read_stats(const struct at_read *read);

/* --- small reads built on it --- */

/* at_read_row gives one row's cells to the sink in one go (for read-modify-write, on the writer
 * thread, between commits). */
AT_MUST_USE enum at_code at_read_row(struct at_store *store,
                                     struct at_slice table,
                                     struct at_slice row,
                                     const struct at_filter *filter,
                                     const struct at_read_sink *sink,
                                     struct at_error *reterr);

/* A point where a table may be cut: the end of a stretch of rows and the bytes up to it. */
struct at_sample {
    struct at_slice row; /* empty: the end of the table */
    uint64_t offset_bytes;
};
/* at_read_samples fills split keys of the table and boundaries from real sizes (about one per
 * 64 MiB), ascending by row with non-decreasing offsets; the last is the end marker. Arena-owned.
 */
AT_MUST_USE enum at_code at_read_samples(struct at_store *store,
                                         struct at_slice table,
                                         struct at_arena *arena,
                                         struct at_sample **ret_samples,
                                         uint32_t *ret_count,
                                         struct at_error *reterr);

/* A digest over the visible rows of a table: equal on two clusters exactly when tables, families,
 * rows and cells are (up to collisions of 128 bits). Independent of local ids, stamps and storage.
 * What rules condemn at now_micros is left out, so that it does not matter which cluster has
 * collected it already; ask all with the same now. Bounded steps like at_read_step; `table` empty
 * means all tables in name order. */
struct at_digest {
    uint64_t rows;
    uint64_t cells;
    uint8_t bytes[16];
};
struct at_digest_run;
AT_MUST_USE enum at_code at_digest_open(struct at_store *store,
                                        struct at_slice table,
                                        int64_t now_micros,
                                        struct at_digest_run **ret_run,
                                        struct at_error *reterr);
AT_MUST_USE enum at_code at_digest_step(struct at_digest_run *run,
                                        size_t bytes_max,
                                        bool *ret_done,
                                        struct at_digest *ret_digest,
                                        struct at_error *reterr);
void at_digest_close(struct at_digest_run **run);

#endif
