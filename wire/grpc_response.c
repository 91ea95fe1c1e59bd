/* grpc_response.c: what comes back on a stream of the calling side.
 *
 * Each handler callback may end the call (cancel it, close the channel); `busy_count` keeps its
 * memory until the callback has returned, and `ended` says that it is over. */
#include "base/assert.h"
#include "wire/grpc_client_impl.h"
#include "wire/grpc_status.h"

#include <stdio.h>

#define FIELD_OVERHEAD_BYTES 32
#define FIRST_FIELDS 8

static void add_field(struct at_grpc_client_call *call, struct at_slice name, struct at_slice value)
{
    struct at_grpc_block *block = &call->block;
    struct at_slice kept;
    if (!at_grpc_is_bin(name))
        kept = at_arena_copy(&call->arena, value);
    else if (at_grpc_bin_decode(&call->arena, value, &kept) != AT_OK)
        return;
    if (block->count == block->cap) {
        size_t cap = block->cap ? block->cap * 2 : FIRST_FIELDS;
        struct at_grpc_metadata *items = AT_ARENA_ARRAY(&call->arena, struct at_grpc_metadata, cap);
        if (block->count > 0)
            memcpy(items, block->items, block->count * sizeof(*items));
        block->items = items;
        block->cap = cap;
    }
    block->items[block->count].name = at_arena_copy(&call->arena, name);
    block->items[block->count].value = kept;
    block->count++;
}

static uint32_t parse_http_status(struct at_slice value)
{
    uint32_t status = 0;
    for (size_t i = 0; i < value.len && i < 3; i++)
        status = status * 10 + (uint32_t)(value.data[i] - '0');
    return status;
}

void at_grpc_response_field(struct at_grpc_client_call *call,
                            struct at_slice name,
                            struct at_slice value)
{
    call->block_bytes += name.len + value.len + FIELD_OVERHEAD_BYTES;
    if (call->block_bytes > AT_GRPC_METADATA_BYTES_MAX) {
        at_grpc_client_call_end(call, AT_RESOURCE_EXHAUSTED, "the answer's metadata is too large",
                                false);
        return;
    }
    if (at_slice_eq_cstr(name, ":status")) {
        call->http_status = parse_http_status(value);
    } else if (at_slice_eq_cstr(name, "content-type")) {
        call->bad_content = !at_grpc_is_content_type(value);
    } else if (at_slice_eq_cstr(name, "grpc-status")) {
        call->has_status = true;
        call->status_text = at_arena_copy(&call->arena, value);
    } else if (at_slice_eq_cstr(name, "grpc-message")) {
        call->message_text = at_arena_copy(&call->arena, value);
    } else if (at_slice_eq_cstr(name, "grpc-status-details-bin")) {
        call->details_text = at_arena_copy(&call->arena, value);
    } else {
        add_field(call, name, value);
    }
}

void at_grpc_response_headers_done(struct at_grpc_client_call *call, bool end)
{
    if (end) {
        at_grpc_response_end(call);
        return;
    }
    if (call->saw_headers || call->http_status / 100 == 1) {
        call->block = (struct at_grpc_block){0}; /* a 1xx answer, or trailers that end nothing */
        return;
    }
    call->saw_headers = true;
    call->got_data = true;
    struct at_grpc_block block = call->block;
    call->block = (struct at_grpc_block){0};
    if (call->http_status != 200 || call->bad_content || !call->handler->on_headers)
        return;
    call->busy_count++;
    call->handler->on_headers(call->ctx, block.items, block.count);
    call->busy_count--;
    at_grpc_client_call_settle(call);
}

static void give_credit(struct at_grpc_client_call *call, size_t bytes)
{
    (void)nghttp2_session_consume_stream(call->conn->h2.session, call->stream_id, bytes);
}

static enum at_code hand_out_messages(struct at_grpc_client_call *call, struct at_slice bytes)
{
    while (bytes.len > 0 && !call->ended) {
        struct at_slice message;
        bool done;
        AT_TRY(at_grpc_frame_next(&call->frame, &bytes, &message, &done));
        if (done)
            call->handler->on_message(call->ctx, message);
    }
    return AT_OK;
}

void at_grpc_response_data(struct at_grpc_client_call *call, struct at_slice bytes)
{
    call->got_data = true;
    if (call->http_status != 200 || call->bad_content) {
        give_credit(call, bytes.len); /* the text of an error page */
        return;
    }
    enum at_code code = AT_OK;
    call->busy_count++;
    if (call->handler->on_framed) {
        call->handler->on_framed(call->ctx, bytes);
    } else {
        give_credit(call, bytes.len);
        code = hand_out_messages(call, bytes);
    }
    call->busy_count--;
    if (call->ended)
        at_grpc_client_call_settle(call);
    else if (code == AT_RESOURCE_EXHAUSTED)
        at_grpc_client_call_end(call, code, "the answer is too large", false);
    else if (code == AT_UNIMPLEMENTED)
        at_grpc_client_call_end(call, AT_INTERNAL, "the answer is compressed", false);
    else if (code != AT_OK)
        at_grpc_client_call_end(call, AT_INTERNAL, "the answer is malformed", false);
}

/* The peer sent no grpc-status: what HTTP says has to do. */
static void end_without_status(struct at_grpc_client_call *call)
{
    char text[48];
    if (call->http_status != 200) {
        (void)snprintf(text, sizeof(text), "HTTP status %u", (unsigned)call->http_status);
        at_grpc_client_call_end(call, at_grpc_status_from_http(call->http_status), text, false);
    } else if (call->bad_content) {
        at_grpc_client_call_end(call, AT_UNKNOWN, "the answer is not gRPC", false);
    } else {
        at_grpc_client_call_end(call, AT_INTERNAL, "the stream ended without a status", false);
    }
}

void at_grpc_response_end(struct at_grpc_client_call *call)
{
    call->peer_ended = true;
    if (!call->has_status) {
        end_without_status(call);
        return;
    }
    struct at_grpc_result result = {
        .code = at_grpc_status_parse(call->status_text),
        .message = at_grpc_message_decode(&call->arena, call->message_text),
        .trailers = call->block.items,
        .trailer_count = call->block.count,
        .from_peer = true,
        .got_data = call->got_data,
    };
    if (at_grpc_bin_decode(&call->arena, call->details_text, &result.details) != AT_OK)
        result.details = at_slice_make(NULL, 0);
    if (result.code == AT_OK && !call->handler->on_framed && !at_grpc_frame_clean(&call->frame)) {
        at_grpc_client_call_end(call, AT_INTERNAL, "the answer ended within a message", false);
        return;
    }
    at_grpc_client_call_deliver(call, &result);
}
