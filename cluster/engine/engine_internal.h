/* engine_internal.h: what the files of engine/ share: the open database and RocksDB's errors.
 * ADAPTER (rocksdb). Nothing outside this folder includes it. */
#ifndef ATOLL_CLUSTER_ENGINE_ENGINE_INTERNAL_H
#define ATOLL_CLUSTER_ENGINE_ENGINE_INTERNAL_H

#include "cluster/engine/engine.h"
#include "cluster/engine/reach.h"

#include <pthread.h>
#include <rocksdb/c.h>

/* RocksDB's own "default" column family exists always. It holds which one is CELLS, nothing else.
 */
#define FAMILY_DEFAULT 0
#define FAMILY_COUNT (1 + AT_SPACE_COUNT)
/* Ids are written with two bytes of seven bits; RocksDB never gives one out twice. */
#define FAMILY_ID_MAX ((1u << 14) - 1)

/* A column family, and who uses it. The last one to let go closes it: one that was dropped
 * meanwhile is gone from the disk then. */
struct keyspace {
    rocksdb_column_family_handle_t *handle;
    uint32_t id;     /* RocksDB's */
    uint32_t number; /* in its name; CELLS only */
    _Atomic uint32_t refs;
};

struct at_engine {
    rocksdb_t *db;
    rocksdb_column_family_handle_t *root;     /* FAMILY_DEFAULT */
    rocksdb_options_t *options[FAMILY_COUNT]; /* [FAMILY_DEFAULT] also holds the database's */
    pthread_mutex_t spaces_lock; /* a snapshot and which keyspace is CELLS belong together */
    struct keyspace
        *spaces[AT_SPACE_COUNT]; /* [CELLS] under the lock; the writer thread may read */
    uint32_t last_number;        /* of a CELLS keyspace, that was made */
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *write_sync;
    rocksdb_writeoptions_t *write_async;
    rocksdb_readoptions_t *read; /* never changed: any thread */
    char *dir;
    uint64_t reserve_bytes; /* of the disk: commits are refused below */
    struct engine_reach reach;
    uint64_t opened_last;    /* where it ended when it was opened, and where it */
    uint64_t opened_reached; /* should have; 0: there */
    /* Writer thread only. */
    size_t unchecked_bytes; /* committed since free space was last looked at */
    _Atomic bool broken;    /* RocksDB reported an error of its own */

    pthread_mutex_t sieve_lock;
    struct at_sieve sieve; /* begin NULL once closed */
    void (*on_sync)(void *ctx);
    void *on_sync_ctx;
    _Atomic uint64_t sieved_count;
};

struct at_snapshot {
    struct at_engine *engine;
    const rocksdb_snapshot_t *rocks;
    struct keyspace *cells; /* what CELLS was then */
};

/* The id that RocksDB gave the space's column family: they are made in this order, once. CELLS has
 * it until another keyspace becomes CELLS. */
static inline uint32_t engine_family_id(enum at_space space)
{
    return (uint32_t)space + 1;
}

/* keyspace.c: engine_spaces_open opens the database with its families, drops what is no keyspace
 * any more, and fills in db, root and spaces. On an error the database is closed again. */
AT_MUST_USE enum at_code
engine_spaces_open(struct at_engine *e, const char *dir, struct at_error *reterr);
void engine_spaces_close(struct at_engine *e);
/* engine_space_ref returns what `space` is in the snapshot (NULL: now), counted. Any thread. */
struct keyspace *
engine_space_ref(struct at_engine *e, enum at_space space, const struct at_snapshot *snapshot);
void engine_space_unref(struct keyspace **space);
/* engine_space_make makes an empty keyspace like CELLS, which nothing knows yet. RESOURCE_EXHAUSTED
 * when there were too many. _drop lets go of it and removes it from the disk. */
AT_MUST_USE enum at_code
engine_space_make(struct at_engine *e, struct keyspace **ret_space, struct at_error *reterr);
void engine_space_drop(struct at_engine *e, struct keyspace **space);
/* engine_batch_choose notes in the batch that `space` becomes CELLS. */
void engine_batch_choose(struct at_batch *batch, const struct keyspace *space);

/* aside.c: removes the files of asides that an earlier process left. */
void engine_aside_clean(const struct at_engine *e);

/* engine_write commits a batch whose CELLS is `cells`. */
AT_MUST_USE enum at_code engine_write(struct at_engine *e,
                                      struct at_batch *batch,
                                      const struct keyspace *cells,
                                      bool sync,
                                      struct at_error *reterr);
/* engine_check_room: RESOURCE_EXHAUSTED when `bytes` more would leave too little. Any thread. */
AT_MUST_USE enum at_code
engine_check_room(const struct at_engine *e, uint64_t bytes, struct at_error *reterr);

/* engine_fail converts RocksDB's error text (takes it) into a code and a message. */
enum at_code engine_fail(char *text, const char *what, struct at_error *reterr)
    __attribute__((cold, nonnull(1, 2)));

/* engine_options_make fills e->options and e->cache. */
void engine_options_make(struct at_engine *e, const struct at_engine_options *options);

/* compact.c: engine_sieve_set has compactions of these options ask e->sieve; _end waits for running
 * calls of begin and lets no further one happen. */
void engine_sieve_set(struct at_engine *e, rocksdb_options_t *o);
void engine_sieve_end(struct at_engine *e);

/* group.c: engine_group_set keeps filters of the groups of keys, in memtables and tables. */
void engine_group_set(rocksdb_options_t *o, size_t (*group)(struct at_slice key));

/* mark.c: engine_mark_put notes, as the database closes, how far it was written; _check tells
 * whether it still is. DATA_LOSS when not, or when the note is damaged; UNAVAILABLE when it can't
 * be read. */
#define ENGINE_PATH_BYTES_MAX 4096
AT_MUST_USE enum at_code engine_mark_check(const struct at_engine *e, struct at_error *reterr);
AT_MUST_USE enum at_code engine_mark_put(const struct at_engine *e);

/* engine_reserve_bytes: the free space that flushing all memtables may need. */
uint64_t engine_reserve_bytes(const struct at_engine_options *options);

/* engine_batch_seal returns the batch in RocksDB's form, with its cells in the column family
 * `cells_id`; it lives until the batch changes. _put_root puts a record of FAMILY_DEFAULT. */
struct at_slice engine_batch_seal(struct at_batch *batch, uint32_t cells_id);
/* engine_batch_last returns the number that RocksDB gave the last write of a batch in its form; 0:
 * there is none in it. */
uint64_t engine_batch_last(struct at_slice written);
void engine_batch_put_root(struct at_batch *batch, struct at_slice key, struct at_slice value);

#endif
