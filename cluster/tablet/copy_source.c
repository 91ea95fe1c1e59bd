#include "cluster/tablet/copy_step.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>

/* A source reads from its snapshot only. Data of tables and families that the catalog does not know
 * yet is part of it: it was applied. Dead generations are not.
 *
 * Floors are not told. What is below the donor's own was condemned by a rule here, is hidden here,
 * and is left out: it would show at a receiver whose floor is lower. A receiver's own floor stays
 * as it is, and may hide something that the donor has and shows (a rule that was relaxed at the
 * donor before, and a cell older than the receiver's floor); it would also if that cell had come by
 * a pull, as a floor hides whatever is stamped up to it. So a copy makes nothing worse than the
 * log does, and `the same everywhere` is promised only for what no rule has condemned.
 *
 * Part 0 is read from META in the order of its keys; then come the parts. A cursor is the META key
 * to go on from, or CURSOR_PARTS and the number of the part. In other parts it is the stored key to
 * go on from, without its prefix. */

#define PART_BYTES ((uint64_t)64 * AT_MIB)
#define CUTS_MAX 4096 /* of one family */
#define CURSOR_PARTS 0xff
#define CURSOR_PARTS_BYTES 5
#define DROP_KEY_BYTES (1 + 4 + AT_KEY_STAMP_BYTES)
#define TOKEN_KEY_BYTES (1 + 8 + 16)
#define ARENA_FIRST_BYTES (64 * AT_KIB)

struct stretch {
    struct at_slice low; /* rows; low empty: the family's start; high empty: its end */
    struct at_slice high;
};

static enum at_code read_ids(struct at_copy_source *s, struct at_error *reterr);
static int compare_ids(const void *a, const void *b);
static enum at_code list_parts(struct at_copy_source *s, struct at_error *reterr);
static const struct at_local_id *find_id(const struct at_copy_source *s, uint32_t table_id);
static bool is_dead(const struct at_copy_source *s,
                    const struct at_local_id *table,
                    const struct at_local_id *family);
static enum at_code list_family(struct at_copy_source *s,
                                const struct at_local_id *table,
                                const struct at_local_id *family,
                                struct at_error *reterr);
static enum at_code
cut(struct at_copy_source *s, const struct source_part *whole, struct at_error *reterr);
static struct at_slice
middle_row(struct at_copy_source *s, const struct source_part *whole, struct stretch stretch);
static struct at_slice middle(struct at_arena *arena, struct at_slice low, struct at_slice high);
static void add_part(struct at_copy_source *s, struct source_part part);
static struct at_slice
row_key(struct at_copy_source *s, uint32_t table_id, uint32_t family_id, struct at_slice row);
static enum at_code
read_catalog(struct at_copy_source *s, struct at_copy_read *read, struct at_error *reterr);
static enum at_code put_record(struct at_copy_source *s,
                               const struct at_iter *i,
                               struct at_buf *items,
                               struct at_error *reterr);
static enum at_code
read_parts(struct at_copy_source *s, uint32_t first, size_t end_len, struct at_copy_read *read);
static enum at_code read_cells(struct at_copy_source *s,
                               const struct source_part *p,
                               struct at_slice from,
                               struct at_copy_read *read,
                               struct at_error *reterr);
static bool below_floor(const struct source_part *p, struct at_slice key, struct at_buf *scratch);
static enum at_code damaged(struct at_error *reterr);

enum at_code at_copy_source_open(struct at_store *store,
                                 struct at_member_id receiver,
                                 const struct at_vector *needs,
                                 struct at_copy_source **ret_source,
                                 struct at_error *reterr)
{
    struct at_copy_source *s = AT_NEW(struct at_copy_source);
    struct source_step step = {
        .step = {.run = copy_source_run}, .source = s, .receiver = receiver, .needs = needs};

    s->store = store;
    at_arena_init(&s->arena, ARENA_FIRST_BYTES);
    at_vector_init(&s->state.applied);
    at_local_ids_init(&s->ids);
    enum at_code code = copy_step_do(store, &step.step, reterr);
    if (code == AT_OK)
        code = read_ids(s, reterr);
    if (code == AT_OK)
        code = list_parts(s, reterr);
    if (code != AT_OK) {
        at_copy_source_close(&s);
        return code;
    }
    *ret_source = s;
    return AT_OK;
}

struct at_copy_offer at_copy_source_offer(const struct at_copy_source *source)
{
    return (struct at_copy_offer){.state = &source->state,
                                  .part_count = 1 + source->part_count, /* part 0 besides */
                                  .bytes = source->bytes};
}

enum at_code at_copy_source_read(struct at_copy_source *source,
                                 struct at_copy_read *read,
                                 struct at_error *reterr)
{
    struct at_slice cursor = read->cursor;

    at_buf_clear(read->next);
    read->last = false;
    if (read->part == 0)
        return read_catalog(source, read, reterr);
    if (read->part > source->part_count)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "no such part: %u", read->part);
    const struct source_part *p = &source->parts[read->part - 1];
    struct at_buf from AT_CLEANUP(at_buf_deinit);
    at_buf_init(&from, AT_KEY_BYTES_MAX);
    if (cursor.len == 0) {
        AT_TRY(at_buf_append(&from, p->start));
    } else if (cursor.len > from.max - AT_KEY_PREFIX_BYTES) {
        return at_fail(reterr, AT_INVALID_ARGUMENT, "a cursor is too long");
    } else {
        AT_TRY(at_buf_append(&from, at_slice_make(p->start.data, AT_KEY_PREFIX_BYTES)));
        AT_TRY(at_buf_append(&from, cursor));
    }
    if (at_slice_cmp(at_buf_slice(&from), p->start) < 0 ||
        at_slice_cmp(at_buf_slice(&from), p->end) >= 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "a cursor is not of its part");
    return read_cells(source, p, at_buf_slice(&from), read, reterr);
}

/* How long the items may get, unless one alone is longer. */
static size_t end_of(const struct at_copy_read *read)
{
    return read->items->len + (read->max_bytes > 0 ? read->max_bytes : 1);
}

void at_copy_source_close(struct at_copy_source **source)
{
    struct at_copy_source *s = AT_TAKE(*source);

    if (s == NULL)
        return;
    if (s->snapshot != NULL)
        at_snapshot_close(&s->snapshot);
    if (s->schema != NULL)
        at_schema_unref(&s->schema);
    at_vector_deinit(&s->state.applied);
    at_local_ids_deinit(&s->ids);
    at_arena_deinit(&s->arena);
    at_free(s->tables);
    at_free(s->parts);
    at_free(s);
}

static enum at_code read_ids(struct at_copy_source *s, struct at_error *reterr)
{
    static const uint8_t first = META_ID;
    static const uint8_t after = META_ID + 1;
    struct at_iter_options options = {.snapshot = s->snapshot,
                                      .lower = at_slice_make(&first, 1),
                                      .upper = at_slice_make(&after, 1)};
    struct at_iter *i AT_CLEANUP(at_iter_close) =
        at_iter_open(s->store->engine, AT_SPACE_META, &options);

    for (at_iter_seek(i, options.lower); at_iter_valid(i); at_iter_next(i))
        if (at_local_ids_restore(&s->ids, at_slice_from(at_iter_key(i), 1), at_iter_value(i)) !=
            AT_OK)
            return damaged(reterr);
    AT_TRY(at_iter_status(i, reterr));
    s->tables = at_alloc((s->ids.count + 1) * sizeof(struct at_local_id *));
    for (uint32_t at = 0; at < s->ids.count; at++)
        if (s->ids.items[at].parent == 0)
            s->tables[s->table_count++] = &s->ids.items[at];
    qsort(s->tables, s->table_count, sizeof(struct at_local_id *), compare_ids);
    return AT_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const struct at_local_id *const *x = a;
    const struct at_local_id *const *y = b;

    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static enum at_code list_parts(struct at_copy_source *s, struct at_error *reterr)
{
    for (uint32_t i = 0; i < s->ids.count; i++) {
        const struct at_local_id *id = &s->ids.items[i];
        const struct at_local_id *table = id->parent == 0 ? id : find_id(s, id->parent);
        if (table == NULL)
            return damaged(reterr);
        if (!is_dead(s, table, id->parent == 0 ? NULL : id))
            AT_TRY(list_family(s, table, id->parent == 0 ? NULL : id, reterr));
    }
    return AT_OK;
}

static const struct at_local_id *find_id(const struct at_copy_source *s, uint32_t table_id)
{
    const struct at_local_id wanted = {.id = table_id};
    const struct at_local_id *key = &wanted;
    const struct at_local_id *const *found =
        bsearch(&key, s->tables, s->table_count, sizeof(struct at_local_id *), compare_ids);

    return found != NULL ? *found : NULL;
}

static bool is_dead(const struct at_copy_source *s,
                    const struct at_local_id *table,
                    const struct at_local_id *family)
{
    const struct at_catalog *c = s->schema->catalog;

    if (at_catalog_table_over(c, table->name, table->generation))
        return true;
    return family != NULL && at_catalog_family_counter(c, table->name, table->generation,
                                                       family->name) > family->generation;
}

/* Nothing is stored: no part. */
static enum at_code list_family(struct at_copy_source *s,
                                const struct at_local_id *table,
                                const struct at_local_id *family,
                                struct at_error *reterr)
{
    uint32_t family_id = family == NULL ? 0 : family->id;
    struct at_slice none = {NULL, 0};
    struct source_part whole = {
        .told = {.table = table->name,
                 .table_generation = table->generation,
                 .family = family == NULL ? none : family->name,
                 .family_generation = family == NULL ? 0 : family->generation},
        .start = row_key(s, table->id, family_id, none),
        .end = row_key(s, table->id, family_id + 1, none),
    };
    struct at_iter_options options = {
        .snapshot = s->snapshot, .lower = whole.start, .upper = whole.end};

    if (family != NULL)
        whole.floor = at_schema_floor(s->schema, table->id, family_id)->floor;
    struct at_iter *i AT_CLEANUP(at_iter_close) =
        at_iter_open(s->store->engine, AT_SPACE_CELLS, &options);
    at_iter_seek(i, whole.start);
    AT_TRY(at_iter_status(i, reterr));
    return at_iter_valid(i) ? cut(s, &whole, reterr) : AT_OK;
}

/* A stretch that is too large is cut at a row about half-way between its ends as numbers, which
 * gives uneven halves; those are cut further, until they are small or there are enough. */
static enum at_code
cut(struct at_copy_source *s, const struct source_part *whole, struct at_error *reterr)
{
    uint32_t table_id = at_get_be32(whole->start.data);
    uint32_t family_id = at_get_be32(whole->start.data + 4);
    struct stretch stack[64] = {{{NULL, 0}, {NULL, 0}}};
    uint32_t depth = 1;
    uint32_t cuts = 0;

    (void)reterr;
    while (depth > 0) {
        struct stretch now = stack[--depth];
        struct source_part part = *whole;
        part.told.start = now.low;
        part.told.end = now.high;
        part.start = row_key(s, table_id, family_id, now.low);
        if (now.high.len > 0)
            part.end = row_key(s, table_id, family_id, now.high);
        part.told.bytes =
            at_engine_range_bytes(s->store->engine, AT_SPACE_CELLS, part.start, part.end);
        struct at_slice row = {NULL, 0};
        if (part.told.bytes > PART_BYTES && cuts < CUTS_MAX && depth + 2 <= 64)
            row = middle_row(s, whole, now);
        if (row.len == 0) {
            add_part(s, part);
            continue;
        }
        cuts++;
        stack[depth++] = (struct stretch){row, now.high};
        stack[depth++] = (struct stretch){now.low, row};
    }
    return AT_OK;
}

/* A row that exists strictly within the stretch; empty: none was found. */
static struct at_slice
middle_row(struct at_copy_source *s, const struct source_part *whole, struct stretch stretch)
{
    uint32_t table_id = at_get_be32(whole->start.data);
    uint32_t family_id = at_get_be32(whole->start.data + 4);
    struct at_slice none = {NULL, 0};
    struct at_key first = {0};
    struct at_key last = {0};
    struct at_buf scratch AT_CLEANUP(at_buf_deinit);
    struct at_iter_options options = {
        .snapshot = s->snapshot,
        .lower = row_key(s, table_id, family_id, stretch.low),
        .upper = stretch.high.len > 0 ? row_key(s, table_id, family_id, stretch.high) : whole->end,
    };
    struct at_iter *i AT_CLEANUP(at_iter_close) =
        at_iter_open(s->store->engine, AT_SPACE_CELLS, &options);

    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    at_iter_seek(i, options.lower);
    if (!at_iter_valid(i) || at_key_decode(at_iter_key(i), &scratch, &first) != AT_OK)
        return none;
    struct at_slice low = at_arena_copy(&s->arena, first.row);
    at_iter_seek_last(i);
    if (!at_iter_valid(i) || at_key_decode(at_iter_key(i), &scratch, &last) != AT_OK)
        return none;
    struct at_slice high = at_arena_copy(&s->arena, last.row);
    if (at_slice_cmp(low, high) >= 0)
        return none;
    at_iter_seek(i, row_key(s, table_id, family_id, middle(&s->arena, low, high)));
    if (!at_iter_valid(i) || at_key_decode(at_iter_key(i), &scratch, &first) != AT_OK)
        return none;
    struct at_slice row = at_arena_copy(&s->arena, first.row);
    return at_slice_cmp(row, low) > 0 ? row : high;
}

/* Above low, at or below high; about half-way as numbers. */
static struct at_slice middle(struct at_arena *arena, struct at_slice low, struct at_slice high)
{
    size_t len = (low.len > high.len ? low.len : high.len) + 1;
    uint8_t *bytes = AT_ARENA_ARRAY(arena, uint8_t, len);
    uint32_t carry = 0;

    for (size_t i = len; i-- > 0;) { /* the sum */
        uint32_t a = i < low.len ? low.data[i] : 0;
        uint32_t b = i < high.len ? high.data[i] : 0;
        carry += a + b;
        bytes[i] = (uint8_t)carry;
        carry >>= 8;
    }
    for (size_t i = 0; i < len; i++) { /* halved */
        uint32_t v = (carry << 8) | bytes[i];
        bytes[i] = (uint8_t)(v >> 1);
        carry = v & 1;
    }
    return at_slice_make(bytes, len);
}

static void add_part(struct at_copy_source *s, struct source_part part)
{
    if (s->part_count == s->part_cap) {
        s->part_cap = s->part_cap == 0 ? 64 : s->part_cap * 2;
        s->parts = at_realloc(s->parts, s->part_cap * sizeof(*s->parts));
    }
    s->parts[s->part_count++] = part;
    s->bytes += part.told.bytes;
}

/* In the arena. */
static struct at_slice
row_key(struct at_copy_source *s, uint32_t table_id, uint32_t family_id, struct at_slice row)
{
    struct at_buf key AT_CLEANUP(at_buf_deinit);

    at_buf_init(&key, AT_KEY_BYTES_MAX);
    enum at_code code = at_key_seek_row(&key, table_id, family_id, row);
    AT_ASSERT(code == AT_OK);
    return at_arena_copy(&s->arena, at_buf_slice(&key));
}

static enum at_code
read_catalog(struct at_copy_source *s, struct at_copy_read *read, struct at_error *reterr)
{
    static const uint8_t kinds[] = {META_CATALOG, META_DROP, META_TOKEN};
    struct at_iter_options options = {.snapshot = s->snapshot};
    struct at_slice cursor = read->cursor;
    struct at_buf *items = read->items;
    size_t start_len = items->len;
    size_t end_len = end_of(read);

    if (cursor.len > 0 && cursor.data[0] == CURSOR_PARTS) {
        if (cursor.len != CURSOR_PARTS_BYTES || at_get_be32(cursor.data + 1) >= s->part_count)
            return at_fail(reterr, AT_INVALID_ARGUMENT, "no such cursor");
        return read_parts(s, at_get_be32(cursor.data + 1), end_len, read);
    }
    struct at_iter *i AT_CLEANUP(at_iter_close) =
        at_iter_open(s->store->engine, AT_SPACE_META, &options);
    for (size_t k = 0; k < sizeof(kinds); k++) {
        struct at_slice kind = at_slice_make(&kinds[k], 1);
        if (cursor.len > 0 && cursor.data[0] > kinds[k])
            continue;
        at_iter_seek(i, cursor.len > 0 && cursor.data[0] == kinds[k] ? cursor : kind);
        for (; at_iter_valid(i) && at_slice_has_prefix(at_iter_key(i), kind); at_iter_next(i)) {
            if (items->len >= end_len)
                return at_buf_append(read->next, at_iter_key(i));
            enum at_code code = put_record(s, i, items, reterr);
            if (code == AT_RESOURCE_EXHAUSTED && items->len > start_len)
                return at_buf_append(read->next, at_iter_key(i));
            AT_TRY(code);
        }
        AT_TRY(at_iter_status(i, reterr));
    }
    return read_parts(s, 0, end_len, read);
}

static enum at_code put_record(struct at_copy_source *s,
                               const struct at_iter *i,
                               struct at_buf *items,
                               struct at_error *reterr)
{
    struct at_slice key = at_iter_key(i);
    struct at_copy_item item = {0};
    struct at_unpack in;

    if (key.data[0] == META_CATALOG) {
        item.kind = AT_COPY_CATALOG;
        at_unpack_init(&in, at_iter_value(i));
        if (at_catalog_record_decode(&in, &item.u.record) != AT_OK)
            return damaged(reterr);
    } else if (key.data[0] == META_DROP && key.len == DROP_KEY_BYTES) {
        const struct at_local_id *table = find_id(s, at_get_be32(key.data + 1));
        if (table == NULL)
            return damaged(reterr);
        if (is_dead(s, table, NULL))
            return AT_OK;
        item.kind = AT_COPY_DROP;
        item.u.drop = (struct at_copy_drop){
            .table = table->name,
            .table_generation = table->generation,
            .prefix = at_iter_value(i),
            .stamp = {~at_get_be64(key.data + 5), {~at_get_be32(key.data + 13)}}};
    } else if (key.data[0] == META_TOKEN && key.len == TOKEN_KEY_BYTES) {
        item.kind = AT_COPY_TOKEN;
        item.u.token = (struct at_copy_token){
            .span = at_get_be64(key.data + 1),
            .id = {.high = at_get_be64(key.data + 9), .low = at_get_be64(key.data + 17)}};
    } else {
        return damaged(reterr);
    }
    return at_copy_item_encode(&item, items);
}

static enum at_code
read_parts(struct at_copy_source *s, uint32_t first, size_t end_len, struct at_copy_read *read)
{
    uint8_t cursor[CURSOR_PARTS_BYTES] = {CURSOR_PARTS};

    for (uint32_t i = first; i < s->part_count; i++) {
        struct at_copy_item item = {.kind = AT_COPY_PART, .u.part = s->parts[i].told};
        if (read->items->len >= end_len && (i > first || first == 0)) {
            at_put_be32(cursor + 1, i);
            return at_buf_append(read->next, at_slice_make(cursor, sizeof(cursor)));
        }
        AT_TRY(at_copy_item_encode(&item, read->items));
    }
    read->last = true;
    return AT_OK;
}

static enum at_code read_cells(struct at_copy_source *s,
                               const struct source_part *p,
                               struct at_slice from,
                               struct at_copy_read *read,
                               struct at_error *reterr)
{
    struct at_iter_options options = {
        .snapshot = s->snapshot, .lower = p->start, .upper = p->end, .scan = true};
    struct at_iter *i AT_CLEANUP(at_iter_close) =
        at_iter_open(s->store->engine, AT_SPACE_CELLS, &options);
    struct at_buf scratch AT_CLEANUP(at_buf_deinit);
    struct at_buf *items = read->items;
    size_t end_len = end_of(read);
    bool any = false;

    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    for (at_iter_seek(i, from); at_iter_valid(i); at_iter_next(i)) {
        struct at_slice key = at_iter_key(i);
        struct at_slice rest = at_slice_from(key, AT_KEY_PREFIX_BYTES);
        struct at_copy_cell cell = {rest, at_iter_value(i)};
        if (p->floor.before_micros > 0 && below_floor(p, key, &scratch))
            continue;
        size_t size = at_copy_cell_size_max(&cell);
        if (any && (items->len + size > end_len || items->len + size > items->max))
            return at_buf_append(read->next, rest);
        AT_TRY(at_copy_cell_encode(&cell, items));
        any = true;
    }
    AT_TRY(at_iter_status(i, reterr));
    read->last = true;
    return AT_OK;
}

static bool below_floor(const struct source_part *p, struct at_slice stored, struct at_buf *scratch)
{
    struct at_key key;

    if (at_key_decode(stored, scratch, &key) != AT_OK)
        return false; /* the receiver will say so */
    return (key.kind == AT_KEY_CELL || key.kind == AT_KEY_PARTIAL) &&
           key.timestamp_micros < p->floor.before_micros &&
           at_stamp_cmp(key.stamp, p->floor.stamp) <= 0;
}

static enum at_code damaged(struct at_error *reterr)
{
    return at_fail(reterr, AT_DATA_LOSS, "the store's records are damaged");
}
