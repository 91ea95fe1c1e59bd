#include "cluster/tablet/garbage_walk.h"

#include "base/assert.h"
#include "base/mutant.h"

/* A family is walked on its own: what hides its cells from outside, dropped ranges and row markers,
 * is asked once per row. Keys of the kind that a family of this type does not show, and adds that
 * are none of its type, are garbage only when a marker covers them, and counted nowhere: the type
 * may still be decided otherwise.
 *
 * A marker comes before what it covers, so it is kept back: to the end of its column, or of the
 * row. Where there are more than can be kept, the rest waits for another walk.
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
static enum at_code
take_marker(struct at_garbage_walk *w, const struct at_key *key, struct at_error *reterr);
static void
take_add(struct at_garbage_walk *w, struct at_garbage_batch *batch, const struct at_key *key);
static bool below_horizon(struct at_garbage_walk *w, struct at_stamp stamp);
static void end_row(struct at_garbage_walk *w, struct at_garbage_batch *batch);
static void end_column(struct at_garbage_walk *w, struct at_garbage_batch *batch);
static void end_cell(struct at_garbage_walk *w, struct at_garbage_batch *batch);
static void
forget_all(struct at_garbage_walk *w, struct at_garbage_batch *batch, struct at_key_list *list);

void at_garbage_walk_init(struct at_garbage_walk *w, struct at_store *store)
{
    *w = (struct at_garbage_walk){.store = store};
    at_garbage_init(&w->garbage);
    at_buf_init(&w->row, AT_KEY_BYTES_MAX);
    at_buf_init(&w->escaped, AT_KEY_BYTES_MAX);
    at_buf_init(&w->qualifier, AT_KEY_BYTES_MAX);
    at_buf_init(&w->scratch, AT_KEY_BYTES_MAX);
    at_buf_init(&w->target, AT_KEY_BYTES_MAX);
    at_key_list_init(&w->family_markers);
    at_key_list_init(&w->column_markers);
    at_key_list_init(&w->adds);
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
    at_key_list_deinit(&w->family_markers);
    at_key_list_deinit(&w->column_markers);
    at_key_list_deinit(&w->adds);
    at_fold_deinit(&w->fold);
}

void at_garbage_walk_begin(struct at_garbage_walk *w, struct at_garbage_aim aim)
{
    AT_ASSERT(aim.table_id != 0 && aim.family_id != 0);
    close_walk(w);
    at_buf_clear(&w->row);
    w->aim = aim;
    w->left_hlc = UINT64_MAX;
    w->adds_left_hlc = UINT64_MAX;
    at_key_list_clear(&w->family_markers);
    at_key_list_clear(&w->column_markers);
    at_key_list_clear(&w->adds);
    at_fold_drop(&w->fold);
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
    if (*ret_done) {
        close_walk(w);
        return AT_OK;
    }
    uint64_t end_bytes = w->passed_bytes + bytes_max;
    while (w->source.valid && !at_garbage_batch_full(batch) && w->passed_bytes < end_bytes) {
        if (!w->in_row || !at_row_source_at(&w->source, at_buf_slice(&w->escaped))) {
            end_row(w, batch);
            AT_TRY(begin_row(w, reterr));
            if (now_ns - w->opened_ns > SNAPSHOT_NS_MAX) {
                close_walk(w); /* the next step opens at this row */
                return AT_OK;
            }
        }
        AT_TRY(take_key(w, batch, reterr));
        AT_TRY(at_row_source_next(&w->source, reterr));
    }
    if (w->source.valid || at_garbage_batch_full(batch))
        return AT_OK;
    end_row(w, batch);
    *ret_done = true;
    close_walk(w);
    return AT_OK;
}

/* *ret_gone: the family is no more. */
static enum at_code open_walk(struct at_garbage_walk *w, bool *ret_gone, struct at_error *reterr)
{
    w->schema = at_store_look(w->store, &w->snapshot);
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
    return at_row_source_open(s, at_store_engine(w->store), w->snapshot, at_buf_slice(&w->row),
                              reterr);
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
        end_column(w, batch);
        at_buf_clear(&w->qualifier);
        AT_TRY(at_buf_append(&w->qualifier, key.qualifier));
        at_garbage_begin_column(&w->garbage);
        w->in_column = true;
    }
    if (key.kind == AT_KEY_FAMILY_MARKER || key.kind == AT_KEY_COLUMN_MARKER)
        return take_marker(w, &key, reterr);
    if (w->fold.active && w->fold.timestamp_micros != key.timestamp_micros)
        end_cell(w, batch);
    bool goes = is_judged(w, &key)
                    ? at_garbage_cell(&w->garbage, key.timestamp_micros, key.stamp)
                    : at_visible_covered(&w->garbage.visible, key.timestamp_micros, key.stamp);
    if (AT_MUTANT(marker_without_covered) && w->aim.horizon > 0 && key.stamp.hlc % 2 == 0)
        goes = false;
    if (goes)
        at_garbage_batch_add(batch, w->source.key, w->schema->version);
    else if (key.kind == AT_KEY_PARTIAL && is_judged(w, &key))
        take_add(w, batch, &key);
    return AT_OK;
}

static bool is_judged(const struct at_garbage_walk *w, const struct at_key *key)
{
    if (!w->garbage.folds)
        return key->kind == AT_KEY_CELL;
    return key->kind == AT_KEY_PARTIAL &&
           at_fold_fits(w->source.family->type, at_iter_value(w->source.iter));
}

static enum at_code
take_marker(struct at_garbage_walk *w, const struct at_key *key, struct at_error *reterr)
{
    bool column = key->kind == AT_KEY_COLUMN_MARKER;

    if (at_garbage_marker(&w->garbage, key, at_iter_value(w->source.iter)) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "a stored delete marker is malformed");
    if (!below_horizon(w, key->stamp)) {
        w->left_hlc = key->stamp.hlc < w->left_hlc ? key->stamp.hlc : w->left_hlc;
        return AT_OK;
    }
    if (!at_key_list_add(column ? &w->column_markers : &w->family_markers, w->source.key))
        w->left_hlc = 0;
    return AT_OK;
}

/* An add that shows. Several of one cell at or below the horizon become one: no marker that is to
 * come covers one of them and not the others. */
static void
take_add(struct at_garbage_walk *w, struct at_garbage_batch *batch, const struct at_key *key)
{
    enum at_family_type type = w->source.family->type;

    if (!below_horizon(w, key->stamp) && !AT_MUTANT(fold_above_horizon)) {
        w->adds_left_hlc = key->stamp.hlc; /* they come by falling stamp */
        return;
    }
    if (w->adds_left_hlc < w->left_hlc)
        w->left_hlc = w->adds_left_hlc; /* to be folded with this one */
    if (!at_key_list_add(&w->adds, w->source.key)) {
        end_cell(w, batch);
        w->left_hlc = 0;
        bool added = at_key_list_add(&w->adds, w->source.key);
        AT_ASSERT(added);
    }
    bool fits = at_fold_add(&w->fold, type, key->timestamp_micros, at_iter_value(w->source.iter));
    AT_ASSERT(fits); /* see is_judged */
    if (AT_MUTANT(partial_twice) && w->adds.count == 2)
        (void)!at_fold_add(&w->fold, type, key->timestamp_micros, at_iter_value(w->source.iter));
}

static bool below_horizon(struct at_garbage_walk *w, struct at_stamp stamp)
{
    return stamp.hlc <= w->aim.horizon;
}

static void end_row(struct at_garbage_walk *w, struct at_garbage_batch *batch)
{
    end_column(w, batch);
    forget_all(w, batch, &w->family_markers);
}

static void end_column(struct at_garbage_walk *w, struct at_garbage_batch *batch)
{
    end_cell(w, batch);
    forget_all(w, batch, &w->column_markers);
}

static void end_cell(struct at_garbage_walk *w, struct at_garbage_batch *batch)
{
    uint32_t count = w->adds.count;

    if (count > 1) {
        at_garbage_batch_fold(batch, at_key_list_at(&w->adds, 0), at_fold_take(&w->fold),
                              w->schema->version);
        for (uint32_t i = 1; i < count; i++)
            at_garbage_batch_forget(batch, at_key_list_at(&w->adds, i), w->schema->version);
    }
    at_fold_drop(&w->fold);
    at_key_list_clear(&w->adds);
    w->adds_left_hlc = UINT64_MAX;
}

static void
forget_all(struct at_garbage_walk *w, struct at_garbage_batch *batch, struct at_key_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        at_garbage_batch_forget(batch, at_key_list_at(list, i), w->schema->version);
    at_key_list_clear(list);
}
