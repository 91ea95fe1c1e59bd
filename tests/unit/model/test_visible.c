/* Visibility: the rule of stamps, by table and against a model that knows no order. */
#include "base/bytes.h"
#include "base/prng.h"
#include "cluster/model/visible.h"
#include "support/test.h"

#include <stdlib.h>

static struct at_stamp stamp_of(uint64_t hlc)
{
    return (struct at_stamp){hlc, {1}};
}

static enum at_code
mark_column(struct at_visible *v, struct at_stamp stamp, int64_t start, int64_t end)
{
    const struct at_key key = {.kind = AT_KEY_COLUMN_MARKER, .stamp = stamp};
    uint8_t value[16];

    at_put_be64(value, (uint64_t)start);
    at_put_be64(value + 8, (uint64_t)end);
    return at_visible_marker(v, &key, at_slice_make(value, sizeof(value)));
}

static enum at_code mark_family(struct at_visible *v, struct at_stamp stamp)
{
    const struct at_key key = {.kind = AT_KEY_FAMILY_MARKER, .stamp = stamp};

    return at_visible_marker(v, &key, at_slice_make(NULL, 0));
}

/* One cell (timestamp 5, stamp 10) under one set of markers. */
struct rule_case {
    const char *name;
    uint64_t row;    /* 0: none */
    uint64_t family; /* 0: none */
    uint64_t column; /* 0: none, over [start, end) */
    int64_t start;
    int64_t end;
    bool shows;
};

static const struct rule_case rule_cases[] = {
    {"shows without markers", 0, 0, 0, 0, 0, true},
    {"is hidden by a later row delete", 11, 0, 0, 0, 0, false},
    {"shows above an earlier row delete", 9, 0, 0, 0, 0, true},
    {"is not hidden by an equal stamp", 10, 10, 10, 0, 0, true},
    {"is hidden by a later family delete", 0, 11, 0, 0, 0, false},
    {"shows above an earlier family delete", 9, 9, 0, 0, 0, true},
    {"is hidden by an unbounded column delete", 0, 0, 11, 0, 0, false},
    {"shows above an earlier column delete", 0, 0, 9, 0, 0, true},
    {"is hidden at the start of a range", 0, 0, 11, 5, 6, false},
    {"shows at the end of a range", 0, 0, 11, 4, 5, true},
    {"shows before the start of a range", 0, 0, 11, 6, 0, true},
    {"is hidden by a range open below", 0, 0, 11, 0, 6, false},
    {"is hidden by a range open above", 0, 0, 11, 5, 0, false},
};

static void rule(void **state)
{
    const struct rule_case *c = *state;
    struct at_visible v;

    at_visible_init(&v);
    at_visible_begin_row(&v, c->row ? stamp_of(c->row) : (struct at_stamp){0});
    at_visible_begin_family(&v);
    if (c->family)
        assert_int_equal(mark_family(&v, stamp_of(c->family)), AT_OK);
    at_visible_begin_column(&v);
    if (c->column)
        assert_int_equal(mark_column(&v, stamp_of(c->column), c->start, c->end), AT_OK);
    assert_int_equal(at_visible_partial(&v, 5, stamp_of(10)), c->shows);
    assert_int_equal(at_visible_cell(&v, 5, stamp_of(10)), c->shows);
    at_visible_deinit(&v);
}

static void of_several_stamps_the_highest_wins(void **state)
{
    struct at_visible v;

    (void)state;
    at_visible_init(&v);
    at_visible_begin_row(&v, (struct at_stamp){0});
    assert_true(at_visible_cell(&v, 7, stamp_of(3)));
    assert_false(at_visible_cell(&v, 7, stamp_of(2)));
    assert_true(at_visible_cell(&v, 6, stamp_of(1)));
    assert_true(at_visible_partial(&v, 6, stamp_of(1))); /* adds all count */
    at_visible_begin_column(&v);
    assert_true(at_visible_cell(&v, 6, stamp_of(1)));
    at_visible_deinit(&v);
}

static void markers_end_with_their_column_family_and_row(void **state)
{
    struct at_visible v;

    (void)state;
    at_visible_init(&v);
    at_visible_begin_row(&v, stamp_of(5));
    assert_int_equal(mark_family(&v, stamp_of(7)), AT_OK);
    at_visible_begin_column(&v);
    assert_int_equal(mark_column(&v, stamp_of(9), 0, 0), AT_OK);
    assert_false(at_visible_cell(&v, 1, stamp_of(8)));
    at_visible_begin_column(&v);
    assert_true(at_visible_cell(&v, 1, stamp_of(8)));
    at_visible_begin_column(&v);
    assert_false(at_visible_cell(&v, 1, stamp_of(6)));
    at_visible_begin_family(&v);
    assert_true(at_visible_cell(&v, 1, stamp_of(6)));
    at_visible_begin_column(&v);
    assert_false(at_visible_cell(&v, 1, stamp_of(4)));
    at_visible_begin_row(&v, (struct at_stamp){0});
    assert_true(at_visible_cell(&v, 1, stamp_of(4)));
    at_visible_deinit(&v);
}

static void a_malformed_marker_is_data_loss(void **state)
{
    const struct at_key key = {.kind = AT_KEY_COLUMN_MARKER, .stamp = {1, {1}}};
    struct at_visible v;

    (void)state;
    at_visible_init(&v);
    at_visible_begin_row(&v, (struct at_stamp){0});
    assert_int_equal(at_visible_marker(&v, &key, AT_LIT("short")), AT_DATA_LOSS);
    assert_int_equal(mark_column(&v, stamp_of(1), -1, 0), AT_DATA_LOSS);
    assert_int_equal(mark_column(&v, stamp_of(1), 0, -5), AT_DATA_LOSS);
    assert_int_equal(mark_column(&v, stamp_of(1), 7, 7), AT_DATA_LOSS);
    assert_int_equal(mark_column(&v, stamp_of(1), 7, 3), AT_DATA_LOSS);
    at_visible_deinit(&v);
}

static void ten_thousand_deletes_of_a_column_keep_one_marker(void **state)
{
    struct at_visible v;

    (void)state;
    at_visible_init(&v);
    at_visible_begin_row(&v, (struct at_stamp){0});
    assert_int_equal(mark_column(&v, stamp_of(10000), 0, 0), AT_OK);
    size_t one = v.column_markers.len;
    for (uint64_t i = 9999; i > 0; i--)
        assert_int_equal(mark_column(&v, stamp_of(i), (int64_t)i, 0), AT_OK);
    assert_int_equal(v.column_markers.len, one);
    at_visible_deinit(&v);
}

/* --- the model: a set of operations on one row, no order --- */

#define OPS_MAX 40
#define FAMILIES 2
#define COLUMNS 2
#define TIMESTAMPS 5

enum op_kind { OP_SET, OP_DELETE_COLUMN, OP_DELETE_FAMILY, OP_DELETE_ROW, OP_KIND_COUNT };

struct op {
    enum op_kind kind;
    uint32_t family;
    uint32_t column;
    int64_t timestamp;
    int64_t start;
    int64_t end;
    struct at_stamp stamp;
};

static bool covers(const struct op *o, const struct op *cell)
{
    switch (o->kind) {
    case OP_DELETE_ROW:
        return true;
    case OP_DELETE_FAMILY:
        return o->family == cell->family;
    case OP_DELETE_COLUMN:
        return o->family == cell->family && o->column == cell->column &&
               o->start <= cell->timestamp && (o->end == 0 || cell->timestamp < o->end);
    case OP_SET:
    case OP_KIND_COUNT:
        break;
    }
    return false;
}

static bool same_place(const struct op *a, const struct op *b)
{
    return a->family == b->family && a->column == b->column && a->timestamp == b->timestamp;
}

static bool model_counts(const struct op *ops, size_t n, const struct op *cell)
{
    for (size_t i = 0; i < n; i++)
        if (covers(&ops[i], cell) && at_stamp_cmp(cell->stamp, ops[i].stamp) < 0)
            return false;
    return true;
}

static bool model_shows(const struct op *ops, size_t n, const struct op *cell)
{
    for (size_t i = 0; i < n; i++)
        if (ops[i].kind == OP_SET && same_place(&ops[i], cell) &&
            at_stamp_cmp(cell->stamp, ops[i].stamp) < 0)
            return false;
    return model_counts(ops, n, cell);
}

/* What a store holds: the key and value of each operation. */
struct stored {
    uint8_t key[64];
    size_t key_len;
    uint8_t value[16];
    const struct op *op;
};

static int stored_cmp(const void *a, const void *b)
{
    const struct stored *x = a;
    const struct stored *y = b;

    return at_slice_cmp(at_slice_make(x->key, x->key_len), at_slice_make(y->key, y->key_len));
}

static void store(const struct op *o, struct stored *s)
{
    static const enum at_key_kind kinds[] = {AT_KEY_CELL, AT_KEY_COLUMN_MARKER,
                                             AT_KEY_FAMILY_MARKER, AT_KEY_ROW_MARKER};
    const uint8_t qualifier = (uint8_t)o->column;
    struct at_key k = {.kind = kinds[o->kind],
                       .table = 1,
                       .family = o->kind == OP_DELETE_ROW ? 0 : o->family,
                       .row = AT_LIT("r"),
                       .qualifier = at_slice_make(&qualifier, 1),
                       .timestamp_micros = o->timestamp,
                       .stamp = o->stamp};
    struct at_buf b;

    at_buf_init(&b, sizeof(s->key));
    assert_int_equal(at_key_encode(&k, &b), AT_OK);
    memcpy(s->key, b.data, b.len);
    s->key_len = b.len;
    at_buf_deinit(&b);
    at_put_be64(s->value, (uint64_t)o->start);
    at_put_be64(s->value + 8, (uint64_t)o->end);
    s->op = o;
}

static struct op random_op(struct at_prng *p, uint64_t hlc)
{
    struct op o = {.kind =
                       at_prng_below(p, 2) ? OP_SET : (enum op_kind)at_prng_below(p, OP_KIND_COUNT),
                   .family = 1 + (uint32_t)at_prng_below(p, FAMILIES),
                   .column = (uint32_t)at_prng_below(p, COLUMNS),
                   .timestamp = (int64_t)at_prng_below(p, TIMESTAMPS),
                   .start = (int64_t)at_prng_below(p, TIMESTAMPS),
                   .stamp = {hlc / 2, {1 + (uint32_t)(hlc % 2)}}};

    o.end = at_prng_below(p, 3) ? o.start + 1 + (int64_t)at_prng_below(p, 3) : 0;
    return o;
}

/* Walks the stored keys as a reader does and compares every cell with the model. */
static void walk(const struct stored *s, size_t n, const struct op *ops)
{
    struct at_visible v;
    struct at_buf scratch;
    struct at_key last = {0};
    struct at_stamp row_hidden = {0};
    bool begun = false;

    at_visible_init(&v);
    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    for (size_t i = 0; i < n; i++) {
        struct at_key k;
        assert_int_equal(at_key_decode(at_slice_make(s[i].key, s[i].key_len), &scratch, &k), AT_OK);
        if (k.kind == AT_KEY_ROW_MARKER) {
            if (at_stamp_cmp(row_hidden, k.stamp) < 0)
                row_hidden = k.stamp;
            continue;
        }
        if (!begun)
            at_visible_begin_row(&v, row_hidden);
        if (!begun || k.family != last.family)
            at_visible_begin_family(&v);
        else if (!at_slice_eq(k.qualifier, last.qualifier))
            at_visible_begin_column(&v);
        begun = true;
        last = k;
        if (k.kind == AT_KEY_CELL) {
            assert_int_equal(at_visible_partial(&v, k.timestamp_micros, k.stamp),
                             model_counts(ops, n, s[i].op));
            assert_int_equal(at_visible_cell(&v, k.timestamp_micros, k.stamp),
                             model_shows(ops, n, s[i].op));
        } else {
            assert_int_equal(at_visible_marker(&v, &k, at_slice_make(s[i].value, 16)), AT_OK);
        }
    }
    at_buf_deinit(&scratch);
    at_visible_deinit(&v);
}

/* Storage sorts, so the order of arrival can't matter: each set is walked after two arrivals. */
static void visible_rows_are_a_function_of_the_set_of_operations(void **state)
{
    struct at_prng p;

    (void)state;
    at_prng_init(&p, 20);
    for (int round = 0; round < 6000; round++) {
        struct op ops[OPS_MAX];
        struct stored s[OPS_MAX];
        size_t n = 1 + at_prng_below(&p, OPS_MAX);
        for (size_t i = 0; i < n; i++)
            ops[i] = random_op(&p, 1 + i);
        for (int arrival = 0; arrival < 2; arrival++) {
            for (size_t i = n - 1; i > 0; i--) {
                size_t j = at_prng_below(&p, i + 1);
                struct op swap = ops[i];
                ops[i] = ops[j];
                ops[j] = swap;
            }
            for (size_t i = 0; i < n; i++)
                store(&ops[i], &s[i]);
            qsort(s, n, sizeof(*s), stored_cmp);
            walk(s, n, ops);
        }
    }
}

int main(void)
{
    enum { RULES = sizeof(rule_cases) / sizeof(*rule_cases) };
    struct CMUnitTest tests[RULES + 5] = {
        cmocka_unit_test(of_several_stamps_the_highest_wins),
        cmocka_unit_test(markers_end_with_their_column_family_and_row),
        cmocka_unit_test(a_malformed_marker_is_data_loss),
        cmocka_unit_test(ten_thousand_deletes_of_a_column_keep_one_marker),
        cmocka_unit_test(visible_rows_are_a_function_of_the_set_of_operations),
    };

    for (int i = 0; i < RULES; i++) {
        struct rule_case *c = malloc(sizeof(*c)); /* cmocka wants it writable */
        *c = rule_cases[i];
        tests[5 + i] =
            (struct CMUnitTest){.name = rule_cases[i].name, .test_func = rule, .initial_state = c};
    }
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < RULES; i++)
        free(tests[5 + i].initial_state);
    return rc;
}
