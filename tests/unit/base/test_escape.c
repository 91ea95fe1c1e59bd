#include "base/escape.h"

#include "base/alloc.h"
#include "base/prng.h"
#include "support/test.h"

typedef enum at_code (*escape_fn)(struct at_buf *out, struct at_slice s);

static enum at_code base64_std(struct at_buf *out, struct at_slice s)
{
    return at_escape_base64(out, s, false, true);
}

static enum at_code base64_url_bare(struct at_buf *out, struct at_slice s)
{
    return at_escape_base64(out, s, true, false);
}

#define LIT AT_LIT_INIT

struct escape_case {
    const char *name;
    escape_fn fn;
    struct at_slice in;
    struct at_slice want;
    enum at_code code;
};

static const struct escape_case cases[] = {
    {"percent leaves printable ASCII alone", at_escape_percent, LIT("a b~!"), LIT("a b~!"), AT_OK},
    {"percent escapes the rest", at_escape_percent, LIT("50%\n\0\x7f\xc3\xa9"),
     LIT("50%25%0A%00%7F%C3%A9"), AT_OK},
    {"percent escapes a space at either end", at_escape_percent, LIT(" a b "), LIT("%20a b%20"),
     AT_OK},
    {"unescapes both cases of hex", at_unescape_percent, LIT("%c3%A9%25"), LIT("\xc3\xa9%"), AT_OK},
    {"copies what is no escape", at_unescape_percent, LIT("100% %zz %4"), LIT("100% %zz %4"),
     AT_OK},
    {"base64 of nothing", base64_std, LIT(""), LIT(""), AT_OK},
    {"base64 of one byte", base64_std, LIT("f"), LIT("Zg=="), AT_OK},
    {"base64 of two bytes", base64_std, LIT("fo"), LIT("Zm8="), AT_OK},
    {"base64 of three bytes", base64_std, LIT("foo"), LIT("Zm9v"), AT_OK},
    {"base64 of six bytes", base64_std, LIT("foobar"), LIT("Zm9vYmFy"), AT_OK},
    {"standard alphabet", base64_std, LIT("\xfb\xff\xfe"), LIT("+//+"), AT_OK},
    {"URL alphabet, no padding", base64_url_bare, LIT("\xfb\xff\xfe\xff"), LIT("-__-_w"), AT_OK},
    {"reads padded base64", at_unescape_base64, LIT("Zm8="), LIT("fo"), AT_OK},
    {"reads bare base64", at_unescape_base64, LIT("Zm8"), LIT("fo"), AT_OK},
    {"reads both alphabets", at_unescape_base64, LIT("+//+-__-"), LIT("\xfb\xff\xfe\xfb\xff\xfe"),
     AT_OK},
    {"reads empty base64", at_unescape_base64, LIT(""), LIT(""), AT_OK},
    {"rejects a lone digit", at_unescape_base64, LIT("Zm9vZ"), LIT(""), AT_INVALID_ARGUMENT},
    {"rejects other characters", at_unescape_base64, LIT("Zm9v Zg="), LIT(""), AT_INVALID_ARGUMENT},
    {"rejects three pads", at_unescape_base64, LIT("Z==="), LIT(""), AT_INVALID_ARGUMENT},
    {"rejects a pad inside", at_unescape_base64, LIT("Zg==Zg=="), LIT(""), AT_INVALID_ARGUMENT},
    {"rejects pads that are no multiple of four", at_unescape_base64, LIT("Zm8=="), LIT(""),
     AT_INVALID_ARGUMENT},
    {"quotes plain text", at_escape_quoted, LIT("ab c"), LIT("\"ab c\""), AT_OK},
    {"quotes nothing", at_escape_quoted, LIT(""), LIT("\"\""), AT_OK},
    {"quotes as Go's %q", at_escape_quoted, LIT("\a\b\f\n\r\t\v\"\\\0\x1f\x7f"),
     LIT("\"\\a\\b\\f\\n\\r\\t\\v\\\"\\\\\\x00\\x1f\\x7f\""), AT_OK},
    {"quotes UTF-8 as it is", at_escape_quoted, LIT("\xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80"),
     LIT("\"\xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80\""), AT_OK},
    {"quotes hidden runes by number", at_escape_quoted, LIT("\xc2\xad\xef\xbb\xbf\xf3\xa0\x80\x81"),
     LIT("\"\\u00ad\\ufeff\\U000e0001\""), AT_OK},
    {"quotes broken UTF-8 as bytes", at_escape_quoted, LIT("\xc3(\xed\xa0\x80\xff"),
     LIT("\"\\xc3(\\xed\\xa0\\x80\\xff\""), AT_OK},
};

static void escapes(void **state)
{
    const struct escape_case *c = *state;
    AT_CLEANUP(at_buf_deinit) struct at_buf out;

    at_buf_init(&out, 1000);
    assert_int_equal(at_buf_append(&out, AT_LIT(">")), AT_OK);
    assert_int_equal(c->fn(&out, c->in), c->code);
    assert_int_equal(out.len, 1 + c->want.len);
    assert_memory_equal(out.data + 1, c->want.len ? c->want.data : out.data, c->want.len);
}

static void all_bytes_come_back(void **state)
{
    struct at_prng rng;
    uint8_t data[70];

    (void)state;
    at_prng_init(&rng, 3);
    for (size_t len = 0; len < sizeof(data); len++) {
        AT_CLEANUP(at_buf_deinit) struct at_buf text;
        AT_CLEANUP(at_buf_deinit) struct at_buf back;
        at_buf_init(&text, 1000);
        at_buf_init(&back, len); /* decoding needs no more than the result */
        for (size_t i = 0; i < len; i++)
            data[i] = (uint8_t)at_prng_u64(&rng);
        for (int kind = 0; kind < 5; kind++) {
            at_buf_clear(&text);
            at_buf_clear(&back);
            if (kind == 4) {
                assert_int_equal(at_escape_percent(&text, at_slice_make(data, len)), AT_OK);
                assert_int_equal(at_unescape_percent(&back, at_buf_slice(&text)), AT_OK);
            } else {
                assert_int_equal(
                    at_escape_base64(&text, at_slice_make(data, len), kind & 1, kind & 2), AT_OK);
                assert_int_equal(at_unescape_base64(&back, at_buf_slice(&text)), AT_OK);
            }
            assert_true(at_slice_eq(at_buf_slice(&back), at_slice_make(data, len)));
        }
    }
}

static void a_full_buffer_is_reported(void **state)
{
    static const escape_fn fns[] = {at_escape_percent, at_unescape_percent, base64_std,
                                    at_unescape_base64, at_escape_quoted};

    (void)state;
    for (size_t i = 0; i < sizeof(fns) / sizeof(fns[0]); i++) {
        AT_CLEANUP(at_buf_deinit) struct at_buf out;
        at_buf_init(&out, 2);
        assert_int_equal(fns[i](&out, AT_LIT("abcd")), AT_RESOURCE_EXHAUSTED);
    }
}

static void utf8_is_checked_strictly(void **state)
{
    static const struct {
        struct at_slice s;
        bool valid;
    } table[] = {
        {LIT(""), true},
        {LIT("a\0b"), true},
        {LIT("\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), true},
        {LIT("\xed\x9f\xbf\xee\x80\x80"), true},
        {LIT("\x80"), false},             /* continuation alone */
        {LIT("\xc3"), false},             /* cut off */
        {LIT("\xe2\x82"), false},         /* cut off */
        {LIT("\xc0\x80"), false},         /* overlong */
        {LIT("\xc1\xbf"), false},         /* overlong */
        {LIT("\xe0\x9f\xbf"), false},     /* overlong */
        {LIT("\xf0\x8f\xbf\xbf"), false}, /* overlong */
        {LIT("\xed\xa0\x80"), false},     /* surrogate */
        {LIT("\xf4\x90\x80\x80"), false}, /* beyond U+10FFFF */
        {LIT("\xf8\x88\x80\x80\x80"), false},
        {LIT("\xff"), false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        assert_int_equal(at_utf8_valid(table[i].s), table[i].valid);
        for (size_t ascii = 1; ascii <= 17; ascii++) { /* before it and behind it */
            uint8_t text[64];
            size_t len = table[i].s.len;
            memset(text, 'a', sizeof(text));
            memcpy(text + ascii, table[i].s.data, len);
            assert_int_equal(at_utf8_valid(at_slice_make(text, ascii + len)), table[i].valid);
            assert_int_equal(at_utf8_valid(at_slice_make(text, ascii + len + 9)), table[i].valid);
        }
    }
}

#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

int main(void)
{
    struct CMUnitTest tests[CASE_COUNT + 3] = {
        cmocka_unit_test(all_bytes_come_back),
        cmocka_unit_test(a_full_buffer_is_reported),
        cmocka_unit_test(utf8_is_checked_strictly),
    };
    struct escape_case rows[CASE_COUNT];

    memcpy(rows, cases, sizeof(cases));
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tests[3 + i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = escapes, .initial_state = &rows[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
