/* refill.h: a backup's file becomes rows of a table. ADAPTER (store, files).
 *
 * Cells go through the writer like those of any client, in batches of about a chunk, one at a time:
 * so they replicate, and whoever holds writes back holds these back too. A batch is given again
 * when the writer refused it as a whole, having done nothing; a table must be filled once only, as
 * adds to aggregates would count again. The thread rests as long as it works. */
#ifndef ATOLL_CLUSTER_BACKUP_REFILL_H
#define ATOLL_CLUSTER_BACKUP_REFILL_H

#include <stdatomic.h>

#include "cluster/backup/scan.h"
#include "cluster/tablet/store.h"

struct at_backup_refill {
    struct at_store *store;
    struct at_slice table;     /* the name it is kept by; it has the families of the head */
    uint64_t table_generation; /* and no other is written to */
    struct at_slice full_name; /* for messages */
    const _Atomic bool *stop;  /* set: CANCELLED soon */
    void (*on_progress)(void *ctx, uint32_t percent); /* after each batch; may be NULL */
    void *ctx;
};

/* at_backup_refill writes all that `scan`, just opened, has. NOT_FOUND when the table is gone or
 * another one; DATA_LOSS from the file; ABORTED when it is not known what of a batch was written:
 * then the table must be emptied, and filled from the start. Blocks. */
AT_MUST_USE enum at_code at_backup_refill(const struct at_backup_refill *refill,
                                          struct at_backup_scan *scan,
                                          struct at_error *reterr);

#endif
