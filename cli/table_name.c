#include "cli/table_name.h"

#include <string.h>

char *at_table_name_full(struct at_arena *arena,
                         const char *project,
                         const char *instance,
                         const char *table)
{
    if (strchr(table, '/')) /* which no id has */
        return at_arena_printf(arena, "%s", table);
    return at_arena_printf(arena, "projects/%s/instances/%s/tables/%s", project, instance, table);
}
