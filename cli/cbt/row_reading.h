/* row_reading.h: a ReadRows call that goes on where it broke off. ADAPTER (gRPC). */
#ifndef ATOLL_CLI_CBT_ROW_READING_H
#define ATOLL_CLI_CBT_ROW_READING_H

#include "cli/cbt/chunk_reader.h"
#include "cli/cbt/session.h"

/* at_row_reading: what to read and where the rows go. */
struct at_row_reading {
    Google__Bigtable__V2__ReadRowsRequest *request; /* one key, or one range; changed by resuming */
    void (*on_row)(void *ctx, const struct at_client_row *row);
    void *ctx;
    bool has_stats; /* set when the answer brought request_stats */
    int64_t rows_seen;
    int64_t rows_returned;
    int64_t cells_seen;
    int64_t cells_returned;
    int64_t latency_ms;
};

/* at_row_reading_run reads all rows. After UNAVAILABLE, ABORTED or DEADLINE_EXCEEDED from the peer
 * it asks again for the rows behind the last one; AT_CBT_ATTEMPTS_MAX attempts without a row
 * between them are given up. The peer's code and message; INTERNAL for a stream that breaks the
 * chunk protocol. Blocks. */
AT_MUST_USE enum at_code
at_row_reading_run(struct at_cbt *cbt, struct at_row_reading *reading, struct at_error *reterr);

#endif
