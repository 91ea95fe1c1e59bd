#include <inttypes.h>

#include "base/assert.h"
#include "base/hash.h"
#include "property/model.h"

#define SHOWN_BYTES 64 /* longer values are shown as their length and hash */

static void must(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

static void show(struct at_buf *out, struct at_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        must(at_buf_printf(out, s.data[i] >= 0x20 && s.data[i] < 0x7f ? "%c" : "\\x%02x",
                           s.data[i]));
}

void model_put_row(struct at_buf *out, struct at_slice row, const struct at_cell *cells, uint32_t n)
{
    show(out, row);
    for (uint32_t i = 0; i < n; i++) {
        const struct at_cell *c = &cells[i];
        must(at_buf_printf(out, " %.*s:", AT_SLICE_ARG(c->family)));
        show(out, c->qualifier);
        must(at_buf_printf(out, "@%" PRId64 "=", c->timestamp_micros));
        if (c->value.len <= SHOWN_BYTES)
            show(out, c->value);
        else
            must(at_buf_printf(out, "<%zu,%" PRIx64 ">", c->value.len, at_hash64(c->value, 0)));
        if (c->label.len)
            must(at_buf_printf(out, "#%.*s", AT_SLICE_ARG(c->label)));
    }
    must(at_buf_append(out, AT_LIT(";")));
}

/* --- comparing --- */

#define TOKENS_MAX 4096

/* Is the order of these two undefined? They are of one column and timestamp. */
static bool same_place(struct at_slice a, struct at_slice b)
{
    const uint8_t *end = a.len ? memchr(a.data, '=', a.len) : NULL;

    return end && at_slice_has_prefix(b, at_slice_make(a.data, (size_t)(end - a.data) + 1));
}

/* Puts cells whose order is undefined into the order of their text. */
static void normalise(struct at_slice text, struct at_buf *out)
{
    struct at_slice tokens[TOKENS_MAX];
    size_t count = 0;

    for (size_t start = 0, i = 0; i <= text.len; i++) {
        if (i < text.len && text.data[i] != ' ' && text.data[i] != ';')
            continue;
        AT_ASSERT(count < TOKENS_MAX);
        tokens[count] = at_slice_make(text.data + start, i - start);
        for (size_t k = count++; k > 0 && same_place(tokens[k - 1], tokens[k]) &&
                                 at_slice_cmp(tokens[k - 1], tokens[k]) > 0;
             k--) {
            struct at_slice swap = tokens[k - 1];
            tokens[k - 1] = tokens[k];
            tokens[k] = swap;
        }
        start = i + 1;
    }
    for (size_t i = 0; i < count; i++) {
        must(at_buf_append(out, tokens[i]));
        must(at_buf_append(out, AT_LIT(" ")));
    }
}

bool model_same_rows(struct at_slice a, struct at_slice b)
{
    struct at_buf x;
    struct at_buf y;

    if (a.len != b.len || at_slice_eq(a, b))
        return at_slice_eq(a, b);
    at_buf_init(&x, AT_MIB);
    at_buf_init(&y, AT_MIB);
    normalise(a, &x);
    normalise(b, &y);
    bool same = at_slice_eq(at_buf_slice(&x), at_buf_slice(&y));
    at_buf_deinit(&x);
    at_buf_deinit(&y);
    return same;
}
