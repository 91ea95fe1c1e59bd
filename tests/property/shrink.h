/* shrink.h: makes a failing program short. PURE, but for what `fails` does. */
#ifndef ATOLL_TESTS_PROPERTY_SHRINK_H
#define ATOLL_TESTS_PROPERTY_SHRINK_H

#include "property/program.h"

struct shrink {
    bool (*fails)(void *ctx, const struct program *p);
    void *ctx;
    struct at_arena *arena;
    uint32_t tries_left; /* each runs the program once */
};

/* shrink_program drops operations, then parts of them, as long as the program still fails. */
void shrink_program(struct shrink *s, struct program *p);

#endif
