#include "cluster/tablet/tokens.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"

#define CAP_FIRST 64u
#define TOKEN_SEED 0x746f6b656e /* "token" */

static struct at_hash128 *find_slot(const struct at_token_span *s, struct at_hash128 id);
static void grow(struct at_token_span *s);
static void forget(struct at_tokens *t, struct at_token_span *s);

static inline bool empty(struct at_hash128 id)
{
    return (id.low | id.high) == 0;
}

void at_tokens_deinit(struct at_tokens *t)
{
    for (int i = 0; i < AT_TOKEN_SPANS; i++)
        at_free(t->spans[i].slots);
    *t = (struct at_tokens){0};
}

/* Each part enters with its length, so that no two requests look alike. */
struct at_hash128 at_token_id(struct at_slice table,
                              uint64_t table_generation,
                              struct at_slice row,
                              struct at_slice token)
{
    uint8_t parts[5 * 8];
    struct at_hash128 token_hash = at_hash128(token, TOKEN_SEED);
    struct at_hash128 row_hash = at_hash128(row, at_hash64(table, table_generation));

    at_put_be64(parts, token_hash.high);
    at_put_be64(parts + 8, token_hash.low);
    at_put_be64(parts + 16, row_hash.high);
    at_put_be64(parts + 24, row_hash.low);
    at_put_be64(parts + 32, table_generation);
    struct at_hash128 id = at_hash128(at_slice_make(parts, sizeof(parts)), TOKEN_SEED);
    if (empty(id))
        id.low = 1;
    return id;
}

bool at_tokens_has(const struct at_tokens *t, struct at_hash128 id)
{
    for (int i = 0; i < AT_TOKEN_SPANS; i++)
        if (t->spans[i].cap > 0 && !empty(*find_slot(&t->spans[i], id)))
            return true;
    return false;
}

bool at_tokens_full(const struct at_tokens *t)
{
    return t->count >= AT_TOKENS_MAX;
}

bool at_tokens_add(struct at_tokens *t, struct at_hash128 id, uint64_t span)
{
    struct at_token_span *s = &t->spans[span % AT_TOKEN_SPANS];

    AT_ASSERT(!empty(id));
    if (at_tokens_full(t) || at_tokens_has(t, id))
        return false;
    if (s->cap > 0 && s->number > span)
        return false;
    if (s->cap > 0 && s->number < span)
        forget(t, s);
    s->number = span;
    if (s->count >= s->cap / 2)
        grow(s);
    *find_slot(s, id) = id;
    s->count++;
    t->count++;
    return true;
}

bool at_tokens_expire(struct at_tokens *t, uint64_t now_ns, uint64_t *ret_span)
{
    for (int i = 0; i < AT_TOKEN_SPANS; i++) {
        struct at_token_span *s = &t->spans[i];
        if (s->cap == 0 || (s->number + 1) * AT_TOKEN_SPAN_NS + AT_TOKEN_LIFE_NS > now_ns)
            continue;
        *ret_span = s->number;
        forget(t, s);
        return true;
    }
    return false;
}

/* Where the id is, or would be. Half of the slots are empty. */
static struct at_hash128 *find_slot(const struct at_token_span *s, struct at_hash128 id)
{
    uint32_t at = (uint32_t)id.low & (s->cap - 1);

    while (!empty(s->slots[at]) && (s->slots[at].low != id.low || s->slots[at].high != id.high))
        at = (at + 1) & (s->cap - 1);
    return &s->slots[at];
}

static void grow(struct at_token_span *s)
{
    struct at_token_span old = *s;

    s->cap = old.cap == 0 ? CAP_FIRST : old.cap * 2;
    s->slots = at_alloc(s->cap * sizeof(*s->slots));
    for (uint32_t i = 0; i < old.cap; i++)
        if (!empty(old.slots[i]))
            *find_slot(s, old.slots[i]) = old.slots[i];
    at_free(old.slots);
}

static void forget(struct at_tokens *t, struct at_token_span *s)
{
    AT_ASSERT(t->count >= s->count);
    t->count -= s->count;
    at_free(s->slots);
    *s = (struct at_token_span){0};
}
