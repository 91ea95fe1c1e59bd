#include "cluster/tablet/writer.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/tablet/read.h"

#include <stdlib.h>

/* ReadModifyWriteRow. The columns of all rules are read once, the rules then run over them in
 * memory, and the final state of each column becomes one SetCell of an ordinary row operation: so
 * it replicates like any other write. Working memory is the asker's arena.
 *
 * A column that has cells keeps its newest timestamp when that is ahead of the clock, or the new
 * value would not be the newest one. */

#define COLUMNS_FILTERED_MAX 16 /* with more columns, the whole row is read */
#define INTEGER_BYTES 8

struct column {
    struct at_slice family;
    struct at_slice qualifier;
    int64_t timestamp_micros; /* of the newest cell, 0: none */
    uint8_t *value;           /* NULL: there is no cell */
    size_t len;
    size_t cap;
};

struct modify {
    struct writer *w;
    struct at_write_modify *write;
    struct column *columns; /* ascending by family and qualifier, each once */
    uint32_t count;

    /* the filter that reads the newest cell of each column; a filter borrows its nodes */
    struct at_filter_node ranges[COLUMNS_FILTERED_MAX];
    struct at_filter_node *any_of[COLUMNS_FILTERED_MAX];
    struct at_filter_node any;
    struct at_filter_node newest;
    struct at_filter_node *both_of[2];
    struct at_filter_node both;
};

static enum at_code prepare(struct modify *m, const struct at_table *table, struct at_error *e);
static enum at_code
check_families(const struct modify *m, const struct at_table *table, struct at_error *reterr);
static void list_columns(struct modify *m);
static int column_cmp(const void *a, const void *b);
static struct column *
find_column(const struct modify *m, struct at_slice family, struct at_slice qualifier);
static enum at_code read_columns(struct modify *m, struct at_error *reterr);
static enum at_code
make_filter(struct modify *m, struct at_filter **ret_filter, struct at_error *reterr);
static void take_cell(void *ctx, const struct at_cell *cell);
static void ignore_row(void *ctx, struct at_slice row);
static void ignore_end(void *ctx);
static enum at_code run_rules(struct modify *m, struct at_error *reterr);
static enum at_code
append(struct modify *m, struct column *c, struct at_slice bytes, struct at_error *reterr);
static enum at_code increment(struct modify *m,
                              struct column *c,
                              const struct at_modify_rule *rule,
                              struct at_error *reterr);
static bool store_columns(struct modify *m, const struct at_table *table, enum at_code *ret_code);

void write_modify(struct writer *w, struct at_write_modify *write)
{
    struct modify m = {.w = w, .write = write};
    struct at_error *error = &write->base.error;

    write->ret_cells = NULL;
    write->ret_cell_count = 0;
    enum at_code code = round_may_write(w, error);
    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    const struct at_table *table = at_catalog_table(w->schema->catalog, write->table);
    code = at_table_serves(table, write->full_name, error);
    if (code == AT_OK)
        code = prepare(&m, table, error);
    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    AT_ASSERT(table != NULL);
    if (!round_settle(w, table->id, write->row)) {
        round_refuse(w, &write->base);
        return;
    }
    code = read_columns(&m, error);
    if (code == AT_OK)
        code = run_rules(&m, error);
    if (code == AT_OK && !store_columns(&m, table, &code)) {
        round_refuse(w, &write->base);
        return;
    }
    round_answer(w, &write->base, code);
}

static enum at_code prepare(struct modify *m, const struct at_table *table, struct at_error *reterr)
{
    if (m->write->rule_count == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "No rules provided");
    AT_TRY(check_families(m, table, reterr));
    list_columns(m);
    return AT_OK;
}

static enum at_code
check_families(const struct modify *m, const struct at_table *table, struct at_error *reterr)
{
    const struct at_family *family = NULL;

    for (uint32_t i = 0; i < m->write->rule_count; i++) {
        struct at_slice name = m->write->rules[i].family;
        if (family == NULL || !at_slice_eq(family->name, name))
            family = at_table_family(table, name);
        if (family == NULL)
            return row_no_family(m->write->row, m->write->full_name, reterr);
        if (family->type != AT_FAMILY_PLAIN)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "ReadModifyWriteRow is not allowed in the aggregate family '%.*s'",
                           AT_SLICE_ARG(name));
    }
    return AT_OK;
}

static void list_columns(struct modify *m)
{
    const struct at_write_modify *write = m->write;
    uint32_t unique = 0;

    m->columns = AT_ARENA_ARRAY(write->arena, struct column, write->rule_count);
    for (uint32_t i = 0; i < write->rule_count; i++)
        m->columns[i] = (struct column){
            .family = write->rules[i].family,
            .qualifier = write->rules[i].qualifier,
        };
    if (write->rule_count > 1)
        qsort(m->columns, write->rule_count, sizeof(*m->columns), column_cmp);
    for (uint32_t i = 0; i < write->rule_count; i++)
        if (i == 0 || column_cmp(&m->columns[unique - 1], &m->columns[i]) != 0)
            m->columns[unique++] = m->columns[i];
    m->count = unique;
}

static int column_cmp(const void *a, const void *b)
{
    const struct column *x = a;
    const struct column *y = b;
    int c = at_slice_cmp(x->family, y->family);

    return c != 0 ? c : at_slice_cmp(x->qualifier, y->qualifier);
}

static struct column *
find_column(const struct modify *m, struct at_slice family, struct at_slice qualifier)
{
    struct column key = {.family = family, .qualifier = qualifier};

    return bsearch(&key, m->columns, m->count, sizeof(key), column_cmp);
}

static enum at_code read_columns(struct modify *m, struct at_error *reterr)
{
    struct at_filter *filter AT_CLEANUP(at_filter_free) = NULL;
    struct at_read_sink sink = {m, ignore_row, take_cell, ignore_end};

    AT_TRY(make_filter(m, &filter, reterr));
    return at_read_row(m->w->store, m->write->table, m->write->row, filter, &sink, reterr);
}

static enum at_code
make_filter(struct modify *m, struct at_filter **ret_filter, struct at_error *reterr)
{
    m->newest = (struct at_filter_node){.kind = AT_FILTER_CELLS_PER_COLUMN_LIMIT, .number = 1};
    if (m->count > COLUMNS_FILTERED_MAX)
        return at_filter_compile(&m->newest, ret_filter, reterr);
    for (uint32_t i = 0; i < m->count; i++) {
        struct at_filter_bound at = {.set = true, .bytes = m->columns[i].qualifier};
        m->ranges[i] = (struct at_filter_node){
            .kind = AT_FILTER_COLUMN_RANGE,
            .bytes = m->columns[i].family,
            .start = at,
            .end = at,
        };
        m->any_of[i] = &m->ranges[i];
    }
    m->any = (struct at_filter_node){
        .kind = AT_FILTER_INTERLEAVE, .children = m->any_of, .child_count = m->count};
    m->both_of[0] = m->count == 1 ? &m->ranges[0] : &m->any;
    m->both_of[1] = &m->newest;
    m->both =
        (struct at_filter_node){.kind = AT_FILTER_CHAIN, .children = m->both_of, .child_count = 2};
    return at_filter_compile(&m->both, ret_filter, reterr);
}

static void take_cell(void *ctx, const struct at_cell *cell)
{
    const struct modify *m = ctx;
    struct column *c = find_column(m, cell->family, cell->qualifier);

    if (c == NULL || c->value != NULL)
        return;
    c->timestamp_micros = cell->timestamp_micros;
    c->len = cell->value.len;
    c->cap = c->len;
    c->value = at_arena_alloc_raw(m->write->arena, c->cap);
    if (c->len > 0)
        memcpy(c->value, cell->value.data, c->len);
}

static void ignore_row(void *ctx, struct at_slice row)
{
    (void)ctx;
    (void)row;
}

static void ignore_end(void *ctx)
{
    (void)ctx;
}

static enum at_code run_rules(struct modify *m, struct at_error *reterr)
{
    for (uint32_t i = 0; i < m->write->rule_count; i++) {
        const struct at_modify_rule *rule = &m->write->rules[i];
        struct column *c = find_column(m, rule->family, rule->qualifier);
        AT_ASSERT(c != NULL);
        if (rule->kind == AT_RULE_APPEND)
            AT_TRY(append(m, c, rule->append, reterr));
        else
            AT_TRY(increment(m, c, rule, reterr));
    }
    return AT_OK;
}

static enum at_code
append(struct modify *m, struct column *c, struct at_slice bytes, struct at_error *reterr)
{
    if (bytes.len > AT_VALUE_BYTES_MAX - c->len)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Appending would make a value of %zu bytes, more than %zu",
                       c->len + bytes.len, (size_t)AT_VALUE_BYTES_MAX);
    AT_ASSERT(c->value != NULL || c->len == 0);
    if (c->value == NULL || c->len + bytes.len > c->cap) {
        uint8_t *old = c->value;
        c->cap = c->len + bytes.len < 2 * c->len ? 2 * c->len : c->len + bytes.len;
        c->value = at_arena_alloc_raw(m->write->arena, c->cap);
        if (c->len > 0)
            memcpy(c->value, old, c->len);
    }
    if (bytes.len > 0)
        memcpy(c->value + c->len, bytes.data, bytes.len);
    c->len += bytes.len;
    return AT_OK;
}

/* A column without a cell counts as 0. One that an earlier rule left with an empty value does not:
 * it is no 64-bit value. */
static enum at_code increment(struct modify *m,
                              struct column *c,
                              const struct at_modify_rule *rule,
                              struct at_error *reterr)
{
    uint64_t old = 0;

    if (c->value != NULL && c->len != INTEGER_BYTES)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "Cannot increment value '%.*s' (family=%.*s, qualifier=%.*s). The increment "
                       "operation can only be performed on 64-bit values",
                       (int)(c->len < 64 ? c->len : 64), (const char *)c->value,
                       AT_SLICE_ARG(c->family), AT_SLICE_ARG(c->qualifier));
    if (c->value != NULL)
        old = at_get_be64(c->value);
    else
        c->value = at_arena_alloc_raw(m->write->arena, INTEGER_BYTES);
    c->cap = c->cap < INTEGER_BYTES ? INTEGER_BYTES : c->cap;
    c->len = INTEGER_BYTES;
    at_put_be64(c->value, old + (uint64_t)rule->increment); /* wraps */
    return AT_OK;
}

static bool store_columns(struct modify *m, const struct at_table *table, enum at_code *ret_code)
{
    struct at_write_modify *write = m->write;
    struct writer *w = m->w;
    struct at_error *error = &write->base.error;
    struct at_mutation *sets = AT_ARENA_ARRAY(write->arena, struct at_mutation, m->count);
    struct at_row_mutations row = {
        .row = write->row, .mutations = sets, .mutation_count = m->count};
    int64_t granularity = table->fields.granularity_micros;
    int64_t now_micros = (int64_t)(w->round.wall_ns / 1000);

    for (uint32_t i = 0; i < m->count; i++) {
        const struct column *c = &m->columns[i];
        int64_t at = c->timestamp_micros > now_micros ? c->timestamp_micros : now_micros;
        sets[i] = (struct at_mutation){
            .kind = AT_MUTATION_SET,
            .family = c->family,
            .qualifier = c->qualifier,
            .timestamp_micros = granularity > 1 ? at - at % granularity : at,
            .value = at_slice_make(c->value, c->len),
        };
    }
    *ret_code = row_resolve(w, table, write->full_name, &row, 0, error);
    if (*ret_code != AT_OK)
        return true;
    if (!row_write(w, table, &row, ret_code, error))
        return false;
    if (*ret_code != AT_OK)
        return true;
    write->base.seq = w->round.own_last.seq;
    write->ret_cells = AT_ARENA_ARRAY(write->arena, struct at_cell, m->count);
    write->ret_cell_count = m->count;
    for (uint32_t i = 0; i < m->count; i++)
        write->ret_cells[i] = (struct at_cell){
            .family = sets[i].family,
            .qualifier = sets[i].qualifier,
            .timestamp_micros = sets[i].timestamp_micros,
            .value = sets[i].value,
        };
    return true;
}
