#include "base/assert.h"
#include "base/bytes.h"
#include "base/mutant.h"
#include "cluster/model/operation.h"
#include "cluster/model/visible.h"
#include "sim/world.h"

/* What is stored, by the first byte of the key:
 *     c  a catalog record     d  a cell or marker, in the product's key form
 *     l  a log entry          r  a record of the replica
 *     v  the simulator's own book of what is here     x  a dropped row range
 * Local ids are a function of name and generation: that clusters differ in them changes nothing
 * that the rules are about. */

static void apply_row(struct sim_world *w,
                      uint32_t node,
                      const struct at_operation *op,
                      const struct at_entry *e,
                      struct at_member_id origin);
static void
put_mutation(struct sim_world *w, uint32_t node, struct at_key *key, const struct at_mutation *m);
static void apply_drop(struct sim_world *w,
                       uint32_t node,
                       const struct at_operation *op,
                       struct at_stamp stamp);
static void apply_catalog(struct sim_world *w, uint32_t node, const struct at_operation *op);
static void apply_members(struct sim_world *w,
                          uint32_t node,
                          const struct at_operation *op,
                          struct at_position p,
                          const struct at_entry *e);
static void
delete_by_family(struct sim_world *w, uint32_t node, struct at_slice table, struct at_key *key);
static bool is_dead(struct sim_world *w, uint32_t node, const struct at_operation *op);
static struct at_stamp
hidden_of(struct sim_world *w, uint32_t node, uint32_t table_id, struct at_slice row);
static void read_family(struct sim_world *w,
                        uint32_t node,
                        struct at_visible *v,
                        const struct at_key *where,
                        enum at_family_type type,
                        struct sim_row_state *ret_row);
static void take_version(struct sim_world *w,
                         struct at_visible *v,
                         const struct at_key *key,
                         struct at_slice value,
                         enum at_family_type type,
                         struct sim_cell_state *cell);
static int64_t seen_by(struct sim_world *w, struct at_slice sketch);
static void check_schema(struct sim_world *w, uint32_t node);
static void check_row(struct sim_world *w, uint32_t node, uint32_t table, uint32_t row);

static const char *const row_names[SIM_ROWS] = {"a0", "a1", "b0"};
static const char *const table_names[SIM_TABLES] = {"t0", "t1"};

struct at_slice sim_row_name(uint32_t row)
{
    return at_slice_cstr(row_names[row]);
}

uint32_t sim_rows_table_id(uint32_t table, uint64_t generation)
{
    if (AT_MUTANT(generation_kept))
        generation = 1;
    return (uint32_t)generation * 4 + table + 1;
}

uint32_t sim_rows_family_id(uint32_t family, uint64_t generation)
{
    return (uint32_t)generation * 4 + family + 1;
}

struct at_slice sim_rows_key(struct sim_world *w, const struct at_key *key)
{
    at_buf_clear(&w->key);
    enum at_code code = at_buf_append(&w->key, AT_LIT("d"));
    AT_ASSERT(code == AT_OK);
    code = at_key_encode(key, &w->key);
    AT_ASSERT(code == AT_OK);
    return at_buf_slice(&w->key);
}

void sim_rows_apply(struct sim_world *w,
                    uint32_t node,
                    struct at_position p,
                    const struct at_entry *e)
{
    struct at_operation op;

    at_arena_reset(&w->op_arena);
    if (at_operation_decode(e->payload, &w->op_arena, &op) != AT_OK) {
        sim_fail(w, "payload", "an entry does not decode");
        return;
    }
    switch (op.kind) {
    case AT_OPERATION_ROW:
        apply_row(w, node, &op, e, p.origin);
        break;
    case AT_OPERATION_DROP_RANGE:
        apply_drop(w, node, &op, (struct at_stamp){e->hlc, p.origin});
        break;
    case AT_OPERATION_CATALOG:
        apply_catalog(w, node, &op);
        break;
    case AT_OPERATION_MEMBER:
    case AT_OPERATION_LEAVE:
    case AT_OPERATION_REMOVE:
    case AT_OPERATION_RELEASE:
        apply_members(w, node, &op, p, e);
        break;
    }
}

/* A name or generation that is not known yet is kept; one below the known is discarded. */
static bool is_dead(struct sim_world *w, uint32_t node, const struct at_operation *op)
{
    uint64_t known = at_catalog_table_counter(w->nodes[node].catalog, op->table);
    if (op->table_generation == known ||
        (op->table_generation > known && !AT_MUTANT(unknown_discarded)))
        return false;
    w->stats.discarded++;
    return true;
}

static void apply_row(struct sim_world *w,
                      uint32_t node,
                      const struct at_operation *op,
                      const struct at_entry *e,
                      struct at_member_id origin)
{
    uint32_t table = (uint32_t)(op->table.data[1] - '0');
    uint32_t table_id = sim_rows_table_id(table, op->table_generation);

    if (is_dead(w, node, op))
        return;
    for (uint32_t r = 0; r < SIM_ROWS; r++)
        if (at_slice_eq(op->row, sim_row_name(r)))
            w->nodes[node].dirty_rows |= 1u << (table * SIM_ROWS + r);
    for (uint32_t i = 0; i < op->mutation_count; i++) {
        const struct at_mutation *m = &op->mutations[i];
        struct at_key key = {.table = table_id, .row = op->row, .stamp = {e->hlc + i, origin}};
        if (m->kind != AT_MUTATION_DELETE_ROW) {
            uint64_t known = at_catalog_family_counter(w->nodes[node].catalog, op->table,
                                                       op->table_generation, m->family);
            if (m->family_generation < known ||
                (AT_MUTANT(unknown_discarded) && m->family_generation > known))
                continue;
            key.family =
                sim_rows_family_id((uint32_t)(m->family.data[1] - '0'), m->family_generation);
        }
        if (m->kind == AT_MUTATION_DELETE_ROW && AT_MUTANT(row_delete_by_family))
            delete_by_family(w, node, op->table, &key);
        else
            put_mutation(w, node, &key, m);
    }
}

/* A deliberate bug. */
static void
delete_by_family(struct sim_world *w, uint32_t node, struct at_slice table, struct at_key *key)
{
    const struct at_table *t = at_catalog_table(w->nodes[node].catalog, table);

    for (uint32_t i = 0; t != NULL && i < t->family_count; i++) {
        key->kind = AT_KEY_FAMILY_MARKER;
        key->family = sim_rows_family_id((uint32_t)(t->families[i].name.data[1] - '0'),
                                         t->families[i].generation);
        sim_engine_put(&w->nodes[node].engine, sim_rows_key(w, key), AT_LIT(""));
    }
}

static void
put_mutation(struct sim_world *w, uint32_t node, struct at_key *key, const struct at_mutation *m)
{
    uint8_t range[16];
    struct at_slice value = m->value;

    switch (m->kind) {
    case AT_MUTATION_SET:
        key->kind = AT_KEY_CELL;
        break;
    case AT_MUTATION_ADD:
    case AT_MUTATION_MERGE:
        key->kind = AT_KEY_PARTIAL;
        break;
    case AT_MUTATION_DELETE_COLUMN:
        key->kind = AT_KEY_COLUMN_MARKER;
        at_put_be64(range, (uint64_t)m->start_micros);
        at_put_be64(range + 8, (uint64_t)m->end_micros);
        value = at_slice_make(range, sizeof(range));
        break;
    case AT_MUTATION_DELETE_FAMILY:
        key->kind = AT_KEY_FAMILY_MARKER;
        value = AT_LIT("");
        break;
    case AT_MUTATION_DELETE_ROW:
        key->kind = AT_KEY_ROW_MARKER;
        value = AT_LIT("");
        break;
    }
    key->qualifier = m->qualifier;
    key->timestamp_micros = m->timestamp_micros;
    if (AT_MUTANT(tie_local) && key->kind == AT_KEY_CELL && key->stamp.origin.v != node + 1) {
        struct at_key own = *key;
        own.stamp.origin = sim_id(node);
        if (sim_records_find(&w->nodes[node].engine.now, sim_rows_key(w, &own)) != NULL)
            return;
    }
    sim_engine_put(&w->nodes[node].engine, sim_rows_key(w, key), value);
}

static void
apply_drop(struct sim_world *w, uint32_t node, const struct at_operation *op, struct at_stamp stamp)
{
    uint32_t table = (uint32_t)(op->table.data[1] - '0');
    uint8_t key[SIM_DROP_KEY_BYTES + 8] = {'x'};

    if (is_dead(w, node, op))
        return;
    AT_ASSERT(op->row.len <= 8);
    at_put_be32(key + 1, sim_rows_table_id(table, op->table_generation));
    at_put_be64(key + 5, ~stamp.hlc);
    at_put_be32(key + 13, ~stamp.origin.v);
    if (op->row.len > 0)
        memcpy(key + SIM_DROP_KEY_BYTES, op->row.data, op->row.len);
    sim_engine_put(&w->nodes[node].engine, at_slice_make(key, SIM_DROP_KEY_BYTES + op->row.len),
                   AT_LIT(""));
    if (AT_MUTANT(drop_ignores_late))
        sim_drop_now(w, node, at_slice_make(key, SIM_DROP_KEY_BYTES + op->row.len));
    for (uint32_t r = 0; r < SIM_ROWS; r++)
        if (at_slice_has_prefix(sim_row_name(r), op->row))
            w->nodes[node].dirty_rows |= 1u << (table * SIM_ROWS + r);
}

static void apply_catalog(struct sim_world *w, uint32_t node, const struct at_operation *op)
{
    struct sim_node *n = &w->nodes[node];
    struct at_catalog *next = NULL;

    if (at_catalog_apply(n->catalog, op->records, op->record_count, NULL, &next, NULL) != AT_OK) {
        sim_fail(w, "catalog", "a record is refused");
        return;
    }
    at_catalog_free(&n->catalog);
    n->catalog = next;
    sim_rows_store_catalog(w, node);
    n->dirty_rows = (1u << (SIM_TABLES * SIM_ROWS)) - 1;
}

void sim_rows_store_catalog(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    for (uint32_t i = 0; i < at_catalog_record_count(n->catalog); i++) {
        const struct at_catalog_record *r = at_catalog_record_at(n->catalog, i);
        uint8_t key[16] = {'c', (uint8_t)r->kind, r->table.len > 0 ? r->table.data[1] : 0};
        at_put_be64(key + 3, r->table_generation);
        memcpy(key + 11, r->name.data, 2);
        struct at_slice key_slice = at_slice_make(key, 13);
        at_buf_clear(&w->scratch);
        enum at_code code = at_catalog_record_encode(r, &w->scratch);
        AT_ASSERT(code == AT_OK);
        const struct sim_record *old = sim_records_find(&n->engine.now, key_slice);
        if (old == NULL || !at_slice_eq(sim_record_value(old), at_buf_slice(&w->scratch)))
            sim_engine_put(&n->engine, key_slice, at_buf_slice(&w->scratch));
    }
}

void sim_rows_load_catalog(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    at_catalog_free(&n->catalog);
    n->catalog = at_catalog_new();
    for (uint32_t i = sim_records_seek(&n->engine.now, AT_LIT("c")); i < n->engine.now.count; i++) {
        struct at_catalog_record record;
        struct at_catalog *next = NULL;
        struct at_unpack in;
        if (n->engine.now.items[i]->bytes[0] != 'c')
            break;
        at_unpack_init(&in, sim_record_value(n->engine.now.items[i]));
        enum at_code code = at_catalog_record_decode(&in, &record);
        AT_ASSERT(code == AT_OK);
        code = at_catalog_apply(n->catalog, &record, 1, NULL, &next, NULL);
        AT_ASSERT(code == AT_OK);
        at_catalog_free(&n->catalog);
        n->catalog = next;
    }
}

static void apply_members(struct sim_world *w,
                          uint32_t node,
                          const struct at_operation *op,
                          struct at_position p,
                          const struct at_entry *e)
{
    struct at_replica *r = w->nodes[node].replica;
    struct at_removal removal = {.member_count = op->member_count, .fork_id = op->fork_id};

    if (op->kind == AT_OPERATION_MEMBER) {
        struct at_member_seed seed = {.id = op->members[0], .info = op->info};
        at_replica_member_joined(r, &seed, p, e->hlc);
    } else if (op->kind == AT_OPERATION_LEAVE) {
        at_replica_member_left(r, p);
    } else if (op->kind == AT_OPERATION_RELEASE) {
        at_replica_released(r, op->hlc);
    } else {
        memcpy(removal.members, op->members, sizeof(removal.members));
        removal.vouches = AT_ARENA_ARRAY(&w->op_arena, struct at_vouch, op->vouch_count + 1);
        removal.vouch_count = op->vouch_count;
        for (uint32_t i = 0; i < op->vouch_count; i++)
            removal.vouches[i] = (struct at_vouch){op->vouches[i].voucher, op->vouches[i].position};
        at_replica_members_removed(r, &removal);
    }
}

void sim_rows_read(
    struct sim_world *w, uint32_t node, uint32_t table, uint32_t row, struct sim_row_state *ret_row)
{
    const struct at_table *t =
        at_catalog_table(w->nodes[node].catalog, at_slice_cstr(table_names[table]));
    struct at_visible v;

    memset(ret_row, 0, sizeof(*ret_row));
    if (t == NULL)
        return;
    uint32_t table_id = sim_rows_table_id(table, t->generation);
    at_visible_init(&v);
    at_visible_begin_row(&v, hidden_of(w, node, table_id, sim_row_name(row)));
    for (uint32_t i = 0; i < t->family_count; i++) {
        const struct at_family *f = &t->families[i];
        struct at_key where = {
            .table = table_id,
            .family = sim_rows_family_id((uint32_t)(f->name.data[1] - '0'), f->generation),
            .row = sim_row_name(row)};
        at_visible_begin_family(&v);
        read_family(w, node, &v, &where, f->type, ret_row);
    }
    at_visible_deinit(&v);
}

/* The highest stamp of row markers and dropped ranges over the row. */
static struct at_stamp
hidden_of(struct sim_world *w, uint32_t node, uint32_t table_id, struct at_slice row)
{
    const struct sim_records *all = &w->nodes[node].engine.now;
    struct at_stamp hidden = {0};
    uint8_t drops[5] = {'x'};
    struct at_key key;

    at_buf_clear(&w->key);
    enum at_code code = at_buf_append(&w->key, AT_LIT("d"));
    AT_ASSERT(code == AT_OK);
    code = at_key_seek_row(&w->key, table_id, 0, row);
    AT_ASSERT(code == AT_OK);
    uint32_t i = sim_records_seek(all, at_buf_slice(&w->key));
    if (i < all->count && all->items[i]->bytes[0] == 'd' &&
        at_key_decode(at_slice_from(sim_record_key(all->items[i]), 1), &w->scratch, &key) ==
            AT_OK &&
        key.kind == AT_KEY_ROW_MARKER && key.table == table_id && at_slice_eq(key.row, row))
        hidden = key.stamp; /* the newest comes first */

    at_put_be32(drops + 1, table_id);
    for (i = sim_records_seek(all, at_slice_make(drops, 5)); i < all->count; i++) {
        struct at_slice k = sim_record_key(all->items[i]);
        if (!at_slice_has_prefix(k, at_slice_make(drops, 5)))
            break;
        struct at_stamp stamp = {~at_get_be64(k.data + 5), {~at_get_be32(k.data + 13)}};
        if (at_slice_has_prefix(row, at_slice_from(k, SIM_DROP_KEY_BYTES)) &&
            at_stamp_cmp(stamp, hidden) > 0)
            hidden = stamp;
    }
    return hidden;
}

static void read_family(struct sim_world *w,
                        uint32_t node,
                        struct at_visible *v,
                        const struct at_key *where,
                        enum at_family_type type,
                        struct sim_row_state *ret_row)
{
    const struct sim_records *all = &w->nodes[node].engine.now;
    uint32_t family = (where->family - 1) % 4;
    uint32_t column = UINT32_MAX;
    struct at_key key;

    at_buf_clear(&w->key);
    enum at_code code = at_buf_append(&w->key, AT_LIT("d"));
    AT_ASSERT(code == AT_OK);
    code = at_key_seek_row(&w->key, where->table, where->family, where->row);
    AT_ASSERT(code == AT_OK);
    for (uint32_t i = sim_records_seek(all, at_buf_slice(&w->key)); i < all->count; i++) {
        if (all->items[i]->bytes[0] != 'd')
            return;
        code = at_key_decode(at_slice_from(sim_record_key(all->items[i]), 1), &w->scratch, &key);
        AT_ASSERT(code == AT_OK);
        if (key.table != where->table || key.family != where->family ||
            !at_slice_eq(key.row, where->row))
            return;
        if (key.kind == AT_KEY_FAMILY_MARKER) {
            code = at_visible_marker(v, &key, sim_record_value(all->items[i]));
            AT_ASSERT(code == AT_OK);
            continue;
        }
        uint32_t q = (uint32_t)(key.qualifier.data[1] - '0');
        if (q != column)
            at_visible_begin_column(v);
        column = q;
        struct sim_cell_state *cells = ret_row->cells[family][q];
        struct sim_cell_state *cell =
            key.kind == AT_KEY_COLUMN_MARKER ? NULL : &cells[key.timestamp_micros / 1000 - 1];
        take_version(w, v, &key, sim_record_value(all->items[i]), type, cell);
    }
}

static void take_version(struct sim_world *w,
                         struct at_visible *v,
                         const struct at_key *key,
                         struct at_slice value,
                         enum at_family_type type,
                         struct sim_cell_state *cell)
{
    if (key->kind == AT_KEY_COLUMN_MARKER) {
        enum at_code code = at_visible_marker(v, key, value);
        AT_ASSERT(code == AT_OK);
    } else if (key->kind == AT_KEY_CELL && type == AT_FAMILY_PLAIN) {
        if (at_visible_cell(v, key->timestamp_micros, key->stamp))
            *cell = (struct sim_cell_state){true, (int64_t)at_get_be64(value.data)};
    } else if (key->kind == AT_KEY_PARTIAL && sim_rows_fits(type, value)) {
        if (at_visible_partial(v, key->timestamp_micros, key->stamp))
            *cell = (struct sim_cell_state){true, sim_rows_merge(w, type, cell, value)};
    }
}

enum at_family_type
sim_rows_fold_type(const struct sim_world *w, uint32_t node, const struct at_key *key)
{
    uint32_t table = (key->table - 1) % 4;
    const struct at_table *t =
        at_catalog_table(w->nodes[node].catalog, at_slice_cstr(table_names[table]));
    const char name[3] = {'f', (char)('0' + (key->family - 1) % 4), 0};
    const struct at_family *f = t == NULL ? NULL : at_table_family(t, at_slice_cstr(name));

    if (f == NULL || sim_rows_table_id(table, t->generation) != key->table ||
        f->generation != (key->family - 1) / 4)
        return AT_FAMILY_PLAIN;
    return f->type;
}

bool sim_rows_fits(enum at_family_type type, struct at_slice partial)
{
    return type != AT_FAMILY_PLAIN && (partial.len == 8) == (type != AT_FAMILY_HLL);
}

int64_t sim_rows_merge(struct sim_world *w,
                       enum at_family_type type,
                       const struct sim_cell_state *cell,
                       struct at_slice partial)
{
    if (type == AT_FAMILY_HLL)
        return cell->value | seen_by(w, partial);
    int64_t value = (int64_t)at_get_be64(partial.data);
    if (type == AT_FAMILY_SUM)
        return value + cell->value;
    if (!cell->present || (type == AT_FAMILY_MIN) == (value < cell->value))
        return value;
    return cell->value;
}

/* The values that there are leave one entry each. */
static int64_t seen_by(struct sim_world *w, struct at_slice sketch)
{
    int64_t seen = 0;

    at_hll_clear(&w->hll);
    enum at_code code = at_hll_merge(&w->hll, sketch);
    AT_ASSERT(code == AT_OK);
    for (uint32_t i = 0; i < w->hll.entry_count; i++) {
        uint8_t value = 0;
        for (; value < SIM_SKETCH_VALUES; value++) {
            uint8_t one[AT_HLL_ONE_BYTES];
            at_hll_one(at_slice_make(&value, 1), one);
            if (at_get_be32(one + AT_HLL_HEADER_BYTES) == w->hll.entries[i])
                break;
        }
        seen |= INT64_C(1) << value;
    }
    return seen;
}

void sim_rows_check(struct sim_world *w, uint32_t node, bool all)
{
    struct sim_node *n = &w->nodes[node];
    uint32_t rows = all ? (1u << (SIM_TABLES * SIM_ROWS)) - 1 : n->dirty_rows;

    if (n->coverage_moved || all) {
        sim_oracle_schema(&w->oracle, (const sim_coverage *)&n->coverage, &n->schema);
        n->coverage_moved = false;
        check_schema(w, node);
    }
    for (uint32_t t = 0; t < SIM_TABLES && !w->failed; t++)
        for (uint32_t r = 0; r < SIM_ROWS; r++)
            if (rows >> (t * SIM_ROWS + r) & 1)
                check_row(w, node, t, r);
    n->dirty_rows = 0;
}

static void check_schema(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    for (uint32_t t = 0; t < SIM_TABLES; t++) {
        struct at_slice name = at_slice_cstr(table_names[t]);
        const struct sim_table_state *want = &n->schema.tables[t];
        if (at_catalog_table_counter(n->catalog, name) != want->counter) {
            sim_fail(w, "schema", "cluster %u, table %u: counter %u wanted", node, t,
                     want->counter);
            return;
        }
        const struct at_table *table = at_catalog_table(n->catalog, name);
        for (uint32_t f = 0; table != NULL && f < SIM_FAMILIES; f++) {
            const char family_name[3] = {'f', (char)('0' + f), 0};
            const struct at_family *family = at_table_family(table, at_slice_cstr(family_name));
            bool present = want->families[f].counter % 2 == 1;
            if ((family != NULL) != present ||
                (present && (family->generation != want->families[f].counter ||
                             family->type != want->families[f].type)))
                sim_fail(w, "schema", "cluster %u, table %u, family %u differs", node, t, f);
        }
    }
}

static void check_row(struct sim_world *w, uint32_t node, uint32_t table, uint32_t row)
{
    struct sim_node *n = &w->nodes[node];
    struct sim_row_state want;
    struct sim_row_state is;

    w->stats.rows_checked++;
    sim_oracle_row(&w->oracle, (const sim_coverage *)&n->coverage, &n->schema, table, row, &want);
    sim_rows_read(w, node, table, row, &is);
    for (uint32_t f = 0; f < SIM_FAMILIES; f++)
        for (uint32_t q = 0; q < SIM_COLUMNS; q++)
            for (uint32_t t = 0; t < SIM_TIMES; t++) {
                const struct sim_cell_state *a = &want.cells[f][q][t];
                const struct sim_cell_state *b = &is.cells[f][q][t];
                sim_hash(w, b->present ? (uint64_t)b->value : 0);
                if (a->present != b->present || a->value != b->value)
                    sim_fail(w, "rows",
                             "cluster %u, table %u, row %s, f%u:q%u at %u: wanted %s %lld, is "
                             "%s %lld",
                             node, table, row_names[row], f, q, t,
                             a->present ? "present" : "absent", (long long)a->value,
                             b->present ? "present" : "absent", (long long)b->value);
            }
}
