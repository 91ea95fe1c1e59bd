#include "replication/rate.h"

#include "base/clock.h"

/* One window follows the other; what is shown is the last whole one, or, in the first, what has
 * come so far. A window that nothing ends lasts on and shows less and less: the flow has stopped. A
 * pause longer than QUIET begins anew, so that it is not averaged away. */

#define WINDOW_NS (2 * AT_S_NS)
#define QUIET_NS (4 * AT_S_NS)

static uint64_t per_second(uint64_t sum, uint64_t elapsed_ns);

void at_rate_add(struct at_rate *r, uint64_t amount, uint64_t now_ns)
{
    if (r->from_ns == 0 || now_ns - r->last_ns > QUIET_NS)
        *r = (struct at_rate){.from_ns = now_ns};
    r->sum += amount;
    r->last_ns = now_ns;
    if (now_ns - r->from_ns < WINDOW_NS)
        return;
    r->per_s = per_second(r->sum, now_ns - r->from_ns);
    r->from_ns = now_ns;
    r->sum = 0;
}

uint64_t at_rate_of(const struct at_rate *r, uint64_t now_ns)
{
    if (r->from_ns == 0 || now_ns > r->last_ns + QUIET_NS)
        return 0;
    uint64_t elapsed_ns = now_ns > r->from_ns ? now_ns - r->from_ns : 0;
    if (r->per_s != 0 && elapsed_ns < WINDOW_NS)
        return r->per_s;
    return per_second(r->sum, elapsed_ns < AT_S_NS ? AT_S_NS : elapsed_ns);
}

static uint64_t per_second(uint64_t sum, uint64_t elapsed_ns)
{
    double per_s = (double)sum * (double)AT_S_NS / (double)elapsed_ns;
    return per_s < (double)INT64_MAX ? (uint64_t)per_s : (uint64_t)INT64_MAX;
}
