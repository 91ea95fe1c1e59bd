#include "cluster/tablet/log_store.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "replication/record.h"

/* Trimming deletes a range, whatever it holds, and remembers how far it went, so that neither the
 * next trim nor a reader walks over what was deleted. */

static enum at_code record_first(struct at_slice record, uint64_t *ret_first);
static enum at_code damaged(struct at_position p, struct at_error *reterr);

struct at_slice at_log_key(uint8_t ret_key[AT_LOG_KEY_BYTES], struct at_position last)
{
    at_put_be32(ret_key, last.origin.v);
    at_put_be32(ret_key + 4, last.epoch);
    at_put_be64(ret_key + 8, last.seq);
    return at_slice_make(ret_key, AT_LOG_KEY_BYTES);
}

bool at_log_key_decode(struct at_slice key, struct at_position *ret_last)
{
    if (key.len != AT_LOG_KEY_BYTES)
        return false;
    *ret_last = (struct at_position){
        .origin = {at_get_be32(key.data)},
        .epoch = at_get_be32(key.data + 4),
        .seq = at_get_be64(key.data + 8),
    };
    return true;
}

void at_log_put(struct at_batch *batch, struct at_position last, struct at_slice record)
{
    uint8_t key[AT_LOG_KEY_BYTES];

    at_batch_put(batch, AT_SPACE_LOG, at_log_key(key, last), record);
}

enum at_code at_log_read(struct at_engine *e,
                         const struct at_log_read *what,
                         struct at_buf *out,
                         uint32_t *sizes,
                         uint32_t *ret_count,
                         struct at_error *reterr)
{
    uint8_t lower[AT_LOG_KEY_BYTES];
    uint8_t upper[AT_LOG_KEY_BYTES];
    struct at_position last = what->first;
    uint64_t expected = what->first.seq;
    size_t bytes = 0;

    *ret_count = 0;
    last.seq = UINT64_MAX;
    struct at_iter_options options = {
        .lower = at_log_key(lower, what->first),
        .upper = at_log_key(upper, last),
        .scan = true,
    };
    struct at_iter *i AT_CLEANUP(at_iter_close) = at_iter_open(e, AT_SPACE_LOG, &options);
    for (at_iter_seek(i, options.lower); at_iter_valid(i); at_iter_next(i)) {
        struct at_slice record = at_iter_value(i);
        uint64_t first = 0;
        if (!at_log_key_decode(at_iter_key(i), &last) || record_first(record, &first) != AT_OK)
            return damaged(what->first, reterr);
        bool joins = *ret_count == 0 ? first <= expected : first == expected;
        if (!joins || *ret_count == what->sizes_max)
            break;
        if (at_buf_append(out, record) != AT_OK) {
            if (*ret_count == 0)
                return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "a log record does not fit");
            break;
        }
        sizes[(*ret_count)++] = (uint32_t)record.len;
        bytes += record.len;
        expected = last.seq + 1;
        if (bytes >= what->max_bytes || last.seq >= what->last_seq)
            break;
    }
    AT_TRY(at_iter_status(i, reterr));
    return *ret_count > 0 ? AT_OK : at_fail(reterr, AT_NOT_FOUND, "log entry is no longer here");
}

void at_log_parts_deinit(struct at_log_parts *parts)
{
    at_free(parts->items);
    *parts = (struct at_log_parts){0};
}

void at_log_parts_note(struct at_log_parts *parts, struct at_member_id origin, uint32_t epoch)
{
    for (uint32_t i = 0; i < parts->count; i++)
        if (at_member_eq(parts->items[i].origin, origin) && parts->items[i].epoch == epoch)
            return;
    if (parts->count == parts->cap) {
        parts->cap = parts->cap == 0 ? 8 : parts->cap * 2;
        parts->items = at_realloc(parts->items, parts->cap * sizeof(*parts->items));
    }
    parts->items[parts->count++] = (struct at_log_part){.origin = origin, .epoch = epoch};
}

enum at_code
at_log_parts_load(struct at_log_parts *parts, struct at_engine *e, struct at_error *reterr)
{
    uint8_t key[AT_LOG_KEY_BYTES];
    struct at_iter_options options = {0};
    struct at_iter *i AT_CLEANUP(at_iter_close) = at_iter_open(e, AT_SPACE_LOG, &options);
    struct at_position p = {{0}, 0, 0};

    parts->count = 0;
    at_iter_seek(i, at_log_key(key, p));
    while (at_iter_valid(i)) {
        uint64_t first = 0;
        if (!at_log_key_decode(at_iter_key(i), &p) ||
            record_first(at_iter_value(i), &first) != AT_OK)
            return damaged(p, reterr);
        at_log_parts_note(parts, p.origin, p.epoch);
        parts->items[parts->count - 1].trimmed = first - 1;
        p.seq = UINT64_MAX;
        at_iter_seek(i, at_log_key(key, p));
    }
    return at_iter_status(i, reterr);
}

uint64_t at_log_part_bytes(const struct at_log_part *part, struct at_engine *e)
{
    uint8_t lower[AT_LOG_KEY_BYTES];
    uint8_t upper[AT_LOG_KEY_BYTES];
    struct at_position from = {part->origin, part->epoch, part->trimmed + 1};
    struct at_position to = {part->origin, part->epoch, UINT64_MAX};

    return at_engine_range_bytes(e, AT_SPACE_LOG, at_log_key(lower, from), at_log_key(upper, to));
}

enum at_code at_log_part_trim(struct at_log_part *part,
                              struct at_engine *e,
                              uint64_t bound,
                              struct at_batch *batch,
                              struct at_error *reterr)
{
    uint8_t lower[AT_LOG_KEY_BYTES];
    uint8_t upper[AT_LOG_KEY_BYTES];
    struct at_position from = {part->origin, part->epoch, part->trimmed + 1};
    struct at_position to = {part->origin, part->epoch, UINT64_MAX};

    if (bound <= part->trimmed)
        return AT_OK;
    struct at_iter_options options = {
        .lower = at_log_key(lower, from),
        .upper = at_log_key(upper, to),
    };
    struct at_iter *i AT_CLEANUP(at_iter_close) = at_iter_open(e, AT_SPACE_LOG, &options);
    to.seq = bound < UINT64_MAX ? bound : UINT64_MAX - 1;
    at_iter_seek_back(i, at_log_key(upper, to));
    AT_TRY(at_iter_status(i, reterr));
    if (!at_iter_valid(i))
        return AT_OK;
    if (!at_log_key_decode(at_iter_key(i), &to))
        return damaged(from, reterr);
    AT_ASSERT(to.seq <= bound && to.seq > part->trimmed);
    part->trimmed = to.seq++;
    at_batch_delete_range(batch, AT_SPACE_LOG, at_log_key(lower, from), at_log_key(upper, to));
    return AT_OK;
}

uint64_t at_log_part_seq_at(const struct at_log_part *part, struct at_engine *e, uint64_t bytes)
{
    uint8_t lower[AT_LOG_KEY_BYTES];
    uint8_t upper[AT_LOG_KEY_BYTES];
    struct at_position last = {part->origin, part->epoch, 0};
    struct at_position from = {part->origin, part->epoch, part->trimmed + 1};
    struct at_position to = {part->origin, part->epoch, UINT64_MAX};
    struct at_iter_options options = {
        .lower = at_log_key(lower, from),
        .upper = at_log_key(upper, to),
        .scan = true,
    };
    struct at_iter *i AT_CLEANUP(at_iter_close) = at_iter_open(e, AT_SPACE_LOG, &options);
    uint64_t seen = 0;

    for (at_iter_seek(i, options.lower); at_iter_valid(i) && seen < bytes; at_iter_next(i)) {
        if (!at_log_key_decode(at_iter_key(i), &last))
            break;
        seen += at_iter_value(i).len;
    }
    return last.seq;
}

static enum at_code record_first(struct at_slice record, uint64_t *ret_first)
{
    struct at_record_reader r;

    AT_TRY(at_record_open(&r, record));
    *ret_first = r.next_seq;
    return AT_OK;
}

static enum at_code damaged(struct at_position p, struct at_error *reterr)
{
    return at_fail(reterr, AT_DATA_LOSS, "the mutation log of member %u, epoch %u is damaged",
                   p.origin.v, p.epoch);
}
