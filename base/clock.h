/* clock.h: time as a port, so that a test or a drill can bend it. PURE interface;
 * at_clock_system is its only ADAPTER.
 *
 * `now` is read once per loop turn or step and passed down as a number. */
#ifndef ATOLL_BASE_CLOCK_H
#define ATOLL_BASE_CLOCK_H

#include <stdint.h>

struct at_clock {
    uint64_t (*wall_ns)(void *ctx); /* nanoseconds since 1970; may step either way */
    uint64_t (*mono_ns)(void *ctx); /* nanoseconds since some start; never goes back */
    void *ctx;
};

/* at_clock_system reads the machine's clocks. Any thread. */
struct at_clock at_clock_system(void);

static inline uint64_t at_clock_wall_ns(const struct at_clock *c)
{
    return c->wall_ns(c->ctx);
}

static inline uint64_t at_clock_mono_ns(const struct at_clock *c)
{
    return c->mono_ns(c->ctx);
}

#define AT_MS_NS UINT64_C(1000000)
#define AT_S_NS UINT64_C(1000000000)

#endif
