/* collector.h: the thread that looks for garbage and has the writer remove it. ADAPTER (threads,
 * engine). Private to the tablet folder.
 *
 * It goes through all families, row by row under a snapshot, judges every stored version
 * (model/garbage.h) and hands exact keys to the writer in small batches. A round over everything is
 * begun every half gc_delay_s, so nothing stays longer than about gc_delay_s; it works a few
 * milliseconds at a time and sleeps in between. Each cluster collects by itself, nothing of it is
 * replicated. */
#ifndef ATOLL_CLUSTER_TABLET_COLLECTOR_H
#define ATOLL_CLUSTER_TABLET_COLLECTOR_H

#include "cluster/tablet/store.h"

struct at_collector;

struct at_collector *at_collector_start(struct at_store *store);
/* at_collector_stop waits for the thread; what was asked for ends with UNAVAILABLE. The writer must
 * still run. */
void at_collector_stop(struct at_collector **collector);

/* at_collector_ask: see at_store_collect. */
AT_MUST_USE enum at_code at_collector_ask(struct at_collector *collector,
                                          struct at_collect *collect);

/* at_collector_turn: see at_store_collect_turn. A manual store has no thread for it, and what was
 * asked for is not answered when it stops. */
bool at_collector_turn(struct at_collector *collector, uint64_t bytes_max);

#endif
