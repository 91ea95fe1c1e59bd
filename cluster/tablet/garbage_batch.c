#include "cluster/tablet/garbage_batch.h"

#include "base/assert.h"

#define LIST_BYTES (AT_KEY_LIST_BYTES_MAX + AT_KEY_BYTES_MAX)
#define BATCH_BYTES                                                         \
    (AT_GARBAGE_BYTES_MAX + 2 * AT_KEY_BYTES_MAX + AT_HLL_STATE_BYTES_MAX + \
     AT_KEY_LISTS_AT_ONCE * LIST_BYTES)

static struct at_slice keep(struct at_buf *bytes, struct at_slice data);

void at_key_list_init(struct at_key_list *l)
{
    at_buf_init(&l->bytes, LIST_BYTES);
    l->count = 0;
}

void at_key_list_deinit(struct at_key_list *l)
{
    at_buf_deinit(&l->bytes);
}

void at_key_list_clear(struct at_key_list *l)
{
    at_buf_clear(&l->bytes);
    l->count = 0;
}

bool at_key_list_add(struct at_key_list *l, struct at_slice key)
{
    AT_ASSERT(key.len <= AT_KEY_BYTES_MAX);
    if (l->count == AT_KEY_LIST_MAX || l->bytes.len >= AT_KEY_LIST_BYTES_MAX)
        return false;
    (void)keep(&l->bytes, key);
    l->ends[l->count++] = (uint32_t)l->bytes.len;
    return true;
}

struct at_slice at_key_list_at(const struct at_key_list *l, uint32_t index)
{
    AT_ASSERT(index < l->count);
    uint32_t start = index > 0 ? l->ends[index - 1] : 0;

    return at_slice_make(l->bytes.data + start, l->ends[index] - start);
}

void at_garbage_batch_init(struct at_garbage_batch *b)
{
    at_buf_init(&b->bytes, BATCH_BYTES);
    enum at_code code = at_buf_reserve(&b->bytes, BATCH_BYTES);
    AT_ASSERT(code == AT_OK);
    at_garbage_batch_clear(b);
}

void at_garbage_batch_deinit(struct at_garbage_batch *b)
{
    at_buf_deinit(&b->bytes);
}

void at_garbage_batch_clear(struct at_garbage_batch *b)
{
    at_buf_clear(&b->bytes);
    b->count = b->fold_count = b->forgotten = 0;
    b->schema_version = UINT64_MAX;
}

bool at_garbage_batch_full(const struct at_garbage_batch *b)
{
    return b->count >= AT_GARBAGE_KEYS_MAX || b->fold_count >= AT_GARBAGE_FOLDS_MAX ||
           b->bytes.len >= AT_GARBAGE_BYTES_MAX;
}

void at_garbage_batch_add(struct at_garbage_batch *b, struct at_slice key, uint64_t schema_version)
{
    AT_ASSERT(b->count < sizeof(b->keys) / sizeof(b->keys[0]));
    b->keys[b->count++] = keep(&b->bytes, key);
    if (schema_version < b->schema_version)
        b->schema_version = schema_version;
}

void at_garbage_batch_forget(struct at_garbage_batch *b,
                             struct at_slice key,
                             uint64_t schema_version)
{
    at_garbage_batch_add(b, key, schema_version);
    b->forgotten++;
}

void at_garbage_batch_fold(struct at_garbage_batch *b,
                           struct at_slice key,
                           struct at_slice value,
                           uint64_t schema_version)
{
    AT_ASSERT(b->fold_count <= AT_GARBAGE_FOLDS_MAX && value.len <= AT_HLL_STATE_BYTES_MAX);
    b->folds[b->fold_count++] =
        (struct at_write_fold){.key = keep(&b->bytes, key), .value = keep(&b->bytes, value)};
    if (schema_version < b->schema_version)
        b->schema_version = schema_version;
}

static struct at_slice keep(struct at_buf *bytes, struct at_slice data)
{
    size_t at = bytes->len;

    enum at_code code = at_buf_append(bytes, data);
    AT_ASSERT(code == AT_OK); /* there is room, see the header */
    return at_slice_make(bytes->data + at, data.len);
}
