#include "cluster/tablet/explain.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/tablet/fold.h"
#include "cluster/tablet/row_source.h"
#include "cluster/tablet/store.h"

/* Keys come in storage order: what hides the row, then per family its markers, then per column its
 * markers and its versions. Whatever covers a version was therefore taken before it. Of several
 * markers that cover it the one with the highest stamp is named.
 *
 * Unlike a read this keeps all markers and compares with each, so its answer does not come from the
 * code that it is to explain. */

struct run {
    const struct at_schema *schema;
    const struct at_table *table;
    const struct at_family *family;
    struct at_floor floor; /* of the family */
    struct at_slice row;
    int64_t now_micros;
    struct at_arena *arena;
    struct at_explanation *out;
    uint32_t cap;
    uint32_t row_items;    /* items below this cover the whole row */
    uint32_t family_start; /* items of the family start here */
    struct at_slice column;
    bool in_column;
    uint32_t column_start;  /* items of the column start here */
    uint32_t winner;        /* the first version of winner_micros, or AT_EXPLAIN_NONE */
    int64_t counted_micros; /* of an aggregate cell that was counted as a version */
    uint32_t versions;      /* of the column that showed */
};

static void take_dropped_ranges(struct run *r);
static enum at_code read_family(struct run *r,
                                struct at_engine *engine,
                                const struct at_snapshot *snapshot,
                                struct at_error *reterr);
static enum at_code
take_key(struct run *r, const struct at_key *key, struct at_slice value, struct at_error *reterr);
static void take_version(struct run *r, const struct at_key *key, struct at_slice value);
static enum at_explain_reason judge(struct run *r, struct at_explain_item *item, bool fits);
static uint32_t marker_above(const struct run *r, const struct at_explain_item *item);
static void
raise(const struct run *r, uint32_t i, const struct at_explain_item *item, uint32_t *best);
static bool condemned(struct run *r, const struct at_explain_item *item);
static struct at_explain_item *new_item(struct run *r);

enum at_code at_explain_row(struct at_store *store,
                            struct at_explain_query query,
                            struct at_arena *arena,
                            struct at_explanation *ret_explanation,
                            struct at_error *reterr)
{
    struct at_engine *engine = at_store_engine(store);
    struct at_snapshot *snapshot = NULL;
    struct at_schema *schema = at_store_look(store, &snapshot);
    struct run r = {
        .schema = schema,
        .table = at_catalog_table(schema->catalog, query.table),
        .row = query.row,
        .now_micros = query.now_micros,
        .arena = arena,
        .out = ret_explanation,
    };
    enum at_code code = AT_OK;

    *ret_explanation = (struct at_explanation){0};
    if (r.table == NULL)
        code = at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(query.table));
    if (code == AT_OK) {
        AT_ASSERT(r.table != NULL);
        take_dropped_ranges(&r);
        code = read_family(&r, engine, snapshot, reterr); /* row markers */
        r.row_items = ret_explanation->count;
    }
    for (uint32_t i = 0; code == AT_OK && i < r.table->family_count; i++) {
        r.family = &r.table->families[i];
        r.floor = at_schema_floor(schema, r.table->id, r.family->id)->floor;
        code = read_family(&r, engine, snapshot, reterr);
    }
    at_schema_unref(&schema);
    at_snapshot_close(&snapshot);
    return code;
}

static void take_dropped_ranges(struct run *r)
{
    uint32_t count = 0;
    const struct at_dropped_range *drops = at_schema_drops(r->schema, r->table->id, &count);

    for (uint32_t i = 0; drops != NULL && i < count; i++) {
        if (!at_slice_has_prefix(r->row, drops[i].prefix))
            continue;
        struct at_explain_item *item = new_item(r);
        if (item == NULL)
            return;
        item->kind = AT_EXPLAIN_DROPPED_RANGE;
        item->stamp = drops[i].stamp;
        item->prefix = at_arena_copy(r->arena, drops[i].prefix);
    }
}

/* Takes all keys of the row in r->family; with none, the row markers. */
static enum at_code read_family(struct run *r,
                                struct at_engine *engine,
                                const struct at_snapshot *snapshot,
                                struct at_error *reterr)
{
    struct at_buf lower AT_CLEANUP(at_buf_deinit) = {0};
    struct at_buf upper AT_CLEANUP(at_buf_deinit) = {0};
    struct at_buf scratch AT_CLEANUP(at_buf_deinit) = {0};
    uint64_t passed_bytes = 0;
    struct at_row_source s = {
        .family = r->family,
        .table_id = r->table->id,
        .family_id = r->family != NULL ? r->family->id : 0,
        .passed_bytes = &passed_bytes,
    };
    struct at_key key;

    at_buf_init(&lower, AT_KEY_BYTES_MAX);
    at_buf_init(&upper, AT_KEY_BYTES_MAX);
    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    AT_TRY(at_key_seek_row(&lower, s.table_id, s.family_id, r->row));
    AT_TRY(at_key_seek_row_after(&upper, s.table_id, s.family_id, r->row));
    struct at_iter_options options = {
        .snapshot = snapshot,
        .lower = at_buf_slice(&lower),
        .upper = at_buf_slice(&upper),
        .one_group = true,
    };
    s.iter = at_iter_open(engine, AT_SPACE_CELLS, &options);
    r->family_start = r->out->count;
    r->in_column = false;
    enum at_code code = at_row_source_seek(&s, at_buf_slice(&lower), reterr);
    while (code == AT_OK && s.valid && !r->out->truncated) {
        code = at_row_source_decode(&s, &scratch, &key, reterr);
        if (code == AT_OK)
            code = take_key(r, &key, at_iter_value(s.iter), reterr);
        if (code == AT_OK)
            code = at_row_source_next(&s, reterr);
    }
    at_iter_close(&s.iter);
    return code;
}

static enum at_code
take_key(struct run *r, const struct at_key *key, struct at_slice value, struct at_error *reterr)
{
    bool in_column = key->kind != AT_KEY_ROW_MARKER && key->kind != AT_KEY_FAMILY_MARKER;

    if (in_column && !(r->in_column && at_slice_eq(r->column, key->qualifier))) {
        r->in_column = true;
        r->column = at_arena_copy(r->arena, key->qualifier);
        r->column_start = r->out->count;
        r->winner = AT_EXPLAIN_NONE;
        r->counted_micros = -1;
        r->versions = 0;
    }
    if (key->kind == AT_KEY_CELL || key->kind == AT_KEY_PARTIAL) {
        if (r->family == NULL)
            return at_fail(reterr, AT_DATA_LOSS, "a stored cell has no family");
        take_version(r, key, value);
        return AT_OK;
    }
    if (key->kind == AT_KEY_COLUMN_MARKER && value.len != 16)
        return at_fail(reterr, AT_DATA_LOSS, "a stored delete marker is malformed");
    struct at_explain_item *item = new_item(r);
    if (item == NULL)
        return AT_OK;
    item->stamp = key->stamp;
    item->kind = AT_EXPLAIN_ROW_MARKER;
    if (r->family != NULL) {
        item->kind = AT_EXPLAIN_FAMILY_MARKER;
        item->family = at_arena_copy(r->arena, r->family->name);
    }
    if (key->kind == AT_KEY_COLUMN_MARKER) {
        item->kind = AT_EXPLAIN_COLUMN_MARKER;
        item->qualifier = r->column;
        item->start_micros = (int64_t)at_get_be64(value.data);
        item->end_micros = (int64_t)at_get_be64(value.data + 8);
    }
    return AT_OK;
}

static void take_version(struct run *r, const struct at_key *key, struct at_slice value)
{
    bool partial = key->kind == AT_KEY_PARTIAL;
    bool folds = at_fold_applies(r->family->type);
    bool fits = partial ? folds && at_fold_fits(r->family->type, value) : !folds;
    struct at_explain_item *item = new_item(r);
    size_t shown = value.len < AT_EXPLAIN_VALUE_BYTES_MAX ? value.len : AT_EXPLAIN_VALUE_BYTES_MAX;

    if (item == NULL)
        return;
    item->kind = partial ? AT_EXPLAIN_PARTIAL : AT_EXPLAIN_CELL;
    item->stamp = key->stamp;
    item->family = at_arena_copy(r->arena, r->family->name);
    item->qualifier = r->column;
    item->timestamp_micros = key->timestamp_micros;
    item->value = at_arena_copy(r->arena, at_slice_make(value.data, shown));
    item->value_size = value.len;
    item->reason = judge(r, item, fits);
    if (item->by != AT_EXPLAIN_NONE)
        r->out->items[item->by].hides_count++;
}

static enum at_explain_reason judge(struct run *r, struct at_explain_item *item, bool fits)
{
    const struct at_explain_item *winner =
        r->winner != AT_EXPLAIN_NONE ? &r->out->items[r->winner] : NULL;
    bool first = winner == NULL || winner->timestamp_micros != item->timestamp_micros ||
                 winner->kind != item->kind;

    item->by = marker_above(r, item);
    if (!fits)
        return AT_EXPLAIN_OTHER_KIND;
    if (item->kind == AT_EXPLAIN_CELL) {
        if (first)
            r->winner = r->out->count - 1;
        else if (item->by == AT_EXPLAIN_NONE)
            item->by = r->winner;
        if (!first && item->by == r->winner)
            return AT_EXPLAIN_OVERWRITTEN;
    }
    if (item->by != AT_EXPLAIN_NONE)
        return AT_EXPLAIN_DELETED;
    if (item->timestamp_micros < r->floor.before_micros &&
        at_stamp_cmp(item->stamp, r->floor.stamp) <= 0)
        return AT_EXPLAIN_COLLECTED;
    return condemned(r, item) ? AT_EXPLAIN_CONDEMNED : AT_EXPLAIN_SHOWS;
}

/* The marker with the highest stamp above the item's among those that cover it. */
static uint32_t marker_above(const struct run *r, const struct at_explain_item *item)
{
    const struct at_explain_item *items = r->out->items;
    uint32_t best = AT_EXPLAIN_NONE;

    for (uint32_t i = 0; i < r->row_items; i++)
        raise(r, i, item, &best);
    for (uint32_t i = r->family_start; items[i].kind == AT_EXPLAIN_FAMILY_MARKER; i++)
        raise(r, i, item, &best);
    for (uint32_t i = r->column_start; items[i].kind == AT_EXPLAIN_COLUMN_MARKER; i++)
        if (items[i].start_micros <= item->timestamp_micros &&
            (items[i].end_micros == 0 || item->timestamp_micros < items[i].end_micros))
            raise(r, i, item, &best);
    return best;
}

/* Makes the covering marker `i` the best one, when it is. */
static void
raise(const struct run *r, uint32_t i, const struct at_explain_item *item, uint32_t *best)
{
    const struct at_explain_item *items = r->out->items;

    if (at_stamp_cmp(item->stamp, items[i].stamp) >= 0)
        return;
    if (*best == AT_EXPLAIN_NONE || at_stamp_cmp(items[*best].stamp, items[i].stamp) < 0)
        *best = i;
}

/* Rules count what shows; in an aggregate family all adds of one timestamp are one version. */
static bool condemned(struct run *r, const struct at_explain_item *item)
{
    if (item->kind == AT_EXPLAIN_CELL || r->counted_micros != item->timestamp_micros)
        r->versions++;
    r->counted_micros = item->timestamp_micros;
    return at_gc_rule_condemns(r->family->rule, r->versions, item->timestamp_micros, r->now_micros);
}

/* NULL, and `truncated`, when there are too many. The newest one has no `by` yet. */
static struct at_explain_item *new_item(struct run *r)
{
    struct at_explanation *out = r->out;

    if (out->count == AT_EXPLAIN_ITEMS_MAX) {
        out->truncated = true;
        return NULL;
    }
    if (out->count == r->cap) {
        uint32_t cap = r->cap > 0 ? r->cap * 2 : 16;
        struct at_explain_item *items = AT_ARENA_ARRAY(r->arena, struct at_explain_item, cap);
        if (out->count > 0)
            memcpy(items, out->items, out->count * sizeof(*items));
        out->items = items;
        r->cap = cap;
    }
    struct at_explain_item *item = &out->items[out->count++];
    item->by = AT_EXPLAIN_NONE;
    return item;
}
