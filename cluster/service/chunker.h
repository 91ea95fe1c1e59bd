/* chunker.h: cells become the messages of a ReadRows answer, written straight into an output
 * buffer. PURE (but for the port).
 *
 * A chunk leaves out row key, family and qualifier that equal those of the chunk before it; a new
 * family is always sent with its qualifier. A value beyond AT_CHUNK_VALUE_BYTES_MAX is cut into
 * parts. The last chunk of a row carries commit_row, so a message whose newest chunk may still have
 * to say so stays open until the row ends or another cell comes. Messages are closed once they hold
 * AT_CHUNKER_MESSAGE_BYTES; none exceeds about twice AT_CHUNK_VALUE_BYTES_MAX.
 *
 * States:  BETWEEN --row--> ROW (no chunk yet) --cell--> CELLS --row_end--> BETWEEN */
#ifndef ATOLL_CLUSTER_SERVICE_CHUNKER_H
#define ATOLL_CLUSTER_SERVICE_CHUNKER_H

#include "base/buf.h"
#include "base/limits.h"
#include "cluster/model/cell.h"

#define AT_CHUNK_VALUE_BYTES_MAX AT_MIB
#define AT_CHUNKER_MESSAGE_BYTES (128 * AT_KIB)

/* Where messages go: `begin` gives the buffer to append one to, `commit` ends it. */
struct at_chunker_port {
    void *ctx;
    struct at_buf *(*begin)(void *ctx);
    void (*commit)(void *ctx);
};

/* A copy of a few bytes, that allocates only for long ones. */
struct at_kept_bytes {
    uint8_t small[128];
    struct at_buf large;
    size_t len;
};

enum at_chunker_state { AT_CHUNKER_BETWEEN, AT_CHUNKER_ROW, AT_CHUNKER_CELLS };

struct at_chunker {
    struct at_chunker_port port;
    enum at_chunker_state state;
    struct at_buf *out;   /* the open message, NULL: none */
    size_t message_start; /* offsets in `out` */
    size_t chunk_len_at;  /* where the newest chunk's length stands */
    size_t chunk_at;      /* where its bytes begin */
    struct at_kept_bytes row;
    struct at_kept_bytes family;
    struct at_kept_bytes qualifier;
    uint64_t row_count; /* ended ones */
    enum at_code code;  /* of the first thing that failed; then nothing more is written */
};

void at_chunker_init(struct at_chunker *c, struct at_chunker_port port);
void at_chunker_deinit(struct at_chunker *c);

/* at_chunker_row starts a row, at_chunker_cell adds a cell to it, at_chunker_row_end commits it. A
 * row without cells leaves no trace. Slices live during the call. */
void at_chunker_row(struct at_chunker *c, struct at_slice row);
void at_chunker_cell(struct at_chunker *c, const struct at_cell *cell);
void at_chunker_row_end(struct at_chunker *c);

/* at_chunker_flush closes the open message, unless a row is under way. */
void at_chunker_flush(struct at_chunker *c);

/* at_chunker_end closes it in any case: before the stream ends. */
void at_chunker_end(struct at_chunker *c);

/* at_chunker_last_scanned sends last_scanned_row_key. Only between rows. */
void at_chunker_last_scanned(struct at_chunker *c, struct at_slice row);

/* at_chunker_code: AT_OK, or RESOURCE_EXHAUSTED when the output buffer was full. */
static inline enum at_code at_chunker_code(const struct at_chunker *c)
{
    return c->code;
}

#endif
