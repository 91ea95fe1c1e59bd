#include "base/alloc.h"
#include "base/assert.h"
#include "replication/message.h"

/* Any bytes as a peer message. What decodes is encoded, and that decodes again. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum at_code encode(const struct at_message *m, struct at_buf *out)
{
    switch (m->kind) {
    case AT_MESSAGE_PULL:
        return at_pull_encode(&m->u.pull, out);
    case AT_MESSAGE_REPLY:
        return at_reply_encode(&m->u.reply, out);
    case AT_MESSAGE_CLOSE:
        return at_close_encode(&m->u.close, out);
    case AT_MESSAGE_CLOSE_ANSWER:
        return at_close_answer_encode(m->u.close_answer, out);
    case AT_MESSAGE_VECTOR:
        return at_vector_ask_encode(&m->u.vector_ask, out);
    case AT_MESSAGE_VECTOR_ANSWER:
        return at_vector_answer_encode(&m->u.vector_answer, out);
    case AT_MESSAGE_JOIN:
        return at_join_encode(&m->u.join, out);
    case AT_MESSAGE_JOIN_ANSWER:
        return at_join_answer_encode(&m->u.join_answer, out);
    case AT_MESSAGE_FENCE:
        return at_fence_encode(&m->u.fence, out);
    case AT_MESSAGE_FENCE_ANSWER:
        return at_fence_answer_encode(m->u.fence_answer, out);
    case AT_MESSAGE_COPY_OPEN:
        return at_copy_open_encode(&m->u.copy_open, out);
    case AT_MESSAGE_COPY_OPENED:
        return at_copy_opened_encode(&m->u.copy_opened, out);
    case AT_MESSAGE_COPY_ASK:
        return at_copy_ask_encode(&m->u.copy_ask, out);
    case AT_MESSAGE_COPY_CHUNK:
        return at_copy_chunk_encode(&m->u.copy_chunk, out);
    case AT_MESSAGE_COPY_CLOSE:
        return at_copy_close_encode(&m->u.copy_close, out);
    case AT_MESSAGE_REFUSED:
        return at_refused_encode(m->u.refused, out);
    }
    return AT_INTERNAL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_arena arena;
    struct at_message m;
    struct at_message again;
    struct at_buf out;

    at_arena_init(&arena, 4096);
    if (at_message_decode(at_slice_make(data, size), &arena, &m) == AT_OK) {
        at_buf_init(&out, AT_PEER_MESSAGE_BYTES_MAX);
        enum at_code rc = encode(&m, &out);
        AT_ASSERT(rc == AT_OK);
        rc = at_message_decode(at_buf_slice(&out), &arena, &again);
        AT_ASSERT(rc == AT_OK);
        AT_ASSERT(again.kind == m.kind);
        at_message_deinit(&again);
        at_message_deinit(&m);
        at_buf_deinit(&out);
    }
    at_arena_deinit(&arena);
    return 0;
}
