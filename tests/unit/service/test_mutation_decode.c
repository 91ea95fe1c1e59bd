#include "cluster/service/mutation_decode.h"

#include <inttypes.h>

#include "google/bigtable/v2/bigtable.pb-c.h"
#include "support/test.h"
#include "support/wire_text.h"
#include "wire/proto_alloc.h"

/* Each row is a MutateRowRequest; only its mutations (field 3) count. `out` is what comes of them:
 * kind, family, qualifier, timestamps and value of each. */

struct mutation_case {
    const char *name;
    const char *request;
    enum at_code code;
    const char *out; /* or, on error, a part of the message */
};

#define IN_LIST "Error in field 'Mutation list' : Error in element #"

static const struct mutation_case cases[] = {
    {"a cell is set", "3{1{1:f 2:q 3=1000 4:v}}", AT_OK, "set f:q@1000=v;"},
    {"a cell at server time", "3{1{1:f 2:q 3=-1 4:v}}", AT_OK, "set f:q@-1=v;"},
    {"timestamp 0, the empty qualifier and the empty value are legal", "3{1{1:f}}", AT_OK,
     "set f:@0=;"},
    {"a far timestamp", "3{1{1:f 2:q 3=9223372036854775000 4:v}}", AT_OK,
     "set f:q@9223372036854775000=v;"},
    {"mutations keep their order", "3{1{1:f 2:q 3=0 4:v}} 3{4{}} 3{3{1:g}}", AT_OK,
     "set f:q@0=v;row;family g;"},
    {"a column is deleted", "3{2{1:f 2:q}}", AT_OK, "column f:q [0,0);"},
    {"a range of a column is deleted", "3{2{1:f 2:q 3{1=2000 2=4000}}}", AT_OK,
     "column f:q [2000,4000);"},
    {"an integer is added as eight bytes", "3{5{1:f 2{8:q} 3{9=5000} 4{6=7}}}", AT_OK,
     "add f:q@5000=<0000000000000007>;"},
    {"a negative integer is added", "3{5{1:f 2{8:q} 3{9=0} 4{6=-1}}}", AT_OK,
     "add f:q@0=<ffffffffffffffff>;"},
    {"raw bytes are added as they are", "3{5{1:f 2{8:q} 3{9=0} 4{8:abc}}}", AT_OK,
     "add f:q@0=abc;"},
    {"a state is merged", "3{6{1:f 2{8:q} 3{9=0} 4{8:abcdefgh}}}", AT_OK, "merge f:q@0=abcdefgh;"},
    {"merging NULL is legal", "3{6{1:f 2{8:q} 3{9=0} 4{}}}", AT_OK, "merge f:q@0=;"},
    {"a timestamp that the client made up is cut", "3{1{1:f 2:q 3=1234567 4:v} 7=2}", AT_OK,
     "set f:q@1234000=v;"},
    {"a qualifier of 16 KiB", "3{2{1:f 2:*16384}}", AT_OK, NULL},

    {"no mutations", "", AT_INVALID_ARGUMENT, "No mutations provided"},
    {"a mutation with nothing set", "3{}", AT_INVALID_ARGUMENT, IN_LIST "0 : No mutation is set"},
    {"the element is named", "3{4{}} 3{}", AT_INVALID_ARGUMENT, IN_LIST "1 : "},
    {"a timestamp that is not of milliseconds", "3{1{1:f 2:q 3=1001 4:v}}", AT_INVALID_ARGUMENT,
     IN_LIST "0 : Timestamp granularity mismatch. Expected a multiple of 1000 (millisecond "
             "granularity), but got 1001."},
    {"the greatest timestamp", "3{1{1:f 2:q 3=9223372036854775807 4:v}}", AT_INVALID_ARGUMENT,
     "Timestamp granularity mismatch"},
    {"a timestamp the user gave is not cut", "3{1{1:f 2:q 3=1001 4:v} 7=1}", AT_INVALID_ARGUMENT,
     "Timestamp granularity mismatch"},
    {"a timestamp below -1", "3{1{1:f 2:q 3=-2 4:v}}", AT_INVALID_ARGUMENT,
     IN_LIST "0 : Timestamps must be >= -1, but got -2"},
    {"an inverted delete range", "3{2{1:f 2:q 3{1=4000 2=2000}}}", AT_INVALID_ARGUMENT, IN_LIST},
    {"a qualifier beyond 16 KiB", "3{1{1:f 2:*16385}}", AT_INVALID_ARGUMENT, "16385"},
    {"an empty family", "3{1{2:q 4:v}}", AT_INVALID_ARGUMENT, IN_LIST},
    {"a family beyond 64 bytes", "3{3{1:*65}}", AT_INVALID_ARGUMENT, IN_LIST},
    {"an add without input", "3{5{1:f 2{8:q} 3{9=0}}}", AT_INVALID_ARGUMENT, "input must be"},
    {"an add of NULL", "3{5{1:f 2{8:q} 3{9=0} 4{}}}", AT_INVALID_ARGUMENT, "input must be"},
    {"an add without qualifier", "3{5{1:f 3{9=0} 4{6=1}}}", AT_INVALID_ARGUMENT,
     "column_qualifier must be"},
    {"an add without timestamp", "3{5{1:f 2{8:q} 4{6=1}}}", AT_INVALID_ARGUMENT,
     "timestamp must be"},
    {"a merge without input", "3{6{1:f 2{8:q} 3{9=0}}}", AT_INVALID_ARGUMENT, "input must be"},
    {"a kind of mutation that is not known", "3{4{}} 3{99{}}", AT_UNIMPLEMENTED,
     IN_LIST "1 : field 99 of Mutation is not supported"},
};

static void put_value(struct at_buf *out, const struct at_mutation *m)
{
    bool integer = m->value.len == 8 && (m->value.data[0] == 0 || m->value.data[0] == 0xff);

    for (size_t i = 0; integer && i < m->value.len; i++)
        assert_int_equal(
            at_buf_printf(out, "%s%02x%s", i ? "" : "<", m->value.data[i], i == 7 ? ">" : ""),
            AT_OK);
    if (!integer)
        assert_int_equal(at_buf_append(out, m->value), AT_OK);
}

static void put_mutation(struct at_buf *out, const struct at_mutation *m)
{
    static const char *const kinds[] = {"set", "column", "family", "row", "add", "merge"};
    enum at_code code = at_buf_printf(out, "%s", kinds[m->kind]);

    if (m->kind == AT_MUTATION_DELETE_FAMILY)
        code = at_buf_printf(out, " %.*s", AT_SLICE_ARG(m->family));
    else if (m->kind == AT_MUTATION_DELETE_COLUMN)
        code = at_buf_printf(out, " %.*s:%.*s [%" PRId64 ",%" PRId64 ")", AT_SLICE_ARG(m->family),
                             AT_SLICE_ARG(m->qualifier), m->start_micros, m->end_micros);
    else if (m->kind != AT_MUTATION_DELETE_ROW) {
        code = at_buf_printf(out, " %.*s:%.*s@%" PRId64 "=", AT_SLICE_ARG(m->family),
                             AT_SLICE_ARG(m->qualifier), m->timestamp_micros);
        put_value(out, m);
    }
    assert_int_equal(code, AT_OK);
    assert_int_equal(at_buf_append(out, AT_LIT(";")), AT_OK);
}

static void check_case(void **state)
{
    const struct mutation_case *c = *state;
    struct at_error error = {0};
    struct at_mutation_list list;
    struct at_arena arena;
    struct at_buf out;

    at_arena_init(&arena, 4096);
    at_buf_init(&out, AT_MIB);
    const Google__Bigtable__V2__MutateRowRequest *in =
        at_proto_unpack(&arena, &google__bigtable__v2__mutate_row_request__descriptor,
                        wire_text(c->request, &arena));
    assert_non_null(in);
    enum at_code code =
        at_mutation_decode_list(in->mutations, in->n_mutations, 1000, &arena, &list, &error);
    assert_int_equal(code, c->code);
    if (code == AT_OK) {
        for (uint32_t i = 0; i < list.count; i++)
            put_mutation(&out, &list.items[i]);
        if (c->out)
            assert_string_equal(at_buf_cstr(&out), c->out);
    } else {
        assert_int_equal(error.code, code);
        assert_non_null(strstr(error.msg, c->out));
    }
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
}

static void at_most_100000_mutations_are_taken(void **state)
{
    Google__Bigtable__V2__Mutation__DeleteFromRow row =
        GOOGLE__BIGTABLE__V2__MUTATION__DELETE_FROM_ROW__INIT;
    Google__Bigtable__V2__Mutation mutation = GOOGLE__BIGTABLE__V2__MUTATION__INIT;
    static Google__Bigtable__V2__Mutation *mutations[AT_MUTATIONS_MAX + 1];
    struct at_mutation_list list;
    struct at_arena arena;

    (void)state;
    mutation.mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_DELETE_FROM_ROW;
    mutation.delete_from_row = &row;
    for (size_t i = 0; i <= AT_MUTATIONS_MAX; i++)
        mutations[i] = &mutation;
    at_arena_init(&arena, 4096);
    assert_int_equal(
        at_mutation_decode_list(mutations, AT_MUTATIONS_MAX, 1000, &arena, &list, NULL), AT_OK);
    assert_int_equal(list.count, AT_MUTATIONS_MAX);
    assert_int_equal(
        at_mutation_decode_list(mutations, AT_MUTATIONS_MAX + 1, 1000, &arena, &list, NULL),
        AT_INVALID_ARGUMENT);
    at_arena_deinit(&arena);
}

static void an_error_in_an_entry_names_the_entry(void **state)
{
    struct at_error error;

    (void)state;
    assert_int_equal(at_fail(&error, AT_INVALID_ARGUMENT, IN_LIST "2 : bad"), AT_INVALID_ARGUMENT);
    assert_int_equal(at_mutation_in_entry(&error, 7), AT_INVALID_ARGUMENT);
    assert_string_equal(error.msg,
                        "Error in field 'Entry list' : Error in element #7 : " IN_LIST "2 : bad");
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT + 2];

    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct mutation_case *in;
            void *out;
        } c = {.in = &cases[i]};
        tests[i] = (struct CMUnitTest){cases[i].name, check_case, NULL, NULL, c.out};
    }
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(at_most_100000_mutations_are_taken);
    tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(an_error_in_an_entry_names_the_entry);
    return _cmocka_run_group_tests("mutation_decode", tests, COUNT + 2, NULL, NULL);
}
