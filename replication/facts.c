#include "replication/facts.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

/* Each kind goes over the wire as one flat array of numbers, WIDTH_* per item. A count is first
 * checked against the bytes that are left (pack.h), so memory stays a small multiple of the
 * input's size. */

#define LISTS 4
#define WIDTH_FIRST_OPEN 2
#define WIDTH_END 3
#define WIDTH_PROMISE 5
#define WIDTH_VOUCH 4

static void *grow(void *items, uint32_t count, uint32_t *cap, size_t item_bytes);
static void copy_list(void **to, uint32_t *to_cap, const void *from, size_t n, size_t item_bytes);
static enum at_code list_head(struct at_unpack *in, uint32_t width, uint32_t *ret_count);
static enum at_code
position_decode(struct at_unpack *in, struct at_member_id *origin, uint32_t *epoch);
static enum at_code
promises_decode(struct at_positions_facts *f, struct at_unpack *in, struct at_arena *arena);
static enum at_code
vouches_decode(struct at_positions_facts *f, struct at_unpack *in, struct at_arena *arena);

void at_positions_facts_init(struct at_positions_facts *f)
{
    *f = (struct at_positions_facts){0};
}

void at_positions_facts_deinit(struct at_positions_facts *f)
{
    if (f->first_open_cap > 0)
        at_free(f->first_open);
    if (f->end_cap > 0)
        at_free(f->ends);
    if (f->promise_cap > 0)
        at_free(f->promises);
    if (f->vouch_cap > 0)
        at_free(f->vouches);
    *f = (struct at_positions_facts){0};
}

void at_positions_facts_clear(struct at_positions_facts *f)
{
    f->first_open_count = 0;
    f->end_count = 0;
    f->promise_count = 0;
    f->vouch_count = 0;
}

/* Borrowed arrays (cap 0) of `to` are simply left behind. */
#define COPY(list, count, cap)                                                      \
    do {                                                                            \
        void *items_ = to->cap > 0 ? to->list : NULL;                               \
        copy_list(&items_, &to->cap, from->list, from->count, sizeof(*from->list)); \
        to->list = items_;                                                          \
        to->count = from->count;                                                    \
    } while (0)

void at_positions_facts_copy(struct at_positions_facts *to, const struct at_positions_facts *from)
{
    if (to == from)
        return;
    COPY(first_open, first_open_count, first_open_cap);
    COPY(ends, end_count, end_cap);
    COPY(promises, promise_count, promise_cap);
    COPY(vouches, vouch_count, vouch_cap);
}

#define ADD(list, count, cap)                                                             \
    do {                                                                                  \
        AT_ASSERT(f->cap > 0 || f->count == 0);                                           \
        f->list = grow(f->cap > 0 ? f->list : NULL, f->count + 1, &f->cap, sizeof(item)); \
        f->list[f->count++] = item;                                                       \
    } while (0)

void at_positions_facts_add_first_open(struct at_positions_facts *f, struct at_first_open item)
{
    ADD(first_open, first_open_count, first_open_cap);
}

void at_positions_facts_add_end(struct at_positions_facts *f, struct at_epoch_end item)
{
    ADD(ends, end_count, end_cap);
}

void at_positions_facts_add_promise(struct at_positions_facts *f, struct at_promise item)
{
    ADD(promises, promise_count, promise_cap);
}

void at_positions_facts_add_vouch(struct at_positions_facts *f, struct at_vouch item)
{
    ADD(vouches, vouch_count, vouch_cap);
}

uint32_t at_positions_facts_first_open(const struct at_positions_facts *f,
                                       struct at_member_id origin)
{
    for (uint32_t i = 0; i < f->first_open_count; i++)
        if (at_member_eq(f->first_open[i].origin, origin))
            return f->first_open[i].epoch;
    return 1;
}

enum at_code at_positions_facts_encode(const struct at_positions_facts *f, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, LISTS));
    AT_TRY(at_pack_array(out, f->first_open_count * WIDTH_FIRST_OPEN));
    for (uint32_t i = 0; i < f->first_open_count; i++) {
        AT_TRY(at_pack_u64(out, f->first_open[i].origin.v));
        AT_TRY(at_pack_u64(out, f->first_open[i].epoch));
    }
    AT_TRY(at_pack_array(out, f->end_count * WIDTH_END));
    for (uint32_t i = 0; i < f->end_count; i++) {
        AT_TRY(at_pack_u64(out, f->ends[i].origin.v));
        AT_TRY(at_pack_u64(out, f->ends[i].epoch));
        AT_TRY(at_pack_u64(out, f->ends[i].end));
    }
    AT_TRY(at_pack_array(out, f->promise_count * WIDTH_PROMISE));
    for (uint32_t i = 0; i < f->promise_count; i++) {
        AT_TRY(at_pack_u64(out, f->promises[i].origin.v));
        AT_TRY(at_pack_u64(out, f->promises[i].epoch));
        AT_TRY(at_pack_u64(out, f->promises[i].seq));
        AT_TRY(at_pack_u64(out, f->promises[i].hlc));
        AT_TRY(at_pack_u64(out, f->promises[i].closed_from));
    }
    AT_TRY(at_pack_array(out, f->vouch_count * WIDTH_VOUCH));
    for (uint32_t i = 0; i < f->vouch_count; i++) {
        AT_TRY(at_pack_u64(out, f->vouches[i].voucher.v));
        AT_TRY(at_pack_u64(out, f->vouches[i].position.origin.v));
        AT_TRY(at_pack_u64(out, f->vouches[i].position.epoch));
        AT_TRY(at_pack_u64(out, f->vouches[i].position.seq));
    }
    return AT_OK;
}

enum at_code at_positions_facts_decode(struct at_positions_facts *f,
                                       struct at_unpack *in,
                                       struct at_arena *arena)
{
    uint32_t lists = 0;

    *f = (struct at_positions_facts){0};
    AT_TRY(at_unpack_array(in, LISTS, &lists));
    if (lists != LISTS)
        return AT_INVALID_ARGUMENT;

    AT_TRY(list_head(in, WIDTH_FIRST_OPEN, &f->first_open_count));
    f->first_open = AT_ARENA_ARRAY(arena, struct at_first_open, f->first_open_count);
    for (uint32_t i = 0; i < f->first_open_count; i++)
        AT_TRY(position_decode(in, &f->first_open[i].origin, &f->first_open[i].epoch));

    AT_TRY(list_head(in, WIDTH_END, &f->end_count));
    f->ends = AT_ARENA_ARRAY(arena, struct at_epoch_end, f->end_count);
    for (uint32_t i = 0; i < f->end_count; i++) {
        AT_TRY(position_decode(in, &f->ends[i].origin, &f->ends[i].epoch));
        AT_TRY(at_unpack_u64(in, &f->ends[i].end));
    }
    AT_TRY(promises_decode(f, in, arena));
    return vouches_decode(f, in, arena);
}

static enum at_code
promises_decode(struct at_positions_facts *f, struct at_unpack *in, struct at_arena *arena)
{
    AT_TRY(list_head(in, WIDTH_PROMISE, &f->promise_count));
    f->promises = AT_ARENA_ARRAY(arena, struct at_promise, f->promise_count);
    for (uint32_t i = 0; i < f->promise_count; i++) {
        struct at_promise *p = &f->promises[i];
        AT_TRY(position_decode(in, &p->origin, &p->epoch));
        AT_TRY(at_unpack_u64(in, &p->seq));
        AT_TRY(at_unpack_u64(in, &p->hlc));
        AT_TRY(at_unpack_u32(in, &p->closed_from));
        if (p->closed_from == 0 || p->closed_from > p->epoch)
            return AT_INVALID_ARGUMENT;
    }
    return AT_OK;
}

static enum at_code
vouches_decode(struct at_positions_facts *f, struct at_unpack *in, struct at_arena *arena)
{
    AT_TRY(list_head(in, WIDTH_VOUCH, &f->vouch_count));
    f->vouches = AT_ARENA_ARRAY(arena, struct at_vouch, f->vouch_count);
    for (uint32_t i = 0; i < f->vouch_count; i++) {
        struct at_vouch *v = &f->vouches[i];
        AT_TRY(at_unpack_u32(in, &v->voucher.v));
        AT_TRY(position_decode(in, &v->position.origin, &v->position.epoch));
        AT_TRY(at_unpack_u64(in, &v->position.seq));
        if (v->voucher.v == 0)
            return AT_INVALID_ARGUMENT;
    }
    return AT_OK;
}

static enum at_code list_head(struct at_unpack *in, uint32_t width, uint32_t *ret_count)
{
    uint32_t numbers = 0;

    AT_TRY(at_unpack_array(in, AT_FACTS_MAX * width, &numbers));
    if (numbers % width != 0)
        return AT_INVALID_ARGUMENT;
    *ret_count = numbers / width;
    return AT_OK;
}

static enum at_code
position_decode(struct at_unpack *in, struct at_member_id *origin, uint32_t *epoch)
{
    AT_TRY(at_unpack_u32(in, &origin->v));
    AT_TRY(at_unpack_u32(in, epoch));
    return origin->v == 0 || *epoch == 0 ? AT_INVALID_ARGUMENT : AT_OK;
}

static void *grow(void *items, uint32_t count, uint32_t *cap, size_t item_bytes)
{
    if (count <= *cap)
        return items;
    uint32_t bigger = *cap < 8 ? 8 : *cap;
    while (bigger < count)
        bigger *= 2;
    *cap = bigger;
    return at_realloc(items, bigger * item_bytes);
}

static void copy_list(void **to, uint32_t *to_cap, const void *from, size_t n, size_t item_bytes)
{
    AT_ASSERT(n <= UINT32_MAX / 2);
    *to = grow(*to, (uint32_t)n, to_cap, item_bytes);
    if (n > 0)
        memcpy(*to, from, n * item_bytes);
}
