#include "cluster/tablet/row_marker_walk.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/mutant.h"

/* The iterators of all families go along with that of the markers, forwards only, so a row that has
 * nothing below its marker costs a comparison per family.
 *
 * A row that has more than fits the batch is gone on with by the next step; its marker is named
 * when nothing is left to name before it. Which families there are is found out once: cells of one
 * that appears later are stamped above the horizon. */

#define SNAPSHOT_NS_MAX (5 * AT_S_NS) /* opening anew passes over all that was just removed */

static enum at_code open_walk(struct at_row_marker_walk *w, struct at_error *reterr);
static enum at_code find_families(struct at_row_marker_walk *w, struct at_error *reterr);
static enum at_code
open_source(struct at_row_marker_walk *w, struct at_row_source *s, struct at_error *reterr);
static void close_walk(struct at_row_marker_walk *w);
static enum at_code begin_row(struct at_row_marker_walk *w, struct at_error *reterr);
static enum at_code
take_marker(struct at_row_marker_walk *w, struct at_garbage_batch *batch, struct at_error *reterr);
static enum at_code take_covered(struct at_row_marker_walk *w,
                                 struct at_garbage_batch *batch,
                                 struct at_stamp stamp,
                                 struct at_error *reterr);
static enum at_code take_in_family(struct at_row_marker_walk *w,
                                   struct at_row_source *s,
                                   struct at_garbage_batch *batch,
                                   struct at_stamp stamp,
                                   struct at_error *reterr);

void at_row_marker_walk_init(struct at_row_marker_walk *w, struct at_store *store)
{
    *w = (struct at_row_marker_walk){.store = store};
    at_buf_init(&w->row, AT_KEY_BYTES_MAX);
    at_buf_init(&w->escaped, AT_KEY_BYTES_MAX);
    at_buf_init(&w->scratch, AT_KEY_BYTES_MAX);
    at_buf_init(&w->target, AT_KEY_BYTES_MAX);
}

void at_row_marker_walk_deinit(struct at_row_marker_walk *w)
{
    close_walk(w);
    at_free(w->families);
    at_buf_deinit(&w->row);
    at_buf_deinit(&w->escaped);
    at_buf_deinit(&w->scratch);
    at_buf_deinit(&w->target);
}

void at_row_marker_walk_begin(struct at_row_marker_walk *w, uint32_t table_id, uint64_t horizon)
{
    AT_ASSERT(table_id != 0);
    close_walk(w);
    at_buf_clear(&w->row);
    w->table_id = table_id;
    w->horizon = horizon;
    w->left_hlc = UINT64_MAX;
    w->families_known = false;
    w->family_count = 0;
}

enum at_code at_row_marker_walk_step(struct at_row_marker_walk *w,
                                     struct at_garbage_batch *batch,
                                     uint64_t bytes_max,
                                     uint64_t now_ns,
                                     bool *ret_done,
                                     struct at_error *reterr)
{
    uint64_t end_bytes = w->passed_bytes + bytes_max;

    *ret_done = false;
    if (w->snapshot == NULL) {
        w->opened_ns = now_ns;
        AT_TRY(open_walk(w, reterr));
    }
    if (w->family_count > AT_ROW_MARKER_FAMILIES_MAX) {
        at_log(AT_LOG_WARN, "a table has keys of too many families to forget its row markers",
               AT_KV_U64("families", w->family_count));
        w->left_hlc = UINT64_MAX - 1;
        *ret_done = true;
    }
    while (!*ret_done && w->markers.valid && !at_garbage_batch_full(batch)) {
        if (!at_row_source_at(&w->markers, at_buf_slice(&w->escaped))) {
            AT_TRY(begin_row(w, reterr));
            if (now_ns - w->opened_ns > SNAPSHOT_NS_MAX) {
                close_walk(w); /* the next step opens at this row */
                return AT_OK;
            }
        }
        AT_TRY(take_marker(w, batch, reterr));
        if (w->passed_bytes >= end_bytes)
            break;
    }
    *ret_done = *ret_done || !w->markers.valid;
    if (*ret_done)
        close_walk(w);
    return AT_OK;
}

static enum at_code open_walk(struct at_row_marker_walk *w, struct at_error *reterr)
{
    AT_ASSERT(w->snapshot == NULL);
    w->schema = at_store_look(w->store, &w->snapshot);
    if (!w->families_known)
        AT_TRY(find_families(w, reterr));
    w->families_known = true;
    if (w->family_count > AT_ROW_MARKER_FAMILIES_MAX)
        return AT_OK;
    w->markers = (struct at_row_source){.table_id = w->table_id, .passed_bytes = &w->passed_bytes};
    for (uint32_t i = 0; i < w->family_count; i++)
        AT_TRY(open_source(w, &w->families[i], reterr));
    at_buf_clear(&w->escaped);
    return open_source(w, &w->markers, reterr);
}

/* From the end of each family the next key tells the next one. */
static enum at_code find_families(struct at_row_marker_walk *w, struct at_error *reterr)
{
    struct at_iter_options options = {.snapshot = w->snapshot};
    struct at_iter *i AT_CLEANUP(at_iter_close) =
        at_iter_open(at_store_engine(w->store), AT_SPACE_CELLS, &options);
    uint32_t family_id = 0;

    w->family_count = 0;
    while (w->family_count <= AT_ROW_MARKER_FAMILIES_MAX) {
        at_buf_clear(&w->target);
        AT_TRY(at_key_seek_family_end(&w->target, w->table_id, family_id));
        at_iter_seek(i, at_buf_slice(&w->target));
        if (!at_iter_valid(i))
            return at_iter_status(i, reterr);
        struct at_slice key = at_iter_key(i);
        if (key.len < AT_KEY_PREFIX_BYTES || at_get_be32(key.data) != w->table_id)
            return AT_OK;
        family_id = at_get_be32(key.data + 4);
        w->families = at_realloc(w->families, (w->family_count + 1) * sizeof(w->families[0]));
        w->families[w->family_count++] = (struct at_row_source){
            .table_id = w->table_id,
            .family_id = family_id,
            .passed_bytes = &w->passed_bytes,
        };
    }
    return AT_OK;
}

static enum at_code
open_source(struct at_row_marker_walk *w, struct at_row_source *s, struct at_error *reterr)
{
    return at_row_source_open(s, at_store_engine(w->store), w->snapshot, at_buf_slice(&w->row),
                              reterr);
}

static void close_walk(struct at_row_marker_walk *w)
{
    for (uint32_t i = 0; i < w->family_count; i++)
        at_iter_close(&w->families[i].iter);
    at_iter_close(&w->markers.iter);
    w->markers.valid = false;
    if (w->snapshot != NULL)
        at_snapshot_close(&w->snapshot);
    at_schema_unref(&w->schema);
}

static enum at_code begin_row(struct at_row_marker_walk *w, struct at_error *reterr)
{
    struct at_key key;

    AT_TRY(at_row_source_decode(&w->markers, &w->scratch, &key, reterr));
    at_buf_clear(&w->row);
    AT_TRY(at_buf_append(&w->row, key.row));
    at_buf_clear(&w->escaped);
    w->covered_gone = false;
    return at_buf_append(&w->escaped, w->markers.row);
}

/* Deals with the marker under the source and moves behind it, unless the batch became full. Bytes
 * passed in between are not looked at: a row is not left before its first marker is dealt with. */
static enum at_code
take_marker(struct at_row_marker_walk *w, struct at_garbage_batch *batch, struct at_error *reterr)
{
    struct at_key key;

    AT_TRY(at_row_source_decode(&w->markers, &w->scratch, &key, reterr));
    if (key.stamp.hlc > w->horizon) {
        w->left_hlc = key.stamp.hlc < w->left_hlc ? key.stamp.hlc : w->left_hlc;
        return at_row_source_next(&w->markers, reterr);
    }
    /* Of one row's markers the first has the highest stamp, and covers for all. */
    if (!w->covered_gone && !AT_MUTANT(marker_without_covered))
        AT_TRY(take_covered(w, batch, key.stamp, reterr));
    if (at_garbage_batch_full(batch))
        return AT_OK;
    w->covered_gone = true;
    at_garbage_batch_forget(batch, w->markers.key, w->schema->version);
    return at_row_source_next(&w->markers, reterr);
}

static enum at_code take_covered(struct at_row_marker_walk *w,
                                 struct at_garbage_batch *batch,
                                 struct at_stamp stamp,
                                 struct at_error *reterr)
{
    for (uint32_t i = 0; i < w->family_count; i++) {
        AT_TRY(at_row_source_reach(&w->families[i], at_buf_slice(&w->row), &w->target, reterr));
        AT_TRY(take_in_family(w, &w->families[i], batch, stamp, reterr));
    }
    return AT_OK;
}

static enum at_code take_in_family(struct at_row_marker_walk *w,
                                   struct at_row_source *s,
                                   struct at_garbage_batch *batch,
                                   struct at_stamp stamp,
                                   struct at_error *reterr)
{
    struct at_key key;

    while (at_row_source_at(s, at_buf_slice(&w->escaped)) && !at_garbage_batch_full(batch)) {
        AT_TRY(at_row_source_decode(s, &w->scratch, &key, reterr));
        bool marker = key.kind == AT_KEY_FAMILY_MARKER || key.kind == AT_KEY_COLUMN_MARKER;
        if (at_stamp_cmp(key.stamp, stamp) < 0 && marker)
            at_garbage_batch_forget(batch, s->key, w->schema->version);
        else if (at_stamp_cmp(key.stamp, stamp) < 0)
            at_garbage_batch_add(batch, s->key, w->schema->version);
        AT_TRY(at_row_source_next(s, reterr));
    }
    return AT_OK;
}
