/* file.h: one backup's file on disk, being written or being read. ADAPTER (files).
 *
 * It is written under its name with ".tmp" behind it and gets its name when it is whole and synced;
 * so what has the name can be relied on, whenever the process ended. Chunks go through one buffer,
 * whose size is that of the largest chunk. One thread at a time; all functions block.
 *
 * Codes: RESOURCE_EXHAUSTED when the disk is full, UNAVAILABLE on other I/O errors, DATA_LOSS when
 * what is read is not what was written. */
#ifndef ATOLL_CLUSTER_BACKUP_FILE_H
#define ATOLL_CLUSTER_BACKUP_FILE_H

#include "cluster/backup/chunk.h"

#define AT_BACKUP_PATH_BYTES_MAX 4096

/* Invariant: fd is -1 unless it is open; then path with ".tmp" is the open file. */
struct at_backup_out {
    int fd;
    uint64_t bytes; /* written */
    char path[AT_BACKUP_PATH_BYTES_MAX];
};

/* at_backup_out_open makes the folder if it is not there, and begins the file anew. `path` is
 * copied. */
AT_MUST_USE enum at_code
at_backup_out_open(struct at_backup_out *out, const char *path, struct at_error *reterr);
/* at_backup_out_put writes raw bytes (at_backup_out_chunk: a payload in its frame). */
AT_MUST_USE enum at_code
at_backup_out_put(struct at_backup_out *out, struct at_slice bytes, struct at_error *reterr);
AT_MUST_USE enum at_code
at_backup_out_chunk(struct at_backup_out *out, struct at_slice payload, struct at_error *reterr);
/* at_backup_out_end syncs the file and gives it its name; it is closed then in any case. */
AT_MUST_USE enum at_code at_backup_out_end(struct at_backup_out *out, struct at_error *reterr);
/* at_backup_out_drop removes what was begun. Nothing to do after _end went well. */
void at_backup_out_drop(struct at_backup_out *out);

struct at_backup_in {
    int fd;
    uint64_t size;       /* of the file */
    uint64_t read_bytes; /* passed so far */
    struct at_buf payload;
};

/* at_backup_in_open: NOT_FOUND when there is no such file; DATA_LOSS when it is no backup. Also
 * after an error, at_backup_in_close. */
AT_MUST_USE enum at_code
at_backup_in_open(struct at_backup_in *in, const char *path, struct at_error *reterr);
void at_backup_in_close(struct at_backup_in *in);
/* at_backup_in_next gives the next chunk's payload, checked; it lives until the next call. Empty at
 * the end of the file. */
AT_MUST_USE enum at_code
at_backup_in_next(struct at_backup_in *in, struct at_slice *ret_payload, struct at_error *reterr);
/* at_backup_in_head reads the first chunk; the head borrows it. */
AT_MUST_USE enum at_code at_backup_in_head(struct at_backup_in *in,
                                           struct at_arena *arena,
                                           struct at_backup_head *ret_head,
                                           struct at_error *reterr);

/* at_backup_file_read appends up to bytes_max of the file's raw bytes from `offset` on; NOT_FOUND
 * when there is none. */
AT_MUST_USE enum at_code at_backup_file_read(const char *path,
                                             uint64_t offset,
                                             size_t bytes_max,
                                             struct at_buf *out,
                                             uint64_t *ret_size,
                                             struct at_error *reterr);
/* at_backup_file_remove removes it, finished or not; that it is not there is no error. */
void at_backup_file_remove(const char *path);

#endif
