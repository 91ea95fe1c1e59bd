/* bench_writer: how many row mutations a second the one writer thread takes.
 *
 *     bench_writer [SECONDS] [THREADS] [MODE]
 *
 * Several threads submit and wait, as loop threads do: one row at a time with many in flight, and
 * in requests of 100 rows; then increments of one row each. Keys are random. Prints rates and the
 * processor time per row, submitting threads and RocksDB's own included. */
#include "support/store_fixture.h"

#include "base/prng.h"

#include <time.h>

#define THREADS_MAX 16
#define IN_FLIGHT 64 /* requests per thread */
#define ROWS_MAX 100
#define VALUE_BYTES 100

struct slot {
    struct at_write_rows write;
    struct at_row_mutations rows[ROWS_MAX];
    struct at_mutation mutations[ROWS_MAX];
    char keys[ROWS_MAX][24];
    struct at_write_modify modify;
    struct at_modify_rule rule;
    struct at_arena arena;
    struct bench_thread *owner;
};

struct bench_thread {
    pthread_t id;
    struct fx *f;
    struct at_mailbox back;
    struct at_prng prng;
    uint32_t rows;
    bool modify;
    bool list; /* submit all free slots as one chain */
    uint64_t until_ns;
    uint64_t done;
    struct slot slots[IN_FLIGHT];
};

static char value[VALUE_BYTES];

static void written(struct at_write *write)
{
    struct bench_thread *t = write->ctx;

    AT_ASSERT(write->code == AT_OK);
    (void)at_mailbox_push(&t->back, &write->mail, NULL);
}

static void fill(struct bench_thread *t, struct slot *s)
{
    for (uint32_t i = 0; i < t->rows; i++) {
        snprintf(s->keys[i], sizeof(s->keys[i]), "user%016llx",
                 (unsigned long long)at_prng_u64(&t->prng));
        s->mutations[i] = fx_set_of("f", "field0", 1000, "");
        s->mutations[i].value = at_slice_make(value, sizeof(value));
        s->rows[i] = (struct at_row_mutations){
            .row = fx_s(s->keys[i]), .mutations = &s->mutations[i], .mutation_count = 1};
    }
}

static struct at_write *prepare(struct bench_thread *t, struct slot *s)
{
    struct at_write *base = t->modify ? &s->modify.base : &s->write.base;

    fill(t, s);
    s->write.table = s->modify.table = AT_LIT("t");
    s->write.full_name = s->modify.full_name = FX_NAME;
    s->write.rows = s->rows;
    s->write.row_count = t->rows;
    s->modify.row = s->rows[0].row;
    s->rule = (struct at_modify_rule){
        .kind = AT_RULE_INCREMENT, .family = AT_LIT("g"), .qualifier = AT_LIT("n"), .increment = 1};
    s->modify.rules = &s->rule;
    s->modify.rule_count = 1;
    at_arena_reset(&s->arena);
    s->modify.arena = &s->arena;
    base->kind = t->modify ? AT_WRITE_MODIFY : AT_WRITE_ROWS;
    base->done = written;
    base->ctx = t;
    return base;
}

static void submit(struct bench_thread *t, struct at_write *first, uint32_t count)
{
    if (t->list) {
        while (at_store_submit_list(t->f->store, first, count) != AT_OK)
            sched_yield();
        return;
    }
    while (first != NULL) {
        struct at_write *next = (struct at_write *)first->mail.next;
        while (at_store_submit(t->f->store, first) != AT_OK)
            sched_yield();
        first = next;
    }
}

static struct slot *slot_of(struct bench_thread *t, struct at_mail *mail)
{
    return (struct slot *)((uint8_t *)mail - (t->modify ? offsetof(struct slot, modify) : 0));
}

static void *run(void *arg)
{
    struct bench_thread *t = arg;
    uint32_t flying = 0;
    struct at_mail *list = NULL;

    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        struct at_write *w = prepare(t, &t->slots[i]);
        w->mail.next = list;
        list = &w->mail;
        flying++;
    }
    submit(t, (struct at_write *)list, flying);
    while (flying > 0) {
        struct at_mail *back = at_mailbox_wait(&t->back, 1000);
        bool more = fx_mono_ns(NULL) < t->until_ns;
        uint32_t count = 0;
        list = NULL;
        while (back != NULL) {
            struct at_mail *next = back->next;
            t->done += t->rows;
            flying--;
            if (more) {
                struct at_write *w = prepare(t, slot_of(t, back));
                w->mail.next = list;
                list = &w->mail;
                count++;
            }
            back = next;
        }
        flying += count;
        if (count > 0)
            submit(t, (struct at_write *)list, count);
    }
    return NULL;
}

struct bench_mode {
    const char *name;
    uint32_t rows;
    bool modify;
    bool list;
};

static void bench(struct fx *f, const struct bench_mode *mode, uint32_t threads, double seconds)
{
    struct bench_thread *all = at_alloc(threads * sizeof(*all));
    struct at_store_stats before;
    struct at_store_stats after;
    uint64_t start = fx_mono_ns(NULL);
    clock_t cpu = clock();
    uint64_t done = 0;

    at_store_stats(f->store, &before);
    for (uint32_t i = 0; i < threads; i++) {
        struct bench_thread *t = &all[i];
        *t = (struct bench_thread){.f = f, .rows = mode->rows, .modify = mode->modify};
        t->list = mode->list;
        t->until_ns = start + (uint64_t)(seconds * 1e9);
        at_prng_init(&t->prng, start + i);
        at_mailbox_init(&t->back, 2 * IN_FLIGHT);
        for (uint32_t n = 0; n < IN_FLIGHT; n++)
            at_arena_init(&t->slots[n].arena, 4096);
        AT_ASSERT(pthread_create(&t->id, NULL, run, t) == 0);
    }
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(all[i].id, NULL);
        done += all[i].done;
        for (uint32_t n = 0; n < IN_FLIGHT; n++)
            at_arena_deinit(&all[i].slots[n].arena);
        at_mailbox_deinit(&all[i].back);
    }
    double cpu_us = (double)(clock() - cpu) * 1e6 / CLOCKS_PER_SEC;
    double took = (double)(fx_mono_ns(NULL) - start) / 1e9;
    at_store_stats(f->store, &after);
    double rounds = (double)(after.rounds - before.rounds);
    printf("%-24s %8.0f rows/s %6.2f us cpu/row %6.0f rounds/s %7.1f rows/round\n", mode->name,
           (double)done / took, cpu_us / (double)done, rounds / took,
           rounds > 0 ? (double)done / rounds : 0);
    at_free(all);
}

int main(int argc, char **argv)
{
    static const struct bench_mode modes[] = {
        {"one row each", 1, false, false},
        {"one row each, in lists", 1, false, true},
        {"100 rows each", 100, false, false},
        {"increments", 1, true, true},
    };
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
    uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2;
    struct fx f;

    if (threads == 0 || threads > THREADS_MAX || seconds <= 0) {
        fprintf(stderr, "usage: bench_writer [SECONDS] [THREADS] [MODE 0-3]\n");
        return 2;
    }
    fx_prepare(&f, 1, 1);
    f.config.log_bytes_max = 1024 * AT_MIB;
    fx_reopen(&f);
    fx_make_table(&f);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (argc <= 3 || strtoul(argv[3], NULL, 10) == i)
            bench(&f, &modes[i], threads, seconds);
    fx_close(&f);
    return 0;
}
