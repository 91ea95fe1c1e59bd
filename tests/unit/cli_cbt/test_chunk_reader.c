/* test_chunk_reader.c: each rule of the chunk protocol, kept and broken. */
#include "support/test.h"

#include "cli/cbt/chunk_reader.h"
#include "cli/cbt/proto.h"

/* A chunk as a test writes it; NULL family or qualifier: not present. */
struct chunk {
    const char *key;
    const char *family;
    const char *qualifier;
    int64_t micros;
    const char *value;
    int32_t size;
    char status; /* 'c' commit, 'r' reset */
};

struct chunk_case {
    const char *name;
    const char *want; /* key[family:qualifier@micros=value ...] per row; "!" at a breach */
    bool reversed;
    struct chunk chunks[8]; /* until one without key, value and status */
};

static const struct chunk_case CASES[] = {
    {"one cell", "k[f:q@5=v]", false, {{"k", "f", "q", 5, "v", 0, 'c'}}},
    {"an empty qualifier and value", "k[f:@0=]", false, {{"k", "f", "", 0, "", 0, 'c'}}},
    {"family and qualifier are inherited",
     "k[f:q@2=a f:q@1=b f:r@1=c g:q@1=d]",
     false,
     {{"k", "f", "q", 2, "a", 0, 0},
      {"", NULL, NULL, 1, "b", 0, 0},
      {"k", NULL, "r", 1, "c", 0, 0},
      {"", "g", "q", 1, "d", 0, 'c'}}},
    {"two rows",
     "a[f:q@0=1]b[f:q@0=2]",
     false,
     {{"a", "f", "q", 0, "1", 0, 'c'}, {"b", "f", "q", 0, "2", 0, 'c'}}},
    {"a value in three parts",
     "k[f:q@3=abcde]",
     false,
     {{"k", "f", "q", 3, "ab", 5, 0},
      {"", NULL, NULL, 0, "cd", 5, 0},
      {"", NULL, NULL, 0, "e", 0, 'c'}}},
    {"a reset drops the row",
     "k[f:q@0=2]",
     false,
     {{"k", "f", "q", 0, "1", 0, 0},
      {"", NULL, NULL, 0, "", 0, 'r'},
      {"k", "f", "q", 0, "2", 0, 'c'}}},
    {"a reset within a value",
     "k[f:q@0=2]",
     false,
     {{"k", "f", "q", 0, "1", 9, 0},
      {"", NULL, NULL, 0, "", 0, 'r'},
      {"k", "f", "q", 0, "2", 0, 'c'}}},
    {"rows go down when reversed",
     "b[f:q@0=1]a[f:q@0=2]",
     true,
     {{"b", "f", "q", 0, "1", 0, 'c'}, {"a", "f", "q", 0, "2", 0, 'c'}}},
    {"no key", "!", false, {{"", "f", "q", 0, "v", 0, 'c'}}},
    {"no family", "!", false, {{"k", NULL, "q", 0, "v", 0, 'c'}}},
    {"no qualifier", "!", false, {{"k", "f", NULL, 0, "v", 0, 'c'}}},
    {"a new family without qualifier",
     "!",
     false,
     {{"k", "f", "q", 0, "v", 0, 0}, {"", "g", NULL, 0, "v", 0, 'c'}}},
    {"another key before the commit",
     "!",
     false,
     {{"k", "f", "q", 0, "v", 0, 0}, {"l", "f", "q", 0, "v", 0, 'c'}}},
    {"the same key twice",
     "k[f:q@0=v]!",
     false,
     {{"k", "f", "q", 0, "v", 0, 'c'}, {"k", "f", "q", 0, "v", 0, 'c'}}},
    {"keys that go down",
     "b[f:q@0=v]!",
     false,
     {{"b", "f", "q", 0, "v", 0, 'c'}, {"a", "f", "q", 0, "v", 0, 'c'}}},
    {"keys that go up when reversed",
     "a[f:q@0=v]!",
     true,
     {{"a", "f", "q", 0, "v", 0, 'c'}, {"b", "f", "q", 0, "v", 0, 'c'}}},
    {"a commit within a value", "!", false, {{"k", "f", "q", 0, "v", 5, 'c'}}},
    {"too few bytes",
     "!",
     false,
     {{"k", "f", "q", 0, "ab", 5, 0}, {"", NULL, NULL, 0, "c", 0, 'c'}}},
    {"too many bytes",
     "!",
     false,
     {{"k", "f", "q", 0, "ab", 3, 0}, {"", NULL, NULL, 0, "cd", 0, 'c'}}},
    {"an empty part",
     "!",
     false,
     {{"k", "f", "q", 0, "ab", 3, 0},
      {"", NULL, NULL, 0, "", 3, 0},
      {"", NULL, NULL, 0, "c", 0, 'c'}}},
    {"a size that changes",
     "!",
     false,
     {{"k", "f", "q", 0, "a", 3, 0},
      {"", NULL, NULL, 0, "b", 4, 0},
      {"", NULL, NULL, 0, "c", 0, 'c'}}},
    {"a negative size", "!", false, {{"k", "f", "q", 0, "a", -3, 0}}},
    {"a qualifier within a value",
     "!",
     false,
     {{"k", "f", "q", 0, "ab", 3, 0}, {"", NULL, "q", 0, "c", 0, 'c'}}},
    {"a timestamp within a value",
     "!",
     false,
     {{"k", "f", "q", 0, "ab", 3, 0}, {"", NULL, NULL, 7, "c", 0, 'c'}}},
    {"a reset outside of a row", "!", false, {{"", NULL, NULL, 0, "", 0, 'r'}}},
    {"a reset with a value",
     "!",
     false,
     {{"k", "f", "q", 0, "1", 0, 0}, {"", NULL, NULL, 0, "x", 0, 'r'}}},
    {"the end within a row", "!", false, {{"k", "f", "q", 0, "1", 0, 0}}},
};

static void put_row(void *ctx, const struct at_client_row *row)
{
    struct at_buf *got = ctx;
    assert_int_equal(at_buf_printf(got, "%.*s[", AT_SLICE_ARG(row->key)), AT_OK);
    for (size_t i = 0; i < row->cell_count; i++)
        assert_int_equal(
            at_buf_printf(got, "%s%.*s:%.*s@%d=%.*s", i ? " " : "",
                          AT_SLICE_ARG(row->cells[i].family), AT_SLICE_ARG(row->cells[i].qualifier),
                          (int)row->cells[i].timestamp_micros, AT_SLICE_ARG(row->cells[i].value)),
            AT_OK);
    assert_int_equal(at_buf_printf(got, "]"), AT_OK);
}

static Google__Bigtable__V2__ReadRowsResponse__CellChunk *make_chunk(struct at_arena *arena,
                                                                     const struct chunk *c)
{
    Google__Bigtable__V2__ReadRowsResponse__CellChunk *chunk =
        AT_PROTO_NEW(arena, google__bigtable__v2__read_rows_response__cell_chunk);
    chunk->row_key = at_proto_borrow(at_slice_cstr(c->key));
    if (c->family) {
        chunk->family_name = AT_PROTO_NEW(arena, google__protobuf__string_value);
        chunk->family_name->value = at_proto_text(c->family);
    }
    if (c->qualifier) {
        chunk->qualifier = AT_PROTO_NEW(arena, google__protobuf__bytes_value);
        chunk->qualifier->value = at_proto_borrow(at_slice_cstr(c->qualifier));
    }
    chunk->timestamp_micros = c->micros;
    chunk->value = at_proto_borrow(at_slice_cstr(c->value));
    chunk->value_size = c->size;
    if (c->status == 'c') {
        chunk->row_status_case =
            GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW;
        chunk->commit_row = true;
    } else if (c->status == 'r') {
        chunk->row_status_case =
            GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_RESET_ROW;
        chunk->reset_row = true;
    }
    return chunk;
}

/* Feeds the chunks, `per_message` at a time, and writes what came out. */
static void feed(const struct chunk_case *c, size_t per_message, struct at_buf *got)
{
    struct at_chunk_reader reader;
    enum at_code code = AT_OK;
    at_chunk_reader_init(&reader, c->reversed, put_row, got);
    for (size_t i = 0; code == AT_OK && i < 8 && c->chunks[i].key; i += per_message) {
        Google__Bigtable__V2__ReadRowsResponse__CellChunk *list[8];
        Google__Bigtable__V2__ReadRowsResponse response =
            GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__INIT;
        struct at_arena arena;
        at_arena_init(&arena, 1024);
        response.chunks = list;
        for (size_t k = i; k < i + per_message && k < 8 && c->chunks[k].key; k++)
            list[response.n_chunks++] = make_chunk(&arena, &c->chunks[k]);
        code = at_chunk_reader_take(&reader, &response, NULL);
        at_arena_deinit(&arena);
    }
    if (code == AT_OK)
        code = at_chunk_reader_end(&reader, NULL);
    if (code != AT_OK) {
        assert_int_equal(code, AT_INTERNAL);
        assert_int_equal(at_buf_printf(got, "!"), AT_OK);
    }
    at_chunk_reader_deinit(&reader);
}

static void keeps_the_rules(void **state)
{
    for (size_t per_message = 1; per_message <= 8; per_message += 7) {
        const struct chunk_case *c = *state;
        struct at_buf got;
        at_buf_init(&got, 4096);
        feed(c, per_message, &got);
        assert_string_equal(at_buf_cstr(&got), c->want);
        at_buf_deinit(&got);
    }
}

static void a_scanned_key_counts_as_the_last_one(void **state)
{
    (void)state;
    struct at_chunk_reader reader;
    struct at_buf got;
    Google__Bigtable__V2__ReadRowsResponse response =
        GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__INIT;
    at_buf_init(&got, 64);
    at_chunk_reader_init(&reader, false, put_row, &got);
    response.last_scanned_row_key = at_proto_borrow(AT_LIT("m"));
    assert_int_equal(at_chunk_reader_take(&reader, &response, NULL), AT_OK);
    assert_true(at_slice_eq_cstr(at_buf_slice(&reader.last_key), "m"));
    assert_int_equal(at_chunk_reader_take(&reader, &response, NULL), AT_INTERNAL);
    at_chunk_reader_deinit(&reader);
    at_buf_deinit(&got);
}

int main(void)
{
    enum { COUNT = sizeof(CASES) / sizeof(CASES[0]) };
    struct CMUnitTest tests[COUNT + 1] = {{0}};
    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct chunk_case *from;
            void *to;
        } c = {.from = &CASES[i]};
        tests[i] = (struct CMUnitTest){CASES[i].name, keeps_the_rules, NULL, NULL, c.to};
    }
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(a_scanned_key_counts_as_the_last_one);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
