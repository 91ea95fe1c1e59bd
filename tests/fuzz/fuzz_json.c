/* fuzz_json.c: bytes become a JSON request of the route that the first byte picks. What is accepted
 * must be a message that can be written as JSON and read back as the same message. Taken as a
 * message of the wire, which a map's key can stand in twice, they must be written or refused. */
#include <jansson.h>

#include "base/assert.h"
#include "routing/rest/pool.h"
#include "routing/rest/route.h"
#include "wire/json/decode.h"
#include "wire/json/encode.h"
#include "wire/proto_alloc.h"

#define TEXT_BYTES_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ProtobufCMessage *
decode(const ProtobufCMessageDescriptor *descriptor, struct at_slice text, struct at_arena *arena)
{
    json_t *value = NULL;
    ProtobufCMessage *message = NULL;
    if (at_json_parse(text, &value, NULL) != AT_OK)
        return NULL;
    if (at_json_decode(at_rest_pool(), descriptor, value, arena, &message, NULL) != AT_OK)
        message = NULL;
    json_decref(value);
    return message;
}

static void check_message(const ProtobufCMessage *message, struct at_arena *arena)
{
    struct at_buf texts[2];
    for (int i = 0; i < 2; i++)
        at_buf_init(&texts[i], TEXT_BYTES_MAX);
    if (at_json_encode(at_rest_pool(), message, arena, &texts[0]) == AT_OK) {
        ProtobufCMessage *again = decode(message->descriptor, at_buf_slice(&texts[0]), arena);
        AT_ASSERT(again);
        AT_ASSERT(at_json_encode(at_rest_pool(), again, arena, &texts[1]) == AT_OK);
        AT_ASSERT(at_slice_eq(at_buf_slice(&texts[0]), at_buf_slice(&texts[1])));
    }
    for (int i = 0; i < 2; i++)
        at_buf_deinit(&texts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count;
    const struct at_rest_route *routes = at_rest_routes(&count);
    if (size == 0)
        return 0;
    const struct at_rest_route *route = &routes[data[0] % count];
    struct at_slice rest = at_slice_make(data + 1, size - 1);
    struct at_arena arena;
    at_arena_init(&arena, 4096);
    const ProtobufCMessageDescriptor *ends[] = {route->request, route->response};
    for (int i = 0; i < 2; i++) {
        ProtobufCMessage *message = decode(ends[i], rest, &arena);
        if (message)
            check_message(message, &arena);
        message = at_proto_unpack(&arena, ends[i], rest);
        struct at_buf text;
        at_buf_init(&text, TEXT_BYTES_MAX);
        if (message)
            (void)!at_json_encode(at_rest_pool(), message, &arena, &text);
        at_buf_deinit(&text);
    }
    at_arena_deinit(&arena);
    return 0;
}
