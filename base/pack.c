#include "base/pack.h"

#include "base/bytes.h"

#include <msgpack/pack.h>

/* The reader knows msgpack's whole format, which is one table: for each first byte, the kind of
 * the item and how many bytes of number (length, count or value) follow it. head_read applies the
 * table; all read functions are checks on what it returns. */

#define SKIP_DEPTH_MAX 32

enum kind {
    KIND_UINT,
    KIND_INT,
    KIND_NIL,
    KIND_BOOL,
    KIND_FLOAT,
    KIND_BYTES,
    KIND_EXT,
    KIND_ARRAY,
    KIND_MAP,
    KIND_INVALID
};

/* What stands in front of an item: for KIND_INT `number` is the sign-extended value, for
 * KIND_BYTES and KIND_EXT the bytes that follow, for KIND_ARRAY and KIND_MAP the count. */
struct head {
    enum kind kind;
    uint64_t number;
};

static int write_bytes(void *ctx, const char *data, size_t len);
static enum at_code undo(struct at_buf *b, size_t len_before);
static enum at_code head_read(struct at_unpack *u, struct head *ret_head);
static enum at_code wide_head_read(struct at_unpack *u, uint8_t first, struct head *ret_head);
static enum at_code fail(struct at_unpack *u);
static enum at_code
count_read(struct at_unpack *u, enum kind kind, uint32_t count_max, uint32_t *ret_count);

/* PACK returns from a writer; `call` writes through `p`. */
#define PACK(b, call)                                            \
    do {                                                         \
        const size_t len_before = (b)->len;                      \
        msgpack_packer *p = &(msgpack_packer){(b), write_bytes}; \
        return (call) == 0 ? AT_OK : undo((b), len_before);      \
    } while (0)

enum at_code at_pack_array(struct at_buf *b, uint32_t count)
{
    PACK(b, msgpack_pack_array(p, count));
}

enum at_code at_pack_map(struct at_buf *b, uint32_t count)
{
    PACK(b, msgpack_pack_map(p, count));
}

enum at_code at_pack_u64(struct at_buf *b, uint64_t v)
{
    PACK(b, msgpack_pack_uint64(p, v));
}

enum at_code at_pack_i64(struct at_buf *b, int64_t v)
{
    PACK(b, msgpack_pack_int64(p, v));
}

enum at_code at_pack_bool(struct at_buf *b, bool v)
{
    PACK(b, v ? msgpack_pack_true(p) : msgpack_pack_false(p));
}

enum at_code at_pack_nil(struct at_buf *b)
{
    PACK(b, msgpack_pack_nil(p));
}

enum at_code at_pack_bin(struct at_buf *b, struct at_slice s)
{
    if (s.len > UINT32_MAX)
        return AT_RESOURCE_EXHAUSTED;
    PACK(b, msgpack_pack_bin_with_body(p, s.data, s.len));
}

enum at_code at_pack_str(struct at_buf *b, struct at_slice s)
{
    if (s.len > UINT32_MAX)
        return AT_RESOURCE_EXHAUSTED;
    PACK(b, msgpack_pack_str_with_body(p, s.data, s.len));
}

static int write_bytes(void *ctx, const char *data, size_t len)
{
    return at_buf_append(ctx, at_slice_make(data, len)) == AT_OK ? 0 : -1;
}

/* A head may have been written when the body no longer fits. */
static enum at_code undo(struct at_buf *b, size_t len_before)
{
    b->len = len_before;
    return AT_RESOURCE_EXHAUSTED;
}

void at_unpack_init(struct at_unpack *u, struct at_slice s)
{
    *u = (struct at_unpack){.next = s.data, .end = s.len ? s.data + s.len : s.data};
}

enum at_code at_unpack_array(struct at_unpack *u, uint32_t count_max, uint32_t *ret_count)
{
    return count_read(u, KIND_ARRAY, count_max, ret_count);
}

enum at_code at_unpack_map(struct at_unpack *u, uint32_t count_max, uint32_t *ret_count)
{
    return count_read(u, KIND_MAP, count_max, ret_count);
}

enum at_code at_unpack_u64_wide(struct at_unpack *u, uint64_t *ret_v)
{
    struct head h;

    AT_TRY(head_read(u, &h));
    if (h.kind != KIND_UINT && (h.kind != KIND_INT || (int64_t)h.number < 0))
        return fail(u);
    *ret_v = h.number;
    return AT_OK;
}

enum at_code at_unpack_u32(struct at_unpack *u, uint32_t *ret_v)
{
    uint64_t v = 0;

    AT_TRY(at_unpack_u64(u, &v));
    if (v > UINT32_MAX)
        return fail(u);
    *ret_v = (uint32_t)v;
    return AT_OK;
}

enum at_code at_unpack_i64(struct at_unpack *u, int64_t *ret_v)
{
    struct head h;

    AT_TRY(head_read(u, &h));
    if (h.kind != KIND_INT && (h.kind != KIND_UINT || h.number > INT64_MAX))
        return fail(u);
    *ret_v = (int64_t)h.number;
    return AT_OK;
}

enum at_code at_unpack_bool(struct at_unpack *u, bool *ret_v)
{
    struct head h;

    AT_TRY(head_read(u, &h));
    if (h.kind != KIND_BOOL)
        return fail(u);
    *ret_v = h.number != 0;
    return AT_OK;
}

enum at_code at_unpack_bin(struct at_unpack *u, struct at_slice *ret_s)
{
    struct head h;

    AT_TRY(head_read(u, &h));
    if (h.kind != KIND_BYTES || h.number > (size_t)(u->end - u->next))
        return fail(u);
    *ret_s = at_slice_make(u->next, (size_t)h.number);
    u->next += h.number;
    return AT_OK;
}

bool at_unpack_is_nil(struct at_unpack *u)
{
    if (u->next == u->end || *u->next != 0xc0)
        return false;
    u->next++;
    return true;
}

enum at_code at_unpack_skip(struct at_unpack *u)
{
    uint64_t items[SKIP_DEPTH_MAX + 1] = {1}; /* still to pass over, by depth */
    size_t depth = 0;

    for (;;) {
        struct head h;
        while (items[depth] == 0) {
            if (depth == 0)
                return AT_OK;
            depth--;
        }
        items[depth]--;
        AT_TRY(head_read(u, &h));
        if (h.kind == KIND_ARRAY || h.kind == KIND_MAP) {
            if (depth == SKIP_DEPTH_MAX)
                return fail(u);
            items[++depth] = h.kind == KIND_MAP ? h.number * 2 : h.number;
        } else if (h.kind == KIND_BYTES || h.kind == KIND_EXT) {
            if (h.number > (size_t)(u->end - u->next))
                return fail(u);
            u->next += h.number;
        }
    }
}

bool at_unpack_done(const struct at_unpack *u)
{
    return !u->failed && u->next == u->end;
}

static enum at_code
count_read(struct at_unpack *u, enum kind kind, uint32_t count_max, uint32_t *ret_count)
{
    struct head h;

    AT_TRY(head_read(u, &h));
    uint64_t bytes_min = kind == KIND_MAP ? h.number * 2 : h.number;
    if (h.kind != kind || h.number > count_max || bytes_min > (size_t)(u->end - u->next))
        return fail(u);
    *ret_count = (uint32_t)h.number;
    return AT_OK;
}

static enum at_code head_read(struct at_unpack *u, struct head *ret_head)
{
    if (u->next == u->end)
        return fail(u);

    uint8_t first = *u->next++;
    if (first <= 0x7f)
        *ret_head = (struct head){KIND_UINT, first};
    else if (first <= 0x8f)
        *ret_head = (struct head){KIND_MAP, first & 0x0f};
    else if (first <= 0x9f)
        *ret_head = (struct head){KIND_ARRAY, first & 0x0f};
    else if (first <= 0xbf)
        *ret_head = (struct head){KIND_BYTES, first & 0x1f};
    else if (first >= 0xe0)
        *ret_head = (struct head){KIND_INT, (uint64_t)(int8_t)first};
    else
        return wide_head_read(u, first, ret_head);
    return AT_OK;
}

/* The first bytes 0xc0 to 0xdf. */
static enum at_code wide_head_read(struct at_unpack *u, uint8_t first, struct head *ret_head)
{
    static const struct {
        uint8_t kind;
        uint8_t width; /* bytes of number that follow */
        uint8_t add;   /* to the number: ext's type byte, or a fixed value */
    } table[32] = {
        {KIND_NIL, 0, 0},   {KIND_INVALID, 0, 0}, {KIND_BOOL, 0, 0},  {KIND_BOOL, 0, 1},
        {KIND_BYTES, 1, 0}, {KIND_BYTES, 2, 0},   {KIND_BYTES, 4, 0}, /* bin */
        {KIND_EXT, 1, 1},   {KIND_EXT, 2, 1},     {KIND_EXT, 4, 1},   {KIND_FLOAT, 4, 0},
        {KIND_FLOAT, 8, 0}, {KIND_UINT, 1, 0},    {KIND_UINT, 2, 0},  {KIND_UINT, 4, 0},
        {KIND_UINT, 8, 0},  {KIND_INT, 1, 0},     {KIND_INT, 2, 0},   {KIND_INT, 4, 0},
        {KIND_INT, 8, 0},   {KIND_EXT, 0, 2},     {KIND_EXT, 0, 3},   {KIND_EXT, 0, 5},
        {KIND_EXT, 0, 9},   {KIND_EXT, 0, 17},    {KIND_BYTES, 1, 0}, {KIND_BYTES, 2, 0},
        {KIND_BYTES, 4, 0}, {KIND_ARRAY, 2, 0},   {KIND_ARRAY, 4, 0}, {KIND_MAP, 2, 0},
        {KIND_MAP, 4, 0},
    };
    unsigned width = table[first - 0xc0].width;
    enum kind kind = (enum kind)table[first - 0xc0].kind;
    uint64_t number = 0;

    if (kind == KIND_INVALID || width > (size_t)(u->end - u->next))
        return fail(u);
    for (unsigned i = 0; i < width; i++)
        number = number << 8 | *u->next++;
    if (kind == KIND_INT && width > 0) {
        unsigned unused = 64 - 8 * width;
        number = (uint64_t)((int64_t)(number << unused) >> unused);
    }
    *ret_head = (struct head){kind, number + table[first - 0xc0].add};
    return AT_OK;
}

static enum at_code fail(struct at_unpack *u)
{
    u->failed = true;
    u->next = u->end;
    return AT_INVALID_ARGUMENT;
}
