#include "base/alloc.h"
#include "base/limits.h"
#include "cluster/model/filter_impl.h"

/* The life of a run. Without conditions a row only passes through. With one, its cells are kept,
 * as they come out of what stands before the first condition, and go through the rest in passes
 * when the row ends. The memory of the longest row seen is kept, up to CELLS_KEPT_MAX. */

#define ARENA_BYTES 4096
#define CELLS_KEPT_MAX 4096

static bool row_passes(struct at_filter_run *run, const struct filter_step *s, struct at_slice row);

struct at_filter_run *at_filter_run_new(const struct at_filter *f, uint64_t seed)
{
    struct at_filter_run *run = AT_NEW(struct at_filter_run);

    run->filter = f;
    at_prng_init(&run->prng, seed);
    if (f->counter_count > 0)
        run->counters = at_alloc(f->counter_count * sizeof(run->counters[0]));
    if (f->cache_count > 0)
        run->caches = at_alloc(f->cache_count * sizeof(run->caches[0]));
    if (f->row_count > 0) {
        run->row_passes = at_alloc(f->row_count * sizeof(run->row_passes[0]));
        run->alive = at_alloc(f->step_count);
    }
    if (f->cond_count > 0)
        run->conds = at_alloc(f->cond_count * sizeof(run->conds[0]));
    at_buf_init(&run->family, AT_ROW_READ_BYTES_MAX);
    at_buf_init(&run->qualifier, AT_ROW_READ_BYTES_MAX);
    run->family_epoch = 1; /* the empty family, with the empty qualifier */
    run->column_epoch = 1;
    at_arena_init(&run->arena, ARENA_BYTES);
    return run;
}

void at_filter_run_free(struct at_filter_run **run)
{
    struct at_filter_run *r = *run;

    if (r == NULL)
        return;
    at_free(r->counters);
    at_free(r->caches);
    at_free(r->row_passes);
    at_free(r->alive);
    at_free(r->conds);
    at_buf_deinit(&r->family);
    at_buf_deinit(&r->qualifier);
    at_arena_deinit(&r->arena);
    at_free(r->cells);
    at_free(r);
    *run = NULL;
}

static void reset_counters(struct at_filter_run *run)
{
    uint32_t count = run->filter->counter_count;

    if (count > 0)
        memset(run->counters, 0, count * sizeof(run->counters[0]));
}

static void forget_row(struct at_filter_run *run)
{
    at_arena_reset(&run->arena);
    run->cell_count = 0;
    if (run->cell_cap > CELLS_KEPT_MAX) {
        at_free(run->cells);
        run->cells = NULL;
        run->cell_cap = 0;
    }
}

enum at_filter_next at_filter_run_begin(struct at_filter_run *run, struct at_slice row)
{
    const struct at_filter *f = run->filter;

    run->code = AT_OK;
    run->pass = 0;
    run->emitting = true;
    reset_counters(run);
    if (f->buffered)
        forget_row(run);
    if (f->row_count == 0)
        return f->blocked ? AT_FILTER_SKIP_ROW : AT_FILTER_NEXT_CELL;
    for (uint32_t pc = 0; pc < f->step_count; pc++) {
        const struct filter_step *s = &f->steps[pc];
        if (s->op == FILTER_SAMPLE || s->op == FILTER_ROW_LITERAL || s->op == FILTER_ROW_REGEX)
            run->row_passes[s->index] = row_passes(run, s, row);
    }
    return at_filter_sweep(f, NULL, run->row_passes, run->alive) ? AT_FILTER_NEXT_CELL
                                                                 : AT_FILTER_SKIP_ROW;
}

static bool row_passes(struct at_filter_run *run, const struct filter_step *s, struct at_slice row)
{
    if (s->op == FILTER_ROW_LITERAL)
        return at_slice_eq(row, s->bytes);
    if (s->op == FILTER_ROW_REGEX)
        return at_regex_matches(s->regex, row);
    return (double)(at_prng_u64(&run->prng) >> 11) * 0x1p-53 < s->node->probability;
}

enum at_filter_next at_filter_run_push(struct at_filter_run *run,
                                       const struct at_cell *cell,
                                       at_filter_emit emit,
                                       void *ctx)
{
    if (run->filter->entry == 0) {
        emit(ctx, cell);
        return AT_FILTER_NEXT_CELL;
    }
    run->emit = emit;
    run->ctx = ctx;
    return at_filter_feed(run, run->filter->entry, cell);
}

static struct at_slice
keep_bytes(struct at_filter_run *run, struct at_slice bytes, struct at_slice before)
{
    if (before.data != NULL && at_slice_eq(bytes, before))
        return before;
    return bytes.data == NULL ? bytes : at_arena_copy(&run->arena, bytes);
}

enum at_filter_next at_filter_keep(struct at_filter_run *run, const struct at_cell *cell)
{
    size_t cell_bytes = cell->family.len + cell->qualifier.len + cell->value.len + sizeof(*cell);
    size_t kept_bytes = run->arena.used_bytes + run->cell_count * sizeof(*cell);

    if (run->code != AT_OK || cell_bytes > AT_ROW_READ_BYTES_MAX ||
        kept_bytes > AT_ROW_READ_BYTES_MAX - cell_bytes) {
        run->code = AT_FAILED_PRECONDITION;
        return AT_FILTER_SKIP_ROW;
    }
    if (run->cell_count == run->cell_cap) {
        run->cell_cap = run->cell_cap ? 2 * run->cell_cap : 16;
        run->cells = at_realloc(run->cells, run->cell_cap * sizeof(run->cells[0]));
    }
    const struct at_cell none = {0};
    const struct at_cell *before = run->cell_count ? &run->cells[run->cell_count - 1] : &none;
    struct at_cell kept = *cell;
    kept.family = keep_bytes(run, cell->family, before->family);
    kept.qualifier = keep_bytes(run, cell->qualifier, before->qualifier);
    kept.value = keep_bytes(run, cell->value, none.value);
    kept.label = keep_bytes(run, cell->label, before->label);
    run->cells[run->cell_count++] = kept;
    return AT_FILTER_NEXT_CELL;
}

enum at_code at_filter_run_code(const struct at_filter_run *run, struct at_error *reterr)
{
    if (run->code == AT_OK)
        return AT_OK;
    if (run->code == AT_INVALID_ARGUMENT)
        return at_fail(reterr, run->code,
                       "Error in field 'interleave' : makes more than %d copies of a cell",
                       FILTER_COPIES_MAX);
    return at_fail(reterr, run->code, "the filter's condition needs more than %zu bytes of the row",
                   AT_ROW_READ_BYTES_MAX);
}

/* undecided counts the conditions that pass `pass` has to settle. */
static uint32_t undecided(const struct at_filter *f, uint32_t pass)
{
    uint32_t count = 0;

    for (uint32_t pc = 0; pc < f->step_count; pc++)
        count += f->steps[pc].op == FILTER_MARK && f->steps[pc].level == pass;
    return count;
}

void at_filter_run_end(struct at_filter_run *run, at_filter_emit emit, void *ctx)
{
    const struct at_filter *f = run->filter;

    if (!f->buffered || run->code != AT_OK || run->cell_count == 0)
        return;
    memset(run->conds, 0, f->cond_count * sizeof(run->conds[0]));
    run->emit = emit;
    run->ctx = ctx;
    for (run->pass = 1; run->pass <= f->level_max + 1 && run->code == AT_OK; run->pass++) {
        run->emitting = run->pass > f->level_max;
        run->undecided = run->emitting ? 1 : undecided(f, run->pass);
        reset_counters(run);
        for (size_t i = 0; i < run->cell_count && run->undecided > 0 && run->code == AT_OK; i++) {
            enum at_filter_next next = at_filter_feed(run, f->body, &run->cells[i]);
            if (next == AT_FILTER_SKIP_ROW)
                break;
        }
    }
    forget_row(run);
}
