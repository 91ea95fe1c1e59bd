/* fuzz_grpc_frame: any bytes as a stream of length-prefixed messages. However they are cut, the
 * same messages come out, and the same code at the end. The first byte seeds the cuts. */
#include "base/assert.h"
#include "base/hash.h"
#include "wire/grpc_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_BYTES_MAX 300

/* What a reader made of the stream. */
struct outcome {
    enum at_code code;
    uint64_t count;
    uint64_t hash; /* over all messages, with their lengths */
    bool clean;
};

static size_t next_cut(uint32_t *seed, size_t left)
{
    *seed = *seed * 1664525u + 1013904223u;
    size_t n = 1 + (*seed >> 24) % 11;
    return n < left ? n : left;
}

static void feed(struct at_grpc_frame *f, struct at_slice piece, struct outcome *out)
{
    while (piece.len > 0 && out->code == AT_OK) {
        struct at_slice message;
        bool done = false;
        size_t before = piece.len;

        out->code = at_grpc_frame_next(f, &piece, &message, &done);
        if (out->code != AT_OK)
            return;
        AT_ASSERT(piece.len < before);
        if (!done) {
            AT_ASSERT(piece.len == 0);
            continue;
        }
        AT_ASSERT(message.len <= MESSAGE_BYTES_MAX);
        out->count++;
        out->hash = at_hash64(message, out->hash + message.len);
    }
}

static struct outcome read_stream(struct at_slice stream, uint32_t seed, bool keep)
{
    struct outcome out = {.code = AT_OK};
    struct at_grpc_frame f;

    at_grpc_frame_init(&f, MESSAGE_BYTES_MAX, keep);
    while (stream.len > 0 && out.code == AT_OK) {
        size_t n = seed == 0 ? stream.len : next_cut(&seed, stream.len);
        feed(&f, at_slice_make(stream.data, n), &out);
        stream = at_slice_from(stream, n);
    }
    out.clean = out.code == AT_OK && at_grpc_frame_clean(&f);
    at_grpc_frame_reset(&f, 64);
    AT_ASSERT(at_grpc_frame_clean(&f));
    at_grpc_frame_deinit(&f);
    return out;
}

static void same(struct outcome a, struct outcome b)
{
    AT_ASSERT(a.code == b.code);
    AT_ASSERT(a.count == b.count);
    AT_ASSERT(a.hash == b.hash);
    AT_ASSERT(a.clean == b.clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct at_slice stream = at_slice_make(data + 1, size - 1);
    struct outcome whole = read_stream(stream, 0, false);
    AT_ASSERT(whole.code == AT_OK || whole.code == AT_UNIMPLEMENTED || whole.code == AT_INTERNAL ||
              whole.code == AT_RESOURCE_EXHAUSTED);
    same(whole, read_stream(stream, 1u + data[0], false));
    same(whole, read_stream(stream, 1u + data[0], true));
    return 0;
}
