/* sieve.h: what compactions leave out: cells below their family's floor, and all keys of the dead.
 * ADAPTER (atomics).
 *
 * A pass goes by the schema that was durable when its compaction began; floors only rise and the
 * dead stay dead, so an older schema is never wrong. Nothing else is dropped: versions, stamps and
 * markers need all levels to be judged, and a compaction sees some. Keys of families and tables
 * that the schema says nothing about are kept, known or not. */
#ifndef ATOLL_CLUSTER_TABLET_SIEVE_H
#define ATOLL_CLUSTER_TABLET_SIEVE_H

#include "cluster/engine/engine.h"
#include "cluster/tablet/schema.h"

/* The functions of an at_sieve; a pass belongs to one compaction. at_sieve_begin takes over a
 * reference of the schema. */
void *at_sieve_begin(struct at_schema *schema);
bool at_sieve_drops(void *pass, struct at_slice key);
void at_sieve_end(void *pass);

#endif
