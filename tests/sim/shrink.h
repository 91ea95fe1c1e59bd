/* shrink.h: a failing history made small: steps are taken out as long as the same check fails. */
#ifndef ATOLL_TESTS_SIM_SHRINK_H
#define ATOLL_TESTS_SIM_SHRINK_H

#include "sim/schedule.h"

/* Each trial runs in a child process, as an assertion of the product may end it. Shrinks `s` in
 * place; returns false when it does not fail at all. `seconds` bounds the time. */
bool sim_shrink(struct sim_schedule *s, uint32_t seconds);

/* Prints the steps. */
void sim_schedule_print(const struct sim_schedule *s);

#endif
