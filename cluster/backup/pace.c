#include "cluster/backup/pace.h"

#include <time.h>

#include "base/clock.h"

#define REST_NS_MAX (50 * AT_MS_NS)

void at_pace_start(struct at_pace *pace)
{
    struct at_clock clock = at_clock_system();

    pace->worked_from_ns = at_clock_mono_ns(&clock);
}

void at_pace_rest(struct at_pace *pace)
{
    struct at_clock clock = at_clock_system();
    uint64_t worked_ns = at_clock_mono_ns(&clock) - pace->worked_from_ns;
    uint64_t rest_ns = worked_ns < REST_NS_MAX ? worked_ns : REST_NS_MAX;
    struct timespec rest = {.tv_nsec = (long)rest_ns};

    while (nanosleep(&rest, &rest) != 0)
        continue; /* interrupted: what is left */
    at_pace_start(pace);
}
