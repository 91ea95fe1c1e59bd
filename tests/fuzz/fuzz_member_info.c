#include "base/alloc.h"
#include "base/assert.h"
#include "replication/member_info.h"

/* Any bytes as the info of a member. What decodes is encoded, and that decodes again. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf out;
    struct at_member_info info;
    struct at_member_info again;

    at_buf_init(&out, AT_MEMBER_INFO_BYTES_MAX);
    if (at_member_info_decode(at_slice_make(data, size), &info) == AT_OK) {
        enum at_code rc = at_member_info_encode(&info, &out);
        AT_ASSERT(rc == AT_OK); /* the shortest form */
        rc = at_member_info_decode(at_buf_slice(&out), &again);
        AT_ASSERT(rc == AT_OK);
        AT_ASSERT(at_slice_eq(again.host, info.host));
    }
    return 0;
}
