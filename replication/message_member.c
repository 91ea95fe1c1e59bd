#include "base/assert.h"
#include "replication/message_parts.h"

/* JOIN, FENCE and their answers. */

#define JOIN_NEEDED (BIT(SMALL_INSTANCE) | BIT(SMALL_FROM))
#define JOIN_ANSWER_NEEDED (JOIN_NEEDED | BIT(SMALL_ORIGIN) | BIT(SMALL_VERDICT))
#define FENCE_NEEDED (JOIN_NEEDED | BIT(SMALL_ROUND) | BIT(SMALL_MEMBERS))
#define FENCE_ANSWER_NEEDED (JOIN_NEEDED | BIT(SMALL_ROUND) | BIT(SMALL_APPLIED))

static enum at_code
put_seeds(struct at_buf *out, const struct at_member_seed *members, uint32_t count);
static enum at_code
get_seeds(struct at_unpack *in, struct at_member_seed *ret_members, uint32_t *ret_count);
static enum at_code get_info(struct at_unpack *in, struct at_slice *ret_info);
static enum at_code get_u8(struct at_unpack *in, uint8_t max, uint8_t *ret_v);
static enum at_code join_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code
join_answer_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code fence_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code
fence_answer_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);

enum at_code at_join_encode(const struct at_join *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_JOIN, 10));
    AT_TRY(at_message_put_u64(out, SMALL_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, SMALL_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, SMALL_INCARNATION, m->incarnation));
    AT_TRY(at_message_put_u64(out, SMALL_MODE, m->mode));
    AT_TRY(at_message_put_bool(out, SMALL_CAUGHT_UP, m->caught_up));
    AT_TRY(at_message_put_u64(out, SMALL_COPIED_BYTES, m->copied_bytes));
    AT_TRY(at_message_put_u64(out, SMALL_BYTES, m->copy_bytes));
    AT_TRY(at_message_put_bin(out, SMALL_INFO, m->info));
    AT_TRY(at_message_put_u64(out, SMALL_HLC, m->hlc));
    AT_TRY(at_pack_u64(out, SMALL_REGISTERED));
    AT_TRY(at_pack_array(out, 3));
    return at_message_pack_position(out, m->registered);
}

enum at_code at_join_answer_encode(const struct at_join_answer *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_JOIN_ANSWER, 7));
    AT_TRY(at_message_put_u64(out, SMALL_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, SMALL_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, SMALL_FROM_INCARNATION, m->from_incarnation));
    AT_TRY(at_message_put_u64(out, SMALL_ORIGIN, m->to.v));
    AT_TRY(at_message_put_u64(out, SMALL_VERDICT, m->verdict));
    AT_TRY(at_message_put_u64(out, SMALL_HLC, m->hlc));
    return put_seeds(out, m->members, m->member_count);
}

enum at_code at_fence_encode(const struct at_fence *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_FENCE, 5));
    AT_TRY(at_message_put_u64(out, SMALL_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, SMALL_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, SMALL_ROUND, m->round));
    AT_TRY(at_message_put_bool(out, SMALL_SURVIVES, m->minority_survives));
    return at_message_put_ids(out, SMALL_MEMBERS, m->members, m->member_count);
}

enum at_code at_fence_answer_encode(const struct at_fence_answer *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_FENCE_ANSWER, 7));
    AT_TRY(at_message_put_u64(out, SMALL_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, SMALL_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, SMALL_FROM_INCARNATION, m->from_incarnation));
    AT_TRY(at_message_put_u64(out, SMALL_ROUND, m->round));
    AT_TRY(at_message_put_vector(out, SMALL_APPLIED, &m->applied));
    AT_TRY(at_message_put_facts(out, SMALL_FACTS, &m->facts));
    return put_seeds(out, m->members, m->member_count);
}

enum at_code at_message_member_decode(struct at_message_decoder *d, struct at_message *m)
{
    switch ((int)m->kind) {
    case AT_MESSAGE_JOIN:
        return at_message_fields(d, m, join_field, JOIN_NEEDED);
    case AT_MESSAGE_JOIN_ANSWER:
        return at_message_fields(d, m, join_answer_field, JOIN_ANSWER_NEEDED);
    case AT_MESSAGE_FENCE:
        return at_message_fields(d, m, fence_field, FENCE_NEEDED);
    default:
        AT_ASSERT(m->kind == AT_MESSAGE_FENCE_ANSWER);
        m->u.fence_answer = AT_ARENA_NEW(d->arena, struct at_fence_answer);
        return at_message_fields(d, m, fence_answer_field, FENCE_ANSWER_NEEDED);
    }
}

static enum at_code join_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_join *j = &m->u.join;
    uint32_t numbers = 0;

    switch (key) {
    case SMALL_INSTANCE:
        return at_unpack_u64(&d->in, &j->instance_id);
    case SMALL_FROM:
        return at_message_id(&d->in, &j->from);
    case SMALL_INCARNATION:
        return at_unpack_u32(&d->in, &j->incarnation);
    case SMALL_MODE:
        return get_u8(&d->in, 15, &j->mode);
    case SMALL_CAUGHT_UP:
        return at_unpack_bool(&d->in, &j->caught_up);
    case SMALL_COPIED_BYTES:
        return at_unpack_u64(&d->in, &j->copied_bytes);
    case SMALL_BYTES:
        return at_unpack_u64(&d->in, &j->copy_bytes);
    case SMALL_INFO:
        return get_info(&d->in, &j->info);
    case SMALL_HLC:
        return at_unpack_u64(&d->in, &j->hlc);
    case SMALL_REGISTERED:
        AT_TRY(at_unpack_array(&d->in, 3, &numbers));
        return numbers != 3 ? AT_INVALID_ARGUMENT
                            : at_message_unpack_position(&d->in, &j->registered);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code
join_answer_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_join_answer *a = &m->u.join_answer;

    switch (key) {
    case SMALL_INSTANCE:
        return at_unpack_u64(&d->in, &a->instance_id);
    case SMALL_FROM:
        return at_message_id(&d->in, &a->from);
    case SMALL_FROM_INCARNATION:
        return at_unpack_u32(&d->in, &a->from_incarnation);
    case SMALL_ORIGIN:
        return at_message_id(&d->in, &a->to);
    case SMALL_VERDICT:
        return get_u8(&d->in, AT_JOIN_NEVER, &a->verdict);
    case SMALL_HLC:
        return at_unpack_u64(&d->in, &a->hlc);
    case SMALL_MEMBERS:
        return get_seeds(&d->in, a->members, &a->member_count);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code fence_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_fence *f = &m->u.fence;

    switch (key) {
    case SMALL_INSTANCE:
        return at_unpack_u64(&d->in, &f->instance_id);
    case SMALL_FROM:
        return at_message_id(&d->in, &f->from);
    case SMALL_ROUND:
        return at_unpack_u32(&d->in, &f->round);
    case SMALL_SURVIVES:
        return at_unpack_bool(&d->in, &f->minority_survives);
    case SMALL_MEMBERS:
        return at_message_ids(&d->in, f->members, &f->member_count);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code
fence_answer_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_fence_answer *a = m->u.fence_answer;

    switch (key) {
    case SMALL_INSTANCE:
        return at_unpack_u64(&d->in, &a->instance_id);
    case SMALL_FROM:
        return at_message_id(&d->in, &a->from);
    case SMALL_FROM_INCARNATION:
        return at_unpack_u32(&d->in, &a->from_incarnation);
    case SMALL_ROUND:
        return at_unpack_u32(&d->in, &a->round);
    case SMALL_APPLIED:
        return at_vector_decode(&a->applied, &d->in);
    case SMALL_FACTS:
        return at_positions_facts_decode(&a->facts, &d->in, d->arena);
    case SMALL_MEMBERS:
        return get_seeds(&d->in, a->members, &a->member_count);
    default:
        return at_unpack_skip(&d->in);
    }
}

/* Ids and infos in turn. */
static enum at_code
put_seeds(struct at_buf *out, const struct at_member_seed *members, uint32_t count)
{
    AT_ASSERT(count <= AT_MEMBERS_MAX);
    AT_TRY(at_pack_u64(out, SMALL_MEMBERS));
    AT_TRY(at_pack_array(out, count * 2));
    for (uint32_t i = 0; i < count; i++) {
        AT_TRY(at_pack_u64(out, members[i].id.v));
        AT_TRY(at_pack_bin(out, members[i].info));
    }
    return AT_OK;
}

static enum at_code
get_seeds(struct at_unpack *in, struct at_member_seed *ret_members, uint32_t *ret_count)
{
    uint32_t items = 0;

    AT_TRY(at_unpack_array(in, AT_MEMBERS_MAX * 2, &items));
    if (items % 2 != 0)
        return AT_INVALID_ARGUMENT;
    *ret_count = items / 2;
    for (uint32_t i = 0; i < *ret_count; i++) {
        AT_TRY(at_message_id(in, &ret_members[i].id));
        AT_TRY(get_info(in, &ret_members[i].info));
    }
    return AT_OK;
}

static enum at_code get_info(struct at_unpack *in, struct at_slice *ret_info)
{
    AT_TRY(at_unpack_bin(in, ret_info));
    return ret_info->len > AT_MEMBER_INFO_BYTES_MAX ? AT_INVALID_ARGUMENT : AT_OK;
}

static enum at_code get_u8(struct at_unpack *in, uint8_t max, uint8_t *ret_v)
{
    uint32_t v = 0;

    AT_TRY(at_unpack_u32(in, &v));
    if (v > max)
        return AT_INVALID_ARGUMENT;
    *ret_v = (uint8_t)v;
    return AT_OK;
}
