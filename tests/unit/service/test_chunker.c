#include "cluster/service/chunker.h"

#include "base/alloc.h"
#include "base/prng.h"
#include "support/row_reader.h"
#include "support/test.h"

/* What the chunker writes is read back by a client that accepts nothing but a well-formed stream.
 */

struct harness {
    struct at_chunker chunker;
    struct row_reader reader;
    struct at_buf out;
    size_t start; /* of the message under way */
    bool open;
};

static struct at_buf *begin_message(void *ctx)
{
    struct harness *h = ctx;

    assert_false(h->open);
    h->open = true;
    at_buf_clear(&h->out);
    assert_int_equal(at_buf_append(&h->out, AT_LIT("\0\0\0\0\0")), AT_OK);
    h->start = h->out.len;
    return &h->out;
}

static void commit_message(void *ctx)
{
    struct harness *h = ctx;

    assert_true(h->open);
    h->open = false;
    row_reader_message(&h->reader, at_slice_from(at_buf_slice(&h->out), h->start));
}

static void harness_init(struct harness *h, size_t out_bytes_max)
{
    *h = (struct harness){0};
    at_buf_init(&h->out, out_bytes_max);
    row_reader_init(&h->reader);
    at_chunker_init(&h->chunker, (struct at_chunker_port){h, begin_message, commit_message});
}

static void harness_deinit(struct harness *h)
{
    at_chunker_deinit(&h->chunker);
    row_reader_deinit(&h->reader);
    at_buf_deinit(&h->out);
}

static void put_cell(struct harness *h,
                     const char *family,
                     const char *qualifier,
                     int64_t timestamp_micros,
                     struct at_slice value)
{
    const struct at_cell cell = {.family = at_slice_cstr(family),
                                 .qualifier = at_slice_cstr(qualifier),
                                 .timestamp_micros = timestamp_micros,
                                 .value = value};

    at_chunker_cell(&h->chunker, &cell);
}

static void assert_text(struct harness *h, const char *want)
{
    at_chunker_flush(&h->chunker);
    row_reader_finish(&h->reader);
    assert_string_equal(at_buf_cstr(&h->reader.text), want);
}

static void rows_come_back_as_they_were_put(void **state)
{
    struct harness h;

    (void)state;
    harness_init(&h, AT_MIB);
    at_chunker_row(&h.chunker, AT_LIT("r1"));
    put_cell(&h, "f", "a", 2000, AT_LIT("2"));
    put_cell(&h, "f", "a", 1000, AT_LIT("1"));
    put_cell(&h, "f", "b", 0, AT_LIT(""));
    put_cell(&h, "g", "b", -1, AT_LIT("x"));
    at_chunker_row_end(&h.chunker);
    at_chunker_row(&h.chunker, AT_LIT("r2"));
    put_cell(&h, "g", "b", 5, AT_LIT("y"));
    at_chunker_row_end(&h.chunker);
    assert_text(&h, "r1 f:a@2000=2 f:a@1000=1 f:b@0= g:b@-1=x;r2 g:b@5=y;");
    assert_int_equal(h.reader.messages, 1);
    assert_int_equal(h.chunker.row_count, 2);
    harness_deinit(&h);
}

static void an_empty_qualifier_is_sent_as_present(void **state)
{
    struct harness h;

    (void)state;
    harness_init(&h, AT_MIB);
    at_chunker_row(&h.chunker, AT_LIT("r"));
    put_cell(&h, "f", "", 1, AT_LIT("v"));
    put_cell(&h, "g", "", 1, AT_LIT("w"));
    at_chunker_row_end(&h.chunker);
    assert_text(&h, "r f:@1=v g:@1=w;");
    harness_deinit(&h);
}

static void a_repeated_cell_is_a_chunk_without_names(void **state)
{
    static const uint8_t want[] = {0x0a, 21,   0x0a, 1,    'r',  0x12, 3,    0x0a, 1,    'f',  0x1a,
                                   3,    0x0a, 1,    'q',  0x20, 1,    0x2a, 1,    'l',  0x32, 1,
                                   'v',  0x0a, 7,    0x20, 1,    0x32, 1,    'w',  0x48, 1};
    struct harness h;
    const struct at_cell labelled = {.family = AT_LIT("f"),
                                     .qualifier = AT_LIT("q"),
                                     .timestamp_micros = 1,
                                     .value = AT_LIT("v"),
                                     .label = AT_LIT("l")};

    (void)state;
    harness_init(&h, AT_MIB);
    at_chunker_row(&h.chunker, AT_LIT("r"));
    at_chunker_cell(&h.chunker, &labelled);
    put_cell(&h, "f", "q", 1, AT_LIT("w"));
    at_chunker_row_end(&h.chunker);
    struct at_slice got = at_slice_from(at_buf_slice(&h.out), h.start);
    assert_int_equal(got.len, sizeof(want));
    assert_memory_equal(got.data, want, sizeof(want));
    assert_text(&h, "r f:q@1=v#l f:q@1=w;");
    harness_deinit(&h);
}

static void a_row_without_cells_leaves_no_trace(void **state)
{
    struct harness h;

    (void)state;
    harness_init(&h, AT_MIB);
    at_chunker_row(&h.chunker, AT_LIT("r"));
    at_chunker_row_end(&h.chunker);
    at_chunker_flush(&h.chunker);
    at_chunker_end(&h.chunker);
    assert_text(&h, "");
    assert_int_equal(h.reader.messages, 0);
    harness_deinit(&h);
}

static void a_flush_within_a_row_waits_for_its_last_chunk(void **state)
{
    struct harness h;

    (void)state;
    harness_init(&h, AT_MIB);
    at_chunker_row(&h.chunker, AT_LIT("r"));
    at_chunker_flush(&h.chunker);
    put_cell(&h, "f", "q", 1, AT_LIT("v"));
    at_chunker_flush(&h.chunker);
    assert_int_equal(h.reader.messages, 0);
    at_chunker_row_end(&h.chunker);
    assert_text(&h, "r f:q@1=v;");
    harness_deinit(&h);
}

/* Commit adds two bytes: the length of the chunk's length changes at 126 and at 16382. */
static void commit_fits_into_chunks_of_every_length(void **state)
{
    static uint8_t value[17000];
    struct harness h;
    unsigned rows = 0;
    char key[16];

    (void)state;
    harness_init(&h, 64 * AT_MIB);
    memset(value, 'v', sizeof(value));
    for (size_t len = 0; len<sizeof(value); len += len> 200 && len < 16300 ? 97 : 1) {
        (void)snprintf(key, sizeof(key), "r%08zu", len);
        at_chunker_row(&h.chunker, at_slice_cstr(key));
        put_cell(&h, "f", "q", 1, at_slice_make(value, len));
        at_chunker_row_end(&h.chunker);
        at_chunker_flush(&h.chunker);
        rows++;
    }
    row_reader_finish(&h.reader);
    assert_int_equal(h.reader.rows, rows);
    assert_int_equal(h.reader.messages, rows);
    harness_deinit(&h);
}

static void messages_are_cut_between_cells(void **state)
{
    static uint8_t value[10000];
    struct harness h;
    char qualifier[16];

    (void)state;
    harness_init(&h, 4 * AT_MIB);
    memset(value, 'v', sizeof(value));
    at_chunker_row(&h.chunker, AT_LIT("r"));
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(qualifier, sizeof(qualifier), "q%05u", i);
        put_cell(&h, "f", qualifier, 1, at_slice_make(value, sizeof(value)));
    }
    at_chunker_row_end(&h.chunker);
    at_chunker_flush(&h.chunker);
    row_reader_finish(&h.reader);
    assert_int_equal(h.reader.cells, 1000);
    assert_true(h.reader.messages > 50 && h.reader.messages < 100);
    assert_true(h.reader.message_bytes_max < 256 * AT_KIB);
    harness_deinit(&h);
}

static void value_of_size(size_t len)
{
    struct harness h;
    char want[80];
    uint8_t *value = at_alloc(len);

    harness_init(&h, 4 * AT_MIB);
    for (size_t i = 0; i < len; i++)
        value[i] = (uint8_t)(i * 7 + i / 251);
    (void)snprintf(want, sizeof(want), "r f:q@1=<%zu,%" PRIx64 "> f:q@0=x;", len,
                   at_hash64(at_slice_make(value, len), 0));
    at_chunker_row(&h.chunker, AT_LIT("r"));
    put_cell(&h, "f", "q", 1, at_slice_make(value, len));
    put_cell(&h, "f", "q", 0, AT_LIT("x"));
    at_chunker_row_end(&h.chunker);
    assert_text(&h, want);
    assert_true(h.reader.message_bytes_max <= 2 * AT_MIB);
    harness_deinit(&h);
    at_free(value);
}

static void large_values_are_split_and_add_up(void **state)
{
    static const size_t sizes[] = {AT_MIB - 1, AT_MIB,         AT_MIB + 1,
                                   2 * AT_MIB, 2 * AT_MIB + 1, 100 * AT_MIB};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        value_of_size(sizes[i]);
}

static void long_names_are_remembered(void **state)
{
    static char long_qualifier[16001];
    static char long_key[4097];
    struct harness h;

    (void)state;
    memset(long_qualifier, 'q', sizeof(long_qualifier) - 1);
    memset(long_key, 'k', sizeof(long_key) - 1);
    harness_init(&h, AT_MIB);
    at_chunker_row(&h.chunker, at_slice_cstr(long_key));
    put_cell(&h, "f", long_qualifier, 2, AT_LIT("a"));
    put_cell(&h, "f", long_qualifier, 1, AT_LIT("b"));
    put_cell(&h, "f", "z", 1, AT_LIT("c"));
    at_chunker_row_end(&h.chunker);
    at_chunker_flush(&h.chunker);
    row_reader_finish(&h.reader);
    assert_int_equal(h.reader.cells, 3);
    assert_true(h.out.len < 2 * 16000 + 4200); /* the qualifier is there once */
    harness_deinit(&h);
}

static void a_mark_comes_between_rows(void **state)
{
    struct harness h;

    (void)state;
    harness_init(&h, AT_MIB);
    at_chunker_row(&h.chunker, AT_LIT("a"));
    put_cell(&h, "f", "q", 1, AT_LIT("v"));
    at_chunker_row_end(&h.chunker);
    at_chunker_last_scanned(&h.chunker, AT_LIT("b"));
    at_chunker_row(&h.chunker, AT_LIT("c"));
    put_cell(&h, "f", "q", 1, AT_LIT("v"));
    at_chunker_row_end(&h.chunker);
    assert_text(&h, "a f:q@1=v;c f:q@1=v;");
    assert_int_equal(h.reader.marks, 1);
    assert_int_equal(h.reader.messages, 3);
    harness_deinit(&h);
}

static void a_full_buffer_is_told(void **state)
{
    static uint8_t value[5000];
    struct harness h;

    (void)state;
    harness_init(&h, 4096);
    at_chunker_row(&h.chunker, AT_LIT("a"));
    put_cell(&h, "f", "q", 1, AT_LIT("v"));
    assert_int_equal(at_chunker_code(&h.chunker), AT_OK);
    put_cell(&h, "f", "q2", 1, at_slice_make(value, sizeof(value)));
    assert_int_equal(at_chunker_code(&h.chunker), AT_RESOURCE_EXHAUSTED);
    put_cell(&h, "f", "q3", 1, AT_LIT("v"));
    at_chunker_row_end(&h.chunker);
    at_chunker_end(&h.chunker);
    assert_true(h.reader.in_row); /* nothing was committed */
    harness_deinit(&h);
}

static void random_rows_come_back(void **state)
{
    static const char *const families[] = {"a", "b", "c"};
    static const char *const qualifiers[] = {"", "x", "y"};
    struct at_prng prng;

    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct harness h;
        struct at_buf want;
        at_prng_init(&prng, seed);
        harness_init(&h, AT_MIB);
        at_buf_init(&want, AT_MIB);
        for (unsigned row = 0; row < 20; row++) {
            char key[16];
            (void)snprintf(key, sizeof(key), "r%02u", row);
            at_chunker_row(&h.chunker, at_slice_cstr(key));
            uint64_t cells = at_prng_below(&prng, 6);
            for (uint64_t i = 0; i < cells; i++) {
                const char *f = families[at_prng_below(&prng, 3)];
                const char *q = qualifiers[at_prng_below(&prng, 3)];
                int64_t ts = (int64_t)at_prng_below(&prng, 300);
                put_cell(&h, f, q, ts, AT_LIT("v"));
                assert_int_equal(
                    at_buf_printf(&want, "%s %s:%s@%" PRId64 "=v", i ? "" : key, f, q, ts), AT_OK);
                if (at_prng_below(&prng, 3) == 0)
                    at_chunker_flush(&h.chunker);
            }
            at_chunker_row_end(&h.chunker);
            if (cells > 0)
                assert_int_equal(at_buf_append(&want, AT_LIT(";")), AT_OK);
        }
        assert_text(&h, at_buf_cstr(&want));
        at_buf_deinit(&want);
        harness_deinit(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_as_they_were_put),
        cmocka_unit_test(an_empty_qualifier_is_sent_as_present),
        cmocka_unit_test(a_repeated_cell_is_a_chunk_without_names),
        cmocka_unit_test(a_row_without_cells_leaves_no_trace),
        cmocka_unit_test(a_flush_within_a_row_waits_for_its_last_chunk),
        cmocka_unit_test(commit_fits_into_chunks_of_every_length),
        cmocka_unit_test(messages_are_cut_between_cells),
        cmocka_unit_test(large_values_are_split_and_add_up),
        cmocka_unit_test(long_names_are_remembered),
        cmocka_unit_test(a_mark_comes_between_rows),
        cmocka_unit_test(a_full_buffer_is_told),
        cmocka_unit_test(random_rows_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
