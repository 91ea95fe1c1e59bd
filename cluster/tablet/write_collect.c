#include "cluster/tablet/writer.h"

#include "base/alloc.h"
#include "base/bytes.h"

/* Garbage goes by exact keys. They carry stamps, so whatever was written since the collector looked
 * has other keys; and what was garbage then still is: a newer version, a higher stamp, a marker
 * that condemned it does not go away without a trace: a marker goes together with what it covers,
 * at or below the horizon, where nothing can arrive any more (see garbage_pass.c). Only a schema
 * that was published for a round whose commit then failed could have misled the collector, or a
 * copy that put other cells in place since; both raise load_version.
 *
 * A floor hides by time and stamp what a rule condemns by age alone. It hides first, then it is
 * durable, and only then do compactions drop what is below it. So whatever a compaction takes
 * first, an overwritten value never shows in place of the one that overwrote it, nor a part of a
 * sum; and what was collected stays away when the rule is relaxed later, while cells that are
 * written after that show, however old their timestamps are. */

static enum at_code may_collect(const struct writer *w, struct at_write_collect *write);
static bool may_forget(const struct writer *w);
static bool unhide(struct writer *w, struct at_write_collect *write);
static bool has_row_marker(struct writer *w, uint32_t table_id);
static void raise_floors(struct writer *w, int64_t now_micros);
static void raise_floor(struct writer *w,
                        const struct at_table *table,
                        const struct at_family *family,
                        int64_t now_micros);

void write_collect(struct writer *w, struct at_write_collect *write)
{
    write->ret_now_micros = 0;
    write->ret_horizon = 0;
    write->ret_forgotten = 0;
    enum at_code code = may_collect(w, write);
    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    for (uint32_t i = 0; i < write->key_count; i++) {
        at_batch_delete(w->round.batch, AT_SPACE_CELLS, write->keys[i]);
        w->round.bytes += write->keys[i].len;
    }
    for (uint32_t i = 0; i < write->fold_count; i++) {
        const struct at_write_fold *fold = &write->folds[i];
        at_batch_put(w->round.batch, AT_SPACE_CELLS, fold->key, fold->value);
        w->round.bytes += fold->key.len + fold->value.len;
    }
    if (write->raise_floors && round_may_write(w, NULL) == AT_OK) {
        write->ret_now_micros = (int64_t)(w->round.wall_ns / 1000);
        raise_floors(w, write->ret_now_micros);
    }
    if (write->raise_floors && may_forget(w)) {
        write->ret_horizon = at_replica_store_horizon(w->replica);
        writer_remove_deleted(w, write->ret_horizon);
        w->round.sync = true; /* also when it is all that the round has to store */
    }
    if (write->unhide_table_id != 0 && !unhide(w, write)) {
        round_refuse(w, &write->base);
        return;
    }
    round_answer(w, &write->base, AT_OK);
}

static enum at_code may_collect(const struct writer *w, struct at_write_collect *write)
{
    bool judged = write->key_count > 0 || write->unhide_table_id != 0;

    if (judged && write->schema_version <= w->load_version)
        return at_fail(&write->base.error, AT_ABORTED, "judged by a schema that is void");
    if (judged && write->horizon > 0 && !may_forget(w))
        return at_fail(&write->base.error, AT_ABORTED, "nothing may be forgotten now");
    return AT_OK;
}

/* What a copy into this store merges with is what was here when it began: nothing is forgotten
 * then, nor by one that lacks entries (rule 20). */
static bool may_forget(const struct writer *w)
{
    return w->store->view.mode == AT_MODE_READY; /* only this thread changes the view */
}

/* What hides rows goes from the schema only after the rows are gone from the disk, so the round is
 * committed first; whoever opened a snapshot before that finds other floors_versions around it
 * (at_store_look). False: that commit failed. */
static bool unhide(struct writer *w, struct at_write_collect *write)
{
    uint32_t table_id = write->unhide_table_id;

    if (!round_commit(w))
        return false;
    if (write->unhide_drop == NULL) {
        if (!at_hides_has_row_markers(&w->hides, table_id) || has_row_marker(w, table_id))
            return true;
        at_hides_clear_row_markers(&w->hides, table_id);
        meta_schema(w, NULL);
        store_publish_schema(w->store, w->schema); /* there is nothing to commit */
        return true;
    }
    if (!at_hides_forget_drop(&w->hides, table_id, *write->unhide_drop, meta_drop_gone, w))
        return true;
    meta_schema(w, NULL);
    w->round.hides = true;
    write->ret_forgotten = 1;
    return true;
}

/* True also when the disk does not say. */
static bool has_row_marker(struct writer *w, uint32_t table_id)
{
    uint8_t prefix[AT_KEY_PREFIX_BYTES] = {0};
    struct at_slice start = at_slice_make(prefix, sizeof(prefix));
    struct at_iter_options options = {0};
    struct at_iter *i AT_CLEANUP(at_iter_close) = at_iter_open(w->engine, AT_SPACE_CELLS, &options);

    at_put_be32(prefix, table_id);
    at_iter_seek(i, start);
    if (!at_iter_valid(i))
        return at_iter_status(i, NULL) != AT_OK;
    return at_slice_has_prefix(at_iter_key(i), start);
}

static void raise_floors(struct writer *w, int64_t now_micros)
{
    const struct at_catalog *catalog = w->schema->catalog;
    uint32_t count = at_catalog_table_count(catalog);

    for (uint32_t t = 0; t < count; t++) {
        const struct at_table *table = at_catalog_table_at(catalog, t);
        for (uint32_t i = 0; i < table->family_count; i++)
            raise_floor(w, table, &table->families[i], now_micros);
    }
    if (w->hides.floors_changed)
        meta_schema(w, NULL);
}

/* Of what was committed so far. */
static void raise_floor(struct writer *w,
                        const struct at_table *table,
                        const struct at_family *family,
                        int64_t now_micros)
{
    int64_t kept_micros = at_gc_rule_kept_micros_max(family->rule);
    struct at_floor old = at_hides_floor(&w->hides, table->id, family->id);
    struct at_floor new = {
        .before_micros = now_micros - kept_micros,
        .stamp = {w->store->view.hlc, {UINT32_MAX}}, /* only this thread changes the view */
    };

    if (kept_micros == INT64_MAX || new.before_micros <= old.before_micros ||
        at_stamp_cmp(new.stamp, old.stamp) < 0)
        return;
    writer_note_floor(w, table->id, family->id, new);
}
