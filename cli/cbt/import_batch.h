/* import_batch.h: the rows of a CSV file as the messages of MutateRows. ADAPTER (stdio). */
#ifndef ATOLL_CLI_CBT_IMPORT_BATCH_H
#define ATOLL_CLI_CBT_IMPORT_BATCH_H

#include "base/arena.h"
#include "cli/cbt/csv.h"

#define AT_IMPORT_KEY_SHOWN_BYTES 80

/* at_import_source: the file with its headers. */
struct at_import_source {
    struct at_csv csv;
    struct at_arena *arena; /* of the headers */
    const char *family;     /* of all columns; NULL: the first record tells families */
    bool encoded_timestamps;
    int64_t now_micros;
    struct at_slice *families; /* by column, from 1 */
    struct at_slice *qualifiers;
};

/* at_import_source_begin reads the headers. INVALID_ARGUMENT when they are not as they should be;
 * else as at_csv_read. */
AT_MUST_USE enum at_code at_import_source_begin(struct at_import_source *s,
                                                struct at_error *reterr);

/* at_import_batch: one message, and which of its entries are not confirmed. */
struct at_import_batch {
    struct at_buf head;    /* table name and app profile, packed */
    struct at_buf message; /* head and entries */
    struct at_buf spare;   /* the next message while it is narrowed */
    struct at_buf scratch;
    bool *pending;
    size_t entry_count;
    size_t entry_max;
    size_t worker; /* number, for what is logged */
    char first_key[AT_IMPORT_KEY_SHOWN_BYTES];
    char last_key[AT_IMPORT_KEY_SHOWN_BYTES];
};

/* at_import_batch_init. RESOURCE_EXHAUSTED for names that are too long. */
AT_MUST_USE enum at_code at_import_batch_init(struct at_import_batch *b,
                                              const char *table,
                                              const char *profile,
                                              size_t entry_max);
void at_import_batch_deinit(struct at_import_batch *b);

/* at_import_batch_fill reads rows until the batch is full or the file ends; entry_count is 0 then.
 * RESOURCE_EXHAUSTED for a row that is too large; else as at_csv_read. */
AT_MUST_USE enum at_code at_import_batch_fill(struct at_import_batch *b,
                                              struct at_import_source *s,
                                              struct at_error *reterr);

/* at_import_batch_narrow leaves only the pending entries. RESOURCE_EXHAUSTED without memory. */
AT_MUST_USE enum at_code at_import_batch_narrow(struct at_import_batch *b);

#endif
