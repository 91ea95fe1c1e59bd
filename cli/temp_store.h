/* temp_store.h: the temporary folder of a process, which goes with it. ADAPTER.
 *
 * A folder has a file that its process holds a lock on. One that nobody holds is of a process that
 * was killed, and is removed by the next one that makes a folder in the same place. */
#ifndef ATOLL_CLI_TEMP_STORE_H
#define ATOLL_CLI_TEMP_STORE_H

#include "base/status.h"

#define AT_TEMP_STORE_BYTES 512

struct at_temp_store {
    char dir[AT_TEMP_STORE_BYTES];
    int lock;
};

/* at_temp_store_open sweeps `parent` of the folders of dead processes of this user, and makes one
 * in it. UNAVAILABLE; there is nothing to remove then. */
AT_MUST_USE enum at_code
at_temp_store_open(struct at_temp_store *t, const char *parent, struct at_error *reterr);

/* at_temp_store_remove removes the folder and all below it; what cannot be removed is told on
 * stderr. */
void at_temp_store_remove(struct at_temp_store *t);

#endif
