#include "cluster/backup/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"

#define TMP ".tmp"
#define TMP_PATH_BYTES_MAX (AT_BACKUP_PATH_BYTES_MAX + sizeof(TMP))

static enum at_code fail_io(struct at_error *reterr, const char *what)
{
    int error = errno;
    enum at_code code = error == ENOSPC || error == EDQUOT ? AT_RESOURCE_EXHAUSTED : AT_UNAVAILABLE;

    if (error == ENOENT)
        code = AT_NOT_FOUND;
    return at_fail(reterr, code, "A backup's file can't be %s (errno %d)", what, error);
}

static void tmp_path(const char *path, char ret_path[TMP_PATH_BYTES_MAX])
{
    (void)snprintf(ret_path, TMP_PATH_BYTES_MAX, "%s%s", path, TMP);
}

/* The folder that the file is in: made, or synced. */
static void folder_of(const char *path, char ret_folder[AT_BACKUP_PATH_BYTES_MAX])
{
    const char *slash = strrchr(path, '/');

    AT_ASSERT(slash && slash > path);
    (void)snprintf(ret_folder, AT_BACKUP_PATH_BYTES_MAX, "%.*s", (int)(slash - path), path);
}

static enum at_code sync_folder(const char *path, struct at_error *reterr)
{
    char folder[AT_BACKUP_PATH_BYTES_MAX];

    folder_of(path, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_io(reterr, "synced");
    int rc = fsync(fd);
    enum at_code code = rc == 0 ? AT_OK : fail_io(reterr, "synced");
    (void)close(fd);
    return code;
}

enum at_code
at_backup_out_open(struct at_backup_out *out, const char *path, struct at_error *reterr)
{
    char tmp[TMP_PATH_BYTES_MAX];
    char folder[AT_BACKUP_PATH_BYTES_MAX];

    *out = (struct at_backup_out){.fd = -1};
    if (strlen(path) >= sizeof(out->path))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "The path of a backup's file is too long");
    (void)snprintf(out->path, sizeof(out->path), "%s", path);
    folder_of(path, folder);
    if (mkdir(folder, 0755) != 0 && errno != EEXIST)
        return fail_io(reterr, "made");
    tmp_path(path, tmp);
    out->fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return out->fd < 0 ? fail_io(reterr, "made") : AT_OK;
}

enum at_code
at_backup_out_put(struct at_backup_out *out, struct at_slice bytes, struct at_error *reterr)
{
    AT_ASSERT(out->fd >= 0);
    while (bytes.len > 0) {
        ssize_t n = write(out->fd, bytes.data, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_io(reterr, "written");
        bytes = at_slice_from(bytes, (size_t)n);
        out->bytes += (uint64_t)n;
    }
    return AT_OK;
}

enum at_code
at_backup_out_chunk(struct at_backup_out *out, struct at_slice payload, struct at_error *reterr)
{
    uint8_t head[AT_BACKUP_CHUNK_HEAD_BYTES];

    AT_ASSERT(payload.len > 0 && payload.len <= AT_BACKUP_PAYLOAD_BYTES_MAX);
    if (out->bytes == 0)
        AT_TRY(at_backup_out_put(out, AT_LIT(AT_BACKUP_MAGIC), reterr));
    at_backup_chunk_head(payload, head);
    AT_TRY(at_backup_out_put(out, at_slice_make(head, sizeof(head)), reterr));
    return at_backup_out_put(out, payload, reterr);
}

enum at_code at_backup_out_end(struct at_backup_out *out, struct at_error *reterr)
{
    char tmp[TMP_PATH_BYTES_MAX];
    enum at_code code = AT_OK;

    AT_ASSERT(out->fd >= 0);
    tmp_path(out->path, tmp);
    if (fsync(out->fd) != 0)
        code = fail_io(reterr, "synced");
    if (close(out->fd) != 0 && code == AT_OK)
        code = fail_io(reterr, "closed");
    out->fd = -1;
    if (code == AT_OK && rename(tmp, out->path) != 0)
        code = fail_io(reterr, "named");
    if (code == AT_OK)
        code = sync_folder(out->path, reterr);
    if (code != AT_OK)
        at_backup_file_remove(out->path);
    return code;
}

void at_backup_out_drop(struct at_backup_out *out)
{
    if (out->fd < 0)
        return;
    (void)close(out->fd);
    out->fd = -1;
    at_backup_file_remove(out->path);
}

static enum at_code read_all(
    int fd, uint64_t offset, void *into, size_t size, size_t *ret_size, struct at_error *reterr)
{
    *ret_size = 0;
    while (*ret_size < size) {
        ssize_t n =
            pread(fd, (uint8_t *)into + *ret_size, size - *ret_size, (off_t)(offset + *ret_size));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_io(reterr, "read");
        if (n == 0)
            break;
        *ret_size += (size_t)n;
    }
    return AT_OK;
}

static enum at_code
open_file(const char *path, int *ret_fd, uint64_t *ret_size, struct at_error *reterr)
{
    struct stat s;

    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_fd < 0)
        return fail_io(reterr, "opened");
    if (fstat(*ret_fd, &s) != 0)
        return fail_io(reterr, "read");
    *ret_size = (uint64_t)s.st_size;
    return AT_OK;
}

enum at_code at_backup_in_open(struct at_backup_in *in, const char *path, struct at_error *reterr)
{
    char magic[AT_BACKUP_MAGIC_BYTES];
    size_t size;

    *in = (struct at_backup_in){.fd = -1};
    at_buf_init(&in->payload, AT_BACKUP_PAYLOAD_BYTES_MAX);
    AT_TRY(open_file(path, &in->fd, &in->size, reterr));
    AT_TRY(read_all(in->fd, 0, magic, sizeof(magic), &size, reterr));
    if (size != sizeof(magic) || memcmp(magic, AT_BACKUP_MAGIC, size) != 0)
        return at_fail(reterr, AT_DATA_LOSS, "A backup's file does not begin like one");
    in->read_bytes = size;
    return AT_OK;
}

void at_backup_in_close(struct at_backup_in *in)
{
    if (in->fd >= 0)
        (void)close(in->fd);
    in->fd = -1;
    at_buf_deinit(&in->payload);
}

enum at_code
at_backup_in_next(struct at_backup_in *in, struct at_slice *ret_payload, struct at_error *reterr)
{
    uint8_t head[AT_BACKUP_CHUNK_HEAD_BYTES];
    size_t size;
    size_t got;

    *ret_payload = at_slice_make(NULL, 0);
    at_buf_clear(&in->payload);
    AT_TRY(read_all(in->fd, in->read_bytes, head, sizeof(head), &got, reterr));
    if (got == 0)
        return AT_OK;
    if (got != sizeof(head) || at_backup_chunk_size(head, &size) != AT_OK ||
        size > in->size - in->read_bytes)
        return at_fail(reterr, AT_DATA_LOSS, "A backup's file is cut off or damaged");
    AT_TRY(at_buf_reserve(&in->payload, size));
    AT_TRY(read_all(in->fd, in->read_bytes + sizeof(head), in->payload.data, size, &got, reterr));
    in->payload.len = got;
    if (!at_backup_chunk_check(head, at_buf_slice(&in->payload)))
        return at_fail(reterr, AT_DATA_LOSS, "A backup's file is damaged at byte %llu",
                       (unsigned long long)in->read_bytes);
    in->read_bytes += sizeof(head) + size;
    *ret_payload = at_buf_slice(&in->payload);
    return AT_OK;
}

enum at_code at_backup_in_head(struct at_backup_in *in,
                               struct at_arena *arena,
                               struct at_backup_head *ret_head,
                               struct at_error *reterr)
{
    enum at_backup_chunk kind;
    struct at_unpack rest;
    struct at_slice payload;

    AT_TRY(at_backup_in_next(in, &payload, reterr));
    if (at_backup_payload_kind(payload, &kind, &rest) != AT_OK || kind != AT_BACKUP_HEAD ||
        at_backup_head_decode(&rest, arena, ret_head) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "A backup's file has no head");
    return AT_OK;
}

enum at_code at_backup_file_read(const char *path,
                                 uint64_t offset,
                                 size_t bytes_max,
                                 struct at_buf *out,
                                 uint64_t *ret_size,
                                 struct at_error *reterr)
{
    int fd = -1;
    size_t got = 0;
    enum at_code code = open_file(path, &fd, ret_size, reterr);

    if (code == AT_OK)
        code = at_buf_reserve(out, bytes_max);
    if (code == AT_OK)
        code = read_all(fd, offset, out->data + out->len, bytes_max, &got, reterr);
    out->len += got;
    if (fd >= 0)
        (void)close(fd);
    return code;
}

void at_backup_file_remove(const char *path)
{
    char tmp[TMP_PATH_BYTES_MAX];

    tmp_path(path, tmp);
    if ((unlink(tmp) != 0 && errno != ENOENT) || (unlink(path) != 0 && errno != ENOENT))
        at_log(AT_LOG_WARN, "a backup's file can't be removed, retrying later",
               AT_KV_STR("path", path), AT_KV_I64("errno", errno));
}
