/* Keys: byte order is the order of what they mean, and no bytes of a row can break out of it. */
#include "base/prng.h"
#include "cluster/model/key.h"
#include "support/test.h"

#include <stdlib.h>

#define ROUNDS 60000

struct sample {
    struct at_key key;
    uint8_t row[24];
    uint8_t qualifier[24];
    uint8_t bytes[256];
    size_t len;
};

/* Bytes that are special to the encoding, and short strings, so that prefixes are common. */
static struct at_slice random_bytes(struct at_prng *p, uint8_t *to, size_t len_min)
{
    static const uint8_t alphabet[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0xfe, 0xff, '#', 'a'};
    size_t len = len_min + at_prng_below(p, 5);

    for (size_t i = 0; i < len; i++)
        to[i] = at_prng_below(p, 8) == 0 ? (uint8_t)at_prng_u64(p)
                                         : alphabet[at_prng_below(p, sizeof(alphabet))];
    return at_slice_make(to, len);
}

static int64_t random_timestamp(struct at_prng *p)
{
    static const int64_t edges[] = {0, 1, 1000, INT64_MAX - 1, INT64_MAX};

    return at_prng_below(p, 2) ? edges[at_prng_below(p, 5)] : (int64_t)(at_prng_u64(p) & INT64_MAX);
}

static void random_sample(struct at_prng *p, struct sample *s)
{
    struct at_key *k = &s->key;

    k->kind = (enum at_key_kind)at_prng_below(p, 5);
    k->table = (uint32_t)at_prng_below(p, 3);
    k->family = k->kind == AT_KEY_ROW_MARKER ? 0 : (uint32_t)(1 + at_prng_below(p, 2));
    k->row = random_bytes(p, s->row, 1);
    k->qualifier = random_bytes(p, s->qualifier, 0);
    k->timestamp_micros = random_timestamp(p);
    k->stamp = (struct at_stamp){at_prng_below(p, 2) ? at_prng_u64(p) : 7,
                                 {(uint32_t)at_prng_below(p, 3)}};
}

static void encode(struct sample *s)
{
    struct at_buf b;

    at_buf_init(&b, AT_KEY_BYTES_MAX);
    assert_int_equal(at_key_encode(&s->key, &b), AT_OK);
    assert_true(b.len <= sizeof(s->bytes));
    memcpy(s->bytes, b.data, b.len);
    s->len = b.len;
    at_buf_deinit(&b);
}

static bool is_version(enum at_key_kind kind)
{
    return kind == AT_KEY_CELL || kind == AT_KEY_PARTIAL;
}

static bool of_column(enum at_key_kind kind)
{
    return kind == AT_KEY_COLUMN_MARKER || is_version(kind);
}

static int cmp_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* The order that the header promises, on the meaning of keys. */
static int meaning_cmp(const struct at_key *a, const struct at_key *b)
{
    int c = cmp_u64(a->table, b->table);

    if (c == 0)
        c = cmp_u64(a->family, b->family);
    if (c == 0)
        c = at_slice_cmp(a->row, b->row);
    if (c == 0) {
        bool a_column = of_column(a->kind);
        bool b_column = of_column(b->kind);
        c = cmp_u64(a_column, b_column);
        if (c == 0 && a_column) {
            c = at_slice_cmp(a->qualifier, b->qualifier);
            if (c == 0)
                c = cmp_u64(a->kind, b->kind);
            if (c == 0 && is_version(a->kind))
                c = cmp_u64((uint64_t)b->timestamp_micros, (uint64_t)a->timestamp_micros);
        }
    }
    return c != 0 ? c : at_stamp_cmp(b->stamp, a->stamp);
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

static void byte_order_is_the_order_of_meaning(void **state)
{
    struct at_prng p;

    (void)state;
    at_prng_init(&p, 1);
    for (int i = 0; i < ROUNDS; i++) {
        struct sample a;
        struct sample b;
        random_sample(&p, &a);
        random_sample(&p, &b);
        if (at_prng_below(&p, 2)) {
            b.key.table = a.key.table;
            if ((a.key.kind == AT_KEY_ROW_MARKER) == (b.key.kind == AT_KEY_ROW_MARKER))
                b.key.family = a.key.family;
            if (at_prng_below(&p, 2))
                b.key.row = a.key.row;
            if (at_prng_below(&p, 2))
                b.key.qualifier = a.key.qualifier;
        }
        encode(&a);
        encode(&b);
        int got = at_slice_cmp(at_slice_make(a.bytes, a.len), at_slice_make(b.bytes, b.len));
        assert_int_equal(sign(got), sign(meaning_cmp(&a.key, &b.key)));
    }
}

static void every_key_decodes_to_what_was_encoded(void **state)
{
    struct at_prng p;
    struct at_buf scratch;

    (void)state;
    at_prng_init(&p, 2);
    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    for (int i = 0; i < ROUNDS; i++) {
        struct sample s;
        struct at_key got;
        random_sample(&p, &s);
        encode(&s);
        assert_int_equal(at_key_decode(at_slice_make(s.bytes, s.len), &scratch, &got), AT_OK);
        assert_int_equal(got.kind, s.key.kind);
        assert_int_equal(got.table, s.key.table);
        assert_int_equal(got.family, s.key.family);
        assert_true(at_slice_eq(got.row, s.key.row));
        bool column = of_column(got.kind);
        assert_true(at_slice_eq(got.qualifier, column ? s.key.qualifier : at_slice_make(NULL, 0)));
        if (is_version(got.kind))
            assert_int_equal(got.timestamp_micros, s.key.timestamp_micros);
        assert_int_equal(at_stamp_cmp(got.stamp, s.key.stamp), 0);
    }
    at_buf_deinit(&scratch);
}

static void decoding_borrows_unless_there_are_escapes(void **state)
{
    struct at_buf scratch;
    struct sample s = {.key = {.kind = AT_KEY_CELL,
                               .table = 1,
                               .family = 2,
                               .row = AT_LIT("row#1"),
                               .qualifier = AT_LIT("q\xff"),
                               .stamp = {1, {1}}}};
    struct at_key got;

    (void)state;
    at_buf_init(&scratch, 0); /* would refuse any copy */
    encode(&s);
    assert_int_equal(at_key_decode(at_slice_make(s.bytes, s.len), &scratch, &got), AT_OK);
    assert_ptr_equal(got.row.data, s.bytes + AT_KEY_PREFIX_BYTES);
    s.key.row = AT_LIT("a\0b");
    encode(&s);
    assert_int_equal(at_key_decode(at_slice_make(s.bytes, s.len), &scratch, &got),
                     AT_RESOURCE_EXHAUSTED);
    at_buf_deinit(&scratch);
}

static void encoding_in_parts_gives_the_same_bytes(void **state)
{
    struct at_prng p;
    struct at_buf b;

    (void)state;
    at_prng_init(&p, 3);
    at_buf_init(&b, AT_KEY_BYTES_MAX);
    for (int i = 0; i < 5000; i++) {
        struct sample s;
        random_sample(&p, &s);
        encode(&s);
        at_buf_clear(&b);
        assert_int_equal(at_key_put_row(&b, s.key.table, s.key.family, s.key.row), AT_OK);
        if (of_column(s.key.kind))
            assert_int_equal(at_key_put_qualifier(&b, s.key.qualifier), AT_OK);
        if (s.key.kind == AT_KEY_CELL)
            assert_int_equal(at_key_put_cell_end(&b, s.key.timestamp_micros, s.key.stamp), AT_OK);
        else if (s.key.kind == AT_KEY_PARTIAL)
            assert_int_equal(at_key_put_partial_end(&b, s.key.timestamp_micros, s.key.stamp),
                             AT_OK);
        else
            assert_int_equal(at_key_put_marker_end(&b, s.key.stamp), AT_OK);
        assert_true(at_slice_eq(at_buf_slice(&b), at_slice_make(s.bytes, s.len)));
    }
    at_buf_deinit(&b);
}

static void row_end_is_equal_exactly_for_the_same_row(void **state)
{
    struct at_prng p;

    (void)state;
    at_prng_init(&p, 4);
    for (int i = 0; i < ROUNDS; i++) {
        struct sample a;
        struct sample b;
        random_sample(&p, &a);
        random_sample(&p, &b);
        if (at_prng_below(&p, 2))
            b.key.row = a.key.row;
        encode(&a);
        encode(&b);
        size_t a_end = at_key_row_end(at_slice_make(a.bytes, a.len));
        size_t b_end = at_key_row_end(at_slice_make(b.bytes, b.len));
        bool same = a.key.table == b.key.table && a.key.family == b.key.family &&
                    at_slice_eq(a.key.row, b.key.row);
        assert_true(a_end >= AT_KEY_PREFIX_BYTES + a.key.row.len);
        assert_true(same ==
                    at_slice_eq(at_slice_make(a.bytes, a_end), at_slice_make(b.bytes, b_end)));
    }
}

static void row_group_tells_rows_apart_and_is_its_own(void **state)
{
    struct at_prng p;
    struct at_buf target;

    (void)state;
    at_prng_init(&p, 14);
    at_buf_init(&target, AT_KEY_BYTES_MAX);
    for (int i = 0; i < ROUNDS; i++) {
        struct sample s;
        random_sample(&p, &s);
        encode(&s);
        struct at_slice stored = at_slice_make(s.bytes, s.len);
        size_t len = at_key_row_group(stored);
        struct at_slice group = at_slice_make(s.bytes, len);
        assert_int_equal(len, at_key_row_end(stored) + 1);
        assert_int_equal(at_key_row_group(group), len);
        if (s.key.row.len > 0) {
            for (int after = 0; after < 2; after++) {
                at_buf_clear(&target);
                enum at_code rc =
                    after ? at_key_seek_row_after(&target, s.key.table, s.key.family, s.key.row)
                          : at_key_seek_row(&target, s.key.table, s.key.family, s.key.row);
                assert_int_equal(rc, AT_OK);
                assert_int_equal(at_key_row_group(at_buf_slice(&target)), len);
                assert_memory_equal(target.data, group.data, len);
            }
        }
    }
    at_buf_clear(&target);
    assert_int_equal(at_key_seek_family_end(&target, 1, 2), AT_OK);
    assert_int_equal(at_key_row_group(at_buf_slice(&target)), 0);
    assert_int_equal(at_key_row_group(AT_LIT("12345678ab\x00\xff")), 0);
    assert_int_equal(at_key_row_group(at_slice_make(NULL, 0)), 0);
    at_buf_deinit(&target);
}

/* `target` is at or below a key exactly when the key lies at or behind what it seeks. */
static void check_seek(struct at_buf *target, const struct sample *s, bool at_or_behind)
{
    int c = at_slice_cmp(at_buf_slice(target), at_slice_make(s->bytes, s->len));

    assert_true((c <= 0) == at_or_behind);
    at_buf_clear(target);
}

static void seeks_bracket_rows_columns_and_families_exactly(void **state)
{
    struct at_prng p;
    struct at_buf b;

    (void)state;
    at_prng_init(&p, 5);
    at_buf_init(&b, AT_KEY_BYTES_MAX);
    for (int i = 0; i < ROUNDS; i++) {
        struct sample s;
        uint8_t row_bytes[24];
        uint8_t qualifier_bytes[24];
        random_sample(&p, &s);
        encode(&s);
        const struct at_key *k = &s.key;
        uint32_t table = at_prng_below(&p, 4) ? k->table : (uint32_t)at_prng_below(&p, 4);
        uint32_t family = at_prng_below(&p, 4) ? k->family : (uint32_t)at_prng_below(&p, 4);
        struct at_slice row = at_prng_below(&p, 2) ? k->row : random_bytes(&p, row_bytes, 1);
        struct at_slice qualifier =
            at_prng_below(&p, 2) ? k->qualifier : random_bytes(&p, qualifier_bytes, 0);

        int family_cmp =
            cmp_u64((uint64_t)k->table << 32 | k->family, (uint64_t)table << 32 | family);
        int row_cmp = family_cmp ? family_cmp : at_slice_cmp(k->row, row);
        bool column = of_column(k->kind);
        int column_cmp = row_cmp ? row_cmp : !column ? -1 : at_slice_cmp(k->qualifier, qualifier);

        assert_int_equal(at_key_seek_row(&b, table, family, at_slice_make(NULL, 0)), AT_OK);
        check_seek(&b, &s, family_cmp >= 0);
        assert_int_equal(at_key_seek_family_end(&b, table, family), AT_OK);
        check_seek(&b, &s, family_cmp > 0);
        assert_int_equal(at_key_seek_row(&b, table, family, row), AT_OK);
        check_seek(&b, &s, row_cmp >= 0);
        assert_int_equal(at_key_seek_row_after(&b, table, family, row), AT_OK);
        check_seek(&b, &s, row_cmp > 0);
        assert_int_equal(at_key_seek_column_after(&b, table, family, row, qualifier), AT_OK);
        check_seek(&b, &s, column_cmp > 0);
    }
    at_buf_deinit(&b);
}

static void the_last_family_of_a_table_ends_at_the_next_table(void **state)
{
    struct at_buf b;
    static const uint8_t want[] = {0, 0, 0, 6, 0, 0, 0, 0};

    (void)state;
    at_buf_init(&b, 64);
    assert_int_equal(at_key_seek_family_end(&b, 5, UINT32_MAX), AT_OK);
    assert_true(at_slice_eq(at_buf_slice(&b), at_slice_make(want, sizeof(want))));
    at_buf_deinit(&b);
}

static void garbage_is_data_loss_and_never_more(void **state)
{
    struct at_prng p;
    struct at_buf scratch;
    int refused = 0;

    (void)state;
    at_prng_init(&p, 6);
    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    for (int i = 0; i < ROUNDS; i++) {
        struct sample s;
        struct at_key got;
        random_sample(&p, &s);
        encode(&s);
        size_t len = s.len;
        switch (at_prng_below(&p, 3)) {
        case 0:
            len = at_prng_below(&p, s.len);
            break;
        case 1:
            s.bytes[at_prng_below(&p, s.len)] = (uint8_t)at_prng_u64(&p);
            break;
        default:
            for (size_t j = 0; j < s.len; j++)
                s.bytes[j] = (uint8_t)(at_prng_below(&p, 3) ? at_prng_below(&p, 4) : 0xff);
            break;
        }
        /* An exact allocation, so that a read beyond the end is seen. */
        uint8_t *exact = malloc(len ? len : 1);
        memcpy(exact, s.bytes, len);
        struct at_slice stored = at_slice_make(exact, len);
        enum at_code code = at_key_decode(stored, &scratch, &got);
        assert_true(code == AT_OK || code == AT_DATA_LOSS);
        refused += code == AT_DATA_LOSS;
        assert_true(at_key_row_end(stored) <= len);
        if (code == AT_OK) {
            struct at_buf again;
            at_buf_init(&again, AT_KEY_BYTES_MAX);
            assert_int_equal(at_key_encode(&got, &again), AT_OK);
            assert_true(at_slice_eq(at_buf_slice(&again), stored));
            at_buf_deinit(&again);
        }
        free(exact);
    }
    assert_true(refused > ROUNDS / 4);
    at_buf_deinit(&scratch);
}

static void the_longest_key_fits_and_one_byte_less_room_refuses_it(void **state)
{
    static uint8_t zeros[AT_QUALIFIER_BYTES_MAX];
    struct at_key key = {.kind = AT_KEY_CELL,
                         .table = 1,
                         .family = 1,
                         .row = {zeros, AT_ROW_KEY_BYTES_MAX},
                         .qualifier = {zeros, AT_QUALIFIER_BYTES_MAX},
                         .stamp = {1, {1}}};
    struct at_key got;
    struct at_buf b;
    struct at_buf scratch;

    (void)state;
    at_buf_init(&b, AT_KEY_BYTES_MAX - 1);
    assert_int_equal(at_key_encode(&key, &b), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(b.len, 0);
    at_buf_deinit(&b);
    at_buf_init(&b, AT_KEY_BYTES_MAX);
    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    assert_int_equal(at_key_encode(&key, &b), AT_OK);
    assert_int_equal(b.len, AT_KEY_BYTES_MAX);
    assert_int_equal(at_key_decode(at_buf_slice(&b), &scratch, &got), AT_OK);
    assert_true(at_slice_eq(got.row, key.row) && at_slice_eq(got.qualifier, key.qualifier));
    at_buf_deinit(&scratch);
    at_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_order_is_the_order_of_meaning),
        cmocka_unit_test(every_key_decodes_to_what_was_encoded),
        cmocka_unit_test(decoding_borrows_unless_there_are_escapes),
        cmocka_unit_test(encoding_in_parts_gives_the_same_bytes),
        cmocka_unit_test(row_end_is_equal_exactly_for_the_same_row),
        cmocka_unit_test(row_group_tells_rows_apart_and_is_its_own),
        cmocka_unit_test(seeks_bracket_rows_columns_and_families_exactly),
        cmocka_unit_test(the_last_family_of_a_table_ends_at_the_next_table),
        cmocka_unit_test(garbage_is_data_loss_and_never_more),
        cmocka_unit_test(the_longest_key_fits_and_one_byte_less_room_refuses_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
