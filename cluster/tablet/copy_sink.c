#include "cluster/tablet/copy_step.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>

/* A sink touches nothing that anyone reads before it finishes. What it leaves when it is given up,
 * or when the process dies, is an aside that nobody chose, which is dropped, and local ids for what
 * the donor told of, which are invisible and used again.
 *
 * Parts may come in any order; the file being written is cut when the next key would not ascend.
 * What only the receiver has is added at the end, by one walk over its own keys that jumps over
 * what the parts covered and over what is dead. The parts of a family must tile it whole: a stretch
 * that is left out would be taken for one where the donor has nothing. */

#define CATALOG_BYTES_MAX (512 * AT_MIB)
#define CUT_BYTES (64 * AT_MIB)
#define ARENA_FIRST_BYTES (64 * AT_KIB)
#define CURSOR_BYTES_MAX AT_KEY_BYTES_MAX
#define GROW(items, count, cap)                                      \
    do {                                                             \
        if ((count) == (cap)) {                                      \
            (cap) = (cap) == 0 ? 64 : (cap)*2;                       \
            (items) = at_realloc((items), (cap) * sizeof(*(items))); \
        }                                                            \
    } while (0)

static void copy_state(struct at_copy_sink *s, const struct at_copy_state *from);
static void copy_facts(struct at_arena *a,
                       struct at_positions_facts *to,
                       const struct at_positions_facts *from);
static bool register_sink(struct at_store *store, struct at_copy_sink *s);
static void sink_free(struct at_copy_sink **sink);
static enum at_code take_catalog(struct at_copy_sink *s,
                                 struct at_slice cursor,
                                 bool last,
                                 struct at_slice items,
                                 struct at_error *reterr);
static enum at_code
keep_item(struct at_copy_sink *s, const struct at_copy_item *item, struct at_error *reterr);
static enum at_code plan(struct at_copy_sink *s, struct at_error *reterr);
static enum at_code check_tiles(const struct at_copy_sink *s, struct at_error *reterr);
static int compare_parts(const void *a, const void *b);
static bool same_family(const struct at_copy_part *a, const struct at_copy_part *b);
static int compare_prefixes(const void *a, const void *b);
static struct sink_prefix *find_prefix(struct at_copy_sink *s, uint32_t table, uint32_t family);
static struct at_slice
row_key(struct at_copy_sink *s, uint32_t table_id, uint32_t family_id, struct at_slice row);
static void make_progress(struct at_copy_sink *s);
static void note_progress(struct at_copy_sink *s, const struct sink_part *p, size_t bytes);
static enum at_code
merge(struct at_copy_sink *s, const struct at_copy_stretch *stretch, struct at_error *reterr);
static enum at_code
put_aside(void *sink, struct at_slice key, struct at_slice value, struct at_error *reterr);
static enum at_code add_own(struct at_copy_sink *s, struct at_error *reterr);
static enum at_code
add_own_prefix(struct at_copy_sink *s, struct at_iter *i, struct at_error *reterr);
static enum at_code malformed(const char *what, struct at_error *reterr);

enum at_code at_copy_sink_open(struct at_store *store,
                               const struct at_copy_state *donor,
                               uint32_t part_count,
                               struct at_copy_sink **ret_sink,
                               struct at_error *reterr)
{
    if (part_count == 0 || part_count > AT_COPY_PARTS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "a copy of %u parts", part_count);
    struct at_copy_sink *s = AT_NEW(struct at_copy_sink);
    struct sink_step step = {.step = {.run = copy_sink_begin_run}, .sink = s};
    s->store = store;
    s->part_expected = part_count - 1;
    at_arena_init(&s->arena, ARENA_FIRST_BYTES);
    at_buf_init(&s->catalog_at, CURSOR_BYTES_MAX);
    at_buf_init(&s->last_key, AT_KEY_BYTES_MAX);
    copy_state(s, donor);
    if (!register_sink(store, s)) {
        sink_free(&s);
        return at_fail(reterr, AT_FAILED_PRECONDITION, "a copy is under way already");
    }
    enum at_code code = at_aside_new(store->engine, &s->aside, reterr);
    if (code == AT_OK)
        code = copy_step_do(store, &step.step, reterr);
    if (code != AT_OK) {
        at_copy_sink_abort(&s);
        return code;
    }
    *ret_sink = s;
    return AT_OK;
}

enum at_code at_copy_sink_take(struct at_copy_sink *s,
                               uint32_t part,
                               struct at_slice cursor,
                               bool last,
                               struct at_slice items,
                               struct at_error *reterr)
{
    if (cursor.len > CURSOR_BYTES_MAX - AT_KEY_PREFIX_BYTES || (cursor.len == 0) != last)
        return malformed("a cursor is missing, or too many", reterr);
    if (part == 0)
        return take_catalog(s, cursor, last, items, reterr);
    if (!s->planned || part > s->part_count || s->parts[part - 1].done)
        return malformed("a part comes out of order", reterr);
    struct sink_part *p = &s->parts[part - 1];
    struct at_buf to AT_CLEANUP(at_buf_deinit);
    at_buf_init(&to, AT_KEY_BYTES_MAX);
    AT_TRY(at_buf_append(&to, last ? p->end : at_slice_make(p->at.data, AT_KEY_PREFIX_BYTES)));
    if (!last)
        AT_TRY(at_buf_append(&to, cursor));
    struct at_copy_stretch stretch = {at_buf_slice(&p->at), at_buf_slice(&to), items};
    if (at_slice_cmp(stretch.start, stretch.end) >= 0 || at_slice_cmp(stretch.end, p->end) > 0)
        return malformed("a chunk is out of order", reterr);
    if (!p->dead)
        AT_TRY(merge(s, &stretch, reterr));
    note_progress(s, p, items.len);
    at_buf_clear(&p->at);
    AT_TRY(at_buf_append(&p->at, at_buf_slice(&to)));
    p->done = last;
    return AT_OK;
}

enum at_code at_copy_sink_finish(struct at_copy_sink **sink, struct at_error *reterr)
{
    struct at_copy_sink *s = *sink;
    struct sink_step step = {.step = {.run = copy_sink_finish_run}, .sink = s};

    if (!s->planned)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "the catalog of the copy is missing");
    for (uint32_t i = 0; i < s->part_count; i++)
        if (!s->parts[i].done)
            return at_fail(reterr, AT_FAILED_PRECONDITION, "part %u of the copy is missing", i + 1);
    AT_TRY(at_aside_cut(s->aside, reterr));
    at_buf_clear(&s->last_key);
    AT_TRY(add_own(s, reterr));
    AT_TRY(at_aside_cut(s->aside, reterr));
    AT_TRY(copy_step_do(s->store, &step.step, reterr));
    AT_ASSERT(s->aside == NULL);
    sink_free(sink);
    return AT_OK;
}

void at_copy_sink_abort(struct at_copy_sink **sink)
{
    struct at_copy_sink *s = *sink;
    struct sink_step step = {.step = {.run = copy_sink_drop_run}, .sink = s};

    if (s == NULL)
        return;
    /* If the writer does not take it, it is closing: what opens next is in no copy. */
    if (s->number != 0)
        (void)!copy_step_do(s->store, &step.step, NULL);
    sink_free(sink);
}

uint32_t at_store_copy_progress(struct at_store *store,
                                struct at_copy_table_progress *ret_tables,
                                uint32_t count_max)
{
    uint32_t count = 0;

    pthread_mutex_lock(&store->copy_lock);
    const struct at_copy_sink *s = store->sink;
    if (s != NULL) {
        count = s->progress_count < count_max ? s->progress_count : count_max;
        if (count > 0)
            memcpy(ret_tables, s->progress, count * sizeof(*ret_tables));
    }
    pthread_mutex_unlock(&store->copy_lock);
    return count;
}

static void copy_state(struct at_copy_sink *s, const struct at_copy_state *from)
{
    struct at_copy_state *to = &s->donor;

    *to = *from;
    at_vector_init(&to->applied);
    at_vector_copy(&to->applied, &from->applied);
    copy_facts(&s->arena, &to->facts, &from->facts);
    to->members = AT_ARENA_ARRAY(&s->arena, struct at_copy_member, from->member_count);
    for (uint32_t i = 0; i < from->member_count; i++) {
        to->members[i] = from->members[i];
        to->members[i].info = at_arena_copy(&s->arena, from->members[i].info);
    }
}

static void
copy_facts(struct at_arena *a, struct at_positions_facts *to, const struct at_positions_facts *from)
{
#define COPY_ARRAY(field, count, type)                                  \
    do {                                                                \
        to->field = AT_ARENA_ARRAY(a, type, from->count);               \
        if (from->count > 0)                                            \
            memcpy(to->field, from->field, from->count * sizeof(type)); \
    } while (0)
    *to = *from;
    to->first_open_cap = to->end_cap = to->promise_cap = to->vouch_cap = 0;
    COPY_ARRAY(first_open, first_open_count, struct at_first_open);
    COPY_ARRAY(ends, end_count, struct at_epoch_end);
    COPY_ARRAY(promises, promise_count, struct at_promise);
    COPY_ARRAY(vouches, vouch_count, struct at_vouch);
#undef COPY_ARRAY
}

static bool register_sink(struct at_store *store, struct at_copy_sink *s)
{
    pthread_mutex_lock(&store->copy_lock);
    bool free = store->sink == NULL;
    if (free)
        store->sink = s;
    pthread_mutex_unlock(&store->copy_lock);
    return free;
}

static void sink_free(struct at_copy_sink **sink)
{
    struct at_copy_sink *s = AT_TAKE(*sink);

    pthread_mutex_lock(&s->store->copy_lock);
    if (s->store->sink == s)
        s->store->sink = NULL;
    pthread_mutex_unlock(&s->store->copy_lock);
    at_snapshot_close(&s->own);
    at_aside_drop(&s->aside);
    at_catalog_free(&s->merged);
    for (uint32_t i = 0; i < s->part_count; i++)
        at_buf_deinit(&s->parts[i].at);
    at_vector_deinit(&s->donor.applied);
    at_buf_deinit(&s->last_key);
    at_buf_deinit(&s->catalog_at);
    at_arena_deinit(&s->arena);
    at_free(s->records);
    at_free(s->drops);
    at_free(s->tokens);
    at_free(s->parts);
    at_free(s->prefixes);
    at_free(s->marked);
    at_free(s->progress);
    at_free(s);
}

static enum at_code take_catalog(struct at_copy_sink *s,
                                 struct at_slice cursor,
                                 bool last,
                                 struct at_slice items,
                                 struct at_error *reterr)
{
    struct at_unpack in;
    struct at_copy_item item;

    if (s->planned)
        return malformed("the catalog comes twice", reterr);
    if (!last && at_slice_cmp(cursor, at_buf_slice(&s->catalog_at)) <= 0)
        return malformed("a chunk is out of order", reterr);
    s->catalog_bytes += items.len;
    if (s->catalog_bytes > CATALOG_BYTES_MAX)
        return malformed("the catalog is too large", reterr);
    at_buf_clear(&s->catalog_at);
    AT_TRY(at_buf_append(&s->catalog_at, cursor));
    at_unpack_init(&in, at_arena_copy(&s->arena, items));
    while (!at_unpack_done(&in)) {
        if (at_copy_item_decode(&in, &item) != AT_OK)
            return malformed("an item of the catalog is no such thing", reterr);
        AT_TRY(keep_item(s, &item, reterr));
    }
    return last ? plan(s, reterr) : AT_OK;
}

static enum at_code
keep_item(struct at_copy_sink *s, const struct at_copy_item *item, struct at_error *reterr)
{
    switch (item->kind) {
    case AT_COPY_CATALOG:
        GROW(s->records, s->record_count, s->record_cap);
        s->records[s->record_count++] = item->u.record;
        return AT_OK;
    case AT_COPY_DROP:
        GROW(s->drops, s->drop_count, s->drop_cap);
        s->drops[s->drop_count++] = (struct sink_drop){.told = item->u.drop};
        return AT_OK;
    case AT_COPY_TOKEN:
        if (s->token_count == AT_TOKENS_MAX)
            return AT_OK; /* more can't be kept */
        GROW(s->tokens, s->token_count, s->token_cap);
        s->tokens[s->token_count++] = item->u.token;
        return AT_OK;
    case AT_COPY_PART:
        break;
    }
    if (s->part_count == s->part_expected)
        return malformed("there are more parts than were told", reterr);
    GROW(s->parts, s->part_count, s->part_cap);
    struct sink_part *p = &s->parts[s->part_count++];
    *p = (struct sink_part){.told = item->u.part};
    at_buf_init(&p->at, AT_KEY_BYTES_MAX);
    return AT_OK;
}

/* Part 0 is whole: gives ids to what it names, and finds out where everything goes. */
static enum at_code plan(struct at_copy_sink *s, struct at_error *reterr)
{
    struct sink_step step = {.step = {.run = copy_sink_plan_run}, .sink = s};

    if (s->part_count != s->part_expected)
        return malformed("there are fewer parts than were told", reterr);
    AT_TRY(check_tiles(s, reterr));
    AT_TRY(copy_step_do(s->store, &step.step, reterr));
    qsort(s->prefixes, s->prefix_count, sizeof(*s->prefixes), compare_prefixes);
    for (uint32_t i = 0; i < s->part_count; i++) {
        struct sink_part *p = &s->parts[i];
        struct at_slice none = {NULL, 0};
        struct sink_prefix *prefix = find_prefix(s, p->table_id, p->family_id);
        AT_ASSERT(prefix != NULL); /* it was given an id */
        prefix->covered = true;
        p->dead = prefix->dead;
        AT_TRY(at_buf_append(&p->at, row_key(s, p->table_id, p->family_id, p->told.start)));
        p->end = p->told.end.len > 0 ? row_key(s, p->table_id, p->family_id, p->told.end)
                                     : row_key(s, p->table_id, p->family_id + 1, none);
    }
    make_progress(s);
    s->planned = true;
    return AT_OK;
}

static enum at_code check_tiles(const struct at_copy_sink *s, struct at_error *reterr)
{
    const struct at_copy_part **sorted =
        at_alloc((s->part_count + 1) * sizeof(struct at_copy_part *));
    bool ok = true;

    for (uint32_t i = 0; i < s->part_count; i++)
        sorted[i] = &s->parts[i].told;
    qsort(sorted, s->part_count, sizeof(struct at_copy_part *), compare_parts);
    for (uint32_t i = 0; i < s->part_count; i++) {
        const struct at_copy_part *p = sorted[i];
        bool joins = i > 0 && same_family(sorted[i - 1], p);
        bool next = i + 1 < s->part_count && same_family(p, sorted[i + 1]);
        if (joins ? !at_slice_eq(sorted[i - 1]->end, p->start) : p->start.len > 0)
            ok = false;
        if (next == (p->end.len == 0))
            ok = false;
    }
    at_free(sorted);
    return ok ? AT_OK : malformed("the parts leave something out, or overlap", reterr);
}

static int compare_parts(const void *a, const void *b)
{
    const struct at_copy_part *const *x = a;
    const struct at_copy_part *const *y = b;
    int c = at_slice_cmp((*x)->table, (*y)->table);

    if (c == 0)
        c = ((*x)->table_generation > (*y)->table_generation) -
            ((*x)->table_generation < (*y)->table_generation);
    if (c == 0)
        c = at_slice_cmp((*x)->family, (*y)->family);
    if (c == 0)
        c = ((*x)->family_generation > (*y)->family_generation) -
            ((*x)->family_generation < (*y)->family_generation);
    return c != 0 ? c : at_slice_cmp((*x)->start, (*y)->start);
}

static bool same_family(const struct at_copy_part *a, const struct at_copy_part *b)
{
    return at_slice_eq(a->table, b->table) && a->table_generation == b->table_generation &&
           at_slice_eq(a->family, b->family) && a->family_generation == b->family_generation;
}

static int compare_prefixes(const void *a, const void *b)
{
    const struct sink_prefix *x = a;
    const struct sink_prefix *y = b;

    if (x->table_id != y->table_id)
        return x->table_id < y->table_id ? -1 : 1;
    return (x->family_id > y->family_id) - (x->family_id < y->family_id);
}

static struct sink_prefix *find_prefix(struct at_copy_sink *s, uint32_t table, uint32_t family)
{
    struct sink_prefix key = {.table_id = table, .family_id = family};

    return bsearch(&key, s->prefixes, s->prefix_count, sizeof(key), compare_prefixes);
}

/* In the arena. */
static struct at_slice
row_key(struct at_copy_sink *s, uint32_t table_id, uint32_t family_id, struct at_slice row)
{
    struct at_buf key AT_CLEANUP(at_buf_deinit);

    at_buf_init(&key, AT_KEY_BYTES_MAX);
    enum at_code code = at_key_seek_row(&key, table_id, family_id, row);
    AT_ASSERT(code == AT_OK); /* rows were bounded when they were decoded */
    return at_arena_copy(&s->arena, at_buf_slice(&key));
}

static struct at_copy_table_progress *progress_of(struct at_copy_sink *s, struct at_slice table)
{
    for (uint32_t i = s->progress_count; i-- > 0;)
        if (at_slice_eq(at_slice_cstr(s->progress[i].table), table))
            return &s->progress[i];
    return NULL;
}

static void add_progress(struct at_copy_sink *s, const struct at_copy_part *told, uint32_t *cap)
{
    struct at_copy_table_progress *t = progress_of(s, told->table);

    if (t == NULL) {
        GROW(s->progress, s->progress_count, *cap);
        t = &s->progress[s->progress_count++];
        *t = (struct at_copy_table_progress){0};
        AT_ASSERT(told->table.len < sizeof(t->table));
        memcpy(t->table, told->table.data, told->table.len);
    }
    t->bytes += told->bytes;
}

static void make_progress(struct at_copy_sink *s)
{
    uint32_t cap = 0;

    pthread_mutex_lock(&s->store->copy_lock);
    for (uint32_t i = 0; i < s->part_count; i++)
        add_progress(s, &s->parts[i].told, &cap);
    pthread_mutex_unlock(&s->store->copy_lock);
}

static void note_progress(struct at_copy_sink *s, const struct sink_part *p, size_t bytes)
{
    pthread_mutex_lock(&s->store->copy_lock);
    struct at_copy_table_progress *t = progress_of(s, p->told.table);
    if (t != NULL)
        t->copied_bytes += bytes;
    pthread_mutex_unlock(&s->store->copy_lock);
}

static enum at_code
merge(struct at_copy_sink *s, const struct at_copy_stretch *stretch, struct at_error *reterr)
{
    const struct at_copy_own own = {s->store->engine, s->own};

    return at_copy_merge(&own, &s->rule, stretch, put_aside, s, reterr);
}

static enum at_code
put_aside(void *sink, struct at_slice key, struct at_slice value, struct at_error *reterr)
{
    struct at_copy_sink *s = sink;

    if (at_slice_cmp(key, at_buf_slice(&s->last_key)) <= 0 ||
        at_aside_cut_bytes(s->aside) >= CUT_BYTES)
        AT_TRY(at_aside_cut(s->aside, reterr));
    at_buf_clear(&s->last_key);
    AT_TRY(at_buf_append(&s->last_key, key));
    uint32_t table_id = at_get_be32(key.data);
    bool row_marker = at_get_be32(key.data + 4) == 0;
    if (row_marker && (s->marked_count == 0 || s->marked[s->marked_count - 1] != table_id)) {
        GROW(s->marked, s->marked_count, s->marked_cap);
        s->marked[s->marked_count++] = table_id;
    }
    return at_aside_put(s->aside, key, value, reterr);
}

static enum at_code add_own(struct at_copy_sink *s, struct at_error *reterr)
{
    struct at_iter_options options = {.snapshot = s->own, .scan = true};
    struct at_iter *i AT_CLEANUP(at_iter_close) =
        at_iter_open(s->store->engine, AT_SPACE_CELLS, &options);

    at_iter_seek(i, at_slice_make(NULL, 0));
    while (at_iter_valid(i))
        AT_TRY(add_own_prefix(s, i, reterr));
    return at_iter_status(i, reterr);
}

/* All of the prefix at hand; the iterator is behind it then. */
static enum at_code
add_own_prefix(struct at_copy_sink *s, struct at_iter *i, struct at_error *reterr)
{
    uint8_t start[AT_KEY_PREFIX_BYTES];
    struct at_slice none = {NULL, 0};
    struct at_slice key = at_iter_key(i);

    if (key.len <= AT_KEY_PREFIX_BYTES + AT_KEY_STAMP_BYTES)
        return at_fail(reterr, AT_DATA_LOSS, "a stored key is damaged");
    memcpy(start, key.data, sizeof(start));
    uint32_t table_id = at_get_be32(start);
    uint32_t family_id = at_get_be32(start + 4);
    struct at_slice prefix = at_slice_make(start, sizeof(start));
    struct at_slice end = row_key(s, table_id, family_id + 1, none);
    const struct sink_prefix *known = find_prefix(s, table_id, family_id);
    if (known == NULL || (!known->covered && !known->dead)) {
        struct at_copy_stretch stretch = {prefix, end, none};
        AT_TRY(merge(s, &stretch, reterr));
    }
    at_iter_seek(i, end);
    return AT_OK;
}

static enum at_code malformed(const char *what, struct at_error *reterr)
{
    return at_fail(reterr, AT_INVALID_ARGUMENT, "the copy can't be taken: %s", what);
}
