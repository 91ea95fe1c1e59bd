/* error.c: the error body. */
#include "routing/rest/error.h"

#include "google/rpc/status.pb-c.h"
#include "routing/rest/pool.h"
#include "wire/json/encode.h"
#include "wire/proto_alloc.h"

static enum at_code
write_details(struct at_slice status, struct at_arena *arena, struct at_buf *out);

uint32_t at_rest_http_status(enum at_code code)
{
    switch (code) {
    case AT_OK:
        return 200;
    case AT_INVALID_ARGUMENT:
    case AT_FAILED_PRECONDITION:
    case AT_OUT_OF_RANGE:
        return 400;
    case AT_UNAUTHENTICATED:
        return 401;
    case AT_PERMISSION_DENIED:
        return 403;
    case AT_NOT_FOUND:
        return 404;
    case AT_ALREADY_EXISTS:
    case AT_ABORTED:
        return 409;
    case AT_RESOURCE_EXHAUSTED:
        return 429;
    case AT_CANCELLED:
        return 499;
    case AT_UNIMPLEMENTED:
        return 501;
    case AT_UNAVAILABLE:
        return 503;
    case AT_DEADLINE_EXCEEDED:
        return 504;
    case AT_UNKNOWN:
    case AT_INTERNAL:
    case AT_DATA_LOSS:
    case AT_CODE_COUNT:
        break;
    }
    return 500;
}

enum at_code at_rest_error_write(enum at_code code,
                                 struct at_slice message,
                                 struct at_slice status,
                                 struct at_arena *arena,
                                 struct at_buf *out)
{
    AT_TRY(at_buf_printf(out, "{\"error\":{\"code\":%u,\"message\":", at_rest_http_status(code)));
    AT_TRY(at_json_encode_text(out, message));
    AT_TRY(at_buf_printf(out, ",\"status\":\"%s\"", at_code_name(code)));
    if (status.len > 0)
        AT_TRY(write_details(status, arena, out));
    return at_buf_append(out, AT_LIT("}}\n"));
}

static enum at_code
write_details(struct at_slice status, struct at_arena *arena, struct at_buf *out)
{
    const Google__Rpc__Status *s = at_proto_unpack(arena, &google__rpc__status__descriptor, status);
    bool first = true;
    for (size_t i = 0; s && i < s->n_details; i++) {
        size_t begin = out->len;
        AT_TRY(at_buf_append(out, first ? AT_LIT(",\"details\":[") : AT_LIT(",")));
        if (at_json_encode(at_rest_pool(), &s->details[i]->base, arena, out) == AT_OK)
            first = false;
        else
            out->len = begin;
    }
    return first ? AT_OK : at_buf_append(out, AT_LIT("]"));
}
