#include "cluster/tablet/row_cursor.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/prng.h"
#include "support/fake_store.h"
#include "support/read_text.h"
#include "support/test.h"

/* Random operations against a model that keeps a plain list of them and decides by brute force what
 * shows: the rule of stamps, written down once more without any order of keys. */

#define FAMILIES 3
#define ROWS 9
#define QUALIFIERS 4
#define TIMES 4
#define OPS_MAX 160

static const char *const family_names[FAMILIES] = {"a", "b.c", "sum"};
static const struct at_slice row_names[ROWS] = {
    AT_LIT_INIT("\x00"),  AT_LIT_INIT("\x00\xff"),  AT_LIT_INIT("a"),
    AT_LIT_INIT("a\x00"), AT_LIT_INIT("a\x00\x01"), AT_LIT_INIT("a\x01"),
    AT_LIT_INIT("ab"),    AT_LIT_INIT("b"),         AT_LIT_INIT("\xff\xff"),
};
static const struct at_slice qualifier_names[QUALIFIERS] = {
    AT_LIT_INIT(""),
    AT_LIT_INIT("\x00"),
    AT_LIT_INIT("\x00\x02"),
    AT_LIT_INIT("q"),
};

enum op_kind { OP_SET, OP_COLUMN, OP_FAMILY, OP_ROW, OP_DROP };

struct op {
    enum op_kind kind;
    int family;
    int row; /* DROP: all rows that begin with it */
    int qualifier;
    int64_t time;
    int64_t end;
    uint64_t hlc;
    int64_t value;
};

struct model {
    struct at_store *store;
    struct at_prng prng;
    struct op ops[OPS_MAX];
    int count;
    bool markers; /* row markers and drops may come */
};

static int below(struct model *m, int n)
{
    return (int)at_prng_below(&m->prng, (uint64_t)n);
}

static bool deletes(const struct op *d, const struct op *set)
{
    if (d->kind == OP_SET || d->hlc <= set->hlc)
        return false;
    if (d->kind == OP_DROP)
        return at_slice_has_prefix(row_names[set->row], row_names[d->row]);
    if (d->row != set->row)
        return false;
    if (d->kind == OP_ROW)
        return true;
    if (d->family != set->family)
        return false;
    if (d->kind == OP_FAMILY)
        return true;
    return d->qualifier == set->qualifier && d->time <= set->time &&
           (d->end == 0 || set->time < d->end);
}

/* The value of a cell, or false. */
static bool value_of(const struct model *m, const struct op *place, int64_t *ret_value)
{
    const struct op *best = NULL;
    int64_t sum = 0;
    bool any = false;

    for (int i = 0; i < m->count; i++) {
        const struct op *set = &m->ops[i];
        bool hidden = false;
        if (set->kind != OP_SET || set->family != place->family || set->row != place->row ||
            set->qualifier != place->qualifier || set->time != place->time)
            continue;
        for (int k = 0; k < m->count && !hidden; k++)
            hidden = deletes(&m->ops[k], set);
        if (!hidden) {
            any = true;
            sum += set->value;
        }
        if (best == NULL || set->hlc > best->hlc)
            best = set;
    }
    if (!any)
        return false;
    *ret_value = place->family == FAMILIES - 1 ? sum : best->value;
    return true;
}

static void model_row(const struct model *m, int row, struct at_buf *out)
{
    uint8_t bytes[8];
    bool any = false;
    struct op p = {.row = row};

    for (p.family = 0; p.family < FAMILIES; p.family++)
        for (p.qualifier = 0; p.qualifier < QUALIFIERS; p.qualifier++)
            for (p.time = TIMES - 1; p.time >= 0; p.time--) {
                int64_t value;
                if (!value_of(m, &p, &value))
                    continue;
                if (!any)
                    read_text_row(out, row_names[row]);
                any = true;
                at_put_be64(bytes, (uint64_t)value);
                struct at_cell cell = {.family = at_slice_cstr(family_names[p.family]),
                                       .qualifier = qualifier_names[p.qualifier],
                                       .timestamp_micros = p.time,
                                       .value = at_slice_make(bytes, 8)};
                read_text_cell(out, &cell);
            }
    if (any)
        read_text_row_end(out);
}

/* What a read of the set must give. */
static void model_read(const struct model *m, const struct at_read_spec *spec, struct at_buf *out)
{
    uint64_t rows = 0;

    for (int i = 0; i < ROWS; i++) {
        int row = spec->reversed ? ROWS - 1 - i : i;
        size_t len = out->len;
        if (!at_row_set_contains(spec->rows, row_names[row]))
            continue;
        if (spec->rows_limit > 0 && rows == spec->rows_limit)
            return;
        model_row(m, row, out);
        rows += out->len > len;
    }
}

static void model_op(struct model *m)
{
    struct op *op = &m->ops[m->count];
    int dice = below(m, 100);
    uint8_t bytes[8];

    *op = (struct op){
        .kind = dice < 70   ? OP_SET
                : dice < 85 ? OP_COLUMN
                : dice < 93 ? OP_FAMILY
                            : OP_ROW,
        .family = below(m, FAMILIES),
        .row = below(m, ROWS),
        .qualifier = below(m, QUALIFIERS),
        .time = below(m, TIMES),
        .hlc = 1 + at_prng_below(&m->prng, 1000000), /* as replicated: in any order */
        .value = below(m, 1000),
    };
    if (op->kind == OP_ROW && !m->markers)
        op->kind = OP_FAMILY;
    if (op->kind == OP_ROW && below(m, 3) == 0)
        op->kind = OP_DROP;
    for (int i = 0; i < m->count; i++)
        if (m->ops[i].hlc == op->hlc)
            return;
    m->count++;
    op->end = op->kind == OP_COLUMN && below(m, 2) ? op->time + 1 + below(m, TIMES) : 0;

    struct fake_cell cell = {
        .family = family_names[op->family],
        .row = row_names[op->row],
        .qualifier = qualifier_names[op->qualifier],
        .timestamp_micros = op->time,
        .hlc = op->hlc,
        .value = at_slice_make(bytes, 8),
        .partial = op->kind == OP_SET && op->family == FAMILIES - 1,
    };
    at_put_be64(bytes, (uint64_t)op->value);
    if (op->kind == OP_SET)
        fake_put_cell(m->store, "t", &cell);
    else if (op->kind == OP_COLUMN)
        fake_put_column_marker(m->store, "t", &cell, op->end);
    else if (op->kind == OP_FAMILY)
        fake_put_marker(m->store, "t", cell.family, cell.row, cell.hlc);
    else if (op->kind == OP_ROW)
        fake_put_marker(m->store, "t", NULL, cell.row, cell.hlc);
    else
        fake_drop_range(m->store, "t", cell.row, cell.hlc);
}

static struct at_row_set random_rows(struct model *m, struct at_arena *arena)
{
    struct at_row_set rows;
    int items = below(m, 4);

    at_row_set_init(&rows);
    for (int i = 0; i < items; i++) {
        int low = below(m, ROWS);
        int high = below(m, ROWS);
        struct at_row_bound start = {below(m, 3), row_names[low]};
        struct at_row_bound end = {below(m, 3), row_names[high]};
        enum at_code code = below(m, 2)
                                ? at_row_set_add_key(&rows, arena, row_names[low], NULL)
                                : at_row_set_add_range(&rows, arena, (uint32_t)i, start, end, NULL);
        assert_true(code == AT_OK || code == AT_INVALID_ARGUMENT);
    }
    at_row_set_finish(&rows, arena);
    return rows;
}

static void check_reads(struct model *m, struct at_arena *arena)
{
    struct at_buf want;
    struct at_buf got;

    at_buf_init(&want, AT_MIB);
    at_buf_init(&got, AT_MIB);
    for (int i = 0; i < 30; i++) {
        at_arena_reset(arena);
        struct at_row_set rows = random_rows(m, arena);
        struct at_read_spec spec = {
            .table = AT_LIT("t"),
            .rows = &rows,
            .reversed = below(m, 2),
            .rows_limit = (uint64_t)below(m, 5),
        };
        at_buf_clear(&want);
        at_buf_clear(&got);
        model_read(m, &spec, &want);
        /* bytes_max 1 pauses at every place there is. */
        read_text(m->store, &spec, below(m, 2) ? 1 : (size_t)below(m, 2000) + 1, &got);
        assert_string_equal(at_buf_cstr(&got), at_buf_cstr(&want));
    }
    at_buf_deinit(&want);
    at_buf_deinit(&got);
}

static void run_model(uint64_t seed, bool markers)
{
    struct model *m = AT_NEW(struct model);
    struct at_arena arena;

    at_arena_init(&arena, 4096);
    at_prng_init(&m->prng, seed);
    m->markers = markers;
    m->store = fake_store_open();
    fake_table(m->store, "t");
    for (int i = 0; i < FAMILIES; i++)
        fake_family(m->store, "t", family_names[i],
                    i == FAMILIES - 1 ? AT_LIT(FAKE_SUM) : at_slice_make(NULL, 0));
    while (m->count < OPS_MAX - 8) {
        for (int i = 0; i < 8; i++)
            model_op(m);
        fake_commit(m->store);
        check_reads(m, &arena);
    }
    fake_store_close(&m->store);
    at_arena_deinit(&arena);
    at_free(m);
}

static void reads_show_what_the_rule_of_stamps_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        run_model(seed, seed % 2);
}

/* --- one row written over and over while it is read --- */

#define TORN_ROWS 4
#define TORN_READS 3000

struct torn {
    struct at_store *store;
    atomic_bool stop;
    atomic_ulong reads;
};

/* Each commit gives all families of all rows the same value. It stays a few commits per read ahead,
 * lest slow readers pile up versions. */
static void *torn_write(void *ctx)
{
    struct torn *t = ctx;
    uint8_t value[8];
    static const char *const rows[TORN_ROWS] = {"r1", "r2", "r3", "r4"};

    for (uint64_t n = 2; !atomic_load(&t->stop); n++) {
        while (n > 4 * atomic_load(&t->reads) + 64 && !atomic_load(&t->stop))
            sched_yield();
        at_put_be64(value, n);
        for (int r = 0; r < TORN_ROWS; r++)
            for (int f = 0; f < FAMILIES - 1; f++) {
                struct fake_cell cell = {.family = family_names[f],
                                         .row = at_slice_cstr(rows[r]),
                                         .hlc = n,
                                         .value = at_slice_make(value, 8)};
                fake_put_cell(t->store, "t", &cell);
            }
        if (n % 64 == 0)
            fake_put_marker(t->store, "t", "a", AT_LIT("r1"), n - 1);
        fake_commit(t->store);
    }
    return NULL;
}

struct torn_row {
    uint64_t first;
    int cells;
    int rows;
    bool torn;
};

static void torn_on_row(void *ctx, struct at_slice row)
{
    struct torn_row *r = ctx;

    (void)row;
    r->cells = 0;
}

static void torn_on_cell(void *ctx, const struct at_cell *cell)
{
    struct torn_row *r = ctx;
    uint64_t value = at_get_be64(cell->value.data);

    if (r->cells++ == 0)
        r->first = value;
    else if (r->first != value)
        r->torn = true;
}

static void torn_on_end(void *ctx)
{
    struct torn_row *r = ctx;

    r->rows++;
    if (r->cells != FAMILIES - 1)
        r->torn = true;
}

static void no_row_is_torn_by_concurrent_commits(void **state)
{
    struct torn t = {.store = fake_store_open()};
    struct at_row_range all = {.start = {NULL, 0}};
    struct at_row_set rows = {.ranges = &all, .count = 1, .cap = 1};
    pthread_t writer;

    (void)state;
    atomic_init(&t.stop, false);
    atomic_init(&t.reads, 0);
    fake_table(t.store, "t");
    fake_family(t.store, "t", "a", at_slice_make(NULL, 0));
    fake_family(t.store, "t", "b.c", at_slice_make(NULL, 0));
    assert_int_equal(pthread_create(&writer, NULL, torn_write, &t), 0);
    for (int i = 0; i < TORN_READS; i++) {
        struct torn_row row = {0};
        struct at_read_sink sink = {&row, torn_on_row, torn_on_cell, torn_on_end};
        struct at_read_spec spec = {.table = AT_LIT("t"), .rows = &rows, .reversed = i % 2};
        struct at_read *read = NULL;
        bool done = false;
        assert_int_equal(at_read_open(t.store, &spec, &read, NULL), AT_OK);
        while (!done)
            assert_int_equal(at_read_step(read, &sink, 40, &done, NULL), AT_OK);
        at_read_close(&read);
        atomic_fetch_add(&t.reads, 1);
        assert_false(row.torn);
        assert_true(row.rows == 0 || row.rows == TORN_ROWS);
    }
    atomic_store(&t.stop, true);
    pthread_join(writer, NULL);
    fake_store_close(&t.store);
}

/* --- cost --- */

static uint64_t passed_by(struct at_store *store, const struct at_row_set *rows, int events)
{
    struct at_schema *schema = at_store_schema(store);
    struct at_row_cursor_spec spec = {
        .engine = at_store_engine(store),
        .schema = schema,
        .table = at_catalog_table(schema->catalog, AT_LIT("t")),
        .rows = rows,
    };
    struct at_row_cursor *c = NULL;
    enum at_cursor_event event = AT_CURSOR_END;

    assert_int_equal(at_row_cursor_open(&spec, &c, NULL), AT_OK);
    for (int i = 0; i < events; i++) {
        assert_int_equal(at_row_cursor_step(c, &event, NULL), AT_OK);
        if (event == AT_CURSOR_CELL)
            at_row_cursor_skip_column(c);
    }
    uint64_t passed = at_row_cursor_passed_bytes(c);
    at_row_cursor_close(&c);
    at_schema_unref(&schema);
    return passed;
}

static void skipping_a_column_does_not_read_it(void **state)
{
    struct at_store *store = fake_store_open();
    struct at_row_range all = {.start = {NULL, 0}};
    struct at_row_set rows = {.ranges = &all, .count = 1, .cap = 1};
    struct fake_cell cell = {.family = "f", .row = AT_LIT("r"), .hlc = 1};

    (void)state;
    fake_table(store, "t");
    fake_family(store, "t", "f", at_slice_make(NULL, 0));
    for (cell.timestamp_micros = 0; cell.timestamp_micros < 10000; cell.timestamp_micros++)
        fake_put_cell(store, "t", &cell);
    cell.qualifier = AT_LIT("z");
    fake_put_cell(store, "t", &cell);
    /* Stamped over and over at one timestamp. */
    for (cell.hlc = 1; cell.hlc < 10000; cell.hlc++)
        fake_put_cell(store, "t", &cell);
    cell.row = AT_LIT("s");
    fake_put_cell(store, "t", &cell);
    fake_commit(store);
    /* r, its two columns, the end, s, its column, the end, the end of all. */
    assert_true(passed_by(store, &rows, 8) < 8000);
    fake_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_show_what_the_rule_of_stamps_says),
        cmocka_unit_test(no_row_is_torn_by_concurrent_commits),
        cmocka_unit_test(skipping_a_column_does_not_read_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
