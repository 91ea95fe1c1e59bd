/* request.c: body, path and query become one JSON value, which is then read by the descriptor: the
 * rules of types are in one place. */
#include "routing/rest/request.h"

#include <jansson.h>

#include "base/alloc.h"
#include "routing/rest/pool.h"
#include "wire/json/decode.h"

/* Parameters of every Google API, which have to do with the answer's form or with access. */
static const char *const SYSTEM_PARAMS[] = {
    "alt",         "prettyPrint", "key",      "fields",     "access_token",
    "oauth_token", "quotaUser",   "callback", "uploadType", "upload_protocol",
};

static enum at_code build_value(const struct at_rest_match *match,
                                const struct at_rest_input *input,
                                json_t *root,
                                struct at_error *reterr);
static enum at_code take_body(const struct at_rest_match *match,
                              struct at_slice body,
                              json_t *root,
                              struct at_error *reterr);
static bool put_at(json_t *root,
                   const ProtobufCMessageDescriptor *d,
                   struct at_slice path,
                   struct at_slice value);

static void json_free(json_t **value)
{
    json_decref(*value);
}

enum at_code at_rest_request_build(const struct at_rest_match *match,
                                   const struct at_rest_input *input,
                                   struct at_arena *arena,
                                   struct at_slice *ret_message,
                                   struct at_error *reterr)
{
    AT_CLEANUP(json_free) json_t *root = json_object();
    ProtobufCMessage *message;
    AT_TRY(build_value(match, input, root, reterr));
    AT_TRY(at_json_decode(at_rest_pool(), match->route->request, root, arena, &message, reterr));
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = at_arena_alloc_raw(arena, size);
    *ret_message = at_slice_make(bytes, protobuf_c_message_pack(message, bytes));
    return AT_OK;
}

static bool is_system(struct at_slice name)
{
    if (name.len > 0 && name.data[0] == '$')
        return true;
    for (size_t i = 0; i < sizeof(SYSTEM_PARAMS) / sizeof(SYSTEM_PARAMS[0]); i++)
        if (at_slice_eq_cstr(name, SYSTEM_PARAMS[i]))
            return true;
    return false;
}

/* Splits "a.b" at its first dot. */
static struct at_slice head_of(struct at_slice path, struct at_slice *ret_rest)
{
    const uint8_t *dot = path.len ? memchr(path.data, '.', path.len) : NULL;
    struct at_slice head = at_slice_make(path.data, dot ? (size_t)(dot - path.data) : path.len);
    *ret_rest = at_slice_from(path, head.len + (dot != NULL));
    return head;
}

/* Whether the body has said this already. */
static bool is_of_body(const struct at_rest_route *route, struct at_slice name)
{
    if (!route->body)
        return false;
    struct at_slice rest;
    const ProtobufCFieldDescriptor *field = at_json_field(route->request, head_of(name, &rest));
    return strcmp(route->body, "*") == 0 || (field && strcmp(field->name, route->body) == 0);
}

static enum at_code build_value(const struct at_rest_match *match,
                                const struct at_rest_input *input,
                                json_t *root,
                                struct at_error *reterr)
{
    const struct at_rest_route *route = match->route;
    AT_TRY(take_body(match, input->body, root, reterr));
    for (size_t i = 0; i < input->param_count; i++) {
        const struct at_rest_param *p = &input->params[i];
        if (is_system(p->name))
            continue;
        if (is_of_body(route, p->name) || !put_at(root, route->request, p->name, p->value))
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Invalid JSON payload received. Unknown name \"%.*s\": Cannot bind "
                           "query parameter",
                           AT_SLICE_ARG(p->name));
    }
    if (!put_at(root, route->request, match->variable, match->value))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Invalid path");
    return AT_OK;
}

static enum at_code take_body(const struct at_rest_match *match,
                              struct at_slice body,
                              json_t *root,
                              struct at_error *reterr)
{
    const char *field = match->route->body;
    AT_CLEANUP(json_free) json_t *value = NULL;
    if (body.len == 0)
        return AT_OK;
    AT_TRY(at_json_parse(body, &value, reterr));
    if (!json_is_object(value))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid JSON payload received. The body must be an object");
    if (!field && json_object_size(value) > 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid JSON payload received. This request has no body");
    if (field && strcmp(field, "*") == 0)
        (void)json_object_update(root, value);
    else if (field)
        (void)json_object_set(root, field, value);
    return AT_OK;
}

/* The value of `field` in `object`, by either spelling. */
static json_t *member(json_t *object, const ProtobufCFieldDescriptor *field)
{
    char camel[AT_JSON_NAME_BYTES];
    (void)at_json_name(field->name, camel, sizeof(camel));
    json_t *value = json_object_get(object, field->name);
    return value ? value : json_object_get(object, camel);
}

static void set_member(json_t *object, const ProtobufCFieldDescriptor *field, json_t *value)
{
    char camel[AT_JSON_NAME_BYTES];
    (void)at_json_name(field->name, camel, sizeof(camel));
    (void)json_object_del(object, camel);
    (void)json_object_set_new(object, field->name, value);
}

/* False when the message has no such field or the text is not UTF-8. */
static bool put_at(json_t *root,
                   const ProtobufCMessageDescriptor *d,
                   struct at_slice path,
                   struct at_slice value)
{
    json_t *object = root;
    while (true) {
        struct at_slice rest;
        const ProtobufCFieldDescriptor *field = at_json_field(d, head_of(path, &rest));
        if (!field)
            return false;
        if (rest.len == 0) {
            json_t *text = json_stringn((const char *)value.data, value.len);
            if (!text)
                return false;
            json_t *list = member(object, field);
            if (field->label != PROTOBUF_C_LABEL_REPEATED)
                set_member(object, field, text);
            else if (json_is_array(list))
                (void)json_array_append_new(list, text);
            else
                set_member(object, field, json_pack("[o]", text));
            return true;
        }
        if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label == PROTOBUF_C_LABEL_REPEATED)
            return false;
        json_t *inner = member(object, field);
        if (!json_is_object(inner)) {
            inner = json_object();
            set_member(object, field, inner);
        }
        d = field->descriptor;
        object = inner;
        path = rest;
    }
}
