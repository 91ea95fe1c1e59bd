#include "cluster/tablet/row_source.h"

#include "base/alloc.h"
#include "base/assert.h"

/* A seek costs about as much as a handful of steps, so going a short way is done by steps first. */

#define STEPS_BEFORE_SEEK 6
/* What a seek counts for in passed_bytes, so that many seeks also use up a read's budget. */
#define SEEK_PRICE_BYTES 512

static enum at_code settle(struct at_row_source *s, struct at_error *reterr);

enum at_code at_row_source_open(struct at_row_source *s,
                                struct at_engine *engine,
                                const struct at_snapshot *snapshot,
                                struct at_slice row,
                                struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf from;
    AT_CLEANUP(at_buf_deinit) struct at_buf end;

    at_buf_init(&from, AT_KEY_BYTES_MAX);
    at_buf_init(&end, AT_KEY_BYTES_MAX);
    AT_TRY(at_key_seek_row(&from, s->table_id, s->family_id, row));
    AT_TRY(at_key_seek_family_end(&end, s->table_id, s->family_id));
    struct at_iter_options options = {
        .snapshot = snapshot,
        .lower = at_buf_slice(&from),
        .upper = at_buf_slice(&end),
        .scan = true,
    };
    s->iter = at_iter_open(engine, AT_SPACE_CELLS, &options);
    return at_row_source_seek(s, at_buf_slice(&from), reterr);
}

enum at_code at_row_source_next(struct at_row_source *s, struct at_error *reterr)
{
    AT_ASSERT(s->valid);
    *s->passed_bytes += s->key.len + at_iter_value(s->iter).len;
    at_iter_next(s->iter);
    return settle(s, reterr);
}

enum at_code
at_row_source_seek(struct at_row_source *s, struct at_slice key, struct at_error *reterr)
{
    *s->passed_bytes += SEEK_PRICE_BYTES;
    at_iter_seek(s->iter, key);
    return settle(s, reterr);
}

enum at_code
at_row_source_seek_back(struct at_row_source *s, struct at_slice key, struct at_error *reterr)
{
    *s->passed_bytes += SEEK_PRICE_BYTES;
    at_iter_seek_back(s->iter, key);
    return settle(s, reterr);
}

enum at_code at_row_source_seek_last(struct at_row_source *s, struct at_error *reterr)
{
    *s->passed_bytes += SEEK_PRICE_BYTES;
    at_iter_seek_last(s->iter);
    return settle(s, reterr);
}

enum at_code at_row_source_pass_row(struct at_row_source *s,
                                    struct at_slice escaped,
                                    struct at_buf *scratch,
                                    struct at_error *reterr)
{
    struct at_key key;

    for (int i = 0; i < STEPS_BEFORE_SEEK && at_row_source_at(s, escaped); i++)
        AT_TRY(at_row_source_next(s, reterr));
    if (!at_row_source_at(s, escaped))
        return AT_OK;

    AT_TRY(at_row_source_decode(s, scratch, &key, reterr));
    struct at_buf target AT_CLEANUP(at_buf_deinit) = {0};
    at_buf_init(&target, AT_KEY_BYTES_MAX);
    AT_TRY(at_key_seek_row_after(&target, s->table_id, s->family_id, key.row));
    return at_row_source_seek(s, at_buf_slice(&target), reterr);
}

enum at_code at_row_source_reach(struct at_row_source *s,
                                 struct at_slice row,
                                 struct at_buf *scratch,
                                 struct at_error *reterr)
{
    at_buf_clear(scratch);
    AT_TRY(at_key_seek_row(scratch, s->table_id, s->family_id, row));
    for (int i = 0; i < STEPS_BEFORE_SEEK; i++) {
        if (!s->valid || at_slice_cmp(s->key, at_buf_slice(scratch)) >= 0)
            return AT_OK;
        AT_TRY(at_row_source_next(s, reterr));
    }
    if (!s->valid || at_slice_cmp(s->key, at_buf_slice(scratch)) >= 0)
        return AT_OK;
    return at_row_source_seek(s, at_buf_slice(scratch), reterr);
}

enum at_code at_row_source_decode(const struct at_row_source *s,
                                  struct at_buf *scratch,
                                  struct at_key *ret_key,
                                  struct at_error *reterr)
{
    AT_ASSERT(s->valid);
    if (at_key_decode(s->key, scratch, ret_key) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "a stored key of %zu bytes is not one", s->key.len);
    return AT_OK;
}

static enum at_code settle(struct at_row_source *s, struct at_error *reterr)
{
    s->valid = at_iter_valid(s->iter);
    s->key = s->row = at_slice_make(NULL, 0);
    if (!s->valid)
        return at_iter_status(s->iter, reterr);

    struct at_slice key = at_iter_key(s->iter);
    size_t row_end = at_key_row_end(key);
    if (row_end <= AT_KEY_PREFIX_BYTES) {
        s->valid = false;
        return at_fail(reterr, AT_DATA_LOSS, "a stored key of %zu bytes is not one", key.len);
    }
    s->key = key;
    s->row = at_slice_make(key.data + AT_KEY_PREFIX_BYTES, row_end - AT_KEY_PREFIX_BYTES);
    return AT_OK;
}
