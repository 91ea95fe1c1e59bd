#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static uint64_t read_ns(clockid_t id);

static uint64_t system_wall_ns(void *ctx)
{
    (void)ctx;
    return read_ns(CLOCK_REALTIME);
}

static uint64_t system_mono_ns(void *ctx)
{
    (void)ctx;
    return read_ns(CLOCK_MONOTONIC);
}

struct at_clock at_clock_system(void)
{
    return (struct at_clock){.wall_ns = system_wall_ns, .mono_ns = system_mono_ns, .ctx = NULL};
}

/* clock_gettime cannot fail for these two clocks. */
static uint64_t read_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * AT_S_NS + (uint64_t)t.tv_nsec;
}
