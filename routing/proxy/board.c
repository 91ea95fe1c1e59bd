/* board.c: counters without locks, the list of switches behind one. */
#include "routing/proxy/board.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

void at_board_init(struct at_board *b, const struct at_instance_config *instance)
{
    memset(b, 0, sizeof(*b));
    (void)pthread_mutex_init(&b->lock, NULL);
    b->target_count = instance->cluster_count;
    for (uint32_t i = 0; i < instance->cluster_count; i++) {
        b->targets[i].id = instance->clusters[i].id;
        b->targets[i].zone = instance->clusters[i].zone;
        atomic_init(&b->targets[i].reason, "not heard yet");
    }
}

void at_board_deinit(struct at_board *b)
{
    (void)pthread_mutex_destroy(&b->lock);
}

void at_board_switch(
    struct at_board *b, uint32_t target, bool up, const char *reason, uint64_t wall_ns)
{
    struct at_board_target *t = &b->targets[target];
    time_t seconds = (time_t)(wall_ns / AT_S_NS);
    struct tm utc;
    char when[32] = "";
    if (gmtime_r(&seconds, &utc))
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)pthread_mutex_lock(&b->lock);
    char *line = b->switches[b->switch_count++ % AT_BOARD_SWITCHES];
    (void)snprintf(line, AT_BOARD_LINE_BYTES, "%s.%03uZ %s %s: %s", when,
                   (unsigned)(wall_ns / AT_MS_NS % 1000), t->id, up ? "up" : "down", reason);
    (void)pthread_mutex_unlock(&b->lock);
    at_log(up ? AT_LOG_INFO : AT_LOG_WARN, up ? "cluster up" : "cluster down",
           AT_KV_STR("cluster", t->id), AT_KV_STR("reason", reason));
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
