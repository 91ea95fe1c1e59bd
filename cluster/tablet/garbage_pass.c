#include "cluster/tablet/garbage_pass.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/mutant.h"
#include "cluster/tablet/writer.h"

/* The order is what makes forgetting safe. Per table: first its families, where everything that a
 * marker, a row's marker or a dropped range covers goes; then what is left below dropped ranges, in
 * whatever family, and their records; then the row markers, each after what it covers. A marker's
 * key is never in an earlier batch than what it covers, batches are committed in order, and the
 * first that fails ends the pass. So at every point of the history, and after a crash at any, what
 * a marker covered is gone or the marker is there.
 *
 * Nothing covered can come in between: whatever is stamped at or below the horizon was here before
 * the pass took its horizon, so every snapshot it opens has it; entries of others below it do not
 * exist any more, and own stamps are issued above it. Only a copy may put older cells in place:
 * then the schema by which this pass judges is void, and the writer says so.
 *
 * All that takes place within one table generation: keys begin with its local id. */

static void add_targets(struct at_garbage_pass *p, const struct at_table *table);
static enum at_code begin_target(struct at_garbage_pass *p, struct at_error *reterr);
static enum at_code
walk_on(struct at_garbage_pass *p, uint64_t bytes_max, bool *ret_done, struct at_error *reterr);
static enum at_code finish_target(struct at_garbage_pass *p, struct at_error *reterr);
static enum at_code write_batch(struct at_garbage_pass *p, struct at_error *reterr);
static void note_forgotten(struct at_garbage_pass *p, uint32_t count);
static enum at_code submit(struct at_garbage_pass *p, struct at_error *reterr);
static void on_written(struct at_write *write);

static void note_left(struct at_garbage_pass *p, uint64_t hlc)
{
    p->left_hlc = hlc < p->left_hlc ? hlc : p->left_hlc;
}

static const struct at_garbage_target *target(const struct at_garbage_pass *p)
{
    AT_ASSERT(p->at < p->count);
    return &p->targets[p->at];
}

/* Raises the floors first: what they hide is garbage at once. */
enum at_code at_garbage_pass_begin(struct at_garbage_pass *p,
                                   struct at_store *store,
                                   struct at_slice table,
                                   struct at_error *reterr)
{
    *p = (struct at_garbage_pass){.store = store, .left_hlc = UINT64_MAX};
    sem_init(&p->written, 0, 0);
    at_garbage_walk_init(&p->walk, store);
    at_row_marker_walk_init(&p->markers, store);
    at_drop_walk_init(&p->drops, store);
    at_garbage_batch_init(&p->batch);
    p->write = (struct at_write_collect){.raise_floors = true};
    AT_TRY(submit(p, reterr));
    p->now_micros = p->write.ret_now_micros;
    p->horizon = p->write.ret_horizon;
    if (AT_MUTANT(forget_above_horizon) && p->horizon > 0)
        p->horizon = UINT64_MAX;

    p->schema = at_store_schema(store);
    const struct at_catalog *catalog = p->schema->catalog;
    if (table.len > 0) {
        const struct at_table *one = at_catalog_table(catalog, table);
        if (one == NULL)
            return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(table));
        add_targets(p, one);
        return AT_OK;
    }
    for (uint32_t i = 0; i < at_catalog_table_count(catalog); i++)
        add_targets(p, at_catalog_table_at(catalog, i));
    return AT_OK;
}

void at_garbage_pass_end(struct at_garbage_pass *p)
{
    at_garbage_walk_deinit(&p->walk);
    at_row_marker_walk_deinit(&p->markers);
    at_drop_walk_deinit(&p->drops);
    at_garbage_batch_deinit(&p->batch);
    at_schema_unref(&p->schema);
    at_free(p->targets);
    p->targets = NULL;
    sem_destroy(&p->written);
}

enum at_code at_garbage_pass_step(struct at_garbage_pass *p,
                                  uint64_t bytes_max,
                                  bool *ret_done,
                                  struct at_error *reterr)
{
    bool over = false;

    *ret_done = p->at == p->count;
    if (*ret_done)
        return AT_OK;
    if (!p->in_target)
        AT_TRY(begin_target(p, reterr));
    p->in_target = true;
    at_garbage_batch_clear(&p->batch);
    AT_TRY(walk_on(p, bytes_max, &over, reterr));
    enum at_code code = write_batch(p, reterr);
    if (code == AT_OK && over)
        code = finish_target(p, reterr);
    if (code == AT_ABORTED && !p->retried) {
        p->retried = true; /* judged by what is void now: once more, by another schema */
        p->horizon = 0;
        p->left_hlc = 0;
        p->in_target = false;
        return AT_OK;
    }
    if (code != AT_OK || !over)
        return code;
    p->at++;
    p->in_target = p->retried = false;
    *ret_done = p->at == p->count;
    return AT_OK;
}

static void add_targets(struct at_garbage_pass *p, const struct at_table *table)
{
    uint32_t drops = 0;
    const struct at_dropped_range *drop = at_schema_drops(p->schema, table->id, &drops);
    size_t most = (size_t)p->count + table->family_count + drops + 1;

    p->targets = at_realloc(p->targets, most * sizeof(*p->targets));
    for (uint32_t i = 0; i < table->family_count; i++)
        p->targets[p->count++] = (struct at_garbage_target){
            AT_GARBAGE_FAMILY, table->id, table->families[i].id, {{NULL, 0}, {0}}};
    for (uint32_t i = 0; i < drops; i++) {
        if (drop[i].stamp.hlc <= p->horizon || AT_MUTANT(drop_forgotten_early))
            p->targets[p->count++] =
                (struct at_garbage_target){AT_GARBAGE_DROP, table->id, 0, drop[i]};
        else
            note_left(p, drop[i].stamp.hlc);
    }
    if (at_schema_has_row_markers(p->schema, table->id))
        p->targets[p->count++] =
            (struct at_garbage_target){AT_GARBAGE_ROW_MARKERS, table->id, 0, {{NULL, 0}, {0}}};
}

static enum at_code begin_target(struct at_garbage_pass *p, struct at_error *reterr)
{
    const struct at_garbage_target *t = target(p);
    struct at_garbage_aim aim = {t->table_id, t->family_id, p->now_micros, p->horizon};

    (void)reterr;
    switch (t->kind) {
    case AT_GARBAGE_FAMILY:
        at_garbage_walk_begin(&p->walk, aim);
        return AT_OK;
    case AT_GARBAGE_DROP:
        at_drop_walk_begin(&p->drops, t->table_id, t->drop);
        return AT_OK;
    case AT_GARBAGE_ROW_MARKERS:
        break;
    }
    at_row_marker_walk_begin(&p->markers, t->table_id, p->horizon);
    return AT_OK;
}

static enum at_code
walk_on(struct at_garbage_pass *p, uint64_t bytes_max, bool *ret_done, struct at_error *reterr)
{
    uint64_t now_ns = at_clock_mono_ns(&p->store->config.clock);

    switch (target(p)->kind) {
    case AT_GARBAGE_FAMILY:
        return at_garbage_walk_step(&p->walk, &p->batch, bytes_max, now_ns, ret_done, reterr);
    case AT_GARBAGE_DROP:
        *ret_done = p->horizon == 0;
        if (*ret_done)
            return AT_OK;
        return at_drop_walk_step(&p->drops, &p->batch, bytes_max, ret_done, reterr);
    case AT_GARBAGE_ROW_MARKERS:
        break;
    }
    *ret_done = p->horizon == 0;
    if (*ret_done)
        return AT_OK;
    return at_row_marker_walk_step(&p->markers, &p->batch, bytes_max, now_ns, ret_done, reterr);
}

/* What is known of the table as a whole, once the last of it went. */
static enum at_code finish_target(struct at_garbage_pass *p, struct at_error *reterr)
{
    const struct at_garbage_target *t = target(p);

    bool drop = t->kind == AT_GARBAGE_DROP;

    if (t->kind == AT_GARBAGE_FAMILY)
        note_left(p, p->walk.left_hlc);
    else if (!drop)
        note_left(p, p->markers.left_hlc);
    if (t->kind == AT_GARBAGE_FAMILY || p->horizon == 0 ||
        (!drop && p->markers.left_hlc != UINT64_MAX))
        return AT_OK;
    p->write = (struct at_write_collect){
        .schema_version = p->schema->version,
        .horizon = p->horizon,
        .unhide_table_id = t->table_id,
        .unhide_drop = drop ? &t->drop : NULL,
    };
    AT_TRY(submit(p, reterr));
    note_forgotten(p, p->write.ret_forgotten);
    return AT_OK;
}

static enum at_code write_batch(struct at_garbage_pass *p, struct at_error *reterr)
{
    const struct at_garbage_batch *b = &p->batch;

    if (b->count == 0)
        return AT_OK;
    p->write = (struct at_write_collect){
        .schema_version = b->schema_version,
        .horizon = p->horizon,
        .keys = b->keys,
        .key_count = b->count,
        .folds = b->folds,
        .fold_count = b->fold_count,
    };
    AT_TRY(submit(p, reterr));
    p->collected_count += b->count - b->forgotten;
    note_forgotten(p, b->forgotten);
    atomic_fetch_add_explicit(&p->store->collected, b->count - b->forgotten, memory_order_relaxed);
    return AT_OK;
}

static void note_forgotten(struct at_garbage_pass *p, uint32_t count)
{
    p->forgotten_count += count;
    atomic_fetch_add_explicit(&p->store->forgotten, count, memory_order_relaxed);
}

static enum at_code submit(struct at_garbage_pass *p, struct at_error *reterr)
{
    struct at_write *write = &p->write.base;

    write->kind = AT_WRITE_COLLECT;
    write->done = on_written;
    write->ctx = p;
    enum at_code code = at_store_submit(p->store, write);
    if (code != AT_OK)
        return at_fail(reterr, code, "the writer takes nothing more now");
    if (p->store->config.manual) {
        while (sem_trywait(&p->written) != 0)
            (void)writer_turn(p->store->writer);
    } else {
        while (sem_wait(&p->written) != 0)
            continue; /* interrupted */
    }
    if (write->code != AT_OK && reterr != NULL)
        *reterr = write->error;
    return write->code;
}

static void on_written(struct at_write *write)
{
    sem_post(&((struct at_garbage_pass *)write->ctx)->written);
}
