/* Operations: what is encoded comes back, its size is known before, and nothing else is taken. */
#include "base/prng.h"
#include "cluster/model/operation.h"
#include "support/test.h"

#include <stdlib.h>

#define BUF_BYTES_MAX (64 * AT_MIB)

static struct at_mutation every_kind[] = {
    {.kind = AT_MUTATION_SET,
     .family = {(const uint8_t *)"cf", 2},
     .family_generation = 1,
     .qualifier = {(const uint8_t *)"q\0r", 3},
     .timestamp_micros = INT64_MAX,
     .value = {(const uint8_t *)"value", 5}},
    {.kind = AT_MUTATION_DELETE_COLUMN,
     .family = {(const uint8_t *)"cf", 2},
     .family_generation = 300,
     .qualifier = {NULL, 0},
     .start_micros = 1000,
     .end_micros = 0},
    {.kind = AT_MUTATION_DELETE_FAMILY,
     .family = {(const uint8_t *)"cf", 2},
     .family_generation = 70001},
    {.kind = AT_MUTATION_DELETE_ROW},
    {.kind = AT_MUTATION_ADD,
     .family = {(const uint8_t *)"sum", 3},
     .family_generation = UINT32_MAX,
     .timestamp_micros = 0,
     .value = {(const uint8_t *)"\0\0\0\0\0\0\0\1", 8}},
    {.kind = AT_MUTATION_MERGE,
     .family = {(const uint8_t *)"sum", 3},
     .family_generation = 1,
     .timestamp_micros = 128},
};

static struct at_catalog_record every_record[] = {
    {.kind = AT_CATALOG_TABLE,
     .name = {(const uint8_t *)"t1", 2},
     .counter = 1,
     .stamp = {UINT64_MAX, {UINT32_MAX}},
     .fields = {(const uint8_t *)"\x80", 1}},
    {.kind = AT_CATALOG_FAMILY,
     .name = {(const uint8_t *)"cf", 2},
     .table = {(const uint8_t *)"t1", 2},
     .table_generation = 1,
     .counter = 2,
     .stamp = {1, {1}}},
    {.kind = AT_CATALOG_PROFILE,
     .name = {(const uint8_t *)"p", 1},
     .counter = 4,
     .stamp = {9, {3}}},
};

static const struct at_operation row_operation = {
    .kind = AT_OPERATION_ROW,
    .table = {(const uint8_t *)"table-1", 7},
    .table_generation = 5,
    .row = {(const uint8_t *)"r\0\xff", 3},
    .mutations = every_kind,
    .mutation_count = 6,
};
static const struct at_operation token_operation = {
    .kind = AT_OPERATION_ROW,
    .table = {(const uint8_t *)"table-1", 7},
    .table_generation = 5,
    .row = {(const uint8_t *)"r", 1},
    .mutations = every_kind,
    .mutation_count = 1,
    .has_token = true,
    .token = {.high = UINT64_MAX, .low = 1},
};
static const struct at_operation catalog_operation = {
    .kind = AT_OPERATION_CATALOG, .records = every_record, .record_count = 3};
static const struct at_operation drop_operation = {
    .kind = AT_OPERATION_DROP_RANGE,
    .table = {(const uint8_t *)"table-1", 7},
    .table_generation = 5,
    .row = {(const uint8_t *)"pre", 3},
};
static const struct at_operation member_operation = {
    .kind = AT_OPERATION_MEMBER,
    .members = {{4000000000}},
    .member_count = 1,
    .info = {(const uint8_t *)"info", 4},
};
static const struct at_operation leave_operation = {.kind = AT_OPERATION_LEAVE};
static struct at_operation_vouch every_vouch[] = {
    {{1}, {{2}, 1, UINT64_MAX}}, {{3}, {{2}, 1, 0}}, {{UINT32_MAX}, {{200}, UINT32_MAX, 128}}};
static const struct at_operation remove_operation = {
    .kind = AT_OPERATION_REMOVE,
    .members = {{2}, {200}},
    .member_count = 2,
    .vouches = every_vouch,
    .vouch_count = 3,
    .fork_id = 70000,
};
static const struct at_operation remove_one_operation = {
    .kind = AT_OPERATION_REMOVE, .members = {{2}}, .member_count = 1};
static const struct at_operation release_operation = {.kind = AT_OPERATION_RELEASE,
                                                      .hlc = UINT64_MAX};
static const struct at_operation *const operations[] = {
    &row_operation,    &catalog_operation,    &drop_operation,
    &token_operation,  &member_operation,     &leave_operation,
    &remove_operation, &remove_one_operation, &release_operation};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static void assert_same(const struct at_operation *a, const struct at_operation *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_true(at_slice_eq(a->table, b->table) && at_slice_eq(a->row, b->row));
    assert_int_equal(a->table_generation, b->table_generation);
    assert_int_equal(a->mutation_count, b->mutation_count);
    assert_int_equal(a->record_count, b->record_count);
    assert_int_equal(a->has_token, b->has_token);
    assert_true(a->token.high == b->token.high && a->token.low == b->token.low);
    assert_int_equal(a->member_count, b->member_count);
    assert_memory_equal(a->members, b->members, sizeof(a->members));
    assert_true(at_slice_eq(a->info, b->info));
    assert_int_equal(a->vouch_count, b->vouch_count);
    assert_true(a->fork_id == b->fork_id && a->hlc == b->hlc);
    for (uint32_t i = 0; i < a->vouch_count; i++) {
        assert_int_equal(a->vouches[i].voucher.v, b->vouches[i].voucher.v);
        assert_int_equal(a->vouches[i].position.origin.v, b->vouches[i].position.origin.v);
        assert_int_equal(a->vouches[i].position.epoch, b->vouches[i].position.epoch);
        assert_int_equal(a->vouches[i].position.seq, b->vouches[i].position.seq);
    }
    for (uint32_t i = 0; i < a->mutation_count; i++) {
        const struct at_mutation *x = &a->mutations[i];
        const struct at_mutation *y = &b->mutations[i];
        assert_int_equal(x->kind, y->kind);
        assert_true(at_slice_eq(x->family, y->family) && at_slice_eq(x->qualifier, y->qualifier));
        assert_true(at_slice_eq(x->value, y->value));
        assert_int_equal(x->family_generation, y->family_generation);
        assert_int_equal(x->timestamp_micros, y->timestamp_micros);
        assert_int_equal(x->start_micros, y->start_micros);
        assert_int_equal(x->end_micros, y->end_micros);
    }
    for (uint32_t i = 0; i < a->record_count; i++) {
        const struct at_catalog_record *x = &a->records[i];
        const struct at_catalog_record *y = &b->records[i];
        assert_int_equal(x->kind, y->kind);
        assert_true(at_slice_eq(x->name, y->name) && at_slice_eq(x->table, y->table));
        assert_true(at_slice_eq(x->fields, y->fields));
        assert_int_equal(x->table_generation, y->table_generation);
        assert_int_equal(x->counter, y->counter);
        assert_int_equal(at_stamp_cmp(x->stamp, y->stamp), 0);
    }
}

static void every_operation_comes_back_and_has_the_size_foretold(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        struct at_operation got;
        struct at_arena arena;
        struct at_buf b;
        at_buf_init(&b, BUF_BYTES_MAX);
        at_arena_init(&arena, 4096);
        assert_int_equal(at_operation_encode(operations[i], &b), AT_OK);
        assert_int_equal(b.len, at_operation_size_max(operations[i]));
        assert_int_equal(at_operation_decode(at_buf_slice(&b), &arena, &got), AT_OK);
        assert_same(&got, operations[i]);
        at_arena_deinit(&arena);
        at_buf_deinit(&b);
    }
}

/* Lengths around every step of msgpack's heads. */
static void the_size_is_exact_at_every_width(void **state)
{
    static const size_t lengths[] = {0, 1, 31, 32, 255, 256, 16384};
    static const int64_t numbers[] = {0, 127, 128, 255, 256, 65535, 65536, 4294967295, 4294967296};
    static uint8_t bytes[70000];
    static const uint32_t counts[] = {1, 15, 16, 65535, 65536};

    (void)state;
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 9; j++) {
            struct at_mutation m = {.kind = AT_MUTATION_SET,
                                    .family = {bytes, 1 + lengths[i] % 64},
                                    .family_generation = (uint32_t)numbers[j],
                                    .qualifier = {bytes, lengths[i]},
                                    .timestamp_micros = numbers[j],
                                    .value = {bytes, lengths[i] * 4}};
            struct at_operation op = row_operation;
            struct at_buf b;
            op.mutations = &m;
            op.mutation_count = 1;
            op.table_generation = (uint64_t)numbers[j];
            at_buf_init(&b, BUF_BYTES_MAX);
            assert_int_equal(at_operation_encode(&op, &b), AT_OK);
            assert_int_equal(b.len, at_operation_size_max(&op));
            at_buf_deinit(&b);
        }
    for (size_t i = 0; i < 5; i++) {
        struct at_operation op = row_operation;
        struct at_buf b;
        op.mutations = calloc(counts[i], sizeof(struct at_mutation));
        op.mutation_count = counts[i];
        for (uint32_t j = 0; j < counts[i]; j++)
            op.mutations[j].kind = AT_MUTATION_DELETE_ROW;
        at_buf_init(&b, BUF_BYTES_MAX);
        assert_int_equal(at_operation_encode(&op, &b), AT_OK);
        assert_int_equal(b.len, at_operation_size_max(&op));
        at_buf_deinit(&b);
        free(op.mutations);
    }
}

static void every_truncation_and_every_addition_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        struct at_operation got;
        struct at_arena arena;
        struct at_buf b;
        at_buf_init(&b, BUF_BYTES_MAX);
        at_arena_init(&arena, 4096);
        assert_int_equal(at_operation_encode(operations[i], &b), AT_OK);
        for (size_t len = 0; len < b.len; len++) {
            uint8_t *exact = malloc(len ? len : 1);
            memcpy(exact, b.data, len);
            assert_int_equal(at_operation_decode(at_slice_make(exact, len), &arena, &got),
                             AT_INVALID_ARGUMENT);
            free(exact);
        }
        assert_int_equal(at_buf_append(&b, AT_LIT("\xc0")), AT_OK);
        assert_int_equal(at_operation_decode(at_buf_slice(&b), &arena, &got), AT_INVALID_ARGUMENT);
        at_arena_deinit(&arena);
        at_buf_deinit(&b);
    }
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        struct at_buf b;
        at_buf_init(&b, 3 + at_operation_size_max(operations[i]) - 1);
        assert_int_equal(at_buf_append(&b, AT_LIT("abc")), AT_OK);
        assert_int_equal(at_operation_encode(operations[i], &b), AT_RESOURCE_EXHAUSTED);
        assert_int_equal(b.len, 3);
        at_buf_deinit(&b);
    }
}

/* What is beyond a limit of the API is refused, even if a peer sends it. */
struct limit_case {
    const char *name;
    size_t table_len;
    size_t row_len;
    size_t family_len;
    size_t qualifier_len;
    uint32_t count;
    enum at_code want;
};

static const struct limit_case limit_cases[] = {
    {"takes all limits at once", 50, 4096, 64, 16384, 2, AT_OK},
    {"takes the most mutations", 1, 1, 1, 0, AT_MUTATIONS_MAX, AT_OK},
    {"refuses one mutation more", 1, 1, 1, 0, AT_MUTATIONS_MAX + 1, AT_INVALID_ARGUMENT},
    {"refuses no mutations", 1, 1, 1, 0, 0, AT_INVALID_ARGUMENT},
    {"refuses an empty table id", 0, 1, 1, 0, 1, AT_INVALID_ARGUMENT},
    {"refuses a long table id", 51, 1, 1, 0, 1, AT_INVALID_ARGUMENT},
    {"refuses an empty row", 1, 0, 1, 0, 1, AT_INVALID_ARGUMENT},
    {"refuses a long row", 1, 4097, 1, 0, 1, AT_INVALID_ARGUMENT},
    {"refuses an empty family", 1, 1, 0, 0, 1, AT_INVALID_ARGUMENT},
    {"refuses a long family", 1, 1, 65, 0, 1, AT_INVALID_ARGUMENT},
    {"refuses a long qualifier", 1, 1, 1, 16385, 1, AT_INVALID_ARGUMENT},
};

static void limit(void **state)
{
    const struct limit_case *c = &limit_cases[*(size_t *)*state];
    static uint8_t text[20000];
    struct at_operation op = row_operation;
    struct at_operation got;
    struct at_arena arena;
    struct at_buf b;

    memset(text, 'a', sizeof(text));
    op.table = at_slice_make(text, c->table_len);
    op.row = at_slice_make(text, c->row_len);
    op.mutations = calloc(c->count + 1, sizeof(struct at_mutation));
    op.mutation_count = c->count;
    for (uint32_t i = 0; i < c->count; i++)
        op.mutations[i] = (struct at_mutation){.kind = AT_MUTATION_SET,
                                               .family = {text, c->family_len},
                                               .family_generation = 1,
                                               .qualifier = {text, c->qualifier_len}};
    at_buf_init(&b, BUF_BYTES_MAX);
    at_arena_init(&arena, 4096);
    assert_int_equal(at_operation_encode(&op, &b), AT_OK);
    assert_int_equal(at_operation_decode(at_buf_slice(&b), &arena, &got), c->want);
    at_arena_deinit(&arena);
    at_buf_deinit(&b);
    free(op.mutations);
}

static void unknown_kinds_and_negative_timestamps_are_refused(void **state)
{
    static const struct at_slice bad[] = {
        {(const uint8_t *)"", 0},
        {(const uint8_t *)"\x91\x08", 2},             /* kind 8 */
        {(const uint8_t *)"\x92\x04\x90", 3},         /* a member without info */
        {(const uint8_t *)"\x93\x04\x00\xc4\x00", 5}, /* member 0 */
        {(const uint8_t *)"\x92\x05\x01", 3},         /* leaving needs no more */
        {(const uint8_t *)"\x94\x06\x90\x90\x00", 5}, /* nobody is removed */
        {(const uint8_t *)"\x94\x06\xdc\x00\x19\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
                          "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x90\x00",
         32},                                                        /* too many */
        {(const uint8_t *)"\x94\x06\x91\1\x91\x94\1\1\0\1\x00", 11}, /* epoch 0 */
        {(const uint8_t *)"\x94\x06\x91\1\x91\x94\0\1\1\1\x00", 11}, /* voucher 0 */
        {(const uint8_t *)"\x94\x06\x91\1\x91\x93\1\1\1\x00", 10},
        {(const uint8_t *)"\x91\x07", 2},          /* released: what? */
        {(const uint8_t *)"\x92\x02\x90", 3},      /* no records */
        {(const uint8_t *)"\x93\x03\xa1t\x01", 5}, /* a drop without prefix */
        {(const uint8_t *)"\x95\x01\xa1t\x01\xc4\x01r\x91\x91\x06", 11},
        {(const uint8_t *)"\x95\x01\xa1t\x01\xc4\x01r\x91\x92\x03\x01", 12},
        {(const uint8_t *)"\x95\x01\xa1t\x01\xc4\x01r\x91\x96\x00\xa1"
                          "f\x01\xc4\x00\xff\xc4\x00",
         19},
        {(const uint8_t *)"\x95\x01\xa1t\x01\xc4\x01r\x91\x96\x01\xa1"
                          "f\x01\xc4\x00\x05\x05",
         18},
        {(const uint8_t *)"\x96\x01\xa1t\x01\xc4\x01r\x91\x91\x03\xc4\x03"
                          "abc",
         16},
        {(const uint8_t *)"\x96\x01\xa1t\x01\xc4\x01r\x91\x91\x03\xc4\x10"
                          "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
         29}, /* a token of zeros */
    };
    static const struct at_slice good = {
        (const uint8_t *)"\x95\x01\xa1t\x01\xc4\x01r\x91\x96\x00\xa1"
                         "f\x01\xc4\x00\x7f\xc4\x00",
        19};
    struct at_operation got;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 4096);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(at_operation_decode(bad[i], &arena, &got), AT_INVALID_ARGUMENT);
    assert_int_equal(at_operation_decode(good, &arena, &got), AT_OK);
    at_arena_deinit(&arena);
}

static void changed_bytes_never_do_more_than_be_refused(void **state)
{
    struct at_prng p;
    int taken = 0;

    (void)state;
    at_prng_init(&p, 8);
    for (int round = 0; round < 30000; round++) {
        const struct at_operation *op = operations[at_prng_below(&p, OPERATIONS)];
        struct at_operation got;
        struct at_arena arena;
        struct at_buf b;
        at_buf_init(&b, BUF_BYTES_MAX);
        at_arena_init(&arena, 4096);
        assert_int_equal(at_operation_encode(op, &b), AT_OK);
        for (uint64_t i = 1 + at_prng_below(&p, 3); i > 0; i--)
            b.data[at_prng_below(&p, b.len)] = (uint8_t)at_prng_u64(&p);
        enum at_code code = at_operation_decode(at_buf_slice(&b), &arena, &got);
        assert_true(code == AT_OK || code == AT_INVALID_ARGUMENT);
        taken += code == AT_OK;
        if (code == AT_OK) {
            struct at_operation again;
            struct at_buf c;
            at_buf_init(&c, BUF_BYTES_MAX);
            assert_int_equal(at_operation_encode(&got, &c), AT_OK);
            assert_int_equal(at_operation_decode(at_buf_slice(&c), &arena, &again), AT_OK);
            assert_same(&again, &got);
            at_buf_deinit(&c);
        }
        at_arena_deinit(&arena);
        at_buf_deinit(&b);
    }
    assert_in_range(taken, 1, 29999);
}

int main(void)
{
    enum { LIMITS = sizeof(limit_cases) / sizeof(*limit_cases), FIXED = 6 };
    static size_t index[LIMITS];
    struct CMUnitTest tests[LIMITS + FIXED] = {
        cmocka_unit_test(every_operation_comes_back_and_has_the_size_foretold),
        cmocka_unit_test(the_size_is_exact_at_every_width),
        cmocka_unit_test(every_truncation_and_every_addition_is_refused),
        cmocka_unit_test(a_full_buffer_is_left_as_it_was),
        cmocka_unit_test(unknown_kinds_and_negative_timestamps_are_refused),
        cmocka_unit_test(changed_bytes_never_do_more_than_be_refused),
    };

    for (size_t i = 0; i < LIMITS; i++) {
        index[i] = i;
        tests[FIXED + i] = (struct CMUnitTest){
            .name = limit_cases[i].name, .test_func = limit, .initial_state = &index[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
