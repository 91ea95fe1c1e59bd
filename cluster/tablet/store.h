/* store.h: a cluster's data: engine, catalog, replica state and the one writer thread. ADAPTER.
 *
 * The writer drains everything that mutates, puts data, log records and positions of a round into
 * one batch, commits it once (one WAL sync when durability is sync), and then answers all of them.
 * It is the cluster's total order; there are no row locks. Reads never wait for it. */
#ifndef ATOLL_CLUSTER_TABLET_STORE_H
#define ATOLL_CLUSTER_TABLET_STORE_H

#include "base/clock.h"
#include "cluster/engine/engine.h"
#include "cluster/tablet/schema.h"
#include "cluster/tablet/write.h"
#include "replication/replica.h"

struct at_store;
struct at_act_write;
struct at_apply;
struct at_log_read;
struct at_replica_call;

struct at_store_config {
    const char *dir;
    size_t block_cache_bytes;
    size_t memtable_bytes;
    uint64_t log_bytes_max; /* cap of the mutation log; past it the oldest foreign entries go */
    bool sync_commits;      /* durability: sync */
    uint32_t gc_delay_s;    /* garbage stays no longer; 0: until at_store_collect */
    bool gc_strict;         /* reads leave out what rules condemn, at once */
    struct at_clock clock;
    struct at_replica_config replica;
    /* The catalog of an instance at its birth (app profiles of the instance file), applied once,
     * when the directory is new; the same on every member, so it is not logged. */
    const struct at_catalog_record *genesis;
    uint32_t genesis_count;
    /* Called on the writer thread after each commit; must only enqueue. May be NULL. */
    void (*on_commit)(void *ctx);
    /* Hands a foreign reply back after its round; only enqueues (at_peering_applied). */
    void (*on_applied)(struct at_apply *apply);
    void *ctx;
    /* For simulations: no thread is started, nothing sleeps, all time is the clock's; one thread
     * drives the store (see at_store_turn). */
    bool manual;
    void (*on_sync)(void *ctx); /* after each sync of the WAL; may be NULL */
    const char *boot_id;        /* of which start of the machine this is; NULL: the system says */
};

/* at_store_open opens or makes the directory and starts the writer thread. FAILED_PRECONDITION when
 * the directory belongs to another instance or cluster. */
AT_MUST_USE enum at_code at_store_open(const struct at_store_config *config,
                                       struct at_store **ret_store,
                                       struct at_error *reterr);
/* at_store_close lets the writer finish what it was given, syncs and closes. All reads must have
 * ended. */
void at_store_close(struct at_store **store);

/* at_store_submit gives the writer something to do. RESOURCE_EXHAUSTED when its queue is full,
 * UNAVAILABLE when it is closing; then `done` is not called. Any thread. */
AT_MUST_USE enum at_code at_store_submit(struct at_store *store, struct at_write *write);
/* at_store_submit_list submits a chain linked by mail.next with one wake-up; all or none. */
AT_MUST_USE enum at_code
at_store_submit_list(struct at_store *store, struct at_write *first, uint32_t count);

/* at_store_schema returns a counted reference to the newest schema. Any thread; cheap. */
struct at_schema *at_store_schema(struct at_store *store);
/* at_store_look opens a snapshot and takes the schema that goes with it: all that hides rows of the
 * snapshot is in it. A range or marker that was forgotten meanwhile changes floors_version, and its
 * rows were gone before; so when that did not change around the snapshot, none was. Any thread. */
static inline struct at_schema *at_store_look(struct at_store *store,
                                              struct at_snapshot **ret_snapshot);

/* at_store_profiles_version changes with every profile change. Any thread; cheap. */
uint64_t at_store_profiles_version(struct at_store *store);

/* at_store_strict_micros: the time at which rules hide cells from reads; 0: they do not. */
int64_t at_store_strict_micros(struct at_store *store);

/* One run of the collector over a table, asked for by a person: removes all garbage that there is
 * now, then compacts, so that compactions have dropped theirs too. Storage is the asker's until
 * `done` ran, on the collector's thread; it must only enqueue. */
struct at_collect {
    struct at_mail mail;
    struct at_slice table; /* its id, borrowed; empty: all */
    void (*done)(struct at_collect *collect);
    void *ctx;
    enum at_code code; /* NOT_FOUND: no such table; UNAVAILABLE: closing, or writes are refused */
    struct at_error error;
    uint64_t collected_count; /* stored versions this run removed */
    uint64_t sieved_count;    /* that compactions dropped meanwhile */
    uint64_t forgotten_count; /* delete markers dropped and adds folded */
};
/* at_store_collect: RESOURCE_EXHAUSTED when too many wait, UNAVAILABLE when closing; then `done` is
 * not called. Any thread. */
AT_MUST_USE enum at_code at_store_collect(struct at_store *store, struct at_collect *collect);

/* at_store_engine borrows the engine, for reads. */
struct at_engine *at_store_engine(struct at_store *store);

/* --- driving a manual store ---
 *
 * All of these, and what they call back, on the one thread. What waits for an answer elsewhere
 * (at_store_submit and the like) only queues here; the answer comes from a turn. */

/* at_store_turn runs one turn of the writer: all that waits, what is due by the clock, one commit
 * or more. Renewed promises too; so call it at least every 100 ms of the clock. */
void at_store_turn(struct at_store *store);
/* at_store_sync_now ends the sync aside that the writer began a turn ago, or begins and ends one:
 * all that was committed before it began is durable, and said to be. False: there was nothing to
 * sync, or the disk refused. Between its begin and this call a crash loses what it would cover. */
bool at_store_sync_now(struct at_store *store);
/* at_store_collect_turn does a piece of the collector's work, about `bytes_max` of stored keys:
 * goes on with what is under way, else takes up what was asked for, else begins a round if one is
 * due. It drives the writer where it needs it. True: something is still under way. */
bool at_store_collect_turn(struct at_store *store, uint64_t bytes_max);
/* at_store_abandon ends the store as if its process had been killed: what was not committed is
 * gone, who waits is not answered, its directory is left as it is. */
void at_store_abandon(struct at_store **store);

static inline struct at_schema *at_store_look(struct at_store *store,
                                              struct at_snapshot **ret_snapshot)
{
    for (;;) {
        struct at_schema *before = at_store_schema(store);
        uint64_t floors_version = before->floors_version;
        at_schema_unref(&before);
        *ret_snapshot = at_snapshot_open(at_store_engine(store));
        struct at_schema *schema = at_store_schema(store);
        if (schema->floors_version == floors_version)
            return schema;
        at_schema_unref(&schema);
        at_snapshot_close(ret_snapshot);
    }
}

/* --- what replication needs (see peering.h: the functions of its port) --- */
void at_store_view(struct at_store *store, struct at_replica_view *view);
enum at_code at_store_read_log(struct at_store *store,
                               const struct at_log_read *what,
                               struct at_buf *out,
                               uint32_t *sizes,
                               uint32_t *ret_count,
                               struct at_error *reterr);
bool at_store_apply(struct at_store *store, struct at_apply *apply);
bool at_store_call(struct at_store *store, struct at_replica_call *call);
bool at_store_act(struct at_store *store, struct at_act_write *act);

/* --- status --- */
struct at_store_stats {
    uint64_t log_bytes;
    uint64_t data_bytes;
    uint64_t discarded_entries;
    uint64_t rounds;
    uint64_t operations;
    uint64_t collected_count; /* stored versions the collector removed, since open */
    uint64_t sieved_count;    /* keys that compactions dropped, since open */
    uint64_t forgotten_count; /* delete markers dropped and adds folded, since open */
};
void at_store_stats(struct at_store *store, struct at_store_stats *ret_stats);

#endif
