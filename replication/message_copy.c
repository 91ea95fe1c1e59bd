#include "base/assert.h"
#include "replication/fill.h"
#include "replication/message_parts.h"

/* COPY_OPEN, COPY_ASK, COPY_CLOSE and the answers of a donor. */

#define MEMBER_FIELDS 7
#define COPY_MEMBERS_MAX 64

#define OPEN_NEEDED (BIT(COPY_INSTANCE) | BIT(COPY_FROM) | BIT(COPY_INCARNATION))
#define OPENED_NEEDED \
    (OPEN_NEEDED | BIT(COPY_SNAPSHOT) | BIT(COPY_PARTS) | BIT(COPY_APPLIED) | BIT(COPY_HORIZON))
#define ASK_NEEDED (BIT(COPY_INSTANCE) | BIT(COPY_FROM) | BIT(COPY_SNAPSHOT) | BIT(COPY_PART))
#define CHUNK_NEEDED \
    (BIT(COPY_SNAPSHOT) | BIT(COPY_PART) | BIT(COPY_LAST) | BIT(COPY_CHECKSUM) | BIT(COPY_ITEMS))
#define CLOSE_NEEDED (BIT(COPY_INSTANCE) | BIT(COPY_FROM) | BIT(COPY_SNAPSHOT))

static enum at_code
put_copy_members(struct at_buf *out, const struct at_copy_member *members, uint32_t count);
static enum at_code copy_members_decode(struct at_message_decoder *d, struct at_copy_state *state);
static enum at_code copy_member_decode(struct at_unpack *in, struct at_copy_member *m);
static enum at_code open_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code opened_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code ask_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code chunk_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code close_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);

enum at_code at_copy_open_encode(const struct at_copy_open *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_COPY_OPEN, 4));
    AT_TRY(at_message_put_u64(out, COPY_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, COPY_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, COPY_INCARNATION, m->incarnation));
    return at_message_put_vector(out, COPY_NEEDS, &m->needs);
}

enum at_code at_copy_opened_encode(const struct at_copy_opened *m, struct at_buf *out)
{
    const struct at_copy_state *s = m->state;

    AT_TRY(at_message_head(out, AT_MESSAGE_COPY_OPENED, 14));
    AT_TRY(at_message_put_u64(out, COPY_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, COPY_SNAPSHOT, m->snapshot_id));
    AT_TRY(at_message_put_u64(out, COPY_BYTES, m->bytes));
    AT_TRY(at_message_put_u64(out, COPY_PARTS, m->part_count));
    AT_TRY(at_message_put_u64(out, COPY_FROM, s->from.v));
    AT_TRY(at_message_put_u64(out, COPY_INCARNATION, s->incarnation));
    AT_TRY(at_message_put_vector(out, COPY_APPLIED, &s->applied));
    AT_TRY(at_message_put_facts(out, COPY_FACTS, &s->facts));
    AT_TRY(at_message_put_u64(out, COPY_HORIZON, s->horizon));
    AT_TRY(at_message_put_u64(out, COPY_HLC, s->hlc));
    AT_TRY(at_message_put_u64(out, COPY_RELEASED, s->released));
    AT_TRY(at_message_put_u64(out, COPY_FORK_FROM, s->fork_from));
    AT_TRY(at_message_put_u64(out, COPY_FORK, s->fork_id));
    return put_copy_members(out, s->members, s->member_count);
}

enum at_code at_copy_ask_encode(const struct at_copy_ask *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_COPY_ASK, 6));
    AT_TRY(at_message_put_u64(out, COPY_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, COPY_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, COPY_SNAPSHOT, m->snapshot_id));
    AT_TRY(at_message_put_u64(out, COPY_PART, m->part));
    AT_TRY(at_message_put_bin(out, COPY_CURSOR, m->cursor));
    return at_message_put_u64(out, COPY_MAX_BYTES, m->max_bytes);
}

enum at_code at_copy_chunk_encode(const struct at_copy_chunk *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_COPY_CHUNK, 8));
    AT_TRY(at_message_put_u64(out, COPY_SNAPSHOT, m->snapshot_id));
    AT_TRY(at_message_put_u64(out, COPY_PART, m->part));
    AT_TRY(at_message_put_bin(out, COPY_CURSOR, m->cursor));
    AT_TRY(at_message_put_bool(out, COPY_LAST, m->last));
    AT_TRY(at_message_put_bool(out, COPY_PACKED, m->packed));
    AT_TRY(at_message_put_u64(out, COPY_RAW_BYTES, m->raw_bytes));
    AT_TRY(at_message_put_u64(out, COPY_CHECKSUM, m->checksum));
    return at_message_put_bin(out, COPY_ITEMS, m->items);
}

enum at_code at_copy_close_encode(const struct at_copy_close *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_COPY_CLOSE, 3));
    AT_TRY(at_message_put_u64(out, COPY_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, COPY_FROM, m->from.v));
    return at_message_put_u64(out, COPY_SNAPSHOT, m->snapshot_id);
}

enum at_code at_message_copy_decode(struct at_message_decoder *d, struct at_message *m)
{
    switch ((int)m->kind) {
    case AT_MESSAGE_COPY_OPEN:
        return at_message_fields(d, m, open_field, OPEN_NEEDED);
    case AT_MESSAGE_COPY_OPENED:
        m->u.copy_opened.state = AT_ARENA_NEW(d->arena, struct at_copy_state);
        return at_message_fields(d, m, opened_field, OPENED_NEEDED);
    case AT_MESSAGE_COPY_ASK:
        return at_message_fields(d, m, ask_field, ASK_NEEDED);
    case AT_MESSAGE_COPY_CHUNK:
        return at_message_fields(d, m, chunk_field, CHUNK_NEEDED);
    default:
        AT_ASSERT(m->kind == AT_MESSAGE_COPY_CLOSE);
        return at_message_fields(d, m, close_field, CLOSE_NEEDED);
    }
}

static enum at_code open_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_copy_open *o = &m->u.copy_open;

    switch (key) {
    case COPY_INSTANCE:
        return at_unpack_u64(&d->in, &o->instance_id);
    case COPY_FROM:
        return at_message_id(&d->in, &o->from);
    case COPY_INCARNATION:
        return at_unpack_u32(&d->in, &o->incarnation);
    case COPY_NEEDS:
        return at_vector_decode(&o->needs, &d->in);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code opened_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_copy_opened *o = &m->u.copy_opened;
    struct at_copy_state *s = o->state;

    switch (key) {
    case COPY_INSTANCE:
        return at_unpack_u64(&d->in, &o->instance_id);
    case COPY_SNAPSHOT:
        return at_unpack_u64(&d->in, &o->snapshot_id);
    case COPY_BYTES:
        return at_unpack_u64(&d->in, &o->bytes);
    case COPY_PARTS:
        return at_unpack_u32(&d->in, &o->part_count);
    case COPY_FROM:
        return at_message_id(&d->in, &s->from);
    case COPY_INCARNATION:
        return at_unpack_u32(&d->in, &s->incarnation);
    case COPY_APPLIED:
        return at_vector_decode(&s->applied, &d->in);
    case COPY_FACTS:
        return at_positions_facts_decode(&s->facts, &d->in, d->arena);
    case COPY_HORIZON:
        return at_unpack_u64(&d->in, &s->horizon);
    case COPY_HLC:
        return at_unpack_u64(&d->in, &s->hlc);
    case COPY_RELEASED:
        return at_unpack_u64(&d->in, &s->released);
    case COPY_FORK_FROM:
        return at_unpack_u64(&d->in, &s->fork_from);
    case COPY_FORK:
        return at_unpack_u64(&d->in, &s->fork_id);
    case COPY_MEMBERS:
        return copy_members_decode(d, s);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code ask_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_copy_ask *a = &m->u.copy_ask;

    switch (key) {
    case COPY_INSTANCE:
        return at_unpack_u64(&d->in, &a->instance_id);
    case COPY_FROM:
        return at_message_id(&d->in, &a->from);
    case COPY_SNAPSHOT:
        return at_unpack_u64(&d->in, &a->snapshot_id);
    case COPY_PART:
        return at_unpack_u32(&d->in, &a->part);
    case COPY_CURSOR:
        return at_unpack_bin(&d->in, &a->cursor);
    case COPY_MAX_BYTES:
        return at_unpack_u32(&d->in, &a->max_bytes);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code chunk_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_copy_chunk *c = &m->u.copy_chunk;

    switch (key) {
    case COPY_SNAPSHOT:
        return at_unpack_u64(&d->in, &c->snapshot_id);
    case COPY_PART:
        return at_unpack_u32(&d->in, &c->part);
    case COPY_CURSOR:
        return at_unpack_bin(&d->in, &c->cursor);
    case COPY_LAST:
        return at_unpack_bool(&d->in, &c->last);
    case COPY_PACKED:
        return at_unpack_bool(&d->in, &c->packed);
    case COPY_RAW_BYTES:
        AT_TRY(at_unpack_u32(&d->in, &c->raw_bytes));
        return c->raw_bytes > AT_PEER_MESSAGE_BYTES_MAX ? AT_INVALID_ARGUMENT : AT_OK;
    case COPY_CHECKSUM:
        return at_unpack_u32(&d->in, &c->checksum);
    case COPY_ITEMS:
        return at_unpack_bin(&d->in, &c->items);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code close_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_copy_close *c = &m->u.copy_close;

    switch (key) {
    case COPY_INSTANCE:
        return at_unpack_u64(&d->in, &c->instance_id);
    case COPY_FROM:
        return at_message_id(&d->in, &c->from);
    case COPY_SNAPSHOT:
        return at_unpack_u64(&d->in, &c->snapshot_id);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code
put_copy_members(struct at_buf *out, const struct at_copy_member *members, uint32_t count)
{
    AT_ASSERT(count <= COPY_MEMBERS_MAX);
    AT_TRY(at_pack_u64(out, COPY_MEMBERS));
    AT_TRY(at_pack_array(out, count));
    for (uint32_t i = 0; i < count; i++) {
        const struct at_copy_member *m = &members[i];
        AT_TRY(at_pack_array(out, MEMBER_FIELDS));
        AT_TRY(at_pack_u64(out, m->id.v));
        AT_TRY(at_pack_u64(out, m->state));
        AT_TRY(at_pack_bool(out, m->fenced));
        AT_TRY(at_pack_u64(out, m->min_incarnation));
        AT_TRY(at_pack_array(out, 3));
        AT_TRY(at_message_pack_position(out, m->registered));
        AT_TRY(at_pack_array(out, 3));
        AT_TRY(at_message_pack_position(out, m->last));
        AT_TRY(at_pack_bin(out, m->info));
    }
    return AT_OK;
}

static enum at_code copy_members_decode(struct at_message_decoder *d, struct at_copy_state *state)
{
    AT_TRY(at_unpack_array(&d->in, COPY_MEMBERS_MAX, &state->member_count));
    state->members = AT_ARENA_ARRAY(d->arena, struct at_copy_member, state->member_count);
    for (uint32_t i = 0; i < state->member_count; i++)
        AT_TRY(copy_member_decode(&d->in, &state->members[i]));
    return AT_OK;
}

static enum at_code copy_member_decode(struct at_unpack *in, struct at_copy_member *m)
{
    struct at_position *const positions[] = {&m->registered, &m->last};
    uint32_t fields = 0;
    uint32_t state = 0;

    AT_TRY(at_unpack_array(in, MEMBER_FIELDS, &fields));
    if (fields != MEMBER_FIELDS)
        return AT_INVALID_ARGUMENT;
    AT_TRY(at_message_id(in, &m->id));
    AT_TRY(at_unpack_u32(in, &state));
    if (state > 3)
        return AT_INVALID_ARGUMENT;
    m->state = (uint8_t)state;
    AT_TRY(at_unpack_bool(in, &m->fenced));
    AT_TRY(at_unpack_u32(in, &m->min_incarnation));
    for (int i = 0; i < 2; i++) {
        AT_TRY(at_unpack_array(in, 3, &fields));
        if (fields != 3)
            return AT_INVALID_ARGUMENT;
        AT_TRY(at_message_unpack_position(in, positions[i]));
    }
    AT_TRY(at_unpack_bin(in, &m->info));
    return m->info.len > AT_MEMBER_INFO_BYTES_MAX ? AT_INVALID_ARGUMENT : AT_OK;
}
