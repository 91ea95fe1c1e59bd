/* table_name.h: the table that a command names. PURE. */
#ifndef ATOLL_CLI_TABLE_NAME_H
#define ATOLL_CLI_TABLE_NAME_H

#include "base/arena.h"

/* at_table_name_full: `table` is the id of one of the instance, or a full name, which may be of
 * another instance that the same clusters serve (accept_any_instance). In the arena. */
char *at_table_name_full(struct at_arena *arena,
                         const char *project,
                         const char *instance,
                         const char *table);

#endif
