/* world_fixture.h: three stores of one instance, a to c, members 1 to 3, that hear nothing of each
 * other but by what a test passes on. */
#ifndef ATOLL_TESTS_SUPPORT_WORLD_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_WORLD_FIXTURE_H

#include "support/store_fixture.h"
#include "support/test.h"

#define NONE ((struct at_slice){NULL, 0})

struct world {
    struct fx a, b, c;
};

static inline int setup(void **state)
{
    struct world *w = at_alloc(sizeof(*w));

    fx_open(&w->a, 1, 3);
    fx_open(&w->b, 2, 3);
    fx_open(&w->c, 3, 3);
    *state = w;
    return 0;
}

static inline int teardown(void **state)
{
    struct world *w = *state;

    fx_close(&w->a);
    fx_close(&w->b);
    fx_close(&w->c);
    at_free(w);
    return 0;
}

#endif
