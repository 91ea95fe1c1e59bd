#include "replication/asking.h"

#include "base/assert.h"
#include "base/clock.h"

/* An empty reply should only come after its wait at the donor. One that comes early (a donor that
 * does not let questions wait) must not turn into a busy loop, hence EMPTY_PAUSE. */

enum { BACK_OFF_MIN_MS = 50, BACK_OFF_MAX_MS = 1000 };
enum { GRACE_MIN_MS = 3000, GRACE_MAX_MS = 24000 };
enum { TIMEOUTS_BEFORE_NEW_SOCKET = 3 };
#define EMPTY_PAUSE_NS (20 * AT_MS_NS)

static void back_off(struct at_asking *a, uint64_t now_ns);

void at_asking_init(struct at_asking *a, uint64_t now_ns)
{
    *a = (struct at_asking){.step = AT_ASKING_IDLE, .due_ns = now_ns};
}

bool at_asking_due(const struct at_asking *a, uint64_t now_ns)
{
    return a->step == AT_ASKING_IDLE && now_ns >= a->due_ns;
}

void at_asking_begin(struct at_asking *a, uint64_t now_ns)
{
    AT_ASSERT(a->step == AT_ASKING_IDLE);
    a->step = AT_ASKING_OPEN;
    a->asked_ns = now_ns;
}

uint32_t at_asking_timeout_ms(const struct at_asking *a, uint32_t wait_ms)
{
    uint32_t grace_ms = GRACE_MIN_MS;

    for (uint32_t i = 0; i < a->timeout_count && grace_ms < GRACE_MAX_MS; i++)
        grace_ms *= 2;
    return wait_ms + grace_ms;
}

void at_asking_replied(struct at_asking *a, uint64_t now_ns)
{
    AT_ASSERT(a->step == AT_ASKING_OPEN);
    a->step = AT_ASKING_APPLYING;
    a->good_ns = now_ns;
    a->timeout_count = 0;
}

bool at_asking_failed(struct at_asking *a, enum at_code code, uint64_t now_ns)
{
    AT_ASSERT(a->step == AT_ASKING_OPEN);
    a->step = AT_ASKING_IDLE;
    back_off(a, now_ns);
    if (code != AT_DEADLINE_EXCEEDED)
        return false;
    a->timeout_count++;
    return a->timeout_count % TIMEOUTS_BEFORE_NEW_SOCKET == 0;
}

void at_asking_applied(struct at_asking *a, enum at_asking_result result, uint64_t now_ns)
{
    AT_ASSERT(a->step == AT_ASKING_APPLYING);
    a->step = AT_ASKING_IDLE;
    a->stalled = result == AT_ASKING_STALLED;
    if (a->stalled) {
        back_off(a, now_ns);
        return;
    }
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
