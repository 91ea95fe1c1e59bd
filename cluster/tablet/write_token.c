#include "cluster/tablet/writer.h"

#include "base/bytes.h"

/* Idempotency tokens. An entry that was asked for under one carries its id, and its id is kept in
 * META with the batch that applies the entry, here and on every cluster that applies it. So a
 * request that is repeated within the time is answered without being applied again, on this cluster
 * after a restart, and on any other that has the entry already.
 *
 * Whether a cluster knows a token decides only about requests. An entry is applied wherever it
 * arrives, whatever is known: else clusters that forgot at different times would differ for ever.
 */

#define KEY_BYTES (1 + 8 + 16)
#define RETRY_MS 1000

static void span_key(uint64_t span, uint8_t *ret_key);

enum at_code token_check(struct writer *w,
                         const struct at_table *table,
                         struct at_row_mutations *row,
                         bool *ret_seen,
                         struct at_error *reterr)
{
    int64_t start = row->token_start_micros;
    int64_t now = (int64_t)(w->round.wall_ns / 1000);

    *ret_seen = false;
    if (start != 0 && now - start > (int64_t)(AT_TOKEN_LIFE_NS / 1000))
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "The idempotency token's start_time is more than 15 minutes ago: whether "
                       "the mutation was applied is not known any more");
    row->token_id = at_token_id(table->name, table->generation, row->row, row->token);
    *ret_seen = at_tokens_has(&w->tokens, row->token_id);
    if (*ret_seen || !at_tokens_full(&w->tokens))
        return AT_OK;
    enum at_code code =
        at_fail(reterr, AT_UNAVAILABLE,
                "more than %u idempotency tokens within 15 minutes; try again", AT_TOKENS_MAX);
    if (reterr != NULL)
        reterr->retry_after_ms = RETRY_MS;
    return code;
}

void token_note(struct writer *w, struct at_hash128 id, uint64_t hlc)
{
    uint64_t span = at_token_span_of(hlc);
    uint64_t now = at_token_span_of(w->round.wall_ns);
    uint8_t key[KEY_BYTES];

    if (hlc + AT_TOKEN_LIFE_NS < w->round.wall_ns)
        return; /* came too late to matter */
    if (span > now + 1)
        span = now + 1; /* of a clock that is ahead */
    if (!at_tokens_add(&w->tokens, id, span))
        return;
    span_key(span, key);
    at_put_be64(key + 9, id.high);
    at_put_be64(key + 17, id.low);
    at_batch_put(w->round.batch, AT_SPACE_META, at_slice_make(key, sizeof(key)),
                 at_slice_make(NULL, 0));
}

enum at_code token_restore(struct writer *w, struct at_slice key)
{
    if (key.len != KEY_BYTES)
        return AT_DATA_LOSS;
    struct at_hash128 id = {.high = at_get_be64(key.data + 9), .low = at_get_be64(key.data + 17)};
    if ((id.high | id.low) == 0)
        return AT_DATA_LOSS;
    (void)at_tokens_add(&w->tokens, id, at_get_be64(key.data + 1));
    return AT_OK;
}

void tokens_expire(struct writer *w)
{
    uint8_t start[9];
    uint8_t end[9];
    uint64_t span = 0;

    while (at_tokens_expire(&w->tokens, w->round.wall_ns, &span)) {
        span_key(0, start); /* with what earlier ones may have left */
        span_key(span + 1, end);
        at_batch_delete_range(w->round.batch, AT_SPACE_META, at_slice_make(start, sizeof(start)),
                              at_slice_make(end, sizeof(end)));
    }
}

static void span_key(uint64_t span, uint8_t *ret_key)
{
    ret_key[0] = META_TOKEN;
    at_put_be64(ret_key + 1, span);
}
