#include "cluster/service/heat.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/limits.h"

#define SAMPLES_MAX 1024 /* of a minute */
#define TABLES_MAX 64    /* of a minute; requests to others count, and are no stretch */
#define PIECES 16        /* a stretch has about this part of a minute's samples */

struct name {
    char bytes[AT_KEPT_NAME_BYTES_MAX];
    uint32_t len;
};

struct key {
    uint8_t bytes[AT_HEAT_KEY_BYTES_MAX];
    uint32_t len;
};

struct sample {
    uint32_t table;
    struct key row;
};

struct stretch {
    struct name table;
    struct key first, last;
    uint32_t count;
};

struct window {
    uint64_t start_ns; /* 0: none */
    uint64_t end_ns;
    uint32_t total;
    struct stretch *stretches; /* the hottest first; heap */
    uint32_t count;
};

struct at_heat {
    atomic_uint_fast32_t requests;
    pthread_mutex_t lock;
    /* The minute that runs. */
    uint64_t start_ns; /* 0: nothing was noted yet */
    uint32_t seen;
    uint32_t sample_count;
    struct sample samples[SAMPLES_MAX];
    uint32_t table_count;
    struct name tables[TABLES_MAX];
    /* Those that are over, in a ring. */
    struct window windows[AT_HEAT_WINDOWS];
    uint32_t next;
};

static void turn(struct at_heat *heat, uint64_t wall_ns);
static uint32_t table_index(struct at_heat *heat, struct at_slice table);
static uint32_t cut(const struct at_heat *heat, struct stretch *ret_stretches);

struct at_heat *at_heat_new(void)
{
    struct at_heat *heat = AT_NEW(struct at_heat);
    int rc = pthread_mutex_init(&heat->lock, NULL);

    AT_ASSERT(rc == 0);
    return heat;
}

void at_heat_free(struct at_heat **heat_ptr)
{
    struct at_heat *heat = AT_TAKE(*heat_ptr);

    if (!heat)
        return;
    for (uint32_t i = 0; i < AT_HEAT_WINDOWS; i++)
        at_free(heat->windows[i].stretches);
    pthread_mutex_destroy(&heat->lock);
    at_free(heat);
}

bool at_heat_due(struct at_heat *heat)
{
    return atomic_fetch_add_explicit(&heat->requests, 1, memory_order_relaxed) %
               AT_HEAT_SAMPLE_EVERY ==
           0;
}

static struct at_slice key_slice(const struct key *key)
{
    return at_slice_make(key->bytes, key->len);
}

void at_heat_note(struct at_heat *heat,
                  struct at_slice table,
                  struct at_slice row,
                  uint64_t wall_ns)
{
    if (pthread_mutex_trylock(&heat->lock) != 0)
        return;
    turn(heat, wall_ns);
    uint32_t index = table_index(heat, table);
    uint32_t at = heat->seen++;
    if (at >= SAMPLES_MAX) /* every one of the minute has the same chance to stay */
        at = (uint32_t)(at_hash64(at_slice_make(&at, sizeof(at)), heat->start_ns) % heat->seen);
    if (index < TABLES_MAX && at < SAMPLES_MAX) {
        struct sample *s = &heat->samples[at < heat->sample_count ? at : heat->sample_count++];
        s->table = index;
        s->row.len = (uint32_t)(row.len < AT_HEAT_KEY_BYTES_MAX ? row.len : AT_HEAT_KEY_BYTES_MAX);
        if (s->row.len > 0)
            memcpy(s->row.bytes, row.data, s->row.len);
    }
    pthread_mutex_unlock(&heat->lock);
}

static uint32_t table_index(struct at_heat *heat, struct at_slice table)
{
    for (uint32_t i = 0; i < heat->table_count; i++)
        if (at_slice_eq(at_slice_make(heat->tables[i].bytes, heat->tables[i].len), table))
            return i;
    if (heat->table_count == TABLES_MAX || table.len > AT_KEPT_NAME_BYTES_MAX || table.len == 0)
        return TABLES_MAX;
    struct name *name = &heat->tables[heat->table_count];
    memcpy(name->bytes, table.data, table.len);
    name->len = (uint32_t)table.len;
    return heat->table_count++;
}

/* A clock that was set back begins a new minute too. */
static void turn(struct at_heat *heat, uint64_t wall_ns)
{
    struct stretch stretches[AT_HEAT_STRETCHES_MAX];

    if (heat->start_ns != 0 && wall_ns >= heat->start_ns &&
        wall_ns - heat->start_ns < AT_HEAT_WINDOW_NS)
        return;
    if (heat->seen > 0) {
        struct window *w = &heat->windows[heat->next];
        heat->next = (heat->next + 1) % AT_HEAT_WINDOWS;
        at_free(w->stretches);
        *w = (struct window){.start_ns = heat->start_ns,
                             .end_ns = heat->start_ns + AT_HEAT_WINDOW_NS,
                             .total = heat->sample_count,
                             .count = cut(heat, stretches)};
        w->stretches = at_alloc(sizeof(struct stretch) * (w->count + 1));
        memcpy(w->stretches, stretches, sizeof(struct stretch) * w->count);
    }
    heat->start_ns = wall_ns - wall_ns % AT_HEAT_WINDOW_NS;
    heat->seen = heat->sample_count = heat->table_count = 0;
}

static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return at_slice_cmp(key_slice(&x->row), key_slice(&y->row));
}

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return at_slice_cmp(key_slice(&x->first), key_slice(&y->first));
}

static bool same_row(const struct sample *a, const struct sample *b)
{
    return a->table == b->table && at_slice_eq(key_slice(&a->row), key_slice(&b->row));
}

/* A row with enough traffic of its own ends the stretch before it and is one by itself. */
static uint32_t cut(const struct at_heat *heat, struct stretch *ret_stretches)
{
    uint32_t n = heat->sample_count, count = 0;
    uint32_t enough = (n + PIECES - 1) / PIECES;
    struct sample *sorted = at_alloc(sizeof(struct sample) * (n + 1));

    memcpy(sorted, heat->samples, sizeof(struct sample) * n);
    qsort(sorted, n, sizeof(struct sample), compare_samples);
    for (uint32_t i = 0, end; i < n && count < AT_HEAT_STRETCHES_MAX; i = end) {
        struct stretch *s = &ret_stretches[count++];
        uint32_t run;
        for (end = i; end < n && sorted[end].table == sorted[i].table; end = run) {
            for (run = end; run < n && same_row(&sorted[run], &sorted[end]); run++)
                ;
            if (end > i && (end - i >= enough || run - end >= enough))
                break;
        }
        *s = (struct stretch){.table = heat->tables[sorted[i].table],
                              .first = sorted[i].row,
                              .last = sorted[end - 1].row,
                              .count = end - i};
    }
    at_free(sorted);
    qsort(ret_stretches, count, sizeof(struct stretch), compare_stretches);
    return count;
}

struct reporting {
    struct at_arena *arena;
    struct at_heat_stretch *out;
    uint32_t count;
};

static void put(struct reporting *r, const struct window *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        const struct stretch *s = &w->stretches[i];
        r->out[r->count++] = (struct at_heat_stretch){
            .table = at_arena_copy(r->arena, at_slice_make(s->table.bytes, s->table.len)),
            .first_row = at_arena_copy(r->arena, key_slice(&s->first)),
            .last_row = at_arena_copy(r->arena, key_slice(&s->last)),
            .start_ns = w->start_ns,
            .end_ns = w->end_ns,
            .percent = 100.0 * s->count / w->total,
        };
    }
}

uint32_t at_heat_report(struct at_heat *heat,
                        uint64_t wall_ns,
                        struct at_arena *arena,
                        struct at_heat_stretch **ret_stretches)
{
    struct stretch now[AT_HEAT_STRETCHES_MAX];
    struct reporting r = {.arena = arena};

    pthread_mutex_lock(&heat->lock);
    turn(heat, wall_ns);
    r.out = AT_ARENA_ARRAY(arena, struct at_heat_stretch,
                           (AT_HEAT_WINDOWS + 1) * AT_HEAT_STRETCHES_MAX);
    if (heat->sample_count > 0)
        put(&r, &(struct window){.start_ns = heat->start_ns,
                                 .end_ns = wall_ns,
                                 .total = heat->sample_count,
                                 .stretches = now,
                                 .count = cut(heat, now)});
    for (uint32_t i = 1; i <= AT_HEAT_WINDOWS; i++) {
        const struct window *w =
            &heat->windows[(heat->next + AT_HEAT_WINDOWS - i) % AT_HEAT_WINDOWS];
        if (w->start_ns != 0 && wall_ns - w->start_ns <= (AT_HEAT_WINDOWS + 1) * AT_HEAT_WINDOW_NS)
            put(&r, w);
    }
    pthread_mutex_unlock(&heat->lock);
    *ret_stretches = r.out;
    return r.count;
}
