#include "base/escape.h"

static enum at_code put(struct at_buf *out, char c);
static int hex_value(uint8_t c);
static int base64_value(uint8_t c);
static size_t rune_read(struct at_slice s, uint32_t *ret_rune);
static bool rune_printable(uint32_t rune);
static enum at_code quote_rune(struct at_buf *out, uint32_t rune);

static const char hex_digits[] = "0123456789ABCDEF";

enum at_code at_escape_percent(struct at_buf *out, struct at_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = s.data[i];
        bool edge = i == 0 || i + 1 == s.len;
        if (c >= 0x20 && c <= 0x7e && c != '%' && !(c == ' ' && edge)) {
            AT_TRY(put(out, (char)c));
            continue;
        }
        char text[3] = {'%', hex_digits[c >> 4], hex_digits[c & 15]};
        AT_TRY(at_buf_append(out, at_slice_make(text, sizeof(text))));
    }
    return AT_OK;
}

enum at_code at_unescape_percent(struct at_buf *out, struct at_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = (char)s.data[i];
        if (c == '%' && s.len - i > 2) {
            int high = hex_value(s.data[i + 1]);
            int low = hex_value(s.data[i + 2]);
            if (high >= 0 && low >= 0) {
                c = (char)(high << 4 | low);
                i += 2;
            }
        }
        AT_TRY(put(out, c));
    }
    return AT_OK;
}

enum at_code at_escape_base64(struct at_buf *out, struct at_slice s, bool url, bool pad)
{
    char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    if (url) {
        digits[62] = '-';
        digits[63] = '_';
    }
    for (size_t i = 0; i < s.len; i += 3) {
        size_t n = s.len - i < 3 ? s.len - i : 3;
        uint32_t v = (uint32_t)s.data[i] << 16;
        if (n > 1)
            v |= (uint32_t)s.data[i + 1] << 8;
        if (n > 2)
            v |= s.data[i + 2];
        char text[4] = {digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=',
                        n > 2 ? digits[v & 63] : '='};
        AT_TRY(at_buf_append(out, at_slice_make(text, pad ? 4 : n + 1)));
    }
    return AT_OK;
}

enum at_code at_unescape_base64(struct at_buf *out, struct at_slice s)
{
    size_t len_before = out->len;
    size_t len = s.len;
    uint32_t bits = 0;

    if (s.len % 4 == 0) {
        for (int pads = 0; pads < 2 && len > 0 && s.data[len - 1] == '='; pads++)
            len--;
    }
    if (len % 4 == 1)
        return AT_INVALID_ARGUMENT;
    AT_TRY(at_buf_reserve(out, len / 4 * 3 + (len % 4 ? len % 4 - 1 : 0)));
    for (size_t i = 0; i < len; i++) {
        int v = base64_value(s.data[i]);
        if (v < 0) {
            out->len = len_before;
            return AT_INVALID_ARGUMENT;
        }
        bits = bits << 6 | (uint32_t)v;
        /* Digit i completes a byte, except the first of each four. */
        if (i % 4 != 0)
            out->data[out->len++] = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    return AT_OK;
}

enum at_code at_escape_quoted(struct at_buf *out, struct at_slice s)
{
    AT_TRY(put(out, '"'));
    while (s.len > 0) {
        uint32_t rune = 0;
        size_t n = rune_read(s, &rune);
        if (n == 0) {
            AT_TRY(at_buf_printf(out, "\\x%02x", s.data[0]));
            n = 1;
        } else if (rune_printable(rune) && rune != '"' && rune != '\\') {
            AT_TRY(at_buf_append(out, at_slice_make(s.data, n)));
        } else {
            AT_TRY(quote_rune(out, rune));
        }
        s = at_slice_from(s, n);
    }
    return put(out, '"');
}

/* Most text is ASCII: eight bytes of it at a time. */
static size_t ascii_len(struct at_slice s)
{
    size_t n = 0;

    for (uint64_t eight; n + sizeof(eight) <= s.len; n += sizeof(eight)) {
        memcpy(&eight, s.data + n, sizeof(eight));
        if ((eight & 0x8080808080808080u) != 0)
            break;
    }
    while (n < s.len && s.data[n] < 0x80)
        n++;
    return n;
}

bool at_utf8_valid(struct at_slice s)
{
    for (s = at_slice_from(s, ascii_len(s)); s.len > 0; s = at_slice_from(s, ascii_len(s))) {
        uint32_t rune;
        size_t n = rune_read(s, &rune);
        if (n == 0)
            return false;
        s = at_slice_from(s, n);
    }
    return true;
}

static enum at_code quote_rune(struct at_buf *out, uint32_t rune)
{
    static const char named[] = "\a\b\f\n\r\t\v\"\\";
    static const char letters[] = "abfnrtv\"\\";
    const char *at = rune > 0 && rune < 0x7f ? strchr(named, (int)rune) : NULL;

    if (at != NULL)
        return at_buf_printf(out, "\\%c", letters[at - named]);
    if (rune < 0x80)
        return at_buf_printf(out, "\\x%02x", rune);
    return rune < 0x10000 ? at_buf_printf(out, "\\u%04x", rune)
                          : at_buf_printf(out, "\\U%08x", rune);
}

/* Returns the length of the well-formed UTF-8 sequence at the front of `s` (not empty), or 0. */
static size_t rune_read(struct at_slice s, uint32_t *ret_rune)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = s.data[0];
    size_t n = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (n == 0 || n > s.len || first > 0xf4)
        return 0;
    uint32_t rune = n == 1 ? first : first & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s.data[i] & 0xc0) != 0x80)
            return 0;
        rune = rune << 6 | (s.data[i] & 0x3f);
    }
    if (rune < smallest[n] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
        return 0;
    *ret_rune = rune;
    return n;
}

/* Close to Go's strconv.IsPrint: controls, spaces other than ' ', format and private characters. */
static bool rune_printable(uint32_t rune)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } hidden[] = {
        {0x00, 0x1f},       {0x7f, 0xa0},        {0xad, 0xad},     {0x1680, 0x1680},
        {0x2000, 0x200f},   {0x2028, 0x202f},    {0x205f, 0x206f}, {0x3000, 0x3000},
        {0xd800, 0xf8ff},   {0xfeff, 0xfeff},    {0xfff0, 0xfffb}, {0xfffe, 0xffff},
        {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff},
    };

    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (rune >= hidden[i].first && rune <= hidden[i].last)
            return false;
    }
    return true;
}

static enum at_code put(struct at_buf *out, char c)
{
    return at_buf_append(out, at_slice_make(&c, 1));
}

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int base64_value(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}
