/* fuzz_filter.c: bytes become a filter and a row, which must compile and run without harm. What
 * comes out must be the same when the source follows the hints. */
#include "base/assert.h"
#include "tests/support/filter_random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct output {
    uint64_t count;
    uint64_t bytes;
};

static void collect(void *ctx, const struct at_cell *cell)
{
    struct output *out = ctx;

    out->count++;
    out->bytes += cell->family.len + cell->qualifier.len + cell->value.len + cell->label.len;
}

static struct output
run_row(const struct at_filter *filter, const struct at_cell *cells, uint32_t count, bool hints)
{
    struct output out = {0};
    struct at_filter_run *run = at_filter_run_new(filter, 7);
    enum at_filter_next next = at_filter_run_begin(run, AT_LIT("row"));

    for (uint32_t i = 0; i < count && !(hints && next == AT_FILTER_SKIP_ROW); i++) {
        if (hints && next == AT_FILTER_SKIP_COLUMN &&
            at_slice_eq(cells[i].family, cells[i - 1].family) &&
            at_slice_eq(cells[i].qualifier, cells[i - 1].qualifier))
            continue;
        next = at_filter_run_push(run, &cells[i], collect, &out);
    }
    at_filter_run_end(run, collect, &out);
    AT_ASSERT(at_filter_run_code(run, NULL) == AT_OK);
    at_filter_run_free(&run);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct random_source random = {.bytes = at_slice_make(data, size)};
    struct at_cell cells[RANDOM_CELLS_MAX];
    uint32_t budget = 64;
    struct at_arena arena;
    struct at_filter *filter = NULL;
    struct at_slice names[8];
    struct at_slice row;

    at_arena_init(&arena, 4096);
    uint32_t count = random_row(&random, cells);
    struct at_filter_node *root = random_filter(&random, &arena, &budget);
    if (random.bytes.len > 0 && root->child_count == 0)
        root->bytes = random.bytes; /* any bytes as a regex, a label or a mask */
    if (at_filter_compile(root, &filter, NULL) == AT_OK) {
        struct output all = run_row(filter, cells, count, false);
        struct output hinted = run_row(filter, cells, count, true);
        AT_ASSERT(all.count == hinted.count);
        AT_ASSERT(all.bytes == hinted.bytes);
        AT_ASSERT(at_filter_literal_families(filter, names, 8) <= 8);
        (void)at_filter_may_pass_family(filter, AT_LIT("g"));
        (void)at_filter_row_literal(filter, &row);
        at_filter_free(&filter);
    }
    at_arena_deinit(&arena);
    return 0;
}
