/* health.h: whether a router sends requests to one cluster. PURE step machine.
 *
 * A cluster is UP or DOWN. Leave fast: a refused or lost connection, one missed heartbeat interval,
 * a cluster that says it is not READY, or a burst of errors takes it DOWN at once. Return slowly:
 * UP again after `probes_good` good heartbeats in a row AND replication lag known and under
 * `lag_ms_max` (a cluster that just came back is behind), after a random part of
 * `return_jitter_ms`; at most `switches_per_minute_max` returns a minute. Every switch has a
 * reason. A cluster that has never been down goes UP on its first good heartbeat. */
#ifndef ATOLL_ROUTING_HEALTH_H
#define ATOLL_ROUTING_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct at_health_config {
    uint32_t heartbeat_ms;         /* how often heartbeats are sent */
    uint32_t heartbeat_timeout_ms; /* a heartbeat unanswered for so long is missed */
    uint32_t probes_good;
    uint32_t lag_ms_max;
    uint32_t return_jitter_ms;
    uint32_t switches_per_minute_max;
    uint32_t error_burst; /* so many transient errors within error_window_ms */
    uint32_t error_window_ms;
};

enum at_health_event_kind {
    AT_HEALTH_HEARTBEAT_OK,
    AT_HEALTH_HEARTBEAT_LOST,  /* timeout, refused, error */
    AT_HEALTH_CONNECTION_LOST, /* a request saw the connection refused or lost */
    AT_HEALTH_REQUEST_ERROR,   /* a request got UNAVAILABLE or the like from the cluster */
    AT_HEALTH_REQUEST_OK,
    AT_HEALTH_TICK, /* time passes */
};

struct at_health_event {
    enum at_health_event_kind kind;
    /* HEARTBEAT_OK */
    bool ready;
    bool lag_known;
    bool alone; /* the cluster hears no other member: then there is nothing to lag behind */
    uint64_t lag_ms;
    uint64_t rtt_us;
};

struct at_health {
    struct at_health_config config;
    bool up;
    bool was_down;      /* has been UP before and went DOWN */
    const char *reason; /* of the last switch, static text */
    uint32_t good_in_row;
    uint64_t return_at_ns; /* 0: none planned */
    uint64_t rtt_us;       /* smoothed; 0: not measured */
    uint32_t errors;
    uint64_t errors_since_ns;
    uint64_t returns_ns[8]; /* times of the latest returns */
    uint64_t seed;
};

void at_health_init(struct at_health *h, const struct at_health_config *config, uint64_t seed);

/* at_health_step returns true when `up` changed. */
bool at_health_step(struct at_health *h, const struct at_health_event *event, uint64_t now_ns);

#endif
