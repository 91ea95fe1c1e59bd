/* departure.h: how a cluster ceases to be a member, as far as no call does it. ADAPTER (one timer).
 *
 *   STAY     its record is there, or it is not full: nothing is to be done
 *   LEAVE    its record is deleted, and still it is a full member: who asked it to leave has given
 *            up, or it was killed in between, so it goes on leaving by itself
 *   RESTORE  the same, but it is the last member, which stays: its record comes back
 *   END      it has left or was removed: it can do nothing more for anybody
 *
 * A call that asks to leave deletes the record some seconds before it leaves, so LEAVE and RESTORE
 * are acted on when they have stood for AT_DEPARTURE_PATIENCE_MS. */
#ifndef ATOLL_CLUSTER_DEPARTURE_H
#define ATOLL_CLUSTER_DEPARTURE_H

#include "cluster/service/service.h"

#define AT_DEPARTURE_PATIENCE_MS 15000

enum at_departure_step {
    AT_DEPARTURE_STAY,
    AT_DEPARTURE_LEAVE,
    AT_DEPARTURE_RESTORE,
    AT_DEPARTURE_END,
};

/* at_departure_next: PURE. `counter` is of its record. */
enum at_departure_step at_departure_next(const struct at_replica_view *view, uint64_t counter);

struct at_departure;
struct at_departure_config {
    struct at_service *service;
    uint32_t patience_ms; /* 0: AT_DEPARTURE_PATIENCE_MS */
    /* Once, on the loop thread: END. `left`: by itself. */
    void (*on_end)(void *ctx, bool left);
    void *ctx;
};
/* at_departure_start begins to look, on the loop's thread or before it runs. */
struct at_departure *at_departure_start(const struct at_departure_config *config,
                                        struct at_loop *loop);
/* at_departure_stop: on the loop's thread; the loop must turn once more. */
void at_departure_stop(struct at_departure *d);
/* at_departure_free: peering and store are closed, the loop is settled. */
void at_departure_free(struct at_departure **departure);

#endif
