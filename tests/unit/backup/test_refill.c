#include "cluster/backup/refill.h"

#include "support/backup_fixture.h"

static uint64_t generation_of(struct fx *f, const char *table)
{
    struct at_schema *schema = at_store_schema(f->store);
    uint64_t generation = at_catalog_table(schema->catalog, fx_s(table))->generation;

    at_schema_unref(&schema);
    return generation;
}

static void make_like(struct fx *f, const char *table)
{
    struct at_slice none = {NULL, 0};

    AT_ASSERT(fx_change(f, table, NULL, none, true) == AT_OK);
    AT_ASSERT(fx_change(f, table, "f", none, true) == AT_OK);
    AT_ASSERT(fx_change(f, table, "g", none, true) == AT_OK);
    AT_ASSERT(fx_change(f, table, "s", FX_FIELDS(FX_SUM), true) == AT_OK);
}

static enum at_code refill(struct bfx *b, const char *table, uint64_t generation)
{
    struct at_backup_scan scan;
    const struct at_backup_refill refill = {
        .store = b->fx.store,
        .table = fx_s(table),
        .table_generation = generation,
        .full_name = FX_NAME,
        .stop = &b->stop,
    };
    enum at_code code = at_backup_scan_open(&scan, b->path, &b->error);

    if (code == AT_OK)
        code = at_backup_refill(&refill, &scan, &b->error);
    at_backup_scan_close(&scan);
    return code;
}

static void fill(struct bfx *b)
{
    bfx_open(b);
    for (int i = 0; i < 9000; i++) { /* more than a batch */
        char q[16];
        (void)snprintf(q, sizeof(q), "%d", i);
        if (i % 90 == 0)
            assert_int_equal(fx_set(&b->fx, i % 180 ? "r1" : "r2", "f", q, 1000, q), AT_OK);
    }
    assert_int_equal(fx_set(&b->fx, "r1", "f", "v", 1000, "old"), AT_OK);
    assert_int_equal(fx_set(&b->fx, "r1", "f", "v", 2000, "new"), AT_OK);
    assert_int_equal(fx_add(&b->fx, "r3", "s", "q", 3), AT_OK);
    assert_int_equal(fx_add(&b->fx, "r3", "s", "q", 4), AT_OK);
    assert_int_equal(bfx_take(b, NULL), AT_OK);
}

static void equals(void **state)
{
    struct bfx b;

    (void)state;
    fill(&b);
    char *before = fx_rows(&b.fx, "t");
    assert_int_equal(fx_drop(&b.fx, "t", ""), AT_OK); /* what comes later is not in it */
    make_like(&b.fx, "u");
    assert_int_equal(refill(&b, "u", generation_of(&b.fx, "u")), AT_OK);
    fx_expect_rows(&b.fx, "u", before);
    at_free(before);
    bfx_close(&b);
}

static void merges_on(void **state)
{
    struct bfx b;
    struct at_mutation add = {.kind = AT_MUTATION_ADD,
                              .family = AT_LIT("s"),
                              .qualifier = AT_LIT("q"),
                              .timestamp_micros = 1000,
                              .value = AT_LIT("\0\0\0\0\0\0\0\x01")};

    (void)state;
    bfx_open(&b);
    assert_int_equal(fx_add(&b.fx, "r", "s", "q", 7), AT_OK);
    assert_int_equal(bfx_take(&b, NULL), AT_OK);
    make_like(&b.fx, "u");
    assert_int_equal(refill(&b, "u", generation_of(&b.fx, "u")), AT_OK);
    assert_int_equal(fx_mutate_in(&b.fx, "u", fx_s("r"), &add, 1, NULL), AT_OK);
    fx_expect_rows(&b.fx, "u", "r: s:q@1000=%00%00%00%00%00%00%00%08|");
    bfx_close(&b);
}

static void only_its_generation(void **state)
{
    struct bfx b;
    struct at_slice none = {NULL, 0};

    (void)state;
    fill(&b);
    make_like(&b.fx, "u");
    uint64_t generation = generation_of(&b.fx, "u");
    assert_int_equal(fx_change(&b.fx, "u", NULL, none, false), AT_OK);
    assert_int_equal(refill(&b, "u", generation), AT_NOT_FOUND);
    make_like(&b.fx, "u");
    assert_int_equal(refill(&b, "u", generation), AT_NOT_FOUND);
    fx_expect_rows(&b.fx, "u", "");
    bfx_close(&b);
}

static void stopped(void **state)
{
    struct bfx b;

    (void)state;
    fill(&b);
    make_like(&b.fx, "u");
    atomic_store(&b.stop, true);
    assert_int_equal(refill(&b, "u", generation_of(&b.fx, "u")), AT_CANCELLED);
    bfx_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a table filled again equals what it was", equals, NULL, NULL, NULL},
        {"a restored sum is added to", merges_on, NULL, NULL, NULL},
        {"another generation of the table is left alone", only_its_generation, NULL, NULL, NULL},
        {"it can be stopped", stopped, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
