/* engine_internal.h: what the files of engine/ share: the open database and RocksDB's errors.
 * ADAPTER (rocksdb). Nothing outside this folder includes it. */
#ifndef ATOLL_CLUSTER_ENGINE_ENGINE_INTERNAL_H
#define ATOLL_CLUSTER_ENGINE_ENGINE_INTERNAL_H

#include "cluster/engine/engine.h"

#include <pthread.h>
#include <rocksdb/c.h>

/* RocksDB's own "default" column family exists always and stays empty. */
#define FAMILY_DEFAULT 0
#define FAMILY_COUNT (1 + AT_SPACE_COUNT)

struct at_engine {
    rocksdb_t *db;
    rocksdb_column_family_handle_t *families[FAMILY_COUNT];
    rocksdb_options_t *options[FAMILY_COUNT]; /* [FAMILY_DEFAULT] also holds the database's */
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *write_sync;
    rocksdb_writeoptions_t *write_async;
    rocksdb_readoptions_t *read; /* never changed: any thread */
    char *dir;
    uint64_t reserve_bytes; /* of the disk: commits are refused below */
    /* Writer thread only. */
    size_t unchecked_bytes; /* committed since free space was last looked at */
    _Atomic bool broken;    /* RocksDB reported an error of its own */

    pthread_mutex_t sieve_lock;
    struct at_sieve sieve; /* begin NULL once closed */
    _Atomic uint64_t sieved_count;
};

struct at_snapshot {
    struct at_engine *engine;
    const rocksdb_snapshot_t *rocks;
};

/* The id that RocksDB gave the space's column family: they are made in this order, once. */
static inline uint32_t engine_family_id(enum at_space space)
{
    return (uint32_t)space + 1;
}

static inline rocksdb_column_family_handle_t *engine_family(const struct at_engine *e,
                                                            enum at_space space)
{
    return e->families[engine_family_id(space)];
}

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

/* engine_batch_seal returns the batch in RocksDB's form; it lives until the batch changes. */
struct at_slice engine_batch_seal(struct at_batch *batch);

#endif
