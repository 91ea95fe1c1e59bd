#include "cluster/tablet/drop_walk.h"

#include "base/assert.h"
#include "base/bytes.h"

/* Which families there are is seen from the keys themselves: from one family's end the next key is
 * of the next one that has any. So none is missed that this cluster has no name for. */

struct step {
    struct at_iter *iter;
    uint64_t schema_version;
    uint64_t passed_bytes;
};

static enum at_code look_at(struct at_drop_walk *w,
                            struct step *s,
                            struct at_garbage_batch *batch,
                            struct at_error *reterr);
static void seek_family(struct at_drop_walk *w, struct step *s, uint32_t family_id);

void at_drop_walk_init(struct at_drop_walk *w, struct at_store *store)
{
    *w = (struct at_drop_walk){.store = store};
    at_buf_init(&w->position, AT_KEY_BYTES_MAX);
    at_buf_init(&w->scratch, AT_KEY_BYTES_MAX);
}

void at_drop_walk_deinit(struct at_drop_walk *w)
{
    at_buf_deinit(&w->position);
    at_buf_deinit(&w->scratch);
}

void at_drop_walk_begin(struct at_drop_walk *w, uint32_t table_id, struct at_dropped_range drop)
{
    AT_ASSERT(table_id != 0);
    w->table_id = table_id;
    w->drop = drop;
    at_buf_clear(&w->position);
    enum at_code code = at_key_seek_row(&w->position, table_id, 0, drop.prefix);
    AT_ASSERT(code == AT_OK); /* prefixes are bounded */
}

enum at_code at_drop_walk_step(struct at_drop_walk *w,
                               struct at_garbage_batch *batch,
                               uint64_t bytes_max,
                               bool *ret_done,
                               struct at_error *reterr)
{
    uint8_t end[AT_KEY_PREFIX_BYTES] = {0};
    struct at_snapshot *snapshot = NULL;
    struct at_schema *schema = at_store_look(w->store, &snapshot);
    struct at_iter_options options = {
        .snapshot = snapshot,
        .lower = at_buf_slice(&w->position),
        .upper = at_slice_make(end, sizeof(end)),
        .scan = true,
    };
    enum at_code code = AT_OK;

    at_put_be32(end, w->table_id + 1);
    struct step s = {
        .iter = at_iter_open(at_store_engine(w->store), AT_SPACE_CELLS, &options),
        .schema_version = schema->version,
    };
    at_iter_seek(s.iter, at_buf_slice(&w->position));
    while (code == AT_OK && at_iter_valid(s.iter) && !at_garbage_batch_full(batch) &&
           s.passed_bytes < bytes_max)
        code = look_at(w, &s, batch, reterr);
    if (code == AT_OK)
        code = at_iter_status(s.iter, reterr);
    *ret_done = code == AT_OK && !at_iter_valid(s.iter);
    if (code == AT_OK && !*ret_done) {
        at_buf_clear(&w->position);
        code = at_buf_append(&w->position, at_iter_key(s.iter));
    }
    at_iter_close(&s.iter);
    at_schema_unref(&schema);
    at_snapshot_close(&snapshot);
    return code;
}

/* Deals with the key under the iterator and moves it. */
static enum at_code look_at(struct at_drop_walk *w,
                            struct step *s,
                            struct at_garbage_batch *batch,
                            struct at_error *reterr)
{
    struct at_slice stored = at_iter_key(s->iter);
    struct at_key key;

    if (at_key_decode(stored, &w->scratch, &key) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "a stored key of %zu bytes is not one", stored.len);
    s->passed_bytes += stored.len + at_iter_value(s->iter).len;
    if (!at_slice_has_prefix(key.row, w->drop.prefix)) {
        bool before = at_slice_cmp(key.row, w->drop.prefix) < 0;
        seek_family(w, s, before ? key.family : key.family + 1);
        return AT_OK;
    }
    if (at_stamp_cmp(key.stamp, w->drop.stamp) < 0) {
        if (key.kind == AT_KEY_CELL || key.kind == AT_KEY_PARTIAL)
            at_garbage_batch_add(batch, stored, s->schema_version);
        else
            at_garbage_batch_forget(batch, stored, s->schema_version);
    }
    at_iter_next(s->iter);
    return AT_OK;
}

static void seek_family(struct at_drop_walk *w, struct step *s, uint32_t family_id)
{
    at_buf_clear(&w->position);
    enum at_code code = at_key_seek_row(&w->position, w->table_id, family_id, w->drop.prefix);
    AT_ASSERT(code == AT_OK);
    at_iter_seek(s->iter, at_buf_slice(&w->position));
}
