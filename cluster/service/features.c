#include "cluster/service/features.h"

#include "base/pbwire.h"
#include "wire/grpc_status.h"

#define HEADER_BYTES_MAX 4096
#define FIELD_REVERSE_SCANS 1
#define FIELD_LAST_SCANNED_ROW_RESPONSES 4

struct at_features at_features_decode(struct at_slice header, struct at_arena *arena)
{
    struct at_features features = {0};
    struct at_slice rest;
    struct at_pb_field field;
    bool bad = false;

    if (header.len == 0 || header.len > HEADER_BYTES_MAX)
        return features;
    if (at_grpc_bin_decode(arena, header, &rest) != AT_OK)
        return features;
    while (at_pb_next(&rest, &field, &bad)) {
        if (field.type != AT_PB_VARINT)
            continue;
        if (field.number == FIELD_REVERSE_SCANS)
            features.reverse_scans = field.varint != 0;
        if (field.number == FIELD_LAST_SCANNED_ROW_RESPONSES)
            features.last_scanned_row_responses = field.varint != 0;
    }
    return bad ? (struct at_features){0} : features;
}
