/* The collector on a real store: what goes, what stays, and that nothing comes back. */
#include "cluster/tablet/collector.h"

#include <pthread.h>
#include <stdatomic.h>

#include "support/gc_fixture.h"

#define NONE at_slice_make(NULL, 0)
#define NOW gcx_now_micros()

static int setup(void **state)
{
    struct fx *f = AT_NEW(struct fx);

    gcx_open(f, 1, 1);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fx_close(*state);
    at_free(*state);
    return 0;
}

/* Versions 1000, 2000 ... of r f:q, with the values 1, 2 ... */
static void set_versions(struct fx *f, const char *family, int count)
{
    char value[16];

    for (int i = 1; i <= count; i++) {
        snprintf(value, sizeof(value), "%d", i);
        assert_int_equal(fx_set(f, "r", family, "q", i * 1000, value), AT_OK);
    }
}

static void a_rule_given_at_creation_is_collected(void **state)
{
    struct fx *f = *state;

    gcx_family(f, "f", "v1", NONE);
    set_versions(f, "f", 3);
    fx_expect_rows(f, "t", "r: f:q@3000=3 f:q@2000=2 f:q@1000=1|");
    assert_int_equal(gcx_collect(f), 2);
    fx_expect_rows(f, "t", "r: f:q@3000=3|");
    assert_int_equal(gcx_keys(f, false), 1);
    assert_int_equal(gcx_collect(f), 0);
}

static void relaxing_a_rule_brings_nothing_back(void **state)
{
    struct fx *f = *state;

    gcx_family(f, "f", "v1", NONE);
    gcx_family(f, "g", "a5000", NONE);
    set_versions(f, "f", 3);
    assert_int_equal(fx_set(f, "r", "g", "q", NOW - 6000000, "first"), AT_OK);
    assert_int_equal(fx_set(f, "r", "g", "q", NOW - 6000000, "second"), AT_OK);
    assert_int_equal(gcx_collect(f), 4);
    gcx_change_rule(f, "f", "v3", NONE);
    gcx_change_rule(f, "g", "n", NONE);
    fx_expect_rows(f, "t", "r: f:q@3000=3|");
    assert_int_equal(gcx_collect(f), 0);
    fx_expect_rows(f, "t", "r: f:q@3000=3|");
    assert_int_equal(fx_set(f, "r", "g", "q", 1000, "new"), AT_OK); /* old only by its timestamp */
    assert_int_equal(gcx_collect(f), 0);
    fx_expect_rows(f, "t", "r: f:q@3000=3 g:q@1000=new|");
}

static void overwriting_one_cell_keeps_the_store_flat(void **state)
{
    struct fx *f = *state;

    gcx_family(f, "f", "n", NONE);
    gcx_family(f, "g", "v1", NONE);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 300; i++) {
            assert_int_equal(fx_set(f, "r", "f", "q", 1000, "x"), AT_OK);
            assert_int_equal(fx_set(f, "r", "g", "q", round * 1000000 + i * 1000, "x"), AT_OK);
        }
        assert_in_range(gcx_collect(f), 598, 600);
        assert_int_equal(gcx_keys(f, false), 2);
    }
}

static void what_markers_hide_goes_and_markers_stay(void **state)
{
    struct fx *f = *state;
    struct at_mutation m = {.kind = AT_MUTATION_DELETE_FAMILY, .family = fx_s("g")};

    fx_close(f);
    gcx_open(f, 1, 2); /* the other member was never heard, so the horizon is nowhere */
    gcx_family(f, "f", "n", NONE);
    gcx_family(f, "g", "n", NONE);
    set_versions(f, "f", 3);
    assert_int_equal(fx_delete_row(f, "r"), AT_OK);
    set_versions(f, "g", 2);
    assert_int_equal(fx_mutate(f, "r", &m, 1, NULL), AT_OK);
    set_versions(f, "g", 1);
    m = (struct at_mutation){.kind = AT_MUTATION_DELETE_COLUMN,
                             .family = fx_s("f"),
                             .qualifier = fx_s("q"),
                             .start_micros = 1000,
                             .end_micros = 3000};
    set_versions(f, "f", 3);
    assert_int_equal(fx_mutate(f, "r", &m, 1, NULL), AT_OK);
    fx_expect_rows(f, "t", "r: f:q@3000=3 g:q@1000=1|");
    assert_int_equal(gcx_collect(f), 3 + 2 + 2);
    fx_expect_rows(f, "t", "r: f:q@3000=3 g:q@1000=1|");
    assert_int_equal(gcx_keys(f, false), 2);
    assert_int_equal(gcx_keys(f, true), 3);
}

/* A late entry of another cluster finds the marker, and the stamp that overwrote it. */
static void what_arrives_late_does_not_show(void **state)
{
    struct fx *a = *state;
    struct fx b;
    struct fx c;

    fx_close(a);
    gcx_open(a, 1, 3);
    gcx_open(&b, 2, 3);
    gcx_open(&c, 3, 3);
    gcx_family(a, "f", "v1", NONE);
    fx_pull(&b, a, 1 << 20);
    fx_pull(&c, a, 1 << 20);
    assert_int_equal(fx_set(&b, "r", "f", "q", 1000, "late"), AT_OK);
    assert_int_equal(fx_set(&b, "r2", "f", "q", 1000, "late"), AT_OK);
    gcx_pass_ms(10);
    assert_int_equal(fx_set(a, "r", "f", "q", 1000, "over"), AT_OK);
    assert_int_equal(fx_set(a, "r2", "f", "q", 1000, "gone"), AT_OK);
    assert_int_equal(fx_delete_row(a, "r2"), AT_OK);
    assert_int_equal(gcx_collect(a), 1);
    fx_pull(a, &b, 1 << 20);
    fx_expect_rows(a, "t", "r: f:q@1000=over|");
    assert_int_equal(gcx_collect(a), 2);
    fx_expect_rows(a, "t", "r: f:q@1000=over|");
    /* The log still has what c lacks. */
    fx_pull(&c, a, 1 << 20);
    fx_expect_rows(&c, "t", "r: f:q@1000=over|");
    assert_memory_equal(gcx_digest(&c).bytes, gcx_digest(a).bytes, 16);
    fx_close(&c);
    fx_close(&b);
}

static void adds_go_together_or_not_at_all(void **state)
{
    struct fx *f = *state;

    gcx_family(f, "s", "v1", FX_FIELDS(FX_SUM));
    for (int i = 0; i < 3; i++)
        assert_int_equal(fx_add(f, "r", "s", "q", 5), AT_OK);
    assert_int_equal(gcx_collect(f), 0);
    assert_int_equal(gcx_keys(f, false), 1); /* folded: see test_garbage_pass.c */
    fx_expect_rows(f, "t", "r: s:q@1000=%00%00%00%00%00%00%00%0F|");
    assert_int_equal(fx_add(f, "r", "s", "q", 5), AT_OK);
    struct at_mutation m = {.kind = AT_MUTATION_ADD,
                            .family = fx_s("s"),
                            .qualifier = fx_s("q"),
                            .timestamp_micros = 2000,
                            .value = AT_LIT("\0\0\0\0\0\0\0\1")};
    assert_int_equal(fx_mutate(f, "r", &m, 1, NULL), AT_OK);
    gcx_expect_rows(f, NOW, "r: s:q@2000=%00%00%00%00%00%00%00%01|");
    assert_int_equal(gcx_collect(f), 2);
    fx_expect_rows(f, "t", "r: s:q@2000=%00%00%00%00%00%00%00%01|");
}

static void a_compaction_drops_by_age_and_uncovers_nothing(void **state)
{
    struct fx *f = *state;
    int64_t old = NOW - 10000000;

    gcx_family(f, "f", "(v9|a5000)", NONE);
    gcx_family(f, "g", "(v1&a5000)", NONE);
    gcx_family(f, "s", "a5000", FX_FIELDS(FX_SUM));
    assert_int_equal(fx_set(f, "r", "f", "q", old, "first"), AT_OK);
    assert_int_equal(fx_set(f, "r", "f", "q", NOW, "young"), AT_OK);
    assert_int_equal(fx_set(f, "r", "g", "q", old, "kept"), AT_OK);
    assert_int_equal(fx_set(f, "r", "g", "q", old + 1000, "kept"), AT_OK);
    assert_int_equal(fx_add(f, "r", "s", "q", 1), AT_OK);
    gcx_compact(f);
    assert_int_equal(gcx_keys(f, false), 5); /* no floor yet: nothing goes */
    gcx_raise_floors(f);
    char *rows = gcx_rows(f, 0);
    assert_null(strstr(rows, "first"));
    assert_null(strstr(rows, "s:q"));
    assert_int_equal(gcx_keys(f, false), 5);
    gcx_compact(f);
    assert_int_equal(gcx_keys(f, false), 3);
    gcx_expect_rows(f, 0, rows);
    at_free(rows);
    struct at_store_stats stats;
    at_store_stats(f->store, &stats);
    assert_int_equal(stats.sieved_count, 2);
    assert_int_equal(stats.collected_count, 0);

    /* Also after a restart the floor hides what is below it and was written before. */
    at_store_close(&f->store);
    fx_reopen(f);
    assert_int_equal(fx_add(f, "r", "s", "q", 7), AT_OK);
    rows = gcx_rows(f, 0);
    assert_non_null(strstr(rows, "s:q@1000=%00%00%00%00%00%00%00%07"));
    at_free(rows);
    gcx_raise_floors(f);
    rows = gcx_rows(f, 0);
    assert_non_null(strstr(rows, "s:q")); /* the clock stands: so does the floor */
    at_free(rows);
    gcx_pass_ms(1);
    gcx_raise_floors(f);
    rows = gcx_rows(f, 0);
    assert_null(strstr(rows, "s:q"));
    at_free(rows);
}

/* `to` gets what `from` has, but for the entries of one member. */
static void pull_without(struct fx *to, struct fx *from, uint32_t member)
{
    struct fx_reply *reply = at_alloc(sizeof(*reply));
    struct at_replica_view theirs;
    struct at_replica_view ours;

    fx_view(to, &ours);
    fx_view(from, &theirs);
    for (uint32_t i = 0; i < theirs.applied.count; i++)
        if (theirs.applied.items[i].origin.v == member)
            at_vector_raise(&ours.applied, theirs.applied.items[i]);
    fx_reply_make(reply, from, &ours.applied, 1 << 20);
    fx_reply_give(reply, to);
    fx_reply_free(reply);
    at_free(reply);
    at_replica_view_deinit(&theirs);
    at_replica_view_deinit(&ours);
}

static void a_compaction_keeps_versions_stamps_and_unknown_families(void **state)
{
    struct fx *a = *state;
    struct fx b;
    struct fx c;

    gcx_family(a, "f", "v1", NONE);
    set_versions(a, "f", 3);
    set_versions(a, "f", 3);
    assert_int_equal(fx_delete_row(a, "r"), AT_OK);
    gcx_raise_floors(a);
    gcx_compact(a);
    assert_int_equal(gcx_keys(a, false), 6);
    assert_int_equal(gcx_keys(a, true), 1);
    fx_close(a);

    /* Data ahead of its schema: of a family that this cluster does not know yet. */
    gcx_open(a, 1, 3);
    gcx_open(&b, 2, 3);
    gcx_open(&c, 3, 3);
    fx_pull(&b, a, 1 << 20);
    gcx_family(&b, "late", "n", NONE);
    fx_pull(&c, &b, 1 << 20);
    assert_int_equal(fx_set(&c, "r", "late", "q", 1000, "x"), AT_OK);
    pull_without(a, &c, 2);
    assert_int_equal(gcx_keys(a, false), 1);
    assert_int_equal(gcx_collect(a), 0);
    gcx_compact(a);
    assert_int_equal(gcx_keys(a, false), 1);
    fx_expect_rows(a, "t", "");
    fx_pull(a, &b, 1 << 20);
    fx_expect_rows(a, "t", "r: late:q@1000=x|");
    fx_close(&c);
    fx_close(&b);
}

static void a_dead_family_is_dropped_whole_and_its_successor_is_not(void **state)
{
    struct fx *f = *state;

    gcx_family(f, "f", "a5000", NONE);
    set_versions(f, "f", 3);
    gcx_raise_floors(f);
    assert_int_equal(fx_change(f, "t", "f", NONE, false), AT_OK);
    gcx_family(f, "f", "n", NONE);
    set_versions(f, "f", 2);
    gcx_compact(f);
    assert_int_equal(gcx_keys(f, false), 2);
    at_store_close(&f->store);
    fx_reopen(f);
    assert_int_equal(gcx_collect(f), 0);
    fx_expect_rows(f, "t", "r: f:q@2000=2 f:q@1000=1|");
}

static void a_strict_store_hides_at_once(void **state)
{
    struct fx *f = *state;

    gcx_family(f, "f", "v1", NONE);
    gcx_family(f, "g", "a5000", NONE);
    set_versions(f, "f", 3);
    assert_int_equal(fx_set(f, "r", "g", "q", NOW - 4000000, "x"), AT_OK);
    at_store_close(&f->store);
    f->config.gc_strict = true;
    fx_reopen(f);
    char *rows = gcx_rows(f, 0);
    assert_non_null(strstr(rows, "r: f:q@3000=3 g:q"));
    at_free(rows);
    gcx_pass_ms(2000);
    fx_expect_rows(f, "t", "r: f:q@3000=3|");
    assert_int_equal(gcx_keys(f, false), 4);
}

static void a_round_begins_by_itself(void **state)
{
    struct fx *f = *state;
    uint32_t keys = 3;

    gcx_family(f, "f", "v1", NONE);
    set_versions(f, "f", 3);
    at_store_close(&f->store);
    f->config.clock = at_clock_system();
    f->config.gc_delay_s = 1;
    fx_reopen(f);
    for (int i = 0; i < 3000 && keys > 1; i++) {
        usleep(20000);
        keys = gcx_keys(f, false);
    }
    assert_int_equal(keys, 1);
    fx_expect_rows(f, "t", "r: f:q@3000=3|");
    for (int i = 4; i < 8; i++)
        assert_int_equal(fx_set(f, "r", "f", "q", i * 1000, "x"), AT_OK);
    for (int i = 0; i < 3000 && gcx_keys(f, false) > 1; i++)
        usleep(20000);
    assert_int_equal(gcx_keys(f, false), 1);
}

static void a_table_that_is_not_there_is_told(void **state)
{
    struct at_collect collect;

    assert_int_equal(gcx_collect_in(*state, "nosuch", &collect), AT_NOT_FOUND);
    assert_non_null(strstr(collect.error.msg, "nosuch"));
    assert_int_equal(gcx_collect_in(*state, "", &collect), AT_OK);
}

/* More than a batch, in rows that are longer than one. */
static void many_versions_go_in_many_batches(void **state)
{
    struct fx *f = *state;
    struct at_mutation *m = at_alloc(3000 * sizeof(*m));
    char row[16];

    gcx_family(f, "f", "v2", NONE);
    for (int i = 0; i < 3000; i++)
        m[i] = fx_set_of("f", "q", 1000 + i * 1000, "value");
    for (int r = 0; r < 4; r++) {
        snprintf(row, sizeof(row), "r%d", r);
        assert_int_equal(fx_mutate(f, row, m, 3000, NULL), AT_OK);
    }
    assert_int_equal(gcx_collect(f), 4 * 2998);
    assert_int_equal(gcx_keys(f, false), 8);
    at_free(m);
}

struct reader {
    struct fx *f;
    atomic_bool stop;
    atomic_int reads;
    int seen;
    bool went_back;
};

/* Values of the one cell are numbers that rise. */
static void *read_on(void *ctx)
{
    struct reader *r = ctx;

    while (!atomic_load(&r->stop) && !r->went_back) {
        char *rows = gcx_rows(r->f, 0);
        const char *value = strstr(rows, "f:q@1000=");
        int seen = value != NULL ? (int)strtol(value + strlen("f:q@1000="), NULL, 10) : r->seen;
        r->went_back = seen < r->seen;
        r->seen = seen;
        at_free(rows);
        atomic_fetch_add(&r->reads, value != NULL);
    }
    return NULL;
}

/* Each round a value is overwritten, in another file, and then both age. */
static void no_reader_sees_an_overwritten_value_again(void **state)
{
    struct fx *f = *state;
    struct reader readers[2] = {{.f = f}, {.f = f}};
    pthread_t threads[2];
    char value[16];

    gcx_family(f, "f", "a5000", NONE);
    gcx_family(f, "g", "n", NONE);
    assert_int_equal(fx_set(f, "r", "g", "q", 1000, "x"), AT_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    for (int i = 1; i <= 120; i++) {
        snprintf(value, sizeof(value), "%d", i);
        assert_int_equal(fx_set(f, "r", "f", "q", 1000, value), AT_OK);
        if (i == 1) /* both have begun */
            for (int k = 0; k < 60000 && !(readers[0].reads > 0 && readers[1].reads > 0); k++)
                usleep(1000);
        if (i % 2 == 1) {
            gcx_compact(f);
            continue;
        }
        gcx_pass_ms(1);
        gcx_raise_floors(f);
        if (i % 4 == 0)
            gcx_compact(f);
        else
            (void)gcx_collect(f);
    }
    for (int i = 0; i < 2; i++) {
        atomic_store(&readers[i].stop, true);
        pthread_join(threads[i], NULL);
        assert_false(readers[i].went_back);
        assert_true(readers[i].seen > 0);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_rule_given_at_creation_is_collected),
        CASE(relaxing_a_rule_brings_nothing_back),
        CASE(overwriting_one_cell_keeps_the_store_flat),
        CASE(what_markers_hide_goes_and_markers_stay),
        CASE(what_arrives_late_does_not_show),
        CASE(adds_go_together_or_not_at_all),
        CASE(a_compaction_drops_by_age_and_uncovers_nothing),
        CASE(a_compaction_keeps_versions_stamps_and_unknown_families),
        CASE(a_dead_family_is_dropped_whole_and_its_successor_is_not),
        CASE(a_strict_store_hides_at_once),
        CASE(a_round_begins_by_itself),
        CASE(a_table_that_is_not_there_is_told),
        CASE(many_versions_go_in_many_batches),
        CASE(no_reader_sees_an_overwritten_value_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
