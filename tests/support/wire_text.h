/* wire_text.h: protobuf messages as short text, for tables of raw requests.
 *
 *   "1:$t 2:r1 3{1{1:f 2:q 3=1000 4:'a value'}}"
 *
 * A field is its number and then =VARINT, #DOUBLE, {FIELDS} or :BYTES. Bytes are a word, 'quoted'
 * (where \0 to \9 are those bytes), *N (N times 'x'), or $x, which is the table name
 * "projects/p/instances/i/tables/x". */
#ifndef ATOLL_TESTS_SUPPORT_WIRE_TEXT_H
#define ATOLL_TESTS_SUPPORT_WIRE_TEXT_H

#include <stdlib.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/pbwire.h"

#define WIRE_TEXT_INSTANCE "projects/p/instances/i"

static inline void wire_text_must(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

static inline struct at_slice wire_text_quoted(struct at_slice s, struct at_arena *arena)
{
    uint8_t *out = at_arena_alloc(arena, s.len);
    size_t len = 0;

    for (size_t i = 0; i < s.len; i++) {
        bool escape =
            s.data[i] == '\\' && i + 1 < s.len && s.data[i + 1] >= '0' && s.data[i + 1] <= '9';
        i += escape;
        out[len++] = escape ? (uint8_t)(s.data[i] - '0') : s.data[i];
    }
    return at_slice_make(out, len);
}

static inline struct at_slice wire_text_word(const char **p, struct at_arena *arena)
{
    if (**p == '\'') {
        size_t len = strcspn(*p + 1, "'");
        struct at_slice s = at_slice_make(*p + 1, len);
        *p += len + 2;
        return wire_text_quoted(s, arena);
    }
    size_t len = strcspn(*p, " }");
    struct at_slice s = at_slice_make(*p, len);
    *p += len;
    if (len > 0 && s.data[0] == '$')
        return at_slice_cstr(at_arena_printf(arena, WIRE_TEXT_INSTANCE "/tables/%.*s", (int)len - 1,
                                             (const char *)s.data + 1));
    if (len > 1 && s.data[0] == '*') {
        size_t n = strtoul((const char *)s.data + 1, NULL, 10);
        return at_slice_make(memset(at_arena_alloc(arena, n), 'x', n), n);
    }
    return s;
}

/* Reads fields up to the end or to a '}', which it leaves. */
static inline struct at_slice wire_text_fields(const char **p, struct at_arena *arena)
{
    struct at_buf out;

    at_buf_init(&out, 256 * AT_MIB);
    for (*p += strspn(*p, " "); **p != '\0' && **p != '}'; *p += strspn(*p, " ")) {
        char *end;
        uint32_t field = (uint32_t)strtoul(*p, &end, 10);
        char type = *end;
        *p = end + 1;
        if (type == '=') {
            wire_text_must(at_pb_put_varint(&out, field, (uint64_t)strtoll(*p, &end, 10)));
            *p = end;
        } else if (type == '#') {
            double d = strtod(*p, &end);
            *p = end;
            wire_text_must(at_pb_put_head(&out, field, 0)); /* a tag and a length */
            out.data[out.len - 2] = (uint8_t)(field << 3 | AT_PB_FIXED64);
            out.len--;
            wire_text_must(at_buf_append(&out, at_slice_make(&d, sizeof(d))));
        } else if (type == '{') {
            wire_text_must(at_pb_put_bytes(&out, field, wire_text_fields(p, arena)));
            AT_ASSERT(**p == '}');
            ++*p;
        } else {
            AT_ASSERT(type == ':');
            wire_text_must(at_pb_put_bytes(&out, field, wire_text_word(p, arena)));
        }
    }
    struct at_slice bytes = at_arena_copy(arena, at_buf_slice(&out));
    at_buf_deinit(&out);
    return bytes;
}

static inline struct at_slice wire_text(const char *text, struct at_arena *arena)
{
    const char *p = text;
    struct at_slice bytes = wire_text_fields(&p, arena);

    AT_ASSERT(*p == '\0');
    return bytes;
}

#endif
