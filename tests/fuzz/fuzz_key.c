/* fuzz_key: any bytes as a stored key; what decodes must encode to the same bytes again. */
#include "base/assert.h"
#include "cluster/model/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_slice stored = at_slice_make(data, size);
    struct at_buf scratch;
    struct at_buf again;
    struct at_key key;

    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    at_buf_init(&again, AT_KEY_BYTES_MAX);
    size_t row_end = at_key_row_end(stored);
    enum at_code code = at_key_decode(stored, &scratch, &key);
    AT_ASSERT(row_end <= size);
    AT_ASSERT(code == AT_OK || code == AT_DATA_LOSS);
    if (code == AT_OK) {
        AT_ASSERT(row_end >= AT_KEY_PREFIX_BYTES + key.row.len);
        code = at_key_encode(&key, &again);
        AT_ASSERT(code == AT_OK);
        AT_ASSERT(at_slice_eq(at_buf_slice(&again), stored));
    }
    at_buf_deinit(&again);
    at_buf_deinit(&scratch);
    return 0;
}
