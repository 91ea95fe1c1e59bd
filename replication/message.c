#include "replication/message.h"

#include "replication/fill.h"
#include "replication/message_parts.h"

/* The kind comes first; fields may come in any order and at most once, and those with keys nobody
 * knows are skipped. Each kind has a decoder of one field and a mask of the fields without which
 * the message means nothing. */

#define KEY_COUNT 32 /* keys this version could know; a bit each in `seen` */
#define MAP_FIELDS_MAX 64

#define PULL_NEEDED                                                                       \
    (BIT(PULL_REQUEST_ID) | BIT(PULL_INSTANCE) | BIT(PULL_FROM) | BIT(PULL_INCARNATION) | \
     BIT(PULL_APPLIED) | BIT(PULL_DURABLE))
#define REPLY_NEEDED \
    (BIT(REPLY_TO_REQUEST) | BIT(REPLY_INSTANCE) | BIT(REPLY_FROM) | BIT(REPLY_INCARNATION))
#define CLOSE_NEEDED \
    (BIT(SMALL_INSTANCE) | BIT(SMALL_ORIGIN) | BIT(SMALL_INCARNATION) | BIT(SMALL_ROUND))
#define CLOSE_ANSWER_NEEDED \
    (CLOSE_NEEDED | BIT(SMALL_FROM) | BIT(SMALL_FROM_INCARNATION) | BIT(SMALL_POSITIONS))
#define VECTOR_NEEDED (BIT(SMALL_INSTANCE) | BIT(SMALL_FROM))
#define VECTOR_ANSWER_NEEDED (VECTOR_NEEDED | BIT(SMALL_READY) | BIT(SMALL_DURABLE))

static enum at_code kind_decode(struct at_message_decoder *d, struct at_message *m);
static enum at_code pull_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code reply_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code close_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code
close_answer_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code vector_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code
vector_answer_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code refused_field(struct at_message_decoder *d, struct at_message *m, uint64_t key);
static enum at_code known_decode(struct at_unpack *in, struct at_close *close);
static enum at_code runs_decode(struct at_message_decoder *d, struct at_reply *reply);
static enum at_code packed_decode(struct at_message_decoder *d, struct at_reply *reply);
static enum at_code gaps_decode(struct at_message_decoder *d, struct at_reply *reply);

enum at_code
at_message_decode(struct at_slice bytes, struct at_arena *arena, struct at_message *ret_message)
{
    struct at_message_decoder d = {.arena = arena};

    *ret_message = (struct at_message){0};
    if (bytes.len == 0 || bytes.len > AT_PEER_MESSAGE_BYTES_MAX)
        return AT_INVALID_ARGUMENT;
    at_unpack_init(&d.in, bytes);
    enum at_code rc = kind_decode(&d, ret_message);
    if (rc != AT_OK) {
        at_message_deinit(ret_message);
        *ret_message = (struct at_message){0};
    }
    return rc;
}

void at_message_deinit(struct at_message *m)
{
    switch (m->kind) {
    case AT_MESSAGE_PULL:
        at_vector_deinit(&m->u.pull.applied);
        at_vector_deinit(&m->u.pull.durable);
        break;
    case AT_MESSAGE_REPLY:
        at_vector_deinit(&m->u.reply.ends_known);
        break;
    case AT_MESSAGE_VECTOR_ANSWER:
        at_vector_deinit(&m->u.vector_answer.durable);
        break;
    case AT_MESSAGE_FENCE_ANSWER:
        at_vector_deinit(&m->u.fence_answer->applied);
        break;
    case AT_MESSAGE_COPY_OPEN:
        at_vector_deinit(&m->u.copy_open.needs);
        break;
    case AT_MESSAGE_COPY_OPENED:
        at_vector_deinit(&m->u.copy_opened.state->applied);
        break;
    case AT_MESSAGE_CLOSE:
    case AT_MESSAGE_CLOSE_ANSWER:
    case AT_MESSAGE_VECTOR:
    case AT_MESSAGE_JOIN:
    case AT_MESSAGE_JOIN_ANSWER:
    case AT_MESSAGE_FENCE:
    case AT_MESSAGE_COPY_ASK:
    case AT_MESSAGE_COPY_CHUNK:
    case AT_MESSAGE_COPY_CLOSE:
    case AT_MESSAGE_REFUSED:
        break;
    }
}

static enum at_code kind_decode(struct at_message_decoder *d, struct at_message *m)
{
    uint64_t key = 0;
    uint64_t kind = 0;
    struct at_unpack peek = d->in;
    uint32_t fields = 0;

    AT_TRY(at_unpack_map(&peek, MAP_FIELDS_MAX, &fields));
    AT_TRY(at_unpack_u64(&peek, &key));
    AT_TRY(at_unpack_u64(&peek, &kind));
    if (key != KEY_KIND || kind < AT_MESSAGE_PULL || kind > AT_MESSAGE_COPY_CLOSE)
        return AT_INVALID_ARGUMENT;
    m->kind = (enum at_message_kind)kind;

    switch (m->kind) {
    case AT_MESSAGE_PULL:
        return at_message_fields(d, m, pull_field, PULL_NEEDED);
    case AT_MESSAGE_REPLY:
        return at_message_fields(d, m, reply_field, REPLY_NEEDED);
    case AT_MESSAGE_CLOSE:
        return at_message_fields(d, m, close_field, CLOSE_NEEDED);
    case AT_MESSAGE_CLOSE_ANSWER:
        m->u.close_answer = AT_ARENA_NEW(d->arena, struct at_close_answer);
        return at_message_fields(d, m, close_answer_field, CLOSE_ANSWER_NEEDED);
    case AT_MESSAGE_VECTOR:
        return at_message_fields(d, m, vector_field, VECTOR_NEEDED);
    case AT_MESSAGE_VECTOR_ANSWER:
        return at_message_fields(d, m, vector_answer_field, VECTOR_ANSWER_NEEDED);
    case AT_MESSAGE_REFUSED:
        return at_message_fields(d, m, refused_field, 0);
    case AT_MESSAGE_JOIN:
    case AT_MESSAGE_JOIN_ANSWER:
    case AT_MESSAGE_FENCE:
    case AT_MESSAGE_FENCE_ANSWER:
        return at_message_member_decode(d, m);
    case AT_MESSAGE_COPY_OPEN:
    case AT_MESSAGE_COPY_OPENED:
    case AT_MESSAGE_COPY_ASK:
    case AT_MESSAGE_COPY_CHUNK:
    case AT_MESSAGE_COPY_CLOSE:
        return at_message_copy_decode(d, m);
    }
    return AT_INVALID_ARGUMENT;
}

enum at_code at_message_fields(struct at_message_decoder *d,
                               struct at_message *m,
                               at_message_field decode,
                               uint32_t needed)
{
    uint32_t fields = 0;
    uint32_t seen = 0;

    AT_TRY(at_unpack_map(&d->in, MAP_FIELDS_MAX, &fields));
    for (uint32_t i = 0; i < fields; i++) {
        uint64_t key = 0;
        AT_TRY(at_unpack_u64(&d->in, &key));
        if (key < KEY_COUNT) {
            if (seen & BIT(key))
                return AT_INVALID_ARGUMENT;
            seen |= BIT(key);
        }
        AT_TRY(decode(d, m, key));
    }
    if ((seen & needed) != needed || !at_unpack_done(&d->in))
        return AT_INVALID_ARGUMENT;
    return AT_OK;
}

static enum at_code pull_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_pull *p = &m->u.pull;

    switch (key) {
    case PULL_REQUEST_ID:
        return at_unpack_u64(&d->in, &p->request_id);
    case PULL_INSTANCE:
        return at_unpack_u64(&d->in, &p->instance_id);
    case PULL_FROM:
        return at_message_id(&d->in, &p->from);
    case PULL_INCARNATION:
        return at_unpack_u32(&d->in, &p->incarnation);
    case PULL_APPLIED:
        return at_vector_decode(&p->applied, &d->in);
    case PULL_DURABLE:
        return at_vector_decode(&p->durable, &d->in);
    case PULL_FACTS:
        return at_positions_facts_decode(&p->facts, &d->in, d->arena);
    case PULL_MEMBERS:
        return at_message_ids(&d->in, p->members, &p->member_count);
    case PULL_SKIP:
        return at_message_ids(&d->in, p->skip, &p->skip_count);
    case PULL_MAX_BYTES:
        return at_unpack_u32(&d->in, &p->max_bytes);
    case PULL_WAIT_MS:
        return at_unpack_u32(&d->in, &p->wait_ms);
    case PULL_HLC:
        return at_unpack_u64(&d->in, &p->hlc);
    case PULL_CONTINUES:
        return at_unpack_u64(&d->in, &p->continues);
    case PULL_UNPACKS:
        return at_unpack_bool(&d->in, &p->unpacks);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code reply_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_reply *r = &m->u.reply;

    switch (key) {
    case REPLY_TO_REQUEST:
        return at_unpack_u64(&d->in, &r->to_request);
    case REPLY_INSTANCE:
        return at_unpack_u64(&d->in, &r->instance_id);
    case REPLY_FROM:
        return at_message_id(&d->in, &r->from);
    case REPLY_INCARNATION:
        return at_unpack_u32(&d->in, &r->incarnation);
    case REPLY_HLC:
        return at_unpack_u64(&d->in, &r->hlc);
    case REPLY_RUNS:
        return runs_decode(d, r);
    case REPLY_GAPS:
        return gaps_decode(d, r);
    case REPLY_ENDS_KNOWN:
        return at_vector_decode(&r->ends_known, &d->in);
    case REPLY_FACTS:
        return at_positions_facts_decode(&r->facts, &d->in, d->arena);
    case REPLY_MEMBERS:
        return at_message_ids(&d->in, r->members, &r->member_count);
    case REPLY_MORE:
        return at_unpack_bool(&d->in, &r->more);
    case REPLY_PACKED:
        return packed_decode(d, r);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code close_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    switch (key) {
    case SMALL_INSTANCE:
        return at_unpack_u64(&d->in, &m->u.close.instance_id);
    case SMALL_ORIGIN:
        return at_message_id(&d->in, &m->u.close.origin);
    case SMALL_INCARNATION:
        return at_unpack_u32(&d->in, &m->u.close.incarnation);
    case SMALL_ROUND:
        return at_unpack_u32(&d->in, &m->u.close.round);
    case SMALL_KNOWN:
        return known_decode(&d->in, &m->u.close);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code
close_answer_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_close_answer *a = m->u.close_answer;
    uint32_t numbers = 0;

    switch (key) {
    case SMALL_INSTANCE:
        return at_unpack_u64(&d->in, &a->instance_id);
    case SMALL_FROM:
        return at_message_id(&d->in, &a->from);
    case SMALL_ORIGIN:
        return at_message_id(&d->in, &a->origin);
    case SMALL_INCARNATION:
        return at_unpack_u32(&d->in, &a->incarnation);
    case SMALL_ROUND:
        return at_unpack_u32(&d->in, &a->round);
    case SMALL_FROM_INCARNATION:
        return at_unpack_u32(&d->in, &a->from_incarnation);
    case SMALL_POSITIONS:
        AT_TRY(at_unpack_array(&d->in, AT_EPOCHS_MAX * 3, &numbers));
        if (numbers % 3 != 0)
            return AT_INVALID_ARGUMENT;
        a->position_count = numbers / 3;
        for (uint32_t i = 0; i < a->position_count; i++)
            AT_TRY(at_message_position(&d->in, &a->positions[i]));
        return AT_OK;
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code known_decode(struct at_unpack *in, struct at_close *close)
{
    uint32_t numbers = 0;

    AT_TRY(at_unpack_array(in, AT_MEMBERS_MAX * 2, &numbers));
    if (numbers % 2 != 0)
        return AT_INVALID_ARGUMENT;
    close->known_count = numbers / 2;
    for (uint32_t i = 0; i < close->known_count; i++) {
        AT_TRY(at_message_id(in, &close->known[i].member));
        AT_TRY(at_unpack_u32(in, &close->known[i].incarnation));
    }
    return AT_OK;
}

static enum at_code vector_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    switch (key) {
    case SMALL_INSTANCE:
        return at_unpack_u64(&d->in, &m->u.vector_ask.instance_id);
    case SMALL_FROM:
        return at_message_id(&d->in, &m->u.vector_ask.from);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code
vector_answer_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    struct at_vector_answer *a = &m->u.vector_answer;

    switch (key) {
    case SMALL_INSTANCE:
        return at_unpack_u64(&d->in, &a->instance_id);
    case SMALL_FROM:
        return at_message_id(&d->in, &a->from);
    case SMALL_READY:
        return at_unpack_bool(&d->in, &a->ready);
    case SMALL_DURABLE:
        return at_vector_decode(&a->durable, &d->in);
    case SMALL_FACTS:
        return at_positions_facts_decode(&a->facts, &d->in, d->arena);
    case SMALL_MEMBERS:
        return at_message_ids(&d->in, a->members, &a->member_count);
    default:
        return at_unpack_skip(&d->in);
    }
}

static enum at_code refused_field(struct at_message_decoder *d, struct at_message *m, uint64_t key)
{
    if (key == SMALL_REASON)
        return at_unpack_bin(&d->in, &m->u.refused);
    return at_unpack_skip(&d->in);
}

enum at_code at_message_id(struct at_unpack *in, struct at_member_id *ret_id)
{
    AT_TRY(at_unpack_u32(in, &ret_id->v));
    return ret_id->v == 0 ? AT_INVALID_ARGUMENT : AT_OK;
}

enum at_code at_message_ids(struct at_unpack *in, struct at_member_id *ret_ids, uint32_t *ret_count)
{
    AT_TRY(at_unpack_array(in, AT_MEMBERS_MAX, ret_count));
    for (uint32_t i = 0; i < *ret_count; i++)
        AT_TRY(at_message_id(in, &ret_ids[i]));
    return AT_OK;
}

static enum at_code runs_decode(struct at_message_decoder *d, struct at_reply *reply)
{
    uint32_t items = 0;

    AT_TRY(at_unpack_array(&d->in, AT_RUNS_MAX * 3, &items));
    if (items % 3 != 0)
        return AT_INVALID_ARGUMENT;
    reply->run_count = items / 3;
    reply->runs = AT_ARENA_ARRAY(d->arena, struct at_run, reply->run_count);
    for (uint32_t i = 0; i < reply->run_count; i++) {
        struct at_run *run = &reply->runs[i];
        AT_TRY(at_message_id(&d->in, &run->origin));
        AT_TRY(at_unpack_u32(&d->in, &run->epoch));
        AT_TRY(at_unpack_bin(&d->in, &run->record));
        if (run->epoch == 0)
            return AT_INVALID_ARGUMENT;
    }
    return AT_OK;
}

/* Comes after the runs. */
static enum at_code packed_decode(struct at_message_decoder *d, struct at_reply *reply)
{
    uint32_t count = 0;

    AT_TRY(at_unpack_array(&d->in, AT_RUNS_MAX, &count));
    if (count != reply->run_count)
        return AT_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < count; i++) {
        AT_TRY(at_unpack_u32(&d->in, &reply->runs[i].packed_from));
        if (reply->runs[i].packed_from > AT_PEER_MESSAGE_BYTES_MAX)
            return AT_INVALID_ARGUMENT;
    }
    return AT_OK;
}

static enum at_code gaps_decode(struct at_message_decoder *d, struct at_reply *reply)
{
    uint32_t numbers = 0;

    AT_TRY(at_unpack_array(&d->in, AT_EPOCHS_MAX * 3, &numbers));
    if (numbers % 3 != 0)
        return AT_INVALID_ARGUMENT;
    reply->gap_count = numbers / 3;
    reply->gaps = AT_ARENA_ARRAY(d->arena, struct at_gap, reply->gap_count);
    for (uint32_t i = 0; i < reply->gap_count; i++)
        AT_TRY(at_message_position(&d->in, &reply->gaps[i].base));
    return AT_OK;
}

enum at_code at_message_position(struct at_unpack *in, struct at_position *ret_position)
{
    AT_TRY(at_message_id(in, &ret_position->origin));
    AT_TRY(at_unpack_u32(in, &ret_position->epoch));
    AT_TRY(at_unpack_u64(in, &ret_position->seq));
    return ret_position->epoch == 0 ? AT_INVALID_ARGUMENT : AT_OK;
}

enum at_code at_message_unpack_position(struct at_unpack *in, struct at_position *ret_position)
{
    AT_TRY(at_unpack_u32(in, &ret_position->origin.v));
    AT_TRY(at_unpack_u32(in, &ret_position->epoch));
    AT_TRY(at_unpack_u64(in, &ret_position->seq));
    return ret_position->epoch != 0 && ret_position->origin.v == 0 ? AT_INVALID_ARGUMENT : AT_OK;
}
