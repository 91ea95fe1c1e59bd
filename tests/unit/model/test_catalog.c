/* The catalog: names agree whatever order records arrive in, and old data never comes back. */
#include "base/limits.h"
#include "base/prng.h"
#include "cluster/model/catalog.h"
#include "support/test.h"

#include <stdio.h>
#include <time.h>

#define T AT_LIT("t")
#define F AT_LIT("f")

/* Local ids, so that a test sees what was asked for. */
static uint32_t table_id(void *ctx, struct at_slice table, uint64_t generation)
{
    (void)ctx;
    return (uint32_t)(table.data[0] * 100u + generation);
}

static uint32_t family_id(void *ctx, uint32_t table, struct at_slice family, uint64_t generation)
{
    (void)ctx;
    return (uint32_t)(table * 1000u + family.data[0] * 10u + generation);
}

static const struct at_catalog_ids ids = {NULL, table_id, family_id};

/* A cluster: its catalog, its clock, and what it wrote, for the others. */
#define WRITTEN_MAX 32
struct cluster {
    struct at_catalog *catalog;
    uint32_t origin;
    uint64_t hlc;
    struct at_catalog_record written[WRITTEN_MAX];
    uint32_t written_count;
};

static struct at_slice table_fields(void) /* the defaults */
{
    return AT_LIT("\x80");
}

static void cluster_init(struct cluster *c, uint32_t origin)
{
    *c = (struct cluster){.catalog = at_catalog_new(), .origin = origin};
}

static void apply(struct cluster *c, const struct at_catalog_record *records, uint32_t count)
{
    struct at_catalog *next = NULL;

    assert_int_equal(at_catalog_apply(c->catalog, records, count, &ids, &next, NULL), AT_OK);
    at_catalog_free(&c->catalog);
    c->catalog = next;
}

static void write_record(struct cluster *c, struct at_catalog_record r)
{
    r.stamp = (struct at_stamp){++c->hlc, {c->origin}};
    c->written[c->written_count++] = r;
    apply(c, &r, 1);
}

/* Creates or deletes: one more than what the serving cluster sees. */
static void toggle_table(struct cluster *c)
{
    write_record(c,
                 (struct at_catalog_record){.kind = AT_CATALOG_TABLE,
                                            .name = T,
                                            .counter = at_catalog_table_counter(c->catalog, T) + 1,
                                            .fields = table_fields()});
}

static void toggle_family(struct cluster *c)
{
    uint64_t generation = at_catalog_table_counter(c->catalog, T);

    write_record(c, (struct at_catalog_record){
                        .kind = AT_CATALOG_FAMILY,
                        .name = F,
                        .table = T,
                        .table_generation = generation,
                        .counter = at_catalog_family_counter(c->catalog, T, generation, F) + 1});
}

/* Edits a field: the counter stays. */
static void edit_table(struct cluster *c, struct at_slice fields)
{
    write_record(c, (struct at_catalog_record){.kind = AT_CATALOG_TABLE,
                                               .name = T,
                                               .counter = at_catalog_table_counter(c->catalog, T),
                                               .fields = fields});
}

/* Each takes all that the other wrote, newest first, and again. */
static void heal(struct cluster *a, struct cluster *b)
{
    struct cluster *pairs[2][2] = {{a, b}, {b, a}};

    for (int i = 0; i < 2; i++) {
        struct cluster *to = pairs[i][0];
        const struct cluster *from = pairs[i][1];
        for (uint32_t j = from->written_count; j > 0; j--)
            apply(to, &from->written[j - 1], 1);
        apply(to, from->written, from->written_count);
        if (to->hlc < from->hlc)
            to->hlc = from->hlc;
    }
}

static uint64_t generation(const struct cluster *c) /* of the present table; 0: absent */
{
    const struct at_table *t = at_catalog_table(c->catalog, T);

    return t ? t->generation : 0;
}

static void two_clusters(struct cluster *a, struct cluster *b)
{
    cluster_init(a, 1);
    cluster_init(b, 2);
}

static void free_both(struct cluster *a, struct cluster *b)
{
    at_catalog_free(&a->catalog);
    at_catalog_free(&b->catalog);
}

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
        cmocka_unit_test(a_table_deleted_here_and_created_there_shows_no_old_data),
        cmocka_unit_test(an_edit_does_not_bring_a_deleted_table_back),
        cmocka_unit_test(a_fresh_table_has_no_rows_after_two_histories_met),
        cmocka_unit_test(dropping_a_family_ends_its_generation_whatever_the_stamps),
        cmocka_unit_test(two_sides_of_a_partition_that_create_one_table_merge),
        cmocka_unit_test(a_table_made_anew_starts_without_families),
        cmocka_unit_test(a_family_may_arrive_before_its_table),
        cmocka_unit_test(present_names_have_their_local_ids),
        cmocka_unit_test(of_concurrent_edits_the_last_writer_wins),
        cmocka_unit_test(malformed_fields_are_refused_and_change_nothing),
        cmocka_unit_test(a_family_knows_its_type_and_gc_rule),
        cmocka_unit_test(profiles_are_records_too_and_have_a_version),
        cmocka_unit_test(each_kind_has_names_and_a_version_of_its_own),
        cmocka_unit_test(only_the_newest_operations_are_kept_whatever_the_order),
        cmocka_unit_test(a_deleted_generation_that_is_kept_is_not_over),
        cmocka_unit_test(an_older_version_stays_as_it_was),
        cmocka_unit_test(a_catalog_is_a_function_of_the_set_of_records),
        cmocka_unit_test(a_thousand_tables_are_found_counted_and_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
