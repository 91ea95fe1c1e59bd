/* print.c: the grid follows Go's text/tabwriter as cbt sets it up: cells at least 10 wide, 4
 * more than their text, filled up with tabs of 8. */
#include "cli/cbt/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/escape.h"
#include "base/limits.h"

#define RULE "----------------------------------------"
#define COLUMN_WIDTH 40
#define CELL_WIDTH_MIN 10
#define CELL_PADDING 4
#define TAB_WIDTH 8
#define GRID_COLUMNS_MAX 8

/* Code points of UTF-8, as Go counts a width. */
static size_t width(struct at_slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += (s.data[i] & 0xc0) != 0x80;
    return n;
}

/* qsort is not stable: the cells stay in place and their pointers are sorted, by place at last. */
static int compare_places(const void *left, const void *right)
{
    const struct at_row_cell *a = *(const struct at_row_cell *const *)left;
    const struct at_row_cell *b = *(const struct at_row_cell *const *)right;
    int order = at_slice_cmp(a->family, b->family);
    if (order == 0)
        order = at_slice_cmp(a->qualifier, b->qualifier);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Text as it is, or quoted where a terminal should not get it. */
static struct at_slice presentable(struct at_slice s, struct at_buf *buf)
{
    size_t start = buf->len;
    if (at_escape_quoted(buf, s) != AT_OK)
        return s;
    struct at_slice quoted = at_slice_from(at_buf_slice(buf), start);
    for (size_t i = 1; i + 1 < quoted.len; i++)
        if (quoted.data[i] == '\\' && quoted.data[i + 1] != '\\' && quoted.data[i + 1] != '"')
            return quoted;
        else if (quoted.data[i] == '\\')
            i++;
    return s;
}

static void print_time(FILE *out, int64_t micros)
{
    char date[40] = "?";
    struct tm local;
    time_t seconds = (time_t)(micros / 1000000);
    int64_t rest = micros % 1000000;
    if (rest < 0) {
        seconds--;
        rest += 1000000;
    }
    if (localtime_r(&seconds, &local))
        (void)strftime(date, sizeof(date), "%Y/%m/%d-%H:%M:%S", &local);
    (void)fprintf(out, "%s.%06" PRId64, date, rest);
}

static void print_bytes(FILE *out, struct at_slice s)
{
    if (s.len > 0)
        (void)fwrite(s.data, 1, s.len, out);
}

static void print_cell(FILE *out, const struct at_row_cell *cell)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf column;
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    at_buf_init(&column, AT_FAMILY_BYTES_MAX + AT_QUALIFIER_BYTES_MAX + AT_KIB);
    at_buf_init(&text, 5 * AT_ROW_READ_BYTES_MAX);
    if (at_buf_printf(&column, "%.*s:", AT_SLICE_ARG(cell->family)) != AT_OK ||
        at_buf_append(&column, cell->qualifier) != AT_OK)
        at_buf_clear(&column);
    struct at_slice name = presentable(at_buf_slice(&column), &text);
    (void)fputs("  ", out);
    print_bytes(out, name);
    for (size_t i = width(name); i < COLUMN_WIDTH; i++)
        (void)fputc(' ', out);
    (void)fputs(" @ ", out);
    print_time(out, cell->timestamp_micros);
    (void)fputs("\n    ", out);
    at_buf_clear(&text);
    if (at_escape_quoted(&text, cell->value) == AT_OK)
        print_bytes(out, at_buf_slice(&text));
    (void)fputc('\n', out);
}

void at_cbt_print_row(FILE *out, const struct at_client_row *row)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    AT_CLEANUP(at_free_ptr)
    const struct at_row_cell **places =
        at_alloc(row->cell_count * sizeof(const struct at_row_cell *));
    at_buf_init(&text, 5 * AT_ROW_READ_BYTES_MAX);
    for (size_t i = 0; i < row->cell_count; i++)
        places[i] = &row->cells[i];
    if (row->cell_count > 1)
        qsort(places, row->cell_count, sizeof(const struct at_row_cell *), compare_places);
    (void)fputs(RULE "\n", out);
    print_bytes(out, presentable(row->key, &text));
    (void)fputc('\n', out);
    for (size_t i = 0; i < row->cell_count; i++)
        print_cell(out, places[i]);
    (void)fputc('\n', out);
}

void at_cbt_grid_add(struct at_cbt_grid *g, const char *cell)
{
    if (g->cell_count == g->cell_cap) {
        g->cell_cap = g->cell_cap ? g->cell_cap * 2 : 32;
        g->cells = at_realloc(g->cells, g->cell_cap * sizeof(*g->cells));
    }
    g->cells[g->cell_count++] = cell ? cell : "";
}

void at_cbt_grid_begin(struct at_cbt_grid *g,
                       size_t column_count,
                       const char *const *titles,
                       const char *const *lines)
{
    AT_ASSERT(column_count > 0 && column_count <= GRID_COLUMNS_MAX);
    *g = (struct at_cbt_grid){.column_count = column_count};
    for (size_t i = 0; i < column_count; i++)
        at_cbt_grid_add(g, titles[i]);
    for (size_t i = 0; i < column_count; i++)
        at_cbt_grid_add(g, lines[i]);
}

void at_cbt_grid_end(struct at_cbt_grid *g, FILE *out)
{
    size_t widths[GRID_COLUMNS_MAX] = {0};
    for (size_t i = 0; i < g->cell_count; i++) {
        size_t w = width(at_slice_cstr(g->cells[i])) + CELL_PADDING;
        w = w < CELL_WIDTH_MIN ? CELL_WIDTH_MIN : w;
        w = (w + TAB_WIDTH - 1) / TAB_WIDTH * TAB_WIDTH;
        size_t column = i % g->column_count;
        if (w > widths[column])
            widths[column] = w;
    }
    for (size_t i = 0; out && i < g->cell_count; i++) {
        size_t column = i % g->column_count;
        (void)fputs(g->cells[i], out);
        if (column + 1 == g->column_count) {
            (void)fputc('\n', out);
            continue;
        }
        size_t fill = widths[column] - width(at_slice_cstr(g->cells[i]));
        for (size_t tabs = (fill + TAB_WIDTH - 1) / TAB_WIDTH; tabs > 0; tabs--)
            (void)fputc('\t', out);
    }
    at_free(g->cells);
    *g = (struct at_cbt_grid){0};
}
