#include "base/assert.h"
#include "base/bytes.h"
#include "base/mutant.h"
#include "sim/world.h"

/* Forgetting takes a marker at or below the horizon together with all it covers, and folds the adds
 * at or below it, in one batch. Compaction drops what is covered or overwritten, and dead
 * generations; every marker stays. */

struct item {
    struct sim_record *record;
    struct at_key key;     /* of a cell or marker */
    struct at_slice value; /* of a drop: its prefix */
    bool drop;
    bool gone;
};

/* first .. behind-1 of count, of a family of this type. */
struct span {
    uint32_t first;
    uint32_t behind;
    uint32_t count;
    enum at_family_type type;
};

static uint32_t collect(struct sim_world *w, uint32_t node, struct item **ret_items);
static bool is_marker(const struct item *i);
static bool stays(const struct item *marker, uint32_t index);
static bool covers(const struct item *marker, const struct item *i);
static bool covered(const struct item *items, uint32_t count, uint32_t at);
static void
fold(struct sim_world *w, uint32_t node, struct item *items, uint32_t count, uint64_t horizon);
static void fold_column(struct sim_world *w, uint32_t node, struct item *items, struct span s);
static struct at_slice put_folded(enum at_family_type type, int64_t all, uint8_t *out);
static bool same_version_place(const struct at_key *a, const struct at_key *b);
static bool dead(struct sim_world *w, uint32_t node, const struct item *i);

void sim_forget(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct item *items = NULL;
    bool some = sim_below(w, 2) == 0;

    if (n->view.mode != AT_MODE_READY)
        return;
    uint64_t horizon = at_replica_store_horizon(n->replica);
    uint64_t fold_to = AT_MUTANT(fold_above_horizon) ? UINT64_MAX : horizon;
    if (AT_MUTANT(forget_above_horizon))
        horizon = UINT64_MAX;
    uint32_t count = collect(w, node, &items);
    for (uint32_t m = 0; m < count; m++) {
        if (!is_marker(&items[m]) || items[m].gone || items[m].key.stamp.hlc > horizon ||
            (some && sim_below(w, 2) == 0))
            continue;
        w->stats.forgets++;
        for (uint32_t i = 0; i < count; i++)
            if (!items[i].gone && covers(&items[m], &items[i]) && !stays(&items[m], i)) {
                items[i].gone = true;
                sim_engine_delete(&n->engine, sim_record_key(items[i].record));
            }
        items[m].gone = true;
        sim_engine_delete(&n->engine, sim_record_key(items[m].record));
    }
    fold(w, node, items, count, fold_to);
    for (uint32_t i = 0; i < count; i++)
        if (items[i].gone && !items[i].drop)
            n->dirty_rows = (1u << (SIM_TABLES * SIM_ROWS)) - 1;
    sim_commit(w, node, false);
}

/* Deliberate bugs only. */
static bool stays(const struct item *marker, uint32_t index)
{
    return (AT_MUTANT(marker_without_covered) && index % 2 == 1) ||
           (AT_MUTANT(drop_forgotten_early) && marker->drop);
}

void sim_drop_now(struct sim_world *w, uint32_t node, struct at_slice drop_key)
{
    struct sim_engine *e = &w->nodes[node].engine;
    struct item *items = NULL;
    uint32_t count = collect(w, node, &items);

    for (uint32_t m = 0; m < count; m++) {
        if (!items[m].drop || !at_slice_eq(sim_record_key(items[m].record), drop_key))
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (covers(&items[m], &items[i]))
                sim_engine_delete(e, sim_record_key(items[i].record));
        sim_engine_delete(e, sim_record_key(items[m].record));
    }
}

void sim_compact(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct item *items = NULL;
    uint32_t count = collect(w, node, &items);

    if (n->view.mode == AT_MODE_COPYING)
        return;
    for (uint32_t i = 0; i < count; i++) {
        bool drop = dead(w, node, &items[i]);
        if (!is_marker(&items[i]))
            drop = drop || covered(items, count, i);
        /* Versions of one place stand together, the newest first. */
        if (i > 0 && items[i].key.kind == AT_KEY_CELL && !items[i].drop && !items[i - 1].drop)
            drop = drop || same_version_place(&items[i - 1].key, &items[i].key);
        items[i].gone = drop && sim_below(w, 3) != 0;
    }
    for (uint32_t i = 0; i < count; i++)
        if (items[i].gone)
            sim_engine_delete(&n->engine, sim_record_key(items[i].record));
    n->dirty_rows = (1u << (SIM_TABLES * SIM_ROWS)) - 1;
    sim_commit(w, node, false);
}

/* The items live in the operation's arena; their records until they are deleted are held by the
 * undo list. */
static uint32_t collect(struct sim_world *w, uint32_t node, struct item **ret_items)
{
    const struct sim_records *all = &w->nodes[node].engine.now;
    uint32_t count = 0;

    at_arena_reset(&w->op_arena);
    struct item *items = AT_ARENA_ARRAY(&w->op_arena, struct item, all->count + 1);
    for (uint32_t i = 0; i < all->count; i++) {
        struct sim_record *r = all->items[i];
        struct item *it = &items[count];
        it->record = r;
        it->value = sim_record_value(r);
        if (r->bytes[0] == 'd') {
            enum at_code code =
                at_key_decode(at_slice_from(sim_record_key(r), 1), &w->scratch, &it->key);
            AT_ASSERT(code == AT_OK);
            count++;
        } else if (r->bytes[0] == 'x') {
            it->drop = true;
            it->key.table = at_get_be32(r->bytes + 1);
            it->key.stamp =
                (struct at_stamp){~at_get_be64(r->bytes + 5), {~at_get_be32(r->bytes + 13)}};
            it->value = at_slice_from(sim_record_key(r), SIM_DROP_KEY_BYTES);
            count++;
        }
    }
    *ret_items = items;
    return count;
}

static bool is_marker(const struct item *i)
{
    return i->drop || (i->key.kind != AT_KEY_CELL && i->key.kind != AT_KEY_PARTIAL);
}

static bool covers(const struct item *m, const struct item *i)
{
    if (m == i || m->key.table != i->key.table || at_stamp_cmp(i->key.stamp, m->key.stamp) >= 0 ||
        i->drop)
        return false;
    if (m->drop)
        return at_slice_has_prefix(i->key.row, m->value);
    if (!at_slice_eq(m->key.row, i->key.row))
        return false;
    if (m->key.kind == AT_KEY_ROW_MARKER)
        return true;
    if (m->key.family != i->key.family || i->key.kind == AT_KEY_ROW_MARKER)
        return false;
    if (m->key.kind == AT_KEY_FAMILY_MARKER)
        return true;
    if (is_marker(i) || !at_slice_eq(m->key.qualifier, i->key.qualifier))
        return false;
    int64_t start = (int64_t)at_get_be64(m->value.data);
    int64_t end = (int64_t)at_get_be64(m->value.data + 8);
    return start <= i->key.timestamp_micros && (end == 0 || i->key.timestamp_micros < end);
}

static bool covered(const struct item *items, uint32_t count, uint32_t at)
{
    for (uint32_t m = 0; m < count; m++)
        if (!items[m].gone && is_marker(&items[m]) && covers(&items[m], &items[at]))
            return true;
    return false;
}

static void
fold(struct sim_world *w, uint32_t node, struct item *items, uint32_t count, uint64_t horizon)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t behind = i + 1;
        enum at_family_type type = items[i].drop || items[i].key.kind != AT_KEY_PARTIAL
                                       ? AT_FAMILY_PLAIN
                                       : sim_rows_fold_type(w, node, &items[i].key);
        if (type == AT_FAMILY_PLAIN) {
            i++;
            continue;
        }
        while (behind < count && !items[behind].drop &&
               same_version_place(&items[i].key, &items[behind].key))
            behind++;
        /* Newest first: the foldable ones are at the end. */
        while (i < behind && items[i].key.stamp.hlc > horizon)
            i++;
        fold_column(w, node, items, (struct span){i, behind, count, type});
        i = behind;
    }
}

/* A fold holds only adds that no marker covers; its stamp is the highest among them. */
static void fold_column(struct sim_world *w, uint32_t node, struct item *items, struct span s)
{
    struct sim_engine *e = &w->nodes[node].engine;
    const struct item *newest = NULL;
    bool as_sum = AT_MUTANT(fold_as_sum) && s.type != AT_FAMILY_HLL;
    enum at_family_type type = as_sum ? AT_FAMILY_SUM : s.type;
    struct sim_cell_state all = {0};
    uint8_t value[AT_HLL_HEADER_BYTES + AT_HLL_ENTRY_BYTES * SIM_SKETCH_VALUES];
    uint32_t folded = 0;

    for (uint32_t i = s.first; i < s.behind; i++) {
        if (items[i].gone || !sim_rows_fits(s.type, items[i].value) || covered(items, s.count, i))
            continue;
        all = (struct sim_cell_state){true, sim_rows_merge(w, type, &all, items[i].value)};
        folded++;
        if (newest != NULL) {
            items[i].gone = true;
            if (!AT_MUTANT(partial_twice))
                sim_engine_delete(e, sim_record_key(items[i].record));
        } else {
            newest = &items[i];
        }
    }
    if (folded < 2)
        return;
    w->stats.folds++;
    sim_engine_put(e, sim_record_key(newest->record), put_folded(s.type, all.value, value));
    w->nodes[node].dirty_rows = (1u << (SIM_TABLES * SIM_ROWS)) - 1;
}

static struct at_slice put_folded(enum at_family_type type, int64_t all, uint8_t *out)
{
    struct at_hll hll = {0};
    size_t len = 8;

    at_put_be64(out, (uint64_t)all);
    if (type == AT_FAMILY_HLL) {
        for (uint8_t v = 0; v < SIM_SKETCH_VALUES; v++)
            if (all >> v & 1)
                at_hll_add(&hll, at_slice_make(&v, 1));
        len = at_hll_encode(&hll, out);
        at_hll_deinit(&hll);
    }
    return at_slice_make(out, len);
}

static bool same_version_place(const struct at_key *a, const struct at_key *b)
{
    return a->kind == b->kind && a->table == b->table && a->family == b->family &&
           a->timestamp_micros == b->timestamp_micros && at_slice_eq(a->row, b->row) &&
           at_slice_eq(a->qualifier, b->qualifier);
}

/* Of a generation below the one that is known. */
static bool dead(struct sim_world *w, uint32_t node, const struct item *i)
{
    uint32_t table = (i->key.table - 1) % 4;
    uint64_t generation = (i->key.table - 1) / 4;
    const char name[3] = {'t', (char)('0' + table), 0};

    return generation < at_catalog_table_counter(w->nodes[node].catalog, at_slice_cstr(name));
}
