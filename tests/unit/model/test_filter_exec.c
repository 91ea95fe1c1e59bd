#include "cluster/model/filter.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/regex.h"
#include "support/filter_random.h"
#include "support/filter_text.h"
#include "support/test.h"

/* Random filters against an evaluator that follows the definitions: each filter takes a list of
 * cells and makes a list. Production leaves the order of copies of a cell open, but limits see it;
 * the evaluator orders copies by the cell they are of, then by branch, as the real one does. */

#define FILTER_COUNT 3000
#define ROWS_PER_FILTER 4
#define ROW_KEY AT_LIT("row")

struct ref_cell {
    struct at_cell cell;
    uint32_t rank; /* the input cell of the innermost interleave that this is a copy of */
};

struct list {
    struct ref_cell *cells;
    uint32_t count;
    uint32_t cap;
};

static void list_free(struct list *l)
{
    at_free(l->cells);
    l->cells = NULL;
}

static void list_add(struct list *l, struct ref_cell c)
{
    if (l->count == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 32;
        l->cells = at_realloc(l->cells, l->cap * sizeof(l->cells[0]));
    }
    l->cells[l->count++] = c;
}

static bool regex(struct at_slice pattern, struct at_slice text)
{
    struct at_regex *re = NULL;

    assert_int_equal(at_regex_new(pattern, &re, NULL), AT_OK);
    bool matches = at_regex_matches(re, text);
    at_regex_free(&re);
    return matches;
}

static bool in_range(const struct at_filter_node *n, struct at_slice s)
{
    if (n->start.set) {
        int c = at_slice_cmp(s, n->start.bytes);
        if (c < 0 || (c == 0 && n->start.open))
            return false;
    }
    if (n->end.set && (n->end.bytes.len > 0 || !n->end.open)) {
        int c = at_slice_cmp(s, n->end.bytes);
        if (c > 0 || (c == 0 && n->end.open))
            return false;
    }
    return true;
}

static bool mask_ok(struct at_slice mask, struct at_slice value)
{
    bool ok = mask.len == value.len;

    for (size_t i = 0; ok && i < mask.len; i++)
        ok = (value.data[i] & mask.data[i]) == mask.data[i];
    return ok;
}

/* keep: filters that look at one cell, or at its place in the list. */
static bool keep(const struct at_filter_node *n, const struct list *in, uint32_t at)
{
    const struct at_cell *c = &in->cells[at].cell;
    uint32_t same = 0;

    switch ((int)n->kind) {
    case AT_FILTER_BLOCK_ALL:
        return false;
    case AT_FILTER_ROW_KEY_REGEX:
        return regex(n->bytes, ROW_KEY);
    case AT_FILTER_FAMILY_REGEX:
        return regex(n->bytes, c->family);
    case AT_FILTER_QUALIFIER_REGEX:
        return regex(n->bytes, c->qualifier);
    case AT_FILTER_VALUE_REGEX:
        return regex(n->bytes, c->value);
    case AT_FILTER_COLUMN_RANGE:
        return at_slice_eq(n->bytes, c->family) && in_range(n, c->qualifier);
    case AT_FILTER_VALUE_RANGE:
        return in_range(n, c->value);
    case AT_FILTER_TIMESTAMP_RANGE:
        return c->timestamp_micros >= n->start_micros &&
               (n->end_micros == 0 || c->timestamp_micros < n->end_micros);
    case AT_FILTER_CELLS_PER_ROW_OFFSET:
        return at >= n->number;
    case AT_FILTER_CELLS_PER_ROW_LIMIT:
        return at < n->number;
    case AT_FILTER_CELLS_PER_COLUMN_LIMIT:
        for (uint32_t i = 0; i < at; i++)
            same += at_slice_eq(in->cells[i].cell.family, c->family) &&
                    at_slice_eq(in->cells[i].cell.qualifier, c->qualifier);
        return same < n->number;
    case AT_FILTER_VALUE_BITMASK:
        return mask_ok(n->bytes, c->value);
    default:
        return true;
    }
}

static void evaluate(const struct at_filter_node *n,
                     const struct list *in,
                     struct list *out,
                     struct list *sunk);

static int by_rank(const void *a, const void *b)
{
    const struct ref_cell *x = a;
    const struct ref_cell *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void interleave(const struct at_filter_node *n,
                       const struct list *in,
                       struct list *out,
                       struct list *sunk)
{
    struct list ranked = {0};
    struct list merged = {0};

    for (uint32_t i = 0; i < in->count; i++)
        list_add(&ranked, (struct ref_cell){in->cells[i].cell, i});
    for (uint32_t i = 0; i < n->child_count; i++)
        evaluate(n->children[i], &ranked, &merged, sunk);
    if (merged.count > 1)
        qsort(merged.cells, merged.count, sizeof(merged.cells[0]), by_rank); /* glibc's is stable */
    for (uint32_t i = 0; i < merged.count; i++)
        list_add(out,
                 (struct ref_cell){merged.cells[i].cell, in->cells[merged.cells[i].rank].rank});
    list_free(&ranked);
    list_free(&merged);
}

static void
chain(const struct at_filter_node *n, const struct list *in, struct list *out, struct list *sunk)
{
    struct list from = {0};
    struct list to = {0};

    for (uint32_t i = 0; i < in->count; i++)
        list_add(&from, in->cells[i]);
    for (uint32_t i = 0; i < n->child_count; i++) {
        to.count = 0;
        evaluate(n->children[i], &from, &to, sunk);
        struct list other = from;
        from = to;
        to = other;
    }
    for (uint32_t i = 0; i < from.count; i++)
        list_add(out, from.cells[i]);
    list_free(&from);
    list_free(&to);
}

static void
evaluate(const struct at_filter_node *n, const struct list *in, struct list *out, struct list *sunk)
{
    if (n == NULL)
        return;
    if (n->kind == AT_FILTER_CHAIN) {
        chain(n, in, out, sunk);
    } else if (n->kind == AT_FILTER_INTERLEAVE) {
        interleave(n, in, out, sunk);
    } else if (n->kind == AT_FILTER_CONDITION) {
        struct list found = {0};
        evaluate(n->children[0], in, &found, sunk);
        evaluate(n->children[found.count > 0 ? 1 : 2], in, out, sunk);
        list_free(&found);
    } else {
        for (uint32_t i = 0; i < in->count; i++) {
            struct ref_cell c = in->cells[i];
            if (!keep(n, in, i))
                continue;
            if (n->kind == AT_FILTER_STRIP_VALUE)
                c.cell.value = AT_LIT("");
            if (n->kind == AT_FILTER_APPLY_LABEL)
                c.cell.label = n->bytes;
            list_add(n->kind == AT_FILTER_SINK ? sunk : out, c);
        }
    }
}

/* --- comparing --- */

static int by_place(const struct at_cell *x, const struct at_cell *y)
{
    int c = at_slice_cmp(x->family, y->family);

    c = c ? c : at_slice_cmp(x->qualifier, y->qualifier);
    return c                                            ? c
           : x->timestamp_micros == y->timestamp_micros ? 0
           : x->timestamp_micros > y->timestamp_micros  ? -1
                                                        : 1;
}

static int by_all(const void *a, const void *b)
{
    const struct at_cell *x = &((const struct ref_cell *)a)->cell;
    const struct at_cell *y = &((const struct ref_cell *)b)->cell;
    int c = by_place(x, y);

    c = c ? c : at_slice_cmp(x->value, y->value);
    return c ? c : at_slice_cmp(x->label, y->label);
}

static void print_sorted(struct list *l, struct at_buf *out)
{
    at_buf_clear(out);
    if (l->count > 1)
        qsort(l->cells, l->count, sizeof(l->cells[0]), by_all);
    for (uint32_t i = 0; i < l->count; i++)
        text_put_cell(out, &l->cells[i].cell);
}

struct collected {
    struct list list;
    struct at_arena arena;
    bool disordered;
};

static void collect(void *ctx, const struct at_cell *cell)
{
    struct collected *c = ctx;
    struct at_cell copy = {.family = at_arena_copy(&c->arena, cell->family),
                           .qualifier = at_arena_copy(&c->arena, cell->qualifier),
                           .timestamp_micros = cell->timestamp_micros,
                           .value = at_arena_copy(&c->arena, cell->value)};

    if (cell->label.data != NULL)
        copy.label = at_arena_copy(&c->arena, cell->label);
    if (c->list.count > 0)
        c->disordered |= by_place(&c->list.cells[c->list.count - 1].cell, &copy) > 0;
    list_add(&c->list, (struct ref_cell){.cell = copy});
}

/* How the source behaves: it may follow hints, and leave out families that cannot pass. */
enum source { PUSHES_ALL, FOLLOWS_HINTS, LEAVES_OUT_FAMILIES, SOURCE_COUNT };

static bool same_column(const struct at_cell *a, const struct at_cell *b)
{
    return at_slice_eq(a->family, b->family) && at_slice_eq(a->qualifier, b->qualifier);
}

/* push gives a copy of the cell that dies at once. */
static enum at_filter_next
push(struct at_filter_run *run, const struct at_cell *cell, struct collected *c)
{
    char *family = at_dup(cell->family.data, cell->family.len);
    char *qualifier = at_dup(cell->qualifier.data, cell->qualifier.len);
    char *value = at_dup(cell->value.data, cell->value.len);
    struct at_cell brief = {.family = at_slice_make(family, cell->family.len),
                            .qualifier = at_slice_make(qualifier, cell->qualifier.len),
                            .timestamp_micros = cell->timestamp_micros,
                            .value = at_slice_make(value, cell->value.len)};

    enum at_filter_next next = at_filter_run_push(run, &brief, collect, c);
    at_free(family);
    at_free(qualifier);
    at_free(value);
    return next;
}

static void run_row(struct at_filter_run *run,
                    const struct at_filter *filter,
                    const struct list *row,
                    enum source source,
                    struct collected *c)
{
    enum at_filter_next next = at_filter_run_begin(run, ROW_KEY);

    for (uint32_t i = 0; i < row->count; i++) {
        const struct at_cell *cell = &row->cells[i].cell;
        if (source == FOLLOWS_HINTS && next == AT_FILTER_SKIP_ROW)
            break;
        if (source == FOLLOWS_HINTS && next == AT_FILTER_SKIP_COLUMN &&
            same_column(cell, &row->cells[i - 1].cell))
            continue;
        if (source == LEAVES_OUT_FAMILIES && !at_filter_may_pass_family(filter, cell->family))
            continue;
        next = push(run, cell, c);
    }
    at_filter_run_end(run, collect, c);
}

/* differs runs both on one row; the texts say what they made of it. */
static bool differs(const struct at_filter_node *root,
                    const struct list *row,
                    struct at_buf *wanted,
                    struct at_buf *got)
{
    struct at_filter *filter = NULL;
    bool bad = false;

    if (at_filter_compile(root, &filter, NULL) != AT_OK)
        return false;
    struct list out = {0};
    evaluate(root, row, &out, &out);
    print_sorted(&out, wanted);
    list_free(&out);
    struct at_filter_run *run = at_filter_run_new(filter, 1);
    for (int source = 0; source < SOURCE_COUNT && !bad; source++) {
        struct collected c = {0};
        at_arena_init(&c.arena, 4096);
        run_row(run, filter, row, (enum source)source, &c);
        print_sorted(&c.list, got);
        bad = c.disordered || !at_slice_eq(at_buf_slice(got), at_buf_slice(wanted));
        at_arena_deinit(&c.arena);
        list_free(&c.list);
    }
    at_filter_run_free(&run);
    at_filter_free(&filter);
    return bad;
}

/* --- making failures small --- */

static bool shrink_row(const struct at_filter_node *root, struct list *row, struct at_buf *texts)
{
    for (uint32_t i = 0; i < row->count; i++) {
        struct ref_cell cell = row->cells[i];
        size_t behind = (row->count - i - 1) * sizeof(cell);
        memmove(&row->cells[i], &row->cells[i + 1], behind);
        row->count--;
        if (differs(root, row, &texts[0], &texts[1]))
            return true;
        memmove(&row->cells[i + 1], &row->cells[i], behind);
        row->cells[i] = cell;
        row->count++;
    }
    return false;
}

/* shrink_filter puts a child in the place of a node, or everything. */
static bool shrink_filter(struct at_filter_node *root,
                          struct at_filter_node *n,
                          const struct list *row,
                          struct at_buf *texts)
{
    struct at_filter_node old;

    if (n == NULL || n->kind == AT_FILTER_PASS_ALL)
        return false;
    old = *n;
    for (uint32_t i = 0; i <= old.child_count; i++) {
        static const struct at_filter_node all = {.kind = AT_FILTER_PASS_ALL};
        const struct at_filter_node *other = i < old.child_count ? old.children[i] : &all;
        if (other == NULL)
            continue;
        *n = *other;
        if (differs(root, row, &texts[0], &texts[1]))
            return true;
        *n = old;
    }
    for (uint32_t i = 0; i < n->child_count; i++) {
        if (shrink_filter(root, n->children[i], row, texts))
            return true;
    }
    return false;
}

static void
report(struct at_filter_node *root, struct list *row, struct at_buf *texts, uint32_t number)
{
    struct at_buf filter_text;
    struct at_buf row_text;

    while (shrink_row(root, row, texts) || shrink_filter(root, root, row, texts))
        ;
    (void)differs(root, row, &texts[0], &texts[1]);
    at_buf_init(&filter_text, AT_MIB);
    at_buf_init(&row_text, AT_MIB);
    text_put_filter(&filter_text, root);
    print_sorted(row, &row_text);
    fail_msg("filter %u: %s\n  row    %s\n  wanted %s\n  got    %s", number,
             at_buf_cstr(&filter_text), at_buf_cstr(&row_text), at_buf_cstr(&texts[0]),
             at_buf_cstr(&texts[1]));
}

/* Sampling is random; parts that are refused would make most large filters useless. */
static bool suits(const struct at_filter_node *n)
{
    struct at_filter *filter = NULL;

    for (uint32_t i = 0; n != NULL && i < n->child_count; i++) {
        if (!suits(n->children[i]))
            return false;
    }
    if (n == NULL || n->child_count > 0)
        return true;
    if (n->kind == AT_FILTER_ROW_SAMPLE || at_filter_compile(n, &filter, NULL) != AT_OK)
        return false;
    at_filter_free(&filter);
    return true;
}

static void random_filters_do_as_defined(void **state)
{
    struct at_prng prng;
    struct random_source random = {.prng = &prng};
    struct at_arena arena;
    struct at_buf texts[2];
    struct at_cell cells[RANDOM_CELLS_MAX];
    struct at_filter *filter = NULL;
    uint32_t done = 0;

    (void)state;
    at_prng_init(&prng, 20261130);
    at_arena_init(&arena, 65536);
    for (int i = 0; i < 2; i++)
        at_buf_init(&texts[i], 64 * AT_MIB);
    while (done < FILTER_COUNT) {
        uint32_t budget = RANDOM_NODE_BUDGET;
        at_arena_reset(&arena);
        struct at_filter_node *root = random_filter(&random, &arena, &budget);
        if (!suits(root) || at_filter_compile(root, &filter, NULL) != AT_OK)
            continue;
        at_filter_free(&filter);
        done++;
        for (int i = 0; i < ROWS_PER_FILTER; i++) {
            struct list row = {0};
            uint32_t count = random_row(&random, cells);
            for (uint32_t k = 0; k < count; k++)
                list_add(&row, (struct ref_cell){.cell = cells[k]});
            if (differs(root, &row, &texts[0], &texts[1]))
                report(root, &row, texts, done);
            list_free(&row);
        }
    }
    for (int i = 0; i < 2; i++)
        at_buf_deinit(&texts[i]);
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_filters_do_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
