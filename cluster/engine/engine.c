#include "cluster/engine/engine_internal.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* RocksDB would make a new, empty database where it finds none. A folder that lost only its CURRENT
 * file looks like that to it, so at_engine_open refuses one that still has tables or logs.
 *
 * RocksDB must not run into a full disk: when 7.8 recovers from a failed write to its log, in the
 * background, it fails one of its own assertions, which ends the process. So commits are refused
 * while there is still room to flush all memtables; that is checked as bytes are written, and needs
 * nothing to be undone. Should RocksDB report an error of its own all the same, nothing more is
 * committed until the database is opened again, which reads back all that was acknowledged. */

/* at_engine_range_bytes counts entries in memtables up to this many. */
#define MEMTABLE_COUNT_MAX 4096

/* Free space is asked for once per this many bytes committed. */
#define SPACE_CHECK_BYTES AT_MIB

static enum at_code check_space(struct at_engine *e, size_t bytes, struct at_error *reterr);
static enum at_code check_dir(const char *dir, struct at_error *reterr);
static bool is_data_file(const char *name);
static void close_database(struct at_engine *e);
static void note_reach(struct at_engine *e, rocksdb_writebatch_t *rocks, bool synced);
static void release(struct at_engine *e);
static uint64_t memtable_bytes(struct at_engine *e,
                               const struct keyspace *space,
                               struct at_slice start,
                               struct at_slice end);
static uint64_t property(struct at_engine *e, const struct keyspace *space, const char *name);

enum at_code at_engine_open(const struct at_engine_options *options,
                            struct at_engine **ret_engine,
                            struct at_error *reterr)
{
    AT_ASSERT(options->memtable_bytes > 0);
    AT_TRY(check_dir(options->dir, reterr));
    struct at_engine *e = AT_NEW(struct at_engine);
    e->dir = at_dup(options->dir, strlen(options->dir));
    e->reserve_bytes = engine_reserve_bytes(options);
    e->sieve = options->sieve;
    e->on_sync = options->on_sync;
    e->on_sync_ctx = options->on_sync_ctx;
    pthread_mutex_init(&e->sieve_lock, NULL);
    pthread_mutex_init(&e->spaces_lock, NULL);
    engine_options_make(e, options);
    enum at_code code = engine_spaces_open(e, options->dir, reterr);
    if (code != AT_OK) {
        release(e);
        return code;
    }
    e->opened_last = rocksdb_get_latest_sequence_number(e->db);
    e->opened_reached =
        engine_reach_open(&e->reach, options->dir, options->boot_id, e->opened_last);
    code = engine_mark_check(e, reterr);
    if (code != AT_OK) {
        close_database(e);
        return code;
    }
    engine_aside_clean(e);
    e->write_sync = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(e->write_sync, 1);
    e->write_async = rocksdb_writeoptions_create();
    e->read = rocksdb_readoptions_create();
    *ret_engine = e;
    return AT_OK;
}

void at_engine_close(struct at_engine **engine)
{
    struct at_engine *e = AT_TAKE(*engine);

    if (e == NULL)
        return;
    engine_sieve_end(e);
    if (e->broken)
        return; /* closing its failed log would fail an assertion of RocksDB's: left to the exit */
    if (engine_mark_put(e) != AT_OK)
        at_log(AT_LOG_WARN, "can't note how far the database was written, closing without");
    close_database(e);
}

bool at_engine_lost(const struct at_engine *e, uint64_t *ret_last, uint64_t *ret_reached)
{
    *ret_last = e->opened_last;
    *ret_reached = e->opened_reached;
    return e->opened_reached != 0;
}

void at_engine_abandon(struct at_engine **engine)
{
    struct at_engine *e = AT_TAKE(*engine);

    if (e == NULL)
        return;
    engine_sieve_end(e);
    if (!e->broken)
        close_database(e);
}

enum at_code
at_engine_commit(struct at_engine *e, struct at_batch *batch, bool sync, struct at_error *reterr)
{
    return engine_write(e, batch, e->spaces[AT_SPACE_CELLS], sync, reterr);
}

enum at_code engine_write(struct at_engine *e,
                          struct at_batch *batch,
                          const struct keyspace *cells,
                          bool sync,
                          struct at_error *reterr)
{
    struct at_slice sealed = engine_batch_seal(batch, cells->id);
    char *text = NULL;

    if (e->broken)
        return at_fail(reterr, AT_UNAVAILABLE, "the database failed before; open it again");
    AT_TRY(check_space(e, sealed.len, reterr));
    rocksdb_writebatch_t *rocks =
        rocksdb_writebatch_create_from((const char *)sealed.data, sealed.len);
    rocksdb_write(e->db, sync ? e->write_sync : e->write_async, rocks, &text);
    if (text == NULL)
        note_reach(e, rocks, sync);
    rocksdb_writebatch_destroy(rocks);
    if (text == NULL && sync && e->on_sync != NULL)
        e->on_sync(e->on_sync_ctx);
    if (text == NULL)
        return AT_OK;
    e->broken = true;
    return engine_fail(text, "commit", reterr);
}

enum at_code at_engine_sync(struct at_engine *e, struct at_error *reterr)
{
    char *text = NULL;

    if (e->broken) /* RocksDB would fail an assertion */
        return at_fail(reterr, AT_UNAVAILABLE, "the database failed before; open it again");
    uint64_t asked = engine_reach_asked(&e->reach);
    rocksdb_flush_wal(e->db, 1, &text);
    if (text == NULL)
        engine_reach_synced(&e->reach, asked);
    if (text == NULL && e->on_sync != NULL)
        e->on_sync(e->on_sync_ctx);
    return text == NULL ? AT_OK : engine_fail(text, "sync", reterr);
}

enum at_code at_engine_resume(struct at_engine *e, struct at_error *reterr)
{
    struct at_batch *nothing = at_batch_new();
    e->unchecked_bytes = SPACE_CHECK_BYTES;
    enum at_code code = at_engine_commit(e, nothing, true, reterr);
    at_batch_free(&nothing);
    return code;
}

struct at_snapshot *at_snapshot_open(struct at_engine *e)
{
    struct at_snapshot *s = AT_NEW(struct at_snapshot);

    pthread_mutex_lock(&e->spaces_lock);
    *s = (struct at_snapshot){
        .engine = e, .rocks = rocksdb_create_snapshot(e->db), .cells = e->spaces[AT_SPACE_CELLS]};
    s->cells->refs++;
    pthread_mutex_unlock(&e->spaces_lock);
    return s;
}

void at_snapshot_close(struct at_snapshot **snapshot)
{
    struct at_snapshot *s = AT_TAKE(*snapshot);

    if (s == NULL)
        return;
    rocksdb_release_snapshot(s->engine->db, s->rocks);
    engine_space_unref(&s->cells);
    at_free(s);
}

enum at_code at_engine_get(struct at_engine *e,
                           const struct at_snapshot *snapshot,
                           enum at_space space,
                           struct at_slice key,
                           struct at_buf *out,
                           struct at_error *reterr)
{
    rocksdb_readoptions_t *read = e->read;
    char *text = NULL;
    size_t len = 0;

    if (snapshot != NULL) {
        read = rocksdb_readoptions_create();
        rocksdb_readoptions_set_snapshot(read, snapshot->rocks);
    }
    struct keyspace *in = engine_space_ref(e, space, snapshot);
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned_cf(e->db, read, in->handle, (const char *)key.data, key.len, &text);
    engine_space_unref(&in);
    if (snapshot != NULL)
        rocksdb_readoptions_destroy(read);
    if (text != NULL)
        return engine_fail(text, "read", reterr);
    if (pinned == NULL)
        return at_fail(reterr, AT_NOT_FOUND, "no such record");
    const char *data = rocksdb_pinnableslice_value(pinned, &len);
    enum at_code code = at_buf_append(out, at_slice_make(data, len));
    rocksdb_pinnableslice_destroy(pinned);
    return code == AT_OK ? AT_OK : at_fail(reterr, code, "record of %zu bytes is too large", len);
}

uint64_t at_engine_range_bytes(struct at_engine *e,
                               enum at_space space,
                               struct at_slice start,
                               struct at_slice end)
{
    const char *start_key = (const char *)start.data;
    const char *end_key = (const char *)end.data;
    uint64_t bytes = 0;
    char *text = NULL;

    if (at_slice_cmp(start, end) >= 0)
        return 0;
    struct keyspace *in = engine_space_ref(e, space, NULL);
    rocksdb_approximate_sizes_cf(e->db, in->handle, 1, &start_key, &start.len, &end_key, &end.len,
                                 &bytes, &text);
    if (text != NULL) {
        rocksdb_free(text); /* an estimate: what can't be read counts nothing */
        bytes = 0;
    }
    bytes += memtable_bytes(e, in, start, end);
    engine_space_unref(&in);
    return bytes;
}

uint64_t at_engine_space_bytes(struct at_engine *e, enum at_space space)
{
    struct keyspace *in = engine_space_ref(e, space, NULL);
    uint64_t bytes = property(e, in, "rocksdb.live-sst-files-size") +
                     property(e, in, "rocksdb.cur-size-all-mem-tables");

    engine_space_unref(&in);
    return bytes;
}

enum at_code engine_fail(char *text, const char *what, struct at_error *reterr)
{
    enum at_code code = AT_UNAVAILABLE;
    const char *hint = "";

    if (strstr(text, "No space left on device") != NULL || strstr(text, "NoSpace") != NULL)
        code = AT_RESOURCE_EXHAUSTED;
    else if (strncmp(text, "Corruption", strlen("Corruption")) == 0 ||
             strncmp(text, "Invalid argument", strlen("Invalid argument")) == 0 ||
             strstr(text, "No such file or directory") != NULL)
        code = AT_DATA_LOSS;
    else if (strstr(text, "lock file") != NULL || strstr(text, "lock hold by") != NULL)
        hint = "in use by another process: ";
    code = at_fail(reterr, code, "can't %s: %s%s", what, hint, text);
    rocksdb_free(text);
    return code;
}

static void close_database(struct at_engine *e)
{
    rocksdb_cancel_all_background_work(e->db, 1);
    engine_spaces_close(e);
    engine_reach_close(&e->reach);
    release(e);
}

/* By the batch's own number: the database's may be ahead by a file that is being taken in. */
static void note_reach(struct at_engine *e, rocksdb_writebatch_t *rocks, bool synced)
{
    size_t len = 0;
    const char *data = rocksdb_writebatch_data(rocks, &len);
    uint64_t last = engine_batch_last(at_slice_make(data, len));

    if (last > 0)
        engine_reach_written(&e->reach, last, synced);
}

/* A batch is written twice: to the WAL and, later, to a table. While too little is free every
 * commit asks again. */
static enum at_code check_space(struct at_engine *e, size_t bytes, struct at_error *reterr)
{
    e->unchecked_bytes += bytes;
    if (e->unchecked_bytes < SPACE_CHECK_BYTES)
        return AT_OK;
    enum at_code code = engine_check_room(e, 2 * (uint64_t)bytes, reterr);
    e->unchecked_bytes = code == AT_OK ? 0 : SPACE_CHECK_BYTES;
    return code;
}

enum at_code engine_check_room(const struct at_engine *e, uint64_t bytes, struct at_error *reterr)
{
    struct statvfs st;

    if (statvfs(e->dir, &st) != 0)
        return AT_OK;
    uint64_t free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
    if (free_bytes >= e->reserve_bytes + bytes)
        return AT_OK;
    return at_fail(reterr, AT_RESOURCE_EXHAUSTED,
                   "the disk is nearly full: %" PRIu64 " MiB are free and %" PRIu64
                   " MiB of them are reserved",
                   free_bytes / AT_MIB, e->reserve_bytes / AT_MIB);
}

static enum at_code check_dir(const char *dir, struct at_error *reterr)
{
    char path[4096];
    struct stat st;

    int n = snprintf(path, sizeof(path), "%s/CURRENT", dir);
    if (n < 0 || (size_t)n >= sizeof(path))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "the database folder's name is too long");
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return at_fail(reterr, AT_UNAVAILABLE, "can't make %s: %s", dir, strerrordesc_np(errno));
    if (stat(path, &st) == 0)
        return AT_OK;

    DIR *d = opendir(dir);
    if (d == NULL)
        return at_fail(reterr, AT_UNAVAILABLE, "can't read %s: %s", dir, strerrordesc_np(errno));
    enum at_code code = AT_OK;
    /* NOLINTBEGIN(concurrency-mt-unsafe): the stream is this function's own. */
    for (const struct dirent *entry = readdir(d); entry != NULL && code == AT_OK;
         entry = readdir(d))
        if (is_data_file(entry->d_name))
            code = at_fail(reterr, AT_DATA_LOSS, "%s holds %s but no CURRENT file", dir,
                           entry->d_name);
    /* NOLINTEND(concurrency-mt-unsafe) */
    closedir(d);
    return code;
}

/* Tables and write-ahead logs have a number for a name; RocksDB makes neither before CURRENT. */
static bool is_data_file(const char *name)
{
    size_t digits = strspn(name, "0123456789");

    return digits > 0 && (strcmp(name + digits, ".sst") == 0 || strcmp(name + digits, ".log") == 0);
}

static void release(struct at_engine *e)
{
    if (e->write_sync != NULL)
        rocksdb_writeoptions_destroy(e->write_sync);
    if (e->write_async != NULL)
        rocksdb_writeoptions_destroy(e->write_async);
    if (e->read != NULL)
        rocksdb_readoptions_destroy(e->read);
    for (int i = 0; i < FAMILY_COUNT; i++)
        rocksdb_options_destroy(e->options[i]);
    rocksdb_cache_destroy(e->cache);
    pthread_mutex_destroy(&e->spaces_lock);
    pthread_mutex_destroy(&e->sieve_lock);
    at_free(e->dir);
    at_free(e);
}

/* RocksDB's estimate leaves memtables out, and asks for a count instead. A small range is counted;
 * for a larger one the whole of the memtables is taken, which they can't exceed. */
static uint64_t memtable_bytes(struct at_engine *e,
                               const struct keyspace *space,
                               struct at_slice start,
                               struct at_slice end)
{
    enum { READ_TIER_MEMTABLE = 3 };
    rocksdb_readoptions_t *read = rocksdb_readoptions_create();
    uint64_t bytes = 0;
    size_t count = 0;

    rocksdb_readoptions_set_read_tier(read, READ_TIER_MEMTABLE);
    rocksdb_readoptions_set_total_order_seek(read, 1);
    rocksdb_readoptions_set_iterate_upper_bound(read, (const char *)end.data, end.len);
    rocksdb_iterator_t *i = rocksdb_create_iterator_cf(e->db, read, space->handle);
    rocksdb_iter_seek(i, (const char *)start.data, start.len);
    while (rocksdb_iter_valid(i) && count++ < MEMTABLE_COUNT_MAX) {
        size_t key_len = 0;
        size_t value_len = 0;
        (void)rocksdb_iter_key(i, &key_len);
        (void)rocksdb_iter_value(i, &value_len);
        bytes += key_len + value_len;
        rocksdb_iter_next(i);
    }
    rocksdb_iter_destroy(i);
    rocksdb_readoptions_destroy(read);
    return count <= MEMTABLE_COUNT_MAX ? bytes
                                       : property(e, space, "rocksdb.cur-size-all-mem-tables");
}

static uint64_t property(struct at_engine *e, const struct keyspace *space, const char *name)
{
    uint64_t v = 0;

    return rocksdb_property_int_cf(e->db, space->handle, name, &v) == 0 ? v : 0;
}
