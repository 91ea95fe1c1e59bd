/* json_fixture.h: JSON texts to messages and back, with an arena of the test's own. */
#ifndef ATOLL_TESTS_SUPPORT_JSON_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_JSON_FIXTURE_H

#include <jansson.h>

#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/rpc/error_details.pb-c.h"
#include "support/test.h"
#include "wire/json/decode.h"
#include "wire/json/encode.h"

static const ProtobufCMessageDescriptor *const json_messages[] = {
    &google__bigtable__admin__v2__table__descriptor,
    &google__bigtable__admin__v2__app_profile__descriptor,
    &google__bigtable__admin__v2__instance__descriptor,
    &google__bigtable__admin__v2__cluster__descriptor,
    &google__bigtable__admin__v2__create_cluster_metadata__descriptor,
    &google__bigtable__admin__v2__update_table_metadata__descriptor,
    &google__rpc__precondition_failure__descriptor,
    &google__protobuf__duration__descriptor,
};
static const struct at_json_pool json_pool = {json_messages,
                                              sizeof(json_messages) / sizeof(json_messages[0])};

static inline enum at_code json_read(const ProtobufCMessageDescriptor *descriptor,
                                     const char *text,
                                     struct at_arena *arena,
                                     ProtobufCMessage **ret_message,
                                     struct at_error *reterr)
{
    json_t *value = NULL;
    AT_TRY(at_json_parse(at_slice_cstr(text), &value, reterr));
    enum at_code code = at_json_decode(&json_pool, descriptor, value, arena, ret_message, reterr);
    json_decref(value);
    return code;
}

/* json_write returns the text, in the arena. */
static inline const char *json_write(const ProtobufCMessage *message, struct at_arena *arena)
{
    struct at_buf out;
    at_buf_init(&out, 1 << 20);
    assert_int_equal(at_json_encode(&json_pool, message, arena, &out), AT_OK);
    const char *text = (const char *)at_arena_copy(arena, at_buf_slice(&out)).data;
    at_buf_deinit(&out);
    return text;
}

#endif
