/* slice.h: a borrowed run of bytes, and the order that all keys follow. PURE.
 *
 * A slice never owns. How long its bytes live is said at each function that
 * returns or keeps one. `data` may be NULL only when `len` is 0. */
#ifndef ATOLL_BASE_SLICE_H
#define ATOLL_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct at_slice {
    const uint8_t *data;
    size_t len;
};

/* AT_LIT makes a slice of a string literal, without its NUL. */
#define AT_LIT(s) ((struct at_slice){(const uint8_t *)("" s ""), sizeof(s) - 1})

/* AT_LIT_INIT is AT_LIT for the initialisers of static tables. */
#define AT_LIT_INIT(s)                            \
    {                                             \
        (const uint8_t *)("" s ""), sizeof(s) - 1 \
    }

/* AT_SLICE_ARG expands to the two arguments of a "%.*s" conversion. */
#define AT_SLICE_ARG(s) (int)(s).len, (const char *)((s).len ? (const char *)(s).data : "")

static inline struct at_slice at_slice_make(const void *data, size_t len)
{
    struct at_slice s = {(const uint8_t *)data, len};
    return s;
}

/* at_slice_cstr borrows a C string; NULL gives the empty slice. */
static inline struct at_slice at_slice_cstr(const char *s)
{
    return at_slice_make(s, s ? strlen(s) : 0);
}

/* at_slice_cmp orders by unsigned bytes, a prefix before what it begins:
 * Bigtable's row order. Returns <0, 0 or >0. */
static inline int at_slice_cmp(struct at_slice a, struct at_slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.data, b.data, n) : 0;
    if (c != 0)
        return c;
    return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool at_slice_eq(struct at_slice a, struct at_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool at_slice_eq_cstr(struct at_slice a, const char *s)
{
    return at_slice_eq(a, at_slice_cstr(s));
}

static inline bool at_slice_has_prefix(struct at_slice s, struct at_slice prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

/* at_slice_from drops the first `n` bytes; `n` must be at most `len`. */
static inline struct at_slice at_slice_from(struct at_slice s, size_t n)
{
    return at_slice_make(s.len ? s.data + n : s.data, s.len - n);
}

#endif
