/* buf.h: an owned, growable run of bytes with a maximum. PURE.
 *
 * Every buffer names its limit at init; going past it is RESOURCE_EXHAUSTED,
 * never a larger buffer. Appending may move the bytes: slices of a buffer live
 * until the next call that takes it as non-const.
 *
 * Invariant: len <= cap <= max. A buffer that was zeroed and never initialised
 * has max 0 and refuses all bytes; at_buf_deinit on it is legal. */
#ifndef ATOLL_BASE_BUF_H
#define ATOLL_BASE_BUF_H

#include "base/slice.h"
#include "base/status.h"

struct at_buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    size_t max;
};

void at_buf_init(struct at_buf *b, size_t max_bytes);
void at_buf_deinit(struct at_buf *b);

/* at_buf_clear empties; the memory is kept. */
static inline void at_buf_clear(struct at_buf *b)
{
    b->len = 0;
}

/* at_buf_grow is the slow half of at_buf_reserve: `extra` bytes do not fit into cap. */
AT_MUST_USE enum at_code at_buf_grow(struct at_buf *b, size_t extra);

/* at_buf_reserve makes room for `extra` bytes more. RESOURCE_EXHAUSTED beyond max. */
AT_MUST_USE static inline enum at_code at_buf_reserve(struct at_buf *b, size_t extra)
{
    return extra <= b->cap - b->len ? AT_OK : at_buf_grow(b, extra);
}

/* at_buf_append copies bytes behind the end. RESOURCE_EXHAUSTED beyond max; then unchanged. */
AT_MUST_USE static inline enum at_code at_buf_append(struct at_buf *b, struct at_slice s)
{
    if (s.len > b->cap - b->len)
        AT_TRY(at_buf_grow(b, s.len));
    if (s.len > 0)
        memcpy(b->data + b->len, s.data, s.len);
    b->len += s.len;
    return AT_OK;
}

/* at_buf_printf appends formatted text without its NUL. RESOURCE_EXHAUSTED beyond max. */
AT_MUST_USE enum at_code at_buf_printf(struct at_buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* at_buf_consume drops the first `n` (<= len) bytes. */
void at_buf_consume(struct at_buf *b, size_t n);

/* at_buf_cstr NUL-terminates (not counted in len) and borrows. The buffer must be initialised. */
const char *at_buf_cstr(struct at_buf *b);

static inline struct at_slice at_buf_slice(const struct at_buf *b)
{
    return at_slice_make(b->data, b->len);
}

#endif
