/* table.h: an instance as people and scripts read it. ADAPTER (stdio). */
#ifndef ATOLL_CLI_TABLE_H
#define ATOLL_CLI_TABLE_H

#include <stdio.h>

#include "cli/instance_status.h"

/* at_table_print_instance asks and prints clusters, router and the line to export. */
void at_table_print_instance(FILE *out, struct at_state_dir *s);

/* at_table_print_report prints all that is known: state, sizes, lag of each pair, health. */
void at_table_print_report(FILE *out, const struct at_instance_report *r);

/* at_table_print_other prints the same of an instance beside the first one. */
void at_table_print_other(FILE *out, const struct at_instance_report *r);

/* at_table_print_json prints the reports for scripts; `r` is the first instance's. */
void at_table_print_json(FILE *out,
                         const struct at_instance_report *r,
                         struct at_instance_report *const *others,
                         uint32_t other_count);

#endif
