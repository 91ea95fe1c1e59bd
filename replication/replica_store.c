#include "base/assert.h"
#include "base/bytes.h"
#include "base/mutant.h"
#include "replication/replica_state.h"

/* The records, all numbers big-endian:
 *
 *     r/id                   version u32, instance u64, member u32
 *     r/clock                reserved u64                 [sync, unless in time: hlc.h]
 *     r/epoch                epoch u32, closed_below u32                      [sync]
 *     r/mode                 mode u8, joined u8, mode before a copy u8, caught up u8
 *     r/fork                 instance before u64, after u64, taken u8
 *     r/horizon              F u64
 *     r/released             hlc u64
 *     r/v/<origin><epoch>    last applied seq u64
 *     r/base/<origin><epoch> u64
 *     r/origin/<origin>      msgpack, see origin.h
 *
 * What changes in every round is V: its records are found by comparing the vector with what was
 * last put, pair by pair, so an own append costs one record. F goes along with other records only,
 * unless it is asked for (at_replica_store_horizon): alone it is not worth a commit, and a view
 * never shows an F that is not stored. */

#define VERSION 1
#define KEY_BYTES_MAX 32

struct sink {
    void (*put)(void *ctx, struct at_slice key, struct at_slice value);
    void *ctx;
    uint32_t count;
};

static void put(struct sink *s, struct at_slice key, const void *value, size_t len);
static void put_u64(struct sink *s, struct at_slice key, uint64_t v);
static void flush_own(struct at_replica *r, struct sink *s);
static void flush_vector(struct sink *s,
                         struct at_slice prefix,
                         const struct at_vector *now,
                         struct at_vector *stored);
static void
put_pair(struct sink *s, struct at_slice prefix, const struct at_position *p, bool gone);
static int pair_cmp(const struct at_position *a, const struct at_position *b);
static void flush_origins(struct at_replica *r, struct sink *s);
static enum at_code restore_id(struct at_replica *r, struct at_slice value);
static enum at_code restore_epoch(struct at_replica *r, struct at_slice value);
static enum at_code restore_mode(struct at_replica *r, struct at_slice value);
static enum at_code restore_fork(struct at_replica *r, struct at_slice value);
static enum at_code restore_pair(struct at_vector *v,
                                 struct at_vector *stored,
                                 struct at_slice id,
                                 struct at_slice seq);
static enum at_code restore_origin(struct at_replica *r, struct at_slice id, struct at_slice value);
static enum at_code get_u64(struct at_slice value, uint64_t *ret_v);
static enum at_code restore_one(struct at_replica *r, struct at_slice key, struct at_slice value);

bool at_replica_flush(struct at_replica *r,
                      void (*put_record)(void *ctx, struct at_slice key, struct at_slice value),
                      void *ctx)
{
    struct sink s = {.put = put_record, .ctx = ctx};
    bool sync = r->need_sync || (r->hlc.moved && !AT_MUTANT(clock_unsynced));

    flush_own(r, &s);
    flush_vector(&s, AT_LIT("r/v/"), &r->applied, &r->stored_applied);
    flush_vector(&s, AT_LIT("r/base/"), &r->base, &r->stored_base);
    flush_origins(r, &s);
    if ((s.count > 0 || r->store_horizon) && r->horizon > r->stored_horizon) {
        put_u64(&s, AT_LIT("r/horizon"), r->horizon);
        r->stored_horizon = r->horizon;
    }
    r->store_horizon = false;
    r->need_sync = false;
    r->flushed_sync = r->flushed_sync || sync;
    return sync;
}

enum at_code at_replica_restore(struct at_replica *r,
                                struct at_slice key,
                                struct at_slice value,
                                struct at_error *reterr)
{
    if (!r->restored) {
        /* From here on the store alone says who the members are. */
        at_replica_forget_origins(r);
        r->restored = true;
        r->dirty = 0;
        r->need_sync = false;
    }
    if (value.len == 0)
        return AT_OK; /* deleted */
    enum at_code rc = restore_one(r, key, value);
    if (rc != AT_OK)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "replication record of %zu bytes under a key of %zu is damaged, or of a "
                       "later version",
                       value.len, key.len);
    return AT_OK;
}

static void flush_own(struct at_replica *r, struct sink *s)
{
    uint8_t v[17];

    if ((r->hlc.moved || r->hlc.ahead_moved) && !AT_MUTANT(clock_unsynced)) {
        put_u64(s, AT_LIT("r/clock"), r->hlc.ahead);
        at_hlc_stored(&r->hlc);
    }
    if (r->dirty & AT_DIRTY_ID) {
        at_put_be32(v, VERSION);
        at_put_be64(v + 4, r->born_id);
        at_put_be32(v + 12, r->self.v);
        put(s, AT_LIT("r/id"), v, 16);
    }
    if (r->dirty & AT_DIRTY_EPOCH) {
        at_put_be32(v, r->epoch);
        at_put_be32(v + 4, r->closed_below);
        put(s, AT_LIT("r/epoch"), v, 8);
    }
    if (r->dirty & AT_DIRTY_MODE) {
        v[0] = (uint8_t)r->mode;
        v[1] = r->joined;
        v[2] = (uint8_t)r->mode_before;
        v[3] = r->caught_up;
        put(s, AT_LIT("r/mode"), v, 4);
    }
    if (r->dirty & AT_DIRTY_FORK) {
        at_put_be64(v, r->fork_from);
        at_put_be64(v + 8, r->fork_id);
        v[16] = r->forked;
        put(s, AT_LIT("r/fork"), v, 17);
    }
    if (r->dirty & AT_DIRTY_RELEASED)
        put_u64(s, AT_LIT("r/released"), r->released);
    r->dirty = 0;
}

static void flush_vector(struct sink *s,
                         struct at_slice prefix,
                         const struct at_vector *now,
                         struct at_vector *stored)
{
    uint32_t i = 0;
    uint32_t j = 0;
    bool changed = false;

    while (i < now->count || j < stored->count) {
        int c = i == now->count      ? 1
                : j == stored->count ? -1
                                     : pair_cmp(&now->items[i], &stored->items[j]);
        if (c > 0) {
            put_pair(s, prefix, &stored->items[j++], true);
            changed = true;
            continue;
        }
        if (c < 0 || now->items[i].seq != stored->items[j].seq) {
            put_pair(s, prefix, &now->items[i], false);
            changed = true;
        }
        i++;
        j += c == 0;
    }
    if (changed)
        at_vector_copy(stored, now);
}

static void put_pair(struct sink *s, struct at_slice prefix, const struct at_position *p, bool gone)
{
    uint8_t key[KEY_BYTES_MAX];
    uint8_t value[8];

    AT_ASSERT(prefix.len + 8 <= sizeof(key));
    memcpy(key, prefix.data, prefix.len);
    at_put_be32(key + prefix.len, p->origin.v);
    at_put_be32(key + prefix.len + 4, p->epoch);
    at_put_be64(value, p->seq);
    put(s, at_slice_make(key, prefix.len + 8), value, gone ? 0 : sizeof(value));
}

static int pair_cmp(const struct at_position *a, const struct at_position *b)
{
    if (a->origin.v != b->origin.v)
        return a->origin.v < b->origin.v ? -1 : 1;
    if (a->epoch != b->epoch)
        return a->epoch < b->epoch ? -1 : 1;
    return 0;
}

static void flush_origins(struct at_replica *r, struct sink *s)
{
    for (uint32_t i = 0; i < r->origin_count; i++) {
        struct at_origin *o = &r->origins[i];
        uint8_t key[KEY_BYTES_MAX] = "r/origin/";
        if (!o->dirty)
            continue;
        at_put_be32(key + 9, o->id.v);
        at_buf_clear(&r->scratch);
        enum at_code rc = at_origin_encode(o, &r->scratch);
        AT_ASSERT(rc == AT_OK); /* its lists are bounded */
        put(s, at_slice_make(key, 13), r->scratch.data, r->scratch.len);
        o->dirty = false;
    }
}

static void put(struct sink *s, struct at_slice key, const void *value, size_t len)
{
    s->put(s->ctx, key, at_slice_make(value, len));
    s->count++;
}

static void put_u64(struct sink *s, struct at_slice key, uint64_t v)
{
    uint8_t value[8];

    at_put_be64(value, v);
    put(s, key, value, sizeof(value));
}

static enum at_code restore_one(struct at_replica *r, struct at_slice key, struct at_slice value)
{
    uint64_t number = 0;

    if (at_slice_eq_cstr(key, "r/id"))
        return restore_id(r, value);
    if (at_slice_eq_cstr(key, "r/epoch"))
        return restore_epoch(r, value);
    if (at_slice_eq_cstr(key, "r/mode"))
        return restore_mode(r, value);
    if (at_slice_eq_cstr(key, "r/fork"))
        return restore_fork(r, value);
    if (at_slice_eq_cstr(key, "r/released"))
        return get_u64(value, &r->released);
    if (at_slice_eq_cstr(key, "r/clock")) {
        AT_TRY(get_u64(value, &number));
        if (number > AT_HLC_MAX)
            return AT_INVALID_ARGUMENT;
        at_hlc_restore(&r->hlc, number);
        return AT_OK;
    }
    if (at_slice_eq_cstr(key, "r/horizon")) {
        AT_TRY(get_u64(value, &r->horizon));
        r->stored_horizon = r->horizon;
        return AT_OK;
    }
    if (at_slice_has_prefix(key, AT_LIT("r/v/")))
        return restore_pair(&r->applied, &r->stored_applied, at_slice_from(key, 4), value);
    if (at_slice_has_prefix(key, AT_LIT("r/base/")))
        return restore_pair(&r->base, &r->stored_base, at_slice_from(key, 7), value);
    if (at_slice_has_prefix(key, AT_LIT("r/origin/")))
        return restore_origin(r, at_slice_from(key, 9), value);
    return AT_INVALID_ARGUMENT;
}

static enum at_code restore_id(struct at_replica *r, struct at_slice value)
{
    if (value.len != 16 || at_get_be32(value.data) != VERSION)
        return AT_INVALID_ARGUMENT;
    r->restored_instance_id = at_get_be64(value.data + 4);
    r->restored_self.v = at_get_be32(value.data + 12);
    return AT_OK;
}

static enum at_code restore_epoch(struct at_replica *r, struct at_slice value)
{
    if (value.len != 8)
        return AT_INVALID_ARGUMENT;
    r->epoch = at_get_be32(value.data);
    r->closed_below = at_get_be32(value.data + 4);
    if (r->epoch == 0 || r->epoch == UINT32_MAX || r->closed_below == 0 ||
        r->closed_below > r->epoch)
        return AT_INVALID_ARGUMENT;
    return AT_OK;
}

static enum at_code restore_mode(struct at_replica *r, struct at_slice value)
{
    if ((value.len != 2 && value.len != 4) || value.data[0] > AT_MODE_REMOVED || value.data[1] > 1)
        return AT_INVALID_ARGUMENT;
    r->mode = (enum at_replica_mode)value.data[0];
    r->joined = value.data[1] == 1;
    r->mode_before = r->mode;
    r->caught_up = true;
    if (value.len == 2)
        return AT_OK;
    if (value.data[2] > AT_MODE_REMOVED || value.data[3] > 1)
        return AT_INVALID_ARGUMENT;
    r->mode_before = (enum at_replica_mode)value.data[2];
    r->caught_up = value.data[3] == 1;
    if (r->mode == AT_MODE_COPYING) {
        /* The copy is gone with its process, and nothing was changed. */
        if (r->mode_before == AT_MODE_COPYING)
            return AT_INVALID_ARGUMENT;
        r->mode = r->mode_before;
        r->dirty |= AT_DIRTY_MODE;
    }
    return AT_OK;
}

static enum at_code restore_fork(struct at_replica *r, struct at_slice value)
{
    if (value.len != 17 || value.data[16] > 1)
        return AT_INVALID_ARGUMENT;
    r->fork_from = at_get_be64(value.data);
    r->fork_id = at_get_be64(value.data + 8);
    r->forked = value.data[16] == 1;
    return r->fork_id == 0 ? AT_INVALID_ARGUMENT : AT_OK;
}

static enum at_code
restore_pair(struct at_vector *v, struct at_vector *stored, struct at_slice id, struct at_slice seq)
{
    struct at_position p = {.epoch = 0};

    if (id.len != 8)
        return AT_INVALID_ARGUMENT;
    p.origin.v = at_get_be32(id.data);
    p.epoch = at_get_be32(id.data + 4);
    AT_TRY(get_u64(seq, &p.seq));
    if (p.origin.v == 0 || p.epoch == 0 || p.seq == 0)
        return AT_INVALID_ARGUMENT;
    AT_TRY(at_vector_set(v, p));
    return at_vector_set(stored, p);
}

static enum at_code restore_origin(struct at_replica *r, struct at_slice id, struct at_slice value)
{
    struct at_member_id member = {0};

    if (id.len != 4)
        return AT_INVALID_ARGUMENT;
    member.v = at_get_be32(id.data);
    if (member.v == 0 || at_replica_find_origin(r, member) != AT_NO_ORIGIN)
        return AT_INVALID_ARGUMENT;
    uint32_t at = at_replica_add_origin(r, member);
    if (at == AT_NO_ORIGIN)
        return AT_INVALID_ARGUMENT;
    return at_origin_decode(&r->origins[at], value);
}

static enum at_code get_u64(struct at_slice value, uint64_t *ret_v)
{
    if (value.len != 8)
        return AT_INVALID_ARGUMENT;
    *ret_v = at_get_be64(value.data);
    return AT_OK;
}
