#include "replication/member_info.h"

#define FIELDS 5

static enum at_code text(struct at_unpack *in, struct at_slice *ret_text);
static enum at_code port(struct at_unpack *in, uint16_t *ret_port);

enum at_code at_member_info_encode(const struct at_member_info *info, struct at_buf *out)
{
    AT_TRY(at_pack_array(out, FIELDS));
    AT_TRY(at_pack_str(out, info->cluster_id));
    AT_TRY(at_pack_str(out, info->zone));
    AT_TRY(at_pack_str(out, info->host));
    AT_TRY(at_pack_u64(out, info->grpc_port));
    return at_pack_u64(out, info->peer_port);
}

enum at_code at_member_info_decode(struct at_slice bytes, struct at_member_info *ret_info)
{
    struct at_unpack in;
    uint32_t fields = 0;

    *ret_info = (struct at_member_info){0};
    if (bytes.len > AT_MEMBER_INFO_BYTES_MAX)
        return AT_INVALID_ARGUMENT;
    at_unpack_init(&in, bytes);
    AT_TRY(at_unpack_array(&in, FIELDS, &fields));
    if (fields != FIELDS)
        return AT_INVALID_ARGUMENT;
    AT_TRY(text(&in, &ret_info->cluster_id));
    AT_TRY(text(&in, &ret_info->zone));
    AT_TRY(text(&in, &ret_info->host));
    AT_TRY(port(&in, &ret_info->grpc_port));
    AT_TRY(port(&in, &ret_info->peer_port));
    return at_unpack_done(&in) ? AT_OK : AT_INVALID_ARGUMENT;
}

static enum at_code text(struct at_unpack *in, struct at_slice *ret_text)
{
    AT_TRY(at_unpack_bin(in, ret_text));
    for (size_t i = 0; i < ret_text->len; i++)
        if (ret_text->data[i] == 0)
            return AT_INVALID_ARGUMENT;
    return AT_OK;
}

static enum at_code port(struct at_unpack *in, uint16_t *ret_port)
{
    uint32_t v = 0;

    AT_TRY(at_unpack_u32(in, &v));
    if (v > UINT16_MAX)
        return AT_INVALID_ARGUMENT;
    *ret_port = (uint16_t)v;
    return AT_OK;
}
