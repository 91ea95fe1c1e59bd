#include "replication/origin.h"

#include "base/assert.h"
#include "base/mutant.h"

/* Vouches and ends are few (epochs begin only when a process lost its tail), so they are plain
 * lists, searched from one end to the other. The limits below are beyond what members can make;
 * they bound what a faulty peer can. */

#define ENDS_KEPT_MAX 64 /* of epochs that have left the vectors */
#define ENDS_MAX (ENDS_KEPT_MAX + AT_OPEN_EPOCHS_MAX)
#define VOUCHES_MAX (AT_OPEN_EPOCHS_MAX * 32)

#define RECORD_FIELDS_OLD 6
#define RECORD_FIELDS 9

static bool in_vectors(const struct at_origin *o, struct at_member_id origin, uint32_t epoch);
static void put_end(struct at_origin *o, uint32_t epoch, uint64_t end);
static void forget_old_ends(struct at_origin *o);
static enum at_code decode_membership(struct at_origin *o, struct at_unpack *in);
static enum at_code decode_position(struct at_unpack *in, struct at_position *ret_position);
static enum at_code encode_position(struct at_buf *out, struct at_position p);
static void close_by_own_word(struct at_origin *o, uint32_t epoch, uint64_t seq);

void at_origin_init(struct at_origin *o, struct at_member_id id, enum at_origin_state state)
{
    AT_ASSERT(id.v != 0);
    *o = (struct at_origin){.id = id, .state = state, .first_open = 1};
}

void at_origin_deinit(struct at_origin *o)
{
    at_positions_facts_deinit(&o->closed);
}

bool at_origin_end(const struct at_origin *o, uint32_t epoch, uint64_t *ret_end)
{
    bool found = false;
    uint64_t end = 0;

    for (uint32_t i = 0; i < o->closed.end_count; i++)
        if (o->closed.ends[i].epoch == epoch) {
            *ret_end = o->closed.ends[i].end;
            return true;
        }
    for (uint32_t i = 0; i < o->closed.vouch_count; i++) {
        const struct at_position *p = &o->closed.vouches[i].position;
        if (p->epoch != epoch)
            continue;
        found = found || at_member_eq(o->closed.vouches[i].voucher, o->id);
        end = p->seq > end ? p->seq : end;
    }
    if (found)
        *ret_end = end;
    return found;
}

bool at_origin_covers(const struct at_origin *o,
                      const struct at_vector *v,
                      uint32_t from,
                      uint32_t to)
{
    uint32_t first = from > o->first_open ? from : o->first_open;

    if (to > first && to - first > AT_OPEN_EPOCHS_MAX)
        return false;
    for (uint32_t epoch = first; epoch < to; epoch++) {
        uint64_t end = 0;
        if (!at_origin_end(o, epoch, &end) || at_vector_get(v, o->id, epoch) < end)
            return false;
    }
    return true;
}

bool at_origin_counts(const struct at_origin *o,
                      const struct at_promise *p,
                      const struct at_vector *applied)
{
    if (p->hlc == 0)
        return false;
    if (p->epoch < o->first_open || AT_MUTANT(promise_early))
        return true;
    return at_vector_get(applied, o->id, p->epoch) >= p->seq &&
           /* Epochs that left the origin's own vectors count too: it may not have known of us. */
           at_origin_covers(o, applied, AT_MUTANT(promise_unclosed) ? p->closed_from : 0, p->epoch);
}

void at_origin_promised(struct at_origin *o, const struct at_promise *p)
{
    AT_ASSERT(at_member_eq(p->origin, o->id));
    uint64_t newest = o->newest.hlc > o->next.hlc ? o->newest.hlc : o->next.hlc;

    if (p->hlc <= o->best.hlc || p->hlc <= newest)
        return;
    /* One of an older process may never count: what it lost is no longer to be had. */
    if (o->next.hlc == 0 || o->next.epoch < p->epoch) {
        o->next = *p;
        o->newest.hlc = 0;
    } else {
        o->newest = *p;
    }
}

void at_origin_settle(struct at_origin *o, const struct at_vector *applied)
{
    if (o->newest.hlc != 0 && at_origin_counts(o, &o->newest, applied)) {
        o->best = o->newest;
        o->next.hlc = 0;
        o->newest.hlc = 0;
    } else if (o->next.hlc != 0 && at_origin_counts(o, &o->next, applied)) {
        o->best = o->next;
        o->next = o->newest;
        o->newest.hlc = 0;
    }
}

void at_origin_vouched(struct at_origin *o, const struct at_vouch *vouch)
{
    if (!in_vectors(o, vouch->position.origin, vouch->position.epoch))
        return;
    for (uint32_t i = 0; i < o->closed.vouch_count; i++) {
        struct at_vouch *have = &o->closed.vouches[i];
        if (have->position.epoch != vouch->position.epoch ||
            !at_member_eq(have->voucher, vouch->voucher))
            continue;
        if (have->position.seq < vouch->position.seq) {
            have->position.seq = vouch->position.seq;
            o->dirty = true;
        }
        return;
    }
    if (o->closed.vouch_count == VOUCHES_MAX)
        return;
    at_positions_facts_add_vouch(&o->closed, *vouch);
    o->dirty = true;
}

void at_origin_ended(struct at_origin *o, const struct at_epoch_end *end)
{
    uint64_t have = 0;

    if (!in_vectors(o, end->origin, end->epoch) || at_origin_end(o, end->epoch, &have))
        return;
    if (o->closed.end_count < ENDS_MAX)
        put_end(o, end->epoch, end->end);
}

void at_origin_left(struct at_origin *o, struct at_position last)
{
    AT_ASSERT(at_member_eq(last.origin, o->id));
    if (o->state == AT_ORIGIN_REMOVED)
        return; /* by force, meanwhile */
    o->state = AT_ORIGIN_LEFT;
    o->last = last;
    close_by_own_word(o, last.epoch, last.seq);
    o->dirty = true;
}

void at_origin_removed(struct at_origin *o, const struct at_vector *applied)
{
    uint32_t last = o->last.epoch;

    for (uint32_t i = 0; i < o->closed.vouch_count; i++) {
        uint32_t epoch = o->closed.vouches[i].position.epoch;
        last = epoch > last ? epoch : last;
    }
    for (uint32_t i = 0; i < applied->count; i++)
        if (at_member_eq(applied->items[i].origin, o->id) && applied->items[i].epoch > last)
            last = applied->items[i].epoch;
    o->state = AT_ORIGIN_REMOVED;
    o->fenced = false;
    o->last = (struct at_position){.origin = o->id, .epoch = last};
    for (uint32_t e = o->first_open; e <= last && in_vectors(o, o->id, e); e++)
        close_by_own_word(o, e, 0);
    o->dirty = true;
}

/* Sets the origin's own vouch for `epoch`, also to less than it was. */
static void close_by_own_word(struct at_origin *o, uint32_t epoch, uint64_t seq)
{
    struct at_vouch own = {.voucher = o->id, .position = {o->id, epoch, seq}};

    for (uint32_t i = 0; i < o->closed.vouch_count; i++) {
        struct at_vouch *have = &o->closed.vouches[i];
        if (have->position.epoch == epoch && at_member_eq(have->voucher, o->id)) {
            have->position.seq = seq;
            return;
        }
    }
    at_origin_vouched(o, &own);
}

void at_origin_void(struct at_origin *o, struct at_member_id voucher)
{
    uint32_t kept = 0;

    if (at_member_eq(voucher, o->id))
        return; /* see at_origin_removed */
    for (uint32_t i = 0; i < o->closed.vouch_count; i++)
        if (!at_member_eq(o->closed.vouches[i].voucher, voucher))
            o->closed.vouches[kept++] = o->closed.vouches[i];
    o->dirty = o->dirty || kept < o->closed.vouch_count;
    o->closed.vouch_count = kept;
}

void at_origin_keep(struct at_origin *o, const struct at_vector *applied)
{
    for (uint32_t i = 0; i < applied->count; i++) {
        const struct at_position *p = &applied->items[i];
        uint64_t end = 0;
        if (in_vectors(o, p->origin, p->epoch) && at_origin_end(o, p->epoch, &end) &&
            end < p->seq && o->closed.end_count < ENDS_MAX)
            put_end(o, p->epoch, p->seq);
    }
}

bool at_origin_final_applied(const struct at_origin *o, const struct at_vector *applied)
{
    AT_ASSERT(o->state == AT_ORIGIN_LEFT || o->state == AT_ORIGIN_REMOVED);
    return at_origin_covers(o, applied, o->first_open, o->last.epoch + 1);
}

bool at_origin_beyond_final(const struct at_origin *o, uint32_t epoch, uint64_t seq)
{
    uint64_t end = 0;

    if (epoch > o->last.epoch)
        return true;
    if (at_origin_end(o, epoch, &end))
        return seq > end;
    return o->state == AT_ORIGIN_REMOVED;
}

void at_origin_set_info(struct at_origin *o, struct at_slice info)
{
    AT_ASSERT(info.len <= sizeof(o->info));
    if (info.len == 0 || at_slice_eq(info, at_slice_make(o->info, o->info_len)))
        return;
    memcpy(o->info, info.data, info.len);
    o->info_len = (uint32_t)info.len;
    o->dirty = true;
}

void at_origin_skip_to(struct at_origin *o, uint32_t first_open)
{
    uint32_t kept = 0;

    AT_ASSERT(first_open > o->first_open);
    for (uint32_t e = o->first_open; e < first_open && in_vectors(o, o->id, e); e++) {
        uint64_t end = 0;
        if (at_origin_end(o, e, &end)) /* by vouches, which go */
            put_end(o, e, end);
    }
    for (uint32_t i = 0; i < o->closed.vouch_count; i++)
        if (o->closed.vouches[i].position.epoch >= first_open)
            o->closed.vouches[kept++] = o->closed.vouches[i];
    o->closed.vouch_count = kept;
    o->first_open = first_open;
    o->dirty = true;
    forget_old_ends(o);
}

void at_origin_prune(struct at_origin *o)
{
    uint64_t end = 0;
    uint32_t epoch = o->first_open;
    bool closed = at_origin_end(o, epoch, &end);
    AT_ASSERT(closed);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < o->closed.vouch_count; i++)
        if (o->closed.vouches[i].position.epoch != epoch)
            o->closed.vouches[kept++] = o->closed.vouches[i];
    o->closed.vouch_count = kept;
    o->first_open++;
    forget_old_ends(o);
    put_end(o, epoch, end);
}

enum at_code at_origin_encode(const struct at_origin *o, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, RECORD_FIELDS));
    AT_TRY(at_pack_u64(out, (uint64_t)o->state));
    AT_TRY(at_pack_bool(out, o->fenced));
    AT_TRY(at_pack_u64(out, o->min_incarnation));
    AT_TRY(at_pack_u64(out, o->first_open));
    AT_TRY(at_pack_array(out, o->closed.end_count * 2));
    for (uint32_t i = 0; i < o->closed.end_count; i++) {
        AT_TRY(at_pack_u64(out, o->closed.ends[i].epoch));
        AT_TRY(at_pack_u64(out, o->closed.ends[i].end));
    }
    AT_TRY(at_pack_array(out, o->closed.vouch_count * 3));
    for (uint32_t i = 0; i < o->closed.vouch_count; i++) {
        AT_TRY(at_pack_u64(out, o->closed.vouches[i].position.epoch));
        AT_TRY(at_pack_u64(out, o->closed.vouches[i].voucher.v));
        AT_TRY(at_pack_u64(out, o->closed.vouches[i].position.seq));
    }
    AT_TRY(encode_position(out, o->registered));
    AT_TRY(encode_position(out, o->last));
    return at_pack_bin(out, at_slice_make(o->info, o->info_len));
}

enum at_code at_origin_decode(struct at_origin *o, struct at_slice value)
{
    struct at_unpack in;
    uint32_t fields = 0;
    uint32_t numbers = 0;
    uint64_t state = 0;

    at_unpack_init(&in, value);
    AT_TRY(at_unpack_array(&in, RECORD_FIELDS, &fields));
    AT_TRY(at_unpack_u64(&in, &state));
    AT_TRY(at_unpack_bool(&in, &o->fenced));
    AT_TRY(at_unpack_u32(&in, &o->min_incarnation));
    AT_TRY(at_unpack_u32(&in, &o->first_open));
    if ((fields != RECORD_FIELDS && fields != RECORD_FIELDS_OLD) || state > AT_ORIGIN_REMOVED ||
        o->first_open == 0)
        return AT_INVALID_ARGUMENT;
    o->state = (enum at_origin_state)state;

    AT_TRY(at_unpack_array(&in, ENDS_MAX * 2, &numbers));
    for (uint32_t i = 0; i + 1 < numbers; i += 2) {
        struct at_epoch_end end = {.origin = o->id};
        AT_TRY(at_unpack_u32(&in, &end.epoch));
        AT_TRY(at_unpack_u64(&in, &end.end));
        at_positions_facts_add_end(&o->closed, end);
    }
    AT_TRY(at_unpack_array(&in, VOUCHES_MAX * 3, &numbers));
    for (uint32_t i = 0; i + 2 < numbers; i += 3) {
        struct at_vouch vouch = {.position.origin = o->id};
        AT_TRY(at_unpack_u32(&in, &vouch.position.epoch));
        AT_TRY(at_unpack_u32(&in, &vouch.voucher.v));
        AT_TRY(at_unpack_u64(&in, &vouch.position.seq));
        at_positions_facts_add_vouch(&o->closed, vouch);
    }
    if (fields == RECORD_FIELDS)
        AT_TRY(decode_membership(o, &in));
    return at_unpack_done(&in) ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code decode_membership(struct at_origin *o, struct at_unpack *in)
{
    struct at_slice info;

    AT_TRY(decode_position(in, &o->registered));
    AT_TRY(decode_position(in, &o->last));
    AT_TRY(at_unpack_bin(in, &info));
    if (info.len > sizeof(o->info))
        return AT_INVALID_ARGUMENT;
    if (info.len > 0)
        memcpy(o->info, info.data, info.len);
    o->info_len = (uint32_t)info.len;
    return AT_OK;
}

static enum at_code decode_position(struct at_unpack *in, struct at_position *ret_position)
{
    uint32_t numbers = 0;

    AT_TRY(at_unpack_array(in, 3, &numbers));
    if (numbers != 3)
        return AT_INVALID_ARGUMENT;
    AT_TRY(at_unpack_u32(in, &ret_position->origin.v));
    AT_TRY(at_unpack_u32(in, &ret_position->epoch));
    return at_unpack_u64(in, &ret_position->seq);
}

static enum at_code encode_position(struct at_buf *out, struct at_position p)
{
    AT_TRY(at_pack_array(out, 3));
    AT_TRY(at_pack_u64(out, p.origin.v));
    AT_TRY(at_pack_u64(out, p.epoch));
    return at_pack_u64(out, p.seq);
}

static bool in_vectors(const struct at_origin *o, struct at_member_id origin, uint32_t epoch)
{
    return at_member_eq(origin, o->id) && epoch >= o->first_open &&
           epoch - o->first_open < AT_OPEN_EPOCHS_MAX;
}

static void put_end(struct at_origin *o, uint32_t epoch, uint64_t end)
{
    o->dirty = true;
    for (uint32_t i = 0; i < o->closed.end_count; i++)
        if (o->closed.ends[i].epoch == epoch)
            return;
    at_positions_facts_add_end(&o->closed, (struct at_epoch_end){o->id, epoch, end});
}

static void forget_old_ends(struct at_origin *o)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < o->closed.end_count; i++)
        if (o->closed.ends[i].epoch + ENDS_KEPT_MAX > o->first_open)
            o->closed.ends[kept++] = o->closed.ends[i];
    o->closed.end_count = kept;
}
