#include "cluster/tablet/copy_step.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/log.h"

/* The few moments of a copy that belong to the writer: between two commits, so that what they see
 * is one point of the history, and what they change is one batch.
 *
 * A commit that fails throws the writer's memory away, and the copy with it: the number that the
 * writer remembers is gone then, and the sink hears of it at its next step. */

static bool still_copying(struct writer *w, const struct sink_step *step, struct at_error *reterr);
static enum at_code give_ids(struct writer *w, struct at_copy_sink *s, struct at_error *reterr);
static enum at_code table_id_of(struct writer *w,
                                struct at_slice table,
                                uint64_t generation,
                                uint32_t *ret_id,
                                struct at_error *reterr);
static void list_prefixes(struct writer *w, struct at_copy_sink *s);
static void put_catalog(struct writer *w, const struct at_copy_sink *s);
static void put_drops(struct writer *w, const struct at_copy_sink *s);
static void
put_own_drops(struct writer *w, const struct at_copy_sink *s, const struct at_schema_table *table);
static void put_drop(struct writer *w, uint32_t table_id, struct at_dropped_range drop);
static bool table_is_dead(const struct at_copy_sink *s, uint32_t table_id);
static bool prefix_is_dead(const struct at_copy_sink *s, uint32_t table_id, uint32_t family_id);
static void hide_more(struct writer *w, const struct at_copy_sink *s);
static void put_tokens(struct writer *w, const struct at_copy_sink *s);
static void delete_dead_floors(struct writer *w, const struct at_copy_sink *s);
static void empty_logs(struct writer *w, const struct at_vector *grown);
static void step_done(struct at_write *write);

enum at_code copy_step_do(struct at_store *s, struct copy_step *step, struct at_error *reterr)
{
    step->base.kind = AT_WRITE_COPY;
    step->base.done = step_done;
    step->base.ctx = step;
    step->over = false;
    pthread_mutex_init(&step->lock, NULL);
    pthread_cond_init(&step->wake, NULL);
    enum at_code code = at_store_submit(s, &step->base);
    if (code != AT_OK) {
        code = at_fail(reterr, code, "the store is closing, or too much waits for it");
    } else {
        pthread_mutex_lock(&step->lock);
        while (!step->over) {
            if (s->config.manual) {
                pthread_mutex_unlock(&step->lock);
                at_store_turn(s);
                pthread_mutex_lock(&step->lock);
            } else {
                pthread_cond_wait(&step->wake, &step->lock);
            }
        }
        pthread_mutex_unlock(&step->lock);
        code = step->base.code;
        if (code != AT_OK && reterr != NULL)
            *reterr = step->base.error;
    }
    pthread_cond_destroy(&step->wake);
    pthread_mutex_destroy(&step->lock);
    return code;
}

void write_copy(struct writer *w, struct copy_step *step)
{
    if (!round_commit(w)) {
        round_refuse(w, &step->base);
        return;
    }
    step->run(w, step);
}

/* --- the source --- */

void copy_source_run(struct writer *w, struct copy_step *step)
{
    struct source_step *x = (struct source_step *)step;
    struct at_copy_source *s = x->source;

    enum at_code code = at_replica_may_donate(w->replica, x->receiver, x->needs, &step->base.error);
    if (code == AT_OK) {
        s->snapshot = at_snapshot_open(w->engine);
        s->schema = at_schema_ref(w->schema);
        at_replica_copy_state(w->replica, &s->arena, &s->state);
    }
    round_answer(w, &step->base, code);
}

/* --- the sink --- */

void copy_sink_begin_run(struct writer *w, struct copy_step *step)
{
    struct at_copy_sink *s = ((struct sink_step *)step)->sink;

    enum at_code code = at_replica_may_copy_from(w->replica, &s->donor, &step->base.error);
    if (code == AT_OK)
        code = at_replica_copy_begin(w->replica, &step->base.error);
    if (code != AT_OK) {
        round_answer(w, &step->base, code);
        return;
    }
    s->rule = at_replica_copy_rule(w->replica, &s->donor);
    w->round.sync = true;
    if (!round_commit(w)) {
        round_refuse(w, &step->base);
        return;
    }
    s->own = at_snapshot_open(w->engine);
    s->number = w->copying = ++w->copy_count;
    round_answer(w, &step->base, AT_OK);
}

/* The ids are made durable before anything is put under them. */
void copy_sink_plan_run(struct writer *w, struct copy_step *step)
{
    struct sink_step *x = (struct sink_step *)step;
    struct at_copy_sink *s = x->sink;
    struct at_error *error = &step->base.error;
    struct at_catalog_ids ids = meta_ids(w);

    if (!still_copying(w, x, error)) {
        round_answer(w, &step->base, AT_UNAVAILABLE);
        return;
    }
    enum at_code code =
        at_catalog_apply(w->schema->catalog, s->records, s->record_count, &ids, &s->merged, error);
    if (code == AT_OK)
        code = give_ids(w, s, error);
    if (!round_commit(w)) {
        round_refuse(w, &step->base);
        return;
    }
    if (code == AT_OK)
        list_prefixes(w, s);
    round_answer(w, &step->base, code);
}

/* One batch, by rule 30. What hides rows is published before it (see round.c); everything else is
 * read back from the disk after it. */
void copy_sink_finish_run(struct writer *w, struct copy_step *step)
{
    struct sink_step *x = (struct sink_step *)step;
    struct at_copy_sink *s = x->sink;
    struct at_vector grown;

    if (!still_copying(w, x, &step->base.error)) {
        round_answer(w, &step->base, AT_UNAVAILABLE);
        return;
    }
    at_vector_init(&grown);
    put_catalog(w, s);
    put_drops(w, s);
    put_tokens(w, s);
    delete_dead_floors(w, s);
    hide_more(w, s);
    at_replica_copy_end(w->replica, &s->donor, &grown);
    empty_logs(w, &grown);
    at_vector_deinit(&grown);
    w->copying = 0;
    w->round.aside = &s->aside;
    w->round.hides = w->round.catalog = w->round.sync = true;
    round_answer(w, &step->base, AT_OK);
    (void)round_commit(w); /* it answers, either way */
}

void copy_sink_drop_run(struct writer *w, struct copy_step *step)
{
    struct at_copy_sink *s = ((struct sink_step *)step)->sink;

    if (w->copying == s->number) {
        w->copying = 0;
        at_replica_copy_drop(w->replica);
        w->round.sync = true;
    }
    round_answer(w, &step->base, AT_OK);
}

static bool still_copying(struct writer *w, const struct sink_step *step, struct at_error *reterr)
{
    if (w->copying == step->sink->number)
        return true;
    (void)!at_fail(reterr, AT_UNAVAILABLE, "the copy was given up, or a commit failed meanwhile");
    return false;
}

/* To all that part 0 names. RESOURCE_EXHAUSTED when there are too many names. */
static enum at_code give_ids(struct writer *w, struct at_copy_sink *s, struct at_error *reterr)
{
    for (uint32_t i = 0; i < s->drop_count; i++) {
        struct sink_drop *d = &s->drops[i];
        AT_TRY(table_id_of(w, d->told.table, d->told.table_generation, &d->table_id, reterr));
    }
    for (uint32_t i = 0; i < s->part_count; i++) {
        struct sink_part *p = &s->parts[i];
        AT_TRY(table_id_of(w, p->told.table, p->told.table_generation, &p->table_id, reterr));
        if (p->told.family.len == 0)
            continue;
        if (w->ids.count >= 2 * AT_LOCAL_IDS_MAX)
            return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "the copy names too many families");
        p->family_id = writer_family_id(w, p->table_id, p->told.family, p->told.family_generation);
    }
    return AT_OK;
}

static enum at_code table_id_of(struct writer *w,
                                struct at_slice table,
                                uint64_t generation,
                                uint32_t *ret_id,
                                struct at_error *reterr)
{
    if (w->ids.count >= 2 * AT_LOCAL_IDS_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "the copy names too many tables");
    *ret_id = writer_table_id(w, table, generation);
    return AT_OK;
}

/* All that have ids, and which of them the merged catalog has outlived. Families come after their
 * tables: an id needs its parent's. */
static void list_prefixes(struct writer *w, struct at_copy_sink *s)
{
    const struct at_local_ids *ids = &w->ids;
    const struct at_local_id **tables =
        at_alloc(((size_t)ids->last_table_id + 1) * sizeof(struct at_local_id *));

    memset(tables, 0, ((size_t)ids->last_table_id + 1) * sizeof(struct at_local_id *));
    for (uint32_t i = 0; i < ids->count; i++)
        if (ids->items[i].parent == 0)
            tables[ids->items[i].id] = &ids->items[i];
    s->prefixes = at_alloc((ids->count + 1) * sizeof(*s->prefixes));
    for (uint32_t i = 0; i < ids->count; i++) {
        const struct at_local_id *id = &ids->items[i];
        const struct at_local_id *table = id->parent == 0 ? id : tables[id->parent];
        struct sink_prefix *p = &s->prefixes[s->prefix_count++];
        *p = (struct sink_prefix){.table_id = id->parent == 0 ? id->id : id->parent,
                                  .family_id = id->parent == 0 ? 0 : id->id};
        if (table == NULL)
            continue; /* of no table: it has no keys */
        p->dead =
            at_catalog_table_over(s->merged, table->name, table->generation) ||
            (id->parent != 0 && at_catalog_family_counter(s->merged, table->name, table->generation,
                                                          id->name) > id->generation);
    }
    at_free(tables);
}

/* --- the batch of the switch --- */

static void delete_kind(struct writer *w, uint8_t kind)
{
    uint8_t after = (uint8_t)(kind + 1);

    at_batch_delete_range(w->round.batch, AT_SPACE_META, at_slice_make(&kind, 1),
                          at_slice_make(&after, 1));
}

/* All anew: merging may also have dropped some (old operations). */
static void put_catalog(struct writer *w, const struct at_copy_sink *s)
{
    uint32_t count = at_catalog_record_count(s->merged);

    delete_kind(w, META_CATALOG);
    for (uint32_t i = 0; i < count; i++) {
        const struct at_catalog_record *r = at_catalog_record_at(s->merged, i);
        at_buf_clear(&w->meta_key);
        at_buf_clear(&w->meta_value);
        meta_catalog_key(&w->meta_key, r);
        enum at_code code = at_catalog_record_encode(r, &w->meta_value);
        AT_ASSERT(code == AT_OK); /* records are bounded by at_catalog_apply */
        at_batch_put(w->round.batch, AT_SPACE_META, at_buf_slice(&w->meta_key),
                     at_buf_slice(&w->meta_value));
    }
}

static bool has_drop(const struct at_schema_table *t, struct at_dropped_range drop)
{
    uint32_t i = 0;

    while (i < t->drop_count && (at_stamp_cmp(t->drops[i].stamp, drop.stamp) != 0 ||
                                 !at_slice_eq(t->drops[i].prefix, drop.prefix)))
        i++;
    return i < t->drop_count;
}

static const struct at_schema_table *hides_of(const struct writer *w, uint32_t table_id)
{
    static const struct at_schema_table none = {0};
    uint32_t i = 0;

    while (i < w->hides.count && w->hides.tables[i].table_id != table_id)
        i++;
    return i < w->hides.count ? &w->hides.tables[i] : &none;
}

/* By the rule of markers. One that both have is put twice, the same. */
static void put_drops(struct writer *w, const struct at_copy_sink *s)
{
    delete_kind(w, META_DROP);
    for (uint32_t i = 0; i < s->drop_count; i++) {
        const struct sink_drop *d = &s->drops[i];
        struct at_dropped_range drop = {d->told.prefix, d->told.stamp};
        bool both = has_drop(hides_of(w, d->table_id), drop);
        if (!table_is_dead(s, d->table_id) && at_copy_keeps(&s->rule, drop.stamp.hlc, true, both))
            put_drop(w, d->table_id, drop);
    }
    for (uint32_t i = 0; i < w->hides.count; i++)
        if (!table_is_dead(s, w->hides.tables[i].table_id))
            put_own_drops(w, s, &w->hides.tables[i]);
}

static void
put_own_drops(struct writer *w, const struct at_copy_sink *s, const struct at_schema_table *table)
{
    for (uint32_t i = 0; i < table->drop_count; i++)
        if (at_copy_keeps(&s->rule, table->drops[i].stamp.hlc, false, true))
            put_drop(w, table->table_id, table->drops[i]);
}

static void put_drop(struct writer *w, uint32_t table_id, struct at_dropped_range drop)
{
    at_buf_clear(&w->meta_key);
    meta_drop_key(&w->meta_key, table_id, drop.stamp);
    at_batch_put(w->round.batch, AT_SPACE_META, at_buf_slice(&w->meta_key), drop.prefix);
}

static bool table_is_dead(const struct at_copy_sink *s, uint32_t table_id)
{
    return prefix_is_dead(s, table_id, 0);
}

static bool prefix_is_dead(const struct at_copy_sink *s, uint32_t table_id, uint32_t family_id)
{
    uint32_t low = 0;
    uint32_t high = s->prefix_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct sink_prefix *p = &s->prefixes[middle];
        if (p->table_id < table_id || (p->table_id == table_id && p->family_id < family_id))
            low = middle + 1;
        else
            high = middle;
    }
    const struct sink_prefix *p = &s->prefixes[low];
    return low < s->prefix_count && p->table_id == table_id && p->family_id == family_id && p->dead;
}

/* What the donor's picture hides, beside what ours does: for readers who come in between. */
static void hide_more(struct writer *w, const struct at_copy_sink *s)
{
    for (uint32_t i = 0; i < s->drop_count; i++) {
        const struct sink_drop *d = &s->drops[i];
        struct at_dropped_range drop = {d->told.prefix, d->told.stamp};
        (void)at_hides_add_drop(&w->hides, d->table_id, drop, NULL, NULL);
    }
    for (uint32_t i = 0; i < s->marked_count; i++)
        at_hides_set_row_markers(&w->hides, s->marked[i]);
}

static void put_tokens(struct writer *w, const struct at_copy_sink *s)
{
    for (uint32_t i = 0; i < s->token_count; i++) {
        uint8_t key[1 + 8 + 16] = {META_TOKEN};
        at_put_be64(key + 1, s->tokens[i].span);
        at_put_be64(key + 9, s->tokens[i].id.high);
        at_put_be64(key + 17, s->tokens[i].id.low);
        if (!at_tokens_has(&w->tokens, s->tokens[i].id))
            at_batch_put(w->round.batch, AT_SPACE_META, at_slice_make(key, sizeof(key)),
                         at_slice_make(NULL, 0));
    }
}

static void delete_dead_floors(struct writer *w, const struct at_copy_sink *s)
{
    for (uint32_t t = 0; t < w->hides.count; t++) {
        const struct at_schema_table *table = &w->hides.tables[t];
        for (uint32_t i = 0; i < table->floor_count; i++) {
            uint8_t key[META_FLOOR_KEY_BYTES] = {META_FLOOR};
            uint32_t family_id = table->floors[i].family_id;
            if (!prefix_is_dead(s, table->table_id, family_id))
                continue;
            at_put_be32(key + 1, table->table_id);
            at_put_be32(key + 5, family_id);
            at_batch_delete(w->round.batch, AT_SPACE_META, at_slice_make(key, sizeof(key)));
        }
    }
}

static void empty_logs(struct writer *w, const struct at_vector *grown)
{
    for (uint32_t i = 0; i < grown->count; i++) {
        uint8_t lower[AT_LOG_KEY_BYTES];
        uint8_t upper[AT_LOG_KEY_BYTES];
        struct at_position from = grown->items[i];
        struct at_position to = grown->items[i];
        from.seq = 0;
        to.seq = UINT64_MAX;
        at_batch_delete_range(w->round.batch, AT_SPACE_LOG, at_log_key(lower, from),
                              at_log_key(upper, to));
    }
}

static void step_done(struct at_write *write)
{
    struct copy_step *step = write->ctx;

    pthread_mutex_lock(&step->lock);
    step->over = true;
    pthread_cond_signal(&step->wake);
    pthread_mutex_unlock(&step->lock);
}
