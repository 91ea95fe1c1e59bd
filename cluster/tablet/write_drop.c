#include "cluster/tablet/writer.h"

#include "base/assert.h"

/* DropRowRange is one family-less record that hides rows below its stamp: also those of families
 * that this cluster does not know, and entries that arrive later with lower stamps.
 *
 * The stamp of a local drop is above every stamp that is stored here, so all stored keys in the
 * range are hidden by it and are removed at once, to give the space back. */

static void remove_range(struct writer *w, const struct at_table *table, struct at_slice prefix);
static void
remove_in_family(struct writer *w, uint32_t table_id, uint32_t family_id, struct at_slice prefix);

void write_drop(struct writer *w, struct at_write_drop *write)
{
    struct at_error *error = &write->base.error;
    const struct at_table *table = NULL;
    enum at_code code = round_may_write(w, error);

    if (code == AT_OK) {
        table = at_catalog_table(w->schema->catalog, write->table);
        code = at_table_serves(table, write->full_name, error);
    }
    if (code == AT_OK && write->prefix.len > AT_ROW_KEY_BYTES_MAX)
        code = at_fail(error, AT_INVALID_ARGUMENT, "The row key prefix is too long");
    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    AT_ASSERT(table != NULL);
    struct at_operation op = {
        .kind = AT_OPERATION_DROP_RANGE,
        .table = table->name,
        .table_generation = table->generation,
        .row = write->prefix,
    };
    size_t size = at_operation_size_max(&op);
    if (!round_room(w, size)) {
        round_refuse(w, &write->base);
        return;
    }
    uint64_t hlc = round_own(w, &op, 1, size);
    struct at_dropped_range drop = {write->prefix, {hlc, w->store->config.replica.self}};
    remove_range(w, table, write->prefix);
    writer_note_drop(w, table->id, drop);
    write->base.seq = w->round.own_last.seq;
    round_answer(w, &write->base, AT_OK);
}

static void remove_range(struct writer *w, const struct at_table *table, struct at_slice prefix)
{
    remove_in_family(w, table->id, 0, prefix);
    for (uint32_t i = 0; i < table->family_count; i++)
        remove_in_family(w, table->id, table->families[i].id, prefix);
}

static void
remove_in_family(struct writer *w, uint32_t table_id, uint32_t family_id, struct at_slice prefix)
{
    uint8_t after[AT_ROW_KEY_BYTES_MAX];
    size_t len = prefix.len;

    /* The first row behind all that have the prefix: without its trailing FF, one higher. */
    while (len > 0 && prefix.data[len - 1] == 0xff)
        len--;
    at_buf_clear(&w->key);
    at_buf_clear(&w->meta_key);
    enum at_code rc = at_key_seek_row(&w->key, table_id, family_id, prefix);
    AT_ASSERT(rc == AT_OK);
    if (len == 0) {
        rc = at_key_seek_family_end(&w->meta_key, table_id, family_id);
    } else {
        memcpy(after, prefix.data, len);
        after[len - 1]++;
        rc = at_key_seek_row(&w->meta_key, table_id, family_id, at_slice_make(after, len));
    }
    AT_ASSERT(rc == AT_OK);
    at_batch_delete_range(w->round.batch, AT_SPACE_CELLS, at_buf_slice(&w->key),
                          at_buf_slice(&w->meta_key));
}
