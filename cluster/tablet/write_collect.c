#include "cluster/tablet/writer.h"

/* Garbage goes by exact keys. They carry stamps, so whatever was written since the collector looked
 * has other keys; and what was garbage then still is: a newer version, a higher stamp, a marker
 * that condemned it does not go away without a trace. Only a schema that was published for a round
 * whose commit then failed could have misled the collector.
 *
 * A floor hides by time and stamp what a rule condemns by age alone. It hides first, then it is
 * durable, and only then do compactions drop what is below it. So whatever a compaction takes
 * first, an overwritten value never shows in place of the one that overwrote it, nor a part of a
 * sum; and what was collected stays away when the rule is relaxed later, while cells that are
 * written after that show, however old their timestamps are. */

static void raise_floors(struct writer *w, int64_t now_micros);
static void raise_floor(struct writer *w,
                        const struct at_table *table,
                        const struct at_family *family,
                        int64_t now_micros);

void write_collect(struct writer *w, struct at_write_collect *write)
{
    struct at_error *error = &write->base.error;

    write->ret_now_micros = 0;
    if (write->key_count > 0 && write->schema_version <= w->load_version) {
        round_answer(w, &write->base,
                     at_fail(error, AT_ABORTED, "judged by a schema that is void"));
        return;
    }
    for (uint32_t i = 0; i < write->key_count; i++) {
        at_batch_delete(w->round.batch, AT_SPACE_CELLS, write->keys[i]);
        w->round.bytes += write->keys[i].len;
    }
    if (write->raise_floors && round_may_write(w, NULL) == AT_OK) {
        write->ret_now_micros = (int64_t)(w->round.wall_ns / 1000);
        raise_floors(w, write->ret_now_micros);
    }
    round_answer(w, &write->base, AT_OK);
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
