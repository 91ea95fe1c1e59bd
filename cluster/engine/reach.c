#include "cluster/engine/reach.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The file: magic(8) written(8) synced(8) boot id(40) CRC-32C of all that(4). */

#define FILE_NAME "REACH"
#define PATH_BYTES_MAX 4096
#define MAGIC "atReach1"
#define MAGIC_BYTES 8
#define BOOT_OFFSET (MAGIC_BYTES + 8 + 8)
#define CHECK_OFFSET (BOOT_OFFSET + ENGINE_BOOT_ID_BYTES)
#define FILE_BYTES (CHECK_OFFSET + 4)

static uint64_t read_file(struct engine_reach *r, uint64_t last);
static void put(struct engine_reach *r);

uint64_t
engine_reach_open(struct engine_reach *r, const char *dir, struct at_slice boot_id, uint64_t last)
{
    char path[PATH_BYTES_MAX];

    *r = (struct engine_reach){.fd = -1};
    pthread_mutex_init(&r->lock, NULL);
    AT_ASSERT(boot_id.len <= sizeof(r->boot_id));
    r->boot_known = boot_id.len > 0;
    if (r->boot_known)
        memcpy(r->boot_id, boot_id.data, boot_id.len);
    int n = snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
    if (n > 0 && (size_t)n < sizeof(path))
        r->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (r->fd < 0) {
        at_log(AT_LOG_WARN, "can't note how far the database is written, going on without",
               AT_KV_STR("error", strerrordesc_np(errno)));
        return 0;
    }
    uint64_t reached = read_file(r, last);
    if (reached <= last)
        return 0;
    r->synced = 0; /* what comes now goes on from the loss */
    return reached;
}

void engine_reach_close(struct engine_reach *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    pthread_mutex_destroy(&r->lock);
}

void engine_reach_written(struct engine_reach *r, uint64_t last, bool synced)
{
    pthread_mutex_lock(&r->lock);
    r->written = last;
    if (synced)
        r->synced = last;
    put(r);
    pthread_mutex_unlock(&r->lock);
}

uint64_t engine_reach_asked(struct engine_reach *r)
{
    pthread_mutex_lock(&r->lock);
    uint64_t written = r->written;
    pthread_mutex_unlock(&r->lock);
    return written;
}

void engine_reach_synced(struct engine_reach *r, uint64_t asked)
{
    pthread_mutex_lock(&r->lock);
    if (asked > r->synced) {
        r->synced = asked;
        put(r);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Where the database must end at least; 0: nothing is known. */
static uint64_t read_file(struct engine_reach *r, uint64_t last)
{
    uint8_t bytes[FILE_BYTES + 1];

    ssize_t len = pread(r->fd, bytes, sizeof(bytes), 0);
    if (len == 0)
        return 0; /* new */
    if (len != FILE_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0 ||
        at_get_be32(bytes + CHECK_OFFSET) != at_crc32c(at_slice_make(bytes, CHECK_OFFSET))) {
        at_log(AT_LOG_WARN, "the note of how far the database was written is damaged",
               AT_KV_U64("last", last));
        return 0;
    }
    uint64_t written = at_get_be64(bytes + MAGIC_BYTES);
    r->synced = at_get_be64(bytes + MAGIC_BYTES + 8);
    bool same_boot =
        r->boot_known && memcmp(bytes + BOOT_OFFSET, r->boot_id, sizeof(r->boot_id)) == 0;
    return same_boot && written > r->synced ? written : r->synced;
}

/* A write that fails leaves an older note, or half of one, which is then none. */
static void put(struct engine_reach *r)
{
    uint8_t bytes[FILE_BYTES] = MAGIC;

    if (r->fd < 0)
        return;
    at_put_be64(bytes + MAGIC_BYTES, r->written);
    at_put_be64(bytes + MAGIC_BYTES + 8, r->synced);
    memcpy(bytes + BOOT_OFFSET, r->boot_id, sizeof(r->boot_id));
    at_put_be32(bytes + CHECK_OFFSET, at_crc32c(at_slice_make(bytes, CHECK_OFFSET)));
    if (pwrite(r->fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes)) {
        r->failed = false;
        return;
    }
    if (!r->failed)
        at_log(AT_LOG_WARN, "can't note how far the database is written, trying again",
               AT_KV_STR("error", strerrordesc_np(errno)));
    r->failed = true;
}
