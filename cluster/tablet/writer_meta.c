#include "cluster/tablet/writer.h"

#include "base/assert.h"
#include "base/bytes.h"

#define UNDELETE_MARGIN_NS (3600 * AT_S_NS) /* stamps are ahead of clocks by less */

/* Changes of small records: each goes into memory and into the round's batch together.
 *
 * A generation dies when its name's counter passes it. Its data is removed at once, by range; its
 * local id stays known. Generations that died before an earlier value of the counter were removed
 * then.
 *
 * A deleted table may be had back for a time: its generation is alive as long as the table's record
 * names it, and until nobody can have it back any more. That is when the horizon has passed that
 * time, and some more: an undeletion that is not here yet would be stamped beyond it. So no member
 * removes what another one has had back. */

static uint32_t id_of(struct writer *w, uint32_t parent, struct at_slice name, uint64_t generation);
static uint32_t ids_table(void *ctx, struct at_slice table, uint64_t generation);
static uint32_t
ids_family(void *ctx, uint32_t table_id, struct at_slice family, uint64_t generation);
static void store_winners(struct writer *w,
                          const struct at_catalog *catalog,
                          const struct at_catalog_record *records,
                          uint32_t count);
static void
remove_dropped(struct writer *w, const struct at_catalog *old, const struct at_catalog *new);
static bool same_name(const struct at_catalog_record *a, const struct at_catalog_record *b);
static void remove_dead(struct writer *w,
                        const struct at_catalog *old,
                        const struct at_catalog *new,
                        const struct at_catalog_record *r);
static bool was_alive(const struct at_catalog *c, const struct at_local_id *item, uint64_t counter);
static void remove_dead_tables(struct writer *w,
                               const struct at_catalog *old,
                               const struct at_catalog *new,
                               const struct at_catalog_record *r);
static bool is_removed(const struct writer *w, uint32_t table_id);
static uint64_t counter_of(const struct at_catalog *c, const struct at_catalog_record *r);
static void remove_data(struct writer *w, uint32_t table_id, uint32_t family_id);
static void forget_floors(struct writer *w, uint32_t table_id, uint32_t family_id);
static void floor_key(uint8_t *ret_key, uint32_t table_id, uint32_t family_id);
static void append(struct at_buf *out, const void *data, size_t len);

uint32_t writer_table_id(struct writer *w, struct at_slice table, uint64_t generation)
{
    return id_of(w, 0, table, generation);
}

uint32_t
writer_family_id(struct writer *w, uint32_t table_id, struct at_slice family, uint64_t generation)
{
    AT_ASSERT(table_id != 0);
    return id_of(w, table_id, family, generation);
}

struct at_catalog_ids meta_ids(struct writer *w)
{
    return (struct at_catalog_ids){.ctx = w, .table_id = ids_table, .family_id = ids_family};
}

enum at_code writer_apply_catalog(struct writer *w,
                                  const struct at_catalog_record *records,
                                  uint32_t count,
                                  struct at_error *reterr)
{
    const struct at_catalog *old = w->schema->catalog;
    struct at_catalog_ids ids = meta_ids(w);
    struct at_catalog *new = NULL;

    AT_TRY(at_catalog_apply(old, records, count, &ids, &new, reterr));
    store_winners(w, new, records, count);
    remove_dropped(w, old, new);
    for (uint32_t i = 0; i < count; i++)
        remove_dead(w, old, new, &records[i]);
    meta_schema(w, new);
    w->round.catalog = true;
    return AT_OK;
}

void writer_note_row_markers(struct writer *w, uint32_t table_id)
{
    if (at_hides_has_row_markers(&w->hides, table_id))
        return;
    at_hides_set_row_markers(&w->hides, table_id);
    meta_schema(w, NULL);
    w->round.hides = true;
}

void writer_note_drop(struct writer *w, uint32_t table_id, struct at_dropped_range drop)
{
    if (!at_hides_add_drop(&w->hides, table_id, drop, meta_drop_gone, w))
        return;
    at_buf_clear(&w->meta_key);
    meta_drop_key(&w->meta_key, table_id, drop.stamp);
    at_batch_put(w->round.batch, AT_SPACE_META, at_buf_slice(&w->meta_key), drop.prefix);
    meta_schema(w, NULL);
    w->round.hides = true;
}

void writer_note_floor(struct writer *w,
                       uint32_t table_id,
                       uint32_t family_id,
                       struct at_floor floor)
{
    uint8_t key[META_FLOOR_KEY_BYTES];
    uint8_t value[META_FLOOR_VALUE_BYTES];

    at_hides_set_floor(&w->hides, table_id, family_id, floor);
    floor_key(key, table_id, family_id);
    at_put_be64(value, (uint64_t)floor.before_micros);
    at_put_be64(value + 8, floor.stamp.hlc);
    at_put_be32(value + 16, floor.stamp.origin.v);
    at_batch_put(w->round.batch, AT_SPACE_META, at_slice_make(key, sizeof(key)),
                 at_slice_make(value, sizeof(value)));
    w->round.hides = true;
    w->round.sync = true;
}

void meta_catalog_key(struct at_buf *out, const struct at_catalog_record *r)
{
    uint8_t head[1 + 1 + 8] = {META_CATALOG, (uint8_t)r->kind};

    at_put_be64(head + 2, r->table_generation);
    append(out, head, sizeof(head));
    append(out, r->table.data, r->table.len);
    append(out, "", 1);
    append(out, r->name.data, r->name.len);
}

void meta_schema(struct writer *w, struct at_catalog *catalog)
{
    struct at_schema_spec spec = {
        .catalog = catalog,
        .share = w->schema,
        .version = ++w->schema_version,
        .floors_version = w->floors_version,
        .tables = w->hides.tables,
        .table_count = w->hides.count,
    };

    if (w->hides.floors_changed)
        w->floors_version = spec.floors_version = spec.version;
    w->hides.floors_changed = false;
    struct at_schema *new = at_schema_new(&spec);
    at_schema_unref(&w->schema);
    w->schema = new;
}

struct at_schema *meta_schema_hiding(struct writer *w, struct at_schema *like)
{
    struct at_schema_spec spec = {
        .share = like,
        .version = ++w->schema_version,
        .floors_version = w->floors_version,
        .tables = w->hides.tables,
        .table_count = w->hides.count,
    };

    return at_schema_new(&spec);
}

static uint32_t id_of(struct writer *w, uint32_t parent, struct at_slice name, uint64_t generation)
{
    uint32_t id = at_local_ids_find(&w->ids, parent, name, generation);
    uint8_t value[4];

    if (id != 0)
        return id;
    const struct at_local_id *item = at_local_ids_add(&w->ids, parent, name, generation);
    uint8_t kind = META_ID;
    at_buf_clear(&w->meta_key);
    append(&w->meta_key, &kind, 1);
    enum at_code rc = at_local_id_key(item, &w->meta_key);
    AT_ASSERT(rc == AT_OK);
    at_put_be32(value, item->id);
    at_batch_put(w->round.batch, AT_SPACE_META, at_buf_slice(&w->meta_key),
                 at_slice_make(value, sizeof(value)));
    return item->id;
}

static uint32_t ids_table(void *ctx, struct at_slice table, uint64_t generation)
{
    return writer_table_id(ctx, table, generation);
}

static uint32_t
ids_family(void *ctx, uint32_t table_id, struct at_slice family, uint64_t generation)
{
    return writer_family_id(ctx, table_id, family, generation);
}

/* What stands under the names of `records` now: perhaps they lost. */
static void store_winners(struct writer *w,
                          const struct at_catalog *catalog,
                          const struct at_catalog_record *records,
                          uint32_t count)
{
    uint32_t all = at_catalog_record_count(catalog);

    for (uint32_t at = 0; at < all; at++) {
        const struct at_catalog_record *winner = at_catalog_record_at(catalog, at);
        uint32_t i = 0;
        while (i < count && !same_name(winner, &records[i]))
            i++;
        if (i == count)
            continue;
        at_buf_clear(&w->meta_key);
        at_buf_clear(&w->meta_value);
        meta_catalog_key(&w->meta_key, winner);
        enum at_code rc = at_catalog_record_encode(winner, &w->meta_value);
        AT_ASSERT(rc == AT_OK); /* records are bounded by at_catalog_apply */
        at_batch_put(w->round.batch, AT_SPACE_META, at_buf_slice(&w->meta_key),
                     at_buf_slice(&w->meta_value));
    }
}

/* Operations that the catalog does not keep any more. */
static void
remove_dropped(struct writer *w, const struct at_catalog *old, const struct at_catalog *new)
{
    uint32_t all = at_catalog_record_count(old);

    if (at_catalog_kind_version(old, AT_CATALOG_OPERATION) ==
        at_catalog_kind_version(new, AT_CATALOG_OPERATION))
        return;
    for (uint32_t at = 0; at < all; at++) {
        const struct at_catalog_record *r = at_catalog_record_at(old, at);
        if (r->kind != AT_CATALOG_OPERATION || at_catalog_has(new, r))
            continue;
        at_buf_clear(&w->meta_key);
        meta_catalog_key(&w->meta_key, r);
        at_batch_delete(w->round.batch, AT_SPACE_META, at_buf_slice(&w->meta_key));
    }
}

static bool same_name(const struct at_catalog_record *a, const struct at_catalog_record *b)
{
    return a->kind == b->kind && a->table_generation == b->table_generation &&
           at_slice_eq(a->name, b->name) && at_slice_eq(a->table, b->table);
}

static void remove_dead(struct writer *w,
                        const struct at_catalog *old,
                        const struct at_catalog *new,
                        const struct at_catalog_record *r)
{
    uint64_t from = counter_of(old, r);
    uint64_t to = counter_of(new, r);
    uint32_t parent = 0;

    if (r->kind == AT_CATALOG_TABLE)
        remove_dead_tables(w, old, new, r);
    if (r->kind != AT_CATALOG_FAMILY || to == from)
        return;
    parent = at_local_ids_find(&w->ids, 0, r->table, r->table_generation);
    if (parent == 0)
        return; /* nothing was ever written to that table */
    for (uint32_t i = 0; i < w->ids.count; i++) {
        const struct at_local_id *item = &w->ids.items[i];
        if (item->parent != parent || item->generation < from || item->generation >= to ||
            !at_slice_eq(item->name, r->name))
            continue;
        remove_data(w, parent, item->id);
    }
}

/* At `counter`, or in what a record names. */
static bool was_alive(const struct at_catalog *c, const struct at_local_id *item, uint64_t counter)
{
    const struct at_table *table = at_catalog_table(c, item->name);

    return item->generation >= counter || (table && table->generation == item->generation) ||
           at_catalog_previous(c, item->name, item->generation) != NULL;
}

static void remove_dead_tables(struct writer *w,
                               const struct at_catalog *old,
                               const struct at_catalog *new,
                               const struct at_catalog_record *r)
{
    uint64_t from = counter_of(old, r);
    uint64_t to = counter_of(new, r);

    for (uint32_t i = 0; i < w->ids.count; i++) {
        const struct at_local_id *item = &w->ids.items[i];
        if (item->parent == 0 && at_slice_eq(item->name, r->name) && was_alive(old, item, from) &&
            !was_alive(new, item, to) && !is_removed(w, item->id))
            remove_data(w, item->id, 0);
    }
}

static bool is_removed(const struct writer *w, uint32_t table_id)
{
    for (uint32_t i = 0; i < w->hides.count; i++)
        if (w->hides.tables[i].table_id == table_id)
            return w->hides.tables[i].dead;
    return false;
}

bool writer_keeps(const struct writer *w, struct at_slice table, uint64_t generation)
{
    uint32_t id = at_local_ids_find(&w->ids, 0, table, generation);

    return at_catalog_previous(w->schema->catalog, table, generation) != NULL &&
           (id == 0 || !is_removed(w, id));
}

void writer_remove_deleted(struct writer *w, uint64_t horizon)
{
    for (uint32_t i = 0; i < w->ids.count; i++) {
        const struct at_local_id *item = &w->ids.items[i];
        const struct at_table_previous *p =
            item->parent == 0
                ? at_catalog_previous(w->schema->catalog, item->name, item->generation)
                : NULL;
        const struct at_table *table = p ? at_catalog_table(w->schema->catalog, item->name) : NULL;
        if (!p || (table && table->generation == item->generation) || is_removed(w, item->id) ||
            horizon <= (uint64_t)p->until_micros * 1000 + UNDELETE_MARGIN_NS)
            continue;
        remove_data(w, item->id, 0);
        meta_schema(w, NULL);
        w->round.hides = true;
    }
}

static uint64_t counter_of(const struct at_catalog *c, const struct at_catalog_record *r)
{
    if (r->kind == AT_CATALOG_FAMILY)
        return at_catalog_family_counter(c, r->table, r->table_generation, r->name);
    return at_catalog_named_counter(c, r->kind, r->name);
}

/* Of a family, or (family_id 0) of a table with all its families and markers. What hides rows of a
 * dead table is forgotten at the next start: readers of the round before may still need it. */
static void remove_data(struct writer *w, uint32_t table_id, uint32_t family_id)
{
    uint8_t start[AT_KEY_PREFIX_BYTES] = {0};
    uint8_t end[AT_KEY_PREFIX_BYTES] = {0};

    at_put_be32(start, table_id);
    at_put_be32(start + 4, family_id);
    at_put_be32(end, family_id == 0 ? table_id + 1 : table_id);
    at_put_be32(end + 4, family_id == 0 ? 0 : family_id + 1);
    at_batch_delete_range(w->round.batch, AT_SPACE_CELLS, at_slice_make(start, sizeof(start)),
                          at_slice_make(end, sizeof(end)));
    forget_floors(w, table_id, family_id);
}

/* Compactions drop what is left of the dead, so that they died must be durable. */
static void forget_floors(struct writer *w, uint32_t table_id, uint32_t family_id)
{
    const struct at_hides *h = &w->hides;
    uint8_t key[META_FLOOR_KEY_BYTES];

    for (uint32_t t = 0; t < h->count; t++) {
        const struct at_schema_table *table = &h->tables[t];
        for (uint32_t i = 0; table->table_id == table_id && i < table->floor_count; i++) {
            if (family_id != 0 && table->floors[i].family_id != family_id)
                continue;
            floor_key(key, table_id, table->floors[i].family_id);
            at_batch_delete(w->round.batch, AT_SPACE_META, at_slice_make(key, sizeof(key)));
        }
    }
    at_hides_set_dead(&w->hides, table_id, family_id);
    w->round.sync = true;
}

static void floor_key(uint8_t *ret_key, uint32_t table_id, uint32_t family_id)
{
    ret_key[0] = META_FLOOR;
    at_put_be32(ret_key + 1, table_id);
    at_put_be32(ret_key + 5, family_id);
}

void meta_drop_key(struct at_buf *out, uint32_t table_id, struct at_stamp stamp)
{
    uint8_t key[1 + 4 + AT_KEY_STAMP_BYTES] = {META_DROP};

    at_put_be32(key + 1, table_id);
    at_put_be64(key + 5, ~stamp.hlc);
    at_put_be32(key + 13, ~stamp.origin.v);
    append(out, key, sizeof(key));
}

void meta_drop_gone(void *ctx, uint32_t table_id, struct at_dropped_range drop)
{
    struct writer *w = ctx;

    at_buf_clear(&w->meta_key);
    meta_drop_key(&w->meta_key, table_id, drop.stamp);
    at_batch_delete(w->round.batch, AT_SPACE_META, at_buf_slice(&w->meta_key));
}

static void append(struct at_buf *out, const void *data, size_t len)
{
    enum at_code rc = at_buf_append(out, at_slice_make(data, len));

    AT_ASSERT(rc == AT_OK); /* names are bounded, and so is the key */
}
