/* cell_diff.h: the cells in which several readings of the same rows differ. PURE. */
#ifndef ATOLL_CLI_CELL_DIFF_H
#define ATOLL_CLI_CELL_DIFF_H

#include "base/limits.h"
#include "base/slice.h"

/* at_listed_cell: one cell, borrowed. */
struct at_listed_cell {
    struct at_slice row;
    struct at_slice family;
    struct at_slice qualifier;
    int64_t timestamp_micros;
    struct at_slice value;
};

/* In reading order: rows, families and qualifiers ascending, timestamps descending. */
struct at_cell_list {
    const struct at_listed_cell *cells;
    size_t count;
};

/* at_cell_diff calls `differs` for each cell that is not in all lists, or has not the same value in
 * all; cells[i] is that of list i, NULL when it has none. Returns how many there are. */
size_t at_cell_diff(const struct at_cell_list *lists,
                    uint32_t list_count,
                    void (*differs)(void *ctx, const struct at_listed_cell *const *cells),
                    void *ctx);

#endif
