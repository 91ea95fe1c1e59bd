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
    case AT_MESSAGE_JOIN_ANSWER:
    case AT_MESSAGE_FENCE:
    case AT_MESSAGE_FENCE_ANSWER:
    case AT_MESSAGE_COPY_OPEN:
    case AT_MESSAGE_COPY_OPENED:
    case AT_MESSAGE_COPY_ASK:
    case AT_MESSAGE_COPY_CHUNK:
    case AT_MESSAGE_COPY_CLOSE:
        break;
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
