#include "cluster/admin/admin.h"

#include "base/alloc.h"

#define DAY_SECONDS 86400
#define RETENTION_DAYS_MAX 7
#define FIELDS_BYTES_MAX \
    (64 * AT_MIB) /* splits of a CreateTable that was small enough to come in */

enum at_code at_change_stream_check(const Google__Bigtable__Admin__V2__ChangeStreamConfig *config,
                                    struct at_error *reterr)
{
    if (!config)
        return AT_OK;
    const Google__Protobuf__Duration *keep = config->retention_period;
    int64_t seconds = keep ? keep->seconds : 0;
    bool whole = !keep || keep->nanos == 0;
    bool longer = keep && keep->nanos > 0 && seconds == (int64_t)RETENTION_DAYS_MAX * DAY_SECONDS;
    if (seconds < DAY_SECONDS || seconds > (int64_t)RETENTION_DAYS_MAX * DAY_SECONDS || longer ||
        (!whole && (keep->nanos < 0 || keep->nanos > 999999999)))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'change_stream_config.retention_period' : must be from 1 to "
                       "%d days",
                       RETENTION_DAYS_MAX);
    return AT_OK;
}

enum at_code at_table_fields_make(const struct at_table_fields *fields,
                                  struct at_arena *arena,
                                  struct at_slice *ret_bytes,
                                  struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;

    at_buf_init(&bytes, FIELDS_BYTES_MAX);
    enum at_code code = at_table_fields_encode(fields, &bytes);
    if (code != AT_OK)
        return at_fail(reterr, code, "The table's configuration can't be stored");
    *ret_bytes = at_arena_copy(arena, at_buf_slice(&bytes));
    return AT_OK;
}
