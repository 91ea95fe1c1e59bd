#include "cluster/tablet/writer.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/tablet/fold.h"

/* The hot path. A row operation is looked at twice: first everything that can refuse it, then
 * everything it does, so that a refused one leaves nothing behind.
 *
 * Keys are built in one buffer: prefix and row stay as long as the family does, then each mutation
 * puts its qualifier and end behind them. */

struct family_cache {
    struct at_slice name;
    const struct at_family *family;
};

static enum at_code resolve_mutation(struct writer *w,
                                     const struct at_family *family,
                                     struct at_mutation *m,
                                     int64_t server_micros,
                                     struct at_error *reterr);
static bool state_fits(const struct at_family *family, const struct at_mutation *m);
static bool input_fits(const struct at_family *family, const struct at_mutation *m);
static const char *wanted_input(const struct at_family *family, enum at_mutation_kind kind);
static void make_partial(struct writer *w, const struct at_family *family, struct at_mutation *m);
static enum at_code
check_type(const struct at_family *family, const struct at_mutation *m, struct at_error *reterr);
static int64_t cut(int64_t micros, int64_t granularity);
static void
put_mutation(struct writer *w, const struct at_mutation *m, size_t row_len, struct at_stamp stamp);
static void put_row_marker(struct writer *w, const struct row_op *op, struct at_stamp stamp);
static void must(enum at_code rc);

enum at_code row_no_family(struct at_slice row, struct at_slice full_name, struct at_error *reterr)
{
    return at_fail(
        reterr, AT_NOT_FOUND,
        "Error while mutating the row '%.*s' (%.*s) : Requested column family not found.",
        AT_SLICE_ARG(row), AT_SLICE_ARG(full_name));
}

enum at_code row_resolve(struct writer *w,
                         const struct at_table *table,
                         struct at_slice full_name,
                         const struct at_row_mutations *row,
                         int64_t server_micros,
                         struct at_error *reterr)
{
    struct family_cache cache = {{NULL, 0}, NULL};
    int64_t now_micros = server_micros > 0 ? server_micros : (int64_t)(w->round.wall_ns / 1000);
    int64_t server = cut(now_micros, table->fields.granularity_micros);

    row_reserve_ids(w, row->mutation_count);
    at_arena_reset(&w->arena);
    for (uint32_t i = 0; i < row->mutation_count; i++) {
        struct at_mutation *m = &row->mutations[i];
        if (m->kind == AT_MUTATION_DELETE_ROW) {
            w->family_ids[i] = 0;
            continue;
        }
        if (cache.family == NULL || !at_slice_eq(cache.name, m->family)) {
            cache.family = at_table_family(table, m->family);
            cache.name = m->family;
        }
        if (cache.family == NULL)
            return row_no_family(row->row, full_name, reterr);
        AT_TRY(resolve_mutation(w, cache.family, m, server, reterr));
        w->family_ids[i] = cache.family->id;
    }
    return AT_OK;
}

enum at_code row_check(const struct at_table *table,
                       struct at_slice full_name,
                       const struct at_row_mutations *row,
                       struct at_error *reterr)
{
    for (uint32_t i = 0; i < row->mutation_count; i++) {
        const struct at_mutation *m = &row->mutations[i];
        if (m->kind == AT_MUTATION_DELETE_ROW)
            continue;
        const struct at_family *family = at_table_family(table, m->family);
        if (family == NULL)
            return row_no_family(row->row, full_name, reterr);
        AT_TRY(check_type(family, m, reterr));
    }
    return AT_OK;
}

bool row_write(struct writer *w,
               const struct at_table *table,
               const struct at_row_mutations *row,
               enum at_code *ret_code,
               struct at_error *reterr)
{
    struct at_operation op = {
        .kind = AT_OPERATION_ROW,
        .table = table->name,
        .table_generation = table->generation,
        .row = row->row,
        .mutations = row->mutations,
        .mutation_count = row->mutation_count,
        .has_token = row->token.len > 0,
        .token = row->token_id,
    };
    size_t size = at_operation_size_max(&op);

    AT_ASSERT(row->mutation_count > 0);
    *ret_code = AT_OK;
    if (size > AT_ENTRY_BYTES_MAX) {
        *ret_code = at_fail(reterr, AT_INVALID_ARGUMENT,
                            "The mutations of one row take %zu bytes, more than %zu", size,
                            (size_t)AT_ENTRY_BYTES_MAX);
        return true;
    }
    if (!round_room(w, size))
        return false;
    uint64_t hlc = round_own(w, &op, row->mutation_count, size);
    struct row_op put = {
        .table_id = table->id,
        .row = row->row,
        .mutations = row->mutations,
        .count = row->mutation_count,
        .first = {hlc, w->store->config.replica.self},
    };
    row_put(w, &put);
    if (op.has_token)
        token_note(w, op.token, hlc);
    round_touch(w, table->id, row->row);
    return true;
}

void row_put(struct writer *w, const struct row_op *op)
{
    uint32_t family_id = 0;
    size_t row_len = 0;

    for (uint32_t i = 0; i < op->count; i++) {
        const struct at_mutation *m = &op->mutations[i];
        struct at_stamp stamp = {op->first.hlc + i, op->first.origin};
        if (m->kind == AT_MUTATION_DELETE_ROW) {
            put_row_marker(w, op, stamp);
            family_id = 0; /* the key buffer was used */
            continue;
        }
        if (w->family_ids[i] == 0)
            continue; /* of a dead generation */
        if (m->kind == AT_MUTATION_MERGE && m->value.len == 0)
            continue; /* merging nothing */
        if (w->family_ids[i] != family_id) {
            family_id = w->family_ids[i];
            at_buf_clear(&w->key);
            must(at_key_put_row(&w->key, op->table_id, family_id, op->row));
            row_len = w->key.len;
        }
        w->key.len = row_len;
        put_mutation(w, m, row_len, stamp);
    }
}

void row_reserve_ids(struct writer *w, uint32_t count)
{
    if (count <= w->family_ids_cap)
        return;
    uint32_t cap = w->family_ids_cap < 64 ? 64 : w->family_ids_cap;
    while (cap < count)
        cap *= 2;
    w->family_ids = at_realloc(w->family_ids, cap * sizeof(*w->family_ids));
    w->family_ids_cap = cap;
}

static enum at_code resolve_mutation(struct writer *w,
                                     const struct at_family *family,
                                     struct at_mutation *m,
                                     int64_t server_micros,
                                     struct at_error *reterr)
{
    m->family_generation = (uint32_t)family->generation;
    switch (m->kind) {
    case AT_MUTATION_SET:
    case AT_MUTATION_ADD:
    case AT_MUTATION_MERGE:
        break;
    case AT_MUTATION_DELETE_COLUMN:
    case AT_MUTATION_DELETE_FAMILY:
    case AT_MUTATION_DELETE_ROW:
        return AT_OK;
    }
    if (m->timestamp_micros == AT_TIMESTAMP_SERVER)
        m->timestamp_micros = server_micros;
    if (m->timestamp_micros < 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Timestamps must be >= -1");
    AT_TRY(check_type(family, m, reterr));
    if (family->type == AT_FAMILY_HLL && m->kind == AT_MUTATION_ADD)
        make_partial(w, family, m);
    return AT_OK;
}

/* What is logged and stored is the sketch of the one value: a cluster that does not know the family
 * yet can keep it as it is. It lives until the next row. */
static void make_partial(struct writer *w, const struct at_family *family, struct at_mutation *m)
{
    uint8_t *state = at_arena_alloc_raw(&w->arena, AT_HLL_ONE_BYTES);

    AT_ASSERT(family->type == AT_FAMILY_HLL);
    at_hll_one(m->value, state);
    m->value = at_slice_make(state, AT_HLL_ONE_BYTES);
    m->kind = AT_MUTATION_MERGE;
}

static enum at_code
check_type(const struct at_family *family, const struct at_mutation *m, struct at_error *reterr)
{
    bool adds = m->kind == AT_MUTATION_ADD || m->kind == AT_MUTATION_MERGE;

    if (!adds && (m->kind != AT_MUTATION_SET || family->type == AT_FAMILY_PLAIN))
        return AT_OK;
    if (!adds)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "SetCell is not allowed in the aggregate family '%.*s'",
                       AT_SLICE_ARG(family->name));
    if (family->type == AT_FAMILY_PLAIN)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "%s is only allowed in an aggregate family, and '%.*s' is none",
                       m->kind == AT_MUTATION_ADD ? "AddToCell" : "MergeToCell",
                       AT_SLICE_ARG(family->name));
    if (m->kind == AT_MUTATION_MERGE && m->value.len == 0)
        return AT_OK; /* merging nothing */
    if (m->kind == AT_MUTATION_MERGE ? state_fits(family, m) : input_fits(family, m))
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT,
                   "the input of %s in the aggregate family '%.*s' must be %s",
                   m->kind == AT_MUTATION_ADD ? "AddToCell" : "MergeToCell",
                   AT_SLICE_ARG(family->name), wanted_input(family, m->kind));
}

static bool state_fits(const struct at_family *family, const struct at_mutation *m)
{
    bool state =
        family->type == AT_FAMILY_HLL ? m->input == AT_INPUT_BYTES : m->input == AT_INPUT_INT;

    return (state || m->input == AT_INPUT_RAW) && at_fold_fits(family->type, m->value);
}

static bool input_fits(const struct at_family *family, const struct at_mutation *m)
{
    bool raw = m->input == AT_INPUT_RAW;

    switch (family->input) {
    case AT_FAMILY_INPUT_ANY:
        return true;
    case AT_FAMILY_INPUT_INT:
        return m->input == AT_INPUT_INT || (raw && m->value.len == AT_FOLD_INT_BYTES);
    case AT_FAMILY_INPUT_BYTES:
        return raw || m->input == AT_INPUT_BYTES;
    case AT_FAMILY_INPUT_STRING:
        break;
    }
    return raw || m->input == AT_INPUT_STRING;
}

static const char *wanted_input(const struct at_family *family, enum at_mutation_kind kind)
{
    if (kind == AT_MUTATION_MERGE && family->type == AT_FAMILY_HLL)
        return "the state of a unique count";
    switch (family->input) {
    case AT_FAMILY_INPUT_ANY:
    case AT_FAMILY_INPUT_INT:
        break;
    case AT_FAMILY_INPUT_BYTES:
        return "bytes";
    case AT_FAMILY_INPUT_STRING:
        return "a string";
    }
    return "a 64-bit integer";
}

static int64_t cut(int64_t micros, int64_t granularity)
{
    return granularity > 1 ? micros - micros % granularity : micros;
}

/* The key buffer holds prefix and row. */
static void
put_mutation(struct writer *w, const struct at_mutation *m, size_t row_len, struct at_stamp stamp)
{
    struct at_slice value = m->value;
    uint8_t range[16];

    AT_ASSERT(w->key.len == row_len);
    switch (m->kind) {
    case AT_MUTATION_SET:
        must(at_key_put_qualifier(&w->key, m->qualifier));
        must(at_key_put_cell_end(&w->key, m->timestamp_micros, stamp));
        break;
    case AT_MUTATION_ADD:
    case AT_MUTATION_MERGE:
        must(at_key_put_qualifier(&w->key, m->qualifier));
        must(at_key_put_partial_end(&w->key, m->timestamp_micros, stamp));
        break;
    case AT_MUTATION_DELETE_COLUMN:
        must(at_key_put_qualifier(&w->key, m->qualifier));
        must(at_key_put_marker_end(&w->key, stamp));
        at_put_be64(range, (uint64_t)m->start_micros);
        at_put_be64(range + 8, (uint64_t)m->end_micros);
        value = at_slice_make(range, sizeof(range));
        break;
    case AT_MUTATION_DELETE_FAMILY:
        must(at_key_put_marker_end(&w->key, stamp));
        value = at_slice_make(NULL, 0);
        break;
    case AT_MUTATION_DELETE_ROW:
        AT_ASSERT(!"a row marker has no family");
        return;
    }
    at_batch_put(w->round.batch, AT_SPACE_CELLS, at_buf_slice(&w->key), value);
}

static void put_row_marker(struct writer *w, const struct row_op *op, struct at_stamp stamp)
{
    writer_note_row_markers(w, op->table_id);
    at_buf_clear(&w->key);
    must(at_key_put_row(&w->key, op->table_id, 0, op->row));
    must(at_key_put_marker_end(&w->key, stamp));
    at_batch_put(w->round.batch, AT_SPACE_CELLS, at_buf_slice(&w->key), at_slice_make(NULL, 0));
}

/* Rows and qualifiers are bounded, and so is the key. */
static void must(enum at_code rc)
{
    AT_ASSERT(rc == AT_OK);
}
