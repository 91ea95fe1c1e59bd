#include "cluster/engine/engine_internal.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

/* RocksDB borrows the bounds for the iterator's life, so an at_iter and its two bounds are one
 * allocation. Whether there is a current key is asked of RocksDB once per move. */

#define SCAN_READAHEAD_BYTES (256 * AT_KIB)

struct at_iter {
    rocksdb_iterator_t *rocks;
    rocksdb_readoptions_t *read;
    struct keyspace *space;
    bool valid;
    uint8_t bounds[]; /* lower, then upper */
};

static const char *copy_bound(uint8_t *to, struct at_slice bound);

struct at_iter *
at_iter_open(struct at_engine *e, enum at_space space, const struct at_iter_options *options)
{
    struct at_iter *i = at_alloc(sizeof(*i) + options->lower.len + options->upper.len);

    i->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_background_purge_on_iterator_cleanup(i->read, 1);
    AT_ASSERT(!options->one_group || (options->lower.len > 0 && options->upper.len > 0));
    rocksdb_readoptions_set_total_order_seek(i->read, !options->one_group);
    if (options->snapshot != NULL)
        rocksdb_readoptions_set_snapshot(i->read, options->snapshot->rocks);
    if (options->lower.len > 0)
        rocksdb_readoptions_set_iterate_lower_bound(i->read, copy_bound(i->bounds, options->lower),
                                                    options->lower.len);
    if (options->upper.len > 0)
        rocksdb_readoptions_set_iterate_upper_bound(
            i->read, copy_bound(i->bounds + options->lower.len, options->upper),
            options->upper.len);
    if (options->scan) {
        rocksdb_readoptions_set_readahead_size(i->read, SCAN_READAHEAD_BYTES);
        rocksdb_readoptions_set_fill_cache(i->read, 0);
    }
    i->space = engine_space_ref(e, space, options->snapshot);
    i->rocks = rocksdb_create_iterator_cf(e->db, i->read, i->space->handle);
    return i;
}

void at_iter_close(struct at_iter **iter)
{
    struct at_iter *i = AT_TAKE(*iter);

    if (i == NULL)
        return;
    rocksdb_iter_destroy(i->rocks);
    rocksdb_readoptions_destroy(i->read);
    engine_space_unref(&i->space);
    at_free(i);
}

void at_iter_seek(struct at_iter *i, struct at_slice key)
{
    rocksdb_iter_seek(i->rocks, (const char *)key.data, key.len);
    i->valid = rocksdb_iter_valid(i->rocks);
}

void at_iter_seek_back(struct at_iter *i, struct at_slice key)
{
    rocksdb_iter_seek_for_prev(i->rocks, (const char *)key.data, key.len);
    i->valid = rocksdb_iter_valid(i->rocks);
}

void at_iter_seek_last(struct at_iter *i)
{
    rocksdb_iter_seek_to_last(i->rocks);
    i->valid = rocksdb_iter_valid(i->rocks);
}

void at_iter_next(struct at_iter *i)
{
    rocksdb_iter_next(i->rocks);
    i->valid = rocksdb_iter_valid(i->rocks);
}

void at_iter_prev(struct at_iter *i)
{
    rocksdb_iter_prev(i->rocks);
    i->valid = rocksdb_iter_valid(i->rocks);
}

bool at_iter_valid(const struct at_iter *i)
{
    return i->valid;
}

struct at_slice at_iter_key(const struct at_iter *i)
{
    size_t len = 0;
    const char *data = rocksdb_iter_key(i->rocks, &len);

    return at_slice_make(data, len);
}

struct at_slice at_iter_value(const struct at_iter *i)
{
    size_t len = 0;
    const char *data = rocksdb_iter_value(i->rocks, &len);

    return at_slice_make(data, len);
}

enum at_code at_iter_status(const struct at_iter *i, struct at_error *reterr)
{
    char *text = NULL;

    if (i->valid)
        return AT_OK;
    rocksdb_iter_get_error(i->rocks, &text);
    return text == NULL ? AT_OK : engine_fail(text, "read", reterr);
}

static const char *copy_bound(uint8_t *to, struct at_slice bound)
{
    memcpy(to, bound.data, bound.len);
    return (const char *)to;
}
