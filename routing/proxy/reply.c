/* reply.c: metadata of answers. */
#include "routing/proxy/reply.h"

#include "base/clock.h"

#define NAME_BYTES_MAX 63

static void add_timing(struct at_grpc_call *call);

/* Only Google's own names go through: the rest belongs to the connection to the cluster. */
static bool passes(struct at_slice name)
{
    return at_slice_has_prefix(name, AT_LIT("x-goog-")) && name.len <= NAME_BYTES_MAX;
}

static const char *name_text(struct at_slice name, char text[NAME_BYTES_MAX + 1])
{
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    return text;
}

void at_reply_headers(struct at_grpc_call *call,
                      const struct at_grpc_metadata *metadata,
                      size_t count)
{
    char text[NAME_BYTES_MAX + 1];
    add_timing(call);
    for (size_t i = 0; i < count; i++)
        if (passes(metadata[i].name))
            at_grpc_call_header(call, name_text(metadata[i].name, text), metadata[i].value);
}

/* A cluster that went away must not look like a fault of the request. */
static enum at_code code_for_client(const struct at_grpc_result *result)
{
    bool broken =
        result->code == AT_INTERNAL || result->code == AT_UNKNOWN || result->code == AT_CANCELLED;
    return broken && !result->from_peer ? AT_UNAVAILABLE : result->code;
}

void at_reply_result(struct at_grpc_call *call, const struct at_grpc_result *result)
{
    char text[NAME_BYTES_MAX + 1];
    for (size_t i = 0; i < result->trailer_count; i++)
        if (passes(result->trailers[i].name))
            at_grpc_call_trailer(call, name_text(result->trailers[i].name, text),
                                 result->trailers[i].value);
    at_grpc_call_finish(call, code_for_client(result), result->message, result->details);
}

void at_reply_error(struct at_grpc_call *call, const struct at_error *error)
{
    add_timing(call);
    at_grpc_call_fail(call, error);
}

size_t at_reply_decimal(uint64_t v, char ret_text[AT_REPLY_DECIMAL_BYTES])
{
    char reversed[AT_REPLY_DECIMAL_BYTES];
    size_t len = 0;
    do {
        reversed[len++] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    for (size_t i = 0; i < len; i++)
        ret_text[i] = reversed[len - 1 - i];
    return len;
}

static void add_timing(struct at_grpc_call *call)
{
    static const struct at_slice HEAD = AT_LIT_INIT("gfet4t7; dur=");
    char text[sizeof("gfet4t7; dur=") + AT_REPLY_DECIMAL_BYTES];
    const struct at_clock *clock = at_loop_clock(at_grpc_call_loop(call));
    uint64_t took_ns = at_clock_mono_ns(clock) - at_grpc_call_start_ns(call);
    memcpy(text, HEAD.data, HEAD.len);
    size_t digits = at_reply_decimal(took_ns / AT_MS_NS, text + HEAD.len);
    at_grpc_call_header(call, "server-timing", at_slice_make(text, HEAD.len + digits));
}
