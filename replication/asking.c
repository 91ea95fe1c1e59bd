#include "replication/asking.h"

#include "base/assert.h"
#include "base/clock.h"

/* An empty reply should only come after its wait at the donor. One that comes early (a donor that
 * does not let questions wait) must not turn into a busy loop, hence EMPTY_PAUSE. */

enum { BACK_OFF_MIN_MS = 50, BACK_OFF_MAX_MS = 1000 };
enum { GRACE_MIN_MS = 3000, GRACE_MAX_MS = 24000 };
enum { TIMEOUTS_BEFORE_NEW_SOCKET = 3 };
enum { PROBES = 3, LONG_DEPTH_IDLE = 2 };
#define EMPTY_PAUSE_NS (20 * AT_MS_NS)
#define PROBE_EVERY_NS (5 * AT_S_NS)
#define DRAIN_EVERY_NS (20 * AT_S_NS)
#define LONG_LINK_NS (3 * AT_MS_NS) /* from here on several questions are under way */
#define SLOW_LINK_NS (5 * AT_MS_NS)

static void back_off(struct at_asking *a, uint64_t now_ns);

static uint32_t under_way(const struct at_asking *a)
{
    return a->open_count + a->applying_count;
}

void at_asking_init(struct at_asking *a, uint64_t now_ns)
{
    *a = (struct at_asking){.due_ns = now_ns};
}

bool at_asking_wants(const struct at_asking *a)
{
    bool more = !a->ending && !a->draining && under_way(a) < at_asking_depth(a);
    return under_way(a) == 0 || more;
}

bool at_asking_due(const struct at_asking *a, uint64_t now_ns)
{
    return at_asking_wants(a) && now_ns >= a->due_ns;
}

bool at_asking_begin(struct at_asking *a, uint64_t now_ns)
{
    AT_ASSERT(under_way(a) < AT_ASKING_DEPTH_MAX);
    bool probe = under_way(a) == 0 && (a->probe_ns == 0 || now_ns - a->probe_ns >= PROBE_EVERY_NS);

    a->ending = a->draining = false;
    a->open_count++;
    a->asked_ns = now_ns;
    if (probe)
        a->probe_ns = now_ns;
    return probe;
}

uint32_t at_asking_depth(const struct at_asking *a)
{
    if (a->rtt_ns < LONG_LINK_NS)
        return 1;
    return a->full ? AT_ASKING_DEPTH_MAX : LONG_DEPTH_IDLE;
}

bool at_asking_slow(const struct at_asking *a)
{
    return a->rtt_ns >= SLOW_LINK_NS;
}

uint32_t at_asking_timeout_ms(const struct at_asking *a, uint32_t wait_ms)
{
    uint32_t grace_ms = GRACE_MIN_MS;

    for (uint32_t i = 0; i < a->timeout_count && grace_ms < GRACE_MAX_MS; i++)
        grace_ms *= 2;
    return wait_ms + grace_ms;
}

void at_asking_probed(struct at_asking *a, uint64_t took_ns)
{
    for (int i = PROBES - 1; i > 0; i--)
        a->rtts_ns[i] = a->rtts_ns[i - 1];
    a->rtts_ns[0] = took_ns == 0 ? 1 : took_ns;
    a->rtt_ns = a->rtts_ns[0];
    for (int i = 1; i < PROBES; i++)
        if (a->rtts_ns[i] != 0 && a->rtts_ns[i] < a->rtt_ns)
            a->rtt_ns = a->rtts_ns[i];
}

/* It may have waited at the donor, so that one that took longer tells nothing. */
void at_asking_took(struct at_asking *a, uint64_t took_ns)
{
    if (took_ns < a->rtt_ns)
        at_asking_probed(a, took_ns);
}

void at_asking_replied(struct at_asking *a, bool full, uint64_t now_ns)
{
    AT_ASSERT(a->open_count > 0);
    a->open_count--;
    a->applying_count++;
    a->full = full;
    a->good_ns = now_ns;
    a->timeout_count = 0;
    a->draining = a->rtt_ns >= LONG_LINK_NS && now_ns - a->probe_ns >= DRAIN_EVERY_NS;
}

bool at_asking_failed(struct at_asking *a, enum at_code code, uint64_t now_ns)
{
    AT_ASSERT(a->open_count > 0);
    a->open_count--;
    a->full = false;
    if (!a->ending) /* of several that were under way the first counts */
        back_off(a, now_ns);
    a->ending = true;
    if (code != AT_DEADLINE_EXCEEDED)
        return false;
    a->timeout_count++;
    return a->timeout_count % TIMEOUTS_BEFORE_NEW_SOCKET == 0;
}

void at_asking_applied(struct at_asking *a, enum at_asking_result result, uint64_t now_ns)
{
    AT_ASSERT(a->applying_count > 0);
    a->applying_count--;
    a->stalled = result == AT_ASKING_STALLED;
    if (a->stalled && !a->ending)
        back_off(a, now_ns);
    a->ending = a->ending || a->stalled;
    if (a->ending)
        return;
    uint64_t earliest_ns = a->asked_ns + EMPTY_PAUSE_NS;
    bool early = result == AT_ASKING_EMPTY && earliest_ns > now_ns;
    a->due_ns = early ? earliest_ns : now_ns;
    a->back_off_ms = 0;
}

bool at_asking_in_touch(const struct at_asking *a, uint64_t now_ns, uint64_t window_ns)
{
    return a->good_ns != 0 && now_ns - a->good_ns <= window_ns;
}

static void back_off(struct at_asking *a, uint64_t now_ns)
{
    uint32_t doubled_ms = a->back_off_ms * 2;

    a->back_off_ms = doubled_ms < BACK_OFF_MIN_MS   ? BACK_OFF_MIN_MS
                     : doubled_ms > BACK_OFF_MAX_MS ? BACK_OFF_MAX_MS
                                                    : doubled_ms;
    a->due_ns = now_ns + a->back_off_ms * AT_MS_NS;
}
