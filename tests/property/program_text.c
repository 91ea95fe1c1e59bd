#include <inttypes.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "property/program.h"
#include "support/filter_text.h"

static void must(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

static void show(struct at_buf *out, struct at_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        must(at_buf_printf(out, s.data[i] >= 0x20 && s.data[i] < 0x7f ? "%c" : "\\x%02x",
                           s.data[i]));
}

static void quote(struct at_buf *out, struct at_slice s)
{
    must(at_buf_printf(out, "'"));
    show(out, s);
    must(at_buf_printf(out, "'"));
}

static void put_mutation(struct at_buf *out, const struct at_mutation *m)
{
    static const char *const names[AT_MUTATION_KIND_COUNT] = {
        [AT_MUTATION_SET] = "set",
        [AT_MUTATION_DELETE_COLUMN] = "delete",
        [AT_MUTATION_DELETE_FAMILY] = "delete-family",
        [AT_MUTATION_DELETE_ROW] = "delete-row",
        [AT_MUTATION_ADD] = "add",
        [AT_MUTATION_MERGE] = "merge",
    };

    must(at_buf_printf(out, " [%s", names[m->kind]));
    if (m->kind != AT_MUTATION_DELETE_ROW)
        must(at_buf_printf(out, " %.*s", AT_SLICE_ARG(m->family)));
    if (m->kind != AT_MUTATION_DELETE_ROW && m->kind != AT_MUTATION_DELETE_FAMILY) {
        must(at_buf_printf(out, ":"));
        quote(out, m->qualifier);
        if (m->kind == AT_MUTATION_DELETE_COLUMN)
            must(at_buf_printf(out, " %" PRId64 "..%" PRId64, m->start_micros, m->end_micros));
        else
            must(at_buf_printf(out, "@%" PRId64 "=", m->timestamp_micros));
    }
    if (m->kind == AT_MUTATION_SET)
        quote(out, m->value);
    else if ((m->kind == AT_MUTATION_ADD || m->kind == AT_MUTATION_MERGE) && m->value.len > 0)
        must(at_buf_printf(out, "%" PRId64, (int64_t)at_get_be64(m->value.data)));
    must(at_buf_printf(out, "]"));
}

static void put_row(struct at_buf *out, const char *name, const struct op_row *r)
{
    must(at_buf_printf(out, " %s", name));
    for (uint32_t i = 0; i < r->count; i++)
        put_mutation(out, &r->mutations[i]);
}

static void put_filter(struct at_buf *out, const struct at_filter_node *n)
{
    struct at_buf text;

    if (n == NULL)
        return;
    at_buf_init(&text, AT_MIB);
    text_put_filter(&text, n);
    must(at_buf_printf(out, " filter "));
    show(out, at_buf_slice(&text));
    at_buf_deinit(&text);
}

static void put_rules(struct at_buf *out, const struct op *op)
{
    for (uint32_t i = 0; i < op->rule_count; i++) {
        const struct at_modify_rule *r = &op->rules[i];
        must(at_buf_printf(out, " [%s %.*s:", r->kind == AT_RULE_APPEND ? "append" : "increment",
                           AT_SLICE_ARG(r->family)));
        quote(out, r->qualifier);
        must(at_buf_printf(out, " "));
        if (r->kind == AT_RULE_APPEND)
            quote(out, r->append);
        else
            must(at_buf_printf(out, "%" PRId64, r->increment));
        must(at_buf_printf(out, "]"));
    }
}

static void put_bound(struct at_buf *out, const struct at_row_bound *b)
{
    if (b->kind == AT_BOUND_NONE)
        must(at_buf_printf(out, "*"));
    else
        quote(out, b->key);
}

static void put_read(struct at_buf *out, const struct op *op)
{
    for (uint32_t i = 0; i < op->key_count; i++) {
        must(at_buf_printf(out, " key "));
        quote(out, op->keys[i]);
    }
    for (uint32_t i = 0; i < op->range_count; i++) {
        const struct op_range *r = &op->ranges[i];
        must(at_buf_printf(out, " range %c", r->start.kind == AT_BOUND_OPEN ? '(' : '['));
        put_bound(out, &r->start);
        must(at_buf_printf(out, ".."));
        put_bound(out, &r->end);
        must(at_buf_printf(out, "%c", r->end.kind == AT_BOUND_OPEN ? ')' : ']'));
    }
    if (op->limit)
        must(at_buf_printf(out, " limit %" PRId64, op->limit));
    if (op->reversed)
        must(at_buf_printf(out, " reversed"));
}

void program_print_op(struct at_buf *out, const struct op *op)
{
    static const char *const names[] = {
        [OP_MUTATE_ROW] = "MutateRow",
        [OP_MUTATE_ROWS] = "MutateRows",
        [OP_CHECK] = "CheckAndMutateRow",
        [OP_MODIFY] = "ReadModifyWriteRow",
        [OP_READ] = "ReadRows",
        [OP_DROP] = "DropRowRange",
        [OP_COLLECT] = "collect and compact",
        [OP_KILL] = "kill -9",
        [OP_EXCHANGE] = "exchange",
        [OP_TICK] = "clock",
    };

    must(at_buf_printf(out, "%c %s", op->side ? 'B' : 'A', names[op->kind]));
    if (op->kind == OP_MODIFY) {
        must(at_buf_printf(out, " "));
        quote(out, op->rows[0].row);
        put_rules(out, op);
    } else if (op->kind == OP_READ) {
        put_read(out, op);
    } else if (op->kind == OP_DROP) {
        must(at_buf_printf(out, " "));
        quote(out, op->prefix);
    } else if (op->kind == OP_TICK) {
        must(at_buf_printf(out, " +%" PRId64 " ms", op->limit));
    } else if (op->kind == OP_CHECK) {
        must(at_buf_printf(out, " "));
        quote(out, op->rows[0].row);
        put_filter(out, op->filter);
        put_row(out, "then", &op->rows[0]);
        put_row(out, "else", &op->rows[1]);
        return;
    }
    for (uint32_t i = 0; i < op->row_count; i++) {
        must(at_buf_printf(out, " "));
        quote(out, op->rows[i].row);
        put_row(out, op->kind == OP_KILL ? "being written" : "", &op->rows[i]);
        if (op->rows[i].token != 0)
            must(at_buf_printf(out, " token %" PRIu64, op->rows[i].token));
    }
    put_filter(out, op->filter);
}

void program_print(struct at_buf *out, const struct program *p)
{
    static const char *const modes[] = {
        [PROGRAM_ALONE] = "one store",
        [PROGRAM_STRICT] = "two stores, each sees all before it is asked",
        [PROGRAM_LOOSE] = "two stores, which must end equal",
    };

    must(at_buf_printf(out, "seed %" PRIu64 ", %s\n", p->seed, modes[p->mode]));
    for (uint32_t i = 0; i < p->count; i++) {
        must(at_buf_printf(out, "  %u ", i));
        program_print_op(out, &p->ops[i]);
        must(at_buf_printf(out, "\n"));
    }
}
