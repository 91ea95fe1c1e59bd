#include "sim/real_world.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"

#define SHM_MIN_BYTES (UINT64_C(2) << 30)

static void init_nodes(struct real_world *w)
{
    w->birth_count = w->node_count = 2 + real_below(w, 3);
    for (uint32_t i = 0; i < w->node_count; i++) {
        struct real_node *n = &w->nodes[i];
        n->member_count = w->node_count;
        for (uint32_t k = 0; k < w->node_count; k++) {
            n->members[k] = real_id(k);
            n->infos[k] = real_info(k, n->info_bytes[k], sizeof(n->info_bytes[k]));
        }
        n->wall_offset_ns = ((int64_t)real_below(w, 160) - 80) * (int64_t)AT_MS_NS;
        real_node_prepare(w, i);
        real_node_start(w, i);
    }
}

void real_init(struct real_world *w, uint64_t seed)
{
    static const uint64_t caps[] = {AT_KIB, 4 * AT_KIB, AT_MIB};
    struct statvfs fs;
    bool shm = statvfs("/dev/shm", &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize > SHM_MIN_BYTES;

    w->seed = seed;
    real_nodes_reset();
    at_prng_init(&w->rng, seed);
    fake_net_init(seed ^ UINT64_C(0x5EED));
    at_arena_init(&w->arena, 64 * AT_KIB);
    at_buf_init(&w->scratch, 16 * AT_MIB);
    (void)snprintf(w->root, sizeof(w->root), "%s/atoll-sim-XXXXXX", shm ? "/dev/shm" : "/tmp");
    char *made = mkdtemp(w->root);
    AT_ASSERT(made != NULL);
    w->next_value = 1;
    w->sync_commits = real_below(w, 2) == 0;
    w->log_cap = caps[real_below(w, 3)];
    w->gc_delay_s = 1 + real_below(w, 3);
    g_fake_net.loss_percent = real_below(w, 3) == 0 ? real_below(w, 8) : 0;
    g_fake_net.break_percent = real_below(w, 3) == 0 ? real_below(w, 8) : 0;
    g_fake_net.repeat_percent = real_below(w, 3) == 0 ? real_below(w, 8) : 0;
    g_fake_net.delay_max_us = real_below(w, 3) == 0 ? 30000 : 2000;
    init_nodes(w);
}

static int remove_path(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
    (void)s, (void)kind, (void)ftw;
    return remove(path);
}

void real_deinit(struct real_world *w)
{
    for (uint32_t i = 0; i < w->node_count; i++) {
        struct real_node *n = &w->nodes[i];
        if (n->state == REAL_UP)
            real_node_end(w, i, REAL_END_KILLED, REAL_DEAD);
        at_vector_deinit(&n->durable_floor);
        at_vector_deinit(&n->disk_floor);
        at_replica_view_deinit(&n->view);
        at_replica_view_deinit(&n->last);
        for (uint32_t k = 0; k < REAL_WRITES_MAX; k++)
            at_arena_deinit(&n->writes[k].arena);
    }
    for (uint32_t i = 0; i < REAL_TOKENS_MAX; i++)
        if (w->tokens[i].step != REAL_TOKEN_FREE)
            at_token_deinit(&w->tokens[i].token);
    fake_net_end();
    sim_oracle_deinit(&w->oracle);
    at_arena_deinit(&w->arena);
    at_buf_deinit(&w->scratch);
    (void)nftw(w->root, remove_path, 8, FTW_DEPTH | FTW_PHYS);
}

void real_hash(struct real_world *w, uint64_t v)
{
    w->hash = (w->hash ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    w->hash ^= w->hash >> 29;
}

uint32_t real_below(struct real_world *w, uint32_t n)
{
    return (uint32_t)at_prng_below(&w->rng, n);
}

void real_trace(struct real_world *w, const char *format, ...)
{
    char *line = w->lines[w->line_count++ % REAL_TRACE_LINES];
    va_list args;

    int n = snprintf(line, sizeof(w->lines[0]), "%9.3f ms  ", (double)g_fake_net.now_ns / 1e6);
    va_start(args, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): a false alarm of clang-tidy 14 */
    (void)vsnprintf(line + n, sizeof(w->lines[0]) - (size_t)n, format, args);
    va_end(args);
    for (const char *c = line; *c != '\0'; c++)
        real_hash(w, (uint8_t)*c);
    if (w->tracing)
        (void)printf("%s\n", line);
}

void real_fail(struct real_world *w, const char *check, const char *format, ...)
{
    va_list args;

    if (w->failed)
        return;
    w->failed = true;
    (void)snprintf(w->check, sizeof(w->check), "%s", check);
    va_start(args, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): a false alarm of clang-tidy 14 */
    (void)vsnprintf(w->detail, sizeof(w->detail), format, args);
    va_end(args);
}

uint32_t real_some_up(struct real_world *w)
{
    uint32_t at = real_below(w, w->node_count);

    for (uint32_t i = 0; i < w->node_count; i++)
        if (real_up(w, (at + i) % w->node_count))
            return (at + i) % w->node_count;
    return SIM_NODES_MAX;
}

/* --- time --- */

/* One that has left, or was told that it is no member, ends, as its process does. */
static void end_the_gone(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    if (n->view.mode != AT_MODE_REMOVED || real_percent(w, 80))
        return;
    if (n->view.left)
        w->stats.left++;
    else
        w->stats.zombies++;
    real_node_end(w, node, REAL_END_ORDERLY, REAL_GONE);
}

static void turn_nodes(struct real_world *w, uint32_t got)
{
    uint32_t first = real_below(w, w->node_count);

    for (uint32_t i = 0; i < w->node_count && !w->failed; i++) {
        uint32_t node = (first + i) % w->node_count;
        struct real_node *n = &w->nodes[node];
        bool due = (got >> node & 1) != 0 || n->wake_ns <= g_fake_net.now_ns;
        if (n->state != REAL_UP || !due || n->lazy_until_ns > g_fake_net.now_ns)
            continue;
        real_node_turn(w, node);
        if (!w->failed)
            end_the_gone(w, node);
    }
    real_tokens_take(w);
}

static uint64_t next_ns(const struct real_world *w)
{
    uint64_t next = fake_net_next_ns();

    for (uint32_t i = 0; i < w->node_count; i++) {
        const struct real_node *n = &w->nodes[i];
        uint64_t at = n->wake_ns > n->lazy_until_ns ? n->wake_ns : n->lazy_until_ns;
        if (n->state == REAL_UP && at < next)
            next = at;
    }
    return next;
}

void real_advance(struct real_world *w, uint64_t ns)
{
    uint64_t end_ns = g_fake_net.now_ns + ns;

    while (!w->failed) {
        uint64_t at_ns = next_ns(w);
        /* Things that are close together happen at once. */
        if (at_ns < g_fake_net.now_ns + AT_MS_NS / 5)
            at_ns = g_fake_net.now_ns + AT_MS_NS / 5;
        if (at_ns > end_ns) {
            g_fake_net.now_ns = end_ns;
            return;
        }
        g_fake_net.now_ns = at_ns;
        turn_nodes(w, fake_net_deliver());
    }
}
