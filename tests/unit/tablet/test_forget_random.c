/* Random histories of three clusters that write, exchange logs in pieces, are killed, and forget
 * whenever they like, but for one that never does: at rest all show the same rows. */
#include "cluster/tablet/garbage_pass.h"

#include "base/mutant.h"
#include "base/prng.h"
#include "cluster/model/hll.h"
#include "support/gc_fixture.h"

#define PROGRAMS 6
#define STEPS 220
#define CLUSTERS 3
#define NONE at_slice_make(NULL, 0)

static const char *const rows[] = {"r", "r1", "s"};
static const char *const qualifiers[] = {"p", "q"};
static const struct {
    const char *name;
    struct at_slice type;
} families[] = {
    {"f", {(const uint8_t *)"", 0}},
    {"g", {(const uint8_t *)"", 0}},
    {"h", {(const uint8_t *)FX_HLL, sizeof(FX_HLL) - 1}},
    {"m", {(const uint8_t *)FX_MAX, sizeof(FX_MAX) - 1}},
    {"s", {(const uint8_t *)FX_SUM, sizeof(FX_SUM) - 1}},
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

struct program {
    struct at_prng prng;
    struct fx clusters[CLUSTERS]; /* the last one never forgets */
    uint64_t seed;
    uint32_t step;
    uint64_t forgotten;
};

static uint32_t below(struct program *p, uint32_t n)
{
    return (uint32_t)at_prng_below(&p->prng, n);
}

static void do_write(struct program *p, struct fx *f)
{
    uint32_t family = below(p, FAMILIES);
    uint8_t number[8];
    struct at_mutation m = {
        .kind = family < 2 ? AT_MUTATION_SET : AT_MUTATION_ADD,
        .family = fx_s(families[family].name),
        .qualifier = fx_s(qualifiers[below(p, 2)]),
        .timestamp_micros = 1000 * (1 + below(p, 2)),
        .value = at_slice_make(number, sizeof(number)),
        .input = family == 2 ? AT_INPUT_BYTES : AT_INPUT_INT,
    };

    at_put_be64(number, below(p, 100));
    assert_int_equal(fx_mutate(f, rows[below(p, 3)], &m, 1, NULL), AT_OK);
}

static void do_delete(struct program *p, struct fx *f)
{
    uint32_t kind = below(p, 10);
    struct at_mutation m = {.kind = AT_MUTATION_DELETE_COLUMN};

    if (kind == 0) {
        static const char *const prefixes[] = {"", "r", "r1", "s"};
        assert_int_equal(fx_drop(f, "t", prefixes[below(p, 4)]), AT_OK);
        return;
    }
    if (kind < 4) {
        m.kind = AT_MUTATION_DELETE_ROW;
    } else {
        m.family = fx_s(families[below(p, FAMILIES)].name);
        m.qualifier = fx_s(qualifiers[below(p, 2)]);
        m.start_micros = kind > 7 ? 1000 * (1 + below(p, 2)) : 0;
        m.end_micros = kind > 8 ? m.start_micros + 1000 : 0;
    }
    if (kind >= 4 && kind < 6)
        m.kind = AT_MUTATION_DELETE_FAMILY;
    assert_int_equal(fx_mutate(f, rows[below(p, 3)], &m, 1, NULL), AT_OK);
}

static void do_forget(struct program *p, struct fx *f)
{
    struct at_collect collect;
    char *before = gcx_rows(f, 0);

    assert_int_equal(gcx_collect_in(f, "t", &collect), AT_OK);
    p->forgotten += collect.forgotten_count;
    char *after = gcx_rows(f, 0);
    if (strcmp(before, after) != 0)
        fail_msg("seed %llu, step %u: forgetting changed\n%s\nto\n%s", (unsigned long long)p->seed,
                 p->step, before, after);
    at_free(before);
    at_free(after);
}

/* A piece of what the collector has to do, so that writes and pulls come in between. */
static struct at_collect pieces[CLUSTERS];
static bool piece_runs[CLUSTERS];

static void piece_done(struct at_collect *collect)
{
    *(bool *)collect->ctx = false;
}

static void do_piece(struct program *p, uint32_t cluster)
{
    struct fx *f = &p->clusters[cluster];

    if (!piece_runs[cluster]) {
        pieces[cluster] = (struct at_collect){.done = piece_done, .ctx = &piece_runs[cluster]};
        piece_runs[cluster] = true;
        assert_int_equal(at_store_collect(f->store, &pieces[cluster]), AT_OK);
    }
    (void)at_store_collect_turn(f->store, 64);
    if (!piece_runs[cluster])
        p->forgotten += pieces[cluster].forgotten_count;
}

static void do_step(struct program *p)
{
    uint32_t cluster = below(p, CLUSTERS);
    uint32_t other = (cluster + 1 + below(p, CLUSTERS - 1)) % CLUSTERS;
    struct fx *f = &p->clusters[cluster];
    uint32_t kind = below(p, 100);
    bool forgets = cluster != CLUSTERS - 1;

    if (kind < 35) {
        do_write(p, f);
    } else if (kind < 50) {
        do_delete(p, f);
    } else if (kind < 55) {
        gcx_pass_ms(1 + below(p, 50));
    } else if (kind < 80) {
        (void)fx_pull(f, &p->clusters[other], below(p, 2) ? 1 : 1 << 20);
    } else if (kind < 88 && forgets) {
        do_forget(p, f);
    } else if (kind < 97 && forgets) {
        do_piece(p, cluster);
    } else if (kind < 98) {
        at_store_abandon(&f->store);
        piece_runs[cluster] = false;
        gcx_pass_ms(1100); /* its clock begins where it was reserved to */
        fx_reopen(f);
    } else if (kind < 99) {
        gcx_compact(f);
    } else {
        (void)at_store_sync_now(f->store);
    }
}

static void rest(struct program *p)
{
    for (int round = 0; round < 3; round++) {
        gcx_pass_ms(5000);
        for (uint32_t i = 0; i < CLUSTERS; i++)
            at_store_turn(p->clusters[i].store); /* promises follow the clock */
        for (uint32_t i = 0; i < CLUSTERS * CLUSTERS; i++)
            while (i % CLUSTERS != i / CLUSTERS &&
                   fx_pull(&p->clusters[i % CLUSTERS], &p->clusters[i / CLUSTERS], 1 << 20) > 0)
                continue;
    }
}

static void compare(struct program *p, const char *when)
{
    char *expected = gcx_rows(&p->clusters[CLUSTERS - 1], 0);
    struct at_digest digest = gcx_digest(&p->clusters[CLUSTERS - 1]);

    for (uint32_t i = 0; i + 1 < CLUSTERS; i++) {
        char *got = gcx_rows(&p->clusters[i], 0);
        if (strcmp(got, expected) != 0)
            fail_msg("seed %llu, %s, cluster %u shows\n%s\nand the one that never forgets\n%s",
                     (unsigned long long)p->seed, when, i, got, expected);
        at_free(got);
        struct at_digest d = gcx_digest(&p->clusters[i]);
        assert_memory_equal(d.bytes, digest.bytes, sizeof(d.bytes));
    }
    at_free(expected);
}

/* What is below the horizon costs no space: one key per cell that shows. */
static void nothing_is_left(struct program *p, struct fx *f)
{
    char *text = gcx_rows(f, 0);
    uint32_t shown = 0;

    for (const char *at = text; (at = strchr(at, '@')) != NULL; at++)
        shown++;
    if (gcx_keys(f, true) != 0 || gcx_keys(f, false) != shown)
        fail_msg("seed %llu: %u markers, %u keys of %u cells are left", (unsigned long long)p->seed,
                 gcx_keys(f, true), gcx_keys(f, false), shown);
    at_free(text);
}

static uint64_t run_program(uint64_t seed)
{
    struct program *p = AT_NEW(struct program);

    p->seed = seed;
    at_prng_init(&p->prng, seed);
    memset(piece_runs, 0, sizeof(piece_runs));
    for (uint32_t i = 0; i < CLUSTERS; i++)
        gcx_open_as(&p->clusters[i], i + 1, CLUSTERS, true);
    for (uint32_t i = 0; i < FAMILIES; i++)
        gcx_family(&p->clusters[0], families[i].name, "n", families[i].type);
    for (uint32_t i = 1; i < CLUSTERS; i++)
        (void)fx_pull(&p->clusters[i], &p->clusters[0], 1 << 20);
    for (p->step = 0; p->step < STEPS; p->step++)
        do_step(p);
    rest(p);
    compare(p, "at rest");
    for (uint32_t i = 0; i + 1 < CLUSTERS; i++) {
        do_forget(p, &p->clusters[i]);
        do_forget(p, &p->clusters[i]);
        nothing_is_left(p, &p->clusters[i]);
    }
    compare(p, "after forgetting all");
    uint64_t forgotten = p->forgotten;
    for (uint32_t i = 0; i < CLUSTERS; i++)
        fx_close(&p->clusters[i]);
    at_free(p);
    return forgotten;
}

static void forgetting_changes_no_row_anywhere(void **state)
{
    const char *seed = getenv("ATOLL_SEED");
    const char *programs = getenv("ATOLL_PROGRAMS");
    uint64_t count = programs != NULL ? strtoull(programs, NULL, 10) : PROGRAMS;
    uint64_t forgotten = 0;

    (void)state;
    if (getenv("ATOLL_MUTANT") != NULL)
        assert_true(at_mutant_set(getenv("ATOLL_MUTANT")));
    if (seed != NULL) {
        (void)run_program(strtoull(seed, NULL, 10));
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        forgotten += run_program(7000 + i);
    assert_true(forgotten > 20 * count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forgetting_changes_no_row_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
