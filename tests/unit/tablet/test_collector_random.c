/* Random programs of writes, deletes, changed rules, collections, compactions and restarts against
 * a model: what no rule ever condemned is always there, what was collected never comes back, and a
 * replica that never collected has the same digest. */
#include "cluster/tablet/collector.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/prng.h"
#include "support/gc_fixture.h"

#define PROGRAMS 20
#define STEPS 150
#define CELLS_MAX 4096
#define STEP_MICROS 1000000

static const char *const rows[] = {"r", "r1", "s"};
static const char *const qualifiers[] = {"p", "q"};
/* In name order. */
static const struct {
    const char *name;
    const char *rule;
    bool sum;
} families[] = {
    {"a", "v2", false},         {"b", "a5000", false},           {"c", "(v1|a8000)", false},
    {"d", "(v1&a4000)", false}, {"e", "((v1&a3000)|v3)", false}, {"n", "n", false},
    {"s", "v1", true},          {"t", "(v2|a6000)", true},
};
static const char *const other_rules[] = {"n", "v1", "v3", "a2000", "a9000", "(v2&a2000)"};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

struct cell {
    uint32_t row;
    uint32_t family;
    uint32_t qualifier;
    int64_t micros;
    int64_t value;
};

struct model {
    struct cell cells[CELLS_MAX]; /* in the order of a read */
    uint32_t count;
    struct at_gc_rule rules[FAMILIES];
    const char *rule_texts[FAMILIES];
    struct at_arena arena;
};

static int cell_cmp(const struct cell *a, const struct cell *b)
{
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if (a->qualifier != b->qualifier)
        return a->qualifier < b->qualifier ? -1 : 1;
    return a->micros > b->micros ? -1 : a->micros < b->micros;
}

static void model_rule(struct model *m, uint32_t family, const char *text)
{
    struct at_buf bytes;

    at_buf_init(&bytes, RULE_TEXT_BYTES_MAX);
    rule_text(text, &bytes);
    m->rule_texts[family] = text;
    assert_int_equal(at_gc_rule_parse(at_buf_slice(&bytes), &m->arena, &m->rules[family], NULL),
                     AT_OK);
    at_buf_deinit(&bytes);
}

static void model_set(struct model *m, struct cell cell)
{
    uint32_t at = 0;

    while (at < m->count && cell_cmp(&m->cells[at], &cell) < 0)
        at++;
    if (at < m->count && cell_cmp(&m->cells[at], &cell) == 0) {
        m->cells[at].value =
            families[cell.family].sum ? m->cells[at].value + cell.value : cell.value;
        return;
    }
    assert_true(m->count < CELLS_MAX);
    memmove(&m->cells[at + 1], &m->cells[at], (m->count - at) * sizeof(cell));
    m->cells[at] = cell;
    m->count++;
}

static void model_keep(struct model *m, bool (*keep)(const struct cell *, const void *), void *ctx)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < m->count; i++)
        if (keep(&m->cells[i], ctx))
            m->cells[kept++] = m->cells[i];
    m->count = kept;
}

/* Tells of each cell whether its rule condemns it: the rule as its definition says it. */
static void model_condemn(const struct model *m, bool *ret_condemned)
{
    uint32_t version = 0;

    for (uint32_t i = 0; i < m->count; i++) {
        const struct cell *c = &m->cells[i];
        const struct cell *before = i > 0 ? &m->cells[i - 1] : NULL;
        bool same = before != NULL && before->row == c->row && before->family == c->family &&
                    before->qualifier == c->qualifier;
        version = same ? version + 1 : 1;
        ret_condemned[i] =
            at_gc_rule_condemns(&m->rules[c->family], version, c->micros, gcx_now_micros());
    }
}

static void model_collect(struct model *m)
{
    static bool condemned[CELLS_MAX];
    uint32_t kept = 0;

    model_condemn(m, condemned);
    for (uint32_t i = 0; i < m->count; i++)
        if (!condemned[i])
            m->cells[kept++] = m->cells[i];
    m->count = kept;
}

static void model_text(const struct model *m, bool strict, struct at_buf *out)
{
    static bool condemned[CELLS_MAX];
    uint32_t row = UINT32_MAX;

    model_condemn(m, condemned);
    at_buf_clear(out);
    for (uint32_t i = 0; i < m->count; i++) {
        const struct cell *c = &m->cells[i];
        uint8_t sum[8];
        char text[32];
        if (strict && condemned[i])
            continue;
        if (row != UINT32_MAX && row != c->row)
            AT_ASSERT(at_buf_append(out, AT_LIT("|")) == AT_OK);
        if (row != c->row)
            AT_ASSERT(at_buf_printf(out, "%s:", rows[c->row]) == AT_OK);
        row = c->row;
        AT_ASSERT(at_buf_printf(out, " %s:%s@%lld=", families[c->family].name,
                                qualifiers[c->qualifier], (long long)c->micros) == AT_OK);
        at_put_be64(sum, (uint64_t)c->value);
        snprintf(text, sizeof(text), "%lld", (long long)c->value);
        AT_ASSERT(at_escape_percent(out, families[c->family].sum ? at_slice_make(sum, sizeof(sum))
                                                                 : at_slice_cstr(text)) == AT_OK);
    }
    if (row != UINT32_MAX)
        AT_ASSERT(at_buf_append(out, AT_LIT("|")) == AT_OK);
}

/* --- one program --- */

struct program {
    struct at_prng prng;
    struct fx a;    /* collects */
    struct fx b;    /* never does */
    struct model m; /* of a */
    struct at_buf text;
    bool comparable; /* nothing that b may answer differently is done */
    uint64_t seed;
    uint32_t step;
};

static uint32_t below(struct program *p, uint32_t n)
{
    return (uint32_t)at_prng_below(&p->prng, n);
}

static struct cell any_cell(struct program *p)
{
    return (struct cell){
        .row = below(p, 3),
        .family = below(p, FAMILIES),
        .qualifier = below(p, 2),
        .micros = gcx_now_micros() - below(p, 12) * STEP_MICROS,
        .value = below(p, 1000),
    };
}

static void do_set(struct program *p)
{
    struct cell c = any_cell(p);
    char text[32];
    uint8_t sum[8];
    struct at_mutation m =
        fx_set_of(families[c.family].name, qualifiers[c.qualifier], c.micros, "");

    snprintf(text, sizeof(text), "%lld", (long long)c.value);
    m.value = at_slice_cstr(text);
    if (families[c.family].sum) {
        at_put_be64(sum, (uint64_t)c.value);
        m.value = at_slice_make(sum, sizeof(sum));
        m.kind = AT_MUTATION_ADD;
    }
    assert_int_equal(fx_mutate(&p->a, rows[c.row], &m, 1, NULL), AT_OK);
    model_set(&p->m, c);
}

/* What a delete covers: the whole row (family NONE), family (qualifier NONE), or a column from
 * micros to end. */
#define NONE UINT32_MAX
struct cover {
    struct cell c;
    int64_t end_micros; /* 0: open */
};

static bool not_covered(const struct cell *cell, const void *ctx)
{
    const struct cover *d = ctx;

    if (cell->row != d->c.row || (d->c.family != NONE && cell->family != d->c.family) ||
        (d->c.qualifier != NONE && cell->qualifier != d->c.qualifier))
        return true;
    return cell->micros < d->c.micros || (d->end_micros != 0 && cell->micros >= d->end_micros);
}

static void do_delete(struct program *p)
{
    struct cover d = {.c = any_cell(p)};
    struct at_mutation m = {.kind = AT_MUTATION_DELETE_COLUMN};
    uint32_t kind = below(p, p->comparable ? 3 : 5);

    if (kind <= 2)
        d.c.micros = 0;
    if (kind == 0) {
        m.kind = AT_MUTATION_DELETE_ROW;
        d.c.family = d.c.qualifier = NONE;
    } else {
        m.family = fx_s(families[d.c.family].name);
        m.qualifier = fx_s(qualifiers[d.c.qualifier]);
    }
    if (kind == 1) {
        m.kind = AT_MUTATION_DELETE_FAMILY;
        d.c.qualifier = NONE;
    }
    if (kind == 3)
        d.end_micros = d.c.micros + 3 * STEP_MICROS;
    m.start_micros = d.c.micros;
    m.end_micros = d.end_micros;
    assert_int_equal(fx_mutate(&p->a, rows[d.c.row], &m, 1, NULL), AT_OK);
    model_keep(&p->m, not_covered, &d);
}

static bool not_of_prefix_r(const struct cell *cell, const void *ctx)
{
    (void)ctx;
    return rows[cell->row][0] != 'r';
}

static void do_step(struct program *p)
{
    uint32_t kind = below(p, 100);

    if (kind < 60) {
        do_set(p);
    } else if (kind < 70) {
        do_delete(p);
    } else if (kind < 71) {
        assert_int_equal(fx_drop(&p->a, "t", "r"), AT_OK);
        model_keep(&p->m, not_of_prefix_r, NULL);
    } else if (kind < 80) {
        gcx_pass_ms(500 * (1 + below(p, 4)));
    } else if (kind < 88) {
        struct at_collect collect;
        assert_int_equal(gcx_collect_in(&p->a, below(p, 2) ? "t" : "", &collect), AT_OK);
        model_collect(&p->m);
    } else if (kind < 92) {
        gcx_compact(&p->a);
    } else if (kind < 93) {
        at_store_close(&p->a.store);
        fx_reopen(&p->a);
    } else if (kind < 95 && !p->comparable) {
        uint32_t family = below(p, FAMILIES);
        const char *rule = other_rules[below(p, 6)];
        gcx_change_rule(&p->a, families[family].name, rule,
                        families[family].sum ? FX_FIELDS(FX_SUM) : at_slice_make(NULL, 0));
        model_rule(&p->m, family, rule);
    } else {
        fx_pull(&p->b, &p->a, 1 << 20);
        fx_pull(&p->a, &p->b, 1 << 20); /* what b promises: a forgets below it */
    }
}

static void check(struct program *p, bool strict)
{
    char *got = gcx_rows(&p->a, strict ? gcx_now_micros() : 0);

    model_text(&p->m, strict, &p->text);
    if (strcmp(got, at_buf_cstr(&p->text)) != 0)
        fail_msg("seed %llu, step %u, %s:\n%s\nexpected\n%s", (unsigned long long)p->seed, p->step,
                 strict ? "strict" : "lazy", got, at_buf_cstr(&p->text));
    at_free(got);
}

static void compare(struct program *p)
{
    for (int i = 0; i < 3; i++)
        fx_pull(&p->b, &p->a, 1 << 20);
    struct at_digest a = gcx_digest(&p->a);
    struct at_digest b = gcx_digest(&p->b);
    if (a.cells != b.cells || memcmp(a.bytes, b.bytes, sizeof(a.bytes)) != 0)
        fail_msg("seed %llu, step %u: digests differ", (unsigned long long)p->seed, p->step);
}

static void run_program(uint64_t seed)
{
    struct program *p = AT_NEW(struct program);

    p->seed = seed;
    p->comparable = seed % 2 == 0;
    at_prng_init(&p->prng, seed);
    at_arena_init(&p->m.arena, 4096);
    at_buf_init(&p->text, 4 * AT_MIB);
    gcx_open(&p->a, 1, 2);
    gcx_open(&p->b, 2, 2);
    for (uint32_t i = 0; i < FAMILIES; i++) {
        gcx_family(&p->a, families[i].name, families[i].rule,
                   families[i].sum ? FX_FIELDS(FX_SUM) : at_slice_make(NULL, 0));
        model_rule(&p->m, i, families[i].rule);
    }
    for (p->step = 0; p->step < STEPS; p->step++) {
        do_step(p);
        check(p, below(p, 2) == 1);
        if (p->comparable && below(p, 20) == 0)
            compare(p);
    }
    if (p->comparable)
        compare(p);
    fx_close(&p->a);
    fx_close(&p->b);
    at_buf_deinit(&p->text);
    at_arena_deinit(&p->m.arena);
    at_free(p);
}

static void random_programs_equal_the_model(void **state)
{
    const char *seed = getenv("ATOLL_SEED");

    (void)state;
    if (seed != NULL) {
        run_program(strtoull(seed, NULL, 10));
        return;
    }
    for (uint64_t i = 0; i < PROGRAMS; i++)
        run_program(1000 + i);
}

/* --- kill -9 --- */

/* Tells on the pipe how far it is: n after version n, and -n once all older ones are collected. */
static void kill_child(const char *dir, int out)
{
    struct fx f;

    gcx_open(&f, 1, 1);
    at_store_close(&f.store);
    nftw(f.dir, fx_remove, 8, FTW_DEPTH | FTW_PHYS);
    snprintf(f.dir, sizeof(f.dir), "%s", dir);
    fx_reopen(&f);
    AT_ASSERT(fx_change(&f, "t", NULL, at_slice_make(NULL, 0), true) == AT_OK);
    gcx_family(&f, "f", "v1", at_slice_make(NULL, 0));
    for (int n = 1;; n++) {
        AT_ASSERT(fx_set(&f, "r", "f", "q", n * 1000, "x") == AT_OK);
        AT_ASSERT(write(out, &n, sizeof(n)) == sizeof(n));
        if (n % 7 != 0)
            continue;
        int collected = -n;
        (void)gcx_collect(&f);
        AT_ASSERT(write(out, &collected, sizeof(collected)) == sizeof(collected));
    }
}

/* In a process of its own, as RocksDB's threads do not outlive a fork. */
static void kill_round(useconds_t after_us)
{
    struct fx f;
    int ends[2];
    int number = 0;
    int written = 0;
    int collected = 0;

    fx_prepare(&f, 1, 1);
    f.config.clock = (struct at_clock){gcx_clock, gcx_clock, &f};
    AT_ASSERT(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        kill_child(f.dir, ends[1]);
    }
    close(ends[1]);
    while (written < 3 && read(ends[0], &number, sizeof(number)) == sizeof(number))
        written = number;
    usleep(after_us);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (read(ends[0], &number, sizeof(number)) == sizeof(number)) {
        written = number > 0 ? number : written;
        collected = number < 0 ? -number : collected;
    }
    close(ends[0]);
    fx_reopen(&f);
    char *text = gcx_rows(&f, 0);
    long long newest = 0;
    AT_ASSERT(sscanf(text, "r: f:q@%lld=x", &newest) == 1);
    AT_ASSERT(newest / 1000 >= written);
    const char *oldest = strrchr(text, '@');
    AT_ASSERT(strtoll(oldest + 1, NULL, 10) / 1000 >= collected);
    at_free(text);
    (void)gcx_collect(&f);
    AT_ASSERT(gcx_keys(&f, false) == 1);
    fx_close(&f);
}

static void a_kill_loses_no_version_and_brings_none_back(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it does not follow threads of a child that was forked beside threads */
#endif
    for (useconds_t i = 0; i < 6; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            kill_round(5000 * i * i + 500);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_loses_no_version_and_brings_none_back), /* before any thread */
        cmocka_unit_test(random_programs_equal_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
