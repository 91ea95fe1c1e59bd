#include "cluster/engine/engine.h"

/* RocksDB estimates sizes, by memtables whose shape is not the same in two runs, and by files that
 * its threads make when they like. What is decided by sizes (the cap of the log, the parts of a
 * copy) must follow from the seed alone: linked in the place of at_engine_range_bytes. */

uint64_t __wrap_at_engine_range_bytes(struct at_engine *e,
                                      enum at_space space,
                                      struct at_slice start,
                                      struct at_slice end);

uint64_t __wrap_at_engine_range_bytes(struct at_engine *e,
                                      enum at_space space,
                                      struct at_slice start,
                                      struct at_slice end)
{
    struct at_iter_options options = {.lower = start, .upper = end};
    struct at_iter *i = at_iter_open(e, space, &options);
    uint64_t bytes = 0;

    for (at_iter_seek(i, start); at_iter_valid(i); at_iter_next(i))
        bytes += at_iter_key(i).len + at_iter_value(i).len;
    at_iter_close(&i);
    return bytes;
}
