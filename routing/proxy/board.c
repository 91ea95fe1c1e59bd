/* board.c: counters without locks, the lines' names and the list of switches behind one. */
#include "routing/proxy/board.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

void at_board_init(struct at_board *b)
{
    memset(b, 0, sizeof(*b));
    (void)pthread_mutex_init(&b->lock, NULL);
}

void at_board_deinit(struct at_board *b)
{
    (void)pthread_mutex_destroy(&b->lock);
}

static void put_name(char name[AT_BOARD_NAME_BYTES], struct at_slice s)
{
    size_t n = s.len < AT_BOARD_NAME_BYTES - 1 ? s.len : AT_BOARD_NAME_BYTES - 1;
    if (n > 0)
        memcpy(name, s.data, n);
    name[n] = '\0';
}

/* The line that shows this cluster, or else the first free one; NULL: none is left. */
static struct at_board_target *find(struct at_board *b, struct at_slice id)
{
    struct at_board_target *unused = NULL;
    for (uint32_t i = 0; i < AT_BOARD_TARGETS_MAX; i++) {
        struct at_board_target *t = &b->targets[i];
        if (t->users > 0 && !t->leaving && at_slice_eq_cstr(id, t->id))
            return t;
        if (t->users == 0 && !unused)
            unused = t;
    }
    return unused;
}

struct at_board_target *at_board_take(struct at_board *b, struct at_slice id, struct at_slice zone)
{
    (void)pthread_mutex_lock(&b->lock);
    struct at_board_target *t = find(b, id);
    if (t && t->users == 0) {
        memset(t, 0, sizeof(*t));
        put_name(t->id, id);
        put_name(t->zone, zone);
        atomic_init(&t->reason, "not heard yet");
        uint32_t index = (uint32_t)(t - b->targets);
        if (b->target_count <= index)
            b->target_count = index + 1;
    }
    if (t)
        t->users++;
    (void)pthread_mutex_unlock(&b->lock);
    return t;
}

void at_board_leave(struct at_board *b, struct at_board_target *target)
{
    (void)pthread_mutex_lock(&b->lock);
    target->leaving = true;
    (void)pthread_mutex_unlock(&b->lock);
}

void at_board_release(struct at_board *b, struct at_board_target *target)
{
    (void)pthread_mutex_lock(&b->lock);
    AT_ASSERT(target->users > 0);
    target->users--;
    while (b->target_count > 0 && b->targets[b->target_count - 1].users == 0)
        b->target_count--;
    (void)pthread_mutex_unlock(&b->lock);
}

void at_board_switch(struct at_board *b,
                     const struct at_board_target *target,
                     bool up,
                     const char *reason,
                     uint64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / AT_S_NS);
    struct tm utc;
    char when[32] = "";
    if (gmtime_r(&seconds, &utc))
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)pthread_mutex_lock(&b->lock);
    char *line = b->switches[b->switch_count++ % AT_BOARD_SWITCHES];
    (void)snprintf(line, AT_BOARD_LINE_BYTES, "%s.%03uZ %s %s: %s", when,
                   (unsigned)(wall_ns / AT_MS_NS % 1000), target->id, up ? "up" : "down", reason);
    (void)pthread_mutex_unlock(&b->lock);
    at_log(up ? AT_LOG_INFO : AT_LOG_WARN, up ? "cluster up" : "cluster down",
           AT_KV_STR("cluster", target->id), AT_KV_STR("reason", reason));
}

uint32_t at_board_switches(struct at_board *b,
                           char ret_lines[AT_BOARD_SWITCHES][AT_BOARD_LINE_BYTES])
{
    (void)pthread_mutex_lock(&b->lock);
    uint64_t end = b->switch_count;
    uint64_t begin = end > AT_BOARD_SWITCHES ? end - AT_BOARD_SWITCHES : 0;
    for (uint64_t i = begin; i < end; i++)
        memcpy(ret_lines[i - begin], b->switches[i % AT_BOARD_SWITCHES], AT_BOARD_LINE_BYTES);
    (void)pthread_mutex_unlock(&b->lock);
    return (uint32_t)(end - begin);
}

uint32_t at_board_views(struct at_board *b, struct at_board_view ret_views[AT_BOARD_TARGETS_MAX])
{
    uint32_t count = 0;
    (void)pthread_mutex_lock(&b->lock);
    for (uint32_t i = 0; i < b->target_count; i++) {
        struct at_board_target *t = &b->targets[i];
        if (t->users == 0 || t->leaving)
            continue;
        struct at_board_view *v = &ret_views[count++];
        memcpy(v->id, t->id, sizeof(v->id));
        memcpy(v->zone, t->zone, sizeof(v->zone));
        v->up = atomic_load(&t->up);
        v->reason = atomic_load(&t->reason);
        v->rtt_us = atomic_load(&t->rtt_us);
        v->rank = atomic_load(&t->rank);
        v->served = atomic_load(&t->served);
        v->failed = atomic_load(&t->failed);
    }
    (void)pthread_mutex_unlock(&b->lock);
    return count;
}
