#include "base/assert.h"
#include "base/limits.h"
#include "replication/peer/packing.h"

/* Any bytes as a packed record: the first four are the size that its sender claims. What unpacks is
 * packed again and comes back the same. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_buf raw;
    struct at_buf again;
    struct at_buf back;
    uint32_t claimed = 0;

    if (size < sizeof(claimed))
        return 0;
    memcpy(&claimed, data, sizeof(claimed));
    at_buf_init(&raw, AT_MIB);
    at_buf_init(&again, 2 * AT_MIB);
    at_buf_init(&back, AT_MIB);
    struct at_slice body = at_slice_make(data + sizeof(claimed), size - sizeof(claimed));
    if (at_unpack_into(body, claimed, &raw) == AT_OK) {
        AT_ASSERT(raw.len == claimed);
        if (at_pack(at_buf_slice(&raw), &again)) {
            AT_ASSERT(at_unpack_into(at_buf_slice(&again), raw.len, &back) == AT_OK);
            AT_ASSERT(at_slice_eq(at_buf_slice(&raw), at_buf_slice(&back)));
        }
    } else {
        AT_ASSERT(raw.len == 0);
    }
    at_buf_deinit(&raw);
    at_buf_deinit(&again);
    at_buf_deinit(&back);
    return 0;
}
