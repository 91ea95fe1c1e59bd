/* member_info.h: where a member is and what it is called: travels with its registration. PURE. */
#ifndef ATOLL_REPLICATION_MEMBER_INFO_H
#define ATOLL_REPLICATION_MEMBER_INFO_H

#include "base/arena.h"
#include "base/pack.h"
#include "base/stamp.h"

#define AT_MEMBER_INFO_BYTES_MAX 512

/* Texts are NUL-free; the encoded form is opaque to everything but this file. */
struct at_member_info {
    struct at_slice cluster_id;
    struct at_slice zone;
    struct at_slice host;
    uint16_t grpc_port;
    uint16_t peer_port;
};

/* A member and its encoded info. */
struct at_member_seed {
    struct at_member_id id;
    struct at_slice info; /* encoded; empty: not known */
};

/* Msgpack array of five. Encode: RESOURCE_EXHAUSTED from the buffer. Decode borrows;
 * INVALID_ARGUMENT when malformed, longer than AT_MEMBER_INFO_BYTES_MAX, or a text holds a NUL. */
AT_MUST_USE enum at_code at_member_info_encode(const struct at_member_info *info,
                                               struct at_buf *out);
AT_MUST_USE enum at_code at_member_info_decode(struct at_slice bytes,
                                               struct at_member_info *ret_info);

#endif
