#include "cluster/tablet/copy_merge.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/model/copy_item.h"

struct merge {
    const struct at_copy_rule *rule;
    const struct at_copy_stretch *stretch;
    at_copy_emit emit;
    void *ctx;
    struct at_iter *own;
    struct at_buf key; /* of the donor's item at hand: prefix and rest */
    struct at_buf last;
    struct at_buf scratch;
};

static enum at_code merge_all(struct merge *m, struct at_error *reterr);
static enum at_code next_item(struct merge *m,
                              struct at_unpack *in,
                              struct at_copy_cell *cell,
                              struct at_error *reterr);
static enum at_code take_item(struct merge *m, struct at_slice value, struct at_error *reterr);
static enum at_code take_own(struct merge *m, struct at_error *reterr);
static enum at_code malformed(const char *what, struct at_error *reterr);

uint64_t at_copy_key_hlc(struct at_slice key)
{
    AT_ASSERT(key.len > AT_KEY_PREFIX_BYTES + AT_KEY_STAMP_BYTES);
    return ~at_get_be64(key.data + key.len - AT_KEY_STAMP_BYTES);
}

enum at_code at_copy_merge(const struct at_copy_own *own,
                           const struct at_copy_rule *rule,
                           const struct at_copy_stretch *stretch,
                           at_copy_emit emit,
                           void *ctx,
                           struct at_error *reterr)
{
    struct at_iter_options options = {
        .snapshot = own->snapshot, .lower = stretch->start, .upper = stretch->end, .scan = true};
    struct merge m = {.rule = rule, .stretch = stretch, .emit = emit, .ctx = ctx};

    AT_ASSERT(stretch->start.len >= AT_KEY_PREFIX_BYTES);
    at_buf_init(&m.key, AT_KEY_BYTES_MAX);
    at_buf_init(&m.last, AT_KEY_BYTES_MAX);
    at_buf_init(&m.scratch, AT_KEY_BYTES_MAX);
    m.own = at_iter_open(own->engine, AT_SPACE_CELLS, &options);
    at_iter_seek(m.own, stretch->start);
    enum at_code code = merge_all(&m, reterr);
    at_iter_close(&m.own);
    at_buf_deinit(&m.scratch);
    at_buf_deinit(&m.last);
    at_buf_deinit(&m.key);
    return code;
}

static enum at_code merge_all(struct merge *m, struct at_error *reterr)
{
    struct at_copy_cell cell;
    struct at_unpack in;

    at_unpack_init(&in, m->stretch->items);
    while (!at_unpack_done(&in)) {
        AT_TRY(next_item(m, &in, &cell, reterr));
        while (at_iter_valid(m->own) &&
               at_slice_cmp(at_iter_key(m->own), at_buf_slice(&m->key)) < 0)
            AT_TRY(take_own(m, reterr));
        AT_TRY(take_item(m, cell.value, reterr));
    }
    while (at_iter_valid(m->own))
        AT_TRY(take_own(m, reterr));
    return at_iter_status(m->own, reterr);
}

/* Its whole key goes to m->key. */
static enum at_code
next_item(struct merge *m, struct at_unpack *in, struct at_copy_cell *cell, struct at_error *reterr)
{
    const struct at_copy_stretch *s = m->stretch;
    struct at_slice prefix = at_slice_make(s->start.data, AT_KEY_PREFIX_BYTES);
    struct at_key key;

    if (at_copy_cell_decode(in, cell) != AT_OK)
        return malformed("is cut off or too long", reterr);
    struct at_buf last = m->last;
    m->last = m->key;
    m->key = last;
    at_buf_clear(&m->key);
    AT_TRY(at_buf_append(&m->key, prefix));
    AT_TRY(at_buf_append(&m->key, cell->key));
    struct at_slice whole = at_buf_slice(&m->key);
    if (at_copy_cell_check(whole, cell->value, &m->scratch, &key) != AT_OK)
        return malformed("is no key", reterr);
    if (at_slice_cmp(whole, s->start) < 0 || at_slice_cmp(whole, s->end) >= 0)
        return malformed("is not of its stretch", reterr);
    if (at_slice_cmp(whole, at_buf_slice(&m->last)) <= 0)
        return malformed("is out of order", reterr);
    return AT_OK;
}

static enum at_code take_item(struct merge *m, struct at_slice value, struct at_error *reterr)
{
    struct at_slice key = at_buf_slice(&m->key);
    uint64_t hlc = at_copy_key_hlc(key);
    bool both = at_iter_valid(m->own) && at_slice_eq(at_iter_key(m->own), key);

    if (both && hlc <= m->rule->t && !m->rule->donor_side)
        value = at_iter_value(m->own);
    if (at_copy_keeps(m->rule, hlc, true, both))
        AT_TRY(m->emit(m->ctx, key, value, reterr));
    if (both)
        at_iter_next(m->own);
    return AT_OK;
}

static enum at_code take_own(struct merge *m, struct at_error *reterr)
{
    struct at_slice key = at_iter_key(m->own);
    struct at_key decoded;

    if (at_key_decode(key, &m->scratch, &decoded) != AT_OK)
        return at_fail(reterr, AT_DATA_LOSS, "a stored key is damaged");
    if (at_copy_keeps(m->rule, decoded.stamp.hlc, false, true))
        AT_TRY(m->emit(m->ctx, key, at_iter_value(m->own), reterr));
    at_iter_next(m->own);
    return AT_OK;
}

static enum at_code malformed(const char *what, struct at_error *reterr)
{
    return at_fail(reterr, AT_INVALID_ARGUMENT, "an item of the copy %s", what);
}
