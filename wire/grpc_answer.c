/* grpc_answer.c: what a served call sends: headers, messages, status.
 *
 * Messages wait, framed, in one buffer per call; nghttp2 asks for them when window and socket
 * allow, and they are copied once, into the connection's gathering. The trailers are submitted
 * from within nghttp2's request for the last bytes, so headers, data and trailers of a short
 * answer leave in one write. An answer without any message is one HEADERS frame. */
#include "base/assert.h"
#include "base/escape.h"
#include "wire/grpc_server_impl.h"
#include "wire/grpc_status.h"

#define FIXED_FIELDS_MAX 5
#define NV_MAX (2 * AT_GRPC_OWN_HEADERS_MAX + FIXED_FIELDS_MAX)
#define NV_STATIC (NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE)

struct nv_list {
    nghttp2_nv items[NV_MAX];
    size_t count;
};

static ssize_t on_read_out(nghttp2_session *session,
                           int32_t stream_id,
                           uint8_t *buf,
                           size_t length,
                           uint32_t *data_flags,
                           nghttp2_data_source *source,
                           void *user_data);

/* The bytes live as long as the call, which lives as long as the stream: nghttp2 need not copy. */
static nghttp2_nv nv_of(struct at_slice name, struct at_slice value)
{
    union {
        const uint8_t *in;
        uint8_t *out;
    } n = {.in = name.data}, v = {.in = value.data};
    if (value.len == 0)
        v.in = (const uint8_t *)"";
    return (nghttp2_nv){.name = n.out,
                        .namelen = name.len,
                        .value = v.out,
                        .valuelen = value.len,
                        .flags = NV_STATIC};
}

static void nv_add(struct nv_list *list, struct at_slice name, struct at_slice value)
{
    AT_ASSERT(list->count < NV_MAX);
    list->items[list->count++] = nv_of(name, value);
}

static void nv_add_fields(struct nv_list *list, const struct at_grpc_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        AT_ASSERT(list->count < NV_MAX);
        list->items[list->count++] = fields->items[i];
    }
}

static void nv_add_head(struct nv_list *list, const struct at_grpc_call *call)
{
    nv_add(list, AT_LIT(":status"), AT_LIT("200"));
    nv_add(list, AT_LIT("content-type"), AT_LIT("application/grpc"));
    nv_add_fields(list, &call->headers);
}

static void nv_add_status(struct nv_list *list, const struct at_grpc_call *call)
{
    nv_add(list, AT_LIT("grpc-status"), at_grpc_status_text(call->status));
    if (call->status_message.len > 0)
        nv_add(list, AT_LIT("grpc-message"), call->status_message);
    if (call->status_details.len > 0)
        nv_add(list, AT_LIT("grpc-status-details-bin"), call->status_details);
    nv_add_fields(list, &call->trailers);
}

void at_grpc_answer_reset(struct at_grpc_call *call, uint32_t h2_error)
{
    call->answered = true;
    (void)nghttp2_submit_rst_stream(call->conn->h2.session, NGHTTP2_FLAG_NONE, call->stream_id,
                                    h2_error);
    at_h2_conn_wake(&call->conn->h2);
}

/* Submits the response headers with the output buffer as their body. */
static void respond(struct at_grpc_call *call)
{
    struct nv_list list = {.count = 0};
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = on_read_out};
    nv_add_head(&list, call);
    call->responded = true;
    int rc = nghttp2_submit_response(call->conn->h2.session, call->stream_id, list.items,
                                     list.count, &provider);
    if (rc != 0)
        at_grpc_answer_reset(call, NGHTTP2_INTERNAL_ERROR);
    at_h2_conn_wake(&call->conn->h2);
}

static void respond_without_message(struct at_grpc_call *call)
{
    struct nv_list list = {.count = 0};
    nv_add_head(&list, call);
    nv_add_status(&list, call);
    call->responded = true;
    int rc = nghttp2_submit_response(call->conn->h2.session, call->stream_id, list.items,
                                     list.count, NULL);
    if (rc != 0)
        at_grpc_answer_reset(call, NGHTTP2_INTERNAL_ERROR);
    at_h2_conn_wake(&call->conn->h2);
}

/* There is output or a status to send. */
static void resume(struct at_grpc_call *call)
{
    if (!call->conn || !call->stream_open)
        return;
    if (!call->responded) {
        respond(call);
    } else if (call->deferred) {
        call->deferred = false;
        (void)nghttp2_session_resume_data(call->conn->h2.session, call->stream_id);
        at_h2_conn_wake(&call->conn->h2);
    }
}

void at_grpc_answer(struct at_grpc_call *call,
                    enum at_code code,
                    struct at_slice message,
                    struct at_slice details)
{
    AT_ASSERT(!call->answered);
    call->answered = true;
    call->status = code;
    if (!call->conn || !call->stream_open)
        return;
    if (message.len > 0)
        call->status_message = at_grpc_message_encode(&call->arena, message);
    if (details.len > 0 && details.len <= AT_GRPC_STATUS_DETAILS_BYTES_MAX)
        call->status_details = at_grpc_bin_encode(&call->arena, details);
    if (!call->responded)
        respond_without_message(call);
    else
        resume(call);
}

void at_grpc_answer_http(struct at_grpc_call *call, const char *http_status)
{
    struct nv_list list = {.count = 0};
    call->answered = true;
    call->responded = true;
    nv_add(&list, AT_LIT(":status"), at_slice_cstr(http_status));
    int rc = nghttp2_submit_response(call->conn->h2.session, call->stream_id, list.items,
                                     list.count, NULL);
    if (rc != 0)
        at_grpc_answer_reset(call, NGHTTP2_INTERNAL_ERROR);
    at_h2_conn_wake(&call->conn->h2);
}

/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter): nghttp2's signature */
static ssize_t on_read_out(nghttp2_session *session,
                           int32_t stream_id,
                           uint8_t *buf,
                           size_t length,
                           uint32_t *data_flags,
                           nghttp2_data_source *source,
                           void *user_data)
{
    (void)buf;
    (void)user_data;
    struct at_grpc_call *call = source->ptr;
    size_t pending = at_grpc_out_pending(&call->out);
    size_t n = pending < length ? pending : length;
    if (n == 0 && !call->answered) {
        call->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    *data_flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    call->out.promised = n;
    if (n < pending || !call->answered)
        return (ssize_t)n;
    struct nv_list list = {.count = 0};
    nv_add_status(&list, call);
    *data_flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (nghttp2_submit_trailer(session, stream_id, list.items, list.count) != 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return (ssize_t)n;
}
/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

int at_grpc_answer_send_data(struct at_grpc_call *call, const uint8_t *head, size_t length)
{
    struct at_grpc_out *out = &call->out;
    AT_ASSERT(length <= at_grpc_out_pending(out));
    struct at_slice payload = at_slice_make(out->buf.data + out->off, length);
    int rc = at_h2_conn_put_data(&call->conn->h2, head, payload, (struct at_slice){0});
    if (rc != 0)
        return rc;
    out->off += length;
    out->promised = 0;
    if (out->off == out->end && !out->building) {
        at_buf_clear(&out->buf);
        out->off = 0;
        out->end = 0;
    }
    if (call->above_low && at_grpc_out_pending(out) < call->low_bytes) {
        call->above_low = false;
        struct at_grpc_conn *conn = call->conn;
        if (call->on_writable && !call->prev_next_writable) {
            call->next_writable = conn->writable;
            call->prev_next_writable = &conn->writable;
            if (conn->writable)
                conn->writable->prev_next_writable = &call->next_writable;
            conn->writable = call;
        }
    }
    return 0;
}

void at_grpc_answer_drop_output(struct at_grpc_call *call)
{
    struct at_grpc_out *out = &call->out;
    call->above_low = false;
    out->end = out->off + out->promised;
    if (out->building) /* commit drops the rest */
        return;
    out->buf.len = out->end;
    if (out->promised > 0)
        return;
    at_buf_clear(&out->buf);
    out->off = 0;
    out->end = 0;
}

/* --- what handlers send --- */

static void add_field(struct at_grpc_call *call, struct at_grpc_fields *fields, nghttp2_nv nv)
{
    if (!fields->items)
        fields->items = AT_ARENA_ARRAY(&call->arena, nghttp2_nv, AT_GRPC_OWN_HEADERS_MAX);
    if (fields->count < AT_GRPC_OWN_HEADERS_MAX)
        fields->items[fields->count++] = nv;
}

static nghttp2_nv own_nv(struct at_grpc_call *call, const char *name, struct at_slice value)
{
    struct at_slice n = at_arena_copy(&call->arena, at_slice_cstr(name));
    struct at_slice v = at_grpc_is_bin(n) ? at_grpc_bin_encode(&call->arena, value)
                                          : at_arena_copy(&call->arena, value);
    return nv_of(n, v);
}

void at_grpc_call_header(struct at_grpc_call *call, const char *name, struct at_slice value)
{
    if (!call->cancelled && !call->responded)
        add_field(call, &call->headers, own_nv(call, name, value));
}

void at_grpc_call_trailer(struct at_grpc_call *call, const char *name, struct at_slice value)
{
    if (!call->cancelled && !call->answered)
        add_field(call, &call->trailers, own_nv(call, name, value));
}

bool at_grpc_call_has_header(const struct at_grpc_call *call, const char *name)
{
    struct at_slice wanted = at_slice_cstr(name);
    for (size_t i = 0; i < call->headers.count; i++) {
        const nghttp2_nv *nv = &call->headers.items[i];
        if (at_slice_eq(at_slice_make(nv->name, nv->namelen), wanted))
            return true;
    }
    return false;
}

/* Cuts off what was sent when that is at least as much as what would have to be moved. */
static void compact(struct at_grpc_out *out)
{
    if (out->off == 0 || out->off < at_grpc_out_pending(out))
        return;
    at_buf_consume(&out->buf, out->off);
    out->end -= out->off;
    out->off = 0;
}

/* All bytes in the buffer are committed now. */
static void committed(struct at_grpc_call *call)
{
    struct at_grpc_out *out = &call->out;
    if (call->answered) {
        out->buf.len = out->end;
        return;
    }
    out->end = out->buf.len;
    if (at_grpc_out_pending(out) >= call->low_bytes)
        call->above_low = true;
    resume(call);
}

enum at_code at_grpc_call_send(struct at_grpc_call *call, struct at_slice message)
{
    if (call->answered)
        return AT_OK;
    AT_ASSERT(!call->out.building);
    size_t waiting = at_grpc_call_pending_bytes(call);
    if (waiting + message.len > AT_GRPC_MESSAGE_BYTES_MAX)
        return AT_RESOURCE_EXHAUSTED;
    uint8_t prefix[AT_GRPC_PREFIX_BYTES];
    at_grpc_frame_prefix(prefix, message.len);
    compact(&call->out);
    AT_TRY(at_buf_reserve(&call->out.buf, sizeof(prefix) + message.len));
    AT_TRY(at_buf_append(&call->out.buf, at_slice_make(prefix, sizeof(prefix))));
    AT_TRY(at_buf_append(&call->out.buf, message));
    committed(call);
    return AT_OK;
}

enum at_code at_grpc_call_send_framed(struct at_grpc_call *call, struct at_slice bytes)
{
    if (call->answered)
        return AT_OK;
    AT_ASSERT(!call->out.building);
    if (at_grpc_call_pending_bytes(call) + bytes.len > AT_GRPC_MESSAGE_BYTES_MAX)
        return AT_RESOURCE_EXHAUSTED;
    compact(&call->out);
    AT_TRY(at_buf_append(&call->out.buf, bytes));
    committed(call);
    return AT_OK;
}

struct at_buf *at_grpc_call_begin(struct at_grpc_call *call)
{
    static const uint8_t ROOM[AT_GRPC_PREFIX_BYTES];
    struct at_grpc_out *out = &call->out;
    AT_ASSERT(!out->building);
    compact(out);
    out->building = true;
    enum at_code code = at_buf_append(&out->buf, at_slice_make(ROOM, sizeof(ROOM)));
    AT_ASSERT(code == AT_OK); /* the buffer's maximum leaves room beyond all that can wait */
    return &out->buf;
}

void at_grpc_call_commit(struct at_grpc_call *call)
{
    struct at_grpc_out *out = &call->out;
    AT_ASSERT(out->building && out->buf.len >= out->end + AT_GRPC_PREFIX_BYTES);
    out->building = false;
    size_t len = out->buf.len - out->end - AT_GRPC_PREFIX_BYTES;
    at_grpc_frame_prefix(out->buf.data + out->end, len);
    committed(call);
}

void at_grpc_call_abandon(struct at_grpc_call *call)
{
    AT_ASSERT(call->out.building);
    call->out.building = false;
    call->out.buf.len = call->out.end;
}

size_t at_grpc_call_pending_bytes(const struct at_grpc_call *call)
{
    return at_grpc_out_pending(&call->out);
}

void at_grpc_call_on_writable(struct at_grpc_call *call,
                              size_t low_bytes,
                              void (*on_writable)(struct at_grpc_call *call, void *ctx),
                              void *ctx)
{
    call->on_writable = on_writable;
    call->on_writable_ctx = ctx;
    call->low_bytes = low_bytes;
    call->above_low = low_bytes > 0 && at_grpc_call_pending_bytes(call) >= low_bytes;
}
