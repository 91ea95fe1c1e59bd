#include "support/catalog_fixture.h"

#include <stdio.h>
#include <time.h>

/* What a catalog holds, finds and refuses; how catalogs merge is test_catalog_merge.c's. */

static void a_table_made_anew_starts_without_families(void **state)
{
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    toggle_family(&a);
    toggle_table(&a);
    toggle_table(&a);
    assert_int_equal(generation(&a), 3);
    assert_int_equal(at_catalog_table(a.catalog, T)->family_count, 0);
    assert_int_equal(at_catalog_family_counter(a.catalog, T, 3, F), 0);
    assert_int_equal(at_catalog_family_counter(a.catalog, T, 1, F), 1);
    free_both(&a, &b);
}

static void a_family_may_arrive_before_its_table(void **state)
{
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    toggle_family(&a);
    apply(&b, &a.written[1], 1);
    assert_null(at_catalog_table(b.catalog, T));
    assert_int_equal(at_catalog_table_counter(b.catalog, T), 0);
    apply(&b, &a.written[0], 1);
    assert_non_null(at_table_family(at_catalog_table(b.catalog, T), F));
    free_both(&a, &b);
}

static void present_names_have_their_local_ids(void **state)
{
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    toggle_family(&a);
    const struct at_table *t = at_catalog_table(a.catalog, T);
    assert_int_equal(t->id, table_id(NULL, T, 1));
    assert_int_equal(t->families[0].id, family_id(NULL, t->id, F, 1));
    assert_ptr_equal(at_catalog_table_at(a.catalog, 0), t);
    free_both(&a, &b);
}

static void malformed_fields_are_refused_and_change_nothing(void **state)
{
    struct cluster c;
    struct at_catalog *next = NULL;
    struct at_error err;
    struct at_catalog_record r[2] = {
        {.kind = AT_CATALOG_TABLE, .name = T, .counter = 1, .fields = table_fields()},
        {.kind = AT_CATALOG_FAMILY,
         .name = F,
         .table = T,
         .table_generation = 1,
         .counter = 1,
         .fields = AT_LIT("\x0a\x7f")}};

    (void)state;
    cluster_init(&c, 1);
    assert_int_equal(at_catalog_apply(c.catalog, r, 2, &ids, &next, &err), AT_INVALID_ARGUMENT);
    assert_null(next);
    assert_int_equal(at_catalog_record_count(c.catalog), 0);
    r[1].counter = 2; /* absent: nobody reads its fields */
    assert_int_equal(at_catalog_apply(c.catalog, r, 2, &ids, &next, &err), AT_OK);
    at_catalog_free(&next);
    r[0].fields = AT_LIT("");
    assert_int_equal(at_catalog_apply(c.catalog, r, 1, &ids, &next, &err), AT_INVALID_ARGUMENT);
    at_catalog_free(&c.catalog);
}

/* A serialized ColumnFamily: type and GC rule as the wire has them. */
struct family_case {
    const char *name;
    struct at_slice fields;
    enum at_family_type type;
    size_t gc_len;
};

static const struct family_case family_cases[] = {
    {"an empty family is plain", {(const uint8_t *)"", 0}, AT_FAMILY_PLAIN, 0},
    {"a GC rule is kept", {(const uint8_t *)"\x0a\x02\x08\x03", 4}, AT_FAMILY_PLAIN, 2},
    {"bytes are plain", {(const uint8_t *)"\x1a\x02\x0a\x00", 4}, AT_FAMILY_PLAIN, 0},
    {"sum", {(const uint8_t *)"\x1a\x04\x32\x02\x22\x00", 6}, AT_FAMILY_SUM, 0},
    {"hll", {(const uint8_t *)"\x1a\x04\x32\x02\x2a\x00", 6}, AT_FAMILY_HLL, 0},
    {"max", {(const uint8_t *)"\x1a\x04\x32\x02\x32\x00", 6}, AT_FAMILY_MAX, 0},
    {"min", {(const uint8_t *)"\x1a\x04\x32\x02\x3a\x00", 6}, AT_FAMILY_MIN, 0},
    {"sum of int64 with a GC rule",
     {(const uint8_t *)"\x0a\x02\x08\x01\x1a\x08\x32\x06\x0a\x02\x2a\x00\x22\x00", 14},
     AT_FAMILY_SUM,
     2},
};

static void a_family_knows_its_type_and_gc_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(family_cases) / sizeof(*family_cases); i++) {
        const struct family_case *fc = &family_cases[i];
        struct cluster c;
        const struct at_catalog_record r[] = {
            {.kind = AT_CATALOG_TABLE, .name = T, .counter = 1, .fields = table_fields()},
            {.kind = AT_CATALOG_FAMILY,
             .name = F,
             .table = T,
             .table_generation = 1,
             .counter = 1,
             .fields = fc->fields}};
        cluster_init(&c, 1);
        apply(&c, r, 2);
        const struct at_family *f = at_table_family(at_catalog_table(c.catalog, T), F);
        assert_int_equal(f->type, fc->type);
        assert_int_equal(f->gc_rule.len, fc->gc_len);
        assert_true(at_slice_eq(f->fields, fc->fields));
        at_catalog_free(&c.catalog);
    }
}

static void profiles_are_records_too_and_have_a_version(void **state)
{
    struct cluster c;
    struct at_catalog_record r = {
        .kind = AT_CATALOG_PROFILE, .name = AT_LIT("p"), .counter = 1, .fields = AT_LIT("one")};

    (void)state;
    cluster_init(&c, 1);
    uint64_t none = at_catalog_kind_version(c.catalog, AT_CATALOG_PROFILE);
    apply(&c, &r, 1);
    uint64_t one = at_catalog_kind_version(c.catalog, AT_CATALOG_PROFILE);
    assert_true(one != none);
    assert_true(at_slice_eq_cstr(
        at_catalog_named(c.catalog, AT_CATALOG_PROFILE, AT_LIT("p"))->fields, "one"));
    assert_ptr_equal(at_catalog_named_at(c.catalog, AT_CATALOG_PROFILE, 0),
                     at_catalog_named(c.catalog, AT_CATALOG_PROFILE, AT_LIT("p")));
    toggle_table(&c);
    apply(&c, &r, 1);
    assert_true(at_catalog_kind_version(c.catalog, AT_CATALOG_PROFILE) == one);
    r.stamp.hlc = 9;
    r.fields = AT_LIT("two");
    apply(&c, &r, 1);
    uint64_t two = at_catalog_kind_version(c.catalog, AT_CATALOG_PROFILE);
    assert_true(two != one && two != none);
    r.counter = 2;
    apply(&c, &r, 1);
    assert_null(at_catalog_named(c.catalog, AT_CATALOG_PROFILE, AT_LIT("p")));
    assert_int_equal(at_catalog_named_count(c.catalog, AT_CATALOG_PROFILE), 0);
    assert_int_equal(at_catalog_named_counter(c.catalog, AT_CATALOG_PROFILE, AT_LIT("p")), 2);
    assert_true(at_catalog_kind_version(c.catalog, AT_CATALOG_PROFILE) != two);
    at_catalog_free(&c.catalog);
}

static void each_kind_has_names_and_a_version_of_its_own(void **state)
{
    struct cluster c;
    struct at_catalog_record r = {.name = AT_LIT("x"), .counter = 1, .fields = AT_LIT("1")};

    (void)state;
    cluster_init(&c, 1);
    for (int kind = AT_CATALOG_PROFILE; kind <= AT_CATALOG_KIND_MAX; kind++) {
        r.kind = (enum at_catalog_kind)kind;
        uint64_t before = at_catalog_kind_version(c.catalog, r.kind);
        assert_null(at_catalog_named(c.catalog, r.kind, r.name));
        assert_false(at_catalog_has(c.catalog, &r));
        apply(&c, &r, 1);
        assert_true(at_catalog_kind_version(c.catalog, r.kind) != before);
        assert_int_equal(at_catalog_named_count(c.catalog, r.kind), 1);
        assert_non_null(at_catalog_named(c.catalog, r.kind, r.name));
        assert_true(at_catalog_has(c.catalog, &r));
        assert_int_equal(at_catalog_record_at(c.catalog, (uint32_t)kind - AT_CATALOG_PROFILE)->kind,
                         kind);
    }
    r = (struct at_catalog_record){.kind = AT_CATALOG_POLICY, .counter = 1};
    apply(&c, &r, 1); /* the policy of the instance itself has no name */
    assert_non_null(at_catalog_named(c.catalog, AT_CATALOG_POLICY, AT_LIT("")));
    at_catalog_free(&c.catalog);
}

static void only_the_newest_operations_are_kept_whatever_the_order(void **state)
{
    struct cluster forth, back;
    char name[24];
    const uint32_t count = AT_OPERATIONS_MAX + 7;

    (void)state;
    cluster_init(&forth, 1);
    cluster_init(&back, 1);
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t n = i < count ? i : 2 * count - 1 - i;
        (void)snprintf(name, sizeof(name), "operations/%u", (n * 7919) % 1000003);
        struct at_catalog_record r = {.kind = AT_CATALOG_OPERATION,
                                      .name = at_slice_cstr(name),
                                      .counter = 1,
                                      .stamp = {.hlc = 100 + n}};
        apply(i < count ? &forth : &back, &r, 1);
    }
    assert_int_equal(at_catalog_named_count(forth.catalog, AT_CATALOG_OPERATION),
                     AT_OPERATIONS_MAX);
    assert_true(at_catalog_kind_version(forth.catalog, AT_CATALOG_OPERATION) ==
                at_catalog_kind_version(back.catalog, AT_CATALOG_OPERATION));
    assert_null(at_catalog_named(forth.catalog, AT_CATALOG_OPERATION, AT_LIT("operations/0")));
    at_catalog_free(&forth.catalog);
    at_catalog_free(&back.catalog);
}

static void a_deleted_generation_that_is_kept_is_not_over(void **state)
{
    struct cluster c;
    struct at_table_fields f = {.granularity_micros = 1000,
                                .data_generation = 1,
                                .previous = {{1, 5}},
                                .previous_count = 1};
    struct at_catalog_record r = {.kind = AT_CATALOG_TABLE, .name = T, .counter = 2};
    struct at_buf b;

    (void)state;
    cluster_init(&c, 1);
    at_buf_init(&b, AT_MIB);
    assert_false(at_catalog_table_over(c.catalog, T, 1));
    assert_int_equal(at_table_fields_encode(&f, &b), AT_OK);
    r.fields = at_buf_slice(&b);
    apply(&c, &r, 1); /* deleted, kept */
    assert_null(at_catalog_table(c.catalog, T));
    assert_non_null(at_catalog_deleted_table(c.catalog, T));
    assert_false(at_catalog_table_over(c.catalog, T, 1));
    f.previous_count = 0;
    at_buf_clear(&b);
    assert_int_equal(at_table_fields_encode(&f, &b), AT_OK);
    r.fields = at_buf_slice(&b);
    r.counter = 5; /* had back: 3 was another one meanwhile */
    apply(&c, &r, 1);
    assert_int_equal(at_catalog_table(c.catalog, T)->generation, 1);
    assert_int_equal(at_catalog_table(c.catalog, T)->counter, 5);
    assert_false(at_catalog_table_over(c.catalog, T, 1));
    assert_true(at_catalog_table_over(c.catalog, T, 3));
    assert_false(at_catalog_table_over(c.catalog, T, 5));
    r.counter = 6;
    r.fields = AT_LIT("");
    apply(&c, &r, 1); /* deleted, not kept */
    assert_null(at_catalog_deleted_table(c.catalog, T));
    assert_true(at_catalog_table_over(c.catalog, T, 1));
    at_catalog_free(&c.catalog);
    at_buf_deinit(&b);
}

static void an_older_version_stays_as_it_was(void **state)
{
    struct cluster c;
    struct at_catalog *next = NULL;
    struct at_catalog_record r = {
        .kind = AT_CATALOG_TABLE, .name = T, .counter = 2, .fields = table_fields()};

    (void)state;
    cluster_init(&c, 1);
    toggle_table(&c);
    toggle_family(&c);
    const struct at_table *t = at_catalog_table(c.catalog, T);
    assert_int_equal(at_catalog_apply(c.catalog, &r, 1, NULL, &next, NULL), AT_OK);
    assert_null(at_catalog_table(next, T));
    assert_ptr_equal(at_catalog_table(c.catalog, T), t);
    assert_int_equal(t->family_count, 1);
    at_catalog_free(&c.catalog);
    assert_int_equal(at_catalog_record_count(next), 2);
    at_catalog_free(&next);
}

/* Names in order, and every index of records reached, over many slots. */
static void a_thousand_tables_are_found_counted_and_in_order(void **state)
{
    enum { TABLES = 1000, FAMILIES = 3 };
    struct cluster c;
    char name[16];

    (void)state;
    cluster_init(&c, 1);
    clock_t start = clock();
    for (int i = 0; i < TABLES; i++) {
        struct at_catalog_record r[1 + FAMILIES];
        static const char *const families[FAMILIES] = {"cf1", "cf2", "cf3"};
        int n = snprintf(name, sizeof(name), "t%d", (i * 7919) % TABLES);
        struct at_slice table = at_slice_make(name, (size_t)n);
        r[0] = (struct at_catalog_record){
            .kind = AT_CATALOG_TABLE, .name = table, .counter = 1, .fields = table_fields()};
        for (int j = 0; j < FAMILIES; j++)
            r[1 + j] = (struct at_catalog_record){.kind = AT_CATALOG_FAMILY,
                                                  .name = at_slice_cstr(families[j]),
                                                  .table = table,
                                                  .table_generation = 1,
                                                  .counter = 1};
        apply(&c, r, 1 + FAMILIES);
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_true(seconds < 5); /* a wide bound: sanitizers, busy machines */
    assert_int_equal(at_catalog_table_count(c.catalog), TABLES);
    assert_int_equal(at_catalog_record_count(c.catalog), TABLES * (1 + FAMILIES));
    for (uint32_t i = 0; i < TABLES; i++) {
        const struct at_table *t = at_catalog_table_at(c.catalog, i);
        assert_int_equal(t->family_count, FAMILIES);
        assert_ptr_equal(at_catalog_table(c.catalog, t->name), t);
        assert_true(i == 0 ||
                    at_slice_cmp(at_catalog_table_at(c.catalog, i - 1)->name, t->name) < 0);
        assert_true(
            at_slice_eq(at_catalog_record_at(c.catalog, i * (1 + FAMILIES))->name, t->name));
    }
    assert_null(at_catalog_table(c.catalog, AT_LIT("t1000")));
    printf("%d tables of %d families one by one: %.1f ms\n", TABLES, FAMILIES, seconds * 1000);
    at_catalog_free(&c.catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_made_anew_starts_without_families),
        cmocka_unit_test(a_family_may_arrive_before_its_table),
        cmocka_unit_test(present_names_have_their_local_ids),
        cmocka_unit_test(malformed_fields_are_refused_and_change_nothing),
        cmocka_unit_test(a_family_knows_its_type_and_gc_rule),
        cmocka_unit_test(profiles_are_records_too_and_have_a_version),
        cmocka_unit_test(each_kind_has_names_and_a_version_of_its_own),
        cmocka_unit_test(only_the_newest_operations_are_kept_whatever_the_order),
        cmocka_unit_test(a_deleted_generation_that_is_kept_is_not_over),
        cmocka_unit_test(an_older_version_stays_as_it_was),
        cmocka_unit_test(a_thousand_tables_are_found_counted_and_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
