/* retry.c: the table of attempts. */
#include "routing/retry.h"

#include "base/clock.h"

/* Codes by which a cluster says "not now, not me": the ones that clients retry as well. */
static bool transient(const struct at_attempt_outcome *o)
{
    if (o->code == AT_UNAVAILABLE)
        return true;
    /* A status made by our own side of a broken connection is never the client's fault. */
    return !o->from_peer && (o->code == AT_INTERNAL || o->code == AT_UNKNOWN ||
                             o->code == AT_CANCELLED || o->code == AT_RESOURCE_EXHAUSTED);
}

enum at_retry at_retry_decide(const struct at_attempt_outcome *outcome,
                              bool idempotent,
                              bool transaction,
                              uint32_t attempt,
                              uint32_t targets_left)
{
    enum { ATTEMPTS_MAX = 64 };
    if (outcome->code == AT_OK || outcome->forwarded || transaction || attempt >= ATTEMPTS_MAX)
        return AT_RETRY_NO;
    if (!transient(outcome))
        return AT_RETRY_NO;
    if (!idempotent && !outcome->unprocessed)
        return AT_RETRY_NO;
    return targets_left > 0 ? AT_RETRY_ELSEWHERE : AT_RETRY_SAME;
}

uint64_t at_retry_resend_at_ns(
    uint64_t now_ns, uint64_t deadline_ns, bool idempotent, bool transaction, uint32_t targets_left)
{
    if (!idempotent || transaction || targets_left == 0 || deadline_ns == UINT64_MAX)
        return UINT64_MAX;
    return deadline_ns <= now_ns ? now_ns : now_ns + (deadline_ns - now_ns) / 2;
}

uint32_t at_retry_pause_ms(uint32_t round)
{
    enum { FIRST_MS = 10, LAST_MS = 200 };
    uint32_t pause_ms = FIRST_MS;
    for (uint32_t i = 0; i < round && pause_ms < LAST_MS; i++)
        pause_ms *= 2;
    return pause_ms < LAST_MS ? pause_ms : LAST_MS;
}
