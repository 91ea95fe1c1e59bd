#include "base/assert.h"
#include "replication/message.h"
#include "replication/message_parts.h"

/* The writing half of message.h: one map per message, each field under its key. */

static enum at_code put_runs(struct at_buf *out, const struct at_reply *m);
static enum at_code put_packed(struct at_buf *out, const struct at_reply *m);
static enum at_code
put_positions(struct at_buf *out, uint32_t key, const struct at_position *items, uint32_t count);

enum at_code at_pull_encode(const struct at_pull *m, struct at_buf *out)
{
    /* Fields that older peers do not know are left out where they say nothing. */
    uint32_t extra = (m->continues != 0 ? 1u : 0u) + (m->unpacks ? 1u : 0u);

    AT_TRY(at_message_head(out, AT_MESSAGE_PULL, PULL_HLC + extra));
    if (m->continues != 0)
        AT_TRY(at_message_put_u64(out, PULL_CONTINUES, m->continues));
    if (m->unpacks)
        AT_TRY(at_message_put_bool(out, PULL_UNPACKS, true));
    AT_TRY(at_message_put_u64(out, PULL_REQUEST_ID, m->request_id));
    AT_TRY(at_message_put_u64(out, PULL_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, PULL_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, PULL_INCARNATION, m->incarnation));
    AT_TRY(at_message_put_vector(out, PULL_APPLIED, &m->applied));
    AT_TRY(at_message_put_vector(out, PULL_DURABLE, &m->durable));
    AT_TRY(at_message_put_facts(out, PULL_FACTS, &m->facts));
    AT_TRY(at_message_put_ids(out, PULL_MEMBERS, m->members, m->member_count));
    AT_TRY(at_message_put_ids(out, PULL_SKIP, m->skip, m->skip_count));
    AT_TRY(at_message_put_u64(out, PULL_MAX_BYTES, m->max_bytes));
    AT_TRY(at_message_put_u64(out, PULL_WAIT_MS, m->wait_ms));
    return at_message_put_u64(out, PULL_HLC, m->hlc);
}

enum at_code at_reply_encode(const struct at_reply *m, struct at_buf *out)
{
    bool packed = false;

    for (uint32_t i = 0; i < m->run_count; i++)
        packed = packed || m->runs[i].packed_from != 0;
    AT_TRY(at_message_head(out, AT_MESSAGE_REPLY, REPLY_MORE + (packed ? 1u : 0u)));
    AT_TRY(at_message_put_u64(out, REPLY_TO_REQUEST, m->to_request));
    AT_TRY(at_message_put_u64(out, REPLY_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, REPLY_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, REPLY_INCARNATION, m->incarnation));
    AT_TRY(at_message_put_u64(out, REPLY_HLC, m->hlc));
    AT_TRY(put_runs(out, m));
    AT_TRY(at_pack_u64(out, REPLY_GAPS));
    AT_TRY(at_pack_array(out, m->gap_count * 3));
    for (uint32_t i = 0; i < m->gap_count; i++) {
        AT_TRY(at_pack_u64(out, m->gaps[i].base.origin.v));
        AT_TRY(at_pack_u64(out, m->gaps[i].base.epoch));
        AT_TRY(at_pack_u64(out, m->gaps[i].base.seq));
    }
    AT_TRY(at_message_put_vector(out, REPLY_ENDS_KNOWN, &m->ends_known));
    AT_TRY(at_message_put_facts(out, REPLY_FACTS, &m->facts));
    AT_TRY(at_message_put_ids(out, REPLY_MEMBERS, m->members, m->member_count));
    if (packed)
        AT_TRY(put_packed(out, m));
    return at_message_put_bool(out, REPLY_MORE, m->more);
}

enum at_code at_close_encode(const struct at_close *m, struct at_buf *out)
{
    AT_ASSERT(m->known_count <= AT_MEMBERS_MAX);
    AT_TRY(at_message_head(out, AT_MESSAGE_CLOSE, 5));
    AT_TRY(at_message_put_u64(out, SMALL_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, SMALL_ORIGIN, m->origin.v));
    AT_TRY(at_message_put_u64(out, SMALL_INCARNATION, m->incarnation));
    AT_TRY(at_message_put_u64(out, SMALL_ROUND, m->round));
    AT_TRY(at_pack_u64(out, SMALL_KNOWN));
    AT_TRY(at_pack_array(out, m->known_count * 2));
    for (uint32_t i = 0; i < m->known_count; i++) {
        AT_TRY(at_pack_u64(out, m->known[i].member.v));
        AT_TRY(at_pack_u64(out, m->known[i].incarnation));
    }
    return AT_OK;
}

enum at_code at_close_answer_encode(const struct at_close_answer *m, struct at_buf *out)
{
    AT_ASSERT(m->position_count <= AT_EPOCHS_MAX);
    AT_TRY(at_message_head(out, AT_MESSAGE_CLOSE_ANSWER, 7));
    AT_TRY(at_message_put_u64(out, SMALL_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, SMALL_FROM, m->from.v));
    AT_TRY(at_message_put_u64(out, SMALL_ORIGIN, m->origin.v));
    AT_TRY(at_message_put_u64(out, SMALL_INCARNATION, m->incarnation));
    AT_TRY(at_message_put_u64(out, SMALL_ROUND, m->round));
    AT_TRY(at_message_put_u64(out, SMALL_FROM_INCARNATION, m->from_incarnation));
    return put_positions(out, SMALL_POSITIONS, m->positions, m->position_count);
}

enum at_code at_vector_ask_encode(const struct at_vector_ask *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_VECTOR, 2));
    AT_TRY(at_message_put_u64(out, SMALL_INSTANCE, m->instance_id));
    return at_message_put_u64(out, SMALL_FROM, m->from.v);
}

enum at_code at_vector_answer_encode(const struct at_vector_answer *m, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_VECTOR_ANSWER, 6));
    AT_TRY(at_message_put_u64(out, SMALL_INSTANCE, m->instance_id));
    AT_TRY(at_message_put_u64(out, SMALL_FROM, m->from.v));
    AT_TRY(at_message_put_bool(out, SMALL_READY, m->ready));
    AT_TRY(at_message_put_vector(out, SMALL_DURABLE, &m->durable));
    AT_TRY(at_message_put_facts(out, SMALL_FACTS, &m->facts));
    return at_message_put_ids(out, SMALL_MEMBERS, m->members, m->member_count);
}

enum at_code at_refused_encode(struct at_slice reason, struct at_buf *out)
{
    AT_TRY(at_message_head(out, AT_MESSAGE_REFUSED, 1));
    AT_TRY(at_pack_u64(out, SMALL_REASON));
    return at_pack_str(out, reason);
}

enum at_code at_message_head(struct at_buf *out, enum at_message_kind kind, uint32_t fields)
{
    AT_TRY(at_pack_map(out, fields + 1));
    return at_message_put_u64(out, KEY_KIND, (uint64_t)kind);
}

enum at_code at_message_put_u64(struct at_buf *out, uint32_t key, uint64_t v)
{
    AT_TRY(at_pack_u64(out, key));
    return at_pack_u64(out, v);
}

enum at_code at_message_put_bool(struct at_buf *out, uint32_t key, bool v)
{
    AT_TRY(at_pack_u64(out, key));
    return at_pack_bool(out, v);
}

enum at_code at_message_put_vector(struct at_buf *out, uint32_t key, const struct at_vector *v)
{
    AT_TRY(at_pack_u64(out, key));
    return at_vector_encode(v, out);
}

enum at_code
at_message_put_facts(struct at_buf *out, uint32_t key, const struct at_positions_facts *facts)
{
    AT_TRY(at_pack_u64(out, key));
    return at_positions_facts_encode(facts, out);
}

enum at_code at_message_put_ids(struct at_buf *out,
                                uint32_t key,
                                const struct at_member_id *members,
                                uint32_t count)
{
    AT_ASSERT(count <= AT_MEMBERS_MAX);
    AT_TRY(at_pack_u64(out, key));
    AT_TRY(at_pack_array(out, count));
    for (uint32_t i = 0; i < count; i++)
        AT_TRY(at_pack_u64(out, members[i].v));
    return AT_OK;
}

static enum at_code put_runs(struct at_buf *out, const struct at_reply *m)
{
    AT_ASSERT(m->run_count <= AT_RUNS_MAX);
    AT_TRY(at_pack_u64(out, REPLY_RUNS));
    AT_TRY(at_pack_array(out, m->run_count * 3));
    for (uint32_t i = 0; i < m->run_count; i++) {
        AT_TRY(at_pack_u64(out, m->runs[i].origin.v));
        AT_TRY(at_pack_u64(out, m->runs[i].epoch));
        AT_TRY(at_pack_bin(out, m->runs[i].record));
    }
    return AT_OK;
}

/* One number per run: what packed_from says. */
static enum at_code put_packed(struct at_buf *out, const struct at_reply *m)
{
    AT_TRY(at_pack_u64(out, REPLY_PACKED));
    AT_TRY(at_pack_array(out, m->run_count));
    for (uint32_t i = 0; i < m->run_count; i++)
        AT_TRY(at_pack_u64(out, m->runs[i].packed_from));
    return AT_OK;
}

static enum at_code
put_positions(struct at_buf *out, uint32_t key, const struct at_position *items, uint32_t count)
{
    AT_TRY(at_pack_u64(out, key));
    AT_TRY(at_pack_array(out, count * 3));
    for (uint32_t i = 0; i < count; i++) {
        AT_TRY(at_pack_u64(out, items[i].origin.v));
        AT_TRY(at_pack_u64(out, items[i].epoch));
        AT_TRY(at_pack_u64(out, items[i].seq));
    }
    return AT_OK;
}

enum at_code at_message_put_bin(struct at_buf *out, uint32_t key, struct at_slice v)
{
    AT_TRY(at_pack_u64(out, key));
    return at_pack_bin(out, v);
}

enum at_code at_message_pack_position(struct at_buf *out, struct at_position p)
{
    AT_TRY(at_pack_u64(out, p.origin.v));
    AT_TRY(at_pack_u64(out, p.epoch));
    return at_pack_u64(out, p.seq);
}
