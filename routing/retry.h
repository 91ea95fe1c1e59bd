/* retry.h: what a router does when an attempt ended without a usable answer. PURE.
 *
 * Before the first answer byte was forwarded: elsewhere, when the request is idempotent or
 * certainly did not run; a transaction never. After it: the client gets the error (it resumes by
 * itself). When half of the time to the deadline has passed without an answer, an idempotent
 * request is sent again to the next cluster and the first attempt is given up. */
#ifndef ATOLL_ROUTING_RETRY_H
#define ATOLL_ROUTING_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct at_attempt_outcome {
    enum at_code code;
    bool from_peer;   /* the cluster itself said so */
    bool unprocessed; /* it certainly did not act on the request */
    bool forwarded;   /* answer bytes have gone to the client */
};

enum at_retry { AT_RETRY_NO, AT_RETRY_ELSEWHERE, AT_RETRY_SAME };

/* at_retry_decide: `attempt` counts from 1, `targets_left` are clusters not yet tried in this
 * round. SAME: all were tried; go round again after a short pause while the deadline allows. */
enum at_retry at_retry_decide(const struct at_attempt_outcome *outcome,
                              bool idempotent,
                              bool transaction,
                              uint32_t attempt,
                              uint32_t targets_left);

/* at_retry_resend_at_ns: when to give up waiting for the first answer byte and send elsewhere;
 * UINT64_MAX: never. */
uint64_t at_retry_resend_at_ns(uint64_t now_ns,
                               uint64_t deadline_ns,
                               bool idempotent,
                               bool transaction,
                               uint32_t targets_left);

/* at_retry_pause_ms before going round again: 10, 20, 40 ... 200. */
uint32_t at_retry_pause_ms(uint32_t round);

#endif
