#include "property/model.h"

#include "base/assert.h"

/* --- forms --- */

static bool contains(const struct at_filter_node *n, enum at_filter_kind kind)
{
    if (n == NULL)
        return false;
    for (uint32_t i = 0; i < n->child_count; i++)
        if (contains(n->children[i], kind))
            return true;
    return n->kind == kind;
}

bool model_filter_samples(const struct at_filter_node *n)
{
    return contains(n, AT_FILTER_ROW_SAMPLE);
}

static bool inverted(const struct at_filter_node *n)
{
    if (!n->start.set || !n->end.set || (n->end.open && n->end.bytes.len == 0))
        return false;
    return at_slice_cmp(n->start.bytes, n->end.bytes) > 0;
}

static bool leaf_is_bad(const struct at_filter_node *n)
{
    switch ((int)n->kind) {
    case AT_FILTER_ROW_KEY_REGEX:
        return at_slice_eq_cstr(n->bytes, "(");
    case AT_FILTER_APPLY_LABEL:
        return at_slice_eq_cstr(n->bytes, "L");
    case AT_FILTER_COLUMN_RANGE:
        return n->bytes.len == 0 || inverted(n);
    case AT_FILTER_VALUE_RANGE:
        return inverted(n);
    case AT_FILTER_TIMESTAMP_RANGE:
        return n->end_micros != 0 && n->start_micros > n->end_micros;
    case AT_FILTER_CELLS_PER_ROW_OFFSET:
        return n->number < 0;
    case AT_FILTER_CELLS_PER_ROW_LIMIT:
    case AT_FILTER_CELLS_PER_COLUMN_LIMIT:
        return n->number <= 0;
    default:
        return false;
    }
}

enum at_code model_filter_check(const struct at_filter_node *n)
{
    uint32_t labelled = 0;

    if (n == NULL)
        return AT_OK;
    if (n->kind == AT_FILTER_CONDITION) {
        if (n->children[0] == NULL || contains(n, AT_FILTER_SINK))
            return AT_INVALID_ARGUMENT;
    } else if ((n->kind == AT_FILTER_CHAIN || n->kind == AT_FILTER_INTERLEAVE) &&
               n->child_count < 2) {
        return AT_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < n->child_count; i++) {
        if (model_filter_check(n->children[i]) != AT_OK)
            return AT_INVALID_ARGUMENT;
        labelled += contains(n->children[i], AT_FILTER_APPLY_LABEL);
    }
    if (n->kind == AT_FILTER_CHAIN && labelled > 1)
        return AT_INVALID_ARGUMENT;
    return leaf_is_bad(n) ? AT_INVALID_ARGUMENT : AT_OK;
}

enum at_code model_filter_families(const struct at_filter_node *n)
{
    bool aggregate;

    if (n == NULL)
        return AT_OK;
    for (uint32_t i = 0; i < n->child_count; i++)
        if (model_filter_families(n->children[i]) != AT_OK)
            return AT_NOT_FOUND;
    bool names = n->kind == AT_FILTER_COLUMN_RANGE ||
                 (n->kind == AT_FILTER_FAMILY_REGEX && at_slice_eq_cstr(n->bytes, "zz"));
    return names && !model_is_family(n->bytes, &aggregate) ? AT_NOT_FOUND : AT_OK;
}

/* --- lists --- */

struct run {
    struct at_arena *arena;
    struct at_slice row;
    bool sample_passes;
    bool ambiguous;
    struct model_list sunk;
};

static void add(struct run *r, struct model_list *list, const struct at_cell *cell)
{
    struct at_cell *cells = AT_ARENA_ARRAY(r->arena, struct at_cell, list->count + 1);

    if (list->count > 0)
        memcpy(cells, list->cells, list->count * sizeof(*cells));
    cells[list->count] = *cell;
    *list = (struct model_list){cells, list->count + 1};
}

/* Adds all of `more`, each behind the cells it equals. */
static void merge(struct run *r, struct model_list *list, struct model_list more)
{
    for (uint32_t i = 0; i < more.count; i++) {
        add(r, list, &more.cells[i]);
        for (uint32_t k = list->count - 1;
             k > 0 && model_cell_cmp(&list->cells[k - 1], &list->cells[k]) > 0; k--) {
            struct at_cell swap = list->cells[k];
            list->cells[k] = list->cells[k - 1];
            list->cells[k - 1] = swap;
        }
    }
}

static bool in_bounds(const struct at_filter_node *n, struct at_slice s)
{
    int start = at_slice_cmp(s, n->start.bytes);
    int end = at_slice_cmp(s, n->end.bytes);

    if (n->start.set && (start < 0 || (start == 0 && n->start.open)))
        return false;
    if (!n->end.set || (n->end.open && n->end.bytes.len == 0))
        return true;
    return end < 0 || (end == 0 && !n->end.open);
}

static bool has_bits(struct at_slice mask, struct at_slice value)
{
    for (size_t i = 0; i < mask.len && mask.len == value.len; i++)
        if ((mask.data[i] & value.data[i]) != mask.data[i])
            return false;
    return mask.len == value.len;
}

static bool passes(const struct run *r, const struct at_filter_node *n, const struct at_cell *c)
{
    switch ((int)n->kind) {
    case AT_FILTER_BLOCK_ALL:
        return false;
    case AT_FILTER_ROW_SAMPLE:
        return r->sample_passes;
    case AT_FILTER_ROW_KEY_REGEX:
        return model_regex_matches(n->bytes, r->row);
    case AT_FILTER_FAMILY_REGEX:
        return model_regex_matches(n->bytes, c->family);
    case AT_FILTER_QUALIFIER_REGEX:
        return model_regex_matches(n->bytes, c->qualifier);
    case AT_FILTER_VALUE_REGEX:
        return model_regex_matches(n->bytes, c->value);
    case AT_FILTER_COLUMN_RANGE:
        return at_slice_eq(n->bytes, c->family) && in_bounds(n, c->qualifier);
    case AT_FILTER_VALUE_RANGE:
        return in_bounds(n, c->value);
    case AT_FILTER_TIMESTAMP_RANGE:
        return c->timestamp_micros >= n->start_micros &&
               (n->end_micros == 0 || c->timestamp_micros < n->end_micros);
    case AT_FILTER_VALUE_BITMASK:
        return has_bits(n->bytes, c->value);
    default:
        return true;
    }
}

static bool counts(const struct at_filter_node *n, struct model_list in, uint32_t i)
{
    uint32_t before = 0; /* in its column */

    if (n->kind == AT_FILTER_CELLS_PER_ROW_OFFSET)
        return i >= n->number;
    if (n->kind == AT_FILTER_CELLS_PER_ROW_LIMIT)
        return i < n->number;
    if (n->kind != AT_FILTER_CELLS_PER_COLUMN_LIMIT)
        return true;
    for (uint32_t k = 0; k < i; k++)
        before += at_slice_eq(in.cells[k].family, in.cells[i].family) &&
                  at_slice_eq(in.cells[k].qualifier, in.cells[i].qualifier);
    return before < n->number;
}

static bool alike(const struct at_cell *a, const struct at_cell *b)
{
    return at_slice_eq(a->value, b->value) && at_slice_eq(a->label, b->label);
}

/* Do some, and not all, of the copies of one cell pass, and are they different? */
static bool cuts_copies(const struct at_filter_node *n, struct model_list in)
{
    for (uint32_t i = 0; i < in.count; i++)
        for (uint32_t k = i + 1; k < in.count; k++) {
            uint32_t end = k;
            if (model_cell_cmp(&in.cells[i], &in.cells[k]) != 0)
                break;
            if (alike(&in.cells[i], &in.cells[k]))
                continue;
            while (end + 1 < in.count && model_cell_cmp(&in.cells[i], &in.cells[end + 1]) == 0)
                end++;
            if (counts(n, in, i) != counts(n, in, end))
                return true;
        }
    return false;
}

static struct model_list run(struct run *r, const struct at_filter_node *n, struct model_list in)
{
    struct model_list out = {NULL, 0};

    switch ((int)n->kind) {
    case AT_FILTER_CHAIN:
        for (uint32_t i = 0; i < n->child_count; i++)
            in = run(r, n->children[i], in);
        return in;
    case AT_FILTER_INTERLEAVE:
        for (uint32_t i = 0; i < n->child_count; i++)
            merge(r, &out, run(r, n->children[i], in));
        return out;
    case AT_FILTER_CONDITION: {
        bool matched = run(r, n->children[0], in).count > 0;
        const struct at_filter_node *branch = n->children[matched ? 1 : 2];
        return branch ? run(r, branch, in) : out;
    }
    case AT_FILTER_SINK:
        merge(r, &r->sunk, in);
        return out;
    default:
        break;
    }
    r->ambiguous |= cuts_copies(n, in);
    for (uint32_t i = 0; i < in.count; i++) {
        struct at_cell cell = in.cells[i];
        if (!passes(r, n, &cell) || !counts(n, in, i))
            continue;
        if (n->kind == AT_FILTER_STRIP_VALUE)
            cell.value = at_slice_make(NULL, 0);
        if (n->kind == AT_FILTER_APPLY_LABEL)
            cell.label = n->bytes;
        add(r, &out, &cell);
    }
    return out;
}

struct model_list
model_filter_run(struct model *m, const struct at_filter_node *n, struct at_slice row)
{
    struct run r = {.arena = m->arena, .row = row, .sample_passes = m->sample_passes};
    struct model_list list = {NULL, 0};

    for (uint32_t i = 0; i < m->count; i++)
        if (at_slice_eq(m->cells[i].row, row))
            add(&r, &list, &m->cells[i].cell);
    if (n == NULL || list.count == 0)
        return list;
    list = run(&r, n, list);
    m->ambiguous |= r.ambiguous;
    merge(&r, &list, r.sunk);
    return list;
}
