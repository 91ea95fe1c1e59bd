/* grpc_status.c: see the "gRPC over HTTP2" document of the gRPC project. */
#include "wire/grpc_status.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/escape.h"

struct unit {
    char letter;
    uint64_t ns;
};

static const struct unit UNITS[] = {
    {'n', 1},
    {'u', 1000},
    {'m', 1000000},
    {'S', UINT64_C(1000000000)},
    {'M', UINT64_C(60000000000)},
    {'H', UINT64_C(3600000000000)},
};
#define UNIT_COUNT (sizeof(UNITS) / sizeof(UNITS[0]))
#define TIMEOUT_DIGITS_MAX 8
#define TIMEOUT_VALUE_MAX 99999999

enum at_code at_grpc_timeout_parse(struct at_slice text, uint64_t *ret_ns)
{
    if (text.len < 2 || text.len > TIMEOUT_DIGITS_MAX + 1)
        return AT_INVALID_ARGUMENT;
    uint64_t value = 0;
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return AT_INVALID_ARGUMENT;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (UNITS[i].letter != (char)text.data[text.len - 1])
            continue;
        uint64_t ns;
        *ret_ns = __builtin_mul_overflow(value, UNITS[i].ns, &ns) ? UINT64_MAX : ns;
        return AT_OK;
    }
    return AT_INVALID_ARGUMENT;
}

size_t at_grpc_timeout_format(uint64_t timeout_ns, char out[AT_GRPC_TIMEOUT_TEXT_BYTES])
{
    size_t i = 0;
    uint64_t value = timeout_ns;
    while (value > TIMEOUT_VALUE_MAX) { /* 2^64 ns are less than eight digits of hours */
        i++;
        AT_ASSERT(i < UNIT_COUNT);
        value = timeout_ns / UNITS[i].ns + (timeout_ns % UNITS[i].ns != 0);
    }
    int n = snprintf(out, AT_GRPC_TIMEOUT_TEXT_BYTES, "%u%c", (unsigned)value, UNITS[i].letter);
    AT_ASSERT(n > 0 && n < AT_GRPC_TIMEOUT_TEXT_BYTES);
    return (size_t)n;
}

enum at_code at_grpc_status_parse(struct at_slice text)
{
    if (text.len == 0 || text.len > 2)
        return AT_UNKNOWN;
    uint32_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return AT_UNKNOWN;
        value = value * 10 + (uint32_t)(text.data[i] - '0');
    }
    return at_code_from_number(value);
}

struct at_slice at_grpc_status_text(enum at_code code)
{
#define NUMBER_TEXT(name, number) #number,
    static const char *const TEXTS[] = {AT_CODES(NUMBER_TEXT)};
#undef NUMBER_TEXT
    uint32_t i = (uint32_t)code < AT_CODE_COUNT ? (uint32_t)code : AT_UNKNOWN;
    return at_slice_make(TEXTS[i], i < 10 ? 1 : 2);
}

enum at_code at_grpc_status_from_http(uint32_t http_status)
{
    switch (http_status) {
    case 400:
        return AT_INTERNAL;
    case 401:
        return AT_UNAUTHENTICATED;
    case 403:
        return AT_PERMISSION_DENIED;
    case 404:
        return AT_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return AT_UNAVAILABLE;
    default:
        return AT_UNKNOWN;
    }
}

enum at_code at_grpc_status_from_reset(uint32_t h2_error)
{
    switch (h2_error) {
    case 0x7: /* REFUSED_STREAM */
        return AT_UNAVAILABLE;
    case 0x8: /* CANCEL */
        return AT_CANCELLED;
    case 0xb: /* ENHANCE_YOUR_CALM */
        return AT_RESOURCE_EXHAUSTED;
    case 0xc: /* INADEQUATE_SECURITY */
        return AT_PERMISSION_DENIED;
    default:
        return AT_INTERNAL;
    }
}

bool at_grpc_is_bin(struct at_slice name)
{
    return name.len >= 4 && memcmp(name.data + name.len - 4, "-bin", 4) == 0;
}

bool at_grpc_is_content_type(struct at_slice value)
{
    if (!at_slice_has_prefix(value, AT_LIT("application/grpc")))
        return false;
    struct at_slice rest = at_slice_from(value, strlen("application/grpc"));
    if (at_slice_has_prefix(rest, AT_LIT("+proto")))
        rest = at_slice_from(rest, strlen("+proto"));
    return rest.len == 0 || rest.data[0] == ';' || rest.data[0] == ' ';
}

/* Copies a scratch buffer's bytes into the arena. */
static struct at_slice keep(struct at_arena *arena, const struct at_buf *b)
{
    return at_arena_copy(arena, at_buf_slice(b));
}

struct at_slice at_grpc_bin_encode(struct at_arena *arena, struct at_slice raw)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    at_buf_init(&text, raw.len / 3 * 4 + 8);
    enum at_code code = at_escape_base64(&text, raw, false, false);
    AT_ASSERT(code == AT_OK);
    return keep(arena, &text);
}

enum at_code
at_grpc_bin_decode(struct at_arena *arena, struct at_slice text, struct at_slice *ret_raw)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf raw;
    at_buf_init(&raw, text.len + 8);
    while (text.len > 0) {
        const uint8_t *comma = memchr(text.data, ',', text.len);
        struct at_slice part = text;
        if (comma)
            part.len = (size_t)(comma - text.data);
        text = at_slice_from(text, comma ? part.len + 1 : part.len);
        while (part.len > 0 && part.data[0] == ' ')
            part = at_slice_from(part, 1);
        AT_TRY(at_unescape_base64(&raw, part));
    }
    *ret_raw = keep(arena, &raw);
    return AT_OK;
}

struct at_slice at_grpc_message_encode(struct at_arena *arena, struct at_slice raw)
{
    if (raw.len > AT_GRPC_STATUS_MESSAGE_BYTES_MAX) {
        raw.len = AT_GRPC_STATUS_MESSAGE_BYTES_MAX;
        while (raw.len > 0 && (raw.data[raw.len] & 0xc0) == 0x80)
            raw.len--;
    }
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    at_buf_init(&text, 3 * raw.len + 8);
    enum at_code code = at_escape_percent(&text, raw);
    AT_ASSERT(code == AT_OK);
    return keep(arena, &text);
}

struct at_slice at_grpc_message_decode(struct at_arena *arena, struct at_slice text)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf raw;
    at_buf_init(&raw, text.len + 8);
    enum at_code code = at_unescape_percent(&raw, text);
    AT_ASSERT(code == AT_OK);
    return keep(arena, &raw);
}
