/* grpc_frame.c: the body buffer grows with the bytes that really came, never with the length that
 * was announced, so a lying prefix costs its sender the bytes first. */
#include "wire/grpc_frame.h"

#include "base/assert.h"
#include "base/bytes.h"

#define SURE_BYTES ((size_t)64 * 1024) /* reserved at once on the prefix's word */

void at_grpc_frame_init(struct at_grpc_frame *f, size_t max_bytes, bool keep)
{
    AT_ASSERT(max_bytes < UINT32_MAX);
    memset(f, 0, sizeof(*f));
    f->keep = keep;
    at_buf_init(&f->body, max_bytes);
}

void at_grpc_frame_deinit(struct at_grpc_frame *f)
{
    at_buf_deinit(&f->body);
}

void at_grpc_frame_reset(struct at_grpc_frame *f, size_t keep_bytes)
{
    size_t max = f->body.max;
    f->prefix_len = 0;
    f->need_bytes = 0;
    if (f->body.cap > keep_bytes) {
        at_buf_deinit(&f->body);
        at_buf_init(&f->body, max);
    }
    at_buf_clear(&f->body);
}

/* Takes prefix bytes; AT_OK and prefix_len == 5 once all are there and good. */
static enum at_code take_prefix(struct at_grpc_frame *f, struct at_slice *rest)
{
    size_t want = (size_t)AT_GRPC_PREFIX_BYTES - f->prefix_len;
    size_t n = rest->len < want ? rest->len : want;
    memcpy(f->prefix + f->prefix_len, rest->data, n);
    f->prefix_len = (uint8_t)(f->prefix_len + n);
    *rest = at_slice_from(*rest, n);
    if (f->prefix_len < AT_GRPC_PREFIX_BYTES)
        return AT_OK;
    if (f->prefix[0] == 1)
        return AT_UNIMPLEMENTED;
    if (f->prefix[0] != 0)
        return AT_INTERNAL;
    f->need_bytes = at_get_be32(f->prefix + 1);
    at_buf_clear(&f->body);
    return f->need_bytes > f->body.max ? AT_RESOURCE_EXHAUSTED : AT_OK;
}

enum at_code at_grpc_frame_next(struct at_grpc_frame *f,
                                struct at_slice *rest,
                                struct at_slice *ret_message,
                                bool *ret_done)
{
    *ret_done = false;
    if (f->prefix_len < AT_GRPC_PREFIX_BYTES && rest->len > 0)
        AT_TRY(take_prefix(f, rest));
    if (f->prefix_len < AT_GRPC_PREFIX_BYTES)
        return AT_OK;
    size_t missing = f->need_bytes - f->body.len;
    size_t n = rest->len < missing ? rest->len : missing;
    struct at_slice part = at_slice_make(rest->data, n);
    bool in_place = !f->keep && f->body.len == 0 && n == f->need_bytes;
    if (!in_place && n > 0) {
        if (f->body.len == 0 && missing <= SURE_BYTES)
            AT_TRY(at_buf_reserve(&f->body, missing));
        AT_TRY(at_buf_append(&f->body, part));
    }
    if (n > 0)
        *rest = at_slice_from(*rest, n);
    if (n < missing)
        return AT_OK;
    *ret_message = in_place ? part : at_buf_slice(&f->body);
    *ret_done = true;
    f->prefix_len = 0;
    return AT_OK;
}

void at_grpc_frame_prefix(uint8_t out[AT_GRPC_PREFIX_BYTES], size_t len)
{
    AT_ASSERT(len <= UINT32_MAX);
    out[0] = 0;
    at_put_be32(out + 1, (uint32_t)len);
}
