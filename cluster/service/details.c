#include "cluster/service/details.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/limits.h"
#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"
#include "wire/proto_alloc.h"

#define TYPE_PREFIX "type.googleapis.com/"
#define LARGE_ROW_REASON "LargeRowReadError"
#define LARGE_ROW_KEY "rowKeyBase64Encoded"
#define DOMAIN_NAME "bigtable.googleapis.com"
#define DETAILS_BYTES_MAX (16 * AT_KIB)

static struct at_slice pack(const ProtobufCMessage *message, struct at_arena *arena)
{
    struct at_buf out;

    at_buf_init(&out, DETAILS_BYTES_MAX);
    enum at_code code = at_proto_pack(&out, message);
    AT_ASSERT(code == AT_OK); /* the longest holds a message and a row key */
    struct at_slice bytes = at_arena_copy(arena, at_buf_slice(&out));
    at_buf_deinit(&out);
    return bytes;
}

static struct at_slice
status_with(const struct at_error *error, const ProtobufCMessage *detail, struct at_arena *arena)
{
    Google__Rpc__Status status = GOOGLE__RPC__STATUS__INIT;
    Google__Protobuf__Any any = GOOGLE__PROTOBUF__ANY__INIT;
    Google__Protobuf__Any *details[1] = {&any};
    struct at_slice value = pack(detail, arena);

    any.type_url = at_arena_printf(arena, TYPE_PREFIX "%s", detail->descriptor->name);
    any.value.len = value.len;
    any.value.data = at_arena_alloc_raw(arena, value.len + 1);
    memcpy(any.value.data, value.data, value.len);
    status.code = (int32_t)error->code;
    status.message = at_arena_printf(arena, "%s", error->msg);
    status.n_details = 1;
    status.details = details;
    return pack(&status.base, arena);
}

struct at_slice at_details_retry(const struct at_error *error, struct at_arena *arena)
{
    Google__Rpc__RetryInfo info = GOOGLE__RPC__RETRY_INFO__INIT;
    Google__Protobuf__Duration delay = GOOGLE__PROTOBUF__DURATION__INIT;

    delay.seconds = error->retry_after_ms / 1000;
    delay.nanos = (int32_t)(error->retry_after_ms % 1000 * 1000000);
    info.retry_delay = &delay;
    return status_with(error, &info.base, arena);
}

struct at_slice
at_details_large_row(const struct at_error *error, struct at_slice row, struct at_arena *arena)
{
    Google__Rpc__ErrorInfo info = GOOGLE__RPC__ERROR_INFO__INIT;
    Google__Rpc__ErrorInfo__MetadataEntry entry = GOOGLE__RPC__ERROR_INFO__METADATA_ENTRY__INIT;
    Google__Rpc__ErrorInfo__MetadataEntry *entries[1] = {&entry};
    struct at_buf text;

    at_buf_init(&text, DETAILS_BYTES_MAX);
    enum at_code code = at_escape_base64(&text, row, false, true);
    AT_ASSERT(code == AT_OK); /* a row key is bounded */
    entry.key = at_arena_printf(arena, "%s", LARGE_ROW_KEY);
    entry.value = at_arena_printf(arena, "%s", at_buf_cstr(&text));
    at_buf_deinit(&text);
    info.reason = at_arena_printf(arena, "%s", LARGE_ROW_REASON);
    info.domain = at_arena_printf(arena, "%s", DOMAIN_NAME);
    info.n_metadata = 1;
    info.metadata = entries;
    return status_with(error, &info.base, arena);
}
