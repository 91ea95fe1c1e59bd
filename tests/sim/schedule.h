/* schedule.h: a seed and a mix become a list of steps; a list of steps is a whole history.
 *
 * A step has its own dice, so taking one out leaves the others as they are: that is how a failing
 * history is made small. */
#ifndef ATOLL_TESTS_SIM_SCHEDULE_H
#define ATOLL_TESTS_SIM_SCHEDULE_H

#include "sim/world.h"

enum sim_step_kind {
    SIM_STEP_WRITE,
    SIM_STEP_SLOW_WRITE, /* issued; the commit comes later */
    SIM_STEP_DROP,
    SIM_STEP_SCHEMA,
    SIM_STEP_PULL,
    SIM_STEP_CLOSE,
    SIM_STEP_SYNC,
    SIM_STEP_IDLE,
    SIM_STEP_TRIM,
    SIM_STEP_CAP,
    SIM_STEP_FULL,
    SIM_STEP_CUT,
    SIM_STEP_HEAL,
    SIM_STEP_CLOG,
    SIM_STEP_FAULTS, /* how much is lost and repeated */
    SIM_STEP_CLOCK,
    SIM_STEP_RELEASE,
    SIM_STEP_TOKEN,
    SIM_STEP_CHECK,
    SIM_STEP_CRASH,
    SIM_STEP_START,
    SIM_STEP_DIE,
    SIM_STEP_FORGET,
    SIM_STEP_COMPACT,
    SIM_STEP_COPY,
    SIM_STEP_MEMBER, /* what joins, leaves and removals go on by */
    SIM_STEP_JOIN,
    SIM_STEP_LEAVE,
    SIM_STEP_REMOVE,
    SIM_STEP_WAIT,
    SIM_STEP_LAZY,
    SIM_STEP_KEEP, /* what a disk holds, to be set back to */
    SIM_STEP_SET_BACK,
    SIM_STEP_FORK,
    SIM_STEP_COUNT,
};

struct sim_step {
    enum sim_step_kind kind;
    uint8_t a; /* nodes, modulo how many there are */
    uint8_t b;
    uint16_t after_ms;
    uint64_t dice;
};

#define SIM_STEPS_MAX 1024

struct sim_schedule {
    uint32_t node_count;
    uint32_t sync_bits;
    uint32_t grain_ms; /* of the clocks */
    bool known_schema; /* a table that all know, to begin with */
    uint32_t count;
    struct sim_step steps[SIM_STEPS_MAX];
};

enum sim_mix {
    SIM_MIX_EVERYTHING,
    SIM_MIX_MEMBERSHIP,
    SIM_MIX_LOST_TAILS,
    SIM_MIX_COPIES,
    SIM_MIX_REMOVALS,
    SIM_MIX_TOKENS,
    SIM_MIX_CLOCKS,
    SIM_MIX_STEADY,
    SIM_MIX_COUNT,
};

const char *sim_mix_name(enum sim_mix mix);
const char *sim_step_name(enum sim_step_kind kind);
void sim_schedule_make(struct sim_schedule *s, uint64_t seed, enum sim_mix mix);
/* Runs it to rest, or to the first violation; the world is the caller's to look at and deinit. */
void sim_run(struct sim_world *w, const struct sim_schedule *s, bool tracing);

#endif
