#include "cluster/tablet/writer.h"

#include "base/assert.h"
#include "cluster/tablet/read.h"

/* CheckAndMutateRow: the predicate is read between commits, so nothing can come between the test
 * and the mutations. Both branches, and the families that the predicate names, are looked at
 * before: whether a request is refused does not depend on the row. */

#define LITERAL_FAMILIES_MAX 16

static enum at_code
check(const struct at_table *table, const struct at_write_check *write, struct at_error *reterr);
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
        code = at_table_serves(table, write->full_name, error);
    }
    if (code == AT_OK)
        code = check(table, write, error);
    if (code != AT_OK) {
        round_answer(w, &write->base, code);
        return;
    }
    AT_ASSERT(table != NULL);
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

static enum at_code
check(const struct at_table *table, const struct at_write_check *write, struct at_error *reterr)
{
    struct at_slice names[LITERAL_FAMILIES_MAX];
    uint32_t count = 0;

    if (write->predicate != NULL)
        count = at_filter_literal_families(write->predicate, names, LITERAL_FAMILIES_MAX);
    for (uint32_t i = 0; i < count && i < LITERAL_FAMILIES_MAX; i++)
        if (at_table_family(table, names[i]) == NULL)
            return at_fail(reterr, AT_NOT_FOUND,
                           "Error while reading table '%.*s' : Requested column family not found",
                           AT_SLICE_ARG(write->full_name));
    struct at_row_mutations branch = write->if_true;
    branch.row = write->row;
    AT_TRY(row_check(table, write->full_name, &branch, reterr));
    branch = write->if_false;
    branch.row = write->row;
    return row_check(table, write->full_name, &branch, reterr);
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
