/* garbage_text.h: what a garbage batch names, as text: "row@ts.hlc" for versions, "row!hlc" for
 * column markers, "row!!hlc" for family markers, "row!!!hlc" for row markers, "row@ts.hlc=n" for a
 * fold of integers. */
#ifndef ATOLL_TESTS_SUPPORT_GARBAGE_TEXT_H
#define ATOLL_TESTS_SUPPORT_GARBAGE_TEXT_H

#include <inttypes.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/tablet/garbage_batch.h"

static void garbage_key_text(struct at_slice stored, struct at_buf *out)
{
    static const char *const marks[] = {
        [AT_KEY_ROW_MARKER] = "!!!", [AT_KEY_FAMILY_MARKER] = "!!", [AT_KEY_COLUMN_MARKER] = "!"};
    struct at_buf scratch;
    struct at_key key;

    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    AT_ASSERT(at_key_decode(stored, &scratch, &key) == AT_OK);
    enum at_code code = key.kind == AT_KEY_CELL || key.kind == AT_KEY_PARTIAL
                            ? at_buf_printf(out, "%.*s@%" PRId64 ".%" PRIu64, AT_SLICE_ARG(key.row),
                                            key.timestamp_micros, key.stamp.hlc)
                            : at_buf_printf(out, "%.*s%s%" PRIu64, AT_SLICE_ARG(key.row),
                                            marks[key.kind], key.stamp.hlc);
    AT_ASSERT(code == AT_OK);
    at_buf_deinit(&scratch);
}

static inline void garbage_text(const struct at_garbage_batch *b, struct at_buf *out)
{
    for (uint32_t i = 0; i < b->count; i++) {
        garbage_key_text(b->keys[i], out);
        AT_ASSERT(at_buf_printf(out, " ") == AT_OK);
    }
    for (uint32_t i = 0; i < b->fold_count; i++) {
        garbage_key_text(b->folds[i].key, out);
        AT_ASSERT(at_buf_printf(out, "=%" PRId64 " ",
                                (int64_t)at_get_be64(b->folds[i].value.data)) == AT_OK);
    }
}

/* Does to a fake store what the writer would do. */
#define garbage_remove(store, b)                                             \
    do {                                                                     \
        for (uint32_t i_ = 0; i_ < (b)->count; i_++)                         \
            at_batch_delete((store)->batch, AT_SPACE_CELLS, (b)->keys[i_]);  \
        for (uint32_t i_ = 0; i_ < (b)->fold_count; i_++)                    \
            at_batch_put((store)->batch, AT_SPACE_CELLS, (b)->folds[i_].key, \
                         (b)->folds[i_].value);                              \
        fake_commit(store);                                                  \
    } while (0)

#endif
