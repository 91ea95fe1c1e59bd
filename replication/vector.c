#include "replication/vector.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

/* A sorted array with binary search. It has a handful of pairs (one per origin, more only while
 * epochs wait to be closed), so inserting by memmove costs less than any tree. */

#define PAIRS_MAX ((uint32_t)(AT_CLUSTERS_MAX * AT_EPOCHS_MAX))
#define CAP_FIRST 8u

static int pair_cmp(const struct at_position *p, struct at_member_id origin, uint32_t epoch);
static uint32_t find(const struct at_vector *v, struct at_member_id origin, uint32_t epoch);
static bool has(const struct at_vector *v, uint32_t at, struct at_member_id origin, uint32_t epoch);
static bool insert(struct at_vector *v, uint32_t at, struct at_position p);
static void reserve(struct at_vector *v, uint32_t count);

void at_vector_init(struct at_vector *v)
{
    *v = (struct at_vector){0};
}

void at_vector_deinit(struct at_vector *v)
{
    at_free(v->items);
    *v = (struct at_vector){0};
}

void at_vector_copy(struct at_vector *to, const struct at_vector *from)
{
    if (to == from)
        return;
    reserve(to, from->count);
    if (from->count > 0)
        memcpy(to->items, from->items, from->count * sizeof(*from->items));
    to->count = from->count;
}

uint64_t at_vector_get(const struct at_vector *v, struct at_member_id origin, uint32_t epoch)
{
    uint32_t at = find(v, origin, epoch);
    return has(v, at, origin, epoch) ? v->items[at].seq : 0;
}

enum at_code at_vector_set(struct at_vector *v, struct at_position p)
{
    uint32_t at = find(v, p.origin, p.epoch);

    if (has(v, at, p.origin, p.epoch)) {
        v->items[at].seq = p.seq;
        return AT_OK;
    }
    return insert(v, at, p) ? AT_OK : AT_RESOURCE_EXHAUSTED;
}

bool at_vector_raise(struct at_vector *v, struct at_position p)
{
    uint32_t at = find(v, p.origin, p.epoch);

    if (!has(v, at, p.origin, p.epoch))
        return p.seq > 0 && insert(v, at, p);
    if (v->items[at].seq >= p.seq)
        return false;
    v->items[at].seq = p.seq;
    return true;
}

void at_vector_drop(struct at_vector *v, struct at_member_id origin, uint32_t epoch)
{
    uint32_t at = find(v, origin, epoch);

    if (!has(v, at, origin, epoch))
        return;
    v->count--;
    memmove(&v->items[at], &v->items[at + 1], (v->count - at) * sizeof(*v->items));
}

void at_vector_merge(struct at_vector *to, const struct at_vector *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        (void)at_vector_raise(to, from->items[i]);
}

bool at_vector_covers(const struct at_vector *a, const struct at_vector *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (at_vector_get(a, b->items[i].origin, b->items[i].epoch) < b->items[i].seq)
            return false;
    return true;
}

enum at_code at_vector_encode(const struct at_vector *v, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, v->count));
    for (uint32_t i = 0; i < v->count; i++) {
        AT_TRY(at_pack_array(out, 3));
        AT_TRY(at_pack_u64(out, v->items[i].origin.v));
        AT_TRY(at_pack_u64(out, v->items[i].epoch));
        AT_TRY(at_pack_u64(out, v->items[i].seq));
    }
    return AT_OK;
}

enum at_code at_vector_decode(struct at_vector *v, struct at_unpack *in)
{
    uint32_t count = 0;

    v->count = 0;
    AT_TRY(at_unpack_array(in, PAIRS_MAX, &count));
    for (uint32_t i = 0; i < count; i++) {
        struct at_position p = {{0}, 0, 0};
        uint32_t fields = 0;
        AT_TRY(at_unpack_array(in, 3, &fields));
        if (fields != 3)
            return AT_INVALID_ARGUMENT;
        AT_TRY(at_unpack_u32(in, &p.origin.v));
        AT_TRY(at_unpack_u32(in, &p.epoch));
        AT_TRY(at_unpack_u64(in, &p.seq));
        if (p.origin.v == 0 || p.epoch == 0)
            return AT_INVALID_ARGUMENT;
        if (i > 0 && pair_cmp(&v->items[i - 1], p.origin, p.epoch) >= 0)
            return AT_INVALID_ARGUMENT;
        (void)insert(v, i, p);
    }
    return AT_OK;
}

static int pair_cmp(const struct at_position *p, struct at_member_id origin, uint32_t epoch)
{
    if (p->origin.v != origin.v)
        return p->origin.v < origin.v ? -1 : 1;
    if (p->epoch != epoch)
        return p->epoch < epoch ? -1 : 1;
    return 0;
}

/* The first index whose pair is not below (origin, epoch). */
static uint32_t find(const struct at_vector *v, struct at_member_id origin, uint32_t epoch)
{
    uint32_t low = 0;
    uint32_t high = v->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pair_cmp(&v->items[middle], origin, epoch) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has(const struct at_vector *v, uint32_t at, struct at_member_id origin, uint32_t epoch)
{
    return at < v->count && pair_cmp(&v->items[at], origin, epoch) == 0;
}

static bool insert(struct at_vector *v, uint32_t at, struct at_position p)
{
    AT_ASSERT(at <= v->count);
    if (v->count == PAIRS_MAX)
        return false;
    reserve(v, v->count + 1);
    memmove(&v->items[at + 1], &v->items[at], (v->count - at) * sizeof(*v->items));
    v->items[at] = p;
    v->count++;
    return true;
}

static void reserve(struct at_vector *v, uint32_t count)
{
    if (count <= v->cap)
        return;
    uint32_t cap = v->cap < CAP_FIRST ? CAP_FIRST : v->cap;
    while (cap < count)
        cap *= 2;
    v->items = at_realloc(v->items, cap * sizeof(*v->items));
    v->cap = cap;
}
