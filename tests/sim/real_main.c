/* sim_real: whole clusters with the real store and engine, in virtual time (real_world.h).
 *
 *   sim_real --seed N [--events M] [--trace]       one history; prints its trace hash
 *   sim_real [--from N] [--seeds COUNT] [--seconds S] [--events M] [--keep-going]
 *   (--from now: another range each time, printed first)
 *   sim_real --file SEEDS                          the lines "seed events" of a file
 *
 * Exit code 1: a check failed; what was violated, the last that happened and the command that
 * replays it are printed. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "sim/real_world.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
    uint64_t seed;
    uint64_t from;
    uint64_t count;
    uint32_t seconds;
    uint32_t events;
    const char *file;
    bool one;
    bool trace;
    bool keep_going;
    bool log;
};

static struct real_stats g_total;
static struct real_world *g_world;
static volatile uint64_t g_seed;
static volatile uint32_t g_events;

static uint64_t mono_ns(void)
{
    struct at_clock clock = at_clock_system();
    return at_clock_mono_ns(&clock);
}

static void print_lines(const struct real_world *w)
{
    uint32_t first = w->line_count > REAL_TRACE_LINES ? w->line_count - REAL_TRACE_LINES : 0;

    for (uint32_t i = first; i < w->line_count && !w->tracing; i++)
        (void)printf("  %s\n", w->lines[i % REAL_TRACE_LINES]);
}

static bool run_one(uint64_t seed, uint32_t events, bool trace)
{
    struct real_world *w = AT_NEW(struct real_world);
    uint64_t *total = (uint64_t *)&g_total;

    g_seed = seed;
    g_events = events;
    g_world = w;
    w->tracing = trace;
    real_init(w, seed);
    real_run(w, events);
    w->stats.seeds = 1;
    bool failed = w->failed;
    if (failed) {
        print_lines(w);
        for (uint32_t i = 0; i < w->node_count && w->tracing; i++)
            real_describe(w, i);
        (void)printf("VIOLATION %s: %s\nreplay: sim_real --seed %" PRIu64 " --events %" PRIu32
                     " --trace\n",
                     w->check, w->detail, seed, events);
    }
    if (trace || failed)
        (void)printf("trace hash %016" PRIx64 "\n", w->hash);
    (void)fflush(stdout);
    const uint64_t *one = (const uint64_t *)&w->stats;
    for (size_t i = 0; i < sizeof(g_total) / sizeof(uint64_t); i++)
        total[i] += one[i];
    real_deinit(w);
    g_world = NULL;
    at_free(w);
    return !failed;
}

static bool run_many(const struct options *o)
{
    uint64_t end_ns = o->seconds == 0 ? UINT64_MAX : mono_ns() + o->seconds * AT_S_NS;
    bool good = true;

    (void)printf("seeds from %" PRIu64 "\n", o->from);
    for (uint64_t i = 0; i < o->count && mono_ns() < end_ns && (good || o->keep_going); i++)
        good = run_one(o->from + i, o->events, false) && good;
    return good;
}

static bool run_file(const struct options *o)
{
    FILE *f = fopen(o->file, "re");
    char line[200];
    bool good = f != NULL;

    while (good && fgets(line, sizeof(line), f) != NULL) {
        char *end = NULL;
        uint64_t seed = strtoull(line, &end, 10);
        if (end != line) /* else a comment */
            good = run_one(seed, (uint32_t)strtoul(end, NULL, 10), false);
    }
    if (f == NULL)
        perror(o->file);
    else
        (void)fclose(f);
    return good;
}

static void print_stats(uint64_t took_ns)
{
    const struct real_stats *t = &g_total;

    (void)printf("seeds %" PRIu64 ", events %" PRIu64 ", turns %" PRIu64 ", virtual %.0f s, "
                 "%.1f s\n",
                 t->seeds, t->events, t->turns, (double)t->virtual_ms / 1e3, (double)took_ns / 1e9);
    (void)printf("writes acknowledged %" PRIu64 ", refused %" PRIu64 ", rows checked %" PRIu64
                 ", collected %" PRIu64 ", forgotten %" PRIu64 "\n",
                 t->acked, t->refused, t->rows_checked, t->collected, t->forgotten);
    (void)printf("kills %" PRIu64 ", power cuts %" PRIu64 ", with loss %" PRIu64 " of %" PRIu64
                 " entries\n",
                 t->kills, t->power_cuts, t->losses, t->lost_entries);
    (void)printf("needed copies %" PRIu64 ", begun %" PRIu64 ", dropped %" PRIu64
                 ", finished %" PRIu64 "\n",
                 t->needs_copy, t->copies_begun, t->copies_cut, t->copies);
    (void)printf("joins %" PRIu64 ", joined %" PRIu64 ", leaves %" PRIu64 ", left %" PRIu64
                 ", removals asked %" PRIu64 ", written %" PRIu64 ", zombies told %" PRIu64 "\n",
                 t->joins, t->joined, t->leaves, t->left, t->removals, t->removed, t->zombies);
    (void)printf("tokens true %" PRIu64 ", false %" PRIu64 "\n", t->tokens_true, t->tokens_false);
}

/* An assertion of the product: say which seed it was. */
static void on_abort(int signal_number)
{
    (void)signal_number;
    if (g_world != NULL)
        print_lines(g_world);
    (void)printf("VIOLATION assertion\nreplay: sim_real --seed %" PRIu64 " --events %" PRIu32
                 " --trace\n",
                 g_seed, g_events);
    (void)fflush(stdout);
    _exit(1);
}

static bool parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        bool *flag = strcmp(name, "--trace") == 0        ? &o->trace
                     : strcmp(name, "--keep-going") == 0 ? &o->keep_going
                     : strcmp(name, "--log") == 0        ? &o->log
                                                         : NULL;
        if (flag != NULL) {
            *flag = true;
            continue;
        }
        if (++i == argc)
            return false;
        const char *value = argv[i];
        if (strcmp(name, "--seed") == 0) {
            o->seed = strtoull(value, NULL, 10);
            o->one = true;
        } else if (strcmp(name, "--from") == 0) {
            o->from = strcmp(value, "now") == 0 ? mono_ns() : strtoull(value, NULL, 10);
        } else if (strcmp(name, "--seeds") == 0) {
            o->count = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--events") == 0) {
            o->events = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--seconds") == 0) {
            o->seconds = (uint32_t)strtoul(value, NULL, 10);
            o->count = UINT64_MAX;
        } else if (strcmp(name, "--file") == 0) {
            o->file = value;
        } else {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options o = {.count = 20, .from = 1, .events = 300};
    uint64_t begin_ns = mono_ns();

    if (!parse(argc, argv, &o)) {
        (void)fprintf(stderr, "usage: sim_real --seed N | [--from N] [--seeds N] [--seconds S] "
                              "[--events M] [--trace] [--log] | --file F\n");
        return 2;
    }
    at_log_setup("sim", o.log ? AT_LOG_DEBUG : (enum at_log_level)(AT_LOG_ERROR + 1));
    (void)signal(SIGABRT, on_abort);
    bool good = o.file != NULL ? run_file(&o)
                : o.one        ? run_one(o.seed, o.events, o.trace)
                               : run_many(&o);
    print_stats(mono_ns() - begin_ns);
    return good ? 0 : 1;
}
