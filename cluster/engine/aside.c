#include "cluster/engine/engine_internal.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/folder.h"
#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is put goes into a file beside the database, which RocksDB then takes over by a link: no
 * memtable, no WAL, no compaction. As no two files overlap they all go to the last level at once.
 *
 * The lock is held while the switching batch is written. So a snapshot is either of before the
 * batch, and has the old keyspace, or of after it, and has the new one. */

#define DIR_NAME "aside"

struct at_aside {
    struct at_engine *engine;
    struct keyspace *space;
    rocksdb_sstfilewriter_t *writer;
    rocksdb_envoptions_t *env;
    rocksdb_ingestexternalfileoptions_t *ingest;
    char path[ENGINE_PATH_BYTES_MAX]; /* of the file being written */
    bool open;
    uint64_t bytes;
};

static enum at_code open_file(struct at_aside *a, struct at_error *reterr);
static void remove_file(struct at_aside *a);
static void aside_free(struct at_aside *a);
static bool dir_path(const struct at_engine *e, char *path);

enum at_code at_aside_new(struct at_engine *e, struct at_aside **ret_aside, struct at_error *reterr)
{
    char dir[ENGINE_PATH_BYTES_MAX];
    struct keyspace *space = NULL;

    if (e->broken)
        return at_fail(reterr, AT_UNAVAILABLE, "the database failed before; open it again");
    AT_TRY(engine_check_room(e, 0, reterr));
    if (!dir_path(e, dir))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "the database folder's name is too long");
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return at_fail(reterr, AT_UNAVAILABLE, "can't make %s: %s", dir, strerrordesc_np(errno));
    AT_TRY(engine_space_make(e, &space, reterr));
    struct at_aside *a = AT_NEW(struct at_aside);
    a->engine = e;
    a->space = space;
    a->env = rocksdb_envoptions_create();
    a->writer = rocksdb_sstfilewriter_create(a->env, e->options[engine_family_id(AT_SPACE_CELLS)]);
    a->ingest = rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingestexternalfileoptions_set_move_files(a->ingest, 1);
    int n = snprintf(a->path, sizeof(a->path), "%s/%u.sst", dir, space->number);
    AT_ASSERT(n > 0 && (size_t)n < sizeof(a->path));
    *ret_aside = a;
    return AT_OK;
}

enum at_code at_aside_put(struct at_aside *a,
                          struct at_slice key,
                          struct at_slice value,
                          struct at_error *reterr)
{
    char *text = NULL;

    if (!a->open)
        AT_TRY(open_file(a, reterr));
    rocksdb_sstfilewriter_put(a->writer, (const char *)key.data, key.len, (const char *)value.data,
                              value.len, &text);
    if (text != NULL)
        return engine_fail(text, "write aside", reterr);
    a->bytes += key.len + value.len;
    return AT_OK;
}

enum at_code at_aside_cut(struct at_aside *a, struct at_error *reterr)
{
    const char *files[] = {a->path};
    char *text = NULL;

    if (!a->open)
        return AT_OK;
    AT_TRY(engine_check_room(a->engine, 0, reterr));
    rocksdb_sstfilewriter_finish(a->writer, &text);
    a->open = false;
    a->bytes = 0;
    if (text == NULL)
        rocksdb_ingest_external_file_cf(a->engine->db, a->space->handle, files, 1, a->ingest,
                                        &text);
    (void)unlink(a->path); /* a link was moved: it may be gone already */
    return text == NULL ? AT_OK : engine_fail(text, "take in a file", reterr);
}

uint64_t at_aside_cut_bytes(const struct at_aside *a)
{
    return a->bytes;
}

void at_aside_drop(struct at_aside **aside)
{
    struct at_aside *a = AT_TAKE(*aside);

    if (a == NULL)
        return;
    remove_file(a);
    engine_space_drop(a->engine, &a->space);
    aside_free(a);
}

enum at_code at_engine_switch(struct at_engine *e,
                              struct at_batch *batch,
                              struct at_aside **aside,
                              struct at_error *reterr)
{
    struct at_aside *a = *aside;

    AT_ASSERT(a->engine == e && !a->open);
    engine_batch_choose(batch, a->space);
    pthread_mutex_lock(&e->spaces_lock);
    struct keyspace *old = e->spaces[AT_SPACE_CELLS];
    enum at_code code = engine_write(e, batch, a->space, true, reterr);
    if (code == AT_OK)
        e->spaces[AT_SPACE_CELLS] = AT_TAKE(a->space);
    pthread_mutex_unlock(&e->spaces_lock);
    if (code != AT_OK)
        return code;
    engine_space_drop(e, &old);
    aside_free(a);
    *aside = NULL;
    return AT_OK;
}

void engine_aside_clean(const struct at_engine *e)
{
    char dir[ENGINE_PATH_BYTES_MAX];
    char path[ENGINE_PATH_BYTES_MAX + 256];
    struct at_folder folder AT_CLEANUP(at_folder_close) = {NULL};
    const char *name;

    if (!dir_path(e, dir) || !at_folder_open(&folder, dir))
        return;
    while ((name = at_folder_next(&folder)) != NULL) {
        int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
        if (name[0] != '.' && n > 0 && (size_t)n < sizeof(path))
            (void)unlink(path);
    }
    (void)rmdir(dir);
}

static enum at_code open_file(struct at_aside *a, struct at_error *reterr)
{
    char *text = NULL;

    if (a->engine->broken)
        return at_fail(reterr, AT_UNAVAILABLE, "the database failed before; open it again");
    AT_TRY(engine_check_room(a->engine, 0, reterr));
    rocksdb_sstfilewriter_open(a->writer, a->path, &text);
    if (text != NULL)
        return engine_fail(text, "write aside", reterr);
    a->open = true;
    return AT_OK;
}

/* Destroying the writer abandons its file and leaves it there. */
static void remove_file(struct at_aside *a)
{
    if (!a->open)
        return;
    a->open = false;
    (void)unlink(a->path);
}

static void aside_free(struct at_aside *a)
{
    char dir[ENGINE_PATH_BYTES_MAX];

    if (dir_path(a->engine, dir))
        (void)rmdir(dir); /* it is empty; made again for the next one */
    rocksdb_sstfilewriter_destroy(a->writer);
    rocksdb_envoptions_destroy(a->env);
    rocksdb_ingestexternalfileoptions_destroy(a->ingest);
    at_free(a);
}

static bool dir_path(const struct at_engine *e, char *path)
{
    int n = snprintf(path, ENGINE_PATH_BYTES_MAX, "%s/" DIR_NAME, e->dir);

    return n > 0 && n < ENGINE_PATH_BYTES_MAX;
}
