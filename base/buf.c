#include "base/buf.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>

/* The memory is always one byte larger than cap: vsnprintf and at_buf_cstr write a NUL there, so
 * a buffer that is full to its maximum still prints. */

#define CAP_BYTES_MIN 63

void at_buf_init(struct at_buf *b, size_t max_bytes)
{
    *b = (struct at_buf){.max = max_bytes};
}

void at_buf_deinit(struct at_buf *b)
{
    at_free(b->data);
    *b = (struct at_buf){0};
}

enum at_code at_buf_grow(struct at_buf *b, size_t extra)
{
    AT_ASSERT(b->len <= b->cap && b->cap <= b->max);
    if (extra > b->max - b->len)
        return AT_RESOURCE_EXHAUSTED;

    size_t need = b->len + extra;
    size_t cap = b->cap > b->max / 2 ? b->max : b->cap * 2 + 1;
    if (cap < CAP_BYTES_MIN)
        cap = CAP_BYTES_MIN;
    if (cap < need)
        cap = need;
    if (cap > b->max)
        cap = b->max;
    AT_ASSERT(cap < SIZE_MAX);
    b->data = at_realloc(b->data, cap + 1);
    b->cap = cap;
    return AT_OK;
}

enum at_code at_buf_printf(struct at_buf *b, const char *format, ...)
{
    va_list args;

    char *end = b->data ? (char *)b->data + b->len : NULL;
    size_t room = b->cap - b->len;
    va_start(args, format);
    int n = vsnprintf(end, end ? room + 1 : 0, format, args);
    va_end(args);
    AT_ASSERT(n >= 0);
    if ((size_t)n > room) {
        AT_TRY(at_buf_reserve(b, (size_t)n));
        va_start(args, format);
        n = vsnprintf((char *)b->data + b->len, (size_t)n + 1, format, args);
        va_end(args);
    }
    b->len += (size_t)n;
    return AT_OK;
}

void at_buf_consume(struct at_buf *b, size_t n)
{
    AT_ASSERT(n <= b->len);
    if (n > 0 && n < b->len)
        memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}

const char *at_buf_cstr(struct at_buf *b)
{
    if (b->data == NULL) {
        b->data = at_realloc(NULL, 1);
        AT_ASSERT(b->cap == 0);
    }
    b->data[b->len] = '\0';
    return (const char *)b->data;
}
