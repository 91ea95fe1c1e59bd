/* graduation.h: a cluster that joined ends its own CreateCluster: once it may write, it writes that
 * it is READY and that the operation is done. ADAPTER (one timer).
 *
 *   WAIT   not filled, not caught up, or not known to all others yet; or its record has not come
 *   WRITE  its record says CREATING: one change of the catalog, decided anew on the writer thread
 *   DONE   its record says READY, or is gone: nothing is to be done, ever again
 *
 * All of it is looked up anew at every turn, so that a restart at any point goes on by itself. */
#ifndef ATOLL_CLUSTER_GRADUATION_H
#define ATOLL_CLUSTER_GRADUATION_H

#include "cluster/service/service.h"

enum at_graduation_step { AT_GRADUATION_WAIT, AT_GRADUATION_WRITE, AT_GRADUATION_DONE };

/* at_graduation_next: PURE. `counter` is of its record; `creating` what that says. */
enum at_graduation_step
at_graduation_next(const struct at_replica_view *view, uint64_t counter, bool creating);

struct at_graduation;
/* at_graduation_start begins to look, on the loop's thread or before it runs. */
struct at_graduation *at_graduation_start(struct at_service *service, struct at_loop *loop);
/* at_graduation_stop: on the loop's thread; the loop must turn once more. */
void at_graduation_stop(struct at_graduation *g);
/* at_graduation_free: the store is closed, the loop is settled. */
void at_graduation_free(struct at_graduation **g);

#endif
