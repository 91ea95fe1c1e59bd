#include "cluster/tablet/row_cursor.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/tablet/family_reader.h"
#include "cluster/tablet/range_walk.h"
#include "cluster/tablet/row_source.h"

/* A cursor is between rows or in one:
 *
 *   LEAVE -> FIND -> ROW -> (CELL | PAUSE)* -> ROW_END -> LEAVE ...    FIND -> PAUSE | END
 *
 * In a row, the sources that have it are read one after another, each forwards from the row's first
 * key, by the family reader.
 *
 * Between rows a forward cursor has every source on the first key behind the last row, and the next
 * row is the lowest among them. A reversed cursor has every source on the last key before the last
 * row, and the next row is the highest; entering it costs a seek to its start, leaving it one back.
 * The source of row markers never chooses a row, it only follows: a row that was deleted and
 * collected costs nothing. */

enum stage { STAGE_FIND, STAGE_ROW, STAGE_LEAVE, STAGE_END };

struct at_row_cursor {
    const struct at_schema *schema;
    uint32_t table_id;
    bool reversed;
    bool drops;
    enum stage stage;
    struct at_range_walk walk;
    struct at_family_reader reader;
    struct at_buf row;     /* the current row */
    struct at_buf escaped; /* the same, as in keys */
    struct at_buf scratch; /* of at_key_decode */
    struct at_buf target;  /* of seeks */
    uint64_t budget_bytes;
    uint64_t passed_bytes;  /* by the sources, since open */
    uint64_t charged_bytes; /* that much of it was taken from the budget */
    uint32_t at;            /* the source being read */
    bool have_marker;
    struct at_row_source marker; /* row markers */
    uint32_t count;
    struct at_row_source sources[]; /* of families, by name */
};

static bool wants(const struct at_filter *filter, const struct at_family *family);
static enum at_code open_source(struct at_row_cursor *c,
                                const struct at_row_cursor_spec *spec,
                                struct at_row_source *s,
                                struct at_error *reterr);
static enum at_code
find_row(struct at_row_cursor *c, enum at_cursor_event *ret_event, struct at_error *reterr);
static struct at_row_source *next_source(struct at_row_cursor *c);
static enum at_code
seek_range(struct at_row_cursor *c, struct at_row_source *s, struct at_error *reterr);
static enum at_code enter_row(struct at_row_cursor *c, struct at_error *reterr);
static enum at_code
read_row_marker(struct at_row_cursor *c, struct at_stamp *hidden, struct at_error *reterr);
static enum at_code leave_row(struct at_row_cursor *c, struct at_error *reterr);
static enum at_code
read_row(struct at_row_cursor *c, enum at_cursor_event *ret_event, struct at_error *reterr);
static void charge(struct at_row_cursor *c);

uint32_t at_row_cursor_sources(const struct at_schema *schema,
                               const struct at_table *table,
                               const struct at_filter *filter)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < table->family_count; i++)
        count += wants(filter, &table->families[i]);
    return count + (count > 0 && at_schema_has_row_markers(schema, table->id));
}

enum at_code at_row_cursor_open(const struct at_row_cursor_spec *spec,
                                struct at_row_cursor **ret_cursor,
                                struct at_error *reterr)
{
    const struct at_table *table = spec->table;
    uint32_t sources = at_row_cursor_sources(spec->schema, table, spec->filter);
    uint32_t drop_count;
    enum at_code code = AT_OK;

    AT_ASSERT(spec->snapshot != NULL || sources <= 1);
    struct at_row_cursor *c = at_alloc(sizeof(*c) + sources * sizeof(c->sources[0]));
    c->schema = spec->schema;
    c->table_id = table->id;
    c->reversed = spec->reversed;
    c->drops = at_schema_drops(spec->schema, table->id, &drop_count) != NULL && drop_count > 0;
    c->budget_bytes = UINT64_MAX;
    at_range_walk_init(&c->walk, spec->rows, spec->reversed);
    at_family_reader_init(&c->reader);
    c->reader.gc_micros = spec->gc_micros;
    at_buf_init(&c->row, AT_KEY_BYTES_MAX);
    at_buf_init(&c->escaped, AT_KEY_BYTES_MAX);
    at_buf_init(&c->scratch, AT_KEY_BYTES_MAX);
    at_buf_init(&c->target, AT_KEY_BYTES_MAX);

    c->stage = c->walk.done || sources == 0 ? STAGE_END : STAGE_FIND;
    if (c->stage == STAGE_FIND) {
        for (uint32_t i = 0; i < table->family_count && code == AT_OK; i++) {
            if (!wants(spec->filter, &table->families[i]))
                continue;
            struct at_row_source *s = &c->sources[c->count++];
            s->family = &table->families[i];
            s->family_id = table->families[i].id;
            s->floor = at_schema_floor(spec->schema, table->id, s->family_id)->floor;
            code = open_source(c, spec, s, reterr);
        }
        c->have_marker = at_schema_has_row_markers(spec->schema, table->id);
        if (c->have_marker && code == AT_OK)
            code = open_source(c, spec, &c->marker, reterr);
    }
    *ret_cursor = c;
    if (code != AT_OK)
        at_row_cursor_close(ret_cursor);
    return code;
}

void at_row_cursor_close(struct at_row_cursor **cursor)
{
    struct at_row_cursor *c = *cursor;

    *cursor = NULL;
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->count; i++)
        at_iter_close(&c->sources[i].iter);
    at_iter_close(&c->marker.iter);
    at_family_reader_deinit(&c->reader);
    at_buf_deinit(&c->row);
    at_buf_deinit(&c->escaped);
    at_buf_deinit(&c->scratch);
    at_buf_deinit(&c->target);
    at_free(c);
}

enum at_code at_row_cursor_step(struct at_row_cursor *c,
                                enum at_cursor_event *ret_event,
                                struct at_error *reterr)
{
    enum at_code code = AT_OK;

    if (c->stage == STAGE_LEAVE)
        code = leave_row(c, reterr);
    if (code != AT_OK) {
        charge(c);
        return code;
    }
    if (c->stage == STAGE_END)
        *ret_event = AT_CURSOR_END;
    else if (c->stage == STAGE_FIND)
        code = find_row(c, ret_event, reterr);
    else
        code = read_row(c, ret_event, reterr);
    charge(c);
    return code;
}

void at_row_cursor_allow(struct at_row_cursor *c, uint64_t bytes)
{
    c->budget_bytes = bytes;
}

bool at_row_cursor_exhausted(const struct at_row_cursor *c)
{
    return c->budget_bytes == 0;
}

uint64_t at_row_cursor_passed_bytes(const struct at_row_cursor *c)
{
    return c->passed_bytes;
}

struct at_slice at_row_cursor_row(const struct at_row_cursor *c)
{
    return at_buf_slice(&c->row);
}

const struct at_cell *at_row_cursor_cell(const struct at_row_cursor *c)
{
    return &c->reader.cell;
}

void at_row_cursor_skip_column(struct at_row_cursor *c)
{
    AT_ASSERT(c->stage == STAGE_ROW);
    c->reader.skip_column = true;
}

void at_row_cursor_skip_row(struct at_row_cursor *c)
{
    AT_ASSERT(c->stage == STAGE_ROW);
    c->at = c->count;
}

static bool wants(const struct at_filter *filter, const struct at_family *family)
{
    return filter == NULL || at_filter_may_pass_family(filter, family->name);
}

/* The bounds hold all ranges that are still to come, so an iterator ends where the read does and
 * looks at nothing beyond. A forward source starts at its first key, a reversed one at its last. */
static enum at_code open_source(struct at_row_cursor *c,
                                const struct at_row_cursor_spec *spec,
                                struct at_row_source *s,
                                struct at_error *reterr)
{
    const struct at_row_range *first = &spec->rows->ranges[0];
    const struct at_row_range *last = &spec->rows->ranges[spec->rows->count - 1];
    bool resumes = spec->after.len > 0;
    uint32_t table = c->table_id;

    s->table_id = table;
    s->passed_bytes = &c->passed_bytes;
    at_buf_clear(&c->target);
    if (resumes && !c->reversed)
        AT_TRY(at_key_seek_row_after(&c->target, table, s->family_id, spec->after));
    else
        AT_TRY(at_key_seek_row(&c->target, table, s->family_id, first->start));
    at_buf_clear(&c->scratch);
    if (resumes && c->reversed)
        AT_TRY(at_key_seek_row(&c->scratch, table, s->family_id, spec->after));
    else if (last->point)
        AT_TRY(at_key_seek_row_after(&c->scratch, table, s->family_id, last->start));
    else if (last->end.len > 0)
        AT_TRY(at_key_seek_row(&c->scratch, table, s->family_id, last->end));
    else
        AT_TRY(at_key_seek_family_end(&c->scratch, table, s->family_id));

    struct at_iter_options options = {
        .snapshot = spec->snapshot,
        .lower = at_buf_slice(&c->target),
        .upper = at_buf_slice(&c->scratch),
        .scan = spec->scan,
        .one_group = spec->rows->count == 1 && last->point && !resumes && !c->reversed,
    };
    s->iter = at_iter_open(spec->engine, AT_SPACE_CELLS, &options);
    return c->reversed ? at_row_source_seek_last(s, reterr)
                       : at_row_source_seek(s, at_buf_slice(&c->target), reterr);
}

/* --- between rows --- */

static enum at_code
find_row(struct at_row_cursor *c, enum at_cursor_event *ret_event, struct at_error *reterr)
{
    struct at_key key;

    for (;;) {
        struct at_row_source *next = next_source(c);
        if (next == NULL) {
            c->stage = STAGE_END;
            *ret_event = AT_CURSOR_END;
            return AT_OK;
        }
        at_buf_clear(&c->escaped);
        AT_TRY(at_buf_append(&c->escaped, next->row));
        AT_TRY(at_row_source_decode(next, &c->scratch, &key, reterr));
        at_buf_clear(&c->row);
        AT_TRY(at_buf_append(&c->row, key.row));

        enum at_range_place place = at_range_walk_place(&c->walk, at_buf_slice(&c->row));
        if (place == AT_RANGE_OVER) {
            c->stage = STAGE_END;
            *ret_event = AT_CURSOR_END;
            return AT_OK;
        }
        if (place == AT_RANGE_INSIDE) {
            *ret_event = AT_CURSOR_ROW;
            return enter_row(c, reterr);
        }
        for (uint32_t i = 0; i < c->count; i++)
            if (c->sources[i].valid)
                AT_TRY(seek_range(c, &c->sources[i], reterr));
        charge(c);
        if (c->budget_bytes == 0) {
            *ret_event = AT_CURSOR_PAUSE;
            return AT_OK;
        }
    }
}

/* The source with the next row in reading order. */
static struct at_row_source *next_source(struct at_row_cursor *c)
{
    struct at_row_source *best = NULL;

    for (uint32_t i = 0; i < c->count; i++) {
        struct at_row_source *s = &c->sources[i];
        if (!s->valid)
            continue;
        int order = best ? at_slice_cmp(s->row, best->row) : 0;
        if (best == NULL || (c->reversed ? order > 0 : order < 0))
            best = s;
    }
    return best;
}

/* Moves a source that stands before the current range, in reading order, to its edge. */
static enum at_code
seek_range(struct at_row_cursor *c, struct at_row_source *s, struct at_error *reterr)
{
    const struct at_row_range *r = at_range_walk_range(&c->walk);

    at_buf_clear(&c->target);
    if (!c->reversed) {
        AT_TRY(at_key_seek_row(&c->target, c->table_id, s->family_id, r->start));
        if (at_slice_cmp(s->key, at_buf_slice(&c->target)) < 0)
            return at_row_source_seek(s, at_buf_slice(&c->target), reterr);
        return AT_OK;
    }
    if (r->point)
        AT_TRY(at_key_seek_row_after(&c->target, c->table_id, s->family_id, r->start));
    else if (r->end.len > 0)
        AT_TRY(at_key_seek_row(&c->target, c->table_id, s->family_id, r->end));
    else
        return AT_OK;
    if (at_slice_cmp(s->key, at_buf_slice(&c->target)) > 0)
        return at_row_source_seek_back(s, at_buf_slice(&c->target), reterr);
    return AT_OK;
}

static enum at_code enter_row(struct at_row_cursor *c, struct at_error *reterr)
{
    struct at_slice row = at_buf_slice(&c->row);
    struct at_stamp hidden = {0};

    for (uint32_t i = 0; i < c->count; i++) {
        struct at_row_source *s = &c->sources[i];
        s->in_row = at_row_source_at(s, at_buf_slice(&c->escaped));
        if (!s->in_row || !c->reversed)
            continue;
        at_buf_clear(&c->target);
        AT_TRY(at_key_seek_row(&c->target, c->table_id, s->family_id, row));
        AT_TRY(at_row_source_seek(s, at_buf_slice(&c->target), reterr));
    }
    if (c->drops)
        hidden = at_schema_row_hidden(c->schema, c->table_id, row);
    if (c->have_marker)
        AT_TRY(read_row_marker(c, &hidden, reterr));
    at_family_reader_begin_row(&c->reader, row, at_buf_slice(&c->escaped), hidden);
    c->stage = STAGE_ROW;
    c->at = 0;
    return AT_OK;
}

/* The first marker of a row has the highest stamp. */
static enum at_code
read_row_marker(struct at_row_cursor *c, struct at_stamp *hidden, struct at_error *reterr)
{
    struct at_row_source *s = &c->marker;
    struct at_slice row = at_buf_slice(&c->row);
    struct at_key key;

    if (c->reversed) {
        at_buf_clear(&c->target);
        AT_TRY(at_key_seek_row(&c->target, c->table_id, 0, row));
        AT_TRY(at_row_source_seek(s, at_buf_slice(&c->target), reterr));
    } else {
        AT_TRY(at_row_source_reach(s, row, &c->target, reterr));
    }
    if (!at_row_source_at(s, at_buf_slice(&c->escaped)))
        return AT_OK;
    AT_TRY(at_row_source_decode(s, &c->scratch, &key, reterr));
    if (at_stamp_cmp(*hidden, key.stamp) < 0)
        *hidden = key.stamp;
    return AT_OK;
}

static enum at_code leave_row(struct at_row_cursor *c, struct at_error *reterr)
{
    struct at_slice row = at_buf_slice(&c->row);

    if (at_range_walk_ended(&c->walk, row)) {
        c->stage = STAGE_END;
        return AT_OK;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        struct at_row_source *s = &c->sources[i];
        if (!s->in_row)
            continue;
        at_buf_clear(&c->target);
        if (c->reversed) {
            AT_TRY(at_key_seek_row(&c->target, c->table_id, s->family_id, row));
            AT_TRY(at_row_source_seek_back(s, at_buf_slice(&c->target), reterr));
        } else {
            AT_TRY(at_row_source_pass_row(s, at_buf_slice(&c->escaped), &c->scratch, reterr));
        }
    }
    c->stage = STAGE_FIND;
    return AT_OK;
}

/* --- in a row --- */

static enum at_code
read_row(struct at_row_cursor *c, enum at_cursor_event *ret_event, struct at_error *reterr)
{
    enum at_family_event event;

    while (c->at < c->count) {
        struct at_row_source *s = &c->sources[c->at];
        event = AT_FAMILY_END;
        if (s->in_row)
            AT_TRY(at_family_reader_step(&c->reader, s, &event, reterr));
        if (event == AT_FAMILY_CELL) {
            *ret_event = AT_CURSOR_CELL;
            return AT_OK;
        }
        if (event == AT_FAMILY_END) {
            c->at++;
            at_family_reader_begin_family(&c->reader);
            continue;
        }
        charge(c);
        if (c->budget_bytes == 0) {
            *ret_event = AT_CURSOR_PAUSE;
            return AT_OK;
        }
    }
    c->stage = STAGE_LEAVE;
    *ret_event = AT_CURSOR_ROW_END;
    return AT_OK;
}

/* Takes what the sources moved over since the last call from the budget. */
static void charge(struct at_row_cursor *c)
{
    uint64_t moved = c->passed_bytes - c->charged_bytes;

    c->charged_bytes = c->passed_bytes;
    c->budget_bytes = moved < c->budget_bytes ? c->budget_bytes - moved : 0;
}
