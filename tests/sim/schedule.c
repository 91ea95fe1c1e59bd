#include "sim/schedule.h"

#include "base/assert.h"

#define STEPS_MIN 150
#define STEPS_SPAN 300

static const char *const mix_names[SIM_MIX_COUNT] = {
    [SIM_MIX_EVERYTHING] = "everything", [SIM_MIX_MEMBERSHIP] = "membership",
    [SIM_MIX_LOST_TAILS] = "tails",      [SIM_MIX_COPIES] = "copies",
    [SIM_MIX_REMOVALS] = "removals",     [SIM_MIX_TOKENS] = "tokens",
    [SIM_MIX_CLOCKS] = "clocks",         [SIM_MIX_STEADY] = "steady",
};

static const char *const step_names[SIM_STEP_COUNT] = {
    "write", "slow-write", "drop",  "schema", "pull",   "close",    "sync",  "idle",    "trim",
    "cap",   "full",       "cut",   "heal",   "clog",   "faults",   "clock", "release", "token",
    "check", "crash",      "start", "die",    "forget", "compact",  "copy",  "member",  "join",
    "leave", "remove",     "wait",  "lazy",   "keep",   "set-back", "fork",
};

/* Weights of each kind of step, by mix. */
static const uint8_t weights[SIM_STEP_COUNT][SIM_MIX_COUNT] = {
    /*                       every memb tail copy remo toke cloc stea */
    [SIM_STEP_WRITE] = {22, 18, 20, 20, 16, 16, 24, 30},
    [SIM_STEP_SLOW_WRITE] = {3, 1, 3, 1, 1, 1, 4, 4},
    [SIM_STEP_DROP] = {2, 1, 1, 2, 2, 1, 1, 2},
    [SIM_STEP_SCHEMA] = {2, 1, 1, 2, 1, 1, 1, 2},
    [SIM_STEP_PULL] = {40, 40, 40, 36, 40, 36, 40, 50},
    [SIM_STEP_CLOSE] = {6, 4, 14, 4, 3, 6, 2, 1},
    [SIM_STEP_SYNC] = {4, 2, 4, 3, 3, 4, 3, 3},
    [SIM_STEP_IDLE] = {6, 5, 6, 6, 5, 5, 8, 6},
    [SIM_STEP_TRIM] = {4, 3, 4, 3, 3, 3, 3, 4},
    [SIM_STEP_CAP] = {3, 2, 1, 9, 3, 1, 1, 1},
    [SIM_STEP_FULL] = {1, 0, 0, 1, 0, 0, 0, 1},
    [SIM_STEP_CUT] = {2, 1, 1, 3, 3, 3, 2, 1},
    [SIM_STEP_HEAL] = {2, 2, 2, 3, 3, 3, 2, 2},
    [SIM_STEP_CLOG] = {1, 1, 1, 1, 1, 1, 1, 1},
    [SIM_STEP_FAULTS] = {1, 1, 1, 1, 1, 1, 1, 1},
    [SIM_STEP_CLOCK] = {1, 0, 1, 0, 0, 1, 6, 0},
    [SIM_STEP_RELEASE] = {0, 0, 0, 0, 0, 0, 1, 0},
    [SIM_STEP_TOKEN] = {2, 2, 2, 2, 1, 8, 1, 2},
    [SIM_STEP_CHECK] = {4, 4, 4, 4, 2, 14, 2, 4},
    [SIM_STEP_CRASH] = {2, 2, 5, 2, 2, 3, 2, 1},
    [SIM_STEP_START] = {4, 5, 8, 4, 3, 6, 4, 3},
    [SIM_STEP_DIE] = {0, 1, 0, 1, 3, 0, 0, 0},
    [SIM_STEP_FORGET] = {6, 4, 6, 8, 6, 3, 8, 6},
    [SIM_STEP_COMPACT] = {3, 1, 1, 4, 1, 1, 1, 3},
    [SIM_STEP_COPY] = {14, 16, 4, 24, 12, 6, 2, 4},
    [SIM_STEP_MEMBER] = {12, 20, 2, 6, 20, 8, 2, 2},
    [SIM_STEP_JOIN] = {1, 3, 0, 1, 2, 1, 0, 0},
    [SIM_STEP_LEAVE] = {1, 3, 0, 0, 1, 1, 0, 0},
    [SIM_STEP_REMOVE] = {1, 1, 0, 0, 5, 0, 0, 0},
    [SIM_STEP_WAIT] = {2, 2, 2, 2, 2, 2, 2, 2},
    [SIM_STEP_LAZY] = {2, 1, 1, 4, 2, 1, 2, 1},
    [SIM_STEP_KEEP] = {0, 0, 4, 0, 0, 0, 0, 1},
    [SIM_STEP_SET_BACK] = {0, 0, 3, 0, 0, 0, 0, 1},
    [SIM_STEP_FORK] = {0, 0, 0, 0, 1, 0, 0, 1},
};

const char *sim_mix_name(enum sim_mix mix)
{
    return mix_names[mix];
}

const char *sim_step_name(enum sim_step_kind kind)
{
    return step_names[kind];
}

void sim_schedule_make(struct sim_schedule *s, uint64_t seed, enum sim_mix mix)
{
    struct at_prng rng;
    uint32_t total = 0;

    at_prng_init(&rng, seed * SIM_MIX_COUNT + (uint64_t)mix);
    for (uint32_t k = 0; k < SIM_STEP_COUNT; k++)
        total += weights[k][mix];
    s->node_count = 2 + (uint32_t)at_prng_below(&rng, 3);
    if (mix == SIM_MIX_REMOVALS)
        s->node_count = 3 + (uint32_t)at_prng_below(&rng, 3);
    s->grain_ms = at_prng_below(&rng, 3) == 0 ? 1 + (uint32_t)at_prng_below(&rng, 60) : 1;
    s->sync_bits = at_prng_below(&rng, 4) == 0 ? 0xff : (uint32_t)at_prng_below(&rng, 256);
    if (mix == SIM_MIX_LOST_TAILS)
        s->sync_bits &= (uint32_t)at_prng_below(&rng, 256);
    s->known_schema = at_prng_below(&rng, 4) != 0;
    s->count = STEPS_MIN + (uint32_t)at_prng_below(&rng, STEPS_SPAN);
    AT_ASSERT(s->count <= SIM_STEPS_MAX);
    for (uint32_t i = 0; i < s->count; i++) {
        struct sim_step *step = &s->steps[i];
        uint32_t dice = (uint32_t)at_prng_below(&rng, total);
        uint32_t kind = 0;
        while (dice >= weights[kind][mix])
            dice -= weights[kind++][mix];
        *step = (struct sim_step){.kind = (enum sim_step_kind)kind,
                                  .a = (uint8_t)at_prng_below(&rng, 120),
                                  .b = (uint8_t)at_prng_below(&rng, 120),
                                  .after_ms = (uint16_t)at_prng_below(&rng, 5),
                                  .dice = at_prng_u64(&rng)};
    }
}
