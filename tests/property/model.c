#include "property/model.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/model/hll.h"

static void put(struct at_buf *out, const char *text)
{
    AT_ASSERT(at_buf_append(out, at_slice_cstr(text)) == AT_OK);
}

bool model_is_family(struct at_slice name, bool *ret_aggregate)
{
    static const char *const names[] = {"f",   "g",   "aged", "any", "both", "two",
                                        "hll", "max", "min",  "sum", "top"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (at_slice_eq_cstr(name, names[i])) {
            *ret_aggregate = i >= 6;
            return true;
        }
    return false;
}

int model_cell_cmp(const struct at_cell *a, const struct at_cell *b)
{
    int c = at_slice_cmp(a->family, b->family);

    c = c ? c : at_slice_cmp(a->qualifier, b->qualifier);
    return c ? c
             : (a->timestamp_micros < b->timestamp_micros) -
                   (a->timestamp_micros > b->timestamp_micros);
}

/* --- the array --- */

static struct model_cell *find(struct model *m, struct at_slice row, const struct at_cell *at)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (at_slice_eq(m->cells[i].row, row) && model_cell_cmp(&m->cells[i].cell, at) == 0)
            return &m->cells[i];
    return NULL;
}

static void set(struct model *m, struct at_slice row, struct at_cell cell)
{
    struct model_cell *old = find(m, row, &cell);
    uint32_t i = m->count;

    cell.value = at_arena_copy(m->arena, cell.value);
    if (old) {
        old->cell = cell;
        return;
    }
    AT_ASSERT(m->count < MODEL_CELLS_MAX);
    m->count++;
    for (; i > 0; i--) {
        int c = at_slice_cmp(m->cells[i - 1].row, row);
        if (c < 0 || (c == 0 && model_cell_cmp(&m->cells[i - 1].cell, &cell) < 0))
            break;
        m->cells[i] = m->cells[i - 1];
    }
    m->cells[i] = (struct model_cell){row, cell};
}

static bool covers(const struct at_mutation *d, struct at_slice row, const struct model_cell *c)
{
    int64_t t = c->cell.timestamp_micros;

    if (!at_slice_eq(c->row, row))
        return false;
    if (d->kind == AT_MUTATION_DELETE_ROW)
        return true;
    if (!at_slice_eq(c->cell.family, d->family))
        return false;
    if (d->kind == AT_MUTATION_DELETE_FAMILY)
        return true;
    return at_slice_eq(c->cell.qualifier, d->qualifier) && t >= d->start_micros &&
           (d->end_micros == 0 || t < d->end_micros);
}

static void erase(struct model *m, struct at_slice row, const struct at_mutation *d)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < m->count; i++)
        if (!covers(d, row, &m->cells[i]))
            m->cells[kept++] = m->cells[i];
    m->count = kept;
}

static void drop(struct model *m, struct at_slice prefix)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < m->count; i++)
        if (!at_slice_has_prefix(m->cells[i].row, prefix))
            m->cells[kept++] = m->cells[i];
    m->count = kept;
}

/* `version`: 1 is the newest cell of its column. */
static bool condemned(const struct model *m, const struct at_cell *cell, uint32_t version)
{
    int64_t age_ms = m->now_micros > cell->timestamp_micros
                         ? (m->now_micros - cell->timestamp_micros + 999) / 1000
                         : 0;

    if (at_slice_eq_cstr(cell->family, "aged"))
        return age_ms > 2;
    if (at_slice_eq_cstr(cell->family, "any"))
        return version > 2 || age_ms > 3;
    if (at_slice_eq_cstr(cell->family, "both"))
        return version > 1 && age_ms > 2;
    if (at_slice_eq_cstr(cell->family, "top"))
        return version > 1;
    return at_slice_eq_cstr(cell->family, "two") && version > 2;
}

/* What a rule condemns shows until it is collected: the contract would allow it to go at any time
 * before. */
static void collect(struct model *m)
{
    struct model_cell last = {0};
    uint32_t version = 0;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < m->count; i++) {
        const struct model_cell *c = &m->cells[i];
        bool same = i > 0 && at_slice_eq(last.row, c->row) &&
                    at_slice_eq(last.cell.family, c->cell.family) &&
                    at_slice_eq(last.cell.qualifier, c->cell.qualifier);
        version = same ? version + 1 : 1;
        last = *c;
        if (!condemned(m, &c->cell, version))
            m->cells[kept++] = *c;
    }
    m->count = kept;
}

/* --- mutations --- */

static bool writes(const struct at_mutation *u)
{
    return u->kind == AT_MUTATION_SET || u->kind == AT_MUTATION_ADD || u->kind == AT_MUTATION_MERGE;
}

static enum at_code check_form(const struct op_row *r)
{
    if (r->row.len == 0)
        return AT_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct at_mutation *u = &r->mutations[i];
        if (writes(u) && (u->timestamp_micros < -1 ||
                          (u->timestamp_micros > 0 && u->timestamp_micros % 1000 != 0)))
            return AT_INVALID_ARGUMENT;
        if (u->kind == AT_MUTATION_DELETE_COLUMN && u->end_micros != 0 &&
            u->end_micros <= u->start_micros)
            return AT_INVALID_ARGUMENT;
    }
    return AT_OK;
}

static enum at_code check_families(const struct op_row *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const struct at_mutation *u = &r->mutations[i];
        bool aggregate = false;
        if (u->kind == AT_MUTATION_DELETE_ROW)
            continue;
        if (!model_is_family(u->family, &aggregate))
            return AT_NOT_FOUND;
        if (writes(u) && aggregate != (u->kind != AT_MUTATION_SET))
            return AT_INVALID_ARGUMENT;
        if (u->kind == AT_MUTATION_MERGE && u->value.len > 0 && at_slice_eq_cstr(u->family, "hll"))
            return AT_INVALID_ARGUMENT; /* no sketch */
    }
    return AT_OK;
}

static struct at_slice
add(const struct model *m, struct at_slice family, struct at_slice old, struct at_slice more)
{
    int64_t a = (int64_t)at_get_be64(old.data);
    int64_t b = (int64_t)at_get_be64(more.data);
    uint8_t *sum = at_arena_alloc(m->arena, 8);
    uint64_t result = (uint64_t)a + (uint64_t)b;

    if (at_slice_eq_cstr(family, "max") || at_slice_eq_cstr(family, "top"))
        result = (uint64_t)(a > b ? a : b);
    if (at_slice_eq_cstr(family, "min"))
        result = (uint64_t)(a < b ? a : b);
    at_put_be64(sum, result);
    return at_slice_make(sum, 8);
}

/* The sketch of what was added: of the values themselves, in any order. */
static struct at_slice
counted(const struct model *m, const struct model_cell *old, struct at_slice v)
{
    struct at_hll hll = {0};
    uint8_t *state = at_arena_alloc(m->arena, AT_HLL_STATE_BYTES_MAX);

    if (old)
        AT_ASSERT(at_hll_merge(&hll, old->cell.value) == AT_OK);
    at_hll_add(&hll, v);
    size_t len = at_hll_encode(&hll, state);
    at_hll_deinit(&hll);
    return at_slice_make(state, len);
}

static void mutate(struct model *m, struct at_slice row, const struct at_mutation *u)
{
    struct at_cell cell = {.family = u->family,
                           .qualifier = u->qualifier,
                           .timestamp_micros = u->timestamp_micros,
                           .value = u->value};

    if (!writes(u)) {
        erase(m, row, u);
        return;
    }
    if (u->kind == AT_MUTATION_MERGE && u->value.len == 0)
        return; /* NULL is allowed and does nothing */
    if (cell.timestamp_micros == AT_TIMESTAMP_SERVER)
        cell.timestamp_micros = m->now_micros - m->now_micros % 1000;
    const struct model_cell *old = find(m, row, &cell);
    if (at_slice_eq_cstr(u->family, "hll"))
        cell.value = counted(m, old, u->value);
    else if (old && u->kind != AT_MUTATION_SET)
        cell.value = add(m, u->family, old->cell.value, u->value);
    set(m, row, cell);
}

static enum at_code mutate_row(struct model *m, const struct op_row *r)
{
    for (uint32_t i = 0; r->token != 0 && i < m->seen_count; i++)
        if (m->seen[i].token == r->token && at_slice_eq(m->seen[i].row, r->row))
            return AT_OK;
    enum at_code code = check_families(r);
    if (code != AT_OK)
        return code;
    if (r->token != 0)
        m->seen[m->seen_count++] = (struct model_token){r->row, r->token};
    for (uint32_t i = 0; i < r->count; i++)
        mutate(m, r->row, &r->mutations[i]);
    return AT_OK;
}

static void mutate_rows(struct model *m, const struct op *op, struct at_buf *out)
{
    enum at_code code = op->row_count > 0 ? AT_OK : AT_INVALID_ARGUMENT;

    for (uint32_t i = 0; i < op->row_count; i++) {
        code = code ? code : check_form(&op->rows[i]);
        if (op->rows[i].count == 0)
            code = AT_INVALID_ARGUMENT;
    }
    if (code != AT_OK) {
        put(out, at_code_name(code));
        return;
    }
    for (uint32_t i = 0; i < op->row_count; i++) {
        put(out, i ? " " : "");
        put(out, at_code_name(mutate_row(m, &op->rows[i])));
    }
}

/* --- transactions --- */

static void check_and_mutate(struct model *m, const struct op *op, struct at_buf *out)
{
    enum at_code code = check_form(&op->rows[0]);

    code = code ? code : check_form(&op->rows[1]);
    if (op->rows[0].count + op->rows[1].count == 0)
        code = AT_INVALID_ARGUMENT;
    code = code ? code : model_filter_check(op->filter);
    /* What is refused does not depend on the row. */
    code = code ? code : model_filter_families(op->filter);
    code = code ? code : check_families(&op->rows[0]);
    code = code ? code : check_families(&op->rows[1]);
    bool matched = code == AT_OK && model_filter_run(m, op->filter, op->rows[0].row).count > 0;
    if (m->matched)
        matched = *m->matched;
    code = code ? code : mutate_row(m, &op->rows[matched ? 0 : 1]);
    put(out, code ? at_code_name(code) : matched ? "matched" : "unmatched");
}

static const struct model_cell *
newest(const struct model *m, struct at_slice row, const struct at_modify_rule *r)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (at_slice_eq(m->cells[i].row, row) && at_slice_eq(m->cells[i].cell.family, r->family) &&
            at_slice_eq(m->cells[i].cell.qualifier, r->qualifier))
            return &m->cells[i];
    return NULL;
}

static enum at_code modify(struct model *m, struct at_slice row, const struct at_modify_rule *r)
{
    const struct model_cell *old = newest(m, row, r);
    struct at_cell cell = {.family = r->family, .qualifier = r->qualifier};
    size_t len = old ? old->cell.value.len : 0;
    uint8_t *bytes = at_arena_alloc(m->arena, len + r->append.len + 8);

    cell.timestamp_micros = m->now_micros - m->now_micros % 1000;
    if (old && old->cell.timestamp_micros > cell.timestamp_micros)
        cell.timestamp_micros = old->cell.timestamp_micros;
    if (r->kind == AT_RULE_INCREMENT) {
        if (old && len != 8)
            return AT_FAILED_PRECONDITION;
        at_put_be64(bytes, (old ? at_get_be64(old->cell.value.data) : 0) + (uint64_t)r->increment);
        cell.value = at_slice_make(bytes, 8);
    } else {
        if (len)
            memcpy(bytes, old->cell.value.data, len);
        if (r->append.len)
            memcpy(bytes + len, r->append.data, r->append.len);
        cell.value = at_slice_make(bytes, len + r->append.len);
    }
    set(m, row, cell);
    return AT_OK;
}

static void read_modify_write(struct model *m, const struct op *op, struct at_buf *out)
{
    struct at_slice row = op->rows[0].row;
    struct model *before = at_arena_alloc(m->arena, sizeof(*before));
    enum at_code code = row.len > 0 && op->rule_count > 0 ? AT_OK : AT_INVALID_ARGUMENT;
    struct at_cell cells[MODEL_CELLS_MAX];
    uint32_t count = 0;

    *before = *m;
    for (uint32_t i = 0; i < op->rule_count && code == AT_OK; i++) {
        bool aggregate = false;
        code = !model_is_family(op->rules[i].family, &aggregate) ? AT_NOT_FOUND
               : aggregate                                       ? AT_FAILED_PRECONDITION
                                                                 : AT_OK;
    }
    for (uint32_t i = 0; i < op->rule_count && code == AT_OK; i++)
        code = modify(m, row, &op->rules[i]);
    if (code != AT_OK) {
        *m = *before;
        put(out, at_code_name(code));
        return;
    }
    for (uint32_t i = 0; i < m->count; i++) /* in order, each column once */
        for (uint32_t k = 0; k < op->rule_count; k++)
            if (newest(m, row, &op->rules[k]) == &m->cells[i]) {
                cells[count++] = m->cells[i].cell;
                break;
            }
    model_put_row(out, row, cells, count);
}

/* --- reads --- */

static bool in_range(const struct op_range *r, struct at_slice row)
{
    int start = at_slice_cmp(row, r->start.key);
    int end = at_slice_cmp(row, r->end.key);

    if (r->start.kind != AT_BOUND_NONE && r->start.key.len > 0 &&
        (start < 0 || (start == 0 && r->start.kind == AT_BOUND_OPEN)))
        return false;
    return r->end.kind == AT_BOUND_NONE || r->end.key.len == 0 || end < 0 ||
           (end == 0 && r->end.kind == AT_BOUND_CLOSED);
}

static bool asked_for(const struct op *op, struct at_slice row)
{
    for (uint32_t i = 0; i < op->key_count; i++)
        if (at_slice_eq(op->keys[i], row))
            return true;
    for (uint32_t i = 0; i < op->range_count; i++)
        if (in_range(&op->ranges[i], row))
            return true;
    return op->key_count == 0 && op->range_count == 0;
}

static enum at_code check_read(const struct op *op)
{
    if (op->limit < 0)
        return AT_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < op->key_count; i++)
        if (op->keys[i].len == 0)
            return AT_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < op->range_count; i++) {
        const struct op_range *r = &op->ranges[i];
        if (r->start.kind == AT_BOUND_NONE || r->end.kind == AT_BOUND_NONE ||
            r->start.key.len == 0 || r->end.key.len == 0)
            continue;
        int c = at_slice_cmp(r->start.key, r->end.key);
        if (c > 0 || (c == 0 && (r->start.kind == AT_BOUND_OPEN || r->end.kind == AT_BOUND_OPEN)))
            return AT_INVALID_ARGUMENT;
    }
    enum at_code code = model_filter_check(op->filter);
    return code ? code : model_filter_families(op->filter);
}

static void read_rows(struct model *m, const struct op *op, struct at_buf *out)
{
    enum at_code code = check_read(op);
    int64_t rows = 0;

    if (code != AT_OK) {
        put(out, at_code_name(code));
        return;
    }
    for (uint32_t n = 0; n < m->count && (op->limit == 0 || rows < op->limit); n++) {
        uint32_t i = op->reversed ? m->count - 1 - n : n;
        struct at_slice row = m->cells[i].row;
        uint32_t before = op->reversed ? i + 1 : i - 1; /* of another row, or of none */
        if (n > 0 && at_slice_eq(m->cells[before].row, row))
            continue;
        struct model_list list = {NULL, 0};
        if (asked_for(op, row))
            list = model_filter_run(m, op->filter, row);
        rows += list.count > 0;
        if (list.count > 0)
            model_put_row(out, row, list.cells, list.count);
    }
}

void model_step(struct model *m, const struct op *op, struct at_buf *out)
{
    m->ambiguous = false;
    switch (op->kind) {
    case OP_MUTATE_ROW: {
        enum at_code code = op->rows[0].count ? check_form(&op->rows[0]) : AT_INVALID_ARGUMENT;
        put(out, at_code_name(code ? code : mutate_row(m, &op->rows[0])));
        return;
    }
    case OP_MUTATE_ROWS:
        mutate_rows(m, op, out);
        return;
    case OP_CHECK:
        check_and_mutate(m, op, out);
        return;
    case OP_MODIFY:
        read_modify_write(m, op, out);
        return;
    case OP_READ:
        read_rows(m, op, out);
        return;
    case OP_DROP:
        drop(m, op->prefix);
        put(out, "OK");
        return;
    case OP_TICK:
        m->now_micros += op->limit * 1000;
        return;
    case OP_COLLECT:
        collect(m);
        return;
    case OP_KILL:
    case OP_EXCHANGE:
        return;
    }
}
