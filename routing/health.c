/* health.c: when a router leaves a cluster and when it comes back.
 *
 *            heartbeat lost, connection lost, not ready, error burst
 *      UP  -------------------------------------------------------->  DOWN
 *          <--------------------------------------------------------
 *            probes_good good heartbeats in a row (one, if never UP before), lag known and
 *            small, the jitter passed, and returns of the last minute under the maximum
 *
 * A heartbeat is good when the cluster is ready and its lag is small; a cluster that hears no other
 * member cannot know its lag and has nothing to lag behind that a router could reach. */
#include "routing/health.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/prng.h"

#define RETURNS_KEPT (sizeof(((struct at_health *)0)->returns_ns) / sizeof(uint64_t))

static bool go_down(struct at_health *h, const char *reason);
static bool on_heartbeat(struct at_health *h, const struct at_health_event *e, uint64_t now_ns);
static bool on_error(struct at_health *h, uint64_t now_ns);
static bool try_return(struct at_health *h, uint64_t now_ns);
static bool returned_too_often(const struct at_health *h, uint64_t now_ns);

void at_health_init(struct at_health *h, const struct at_health_config *config, uint64_t seed)
{
    AT_ASSERT(config->probes_good > 0);
    AT_ASSERT(config->switches_per_minute_max <= RETURNS_KEPT);
    *h = (struct at_health){.config = *config, .reason = "not heard yet", .seed = seed};
}

bool at_health_step(struct at_health *h, const struct at_health_event *event, uint64_t now_ns)
{
    switch (event->kind) {
    case AT_HEALTH_HEARTBEAT_OK:
        return on_heartbeat(h, event, now_ns);
    case AT_HEALTH_HEARTBEAT_LOST:
        return go_down(h, "heartbeat lost");
    case AT_HEALTH_CONNECTION_LOST:
        return go_down(h, "connection refused or lost");
    case AT_HEALTH_REQUEST_ERROR:
        return on_error(h, now_ns);
    case AT_HEALTH_REQUEST_OK:
        return false;
    case AT_HEALTH_TICK:
        return try_return(h, now_ns);
    }
    return false;
}

static bool go_down(struct at_health *h, const char *reason)
{
    h->good_in_row = 0;
    h->return_at_ns = 0;
    h->errors = 0;
    if (!h->up) {
        h->reason = reason;
        return false;
    }
    h->up = false;
    h->was_down = true;
    h->reason = reason;
    return true;
}

static bool on_heartbeat(struct at_health *h, const struct at_health_event *e, uint64_t now_ns)
{
    /* Smoothed as TCP does: one part in eight of the new sample. */
    h->rtt_us = h->rtt_us == 0 ? e->rtt_us : (h->rtt_us * 7 + e->rtt_us) / 8;
    if (e->rtt_us > 0 && h->rtt_us == 0)
        h->rtt_us = 1;
    if (!e->ready)
        return go_down(h, "not ready");
    if (h->up)
        return false;
    if (h->was_down && !e->alone && (!e->lag_known || e->lag_ms > h->config.lag_ms_max)) {
        h->good_in_row = 0;
        h->return_at_ns = 0;
        h->reason = "replication behind";
        return false;
    }
    h->good_in_row++;
    uint32_t needed = h->was_down ? h->config.probes_good : 1;
    if (h->good_in_row < needed)
        return false;
    if (h->return_at_ns == 0) {
        struct at_prng prng;
        at_prng_init(&prng, h->seed++);
        uint64_t jitter_ms =
            h->was_down ? at_prng_below(&prng, (uint64_t)h->config.return_jitter_ms + 1) : 0;
        h->return_at_ns = now_ns + jitter_ms * AT_MS_NS;
    }
    return try_return(h, now_ns);
}

static bool on_error(struct at_health *h, uint64_t now_ns)
{
    if (h->errors == 0 || now_ns - h->errors_since_ns > h->config.error_window_ms * AT_MS_NS) {
        h->errors = 0;
        h->errors_since_ns = now_ns;
    }
    h->errors++;
    return h->errors >= h->config.error_burst ? go_down(h, "burst of errors") : false;
}

static bool try_return(struct at_health *h, uint64_t now_ns)
{
    if (h->up || h->return_at_ns == 0 || now_ns < h->return_at_ns)
        return false;
    if (h->was_down && returned_too_often(h, now_ns)) {
        h->reason = "held back: returned too often";
        return false;
    }
    for (size_t i = RETURNS_KEPT - 1; i > 0; i--)
        h->returns_ns[i] = h->returns_ns[i - 1];
    h->returns_ns[0] = now_ns;
    h->up = true;
    h->return_at_ns = 0;
    h->reason = h->was_down ? "healthy again" : "healthy";
    return true;
}

static bool returned_too_often(const struct at_health *h, uint64_t now_ns)
{
    uint32_t recent = 0;
    for (size_t i = 0; i < RETURNS_KEPT; i++)
        if (h->returns_ns[i] != 0 && now_ns - h->returns_ns[i] < 60 * AT_S_NS)
            recent++;
    return recent >= h->config.switches_per_minute_max;
}
