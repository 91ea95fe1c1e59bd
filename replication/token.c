#include "replication/token.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/mutant.h"

/* Text: base64url of msgpack [version, instance, table hash, positions, asked, not reached] and
 * 8 bytes of digest. The digest catches cut and mistyped tokens; it is no secret. */

#define VERSION 1
#define FIELDS 6
#define DIGEST_BYTES 8
#define DIGEST_SEED UINT64_C(0x61746f6c6c746f6b)

/* What all answered just now. */
struct round {
    const struct at_member_id *members;
    const struct at_vector_answer *const *answers;
    uint32_t count;
};

static enum at_code
put_members(struct at_buf *out, const struct at_member_id *members, uint32_t count);
static enum at_code
get_members(struct at_unpack *in, struct at_member_id *ret_members, uint32_t *ret_count);
static enum at_code fields_decode(struct at_token *t, struct at_slice bytes);
static bool contains(const struct at_member_id *list, uint32_t count, struct at_member_id id);
static bool own_end_covered(const struct round *now, uint32_t member);
static bool all_there(const struct round *now);
static bool closed_end(const struct at_vector_answer *answer,
                       struct at_position p,
                       bool *ret_gone,
                       uint64_t *ret_end);
static struct at_position cut(const struct round *now, struct at_position p);
static bool all_cover(const struct round *now, struct at_position p);

void at_token_init(struct at_token *t)
{
    *t = (struct at_token){0};
}

void at_token_deinit(struct at_token *t)
{
    at_vector_deinit(&t->positions);
}

void at_token_note(struct at_token *t,
                   struct at_member_id member,
                   const struct at_vector_answer *answer)
{
    AT_ASSERT(t->asked_count < AT_MEMBERS_MAX);
    t->asked[t->asked_count++] = member;
    if (answer == NULL || !answer->ready) {
        t->not_reached[t->not_reached_count++] = member;
        return;
    }
    at_vector_merge(&t->positions, &answer->durable);
    /* A closed epoch ends where someone vouched, who perhaps is not reached now. */
    for (uint32_t i = 0; i < answer->facts.vouch_count; i++)
        (void)at_vector_raise(&t->positions, answer->facts.vouches[i].position);
}

enum at_code at_token_encode(const struct at_token *t, struct at_buf *out)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    uint8_t digest[DIGEST_BYTES];

    at_buf_init(&bytes, AT_TOKEN_BYTES_MAX);
    AT_TRY(at_pack_array(&bytes, FIELDS));
    AT_TRY(at_pack_u64(&bytes, VERSION));
    AT_TRY(at_pack_u64(&bytes, t->instance_id));
    AT_TRY(at_pack_u64(&bytes, t->table_hash));
    AT_TRY(at_vector_encode(&t->positions, &bytes));
    AT_TRY(put_members(&bytes, t->asked, t->asked_count));
    AT_TRY(put_members(&bytes, t->not_reached, t->not_reached_count));
    at_put_be64(digest, at_hash64(at_buf_slice(&bytes), DIGEST_SEED));
    AT_TRY(at_buf_append(&bytes, at_slice_make(digest, sizeof(digest))));
    return at_escape_base64(out, at_buf_slice(&bytes), true, false);
}

enum at_code at_token_decode(struct at_token *t, struct at_slice text)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;

    at_buf_init(&bytes, AT_TOKEN_BYTES_MAX);
    if (text.len > AT_TOKEN_BYTES_MAX * 2 || at_unescape_base64(&bytes, text) != AT_OK)
        return AT_INVALID_ARGUMENT;
    if (bytes.len <= DIGEST_BYTES)
        return AT_INVALID_ARGUMENT;
    struct at_slice body = at_slice_make(bytes.data, bytes.len - DIGEST_BYTES);
    if (at_get_be64(bytes.data + body.len) != at_hash64(body, DIGEST_SEED))
        return AT_INVALID_ARGUMENT;
    return fields_decode(t, body);
}

bool at_token_check(const struct at_token *t,
                    const struct at_member_id *members,
                    const struct at_vector_answer *const *answers,
                    uint32_t count)
{
    struct round now = {.members = members, .answers = answers, .count = count};

    if (!all_there(&now))
        return false;
    for (uint32_t i = 0; i < t->positions.count; i++)
        if (!all_cover(&now, cut(&now, t->positions.items[i])))
            return false;

    for (uint32_t m = 0; m < count && !AT_MUTANT(token_unreached); m++) {
        bool had_say = contains(t->asked, t->asked_count, members[m]) &&
                       !contains(t->not_reached, t->not_reached_count, members[m]);
        if (!had_say && !own_end_covered(&now, m))
            return false;
    }
    return true;
}

/* Of a member that had no say when the token was made: all it has of its own by now, and what
 * others have of its closed epochs. */
static bool own_end_covered(const struct round *now, uint32_t member)
{
    const struct at_vector_answer *own = now->answers[member];

    for (uint32_t i = 0; i < own->durable.count; i++) {
        struct at_position p = own->durable.items[i];
        if (at_member_eq(p.origin, now->members[member]) && !all_cover(now, cut(now, p)))
            return false;
    }
    for (uint32_t i = 0; i < own->facts.vouch_count; i++) {
        struct at_position p = own->facts.vouches[i].position;
        if (at_member_eq(p.origin, now->members[member]) && !all_cover(now, cut(now, p)))
            return false;
    }
    return true;
}

/* All are reached and ready, and none knows of a member that was not asked. */
static bool all_there(const struct round *now)
{
    if (now->count == 0)
        return false;
    for (uint32_t i = 0; i < now->count; i++) {
        const struct at_vector_answer *answer = now->answers[i];
        if (answer == NULL || !answer->ready)
            return false;
        for (uint32_t k = 0; k < answer->member_count; k++)
            if (!contains(now->members, now->count, answer->members[k]))
                return false;
    }
    return true;
}

/* What lies beyond the end of a closed epoch, or beyond what there is of a removed origin, was
 * lost, and said to be. Of an origin that nobody counts as a member, an epoch of which nobody knows
 * the end is one of which nobody had anything when it was removed. */
static struct at_position cut(const struct round *now, struct at_position p)
{
    bool closed = contains(now->members, now->count, p.origin);

    for (uint32_t i = 0; i < now->count; i++) {
        bool gone = false;
        uint64_t end = 0;
        if (closed_end(now->answers[i], p, &gone, &end)) {
            p.seq = end < p.seq ? end : p.seq;
            closed = true;
        } else if (gone) {
            p.seq = 0; /* its end is no longer told: all of it is everywhere */
        }
    }
    if (!closed)
        p.seq = 0;
    return p;
}

/* Whether `answer` knows that the epoch of p is closed, and where; ret_gone: it has left its
 * vector, being complete everywhere. */
static bool closed_end(const struct at_vector_answer *answer,
                       struct at_position p,
                       bool *ret_gone,
                       uint64_t *ret_end)
{
    const struct at_positions_facts *f = &answer->facts;
    bool found = false;

    *ret_gone = p.epoch < at_positions_facts_first_open(f, p.origin);
    for (uint32_t i = 0; i < f->end_count; i++)
        if (at_member_eq(f->ends[i].origin, p.origin) && f->ends[i].epoch == p.epoch) {
            *ret_end = f->ends[i].end;
            return true;
        }
    for (uint32_t i = 0; i < f->vouch_count; i++) {
        const struct at_position *v = &f->vouches[i].position;
        if (!at_member_eq(v->origin, p.origin) || v->epoch != p.epoch)
            continue;
        *ret_end = found && *ret_end > v->seq ? *ret_end : v->seq;
        found = true;
    }
    return found;
}

static bool all_cover(const struct round *now, struct at_position p)
{
    for (uint32_t i = 0; i < now->count; i++) {
        const struct at_vector_answer *answer = now->answers[i];
        if (p.epoch < at_positions_facts_first_open(&answer->facts, p.origin))
            continue;
        if (at_vector_get(&answer->durable, p.origin, p.epoch) < p.seq)
            return false;
    }
    return true;
}

static enum at_code fields_decode(struct at_token *t, struct at_slice bytes)
{
    struct at_unpack in;
    uint32_t fields = 0;
    uint64_t version = 0;

    at_unpack_init(&in, bytes);
    AT_TRY(at_unpack_array(&in, FIELDS, &fields));
    AT_TRY(at_unpack_u64(&in, &version));
    if (fields != FIELDS || version != VERSION)
        return AT_INVALID_ARGUMENT;
    AT_TRY(at_unpack_u64(&in, &t->instance_id));
    AT_TRY(at_unpack_u64(&in, &t->table_hash));
    AT_TRY(at_vector_decode(&t->positions, &in));
    AT_TRY(get_members(&in, t->asked, &t->asked_count));
    AT_TRY(get_members(&in, t->not_reached, &t->not_reached_count));
    return at_unpack_done(&in) ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code
put_members(struct at_buf *out, const struct at_member_id *members, uint32_t count)
{
    AT_TRY(at_pack_array(out, count));
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(at_pack_u64(out, members[i].v));
    return AT_OK;
}

static enum at_code
get_members(struct at_unpack *in, struct at_member_id *ret_members, uint32_t *ret_count)
{
    AT_TRY(at_unpack_array(in, AT_MEMBERS_MAX, ret_count));
    for (uint32_t i = 0; i < *ret_count; i++) {
        AT_TRY(at_unpack_u32(in, &ret_members[i].v));
        if (ret_members[i].v == 0)
            return AT_INVALID_ARGUMENT;
    }
    return AT_OK;
}

static bool contains(const struct at_member_id *list, uint32_t count, struct at_member_id id)
{
    for (uint32_t i = 0; i < count; i++)
        if (at_member_eq(list[i], id))
            return true;
    return false;
}
