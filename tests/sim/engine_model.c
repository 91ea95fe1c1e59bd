#include "sim/engine_model.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/mutant.h"

static struct sim_record *record_new(struct at_slice key, struct at_slice value);
static void release(struct sim_record *r);
static void note(struct sim_engine *e, struct sim_record *was, struct sim_record *is);
static void insert(struct sim_records *r, uint32_t at, struct sim_record *record);
static void remove_at(struct sim_records *r, uint32_t at);
static void undo_to(struct sim_engine *e, uint32_t count);
static bool is_at(const struct sim_records *r, uint32_t at, struct at_slice key);

void sim_engine_deinit(struct sim_engine *e)
{
    sim_engine_sync(e);
    sim_records_clear(&e->now);
    at_free(e->now.items);
    at_free(e->undos);
    at_free(e->marks);
    *e = (struct sim_engine){0};
}

void sim_engine_put(struct sim_engine *e, struct at_slice key, struct at_slice value)
{
    struct sim_record *record = record_new(key, value);
    uint32_t at = sim_records_seek(&e->now, key);

    if (is_at(&e->now, at, key)) {
        note(e, e->now.items[at], record);
        release(e->now.items[at]);
        e->now.items[at] = record;
    } else {
        note(e, NULL, record);
        insert(&e->now, at, record);
    }
}

void sim_engine_delete(struct sim_engine *e, struct at_slice key)
{
    uint32_t at = sim_records_seek(&e->now, key);

    if (!is_at(&e->now, at, key))
        return;
    note(e, e->now.items[at], NULL);
    remove_at(&e->now, at);
}

void sim_engine_commit(struct sim_engine *e, bool sync)
{
    if (sync) {
        sim_engine_sync(e);
        return;
    }
    if (e->mark_count == e->mark_cap) {
        e->mark_cap = e->mark_cap == 0 ? 64 : e->mark_cap * 2;
        e->marks = at_realloc(e->marks, e->mark_cap * sizeof(*e->marks));
    }
    e->marks[e->mark_count++] = e->undo_count;
}

void sim_engine_sync(struct sim_engine *e)
{
    for (uint32_t i = 0; i < e->undo_count; i++) {
        release(e->undos[i].was);
        release(e->undos[i].is);
    }
    e->undo_count = 0;
    e->mark_count = 0;
}

void sim_engine_crash(struct sim_engine *e, uint32_t keep, struct sim_tear tear)
{
    AT_ASSERT(keep <= e->mark_count);
    uint32_t begin = keep == 0 ? 0 : e->marks[keep - 1];
    uint32_t end = keep < e->mark_count ? e->marks[keep] : e->undo_count;
    uint32_t reached = (end - begin) * tear.percent / 100;
    struct sim_engine torn = {0};

    for (uint32_t i = begin; AT_MUTANT(torn_batch) && i < end; i++)
        note(&torn, e->undos[i].was, e->undos[i].is);
    undo_to(e, begin);
    sim_engine_sync(e);
    for (uint32_t i = 0; i < torn.undo_count; i++) {
        const struct sim_undo *u = &torn.undos[i];
        if (tear.end ? i < torn.undo_count - reached : i >= reached)
            continue;
        if (u->is != NULL)
            sim_engine_put(e, sim_record_key(u->is), sim_record_value(u->is));
        else
            sim_engine_delete(e, sim_record_key(u->was));
    }
    sim_engine_deinit(&torn);
    sim_engine_sync(e);
}

void sim_engine_set_back(struct sim_engine *e, const struct sim_records *past)
{
    sim_engine_sync(e);
    sim_records_share(&e->now, past);
}

uint32_t sim_records_seek(const struct sim_records *r, struct at_slice key)
{
    uint32_t low = 0;
    uint32_t high = r->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (at_slice_cmp(sim_record_key(r->items[middle]), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sim_record *sim_records_find(const struct sim_records *r, struct at_slice key)
{
    uint32_t at = sim_records_seek(r, key);
    return is_at(r, at, key) ? r->items[at] : NULL;
}

void sim_records_share(struct sim_records *to, const struct sim_records *from)
{
    sim_records_clear(to);
    if (to->cap < from->count) {
        to->cap = from->count;
        to->items = at_realloc(to->items, to->cap * sizeof(struct sim_record *));
    }
    for (uint32_t i = 0; i < from->count; i++) {
        from->items[i]->refs++;
        to->items[to->count++] = from->items[i];
    }
}

void sim_records_clear(struct sim_records *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        release(r->items[i]);
    r->count = 0;
}

void sim_records_push(struct sim_records *r, struct sim_record *record)
{
    AT_ASSERT(r->count == 0 ||
              at_slice_cmp(sim_record_key(r->items[r->count - 1]), sim_record_key(record)) < 0);
    record->refs++;
    insert(r, r->count, record);
}

static struct sim_record *record_new(struct at_slice key, struct at_slice value)
{
    struct sim_record *r = at_alloc(sizeof(*r) + key.len + value.len);

    r->refs = 1;
    r->key_len = (uint32_t)key.len;
    r->value_len = (uint32_t)value.len;
    memcpy(r->bytes, key.data, key.len);
    if (value.len > 0)
        memcpy(r->bytes + key.len, value.data, value.len);
    return r;
}

static void release(struct sim_record *r)
{
    if (r != NULL && --r->refs == 0)
        at_free(r);
}

static void note(struct sim_engine *e, struct sim_record *was, struct sim_record *is)
{
    if (e->undo_count == e->undo_cap) {
        e->undo_cap = e->undo_cap == 0 ? 256 : e->undo_cap * 2;
        e->undos = at_realloc(e->undos, e->undo_cap * sizeof(*e->undos));
    }
    e->undos[e->undo_count++] = (struct sim_undo){was, is};
    if (was != NULL)
        was->refs++;
    if (is != NULL)
        is->refs++;
}

static void undo_to(struct sim_engine *e, uint32_t count)
{
    while (e->undo_count > count) {
        struct sim_undo u = e->undos[--e->undo_count];
        struct at_slice key = sim_record_key(u.is != NULL ? u.is : u.was);
        uint32_t at = sim_records_seek(&e->now, key);
        if (u.is != NULL)
            remove_at(&e->now, at);
        if (u.was != NULL) {
            u.was->refs++;
            insert(&e->now, at, u.was);
        }
        release(u.was);
        release(u.is);
    }
}

/* Takes the reference over. */
static void insert(struct sim_records *r, uint32_t at, struct sim_record *record)
{
    if (r->count == r->cap) {
        r->cap = r->cap == 0 ? 128 : r->cap * 2;
        r->items = at_realloc(r->items, r->cap * sizeof(struct sim_record *));
    }
    memmove(r->items + at + 1, r->items + at, (r->count - at) * sizeof(struct sim_record *));
    r->items[at] = record;
    r->count++;
}

static void remove_at(struct sim_records *r, uint32_t at)
{
    AT_ASSERT(at < r->count);
    release(r->items[at]);
    r->count--;
    memmove(r->items + at, r->items + at + 1, (r->count - at) * sizeof(struct sim_record *));
}

static bool is_at(const struct sim_records *r, uint32_t at, struct at_slice key)
{
    return at < r->count && at_slice_eq(sim_record_key(r->items[at]), key);
}
