/* engine.h: one RocksDB per cluster, and nothing else knows that. ADAPTER (rocksdb).
 *
 * Three keyspaces: CELLS (cells and delete markers, keys of model/key.h), LOG (mutation log
 * records), META (small named records). A batch moves all three atomically. Any thread may read;
 * only the writer thread commits. A fourth one may be filled aside, and become CELLS. */
#ifndef ATOLL_CLUSTER_ENGINE_ENGINE_H
#define ATOLL_CLUSTER_ENGINE_ENGINE_H

#include "base/buf.h"
#include "base/stamp.h"

enum at_space { AT_SPACE_CELLS, AT_SPACE_LOG, AT_SPACE_META };
#define AT_SPACE_COUNT 3

struct at_engine;

/* What compactions of CELLS may leave out. Each compaction begins a pass of its own, on a thread of
 * RocksDB's, several at once; a pass is asked about each newest version of a key that it rewrites.
 *
 * It ignores snapshots and sees only some of a key's neighbours: it must only drop what no reader
 * that may still open an iterator could miss. */
struct at_sieve {
    void *ctx;
    void *(*begin)(void *ctx); /* NULL: this pass drops nothing. Not called after at_engine_close */
    bool (*drops)(void *pass, struct at_slice key);
    void (*end)(void *pass); /* may come after at_engine_close, so it must not need ctx */
};

struct at_engine_options {
    const char *dir; /* made when missing */
    size_t block_cache_bytes;
    size_t memtable_bytes; /* of the CELLS keyspace */
    uint32_t background_threads;
    struct at_sieve sieve; /* begin NULL: everything is kept */
    /* How many leading bytes tell the group of a CELLS key; 0: it has none. Keys of a group follow
     * one another, and group(the bytes it returned) is the same. NULL: no filters are kept. What
     * was written without or with another one stays readable. */
    size_t (*group)(struct at_slice key);
    /* Called after each sync of the WAL that ended well, by the thread that synced. May be NULL. */
    void (*on_sync)(void *ctx);
    void *on_sync_ctx;
    struct at_slice boot_id; /* of this start of the machine (reach.h); empty: not known */
};

/* at_engine_open: UNAVAILABLE when another process has it open, DATA_LOSS when the files are
 * damaged (never repaired silently; recovery is to a point in time, a torn WAL tail is cut). */
AT_MUST_USE enum at_code at_engine_open(const struct at_engine_options *options,
                                        struct at_engine **ret_engine,
                                        struct at_error *reterr);
void at_engine_close(struct at_engine **engine);
/* at_engine_lost: does the database end before a write that it once had? Then a log was damaged, or
 * is gone, while no process had it open. Writes are numbered from 1 on. */
bool at_engine_lost(const struct at_engine *e, uint64_t *ret_last, uint64_t *ret_reached);
/* at_engine_abandon closes the files and leaves them as a process that dies here does. */
void at_engine_abandon(struct at_engine **engine);

/* --- writing --- */

struct at_batch;
struct at_batch *at_batch_new(void);
void at_batch_free(struct at_batch **batch);
void at_batch_clear(struct at_batch *batch);
size_t at_batch_bytes(const struct at_batch *batch);
bool at_batch_empty(const struct at_batch *batch);
/* Puts copy. */
void at_batch_put(struct at_batch *batch,
                  enum at_space space,
                  struct at_slice key,
                  struct at_slice value);
void at_batch_delete(struct at_batch *batch, enum at_space space, struct at_slice key);
/* at_batch_delete_range removes [start, end). */
void at_batch_delete_range(struct at_batch *batch,
                           enum at_space space,
                           struct at_slice start,
                           struct at_slice end);

/* at_engine_commit writes the batch atomically; `sync` also syncs the WAL before it returns, else
 * the batch is handed to the operating system (survives kill -9). RESOURCE_EXHAUSTED when the disk
 * is full, or so nearly that memtables might not be flushed; UNAVAILABLE on other I/O errors. Then
 * nothing of it is visible; after an error of RocksDB itself, whatever its code, all further
 * commits are UNAVAILABLE until the engine is opened again. Blocks. */
AT_MUST_USE enum at_code
at_engine_commit(struct at_engine *e, struct at_batch *batch, bool sync, struct at_error *reterr);
/* at_engine_sync makes all that was committed durable. Any thread; blocks. */
AT_MUST_USE enum at_code at_engine_sync(struct at_engine *e, struct at_error *reterr);
/* at_engine_resume tells whether commits would be taken: RESOURCE_EXHAUSTED while space is short
 * (it goes on by itself when there is room again), UNAVAILABLE when the engine must be closed and
 * opened again. Writer thread; blocks. */
AT_MUST_USE enum at_code at_engine_resume(struct at_engine *e, struct at_error *reterr);

/* --- reading --- */

struct at_snapshot;
struct at_snapshot *at_snapshot_open(struct at_engine *e);
void at_snapshot_close(struct at_snapshot **snapshot);

/* at_engine_get reads one value (snapshot NULL: the newest). NOT_FOUND when absent. */
AT_MUST_USE enum at_code at_engine_get(struct at_engine *e,
                                       const struct at_snapshot *snapshot,
                                       enum at_space space,
                                       struct at_slice key,
                                       struct at_buf *out,
                                       struct at_error *reterr);

struct at_iter;
struct at_iter_options {
    const struct at_snapshot *snapshot; /* NULL: as of opening */
    struct at_slice lower;              /* keys below are not seen; empty: none. Copied */
    struct at_slice upper;              /* keys at or above are not seen; empty: none. Copied */
    bool scan;                          /* a long read: prefetch, do not fill the block cache */
    bool one_group; /* all that is sought and seen is of one group of CELLS: what does not have it
                       is not looked into. Forwards only, with both bounds */
};
struct at_iter *
at_iter_open(struct at_engine *e, enum at_space space, const struct at_iter_options *options);
void at_iter_close(struct at_iter **iter);
/* Moves. Valid tells whether there is a current key; then key and value live until the next move.
 */
void at_iter_seek(struct at_iter *i, struct at_slice key);      /* first key >= */
void at_iter_seek_back(struct at_iter *i, struct at_slice key); /* last key <= */
void at_iter_seek_last(struct at_iter *i);
void at_iter_next(struct at_iter *i);
void at_iter_prev(struct at_iter *i);
bool at_iter_valid(const struct at_iter *i);
struct at_slice at_iter_key(const struct at_iter *i);
struct at_slice at_iter_value(const struct at_iter *i);
/* at_iter_status: AT_OK unless the iteration ended by an error (UNAVAILABLE, DATA_LOSS). */
AT_MUST_USE enum at_code at_iter_status(const struct at_iter *i, struct at_error *reterr);

/* --- a keyspace aside ---
 *
 * An at_aside is an empty keyspace that nothing reads. It is filled with sorted files and then
 * becomes CELLS, with a batch, at once: who has a snapshot of before goes on in the old keyspace,
 * which is gone with the last of them. Until then, and after a crash, it is as if it had never
 * been. One thread at a time; it must be switched or dropped before the engine closes. */
struct at_aside;
/* at_aside_new: RESOURCE_EXHAUSTED when this directory has had too many (thousands), or the disk is
 * nearly full. Any thread; blocks. */
AT_MUST_USE enum at_code
at_aside_new(struct at_engine *e, struct at_aside **ret_aside, struct at_error *reterr);
/* at_aside_put adds a key; keys ascend until at_aside_cut. Codes as at_engine_commit. */
AT_MUST_USE enum at_code at_aside_put(struct at_aside *aside,
                                      struct at_slice key,
                                      struct at_slice value,
                                      struct at_error *reterr);
/* at_aside_cut takes what was put since the last cut into the keyspace, as one file; no two may
 * overlap. Nothing was put: nothing is done. */
AT_MUST_USE enum at_code at_aside_cut(struct at_aside *aside, struct at_error *reterr);
/* at_aside_cut_bytes: what was put since the last cut. */
uint64_t at_aside_cut_bytes(const struct at_aside *aside);
/* at_aside_drop removes it. */
void at_aside_drop(struct at_aside **aside);

/* at_engine_switch commits the batch, synced, and makes the aside CELLS in the same moment; what
 * the batch changes in CELLS it changes in the new one. Codes as at_engine_commit; on an error the
 * aside stays the caller's. Writer thread; blocks. */
AT_MUST_USE enum at_code at_engine_switch(struct at_engine *e,
                                          struct at_batch *batch,
                                          struct at_aside **aside,
                                          struct at_error *reterr);

/* --- compaction --- */

/* at_engine_compact rewrites [start, end) of CELLS down to the last level, so that the sieve was
 * asked about all that was committed in it. Blocks for long; returns early once stopped, or when
 * the database failed. Any thread but the writer's. */
void at_engine_compact(struct at_engine *e, struct at_slice start, struct at_slice end);
/* at_engine_compact_stop ends a running at_engine_compact and refuses further ones. Any thread. */
void at_engine_compact_stop(struct at_engine *e);
/* at_engine_sieved_count: keys the sieve dropped since open. */
uint64_t at_engine_sieved_count(struct at_engine *e);

/* --- sizes --- */

/* at_engine_range_bytes estimates the bytes of [start, end), memtables included. */
uint64_t at_engine_range_bytes(struct at_engine *e,
                               enum at_space space,
                               struct at_slice start,
                               struct at_slice end);
uint64_t at_engine_space_bytes(struct at_engine *e, enum at_space space);

#endif
