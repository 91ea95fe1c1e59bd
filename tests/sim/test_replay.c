#include "base/alloc.h"
#include "sim/schedule.h"
#include "support/test.h"

/* Two runs of one seed are the same history, to the last byte that is hashed. */

static uint64_t hash_of(const struct sim_schedule *s)
{
    struct sim_world *w = AT_NEW(struct sim_world);

    sim_run(w, s, false);
    assert_false(w->failed);
    uint64_t hash = w->trace_hash;
    sim_world_deinit(w);
    at_free(w);
    return hash;
}

static void a_seed_is_one_history(void **state)
{
    struct sim_schedule *s = AT_NEW(struct sim_schedule);
    (void)state;

    for (uint64_t seed = 1; seed <= 24; seed++) {
        sim_schedule_make(s, seed, (enum sim_mix)(seed % SIM_MIX_COUNT));
        uint64_t first = hash_of(s);
        assert_int_equal(hash_of(s), first);
        sim_schedule_make(s, seed + 1000, (enum sim_mix)(seed % SIM_MIX_COUNT));
        assert_int_not_equal(hash_of(s), first);
    }
    at_free(s);
}

static void a_shorter_list_of_steps_is_one_history_too(void **state)
{
    struct sim_schedule *s = AT_NEW(struct sim_schedule);
    (void)state;

    sim_schedule_make(s, 7, SIM_MIX_EVERYTHING);
    for (uint32_t i = 0; i < s->count / 2; i++)
        s->steps[i] = s->steps[2 * i];
    s->count /= 2;
    uint64_t first = hash_of(s);
    assert_int_equal(hash_of(s), first);
    at_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_one_history),
        cmocka_unit_test(a_shorter_list_of_steps_is_one_history_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
