/* fuzz_copy_item: any bytes as items of part 0, and as stored keys; what decodes must survive a
 * second round. */
#include "base/assert.h"
#include "cluster/model/copy_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_items(struct at_slice bytes, struct at_buf *b)
{
    struct at_unpack in;
    struct at_copy_item item;

    at_unpack_init(&in, bytes);
    while (!at_unpack_done(&in) && at_copy_item_decode(&in, &item) == AT_OK) {
        struct at_copy_item again;
        struct at_unpack one;
        at_buf_clear(b);
        enum at_code code = at_copy_item_encode(&item, b);
        AT_ASSERT(code == AT_OK);
        at_unpack_init(&one, at_buf_slice(b));
        code = at_copy_item_decode(&one, &again);
        AT_ASSERT(code == AT_OK && at_unpack_done(&one) && again.kind == item.kind);
    }
}

static void check_cells(struct at_slice bytes, struct at_buf *b, struct at_buf *scratch)
{
    struct at_unpack in;
    struct at_copy_cell cell;
    struct at_key key;

    at_unpack_init(&in, bytes);
    while (!at_unpack_done(&in) && at_copy_cell_decode(&in, &cell) == AT_OK) {
        static const uint8_t prefix[AT_KEY_PREFIX_BYTES] = {0, 0, 0, 1, 0, 0, 0, 2};
        at_buf_clear(b);
        enum at_code code = at_buf_append(b, at_slice_make(prefix, sizeof(prefix)));
        AT_ASSERT(code == AT_OK);
        code = at_buf_append(b, cell.key);
        AT_ASSERT(code == AT_OK);
        if (at_copy_cell_check(at_buf_slice(b), cell.value, scratch, &key) == AT_OK)
            AT_ASSERT(key.stamp.hlc > 0 && key.row.len > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_buf b;
    struct at_buf scratch;

    at_buf_init(&b, 16 * AT_MIB);
    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    check_items(at_slice_make(data, size), &b);
    check_cells(at_slice_make(data, size), &b, &scratch);
    at_buf_deinit(&b);
    at_buf_deinit(&scratch);
    return 0;
}
