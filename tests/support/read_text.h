/* read_text.h: what a read gives, as text: "row: f:q@ts=value f:q@ts=value#label|", rows one after
 * another. Bytes that do not print are %XX. */
#ifndef ATOLL_TESTS_SUPPORT_READ_TEXT_H
#define ATOLL_TESTS_SUPPORT_READ_TEXT_H

#include "base/assert.h"
#include "base/buf.h"
#include "base/escape.h"
#include "cluster/tablet/read.h"

#define READ_TEXT_UNUSED __attribute__((unused))

static inline void read_text_check(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

static inline void read_text_row(void *ctx, struct at_slice row)
{
    read_text_check(at_escape_percent(ctx, row));
    read_text_check(at_buf_append(ctx, AT_LIT(":")));
}

static inline void read_text_cell(void *ctx, const struct at_cell *cell)
{
    read_text_check(at_buf_printf(ctx, " %.*s:", AT_SLICE_ARG(cell->family)));
    read_text_check(at_escape_percent(ctx, cell->qualifier));
    read_text_check(at_buf_printf(ctx, "@%lld=", (long long)cell->timestamp_micros));
    read_text_check(at_escape_percent(ctx, cell->value));
    if (cell->label.data != NULL)
        read_text_check(at_buf_printf(ctx, "#%.*s", AT_SLICE_ARG(cell->label)));
}

static inline void read_text_row_end(void *ctx)
{
    read_text_check(at_buf_append(ctx, AT_LIT("|")));
}

static READ_TEXT_UNUSED struct at_read_sink read_text_sink(struct at_buf *out)
{
    return (struct at_read_sink){
        .ctx = out, .row = read_text_row, .cell = read_text_cell, .row_end = read_text_row_end};
}

/* Appends all output of the read, taken in steps of `bytes_max`; returns the number of steps. */
static READ_TEXT_UNUSED size_t read_text(struct at_store *store,
                                         const struct at_read_spec *spec,
                                         size_t bytes_max,
                                         struct at_buf *out)
{
    struct at_read_sink sink = read_text_sink(out);
    struct at_read *read = NULL;
    bool done = false;
    size_t steps = 0;

    read_text_check(at_read_open(store, spec, &read, NULL));
    while (!done) {
        read_text_check(at_read_step(read, &sink, bytes_max, &done, NULL));
        steps++;
    }
    at_read_close(&read);
    return steps;
}

#endif
