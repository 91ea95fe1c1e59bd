/* scan.h: a backup's file, chunk by chunk and cell by cell. ADAPTER (files).
 *
 * Every chunk is checked; at the end, that the file is whole: rows ascend, and there are as many
 * rows and cells as the end says. Memory is that of the largest chunk. One thread at a time. */
#ifndef ATOLL_CLUSTER_BACKUP_SCAN_H
#define ATOLL_CLUSTER_BACKUP_SCAN_H

#include <stdatomic.h>

#include "cluster/backup/file.h"

struct at_backup_scan {
    struct at_backup_in in;
    struct at_arena arena; /* of the head */
    struct at_backup_head head;
    struct at_unpack rest;        /* of the current chunk */
    struct at_slice row;          /* of the last item, in the chunk */
    struct at_buf last_row;       /* of the chunk before */
    struct at_backup_end counted; /* so far */
    bool ended;
};

/* at_backup_scan_open reads the head. Codes as at_backup_in_open. Then, and also after an error,
 * at_backup_scan_close. */
AT_MUST_USE enum at_code
at_backup_scan_open(struct at_backup_scan *s, const char *path, struct at_error *reterr);
void at_backup_scan_close(struct at_backup_scan *s);

/* at_backup_scan_chunk goes on to the next chunk of cells; *ret_done at the end of the file. All
 * items of the one before are gone then. */
AT_MUST_USE enum at_code
at_backup_scan_chunk(struct at_backup_scan *s, bool *ret_done, struct at_error *reterr);
/* at_backup_scan_item gives the chunk's next item, always with its row; *ret_done when there is
 * none. Items live until the next chunk. */
AT_MUST_USE enum at_code at_backup_scan_item(struct at_backup_scan *s,
                                             struct at_backup_item *ret_item,
                                             bool *ret_done,
                                             struct at_error *reterr);

/* at_backup_check reads all of a file. `stop` set: CANCELLED. Blocks. */
AT_MUST_USE enum at_code at_backup_check(const char *path,
                                         const _Atomic bool *stop,
                                         struct at_backup_end *ret_counts,
                                         struct at_error *reterr);

#endif
