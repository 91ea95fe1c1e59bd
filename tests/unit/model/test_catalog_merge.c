#include "base/prng.h"
#include "support/catalog_fixture.h"

/* Names agree whatever order records arrive in, and old data never comes back. */

/* A creates, writes (to generation 1) and deletes; B creates; heal. The table must not show A's
 * rows, so it may not be present in the generation that A deleted. */
static void a_table_deleted_here_and_created_there_shows_no_old_data(void **state)
{
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    uint64_t written_to = generation(&a);
    toggle_table(&a);
    toggle_table(&b);
    heal(&a, &b);
    assert_int_equal(written_to, 1);
    assert_int_not_equal(generation(&a), written_to);
    assert_int_equal(generation(&a), generation(&b));
    toggle_table(&a);
    assert_int_equal(generation(&a), 3);
    free_both(&a, &b);
}

/* A creates; B pulls; A deletes; B edits a field, later by the clock; heal. */
static void an_edit_does_not_bring_a_deleted_table_back(void **state)
{
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    heal(&a, &b);
    toggle_table(&a);
    b.hlc += 100;
    edit_table(&b, table_fields());
    heal(&a, &b);
    assert_null(at_catalog_table(a.catalog, T));
    assert_null(at_catalog_table(b.catalog, T));
    assert_int_equal(at_catalog_table_counter(b.catalog, T), 2);
    free_both(&a, &b);
}

/* A creates, deletes, creates, writes (to generation 3); B creates, deletes; heal; then the table
 * is deleted and created. The fresh table is of a generation nobody wrote to. */
static void a_fresh_table_has_no_rows_after_two_histories_met(void **state)
{
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    toggle_table(&a);
    toggle_table(&a);
    uint64_t written_to = generation(&a);
    b.hlc += 100;
    toggle_table(&b);
    toggle_table(&b);
    heal(&a, &b);
    assert_int_equal(generation(&a), written_to); /* B deleted another generation */
    assert_int_equal(generation(&b), written_to);
    toggle_table(&b);
    toggle_table(&b);
    assert_true(generation(&b) > written_to);
    heal(&a, &b);
    assert_int_equal(generation(&a), generation(&b));
    free_both(&a, &b);
}

/* B does not know of the drop and goes on in generation 1; by stamps its write would win. */
static void dropping_a_family_ends_its_generation_whatever_the_stamps(void **state)
{
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    toggle_family(&a);
    heal(&a, &b);
    toggle_family(&a);
    b.hlc += 100;
    uint64_t written_to = at_table_family(at_catalog_table(b.catalog, T), F)->generation;
    heal(&a, &b);
    assert_null(at_table_family(at_catalog_table(b.catalog, T), F));
    toggle_family(&b);
    heal(&a, &b);
    const struct at_family *f = at_table_family(at_catalog_table(a.catalog, T), F);
    assert_int_equal(f->generation, 3);
    assert_int_not_equal(f->generation, written_to);
    free_both(&a, &b);
}

static void two_sides_of_a_partition_that_create_one_table_merge(void **state)
{
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    toggle_table(&b);
    toggle_family(&b);
    heal(&a, &b);
    assert_int_equal(generation(&a), 1);
    assert_int_equal(generation(&b), 1);
    assert_int_equal(at_catalog_table_count(a.catalog), 1);
    assert_non_null(at_table_family(at_catalog_table(a.catalog, T), F));
    assert_int_equal(
        at_stamp_cmp(at_catalog_table(a.catalog, T)->stamp, at_catalog_table(b.catalog, T)->stamp),
        0);
    free_both(&a, &b);
}

static void of_concurrent_edits_the_last_writer_wins(void **state)
{
    static const uint8_t micros[] = {0x81, 0x01, 0x01};
    struct cluster a;
    struct cluster b;

    (void)state;
    two_clusters(&a, &b);
    toggle_table(&a);
    heal(&a, &b);
    edit_table(&b, at_slice_make(micros, sizeof(micros)));
    edit_table(&a, table_fields()); /* equal clocks: the higher origin wins */
    heal(&a, &b);
    assert_int_equal(at_catalog_table(a.catalog, T)->fields.granularity_micros, 1);
    assert_int_equal(at_catalog_table(b.catalog, T)->fields.granularity_micros, 1);
    free_both(&a, &b);
}

/* --- merging is commutative, associative and idempotent --- */

#define SET_MAX 24

static struct at_catalog_record random_record(struct at_prng *p)
{
    static const struct at_slice names[] = {
        {(const uint8_t *)"a", 1}, {(const uint8_t *)"b", 1}, {(const uint8_t *)"ab", 2}};
    static const struct at_slice table[] = {{(const uint8_t *)"\x80", 1},
                                            {(const uint8_t *)"\x81\x01\x01", 3}};
    static const struct at_slice family[] = {{(const uint8_t *)"", 0},
                                             {(const uint8_t *)"\x0a\x02\x08\x03", 4}};
    struct at_catalog_record r = {
        .kind = (enum at_catalog_kind)(1 + at_prng_below(p, 3)),
        .name = names[at_prng_below(p, 3)],
        .counter = 1 + at_prng_below(p, 4),
        .stamp = {1 + at_prng_below(p, 3), {1 + (uint32_t)at_prng_below(p, 2)}}};

    r.fields =
        r.kind == AT_CATALOG_TABLE ? table[at_prng_below(p, 2)] : family[at_prng_below(p, 2)];
    if (r.kind == AT_CATALOG_FAMILY) {
        r.table = names[at_prng_below(p, 3)];
        r.table_generation = 1 + 2 * at_prng_below(p, 2);
    }
    return r;
}

static void assert_same_catalog(const struct at_catalog *a, const struct at_catalog *b)
{
    struct at_buf x;
    struct at_buf y;

    at_buf_init(&x, AT_MIB);
    at_buf_init(&y, AT_MIB);
    assert_int_equal(at_catalog_record_count(a), at_catalog_record_count(b));
    for (uint32_t i = 0; i < at_catalog_record_count(a); i++) {
        assert_int_equal(at_catalog_record_encode(at_catalog_record_at(a, i), &x), AT_OK);
        assert_int_equal(at_catalog_record_encode(at_catalog_record_at(b, i), &y), AT_OK);
    }
    assert_true(at_slice_eq(at_buf_slice(&x), at_buf_slice(&y)));
    assert_true(at_catalog_kind_version(a, AT_CATALOG_PROFILE) ==
                at_catalog_kind_version(b, AT_CATALOG_PROFILE));
    assert_int_equal(at_catalog_table_count(a), at_catalog_table_count(b));
    for (uint32_t i = 0; i < at_catalog_table_count(a); i++) {
        const struct at_table *s = at_catalog_table_at(a, i);
        const struct at_table *t = at_catalog_table_at(b, i);
        assert_true(at_slice_eq(s->name, t->name) && s->generation == t->generation);
        assert_int_equal(s->family_count, t->family_count);
        for (uint32_t j = 0; j < s->family_count; j++) {
            assert_true(at_slice_eq(s->families[j].name, t->families[j].name));
            assert_int_equal(s->families[j].generation, t->families[j].generation);
        }
    }
    at_buf_deinit(&x);
    at_buf_deinit(&y);
}

static void a_catalog_is_a_function_of_the_set_of_records(void **state)
{
    struct at_prng p;

    (void)state;
    at_prng_init(&p, 35);
    for (int round = 0; round < 3000; round++) {
        struct at_catalog_record set[SET_MAX];
        uint32_t n = 1 + (uint32_t)at_prng_below(&p, SET_MAX);
        struct cluster together;
        struct cluster apart;
        cluster_init(&together, 1);
        cluster_init(&apart, 2);
        for (uint32_t i = 0; i < n; i++)
            set[i] = random_record(&p);
        apply(&together, set, n);
        for (uint32_t i = n - 1; i > 0; i--) {
            uint32_t j = (uint32_t)at_prng_below(&p, i + 1);
            struct at_catalog_record swap = set[i];
            set[i] = set[j];
            set[j] = swap;
        }
        for (uint32_t i = 0; i < n;) { /* in groups, some twice */
            uint32_t group = 1 + (uint32_t)at_prng_below(&p, n - i);
            apply(&apart, &set[i], group);
            if (at_prng_below(&p, 2))
                apply(&apart, set, i + group);
            i += group;
        }
        assert_same_catalog(together.catalog, apart.catalog);
        free_both(&together, &apart);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_deleted_here_and_created_there_shows_no_old_data),
        cmocka_unit_test(an_edit_does_not_bring_a_deleted_table_back),
        cmocka_unit_test(a_fresh_table_has_no_rows_after_two_histories_met),
        cmocka_unit_test(dropping_a_family_ends_its_generation_whatever_the_stamps),
        cmocka_unit_test(two_sides_of_a_partition_that_create_one_table_merge),
        cmocka_unit_test(of_concurrent_edits_the_last_writer_wins),
        cmocka_unit_test(a_catalog_is_a_function_of_the_set_of_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
