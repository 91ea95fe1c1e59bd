#include "cluster/tablet/garbage_walk.h"

#include "base/assert.h"
#include "cluster/tablet/fold.h"

/* A family is walked on its own: what hides its cells from outside, dropped ranges and row markers,
 * is asked once per row. Keys of the kind that a family of this type does not show, and adds that
 * are none of its type, are neither counted nor garbage: the type may still be decided otherwise.
 *
 * Inside a row the snapshot stays, so a row of any length is judged as one. */

#define SNAPSHOT_NS_MAX AT_S_NS

static enum at_code open_walk(struct at_garbage_walk *w, bool *ret_gone, struct at_error *reterr);
static enum at_code
open_source(struct at_garbage_walk *w, struct at_row_source *s, struct at_error *reterr);
static void close_walk(struct at_garbage_walk *w);
static const struct at_table *find_table(const struct at_schema *schema, uint32_t table_id);
static const struct at_family *find_family(const struct at_table *table, uint32_t family_id);
static enum at_code begin_row(struct at_garbage_walk *w, struct at_error *reterr);
static enum at_code
read_row_marker(struct at_garbage_walk *w, struct at_stamp *hidden, struct at_error *reterr);
static enum at_code
take_key(struct at_garbage_walk *w, struct at_garbage_batch *batch, struct at_error *reterr);
static bool is_judged(const struct at_garbage_walk *w, const struct at_key *key);

void at_garbage_batch_init(struct at_garbage_batch *b)
{
    b->count = 0;
    at_buf_init(&b->bytes, AT_GARBAGE_BYTES_MAX + AT_KEY_BYTES_MAX);
    enum at_code code = at_buf_reserve(&b->bytes, AT_GARBAGE_BYTES_MAX + AT_KEY_BYTES_MAX);
    AT_ASSERT(code == AT_OK);
    at_garbage_batch_clear(b);
}

void at_garbage_batch_deinit(struct at_garbage_batch *b)
{
    at_buf_deinit(&b->bytes);
}

void at_garbage_batch_clear(struct at_garbage_batch *b)
{
    at_buf_clear(&b->bytes);
    b->count = 0;
    b->schema_version = UINT64_MAX;
}

static bool batch_full(const struct at_garbage_batch *b)
{
    return b->count == AT_GARBAGE_KEYS_MAX || b->bytes.len >= AT_GARBAGE_BYTES_MAX;
}

static void batch_add(struct at_garbage_batch *b, struct at_slice key, uint64_t schema_version)
{
    size_t at = b->bytes.len;

    AT_ASSERT(!batch_full(b));
    enum at_code code = at_buf_append(&b->bytes, key);
    AT_ASSERT(code == AT_OK);
    b->keys[b->count++] = at_slice_make(b->bytes.data + at, key.len);
    if (schema_version < b->schema_version)
        b->schema_version = schema_version;
}

void at_garbage_walk_init(struct at_garbage_walk *w, struct at_store *store)
{
    *w = (struct at_garbage_walk){.store = store};
    at_garbage_init(&w->garbage);
    at_buf_init(&w->row, AT_KEY_BYTES_MAX);
    at_buf_init(&w->escaped, AT_KEY_BYTES_MAX);
    at_buf_init(&w->qualifier, AT_KEY_BYTES_MAX);
    at_buf_init(&w->scratch, AT_KEY_BYTES_MAX);
    at_buf_init(&w->target, AT_KEY_BYTES_MAX);
}

void at_garbage_walk_deinit(struct at_garbage_walk *w)
{
    close_walk(w);
    at_garbage_deinit(&w->garbage);
    at_buf_deinit(&w->row);
    at_buf_deinit(&w->escaped);
    at_buf_deinit(&w->qualifier);
    at_buf_deinit(&w->scratch);
    at_buf_deinit(&w->target);
}

void at_garbage_walk_begin(struct at_garbage_walk *w, struct at_garbage_aim aim)
{
    AT_ASSERT(aim.table_id != 0 && aim.family_id != 0);
    close_walk(w);
    at_buf_clear(&w->row);
    w->aim = aim;
}

enum at_code at_garbage_walk_step(struct at_garbage_walk *w,
                                  struct at_garbage_batch *batch,
                                  uint64_t bytes_max,
                                  uint64_t now_ns,
                                  bool *ret_done,
                                  struct at_error *reterr)
{
    *ret_done = false;
    if (w->snapshot == NULL) {
        w->opened_ns = now_ns;
        AT_TRY(open_walk(w, ret_done, reterr));
    }
    uint64_t end_bytes = w->passed_bytes + bytes_max;
    while (!*ret_done && w->source.valid && !batch_full(batch) && w->passed_bytes < end_bytes) {
        if (!w->in_row || !at_row_source_at(&w->source, at_buf_slice(&w->escaped))) {
            AT_TRY(begin_row(w, reterr));
            if (now_ns - w->opened_ns > SNAPSHOT_NS_MAX) {
                close_walk(w); /* the next step opens at this row */
                return AT_OK;
            }
        }
        AT_TRY(take_key(w, batch, reterr));
        AT_TRY(at_row_source_next(&w->source, reterr));
    }
    *ret_done = *ret_done || !w->source.valid;
    if (*ret_done)
        close_walk(w);
    return AT_OK;
}

/* *ret_gone: the family is no more. */
static enum at_code open_walk(struct at_garbage_walk *w, bool *ret_gone, struct at_error *reterr)
{
    w->snapshot = at_snapshot_open(at_store_engine(w->store));
    w->schema = at_store_schema(w->store);
    const struct at_table *table = find_table(w->schema, w->aim.table_id);
    const struct at_family *family = table ? find_family(table, w->aim.family_id) : NULL;
    *ret_gone = family == NULL;
    if (family == NULL)
        return AT_OK;

    const struct at_garbage_law law = {
        .rule = family->rule,
        .floor = at_schema_floor(w->schema, table->id, family->id)->floor,
        .folds = at_fold_applies(family->type),
        .now_micros = w->aim.now_micros,
    };
    at_garbage_begin_family(&w->garbage, &law);
    w->source = (struct at_row_source){
        .family = family,
        .table_id = table->id,
        .family_id = family->id,
        .passed_bytes = &w->passed_bytes,
    };
    w->marker = (struct at_row_source){.table_id = table->id, .passed_bytes = &w->passed_bytes};
    w->in_row = false;
    if (at_schema_has_row_markers(w->schema, table->id))
        AT_TRY(open_source(w, &w->marker, reterr));
    return open_source(w, &w->source, reterr);
}

static enum at_code
open_source(struct at_garbage_walk *w, struct at_row_source *s, struct at_error *reterr)
{
    at_buf_clear(&w->target);
    at_buf_clear(&w->scratch);
    AT_TRY(at_key_seek_row(&w->target, s->table_id, s->family_id, at_buf_slice(&w->row)));
    AT_TRY(at_key_seek_family_end(&w->scratch, s->table_id, s->family_id));
    struct at_iter_options options = {
        .snapshot = w->snapshot,
        .lower = at_buf_slice(&w->target),
        .upper = at_buf_slice(&w->scratch),
        .scan = true,
    };
    s->iter = at_iter_open(at_store_engine(w->store), AT_SPACE_CELLS, &options);
    return at_row_source_seek(s, at_buf_slice(&w->target), reterr);
}

static void close_walk(struct at_garbage_walk *w)
{
    at_iter_close(&w->source.iter);
    at_iter_close(&w->marker.iter);
    w->source.valid = w->marker.valid = false;
    if (w->snapshot != NULL)
        at_snapshot_close(&w->snapshot);
    at_schema_unref(&w->schema);
}

static const struct at_table *find_table(const struct at_schema *schema, uint32_t table_id)
{
    for (uint32_t i = 0; i < at_catalog_table_count(schema->catalog); i++) {
        const struct at_table *table = at_catalog_table_at(schema->catalog, i);
        if (table->id == table_id)
            return table;
    }
    return NULL;
}

static const struct at_family *find_family(const struct at_table *table, uint32_t family_id)
{
    for (uint32_t i = 0; i < table->family_count; i++)
        if (table->families[i].id == family_id)
            return &table->families[i];
    return NULL;
}

static enum at_code begin_row(struct at_garbage_walk *w, struct at_error *reterr)
{
    struct at_key key;

    AT_TRY(at_row_source_decode(&w->source, &w->scratch, &key, reterr));
    at_buf_clear(&w->row);
    AT_TRY(at_buf_append(&w->row, key.row));
    at_buf_clear(&w->escaped);
    AT_TRY(at_buf_append(&w->escaped, w->source.row));
    struct at_stamp hidden =
        at_schema_row_hidden(w->schema, w->aim.table_id, at_buf_slice(&w->row));
    if (w->marker.iter != NULL)
        AT_TRY(read_row_marker(w, &hidden, reterr));
    at_garbage_begin_row(&w->garbage, hidden);
    w->in_row = true;
    w->in_column = false;
    return AT_OK;
}

/* The first marker of a row has the highest stamp. */
static enum at_code
read_row_marker(struct at_garbage_walk *w, struct at_stamp *hidden, struct at_error *reterr)
{
    struct at_key key;

    AT_TRY(at_row_source_reach(&w->marker, at_buf_slice(&w->row), &w->target, reterr));
    if (!at_row_source_at(&w->marker, at_buf_slice(&w->escaped)))
        return AT_OK;
    AT_TRY(at_row_source_decode(&w->marker, &w->scratch, &key, reterr));
    if (at_stamp_cmp(*hidden, key.stamp) < 0)
        *hidden = key.stamp;
    return AT_OK;
}

static enum at_code
take_key(struct at_garbage_walk *w, struct at_garbage_batch *batch, struct at_error *reterr)
{
    struct at_key key;

    AT_TRY(at_row_source_decode(&w->source, &w->scratch, &key, reterr));
    if (key.kind != AT_KEY_FAMILY_MARKER &&
        (!w->in_column || !at_slice_eq(key.qualifier, at_buf_slice(&w->qualifier)))) {
        at_buf_clear(&w->qualifier);
        AT_TRY(at_buf_append(&w->qualifier, key.qualifier));
        at_garbage_begin_column(&w->garbage);
        w->in_column = true;
    }
    if (key.kind == AT_KEY_FAMILY_MARKER || key.kind == AT_KEY_COLUMN_MARKER) {
        if (at_garbage_marker(&w->garbage, &key, at_iter_value(w->source.iter)) != AT_OK)
            return at_fail(reterr, AT_DATA_LOSS, "a stored delete marker is malformed");
        return AT_OK;
    }
    if (is_judged(w, &key) && at_garbage_cell(&w->garbage, key.timestamp_micros, key.stamp))
        batch_add(batch, w->source.key, w->schema->version);
    return AT_OK;
}

static bool is_judged(const struct at_garbage_walk *w, const struct at_key *key)
{
    if (!w->garbage.folds)
        return key->kind == AT_KEY_CELL;
    return key->kind == AT_KEY_PARTIAL &&
           at_fold_fits(w->source.family->type, at_iter_value(w->source.iter));
}
