/* fetch.h: a backup's file is copied from another cluster. ADAPTER (gRPC, files).
 *
 * The donor is asked for one piece after the other; what comes is checked as a whole before it gets
 * its name. After a failure there is nothing, and it is begun anew. The thread rests as long as it
 * works. */
#ifndef ATOLL_CLUSTER_BACKUP_FETCH_H
#define ATOLL_CLUSTER_BACKUP_FETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct at_backup_fetch {
    const char *host; /* of the donor's gRPC port */
    uint16_t port;
    const char *name; /* full name of the source */
    const char *path;
    const _Atomic bool *stop;                         /* set: CANCELLED soon */
    void (*on_progress)(void *ctx, uint32_t percent); /* after each piece; may be NULL */
    void *ctx;
    uint64_t file_bytes; /* result */
};

/* at_backup_fetch: what the donor says (NOT_FOUND: it has no such backup), UNAVAILABLE or
 * DEADLINE_EXCEEDED when it can't be reached, ABORTED when the backup became another one, DATA_LOSS
 * when what came is damaged, else what the disk says. Blocks. */
AT_MUST_USE enum at_code at_backup_fetch(struct at_backup_fetch *fetch, struct at_error *reterr);

#endif
