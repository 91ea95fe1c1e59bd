#include "cluster/engine/engine_internal.h"

#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* RocksDB takes a log that ends early, or is gone, for a crash before it was written. After a close
 * that is never true: all was synced by then. So the number of the last write is kept in a file of
 * its own, and a database that has less when it is opened has lost something.
 *
 * The file stays: it is true of all later times as well. */

#define MARK_BYTES_MAX 32

static enum at_code mark_path(const struct at_engine *e, const char *suffix, char *path);
static bool write_whole(const char *path, const char *text);

enum at_code engine_mark_check(const struct at_engine *e, struct at_error *reterr)
{
    char path[ENGINE_PATH_BYTES_MAX];
    char text[MARK_BYTES_MAX] = "";
    char *end = NULL;

    AT_TRY(mark_path(e, "", path));
    FILE *file = fopen(path, "re");
    if (file == NULL && errno == ENOENT)
        return AT_OK; /* never closed yet */
    if (file == NULL)
        return at_fail(reterr, AT_UNAVAILABLE, "can't read %s: %s", path, strerrordesc_np(errno));
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    errno = 0;
    uint64_t marked = strtoull(text, &end, 10);
    if (end == text || *end != '\n' || errno != 0)
        return at_fail(reterr, AT_DATA_LOSS, "%s is damaged", path);
    uint64_t last = rocksdb_get_latest_sequence_number(e->db);
    if (last < marked)
        return at_fail(reterr, AT_DATA_LOSS,
                       "the database ends at write %" PRIu64 ", but had %" PRIu64
                       " when it was closed: a log in its folder is damaged or missing",
                       last, marked);
    return AT_OK;
}

enum at_code engine_mark_put(const struct at_engine *e)
{
    char path[ENGINE_PATH_BYTES_MAX];
    char new_path[ENGINE_PATH_BYTES_MAX];
    char text[MARK_BYTES_MAX];
    char *error = NULL;

    rocksdb_flush_wal(e->db, 1, &error);
    if (error != NULL)
        return engine_fail(error, "sync", NULL);
    AT_TRY(mark_path(e, "", path));
    AT_TRY(mark_path(e, ".new", new_path));
    (void)snprintf(text, sizeof(text), "%" PRIu64 "\n",
                   (uint64_t)rocksdb_get_latest_sequence_number(e->db));
    /* Without the new one the old one stays, which is true as well. */
    if (!write_whole(new_path, text) || rename(new_path, path) != 0) {
        (void)unlink(new_path);
        return AT_UNAVAILABLE;
    }
    return AT_OK;
}

static enum at_code mark_path(const struct at_engine *e, const char *suffix, char *path)
{
    int n = snprintf(path, ENGINE_PATH_BYTES_MAX, "%s/CLOSED%s", e->dir, suffix);

    return n > 0 && n < ENGINE_PATH_BYTES_MAX ? AT_OK : AT_INVALID_ARGUMENT;
}

static bool write_whole(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t len = strlen(text);

    if (fd < 0)
        return false;
    bool ok = write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;
    return close(fd) == 0 && ok;
}
