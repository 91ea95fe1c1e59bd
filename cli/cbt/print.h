/* print.h: rows and tables as cbt prints them. ADAPTER (stdio, the local time zone). */
#ifndef ATOLL_CLI_CBT_PRINT_H
#define ATOLL_CLI_CBT_PRINT_H

#include <stdio.h>

#include "cli/cbt/chunk_reader.h"

/* at_cbt_print_row sorts the row's cells by family and column (cells of a column keep their
 * order) and prints them. `row` may have no key and no cells: a lookup that found nothing. Key and
 * columns that are not printable text are quoted. */
void at_cbt_print_row(FILE *out, const struct at_client_row *row);

/* at_cbt_grid: lines of cells that are aligned by tabs. A zeroed one is empty. */
struct at_cbt_grid {
    const char **cells;
    size_t cell_count;
    size_t cell_cap;
    size_t column_count;
};

/* at_cbt_grid_begin sets the columns and their titles, underlined; `titles` and `lines` are
 * borrowed, as all cells are, until the grid is printed. */
void at_cbt_grid_begin(struct at_cbt_grid *g,
                       size_t column_count,
                       const char *const *titles,
                       const char *const *lines);
void at_cbt_grid_add(struct at_cbt_grid *g, const char *cell);

/* at_cbt_grid_end prints, unless `out` is NULL, and frees. */
void at_cbt_grid_end(struct at_cbt_grid *g, FILE *out);

#endif
