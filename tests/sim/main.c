/* sim: runs the simulator.
 *
 *   sim --seed N [--mix M] [--trace] [--shrink]   one schedule; prints its trace hash
 *   sim [--from N] [--seeds COUNT] [--seconds S] [--mix M]
 *                                                 many: each seed with the mix given, else with the
 *                                                 mix that the seed gives (seed mod 8)
 *   (--from now: another range each time, printed first)
 *   sim --file SEEDS                              the lines "seed mix" of a file
 *   sim --mutants                                 lists the deliberate bugs; --mutant NAME has one
 *
 * Exit code 1: a check failed; what was violated, the smallest history found and the command that
 * replays it are printed. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/mutant.h"
#include "sim/shrink.h"

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
    int mix; /* -1: by the seed */
    const char *file;
    bool one;
    bool trace;
    bool shrink;
    bool quiet;
    bool keep_going;
};

static bool parse(int argc, char **argv, struct options *ret_options);
static bool run_one(uint64_t seed, enum sim_mix mix, const struct options *o);
static bool run_many(const struct options *o);
static bool run_file(const struct options *o);
static void add_stats(const struct sim_stats *s);
static void print_stats(uint64_t took_ns);
static void explain(uint64_t seed, enum sim_mix mix, const struct options *o);
static void on_abort(int signal_number);

static struct sim_stats g_total;
static volatile uint64_t g_seed;
static volatile int g_mix;
static uint64_t g_hash;

static uint64_t mono_ns(void)
{
    struct at_clock clock = at_clock_system();
    return at_clock_mono_ns(&clock);
}

int main(int argc, char **argv)
{
    struct options o = {.count = 100, .mix = -1, .from = 1};
    uint64_t begin_ns = mono_ns();

    if (!parse(argc, argv, &o)) {
        (void)fprintf(stderr, "usage: sim --seed N | [--from N] [--seeds N] [--seconds S] "
                              "[--mix M] [--trace] [--shrink] | --file F\n");
        return 2;
    }
    (void)signal(SIGABRT, on_abort);
    bool good;
    if (o.file != NULL)
        good = run_file(&o);
    else if (o.one)
        good = run_one(
            o.seed, o.mix < 0 ? (enum sim_mix)(o.seed % SIM_MIX_COUNT) : (enum sim_mix)o.mix, &o);
    else
        good = run_many(&o);
    if (!o.quiet)
        print_stats(mono_ns() - begin_ns);
    if (o.one)
        (void)printf("trace hash %016" PRIx64 "\n", g_hash);
    return good ? 0 : 1;
}

static bool parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--trace") == 0) {
            o->trace = true;
            continue;
        }
        if (strcmp(name, "--mutants") == 0) {
            for (int k = 0; k < AT_MUTANT_COUNT; k++)
                (void)printf("%s: %s\n", at_mutant_name((enum at_mutant)k),
                             at_mutant_text((enum at_mutant)k));
            exit(0);
        }
        if (strcmp(name, "--shrink") == 0) {
            o->shrink = true;
            continue;
        }
        if (strcmp(name, "--keep-going") == 0) {
            o->keep_going = true;
            continue;
        }
        if (strcmp(name, "--quiet") == 0) {
            o->quiet = true;
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
        } else if (strcmp(name, "--seconds") == 0) {
            o->seconds = (uint32_t)strtoul(value, NULL, 10);
            o->count = UINT64_MAX;
        } else if (strcmp(name, "--file") == 0) {
            o->file = value;
        } else if (strcmp(name, "--mutant") == 0) {
            if (!at_mutant_set(value))
                return false;
        } else if (strcmp(name, "--mix") == 0) {
            for (int m = 0; m < SIM_MIX_COUNT; m++)
                if (strcmp(value, sim_mix_name((enum sim_mix)m)) == 0)
                    o->mix = m;
            if (o->mix < 0)
                return false;
        } else {
            return false;
        }
    }
    return true;
}

static bool run_many(const struct options *o)
{
    uint64_t end_ns = o->seconds == 0 ? UINT64_MAX : mono_ns() + o->seconds * AT_S_NS;

    bool good = true;

    (void)printf("seeds from %" PRIu64 "\n", o->from);
    for (uint64_t i = 0; i < o->count && mono_ns() < end_ns; i++) {
        uint64_t seed = o->from + i;
        enum sim_mix mix = o->mix < 0 ? (enum sim_mix)(seed % SIM_MIX_COUNT) : (enum sim_mix)o->mix;
        if (!run_one(seed, mix, o))
            good = false;
        if (!good && !o->keep_going)
            break;
    }
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
        if (end == line)
            continue; /* a comment */
        for (int m = 0; m < SIM_MIX_COUNT && good; m++) {
            size_t len = strlen(sim_mix_name((enum sim_mix)m));
            if (*end == ' ' && strncmp(end + 1, sim_mix_name((enum sim_mix)m), len) == 0)
                good = run_one(seed, (enum sim_mix)m, o);
        }
    }
    if (f == NULL)
        perror(o->file);
    else
        (void)fclose(f);
    return good;
}

static bool run_one(uint64_t seed, enum sim_mix mix, const struct options *o)
{
    struct sim_schedule *s = AT_NEW(struct sim_schedule);
    struct sim_world *w = AT_NEW(struct sim_world);

    g_seed = seed;
    g_mix = (int)mix;
    sim_schedule_make(s, seed, mix);
    sim_run(w, s, o->trace);
    bool failed = w->failed;
    if (failed)
        (void)printf("VIOLATION %s: %s\n", w->check, w->detail);
    g_hash = w->trace_hash;
    add_stats(&w->stats);
    sim_world_deinit(w);
    at_free(w);
    at_free(s);
    if (failed)
        explain(seed, mix, o);
    return !failed;
}

/* The command that replays, and a small history. */
static void explain(uint64_t seed, enum sim_mix mix, const struct options *o)
{
    struct sim_schedule *s = AT_NEW(struct sim_schedule);
    struct sim_world *w = AT_NEW(struct sim_world);

    (void)printf("replay: sim --seed %" PRIu64 " --mix %s --trace\n", seed, sim_mix_name(mix));
    (void)fflush(stdout);
    if (o->shrink) {
        sim_schedule_make(s, seed, mix);
        if (sim_shrink(s, 60)) {
            (void)printf("smallest history found, %" PRIu32 " steps:\n", s->count);
            sim_schedule_print(s);
            (void)fflush(stdout);
            sim_run(w, s, true);
            (void)printf("VIOLATION %s: %s\n", w->check, w->detail);
            sim_world_deinit(w);
        }
    }
    at_free(w);
    at_free(s);
}

static void add_stats(const struct sim_stats *s)
{
    const uint64_t *from = (const uint64_t *)s;
    uint64_t *to = (uint64_t *)&g_total;

    for (size_t i = 0; i < sizeof(*s) / sizeof(uint64_t); i++)
        to[i] += from[i];
}

static void print_stats(uint64_t took_ns)
{
    const struct sim_stats *t = &g_total;
    double seconds = (double)took_ns / 1e9;

    (void)printf("schedules %" PRIu64 ", events %" PRIu64 " (%.2f million a minute), %.1f s\n",
                 t->schedules, t->events, (double)t->events / seconds * 60 / 1e6, seconds);
    (void)printf("writes %" PRIu64 ", refused %" PRIu64 ", entries applied %" PRIu64
                 ", discarded %" PRIu64 ", rows checked %" PRIu64 "\n",
                 t->writes, t->refused, t->applied, t->discarded, t->rows_checked);
    (void)printf("crashes %" PRIu64 ", with loss %" PRIu64 " of %" PRIu64
                 " entries, epochs closed %" PRIu64 ", parked %" PRIu64 "\n",
                 t->crashes, t->losses, t->lost_entries, t->closed, t->parked);
    (void)printf("gaps told %" PRIu64 ", copies begun %" PRIu64 ", dropped %" PRIu64
                 ", finished %" PRIu64 "\n",
                 t->gaps, t->copies_begun, t->copies_dropped, t->copies);
    (void)printf("joins %" PRIu64 ", joined %" PRIu64 ", leaves %" PRIu64
                 ", forced removals %" PRIu64 "\n",
                 t->joins, t->joined, t->leaves, t->removals);
    (void)printf("tokens true %" PRIu64 ", false %" PRIu64 ", markers forgotten %" PRIu64
                 ", folds %" PRIu64 "\n",
                 t->tokens_true, t->tokens_false, t->forgets, t->folds);
    (void)printf("disks set back %" PRIu64 ", forks %" PRIu64 "\n", t->set_backs, t->forks);
}

/* An assertion of the product: say which seed it was. */
static void on_abort(int signal_number)
{
    char line[160];

    (void)signal_number;
    int n = snprintf(line, sizeof(line),
                     "VIOLATION assertion\nreplay: sim --seed %llu --mix %s --trace\n",
                     (unsigned long long)g_seed, sim_mix_name((enum sim_mix)g_mix));
    if (n > 0 && write(STDOUT_FILENO, line, (size_t)n) < 0)
        _exit(1);
    _exit(1);
}
