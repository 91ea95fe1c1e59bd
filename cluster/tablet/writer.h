/* writer.h: the one thread that changes anything, in rooms: rounds, rows, catalog, foreign replies.
 * ADAPTER (threads, engine). Private to the tablet folder; everything here is the writer thread's,
 * except writer_new and writer_free, which are of who opens and closes the store.
 *
 * A round is one batch: data, log records, positions, committed at once, answered afterwards. All
 * own entries of a round are one log record. Rules of a round:
 *   - own entries come first, then foreign replies, then calls of replication, so that the position
 *     of the first own entry is one behind the committed one;
 *   - an operation that reads (read-modify-write, check-and-mutate) commits the round first when
 * the round touched its row, or anything that a read looks at beyond cells;
 *   - when a commit fails, all that is in memory is thrown away and loaded again from disk: the
 *     writer never goes on from a state that the disk does not have. */
#ifndef ATOLL_CLUSTER_TABLET_WRITER_H
#define ATOLL_CLUSTER_TABLET_WRITER_H

#include "cluster/model/key.h"
#include "cluster/model/operation.h"
#include "cluster/tablet/hides.h"
#include "cluster/tablet/local_ids.h"
#include "cluster/tablet/log_store.h"
#include "cluster/tablet/store.h"
#include "cluster/tablet/tokens.h"
#include "replication/peer/peering.h"

#include <stdatomic.h>

/* META keys begin with one of these. */
#define META_CATALOG 'c' /* kind(1) table_generation(8) table NUL name -> catalog record */
#define META_DROP 'd'    /* table id(4) ~hlc(8) ~origin(4) -> prefix */
#define META_FLOOR 'f'   /* table id(4) family id(4) -> before_micros(8) hlc(8) origin(4) */
#define META_ID 'i'      /* see local_ids.h */
#define META_REPLICA 'r' /* records of replication/replica.h, under their own names */
#define META_TOKEN 't'   /* span(8) id(16), see tokens.h -> empty */
#define META_RUN 's'     /* how the store last ran: see writer_load.c */

#define META_FLOOR_KEY_BYTES (1 + 4 + 4)
#define META_FLOOR_VALUE_BYTES (8 + AT_KEY_STAMP_BYTES)

#define TOUCHED_SLOTS 16384u /* a power of two */

/* A list of mails in order. */
struct mail_list {
    struct at_mail *head;
    struct at_mail **tail;
};

struct round {
    struct at_batch *batch;
    struct at_record_builder own; /* own entries; count 0: none */
    struct at_position own_last;
    uint32_t operations;
    size_t bytes;
    uint64_t wall_ns;
    uint64_t mono_ns;
    bool foreign; /* holds entries of others */
    bool catalog; /* the schema to publish after the commit has another catalog */
    bool hides;   /* the schema to publish before the commit hides more */
    bool sync;    /* must be synced, whatever the setting */
    bool clock;   /* to be committed for the clock's reservation, if for nothing else */
    bool may_write_known;
    enum at_code may_write_code;
    struct at_error may_write_error;
    struct mail_list writes;  /* struct at_write: decided, to be answered */
    struct mail_list applies; /* struct at_apply: done, to be handed back */
    struct mail_list calls;   /* struct at_replica_call: ran, to be handed back */
    struct mail_list acts;    /* struct at_act_write: decided, to be handed back */
    struct at_aside **aside;  /* becomes CELLS with this round; NULL: none */
};

/* Syncs the WAL aside, so that under `durability: async` writers do not wait for it. */
struct syncer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct at_vector upto; /* what was applied when the running sync was asked for */
    uint64_t clock_stored; /* likewise */
    bool asked;
    bool finished;
    bool ok;
    bool stop;
};

/* A foreign reply that is being applied, perhaps over several rounds. */
struct applying {
    struct at_apply *apply;
    uint32_t run;
    bool run_open;
    struct at_record_reader reader;
};

struct writer {
    struct at_store *store;
    struct at_engine *engine;
    struct at_replica *replica;
    struct at_schema *schema; /* the newest, perhaps not published yet */
    uint64_t schema_version;
    uint64_t floors_version; /* of the schema with which floors last changed */
    uint64_t load_version;   /* schemas up to this one may show what was never committed */
    struct at_local_ids ids;
    struct at_hides hides;
    struct at_tokens tokens;
    struct at_log_parts parts;
    struct round round;
    struct at_record_builder foreign;
    struct applying applying;
    struct mail_list backlog; /* at_write, taken from the mailbox */
    struct mail_list applies; /* at_apply, waiting */
    struct syncer syncer;
    struct at_filter *any_cell; /* passes one cell of a row */
    struct at_filter_node any_cell_node;

    /* scratch, reused */
    struct at_arena arena;
    struct at_buf key;
    struct at_buf meta_key;
    struct at_buf meta_value;
    uint32_t *family_ids; /* of the row operation at hand, by mutation; 0: has no effect */
    uint32_t family_ids_cap;
    uint32_t touched[TOUCHED_SLOTS]; /* number of the round that last touched such a row */
    uint32_t round_number;

    uint64_t copying; /* which copy fills an aside; 0: none */
    uint64_t copy_count;

    bool broken; /* a commit failed: no writes until one succeeds */
    enum at_code broken_code;
    struct at_error broken_error;
    bool loaded;        /* false: memory was thrown away and could not be loaded yet */
    uint64_t hlc_floor; /* the clock never goes on below this after a reload */
    bool unsynced;      /* something was committed since the last sync began */
    bool idle_promise;
    uint64_t next_promise_ns; /* monotonic */
    uint64_t next_sync_ns;
    uint64_t next_trim_ns;
    uint64_t next_retry_ns;
};

struct at_store {
    struct at_store_config config;
    struct at_engine *engine;
    struct at_mailbox mailbox; /* at_write, and `poke` */
    struct at_mailbox applies; /* at_apply */
    struct at_mailbox calls;   /* at_replica_call */
    struct at_mailbox acts;    /* at_act_write */
    struct at_mail poke;       /* wakes the writer for the other two */
    atomic_bool poked;
    atomic_bool closing;
    pthread_t thread;
    struct writer *writer;

    pthread_mutex_t schema_lock;
    struct at_schema *schema;       /* published */
    struct at_schema *sieve_schema; /* durable: compactions go by it; NULL until loaded */
    pthread_mutex_t view_lock;
    struct at_replica_view view;
    atomic_uint_fast64_t profiles_version;
    atomic_uint_fast64_t log_bytes;
    atomic_uint_fast64_t discarded;
    atomic_uint_fast64_t rounds;
    atomic_uint_fast64_t operations;
    atomic_uint_fast64_t collected;
    atomic_uint_fast64_t forgotten;
    struct at_collector *collector;
    pthread_mutex_t copy_lock;
    struct at_copy_sink *sink; /* that is open; NULL: none */
};

/* --- store.c --- */
void store_poke(struct at_store *s);
void store_publish_schema(struct at_store *s, struct at_schema *schema); /* refs */
void store_publish_view(struct at_store *s, const struct at_replica *r);
/* store_publish_sieve lets compactions go by the schema, whose floors are durable. Refs. */
void store_publish_sieve(struct at_store *s, struct at_schema *schema);

/* --- writer.c: the thread --- */
AT_MUST_USE enum at_code writer_new(struct at_store *s, struct writer **ret_w, struct at_error *e);
void writer_free(struct writer **w);
void *writer_main(void *writer); /* thread, until the store closes */
/* writer_turn does all that waits, once; false when the store closes and that was the last. */
bool writer_turn(struct writer *w);
uint64_t writer_wall_ns(const struct writer *w);

/* --- writer_load.c: what is on disk, into memory --- */
/* writer_load reads META. `start` also starts the replica as after a process start and commits. */
AT_MUST_USE enum at_code writer_load(struct writer *w, bool start, struct at_error *reterr);
void writer_unload(struct writer *w);
/* writer_reload reads all but the replica anew: another keyspace became CELLS. On an error only the
 * replica is loaded. */
AT_MUST_USE enum at_code writer_reload(struct writer *w, struct at_error *reterr);
/* store_boot_id tells starts of the machine apart: as configured, or as the system says. Returns
 * its length, 0 when that does not tell. */
#define STORE_BOOT_ID_BYTES 36
size_t store_boot_id(const struct at_store_config *config, uint8_t *ret_id);
/* writer_close_clean leaves the mark that nothing is unsynced. */
AT_MUST_USE enum at_code writer_close_clean(struct writer *w, struct at_error *reterr);

/* --- round.c --- */
void mail_list_init(struct mail_list *l);
void mail_list_put(struct mail_list *l, struct at_mail *mail);
struct at_mail *mail_list_take(struct mail_list *l);

void round_init(struct writer *w);
void round_deinit(struct writer *w);
/* round_begin reads the clocks anew. */
void round_begin(struct writer *w);
/* round_room commits the round when `bytes` more would be too much for it. False: that failed;
 * what the caller looked up before is gone. */
AT_MUST_USE bool round_room(struct writer *w, size_t bytes);
/* round_commit ends the round: commits, publishes, answers, and begins the next. False when the
 * commit failed: all in the round was answered with the error, and memory is as on disk. */
bool round_commit(struct writer *w);
void round_flush_put(void *writer, struct at_slice key, struct at_slice value);
/* round_may_write: the answer of the replica, asked once per round. */
AT_MUST_USE enum at_code round_may_write(struct writer *w, struct at_error *reterr);
/* round_own appends an own entry of `ticks` stamps with the operation as its payload; its size was
 * made room for. Returns the first hlc. */
uint64_t round_own(struct writer *w, const struct at_operation *op, uint32_t ticks, size_t size);
/* round_own_issued is the same with stamps that were issued before. */
void round_own_issued(
    struct writer *w, const struct at_operation *op, uint64_t hlc, uint32_t ticks, size_t size);
void round_touch(struct writer *w, uint32_t table_id, struct at_slice row);
/* round_settle makes all that a read of this row looks at committed and published. */
AT_MUST_USE bool round_settle(struct writer *w, uint32_t table_id, struct at_slice row);
/* round_answer ends a write with a code; it is told after the commit. */
void round_answer(struct writer *w, struct at_write *write, enum at_code code);
/* round_refuse answers a write that a failed round left behind, at once. */
void round_refuse(struct writer *w, struct at_write *write);

/* --- writer_meta.c: small records, and the schema that follows from them --- */
uint32_t writer_table_id(struct writer *w, struct at_slice table, uint64_t generation);
uint32_t
writer_family_id(struct writer *w, uint32_t table_id, struct at_slice family, uint64_t generation);
/* writer_apply_catalog merges records into the newest catalog, stores them, and removes the data of
 * generations that died. INVALID_ARGUMENT: malformed; nothing was done. */
AT_MUST_USE enum at_code writer_apply_catalog(struct writer *w,
                                              const struct at_catalog_record *records,
                                              uint32_t count,
                                              struct at_error *reterr);
/* writer_keeps: is this a deleted generation whose data is kept? */
bool writer_keeps(const struct writer *w, struct at_slice table, uint64_t generation);
/* writer_remove_deleted removes the data of deleted tables that nobody can have back any more. */
void writer_remove_deleted(struct writer *w, uint64_t horizon);
void writer_note_row_markers(struct writer *w, uint32_t table_id);
void writer_note_drop(struct writer *w, uint32_t table_id, struct at_dropped_range drop);
/* meta_drop_gone deletes the record of a dropped range that is forgotten (an at_hides_gone). */
void meta_drop_gone(void *writer, uint32_t table_id, struct at_dropped_range drop);
/* writer_note_floor raises a family's floor; it has to be durable with the round. */
void writer_note_floor(struct writer *w,
                       uint32_t table_id,
                       uint32_t family_id,
                       struct at_floor floor);
void meta_catalog_key(struct at_buf *out, const struct at_catalog_record *r);
void meta_drop_key(struct at_buf *out, uint32_t table_id, struct at_stamp stamp);
/* meta_schema makes the newest schema anew, from `catalog` (taken) or, NULL, with the same one. */
void meta_schema(struct writer *w, struct at_catalog *catalog);
struct at_schema *meta_schema_hiding(struct writer *w, struct at_schema *like);
struct at_catalog_ids meta_ids(struct writer *w);

/* --- row_put.c: one row operation --- */
/* row_resolve looks the families up and fills in generations, ids and timestamps. */
AT_MUST_USE enum at_code row_resolve(struct writer *w,
                                     const struct at_table *table,
                                     struct at_slice full_name,
                                     const struct at_row_mutations *row,
                                     int64_t server_micros,
                                     struct at_error *reterr);
/* row_write logs a resolved row operation and puts it. False: the round was full and its commit
 * failed. INVALID_ARGUMENT goes to *ret_code when the entry is too large to be logged. */
AT_MUST_USE bool row_write(struct writer *w,
                           const struct at_table *table,
                           const struct at_row_mutations *row,
                           enum at_code *ret_code,
                           struct at_error *reterr);
/* row_put puts cells and markers of mutations whose ids are in family_ids. */
struct row_op {
    uint32_t table_id;
    struct at_slice row;
    const struct at_mutation *mutations;
    uint32_t count;
    struct at_stamp first; /* stamp of the first mutation */
};
void row_put(struct writer *w, const struct row_op *op);
void row_reserve_ids(struct writer *w, uint32_t count);
/* row_check tells beforehand what row_resolve would refuse, and changes nothing. */
AT_MUST_USE enum at_code row_check(const struct at_table *table,
                                   struct at_slice full_name,
                                   const struct at_row_mutations *row,
                                   struct at_error *reterr);
enum at_code row_no_family(struct at_slice row, struct at_slice full_name, struct at_error *reterr);

/* --- write_token.c: what guards a repeated request --- */
/* token_check fills in the row's token_id and tells whether it is known. FAILED_PRECONDITION: it is
 * of a request too old to be known. UNAVAILABLE: there are too many. */
AT_MUST_USE enum at_code token_check(struct writer *w,
                                     const struct at_table *table,
                                     struct at_row_mutations *row,
                                     bool *ret_seen,
                                     struct at_error *reterr);
/* token_note keeps the token of an entry that is in the round. */
void token_note(struct writer *w, struct at_hash128 id, uint64_t hlc);
AT_MUST_USE enum at_code token_restore(struct writer *w, struct at_slice key);
void tokens_expire(struct writer *w);

/* --- the kinds of writes: each answers its write, or leaves it when the round failed --- */
void write_rows(struct writer *w, struct at_write_rows *write);
void write_modify(struct writer *w, struct at_write_modify *write);
void write_check(struct writer *w, struct at_write_check *write);
void write_catalog(struct writer *w, struct at_write_catalog *write);
void write_drop(struct writer *w, struct at_write_drop *write);
void write_collect(struct writer *w, struct at_write_collect *write);

/* --- write_copy.c: what copies do here (see copy_step.h) --- */
struct copy_step;
void write_copy(struct writer *w, struct copy_step *step);

/* --- write_act.c: entries that change members --- */
/* acts_write decides and writes what was asked for; nothing of others may be in the round. */
void acts_write(struct writer *w);
/* act_apply tells the replica of an operation that changes members: an own one after it was
 * appended, a foreign one after it was applied. */
void act_apply(struct writer *w,
               const struct at_operation *op,
               struct at_position position,
               uint64_t hlc);
/* act_check: FAILED_PRECONDITION, RESOURCE_EXHAUSTED: the replica does not allow it now. */
AT_MUST_USE enum at_code
act_check(struct writer *w, const struct at_operation *op, struct at_error *reterr);

/* --- apply.c: foreign replies --- */
/* apply_replies goes on for as many rounds as begin within what local writes of this turn took. */
void apply_replies(struct writer *w, uint64_t writes_took_ns);
void apply_drop_all(struct writer *w); /* hands all back, not applied */
void apply_forget(struct writer *w);   /* hands back the one at work, after a failed round */

/* --- trim.c --- */
/* trim_log: true when it is still over its cap, and writes are refused. */
bool trim_log(struct writer *w);

/* --- syncer.c --- */
void syncer_init(struct writer *w);
void syncer_deinit(struct writer *w);
/* A manual store has no thread: these two do nothing there. */
void syncer_start(struct writer *w);
void syncer_stop(struct writer *w);
/* syncer_turn takes the end of a sync and begins the next one when it is due. */
void syncer_turn(struct writer *w);
/* syncer_sync_now is the syncer's thread and the next turn in one, where there is no thread. */
bool syncer_sync_now(struct writer *w);

#endif
