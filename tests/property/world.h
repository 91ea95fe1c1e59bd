/* world.h: the code under test: one or two real stores behind their data service, whose clock the
 * program moves. Requests go over loopback gRPC, as a client's do. */
#ifndef ATOLL_TESTS_PROPERTY_WORLD_H
#define ATOLL_TESTS_PROPERTY_WORLD_H

#include "property/program.h"

struct world;

/* world_open makes `count` stores (1 or 2) in folders of their own, with the table of programs. */
struct world *world_open(uint32_t count);
void world_close(struct world **world);

/* world_clear empties the table everywhere and sets the clock back. */
void world_clear(struct world *w);

/* world_run runs one operation and appends its answer, in the words of model_step. */
void world_run(struct world *w, const struct op *op, struct at_buf *out);

void world_exchange(struct world *w);
/* Have both stores the same digest? */
bool world_digests_equal(struct world *w);

#endif
