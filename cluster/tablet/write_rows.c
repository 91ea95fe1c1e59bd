#include "cluster/tablet/writer.h"

#include "base/assert.h"

/* MutateRow and MutateRows: one log entry per row. A request may stretch over several rounds; each
 * row is in one. A row whose token says that it was applied before is answered like one that was
 * applied now. */

static void fail_row(struct at_row_mutations *row, enum at_code code, const struct at_error *error);

void write_rows(struct writer *w, struct at_write_rows *write)
{
    enum at_code code = round_may_write(w, &write->base.error);

    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    const struct at_table *table = at_catalog_table(w->schema->catalog, write->table);
    bool ours = write->table_generation == 0; /* else it is of who restores the table */
    if (table != NULL && !ours && write->table_generation != table->generation)
        table = NULL;
    if (table == NULL || ours)
        code = at_table_serves(table, write->full_name, &write->base.error);
    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    AT_ASSERT(table != NULL);
    for (uint32_t i = 0; i < write->row_count; i++) {
        struct at_row_mutations *row = &write->rows[i];
        struct at_error error;
        bool seen = false;
        row->code = AT_OK;
        if (row->token.len > 0)
            row->code = token_check(w, table, row, &seen, &error);
        if (seen)
            continue;
        if (row->code == AT_OK)
            row->code = row_resolve(w, table, write->full_name, row, write->server_micros, &error);
        if (row->code == AT_OK && !row_write(w, table, row, &row->code, &error)) {
            round_refuse(w, &write->base);
            return;
        }
        if (row->code != AT_OK) {
            fail_row(row, row->code, &error);
            continue;
        }
        write->base.seq = w->round.own_last.seq;
    }
    round_answer(w, &write->base, AT_OK);
}

static void fail_row(struct at_row_mutations *row, enum at_code code, const struct at_error *error)
{
    if (row->error == NULL)
        return;
    *row->error = *error;
    row->error->code = code;
}
