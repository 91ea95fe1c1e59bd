/* filter_text.h: filters and rows as text, for tables of tests and for reports of failures.
 *
 *   all none sink strip row:RE fam:RE col:RE value:RE label:L mask:BYTES sample:P offset:N limit:N
 *   collimit:N ts:A..B vrange:[A..B) crange:F/[A..B) chain(..) inter(..) cond(P,T,F)
 *
 * An argument ends at , or ) unless it stands in '...'; * is an unset bound and - a missing branch.
 * Cells are f:q@ts=value, with #label behind it, separated by one space. */
#ifndef ATOLL_TESTS_SUPPORT_FILTER_TEXT_H
#define ATOLL_TESTS_SUPPORT_FILTER_TEXT_H

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "cluster/model/filter.h"

#define TEXT_CELLS_MAX 4096
#define TEXT_UNUSED __attribute__((unused))

static const char *const text_names[] = {
    [AT_FILTER_PASS_ALL] = "all",
    [AT_FILTER_BLOCK_ALL] = "none",
    [AT_FILTER_CHAIN] = "chain",
    [AT_FILTER_INTERLEAVE] = "inter",
    [AT_FILTER_CONDITION] = "cond",
    [AT_FILTER_SINK] = "sink",
    [AT_FILTER_ROW_KEY_REGEX] = "row",
    [AT_FILTER_ROW_SAMPLE] = "sample",
    [AT_FILTER_FAMILY_REGEX] = "fam",
    [AT_FILTER_QUALIFIER_REGEX] = "col",
    [AT_FILTER_COLUMN_RANGE] = "crange",
    [AT_FILTER_TIMESTAMP_RANGE] = "ts",
    [AT_FILTER_VALUE_REGEX] = "value",
    [AT_FILTER_VALUE_RANGE] = "vrange",
    [AT_FILTER_CELLS_PER_ROW_OFFSET] = "offset",
    [AT_FILTER_CELLS_PER_ROW_LIMIT] = "limit",
    [AT_FILTER_CELLS_PER_COLUMN_LIMIT] = "collimit",
    [AT_FILTER_STRIP_VALUE] = "strip",
    [AT_FILTER_APPLY_LABEL] = "label",
    [AT_FILTER_VALUE_BITMASK] = "mask",
};
#define TEXT_KIND_COUNT (sizeof(text_names) / sizeof(text_names[0]))

/* text_until takes the bytes before the first of `ends` (or before the end). */
static inline struct at_slice text_until(const char **p, const char *ends)
{
    size_t len = strcspn(*p, ends);
    struct at_slice s = at_slice_make(*p, len);

    *p += len;
    return s;
}

static inline struct at_slice text_argument(const char **p)
{
    if (**p != '\'')
        return text_until(p, ",)");
    ++*p;
    struct at_slice s = text_until(p, "'");
    ++*p;
    return s;
}

static inline void text_range(const char **p, struct at_filter_node *n)
{
    if (n->kind == AT_FILTER_COLUMN_RANGE) {
        n->bytes = text_until(p, "/");
        ++*p;
    }
    n->start.open = *(*p)++ == '(';
    n->start.bytes = text_until(p, ".");
    *p += 2;
    n->end.bytes = text_until(p, ")]");
    n->end.open = *(*p)++ == ')';
    n->start.set = !at_slice_eq_cstr(n->start.bytes, "*");
    n->end.set = !at_slice_eq_cstr(n->end.bytes, "*");
}

static inline struct at_filter_node *text_filter_at(const char **p, struct at_arena *arena);

static inline void text_children(const char **p, struct at_arena *arena, struct at_filter_node *n)
{
    n->children = AT_ARENA_ARRAY(arena, struct at_filter_node *, 64);
    while (**p != ')') {
        AT_ASSERT(n->child_count < 64 && **p != '\0');
        n->children[n->child_count++] = text_filter_at(p, arena);
        *p += strspn(*p, ", ");
    }
    ++*p;
}

static inline struct at_filter_node *text_filter_at(const char **p, struct at_arena *arena)
{
    struct at_slice name = text_until(p, ":(,)");
    struct at_filter_node *n = AT_ARENA_NEW(arena, struct at_filter_node);
    size_t kind = 0;

    if (at_slice_eq_cstr(name, "-"))
        return NULL;
    while (kind < TEXT_KIND_COUNT && !at_slice_eq_cstr(name, text_names[kind]))
        kind++;
    AT_ASSERT(kind < TEXT_KIND_COUNT);
    n->kind = (enum at_filter_kind)kind;
    if (**p == '(') {
        ++*p;
        text_children(p, arena, n);
        return n;
    }
    if (**p != ':')
        return n;
    ++*p;
    if (n->kind == AT_FILTER_COLUMN_RANGE || n->kind == AT_FILTER_VALUE_RANGE) {
        text_range(p, n);
        return n;
    }
    n->bytes = text_argument(p);
    const char *number = at_arena_printf(arena, "%.*s", AT_SLICE_ARG(n->bytes));
    n->probability = strtod(number, NULL);
    n->number = strtoll(number, NULL, 10);
    n->start_micros = n->number;
    if (n->kind == AT_FILTER_TIMESTAMP_RANGE)
        n->end_micros = strtoll(strchr(number, '.') + 2, NULL, 10);
    return n;
}

/* text_filter: the text must outlive the tree. NULL stays NULL. */
TEXT_UNUSED static inline struct at_filter_node *text_filter(const char *text,
                                                             struct at_arena *arena)
{
    return text ? text_filter_at(&text, arena) : NULL;
}

/* text_row parses cells into `cells` and returns their count. Family and text must outlive them. */
TEXT_UNUSED static inline size_t text_row(const char *text, struct at_cell *cells)
{
    size_t count = 0;

    while (*text != '\0') {
        AT_ASSERT(count < TEXT_CELLS_MAX);
        struct at_cell *c = &cells[count++];
        *c = (struct at_cell){.family = text_until(&text, ":")};
        ++text;
        c->qualifier = text_until(&text, "@");
        c->timestamp_micros = strtoll(text + 1, NULL, 10);
        text += strcspn(text, "=") + 1;
        c->value = text_until(&text, " ");
        text += *text == ' ';
    }
    return count;
}

TEXT_UNUSED static inline void text_put_cell(struct at_buf *out, const struct at_cell *c)
{
    enum at_code code = at_buf_printf(out, "%s%.*s:%.*s@%lld=%.*s%s%.*s", out->len ? " " : "",
                                      AT_SLICE_ARG(c->family), AT_SLICE_ARG(c->qualifier),
                                      (long long)c->timestamp_micros, AT_SLICE_ARG(c->value),
                                      c->label.data ? "#" : "", AT_SLICE_ARG(c->label));
    AT_ASSERT(code == AT_OK);
}

/* text_put_filter is the reverse of text_filter. */
TEXT_UNUSED static inline void text_put_filter(struct at_buf *out, const struct at_filter_node *n)
{
    enum at_code code = AT_OK;

    if (n == NULL) {
        code = at_buf_printf(out, "-");
    } else if (n->child_count > 0) {
        code = at_buf_printf(out, "%s(", text_names[n->kind]);
        for (uint32_t i = 0; i < n->child_count; i++) {
            text_put_filter(out, n->children[i]);
            code = at_buf_printf(out, "%s", i + 1 < n->child_count ? "," : ")");
        }
    } else if (n->kind == AT_FILTER_COLUMN_RANGE || n->kind == AT_FILTER_VALUE_RANGE) {
        code = at_buf_printf(
            out, "%s:%.*s%s%c%.*s..%.*s%c", text_names[n->kind], AT_SLICE_ARG(n->bytes),
            n->kind == AT_FILTER_COLUMN_RANGE ? "/" : "", n->start.open ? '(' : '[',
            AT_SLICE_ARG(n->start.set ? n->start.bytes : AT_LIT("*")),
            AT_SLICE_ARG(n->end.set ? n->end.bytes : AT_LIT("*")), n->end.open ? ')' : ']');
    } else if (n->kind == AT_FILTER_TIMESTAMP_RANGE) {
        code = at_buf_printf(out, "ts:%lld..%lld", (long long)n->start_micros,
                             (long long)n->end_micros);
    } else if (n->kind >= AT_FILTER_CELLS_PER_ROW_OFFSET &&
               n->kind <= AT_FILTER_CELLS_PER_COLUMN_LIMIT) {
        code = at_buf_printf(out, "%s:%lld", text_names[n->kind], (long long)n->number);
    } else {
        code = at_buf_printf(out, "%s", text_names[n->kind]);
        if (code == AT_OK && n->bytes.data != NULL)
            code = at_buf_printf(out, ":'%.*s'", AT_SLICE_ARG(n->bytes));
    }
    AT_ASSERT(code == AT_OK);
}

#endif
