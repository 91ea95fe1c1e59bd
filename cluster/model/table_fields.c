#include "cluster/model/catalog.h"

#include "cluster/model/mutation.h"

/* A map from small numbers, so that a later version can add to it: unknown ones are skipped. */

enum field {
    FIELD_GRANULARITY = 1,
    FIELD_DELETION_PROTECTION = 2,
    FIELD_CHANGE_STREAM = 3,
    FIELD_SPLITS = 4,
    FIELD_DATA_GENERATION = 5,
    FIELD_PREVIOUS = 6, /* [generation, until_micros, ...] */
    FIELD_RESTORE_INFO = 7,
    FIELD_RESTORING = 8,
};
#define FIELD_COUNT 4                       /* besides the later ones, which most tables have not */
#define FIELDS_MAX 64                       /* in a map to be decoded */
#define UNTIL_MICROS_MAX (INT64_MAX / 2000) /* in nanoseconds with room to spare */

static enum at_code put_fields(const struct at_table_fields *f, struct at_buf *out);
static enum at_code
get_field(struct at_unpack *in, struct at_arena *arena, struct at_table_fields *f);
static enum at_code
get_splits(struct at_unpack *in, struct at_arena *arena, struct at_table_fields *f);
static enum at_code get_previous(struct at_unpack *in, struct at_table_fields *f);
static enum at_code check(const struct at_table_fields *f);

enum at_code at_table_fields_encode(const struct at_table_fields *f, struct at_buf *out)
{
    size_t len = out->len;

    AT_TRY(check(f));
    enum at_code code = put_fields(f, out);
    if (code != AT_OK)
        out->len = len;
    return code;
}

enum at_code at_table_fields_decode(struct at_slice bytes,
                                    struct at_arena *arena,
                                    struct at_table_fields *ret_fields)
{
    struct at_unpack in;
    uint32_t count = 0;

    *ret_fields = (struct at_table_fields){.granularity_micros = 1000};
    at_unpack_init(&in, bytes);
    AT_TRY(at_unpack_map(&in, FIELDS_MAX, &count));
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(get_field(&in, arena, ret_fields));
    return at_unpack_done(&in) ? check(ret_fields) : AT_INVALID_ARGUMENT;
}

static enum at_code put_fields(const struct at_table_fields *f, struct at_buf *out)
{
    bool again = f->data_generation != 0, deleted = f->previous_count > 0;
    bool restored = f->restore_info.len > 0;
    uint32_t later = (again ? 1u : 0) + (deleted ? 1u : 0) + (restored ? 1u : 0);

    AT_TRY(at_pack_map(out, FIELD_COUNT + later + (f->restoring ? 1u : 0)));
    AT_TRY(at_pack_u64(out, FIELD_GRANULARITY));
    AT_TRY(at_pack_i64(out, f->granularity_micros));
    AT_TRY(at_pack_u64(out, FIELD_DELETION_PROTECTION));
    AT_TRY(at_pack_bool(out, f->deletion_protection));
    AT_TRY(at_pack_u64(out, FIELD_CHANGE_STREAM));
    AT_TRY(at_pack_bin(out, f->change_stream_config));
    AT_TRY(at_pack_u64(out, FIELD_SPLITS));
    AT_TRY(at_pack_array(out, f->split_count));
    for (uint32_t i = 0; i < f->split_count; i++)
        AT_TRY(at_pack_bin(out, f->splits[i]));
    if (again) {
        AT_TRY(at_pack_u64(out, FIELD_DATA_GENERATION));
        AT_TRY(at_pack_u64(out, f->data_generation));
    }
    if (restored) {
        AT_TRY(at_pack_u64(out, FIELD_RESTORE_INFO));
        AT_TRY(at_pack_bin(out, f->restore_info));
    }
    if (f->restoring) {
        AT_TRY(at_pack_u64(out, FIELD_RESTORING));
        AT_TRY(at_pack_bool(out, true));
    }
    if (!deleted)
        return AT_OK;
    AT_TRY(at_pack_u64(out, FIELD_PREVIOUS));
    AT_TRY(at_pack_array(out, 2 * f->previous_count));
    for (uint32_t i = 0; i < f->previous_count; i++) {
        AT_TRY(at_pack_u64(out, f->previous[i].generation));
        AT_TRY(at_pack_i64(out, f->previous[i].until_micros));
    }
    return AT_OK;
}

static enum at_code
get_field(struct at_unpack *in, struct at_arena *arena, struct at_table_fields *f)
{
    uint64_t field = 0;

    AT_TRY(at_unpack_u64(in, &field));
    switch (field) {
    case FIELD_GRANULARITY:
        return at_unpack_i64(in, &f->granularity_micros);
    case FIELD_DELETION_PROTECTION:
        return at_unpack_bool(in, &f->deletion_protection);
    case FIELD_CHANGE_STREAM:
        return at_unpack_bin(in, &f->change_stream_config);
    case FIELD_SPLITS:
        return get_splits(in, arena, f);
    case FIELD_DATA_GENERATION:
        return at_unpack_u64(in, &f->data_generation);
    case FIELD_PREVIOUS:
        return get_previous(in, f);
    case FIELD_RESTORE_INFO:
        return at_unpack_bin(in, &f->restore_info);
    case FIELD_RESTORING:
        return at_unpack_bool(in, &f->restoring);
    default:
        return at_unpack_skip(in);
    }
}

static enum at_code
get_splits(struct at_unpack *in, struct at_arena *arena, struct at_table_fields *f)
{
    uint32_t count = 0;

    AT_TRY(at_unpack_array(in, AT_TABLE_SPLITS_MAX, &count));
    f->splits = AT_ARENA_ARRAY(arena, struct at_slice, count);
    f->split_count = count;
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(at_unpack_bin(in, &f->splits[i]));
    return AT_OK;
}

static enum at_code get_previous(struct at_unpack *in, struct at_table_fields *f)
{
    uint32_t count = 0;

    AT_TRY(at_unpack_array(in, 2 * AT_TABLE_PREVIOUS_MAX, &count));
    f->previous_count = count / 2;
    for (uint32_t i = 0; i < f->previous_count; i++) {
        AT_TRY(at_unpack_u64(in, &f->previous[i].generation));
        AT_TRY(at_unpack_i64(in, &f->previous[i].until_micros));
    }
    return count % 2 == 0 ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code check(const struct at_table_fields *f)
{
    if (f->granularity_micros != 1000 && f->granularity_micros != 1)
        return AT_INVALID_ARGUMENT;
    if (f->split_count > AT_TABLE_SPLITS_MAX || f->previous_count > AT_TABLE_PREVIOUS_MAX)
        return AT_INVALID_ARGUMENT;
    if (f->data_generation != 0 && f->data_generation % 2 == 0)
        return AT_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < f->previous_count; i++)
        if (f->previous[i].generation % 2 == 0 || f->previous[i].until_micros < 0 ||
            f->previous[i].until_micros > UNTIL_MICROS_MAX)
            return AT_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < f->split_count; i++) {
        AT_TRY(at_row_key_check(f->splits[i], NULL));
        if (i > 0 && at_slice_cmp(f->splits[i - 1], f->splits[i]) >= 0)
            return AT_INVALID_ARGUMENT;
    }
    return AT_OK;
}
