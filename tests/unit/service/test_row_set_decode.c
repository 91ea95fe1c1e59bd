#include "cluster/service/row_set_decode.h"

#include "support/test.h"
#include "support/wire_text.h"
#include "wire/proto_alloc.h"

/* Each row is a RowSet and the ranges it becomes: "[a,b)" or "=a" for one row. A key with a zero
 * byte at its end is shown with a '+'. */

struct row_set_case {
    const char *name;
    const char *rows; /* NULL: no message */
    enum at_code code;
    const char *out; /* or, on error, a part of the message */
};

static const struct row_set_case cases[] = {
    {"no row set is the whole table", NULL, AT_OK, "[,)"},
    {"an empty row set is the whole table", "", AT_OK, "[,)"},
    {"a range with nothing set is the whole table", "2{}", AT_OK, "[,)"},
    {"keys come sorted and once", "1:b 1:a 1:b", AT_OK, "=a =b"},
    {"closed start, open end", "2{1:a 3:c}", AT_OK, "[a,c)"},
    {"open start, closed end", "2{2:a 4:c}", AT_OK, "[a+,c+)"},
    {"a closed range of one key is a look-up", "2{1:b 4:b}", AT_OK, "=b"},
    {"only a start", "2{1:b}", AT_OK, "[b,)"},
    {"only an end", "2{3:b}", AT_OK, "[,b)"},
    {"an end that is set and empty is infinity, open or closed", "2{1:c 3:''}", AT_OK, "[c,)"},
    {"an end that is closed and empty too", "2{1:c 4:''}", AT_OK, "[c,)"},
    {"a start that is open and empty", "2{2:'' 3:c}", AT_OK, "[,c)"},
    {"keys and ranges are a union", "1:a 2{1:c 3:e} 2{1:d 3:g} 1:d", AT_OK, "=a [c,g)"},

    {"an empty key", "1:''", AT_INVALID_ARGUMENT, "Row keys must be non-empty"},
    {"a key beyond 4 KiB", "1:*4097", AT_INVALID_ARGUMENT, "4097"},
    {"an inverted range", "2{1:a} 2{1:c 3:a}", AT_INVALID_ARGUMENT,
     "Error in element #1: start_key must be less than end_key"},
    {"(K,K] is empty", "2{2:k 4:k}", AT_INVALID_ARGUMENT, "start_key must be less than end_key"},
    {"[K,K) is empty", "2{1:k 3:k}", AT_INVALID_ARGUMENT, "start_key must be less than end_key"},
};

static void put_key(struct at_buf *out, struct at_slice key)
{
    bool zero = key.len > 0 && key.data[key.len - 1] == 0;

    assert_int_equal(at_buf_printf(out, "%.*s%s", (int)(key.len - zero),
                                   key.len ? (const char *)key.data : "", zero ? "+" : ""),
                     AT_OK);
}

static void put_range(struct at_buf *out, const struct at_row_range *r)
{
    if (r->point) {
        assert_int_equal(at_buf_printf(out, "="), AT_OK);
        put_key(out, r->start);
        return;
    }
    assert_int_equal(at_buf_printf(out, "["), AT_OK);
    put_key(out, r->start);
    assert_int_equal(at_buf_printf(out, ","), AT_OK);
    put_key(out, r->end);
    assert_int_equal(at_buf_printf(out, ")"), AT_OK);
}

static void check_case(void **state)
{
    const struct row_set_case *c = *state;
    struct at_error error = {0};
    struct at_row_set set;
    struct at_arena arena;
    struct at_buf out;
    const Google__Bigtable__V2__RowSet *in = NULL;

    at_arena_init(&arena, 4096);
    at_buf_init(&out, AT_MIB);
    if (c->rows) {
        in = at_proto_unpack(&arena, &google__bigtable__v2__row_set__descriptor,
                             wire_text(c->rows, &arena));
        assert_non_null(in);
    }
    enum at_code code = at_row_set_decode(in, &arena, &set, &error);
    assert_int_equal(code, c->code);
    for (uint32_t i = 0; code == AT_OK && i < set.count; i++) {
        assert_int_equal(at_buf_printf(&out, "%s", i ? " " : ""), AT_OK);
        put_range(&out, &set.ranges[i]);
    }
    if (code == AT_OK)
        assert_string_equal(at_buf_cstr(&out), c->out);
    else
        assert_non_null(strstr(error.msg, c->out));
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct row_set_case *in;
            void *out;
        } c = {.in = &cases[i]};
        tests[i] = (struct CMUnitTest){cases[i].name, check_case, NULL, NULL, c.out};
    }
    return _cmocka_run_group_tests("row_set_decode", tests, COUNT, NULL, NULL);
}
