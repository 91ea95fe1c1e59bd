/* asking.h: when a cluster asks one peer for its log: a step machine. PURE.
 *
 *     begin -> open --replied--> applying --applied--> done
 *               '----failed (later: back-off)---------> done
 *
 * On a short link one question is under way at a time: after a reply that moved something the next
 * one follows at once (the donor lets it wait until there is news). On a long link, where a round
 * trip costs more than its reply, more are under way, each going on where the one before will end.
 * After a failure, or a reply of which nothing could be applied, all that are under way end first;
 * then it waits 50 ms, doubling up to 1 s, and asks one plain question.
 *
 * From time to time a question is a probe: it asks for no entries and does not wait, and so tells
 * the round trip. On a long link, which is never empty by itself, nothing new is asked before one
 * until all that is under way has come. Any reply that comes faster than the known round trip tells
 * it too. Times are monotonic nanoseconds. */
#ifndef ATOLL_REPLICATION_ASKING_H
#define ATOLL_REPLICATION_ASKING_H

#include "base/status.h"

#include <stdbool.h>

#define AT_ASKING_DEPTH_MAX 4

struct at_asking {
    uint32_t open_count;     /* asked, not answered */
    uint32_t applying_count; /* answered, not through */
    bool ending;             /* nothing new until none is under way: something failed */
    bool draining;           /* the same, for a probe */
    bool full;               /* the last reply was cut by its size */
    bool stalled;            /* the last reply had entries, and none could be applied */
    uint64_t due_ns;         /* not before */
    uint64_t asked_ns;       /* of the last question */
    uint64_t good_ns;        /* when the last good reply came; 0: never */
    uint64_t probe_ns;       /* when a probe was last asked; 0: never */
    uint64_t rtt_ns;         /* of the fastest of the last probes; 0: not known */
    uint64_t rtts_ns[3];
    uint32_t back_off_ms;
    uint32_t timeout_count; /* deadlines that passed since the last good reply */
};

void at_asking_init(struct at_asking *a, uint64_t now_ns);

/* at_asking_wants: a question may begin once due_ns has come; at_asking_due: it has. */
bool at_asking_wants(const struct at_asking *a);
bool at_asking_due(const struct at_asking *a, uint64_t now_ns);
/* at_asking_begin: a question is asked. True: make it a probe. */
bool at_asking_begin(struct at_asking *a, uint64_t now_ns);
/* at_asking_depth: how many questions may be under way. */
uint32_t at_asking_depth(const struct at_asking *a);
/* at_asking_slow: the link is long, so that packing pays. */
bool at_asking_slow(const struct at_asking *a);

/* at_asking_timeout_ms: how long to wait for the reply to a question that waits at the donor for
 * wait_ms. Grows with each timeout, for replies that are large or links that are slow. */
uint32_t at_asking_timeout_ms(const struct at_asking *a, uint32_t wait_ms);

/* at_asking_probed: the reply to a probe took that long; at_asking_took: any reply did. */
void at_asking_probed(struct at_asking *a, uint64_t took_ns);
void at_asking_took(struct at_asking *a, uint64_t took_ns);
/* at_asking_replied: a good reply came; `full`: its size cut it. open -> applying. */
void at_asking_replied(struct at_asking *a, bool full, uint64_t now_ns);

/* at_asking_failed: no reply, or none to use. True when the connection should be made anew: it let
 * several deadlines pass. */
bool at_asking_failed(struct at_asking *a, enum at_code code, uint64_t now_ns);

enum at_asking_result {
    AT_ASKING_MOVED,   /* something was applied, or applied by another link meanwhile; a probe */
    AT_ASKING_EMPTY,   /* there was nothing in it */
    AT_ASKING_STALLED, /* entries, and none of them could be applied */
};
/* at_asking_applied: the reply is through. */
void at_asking_applied(struct at_asking *a, enum at_asking_result result, uint64_t now_ns);

/* at_asking_in_touch: a good reply came within window_ns. */
bool at_asking_in_touch(const struct at_asking *a, uint64_t now_ns, uint64_t window_ns);

#endif
