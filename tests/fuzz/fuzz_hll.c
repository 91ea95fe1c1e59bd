/* fuzz_hll: any bytes as the state of a unique count: refused, or the same again after a merge into
 * nothing and into itself; merging into another sketch is no less than either. */
#include "base/assert.h"
#include "cluster/model/hll.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(const struct at_hll *hll, struct at_slice state)
{
    static uint8_t bytes[AT_HLL_STATE_BYTES_MAX];
    size_t len = at_hll_encode(hll, bytes);

    AT_ASSERT(at_slice_eq(at_slice_make(bytes, len), state));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_slice state = at_slice_make(data, size);
    struct at_hll hll = {0};
    struct at_hll other = {0};

    at_hll_add(&other, at_slice_make(data, size / 2));
    enum at_code checked = at_hll_check(state);
    enum at_code merged = at_hll_merge(&hll, state);
    AT_ASSERT(merged == checked);
    merged = at_hll_merge(&other, state);
    AT_ASSERT(merged == checked);
    if (checked == AT_OK) {
        check_same(&hll, state);
        merged = at_hll_merge(&hll, state);
        AT_ASSERT(merged == AT_OK);
        check_same(&hll, state);
        AT_ASSERT(other.dense || at_hll_estimate(&other) >= at_hll_estimate(&hll));
    }
    at_hll_deinit(&hll);
    at_hll_deinit(&other);
    return 0;
}
