#include "cluster/model/mutation.h"

#include <inttypes.h>

/* A family's name is only bounded here. Whether it has the form of a name does not matter: a family
 * of that name can't exist, and NOT_FOUND is what the writer says. */

/* Production's wording around the reason. */
#define FAIL(reterr, index, format, ...)                                                 \
    at_fail((reterr), AT_INVALID_ARGUMENT,                                               \
            "Error in Mutation list : Error in element #%" PRIu32 " : " format, (index), \
            __VA_ARGS__)

static enum at_code check_timestamp(const struct at_mutation *m,
                                    uint32_t index,
                                    int64_t granularity_micros,
                                    struct at_error *reterr);
static enum at_code
check_range(const struct at_mutation *m, uint32_t index, struct at_error *reterr);
static enum at_code
check_sizes(const struct at_mutation *m, uint32_t index, struct at_error *reterr);

enum at_code at_mutation_check(const struct at_mutation *m,
                               uint32_t index,
                               int64_t granularity_micros,
                               struct at_error *reterr)
{
    switch (m->kind) {
    case AT_MUTATION_SET:
    case AT_MUTATION_ADD:
    case AT_MUTATION_MERGE:
        AT_TRY(check_timestamp(m, index, granularity_micros, reterr));
        return check_sizes(m, index, reterr);
    case AT_MUTATION_DELETE_COLUMN:
        AT_TRY(check_range(m, index, reterr));
        return check_sizes(m, index, reterr);
    case AT_MUTATION_DELETE_FAMILY:
        return check_sizes(m, index, reterr);
    case AT_MUTATION_DELETE_ROW:
        return AT_OK;
    }
    return FAIL(reterr, index, "Unknown mutation kind %d", (int)m->kind);
}

enum at_code at_row_key_check(struct at_slice row, struct at_error *reterr)
{
    if (row.len == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Row keys must be non-empty");
    if (row.len > AT_ROW_KEY_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Row keys must be at most %zu bytes, but got %zu", AT_ROW_KEY_BYTES_MAX,
                       row.len);
    return AT_OK;
}

static enum at_code check_timestamp(const struct at_mutation *m,
                                    uint32_t index,
                                    int64_t granularity_micros,
                                    struct at_error *reterr)
{
    int64_t t = m->timestamp_micros;

    if (t < AT_TIMESTAMP_SERVER)
        return FAIL(reterr, index, "Timestamps must be >= -1, but got %" PRId64, t);
    if (t != AT_TIMESTAMP_SERVER && t % granularity_micros != 0)
        return FAIL(reterr, index,
                    "Timestamp granularity mismatch. Expected a multiple of %" PRId64
                    " (millisecond granularity), but got %" PRId64 ".",
                    granularity_micros, t);
    return AT_OK;
}

static enum at_code
check_range(const struct at_mutation *m, uint32_t index, struct at_error *reterr)
{
    if (m->start_micros < 0 || m->end_micros < 0)
        return FAIL(reterr, index,
                    "Timestamp range bounds must be >= 0, but got [%" PRId64 ", %" PRId64 ")",
                    m->start_micros, m->end_micros);
    if (m->end_micros != 0 && m->end_micros <= m->start_micros)
        return FAIL(reterr, index,
                    "Timestamp range [%" PRId64 ", %" PRId64 ") is empty or inverted",
                    m->start_micros, m->end_micros);
    return AT_OK;
}

static enum at_code
check_sizes(const struct at_mutation *m, uint32_t index, struct at_error *reterr)
{
    if (m->family.len == 0)
        return FAIL(reterr, index, "%s", "Family names must be non-empty");
    if (m->family.len > AT_FAMILY_BYTES_MAX)
        return FAIL(reterr, index, "Family names must be at most %d bytes, but got %zu",
                    AT_FAMILY_BYTES_MAX, m->family.len);
    if (m->kind == AT_MUTATION_DELETE_FAMILY)
        return AT_OK;
    if (m->qualifier.len > AT_QUALIFIER_BYTES_MAX)
        return FAIL(reterr, index, "Column qualifiers must be at most %zu bytes, but got %zu",
                    AT_QUALIFIER_BYTES_MAX, m->qualifier.len);
    if (m->kind != AT_MUTATION_DELETE_COLUMN && m->value.len > AT_VALUE_BYTES_MAX)
        return FAIL(reterr, index, "Cell values must be at most %zu bytes, but got %zu",
                    AT_VALUE_BYTES_MAX, m->value.len);
    return AT_OK;
}
