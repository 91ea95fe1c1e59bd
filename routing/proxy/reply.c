/* reply.c: metadata of answers. */
#include "routing/proxy/reply.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

static void add_timing(struct at_grpc_call *call);

/* Only Google's own names go through: the rest belongs to the connection to the cluster. */
static bool passes(struct at_slice name)
{
    return at_slice_has_prefix(name, AT_LIT("x-goog-"));
}

static const char *name_text(struct at_slice name, char text[64])
{
    (void)snprintf(text, 64, "%.*s", AT_SLICE_ARG(name));
    return text;
}

void at_reply_headers(struct at_grpc_call *call,
                      const struct at_grpc_metadata *metadata,
                      size_t count)
{
    char text[64];
    add_timing(call);
    for (size_t i = 0; i < count; i++)
        if (passes(metadata[i].name))
            at_grpc_call_header(call, name_text(metadata[i].name, text), metadata[i].value);
}

void at_reply_result(struct at_grpc_call *call,
                     const struct at_grpc_result *result,
                     bool have_headers)
{
    char text[64];
    if (!have_headers)
        add_timing(call);
    for (size_t i = 0; i < result->trailer_count; i++)
        if (passes(result->trailers[i].name))
            at_grpc_call_trailer(call, name_text(result->trailers[i].name, text),
                                 result->trailers[i].value);
    at_grpc_call_finish(call, result->code, result->message, result->details);
}

void at_reply_error(struct at_grpc_call *call, const struct at_error *error)
{
    add_timing(call);
    at_grpc_call_fail(call, error);
}

static void add_timing(struct at_grpc_call *call)
{
    char text[48];
    const struct at_clock *clock = at_loop_clock(at_grpc_call_loop(call));
    uint64_t took_ns = at_clock_mono_ns(clock) - at_grpc_call_start_ns(call);
    int n = snprintf(text, sizeof(text), "gfet4t7; dur=%" PRIu64, took_ns / AT_MS_NS);
    at_grpc_call_header(call, "server-timing", at_slice_make(text, (size_t)n));
}
