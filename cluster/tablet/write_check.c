#include "cluster/tablet/writer.h"

#include "cluster/tablet/read.h"

/* CheckAndMutateRow: the predicate is read between commits, so nothing can come between the test
 * and the mutations. Only the branch that is taken is looked at: one that is not taken may name
 * families that do not exist. */

static void ignore_row(void *ctx, struct at_slice row);
static void see_cell(void *ctx, const struct at_cell *cell);
static void ignore_end(void *ctx);

void write_check(struct writer *w, struct at_write_check *write)
{
    struct at_error *error = &write->base.error;
    struct at_read_sink sink = {&write->ret_matched, ignore_row, see_cell, ignore_end};

    write->ret_matched = false;
    enum at_code code = round_may_write(w, error);
    const struct at_table *table = NULL;
    if (code == AT_OK) {
        table = at_catalog_table(w->schema->catalog, write->table);
        if (table == NULL)
            code = row_no_table(write->full_name, error);
    }
    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    if (!round_settle(w, table->id, write->row)) {
        round_refuse(w, &write->base);
        return;
    }
    const struct at_filter *filter = write->predicate != NULL ? write->predicate : w->any_cell;
    code = at_read_row(w->store, write->table, write->row, filter, &sink, error);
    struct at_row_mutations *taken = write->ret_matched ? &write->if_true : &write->if_false;
    if (code == AT_OK && taken->mutation_count > 0) {
        struct at_row_mutations row = *taken;
        row.row = write->row;
        code = row_resolve(w, table, write->full_name, &row, 0, error);
        if (code == AT_OK && !row_write(w, table, &row, &code, error)) {
            round_refuse(w, &write->base);
            return;
        }
        if (code == AT_OK)
            write->base.seq = w->round.own_last.seq;
    }
    taken->code = code;
    round_answer(w, &write->base, code);
}

static void ignore_row(void *ctx, struct at_slice row)
{
    (void)ctx;
    (void)row;
}

static void see_cell(void *ctx, const struct at_cell *cell)
{
    bool *seen = ctx;

    (void)cell;
    *seen = true;
}

static void ignore_end(void *ctx)
{
    (void)ctx;
}
