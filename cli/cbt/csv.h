/* csv.h: CSV as RFC 4180 and Go's encoding/csv read it, a record at a time. ADAPTER (stdio).
 *
 * Fields are separated by commas, records by LF or CRLF; empty lines are skipped. A field that
 * begins with a quote ends at its closing quote and may hold commas, line ends and doubled quotes.
 * Every record has as many fields as the first one. */
#ifndef ATOLL_CLI_CBT_CSV_H
#define ATOLL_CLI_CBT_CSV_H

#include <stdio.h>

#include "base/buf.h"

#define AT_CSV_RECORD_BYTES_MAX ((size_t)128 << 20)

struct at_csv {
    FILE *in; /* borrowed */
    struct at_buf text;
    size_t *ends; /* of each field, in `text` */
    size_t ends_cap;
    struct at_slice *fields;
    size_t field_count; /* of the first record; 0: none was read */
    uint64_t line;      /* number of the line being read, from 1 */
};

void at_csv_init(struct at_csv *csv, FILE *in);
void at_csv_deinit(struct at_csv *csv);

/* at_csv_read reads the next record into csv->fields, which live until the next call. Sets
 * `*ret_count` to the number of fields, 0 at the end of the file. INVALID_ARGUMENT (with the line)
 * for a quote out of place or a record of another length; RESOURCE_EXHAUSTED for a record that is
 * too large; DATA_LOSS when the file cannot be read. Blocks. */
AT_MUST_USE enum at_code
at_csv_read(struct at_csv *csv, size_t *ret_count, struct at_error *reterr);

#endif
