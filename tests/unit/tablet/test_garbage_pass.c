/* Forgetting on a real store: markers and folded adds go below the horizon, reads stay as they are,
 * and nothing comes back. */
#include "cluster/tablet/garbage_pass.h"

#include <pthread.h>

#include "replication/replica_state.h"
#include "support/gc_fixture.h"

#define NONE at_slice_make(NULL, 0)

static int setup(void **state)
{
    struct fx *f = AT_NEW(struct fx);

    gcx_open(f, 1, 1);
    gcx_family(f, "f", "n", NONE);
    gcx_family(f, "g", "n", NONE);
    gcx_family(f, "s", "n", FX_FIELDS(FX_SUM));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fx_close(*state);
    at_free(*state);
    return 0;
}

static enum at_code delete_family(struct fx *f, const char *row, const char *family)
{
    struct at_mutation m = {.kind = AT_MUTATION_DELETE_FAMILY, .family = fx_s(family)};

    return fx_mutate(f, row, &m, 1, NULL);
}

static enum at_code
delete_column(struct fx *f, const char *row, const char *family, int64_t start, int64_t end)
{
    struct at_mutation m = {.kind = AT_MUTATION_DELETE_COLUMN,
                            .family = fx_s(family),
                            .qualifier = AT_LIT("q"),
                            .start_micros = start,
                            .end_micros = end};

    return fx_mutate(f, row, &m, 1, NULL);
}

static uint64_t forget(struct fx *f)
{
    struct at_collect collect;

    AT_ASSERT(gcx_collect_in(f, "t", &collect) == AT_OK);
    return collect.forgotten_count;
}

static struct at_schema *schema_of(struct fx *f)
{
    return at_store_schema(f->store);
}

static uint32_t drop_count(struct fx *f)
{
    struct at_schema *schema = schema_of(f);
    uint32_t count = 0;

    (void)at_schema_drops(schema, at_catalog_table(schema->catalog, fx_s("t"))->id, &count);
    at_schema_unref(&schema);
    return count;
}

static bool has_row_markers(struct fx *f)
{
    struct at_schema *schema = schema_of(f);
    bool has = at_schema_has_row_markers(schema, at_catalog_table(schema->catalog, fx_s("t"))->id);

    at_schema_unref(&schema);
    return has;
}

static void markers_of_every_width_go_with_what_they_cover(void **state)
{
    struct fx *f = *state;

    for (int i = 1; i <= 3; i++) {
        assert_int_equal(fx_set(f, "r", "f", "q", i * 1000, "f"), AT_OK);
        assert_int_equal(fx_set(f, "r", "g", "q", i * 1000, "g"), AT_OK);
        assert_int_equal(fx_set(f, "r2", "f", "q", i * 1000, "f"), AT_OK);
    }
    assert_int_equal(delete_column(f, "r", "f", 1000, 3000), AT_OK);
    assert_int_equal(delete_family(f, "r", "g"), AT_OK);
    assert_int_equal(fx_delete_row(f, "r2"), AT_OK);
    assert_int_equal(fx_set(f, "r2", "g", "q", 1000, "new"), AT_OK);
    char *before = gcx_rows(f, 0);
    assert_string_equal(before, "r: f:q@3000=f|r2: g:q@1000=new|");
    assert_true(has_row_markers(f));
    assert_int_equal(forget(f), 3);
    gcx_expect_rows(f, 0, before);
    at_free(before);
    assert_int_equal(gcx_keys(f, true), 0);
    assert_int_equal(gcx_keys(f, false), 2);
    assert_false(has_row_markers(f));
    assert_int_equal(forget(f), 0);

    /* The next delete is known again. */
    assert_int_equal(fx_delete_row(f, "r2"), AT_OK);
    assert_true(has_row_markers(f));
    fx_expect_rows(f, "t", "r: f:q@3000=f|");
    at_store_close(&f->store);
    fx_reopen(f);
    fx_expect_rows(f, "t", "r: f:q@3000=f|");
    assert_int_equal(forget(f), 1);
    struct at_store_stats stats;
    at_store_stats(f->store, &stats);
    assert_int_equal(stats.forgotten_count, 1);
}

static void a_member_that_is_not_heard_holds_everything(void **state)
{
    struct fx *a = *state;
    struct fx b;

    fx_close(a);
    gcx_open(a, 1, 2);
    gcx_open(&b, 2, 2);
    gcx_family(a, "f", "n", NONE);
    gcx_family(a, "s", "n", FX_FIELDS(FX_SUM));
    fx_pull(&b, a, 1 << 20);
    assert_int_equal(fx_set(a, "r", "f", "q", 1000, "x"), AT_OK);
    assert_int_equal(fx_delete_row(a, "r"), AT_OK);
    assert_int_equal(fx_drop(a, "t", "z"), AT_OK);
    assert_int_equal(fx_add(a, "s", "s", "q", 1), AT_OK);
    assert_int_equal(fx_add(a, "s", "s", "q", 1), AT_OK);
    assert_int_equal(forget(a), 0);
    fx_pull(&b, a, 1 << 20);
    assert_int_equal(forget(a), 0);
    assert_int_equal(gcx_keys(a, true), 1);
    assert_int_equal(gcx_keys(a, false), 2);
    assert_int_equal(drop_count(a), 1);

    gcx_pass_ms(10);
    assert_int_equal(fx_set(&b, "late", "f", "q", 1000, "x"), AT_OK); /* it promises again */
    fx_pull(a, &b, 1 << 20);
    assert_int_equal(forget(a), 3);
    assert_int_equal(gcx_keys(a, true), 0);
    assert_int_equal(gcx_keys(a, false), 2);
    assert_int_equal(drop_count(a), 0);
    assert_int_equal(forget(&b), 3); /* b has had a's promise for long */
    assert_memory_equal(gcx_digest(a).bytes, gcx_digest(&b).bytes, 16);
    fx_close(&b);
}

static void the_record_of_a_dropped_range_goes_when_nothing_is_left_below_it(void **state)
{
    struct fx *f = *state;

    assert_int_equal(fx_set(f, "a1", "f", "q", 1000, "old"), AT_OK);
    assert_int_equal(fx_set(f, "b", "f", "q", 1000, "old"), AT_OK);
    assert_int_equal(fx_drop(f, "t", "a"), AT_OK);
    assert_int_equal(fx_set(f, "a2", "f", "q", 1000, "new"), AT_OK);
    assert_int_equal(drop_count(f), 1);
    assert_int_equal(forget(f), 1);
    assert_int_equal(drop_count(f), 0);
    fx_expect_rows(f, "t", "a2: f:q@1000=new|b: f:q@1000=old|");
    at_store_close(&f->store);
    fx_reopen(f);
    assert_int_equal(drop_count(f), 0);
    fx_expect_rows(f, "t", "a2: f:q@1000=new|b: f:q@1000=old|");
    assert_int_equal(fx_drop(f, "t", ""), AT_OK);
    fx_expect_rows(f, "t", "");
    assert_int_equal(forget(f), 1);
    fx_expect_rows(f, "t", "");
    assert_int_equal(gcx_keys(f, false), 0);
}

static void adds_become_one_and_count_the_same(void **state)
{
    struct fx *f = *state;

    for (int i = 0; i < 2000; i++)
        assert_int_equal(fx_add(f, "r", "s", "q", 1), AT_OK);
    assert_int_equal(forget(f), 2000 - 4);
    assert_int_equal(gcx_keys(f, false), 4);
    fx_expect_rows(f, "t", "r: s:q@1000=%00%00%00%00%00%00%07%D0|");
    assert_int_equal(forget(f), 3);
    assert_int_equal(gcx_keys(f, false), 1);
    assert_int_equal(fx_add(f, "r", "s", "q", 1), AT_OK);
    fx_expect_rows(f, "t", "r: s:q@1000=%00%00%00%00%00%00%07%D1|");
    assert_int_equal(delete_family(f, "r", "s"), AT_OK); /* covers the fold whole */
    fx_expect_rows(f, "t", "");
    assert_int_equal(forget(f), 1);
    assert_int_equal(gcx_keys(f, false) + gcx_keys(f, true), 0);
}

/* --- only in mode READY --- */

static void set_mode(struct at_replica_call *call, struct at_replica *replica)
{
    (void)call;
    replica->mode = replica->mode == AT_MODE_READY ? AT_MODE_COPYING : AT_MODE_READY;
}

static void toggle_mode(struct fx *f)
{
    struct fx_call c = {.call = {.run = set_mode, .done = fx_call_done}};

    sem_init(&c.done, 0, 0);
    AT_ASSERT(at_store_call(f->store, &c.call));
    while (sem_wait(&c.done) != 0)
        continue;
    sem_destroy(&c.done);
}

static void nothing_is_forgotten_while_a_copy_runs_here(void **state)
{
    struct fx *f = *state;

    assert_int_equal(fx_set(f, "r", "f", "q", 1000, "x"), AT_OK);
    assert_int_equal(fx_delete_row(f, "r"), AT_OK);
    toggle_mode(f);
    assert_int_equal(forget(f), 0);
    assert_int_equal(gcx_keys(f, true), 1);

    /* A batch that was judged before is refused, too. */
    uint8_t key[] = "key";
    struct at_slice keys[] = {at_slice_make(key, 3)};
    struct at_write_collect write = {.base = {.kind = AT_WRITE_COLLECT},
                                     .schema_version = UINT64_MAX,
                                     .horizon = 1,
                                     .keys = keys,
                                     .key_count = 1};
    assert_int_equal(fx_run(f, &write.base), AT_ABORTED);
    toggle_mode(f);
    assert_int_equal(fx_run(f, &write.base), AT_OK);
    assert_int_equal(forget(f), 1);
}

/* --- readers --- */

struct reader {
    struct fx *f;
    atomic_bool stop;
    int seen;
    bool went_back;
};

/* Values are numbers that rise, each in a row of its own that was deleted before. */
static void *read_on(void *ctx)
{
    struct reader *r = ctx;

    while (!atomic_load(&r->stop) && !r->went_back) {
        char *rows = gcx_rows(r->f, 0);
        const char *at = rows;
        int first = -1;
        while ((at = strstr(at, "f:q@1000=")) != NULL) {
            int seen = (int)strtol(at + strlen("f:q@1000="), NULL, 10);
            first = first < 0 ? seen : first;
            r->went_back = r->went_back || seen < r->seen || seen != first;
            at++;
        }
        r->seen = first > r->seen ? first : r->seen;
        at_free(rows);
    }
    return NULL;
}

static void no_reader_sees_what_was_deleted(void **state)
{
    struct fx *f = *state;
    struct reader readers[2] = {{.f = f}, {.f = f}};
    pthread_t threads[2];
    char value[16];

    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    for (int i = 1; i <= 300; i++) {
        snprintf(value, sizeof(value), "%d", i);
        assert_int_equal(fx_set(f, "r", "f", "q", 1000, value), AT_OK);
        if (i % 3 == 0)
            assert_int_equal(fx_drop(f, "t", "r"), AT_OK);
        else
            assert_int_equal(fx_delete_row(f, "r"), AT_OK);
        (void)forget(f);
    }
    for (int i = 0; i < 2; i++) {
        atomic_store(&readers[i].stop, true);
        pthread_join(threads[i], NULL);
        assert_false(readers[i].went_back);
    }
    assert_int_equal(gcx_keys(f, false) + gcx_keys(f, true), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(markers_of_every_width_go_with_what_they_cover),
        CASE(a_member_that_is_not_heard_holds_everything),
        CASE(the_record_of_a_dropped_range_goes_when_nothing_is_left_below_it),
        CASE(adds_become_one_and_count_the_same),
        CASE(nothing_is_forgotten_while_a_copy_runs_here),
        CASE(no_reader_sees_what_was_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
