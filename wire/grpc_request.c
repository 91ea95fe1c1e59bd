/* grpc_request.c: memory of requests is bounded through flow control.
 *
 * Credit of the connection's window is given back at once, that of a stream's as long as the
 * connection holds less than SOFT_BYTES of request bytes. Above that only the oldest request that
 * is still incomplete gets credit, so that one always makes progress; the others stop after their
 * window (1 MiB). What passes the hard limit even so is refused.
 *
 * All connections together have a limit, too; whoever comes beyond it is told to try again. Small
 * requests still pass when large ones have used it up, so that a few clients with large ones (or
 * with large ones that never become whole) do not keep all others out. */
#include "wire/grpc_request.h"

#include "base/assert.h"
#include "wire/grpc_status.h"

#define SOFT_BYTES (AT_GRPC_BUFFERED_BYTES_MAX / 2)
#define FIELD_OVERHEAD_BYTES 32 /* as HTTP/2 counts a header list */

static void
refuse(struct at_grpc_call *call, enum at_code code, const char *message, struct at_slice extra)
{
    at_grpc_call_release_request(call);
    char *text = at_arena_printf(&call->arena, "%s%.*s", message, AT_SLICE_ARG(extra));
    at_grpc_answer(call, code, at_slice_cstr(text), at_slice_make(NULL, 0));
}

static void keep_metadata(struct at_grpc_call *call, struct at_slice name, struct at_slice value)
{
    struct at_slice kept;
    if (!at_grpc_is_bin(name))
        kept = at_arena_copy(&call->arena, value);
    else if (at_grpc_bin_decode(&call->arena, value, &kept) != AT_OK)
        return; /* what cannot be decoded is as good as absent */
    struct at_grpc_field *field = at_arena_alloc_raw(&call->arena, sizeof(*field));
    field->next = NULL;
    field->name = at_arena_copy(&call->arena, name);
    field->value = kept;
    struct at_grpc_field **tail = &call->metadata;
    while (*tail)
        tail = &(*tail)->next;
    *tail = field;
}

static void take_path(struct at_grpc_call *call, struct at_slice value)
{
    call->method = at_grpc_server_find(call->home->server, value);
    call->path = call->method ? at_slice_make(call->method->path, value.len)
                              : at_arena_copy(&call->arena, value);
    const struct at_grpc_server *server = call->home->server;
    call->stream = NULL;
    for (size_t i = 0; call->method && i < server->stream_count; i++)
        if (strcmp(server->streams[i].path, call->method->path) == 0)
            call->stream = &server->streams[i];
}

static void take_timeout(struct at_grpc_call *call, struct at_slice value)
{
    uint64_t timeout_ns;
    if (at_grpc_timeout_parse(value, &timeout_ns) != AT_OK)
        return; /* as if the client had set none */
    uint64_t now_ns = at_loop_now_ns(call->home->loop);
    call->deadline_ns = timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
}

void at_grpc_request_field(struct at_grpc_call *call, struct at_slice name, struct at_slice value)
{
    call->metadata_bytes += name.len + value.len + FIELD_OVERHEAD_BYTES;
    if (call->answered || call->metadata_bytes > AT_GRPC_METADATA_BYTES_MAX)
        return;
    if (at_slice_eq_cstr(name, ":method"))
        call->is_post = at_slice_eq_cstr(value, "POST");
    else if (at_slice_eq_cstr(name, ":path"))
        take_path(call, value);
    else if (at_slice_eq_cstr(name, ":scheme") || at_slice_eq_cstr(name, "te") ||
             at_slice_eq_cstr(name, "accept-encoding") ||
             at_slice_eq_cstr(name, "grpc-accept-encoding"))
        return;
    else if (at_slice_eq_cstr(name, "content-type"))
        call->good_type = at_grpc_is_content_type(value);
    else if (at_slice_eq_cstr(name, "grpc-encoding"))
        call->bad_encoding = !at_slice_eq_cstr(value, "identity");
    else if (at_slice_eq_cstr(name, "grpc-timeout"))
        take_timeout(call, value);
    else
        keep_metadata(call, name, value);
}

void at_grpc_request_headers_done(struct at_grpc_call *call)
{
    struct at_slice none = at_slice_make(NULL, 0);
    call->headers_done = true;
    if (call->answered)
        return;
    if (call->metadata_bytes > AT_GRPC_METADATA_BYTES_MAX) {
        refuse(call, AT_RESOURCE_EXHAUSTED, "the request's metadata is too large", none);
    } else if (!call->is_post) {
        at_grpc_answer_http(call, "405");
    } else if (!call->good_type) {
        at_grpc_answer_http(call, "415");
    } else if (!call->method) {
        refuse(call, AT_UNIMPLEMENTED, "unknown method ", call->path);
    } else if (call->bad_encoding) {
        at_grpc_call_header(call, "grpc-accept-encoding", AT_LIT("identity"));
        refuse(call, AT_UNIMPLEMENTED, "compressed requests are not supported", none);
    } else if (call->deadline_ns != UINT64_MAX) {
        at_alarms_set(&call->home->alarms, &call->expiry, call->deadline_ns);
    }
}

static void refuse_message(struct at_grpc_call *call, enum at_code code)
{
    struct at_slice none = at_slice_make(NULL, 0);
    if (code == AT_UNIMPLEMENTED) {
        at_grpc_call_header(call, "grpc-accept-encoding", AT_LIT("identity"));
        refuse(call, code, "compressed requests are not supported", none);
    } else if (code == AT_RESOURCE_EXHAUSTED) {
        refuse(call, code, "the request is larger than the server accepts", none);
    } else {
        refuse(call, AT_INTERNAL, "malformed message prefix", none);
    }
}

/* True when the call's bytes are too much for all connections together. */
static bool too_much_at_once(const struct at_grpc_call *call, size_t all_bytes)
{
    if (all_bytes <= AT_GRPC_REQUESTS_BYTES_MAX)
        return false;
    return call->held_bytes > AT_GRPC_REQUEST_SMALL_BYTES ||
           all_bytes > 2 * AT_GRPC_REQUESTS_BYTES_MAX;
}

static bool is_stream(const struct at_grpc_call *call)
{
    return call->stream != NULL;
}

/* Request streams hold nothing, and may stay open. */
static struct at_grpc_call *oldest_incomplete(const struct at_grpc_conn *conn)
{
    struct at_grpc_call *oldest = NULL;
    for (struct at_grpc_call *c = conn->calls; c; c = c->next)
        if (c->stream_open && !c->dispatched && !c->answered && !is_stream(c) &&
            (!oldest || c->stream_id < oldest->stream_id))
            oldest = c;
    return oldest;
}

static void give_credit(struct at_grpc_call *call)
{
    if (call->uncredited_bytes == 0)
        return;
    (void)nghttp2_session_consume_stream(call->conn->h2.session, call->stream_id,
                                         call->uncredited_bytes);
    call->uncredited_bytes = 0;
    at_h2_conn_wake(&call->conn->h2);
}

void at_grpc_request_credit(struct at_grpc_conn *conn)
{
    if (conn->h2.lost)
        return;
    if (conn->held_bytes >= SOFT_BYTES) {
        struct at_grpc_call *oldest = oldest_incomplete(conn);
        if (oldest)
            give_credit(oldest);
        return;
    }
    for (struct at_grpc_call *c = conn->calls; c; c = c->next)
        if (c->stream_open && !c->dispatched && !c->answered)
            give_credit(c);
}

static enum at_code take_bytes(struct at_grpc_call *call, struct at_slice bytes)
{
    while (bytes.len > 0) {
        struct at_slice message;
        bool done;
        if (call->has_message)
            return AT_UNIMPLEMENTED;
        AT_TRY(at_grpc_frame_next(&call->frame, &bytes, &message, &done));
        if (!done)
            continue;
        call->has_message = true;
        call->request = message;
    }
    return AT_OK;
}

/* The messages of a request stream go to the handler one by one and are not held. */
static void take_stream(struct at_grpc_call *call, struct at_slice bytes)
{
    while (bytes.len > 0 && !call->answered) {
        struct at_slice message;
        bool done;
        enum at_code code = at_grpc_frame_next(&call->frame, &bytes, &message, &done);
        if (code != AT_OK) {
            refuse_message(call, code);
            return;
        }
        code = done ? call->stream->on_message(call, message, call->method->ctx) : AT_OK;
        if (code != AT_OK)
            refuse(call, code, "the request stream is refused", at_slice_make(NULL, 0));
    }
    at_grpc_call_release_request(call);
    give_credit(call);
}

void at_grpc_request_data(struct at_grpc_call *call, struct at_slice bytes)
{
    struct at_grpc_conn *conn = call->conn;
    if (call->answered)
        return;
    conn->held_bytes += bytes.len;
    call->held_bytes += bytes.len;
    call->uncredited_bytes += bytes.len;
    size_t all_bytes = bytes.len + atomic_fetch_add_explicit(&call->home->server->request_bytes,
                                                             bytes.len, memory_order_relaxed);
    if (too_much_at_once(call, all_bytes)) {
        refuse(call, AT_UNAVAILABLE, "too many request bytes are held; try again",
               at_slice_make(NULL, 0));
        return;
    }
    if (conn->held_bytes > AT_GRPC_BUFFERED_BYTES_MAX) {
        refuse_message(call, AT_RESOURCE_EXHAUSTED);
        return;
    }
    if (is_stream(call)) {
        take_stream(call, bytes);
        return;
    }
    bool had_message = call->has_message;
    enum at_code code = take_bytes(call, bytes);
    if (code == AT_UNIMPLEMENTED && (had_message || call->has_message))
        refuse(call, code, "only one request message is supported", at_slice_make(NULL, 0));
    else if (code != AT_OK)
        refuse_message(call, code);
    else if (conn->held_bytes < SOFT_BYTES || call == oldest_incomplete(conn))
        give_credit(call);
}

void at_grpc_request_end(struct at_grpc_call *call)
{
    if (call->answered || call->dispatched)
        return;
    bool whole = is_stream(call) ? at_grpc_frame_clean(&call->frame) : call->has_message;
    if (!whole) {
        refuse(call, AT_INTERNAL, "the request has no whole message", at_slice_make(NULL, 0));
        return;
    }
    call->dispatched = true;
    call->start_ns = at_loop_now_ns(call->home->loop);
    if (call->conn->held_bytes >= SOFT_BYTES)
        at_grpc_request_credit(call->conn);
    call->method->on_request(call, call->method->ctx);
}
