#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/model/key.h"
#include "cluster/tablet/read.h"
#include "cluster/tablet/store.h"

#include <stdlib.h>

/* Split keys are always given. Boundaries by size come from halving: a stretch of rows that is too
 * large is cut at a row that exists in the table's largest family, about half-way between its ends
 * as numbers. Such halves are uneven in bytes, so they are cut further until they are small or the
 * probes are used up; then cuts are picked in order, one whenever enough bytes lie behind the one
 * before. The work is bounded by PROBES_MAX whatever the table's size; the sizes are estimates.
 *
 * Offsets grow strictly, if need be by one: readers that divide work by them cannot use zeros. */

#define STRETCH_BYTES ((uint64_t)64 * AT_MIB)
#define BOUNDARIES_MAX 256
#define PROBES_MAX 1024 /* seeks of one call; fewer when each asks many families for sizes */

/* A row before which the table may be cut, and the bytes up to it. */
struct cut {
    struct at_slice row;
    uint64_t offset_bytes;
    bool split; /* a split key */
};

struct sampler {
    struct at_engine *engine;
    const struct at_table *table;
    struct at_arena *arena;
    struct at_iter *iter; /* of the family that is probed */
    uint32_t family_id;
    struct at_buf key;
    struct at_buf scratch;
    uint64_t total_bytes;
    uint64_t stretch_bytes; /* the size that is aimed at */
    uint32_t probes_left;
    struct cut *cuts;
    uint32_t cut_count;
    uint32_t cut_max;
};

static enum at_code collect(struct sampler *s, struct at_error *reterr);
static enum at_code family_bytes(struct sampler *s,
                                 const struct at_family *family,
                                 struct at_slice end,
                                 uint64_t *ret_bytes);
static enum at_code rows_bytes(struct sampler *s, struct at_slice end, uint64_t *ret_bytes);
static enum at_code choose_family(struct sampler *s);
static enum at_code edge_rows(struct sampler *s,
                              struct at_slice *ret_first,
                              struct at_slice *ret_last,
                              struct at_error *reterr);
static enum at_code halve(struct sampler *s, struct cut low, struct cut high);
static enum at_code probe(struct sampler *s, struct cut low, struct cut high, struct cut *ret_cut);
static struct at_slice middle(struct at_arena *arena, struct at_slice low, struct at_slice high);
static enum at_code current_row(struct sampler *s, struct at_slice *ret_row);
static void add_cut(struct sampler *s, struct cut cut);
static int compare_cuts(const void *a, const void *b);
static void pick(const struct sampler *s, struct at_sample **ret_samples, uint32_t *ret_count);

enum at_code at_read_samples(struct at_store *store,
                             struct at_slice table,
                             struct at_arena *arena,
                             struct at_sample **ret_samples,
                             uint32_t *ret_count,
                             struct at_error *reterr)
{
    struct at_schema *schema AT_CLEANUP(at_schema_unref) = at_store_schema(store);
    struct sampler s = {
        .engine = at_store_engine(store),
        .table = at_catalog_table(schema->catalog, table),
        .arena = arena,
    };

    *ret_samples = NULL;
    *ret_count = 0;
    if (s.table == NULL)
        return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(table));
    s.probes_left = PROBES_MAX / (1 + s.table->family_count / 8);
    s.cut_max = s.table->fields.split_count + PROBES_MAX;
    s.cuts = AT_ARENA_ARRAY(arena, struct cut, s.cut_max);
    at_buf_init(&s.key, AT_KEY_BYTES_MAX);
    at_buf_init(&s.scratch, AT_KEY_BYTES_MAX);
    enum at_code code = collect(&s, reterr);
    if (code == AT_OK)
        pick(&s, ret_samples, ret_count);
    at_iter_close(&s.iter);
    at_buf_deinit(&s.key);
    at_buf_deinit(&s.scratch);
    return code;
}

static enum at_code collect(struct sampler *s, struct at_error *reterr)
{
    const struct at_table_fields *fields = &s->table->fields;
    struct at_slice first = {0};
    struct at_slice last = {0};

    AT_TRY(rows_bytes(s, at_slice_make(NULL, 0), &s->total_bytes));
    s->stretch_bytes = s->total_bytes / BOUNDARIES_MAX;
    if (s->stretch_bytes < STRETCH_BYTES)
        s->stretch_bytes = STRETCH_BYTES;
    for (uint32_t i = 0; i < fields->split_count; i++) {
        struct cut cut = {.row = at_arena_copy(s->arena, fields->splits[i]), .split = true};
        AT_TRY(rows_bytes(s, cut.row, &cut.offset_bytes));
        add_cut(s, cut);
    }
    if (s->total_bytes > s->stretch_bytes) {
        AT_TRY(choose_family(s));
        AT_TRY(edge_rows(s, &first, &last, reterr));
        if (first.len > 0) {
            struct cut low = {.row = first};
            struct cut high = {.row = last, .offset_bytes = s->total_bytes};
            AT_TRY(halve(s, low, high));
            AT_TRY(at_iter_status(s->iter, reterr));
        }
    }
    if (s->cut_count > 1)
        qsort(s->cuts, s->cut_count, sizeof(*s->cuts), compare_cuts);
    return AT_OK;
}

/* --- sizes --- */

/* The bytes of all rows below `end` (empty: of all) over all families. */
static enum at_code rows_bytes(struct sampler *s, struct at_slice end, uint64_t *ret_bytes)
{
    uint64_t bytes;

    *ret_bytes = 0;
    for (uint32_t i = 0; i < s->table->family_count; i++) {
        AT_TRY(family_bytes(s, &s->table->families[i], end, &bytes));
        *ret_bytes += bytes;
    }
    return AT_OK;
}

static enum at_code family_bytes(struct sampler *s,
                                 const struct at_family *family,
                                 struct at_slice end,
                                 uint64_t *ret_bytes)
{
    at_buf_clear(&s->key);
    at_buf_clear(&s->scratch);
    AT_TRY(at_key_seek_row(&s->key, s->table->id, family->id, at_slice_make(NULL, 0)));
    if (end.len > 0)
        AT_TRY(at_key_seek_row(&s->scratch, s->table->id, family->id, end));
    else
        AT_TRY(at_key_seek_family_end(&s->scratch, s->table->id, family->id));
    *ret_bytes = at_engine_range_bytes(s->engine, AT_SPACE_CELLS, at_buf_slice(&s->key),
                                       at_buf_slice(&s->scratch));
    return AT_OK;
}

/* Opens the iterator on the largest family. */
static enum at_code choose_family(struct sampler *s)
{
    uint64_t best_bytes = 0;

    for (uint32_t i = 0; i < s->table->family_count; i++) {
        uint64_t bytes;
        AT_TRY(family_bytes(s, &s->table->families[i], at_slice_make(NULL, 0), &bytes));
        if (i > 0 && bytes <= best_bytes)
            continue;
        best_bytes = bytes;
        s->family_id = s->table->families[i].id;
    }
    at_buf_clear(&s->key);
    at_buf_clear(&s->scratch);
    AT_TRY(at_key_seek_row(&s->key, s->table->id, s->family_id, at_slice_make(NULL, 0)));
    AT_TRY(at_key_seek_family_end(&s->scratch, s->table->id, s->family_id));
    struct at_iter_options options = {.lower = at_buf_slice(&s->key),
                                      .upper = at_buf_slice(&s->scratch)};
    s->iter = at_iter_open(s->engine, AT_SPACE_CELLS, &options);
    return AT_OK;
}

/* --- cutting --- */

static enum at_code edge_rows(struct sampler *s,
                              struct at_slice *ret_first,
                              struct at_slice *ret_last,
                              struct at_error *reterr)
{
    at_buf_clear(&s->key);
    AT_TRY(at_key_seek_row(&s->key, s->table->id, s->family_id, at_slice_make(NULL, 0)));
    at_iter_seek(s->iter, at_buf_slice(&s->key));
    if (!at_iter_valid(s->iter))
        return at_iter_status(s->iter, reterr);
    AT_TRY(current_row(s, ret_first));
    at_iter_seek_last(s->iter);
    if (!at_iter_valid(s->iter))
        return at_iter_status(s->iter, reterr);
    return current_row(s, ret_last);
}

/* Cuts stretches until they are small, with a stack of those that still wait. The lower half waits
 * while the upper one is cut, so the stack holds one stretch per halving. */
static enum at_code halve(struct sampler *s, struct cut low, struct cut high)
{
    struct stretch {
        struct cut low;
        struct cut high;
    } *waiting = AT_ARENA_ARRAY(s->arena, struct stretch, PROBES_MAX + 1);
    uint32_t count = 0;

    waiting[count++] = (struct stretch){low, high};
    while (count > 0) {
        struct stretch now = waiting[--count];
        struct cut cut = {0};
        if (now.high.offset_bytes - now.low.offset_bytes <= s->stretch_bytes)
            continue;
        AT_TRY(probe(s, now.low, now.high, &cut));
        if (cut.row.len == 0)
            continue;
        add_cut(s, cut);
        AT_ASSERT(count + 2 <= PROBES_MAX + 1);
        waiting[count++] = (struct stretch){now.low, cut};
        waiting[count++] = (struct stretch){cut, now.high};
    }
    return AT_OK;
}

/* Finds a row strictly between the two, about in the middle; an empty row when there is none or the
 * probes are used up. When no row lies between the middle and the upper end, the middle takes its
 * place: each probe then halves the space of keys. */
static enum at_code probe(struct sampler *s, struct cut low, struct cut high, struct cut *ret_cut)
{
    struct at_slice top = high.row;

    while (s->probes_left > 0) {
        struct at_slice mid = middle(s->arena, low.row, top);
        if (mid.len == 0)
            return AT_OK;
        s->probes_left--;
        at_buf_clear(&s->key);
        AT_TRY(at_key_seek_row(&s->key, s->table->id, s->family_id, mid));
        at_iter_seek(s->iter, at_buf_slice(&s->key));
        struct at_slice row = {0};
        if (at_iter_valid(s->iter))
            AT_TRY(current_row(s, &row));
        if (row.len == 0 || at_slice_cmp(row, high.row) >= 0) {
            top = mid;
            continue;
        }
        ret_cut->row = row;
        AT_TRY(rows_bytes(s, row, &ret_cut->offset_bytes));
        /* Estimates need not agree; stretches must stay in order. */
        if (ret_cut->offset_bytes < low.offset_bytes)
            ret_cut->offset_bytes = low.offset_bytes;
        if (ret_cut->offset_bytes > high.offset_bytes)
            ret_cut->offset_bytes = high.offset_bytes;
        return AT_OK;
    }
    return AT_OK;
}

/* A key strictly between the two, from the 8 bytes behind their common beginning as numbers; empty
 * when those leave no room. */
static struct at_slice middle(struct at_arena *arena, struct at_slice low, struct at_slice high)
{
    uint8_t ends[2][8] = {{0}, {0}};
    size_t common = 0;

    while (common < low.len && common < high.len && low.data[common] == high.data[common])
        common++;
    struct at_slice a = at_slice_from(low, common);
    struct at_slice b = at_slice_from(high, common);
    if (a.len > 0)
        memcpy(ends[0], a.data, a.len < 8 ? a.len : 8);
    if (b.len > 0)
        memcpy(ends[1], b.data, b.len < 8 ? b.len : 8);
    uint64_t from = at_get_be64(ends[0]);
    uint64_t to = at_get_be64(ends[1]);
    if (to <= from || to - from < 2)
        return at_slice_make(NULL, 0);

    uint8_t *key = at_arena_alloc(arena, common + 8);
    if (common > 0)
        memcpy(key, low.data, common);
    at_put_be64(key + common, from + (to - from) / 2);
    return at_slice_make(key, common + 8);
}

/* The row under the iterator, copied. */
static enum at_code current_row(struct sampler *s, struct at_slice *ret_row)
{
    struct at_key key;

    AT_TRY(at_key_decode(at_iter_key(s->iter), &s->scratch, &key));
    *ret_row = at_arena_copy(s->arena, key.row);
    return AT_OK;
}

static void add_cut(struct sampler *s, struct cut cut)
{
    AT_ASSERT(s->cut_count < s->cut_max);
    s->cuts[s->cut_count++] = cut;
}

/* By row; of equal ones the split key first. */
static int compare_cuts(const void *a, const void *b)
{
    const struct cut *left = a;
    const struct cut *right = b;
    int c = at_slice_cmp(left->row, right->row);

    return c != 0 ? c : (int)right->split - (int)left->split;
}

/* --- picking --- */

static void pick(const struct sampler *s, struct at_sample **ret_samples, uint32_t *ret_count)
{
    struct at_sample *samples = AT_ARENA_ARRAY(s->arena, struct at_sample, s->cut_count + 1);
    uint64_t last_offset = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->cut_count; i++) {
        const struct cut *cut = &s->cuts[i];
        if (count > 0 && at_slice_eq(samples[count - 1].row, cut->row))
            continue;
        if (!cut->split && cut->offset_bytes < last_offset + s->stretch_bytes)
            continue;
        last_offset = cut->offset_bytes > last_offset ? cut->offset_bytes : last_offset + 1;
        samples[count++] = (struct at_sample){.row = cut->row, .offset_bytes = last_offset};
    }
    last_offset = s->total_bytes > last_offset ? s->total_bytes : last_offset + 1;
    samples[count++] = (struct at_sample){.offset_bytes = last_offset};
    *ret_samples = samples;
    *ret_count = count;
}
