#include "cluster/backup/take.h"

#include "base/assert.h"
#include "cluster/backup/file.h"
#include "cluster/backup/pace.h"
#include "cluster/tablet/row_cursor.h"

/* Floors that rose while the iterators were opened may have hidden, or let go, what the older
 * schema shows: then all is opened anew (as reads do). From then on what the iterators see stays on
 * disk. */

#define STEP_BYTES (256 * AT_KIB) /* of stored data, between two looks at `stop` */

struct taking {
    struct at_backup_take *take;
    struct at_backup_out out;
    struct at_buf payload;
    struct at_schema *schema;
    struct at_snapshot *snapshot;
    struct at_row_cursor *cursor;
    const struct at_table *table;
    struct at_row_range all;
    struct at_row_set rows;
    bool row_begun; /* the row was named in this chunk */
    bool row_counted;
    struct at_pace pace;
};

static enum at_code open_cursor(struct taking *t, struct at_error *reterr);
static enum at_code put_head(struct taking *t, struct at_error *reterr);
static enum at_code put_rows(struct taking *t, struct at_error *reterr);
static enum at_code put_end(struct taking *t, struct at_error *reterr);

static void close_cursor(struct taking *t)
{
    at_row_cursor_close(&t->cursor);
    if (t->snapshot)
        at_snapshot_close(&t->snapshot);
    at_schema_unref(&t->schema);
}

static enum at_code run(struct taking *t, struct at_error *reterr)
{
    AT_TRY(open_cursor(t, reterr));
    AT_TRY(at_backup_out_open(&t->out, t->take->path, reterr));
    AT_TRY(put_head(t, reterr));
    AT_TRY(put_rows(t, reterr));
    AT_TRY(put_end(t, reterr));
    close_cursor(t);
    t->take->file_bytes = t->out.bytes;
    return at_backup_out_end(&t->out, reterr);
}

enum at_code at_backup_take(struct at_backup_take *take, struct at_error *reterr)
{
    struct taking t = {.take = take, .out = {.fd = -1}};

    t.rows = (struct at_row_set){.ranges = &t.all, .count = 1, .cap = 1};
    take->counts = (struct at_backup_end){0};
    at_buf_init(&t.payload, AT_BACKUP_PAYLOAD_BYTES_MAX);
    at_pace_start(&t.pace);
    enum at_code code = run(&t, reterr);
    close_cursor(&t);
    at_backup_out_drop(&t.out);
    at_buf_deinit(&t.payload);
    return code;
}

static enum at_code open_cursor(struct taking *t, struct at_error *reterr)
{
    struct at_store *store = t->take->store;
    bool stale = true;

    while (stale) {
        close_cursor(t);
        t->schema = at_store_look(store, &t->snapshot);
        t->table = at_catalog_table(t->schema->catalog, t->take->table);
        if (!t->table)
            return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s",
                           AT_SLICE_ARG(t->take->source_table));
        struct at_row_cursor_spec spec = {
            .engine = at_store_engine(store),
            .snapshot = t->snapshot,
            .schema = t->schema,
            .table = t->table,
            .rows = &t->rows,
            .gc_micros = at_store_strict_micros(store),
            .scan = true,
        };
        AT_TRY(at_row_cursor_open(&spec, &t->cursor, reterr));
        struct at_schema *newest = at_store_schema(store);
        stale = newest->floors_version != t->schema->floors_version;
        at_schema_unref(&newest);
    }
    return AT_OK;
}

static enum at_code flush(struct taking *t, struct at_error *reterr)
{
    enum at_code code = at_backup_out_chunk(&t->out, at_buf_slice(&t->payload), reterr);

    at_buf_clear(&t->payload);
    t->row_begun = false;
    return code;
}

static enum at_code fail_size(struct at_error *reterr)
{
    return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "A cell is too large for a backup");
}

static enum at_code put_head(struct taking *t, struct at_error *reterr)
{
    struct at_backup_family families[AT_FAMILIES_MAX];
    struct at_backup_head head = {
        .source_table = t->take->source_table,
        .granularity_micros = t->table->fields.granularity_micros,
        .families = families,
        .family_count = t->table->family_count,
    };

    AT_ASSERT(head.family_count <= AT_FAMILIES_MAX);
    for (uint32_t i = 0; i < head.family_count; i++)
        families[i] =
            (struct at_backup_family){t->table->families[i].name, t->table->families[i].fields};
    if (at_backup_head_encode(&head, &t->payload) != AT_OK)
        return fail_size(reterr);
    return flush(t, reterr);
}

static uint32_t family_place(const struct taking *t, struct at_slice name)
{
    for (uint32_t i = 0; i < t->table->family_count; i++)
        if (at_slice_eq(t->table->families[i].name, name))
            return i;
    AT_ASSERT(!"a cell of a family of the table");
    return 0;
}

static enum at_code put_cell(struct taking *t, struct at_error *reterr)
{
    const struct at_cell *cell = at_row_cursor_cell(t->cursor);
    struct at_backup_item item = {
        .row = t->row_begun ? at_slice_make(NULL, 0) : at_row_cursor_row(t->cursor),
        .family = family_place(t, cell->family),
        .qualifier = cell->qualifier,
        .timestamp_micros = cell->timestamp_micros,
        .value = cell->value,
    };

    if (cell->value.len > AT_VALUE_BYTES_MAX)
        return fail_size(reterr);
    if (t->payload.len == 0)
        AT_TRY(at_backup_cells_begin(&t->payload));
    if (at_backup_item_encode(&item, &t->payload) != AT_OK)
        return fail_size(reterr);
    t->row_begun = true;
    t->take->counts.rows += !t->row_counted;
    t->row_counted = true;
    t->take->counts.cells++;
    return t->payload.len >= AT_BACKUP_CHUNK_BYTES ? flush(t, reterr) : AT_OK;
}

static enum at_code put_rows(struct taking *t, struct at_error *reterr)
{
    enum at_cursor_event event = AT_CURSOR_PAUSE;

    at_row_cursor_allow(t->cursor, STEP_BYTES);
    for (;;) {
        AT_TRY(at_row_cursor_step(t->cursor, &event, reterr));
        if (event == AT_CURSOR_END)
            return t->payload.len > 0 ? flush(t, reterr) : AT_OK;
        if (event == AT_CURSOR_ROW)
            t->row_begun = t->row_counted = false;
        if (event == AT_CURSOR_CELL)
            AT_TRY(put_cell(t, reterr));
        if (!at_row_cursor_exhausted(t->cursor))
            continue;
        if (atomic_load(t->take->stop))
            return at_fail(reterr, AT_CANCELLED, "The backup was given up");
        at_pace_rest(&t->pace);
        at_row_cursor_allow(t->cursor, STEP_BYTES);
    }
}

static enum at_code put_end(struct taking *t, struct at_error *reterr)
{
    if (at_backup_end_encode(&t->take->counts, &t->payload) != AT_OK)
        return fail_size(reterr);
    return flush(t, reterr);
}
