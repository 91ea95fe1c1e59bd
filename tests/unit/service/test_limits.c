#include "google/bigtable/v2/bigtable.pb-c.h"
#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"
#include "support/service_fixture.h"

/* Every limit of the data API, at its edge and one beyond, through the RPCs. The largest requests
 * are made by the message; the rest are text. */

static struct sfx *fixture;

static enum at_code run_text(const char *rpc, const char *text)
{
    struct sfx_call c;

    sfx_call_init(&c, fixture);
    sfx_run(&c, rpc, text);
    enum at_code code = c.code;
    sfx_call_deinit(&c);
    return code;
}

struct edge {
    const char *name;
    const char *rpc;
    const char *at; /* text of a request at the limit */
    const char *beyond;
};

#define CELL(qualifier) "1{1:f 2:" qualifier "}"
static const struct edge EDGES[] = {
    {"a row key in MutateRow", "MutateRow", "1:$t 2:*4096 3{" CELL("q") "}",
     "1:$t 2:*4097 3{" CELL("q") "}"},
    {"a row key in MutateRows", "MutateRows", "1:$t 2{1:*4096 2{" CELL("q") "}}",
     "1:$t 2{1:*4097 2{" CELL("q") "}}"},
    {"a row key in CheckAndMutateRow", "CheckAndMutateRow", "1:$t 2:*4096 4{" CELL("q") "}",
     "1:$t 2:*4097 4{" CELL("q") "}"},
    {"a row key in ReadModifyWriteRow", "ReadModifyWriteRow", "1:$t 2:*4096 3{1:f 2:q 3:a}",
     "1:$t 2:*4097 3{1:f 2:q 3:a}"},
    {"a row key in ReadRows", "ReadRows", "1:$tt 2{1:*4096}", "1:$tt 2{1:*4097}"},
    {"a qualifier in MutateRow", "MutateRow", "1:$t 2:r 3{" CELL("*16384") "}",
     "1:$t 2:r 3{" CELL("*16385") "}"},
    {"a qualifier in MutateRows", "MutateRows", "1:$t 2{1:r 2{" CELL("*16384") "}}",
     "1:$t 2{1:r 2{" CELL("*16385") "}}"},
    {"a qualifier in DeleteFromColumn", "MutateRow", "1:$t 2:r 3{2{1:f 2:*16384}}",
     "1:$t 2:r 3{2{1:f 2:*16385}}"},
    {"a qualifier in AddToCell", "MutateRow", "1:$a 2:r 3{5{1:sum 2{8:*16384} 3{9=0} 4{6=1}}}",
     "1:$a 2:r 3{5{1:sum 2{8:*16385} 3{9=0} 4{6=1}}}"},
    {"a qualifier in CheckAndMutateRow", "CheckAndMutateRow",
     "1:$t 2:r 4{" CELL("q") "} 5{" CELL("*16384") "}",
     "1:$t 2:r 4{" CELL("q") "} 5{" CELL("*16385") "}"},
    {"a qualifier in ReadModifyWriteRow", "ReadModifyWriteRow", "1:$t 2:r 3{1:f 2:*16384 3:a}",
     "1:$t 2:r 3{1:f 2:*16385 3:a}"},
    /* The message around the regex has 4 bytes. */
    {"the bytes of a filter", "ReadRows", "1:$tt 3{6:*20476}", "1:$tt 3{6:*20477}"},
    {"the bytes of a predicate", "CheckAndMutateRow", "1:$t 2:r 6{6:*20476} 4{" CELL("q") "}",
     "1:$t 2:r 6{6:*20477} 4{" CELL("q") "}"},
    {"a label", "ReadRows", "1:$tt 3{19:abcdefghijklmno}", "1:$tt 3{19:abcdefghijklmnop}"},
};

static void edge(void **state)
{
    const struct edge *e = *state;

    assert_int_equal(run_text(e->rpc, e->at), AT_OK);
    assert_int_equal(run_text(e->rpc, e->beyond), AT_INVALID_ARGUMENT);
}

/* `depth` filters around the innermost one. */
static enum at_code read_nested(int depth)
{
    struct at_buf text AT_CLEANUP(at_buf_deinit);

    at_buf_init(&text, AT_MIB);
    assert_int_equal(at_buf_printf(&text, "1:$tt 3{"), AT_OK);
    for (int i = 0; i < depth; i++)
        assert_int_equal(at_buf_printf(&text, "%s{1{17=1} 1{", i % 2 ? "1" : "2"), AT_OK);
    assert_int_equal(at_buf_printf(&text, "17=1"), AT_OK);
    for (int i = 0; i < depth; i++)
        assert_int_equal(at_buf_printf(&text, "}}"), AT_OK);
    assert_int_equal(at_buf_printf(&text, "}"), AT_OK);
    return run_text("ReadRows", at_buf_cstr(&text));
}

static void filters_nest_twenty_deep(void **state)
{
    (void)state;
    assert_int_equal(read_nested(20), AT_OK);
    assert_int_equal(read_nested(21), AT_INVALID_ARGUMENT);
}

static enum at_code run_many(const char *rpc, const char *head, const char *item, int count)
{
    struct at_buf text AT_CLEANUP(at_buf_deinit);

    at_buf_init(&text, 64 * AT_MIB);
    assert_int_equal(at_buf_printf(&text, "%s", head), AT_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(at_buf_append(&text, at_slice_cstr(item)), AT_OK);
    return run_text(rpc, at_buf_cstr(&text));
}

static void a_hundred_thousand_mutations_or_rules(void **state)
{
    enum { MAX = 100000 };
    static const struct edge kinds[] = {
        {NULL, "MutateRow", "1:$t 2:r ", "3{2{1:f 2:q}}"},
        {NULL, "CheckAndMutateRow", "1:$t 2:r ", "4{2{1:f 2:q}}"},
        {NULL, "CheckAndMutateRow", "1:$t 2:r ", "5{2{1:f 2:q}}"},
        {NULL, "ReadModifyWriteRow", "1:$t 2:n ", "3{1:f 2:q 4=1}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct edge *k = &kinds[i];
        assert_int_equal(run_many(k->rpc, k->at, k->beyond, MAX), AT_OK);
        assert_int_equal(run_many(k->rpc, k->at, k->beyond, MAX + 1), AT_INVALID_ARGUMENT);
    }
    /* over all entries: two of each, and one more */
    assert_int_equal(
        run_many("MutateRows", "1:$t ", "2{1:r 2{2{1:f 2:q}} 2{2{1:f 2:q}}} ", MAX / 2), AT_OK);
    assert_int_equal(run_many("MutateRows", "1:$t 2{1:r 2{4{}}}",
                              "2{1:r 2{2{1:f 2:q}} 2{2{1:f 2:q}}} ", MAX / 2),
                     AT_INVALID_ARGUMENT);
}

/* Starts a MutateRow of one cell with `len` bytes; without the text, which would be slow. */
static enum at_code set_large(const char *qualifier, size_t len)
{
    Google__Bigtable__V2__MutateRowRequest request = GOOGLE__BIGTABLE__V2__MUTATE_ROW_REQUEST__INIT;
    Google__Bigtable__V2__Mutation mutation = GOOGLE__BIGTABLE__V2__MUTATION__INIT;
    Google__Bigtable__V2__Mutation__SetCell set = GOOGLE__BIGTABLE__V2__MUTATION__SET_CELL__INIT;
    Google__Bigtable__V2__Mutation *mutations[1] = {&mutation};
    char table[] = "projects/p/instances/i/tables/t";
    char family[] = "f";
    char row[] = "large";
    struct sfx_call c;
    struct at_buf bytes;

    request.table_name = table;
    request.row_key = (ProtobufCBinaryData){strlen(row), (uint8_t *)row};
    request.n_mutations = 1;
    request.mutations = mutations;
    mutation.mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_SET_CELL;
    mutation.set_cell = &set;
    set.family_name = family;
    set.column_qualifier.len = strlen(qualifier);
    set.column_qualifier.data = (uint8_t *)at_dup(qualifier, strlen(qualifier));
    set.value.len = len;
    set.value.data = at_alloc(len);
    at_buf_init(&bytes, 128 * AT_MIB);
    assert_int_equal(at_proto_pack(&bytes, &request.base), AT_OK);
    sfx_call_init(&c, fixture);
    (void)sfx_start(&c, "MutateRow", at_buf_slice(&bytes), NULL);
    sfx_finish(&c);
    enum at_code code = c.code;
    sfx_call_deinit(&c);
    at_buf_deinit(&bytes);
    at_free(set.value.data);
    at_free(set.column_qualifier.data);
    return code;
}

/* The row must be named in the details as clients look for it. */
static void expect_large_row(const struct sfx_call *c, const char *key_base64)
{
    Google__Rpc__Status *status =
        google__rpc__status__unpack(NULL, c->details.len, c->details.data);

    assert_int_equal(c->code, AT_FAILED_PRECONDITION);
    assert_non_null(strstr(c->message, "projects/p/instances/i/tables/t"));
    assert_non_null(status);
    assert_int_equal(status->code, AT_FAILED_PRECONDITION);
    assert_int_equal(status->n_details, 1);
    Google__Rpc__ErrorInfo *info = google__rpc__error_info__unpack(
        NULL, status->details[0]->value.len, status->details[0]->value.data);
    assert_non_null(info);
    assert_string_equal(info->reason, "LargeRowReadError");
    assert_string_equal(info->metadata[0]->value, key_base64);
    google__rpc__error_info__free_unpacked(info, NULL);
    google__rpc__status__free_unpacked(status, NULL);
}

static void values_of_100_mib_and_rows_of_256(void **state)
{
    static const char *const qualifiers[] = {"a", "b", "c"};
    struct sfx_call c;

    (void)state;
    assert_int_equal(set_large("z", 100 * AT_MIB + 1), AT_INVALID_ARGUMENT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(set_large(qualifiers[i], 100 * AT_MIB), AT_OK);
    for (int filtered = 0; filtered < 2; filtered++) {
        const char *request = filtered ? "1:$t 2{1:large} 3{13=1}" : "1:$t 2{1:large}";
        sfx_call_init(&c, fixture);
        (void)sfx_start(&c, "ReadRows", wire_text(request, &c.arena), NULL);
        c.read_rows = false; /* its text would be too much */
        sfx_finish(&c);
        if (filtered)
            assert_int_equal(c.code, AT_OK);
        else
            expect_large_row(&c, "bGFyZ2U=");
        sfx_call_deinit(&c);
    }
}

static int open_fixture(void **state)
{
    (void)state;
    fixture = AT_NEW(struct sfx);
    sfx_open(fixture);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    sfx_close(fixture);
    at_free(fixture);
    return 0;
}

int main(void)
{
    enum { COUNT = sizeof(EDGES) / sizeof(EDGES[0]), OTHERS = 3 };
    struct CMUnitTest tests[COUNT + OTHERS];

    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct edge *in;
            void *out;
        } e = {.in = &EDGES[i]};
        tests[i] = (struct CMUnitTest){EDGES[i].name, edge, NULL, NULL, e.out};
    }
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(filters_nest_twenty_deep);
    tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(a_hundred_thousand_mutations_or_rules);
    tests[COUNT + 2] = (struct CMUnitTest)cmocka_unit_test(values_of_100_mib_and_rows_of_256);
    return _cmocka_run_group_tests("limits", tests, COUNT + OTHERS, open_fixture, close_fixture);
}
