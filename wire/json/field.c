/* field.c: names and kinds. Messages have few fields: they are searched one by one. */
#include "wire/json/field.h"

#include "base/assert.h"

static const struct {
    const char *name;
    enum at_json_kind kind;
} KINDS[] = {
    {"Timestamp", AT_JSON_TIMESTAMP}, {"Duration", AT_JSON_DURATION},
    {"FieldMask", AT_JSON_MASK},      {"Any", AT_JSON_ANY},
    {"DoubleValue", AT_JSON_WRAPPER}, {"FloatValue", AT_JSON_WRAPPER},
    {"Int64Value", AT_JSON_WRAPPER},  {"UInt64Value", AT_JSON_WRAPPER},
    {"Int32Value", AT_JSON_WRAPPER},  {"UInt32Value", AT_JSON_WRAPPER},
    {"BoolValue", AT_JSON_WRAPPER},   {"StringValue", AT_JSON_WRAPPER},
    {"BytesValue", AT_JSON_WRAPPER},
};

const ProtobufCMessageDescriptor *at_json_pool_find(const struct at_json_pool *pool,
                                                    struct at_slice name)
{
    for (size_t i = 0; i < pool->count; i++)
        if (at_slice_eq_cstr(name, pool->messages[i]->name))
            return pool->messages[i];
    return NULL;
}

enum at_json_kind at_json_kind(const ProtobufCMessageDescriptor *descriptor)
{
    if (strcmp(descriptor->package_name, "google.protobuf") != 0)
        return AT_JSON_PLAIN;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        if (strcmp(descriptor->short_name, KINDS[i].name) == 0)
            return KINDS[i].kind;
    return AT_JSON_PLAIN;
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

size_t at_json_name(const char *snake, char *ret_name, size_t size)
{
    size_t len = 0;
    bool raise = false;
    for (const char *c = snake; *c && len + 1 < size; c++) {
        if (*c != '_')
            ret_name[len++] = raise ? upper(*c) : *c;
        raise = *c == '_';
    }
    ret_name[len] = '\0';
    return len;
}

const ProtobufCFieldDescriptor *at_json_field(const ProtobufCMessageDescriptor *descriptor,
                                              struct at_slice name)
{
    char camel[AT_JSON_NAME_BYTES];
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        (void)at_json_name(field->name, camel, sizeof(camel));
        if (at_slice_eq_cstr(name, camel) || at_slice_eq_cstr(name, field->name))
            return field;
    }
    return NULL;
}

bool at_json_is_map(const ProtobufCMessageDescriptor *owner, const ProtobufCFieldDescriptor *field)
{
    if (field->label != PROTOBUF_C_LABEL_REPEATED || field->type != PROTOBUF_C_TYPE_MESSAGE)
        return false;
    const ProtobufCMessageDescriptor *entry = field->descriptor;
    size_t owner_len = strlen(owner->name);
    if (entry->n_fields != 2 || strcmp(entry->fields[0].name, "key") != 0 ||
        strcmp(entry->fields[1].name, "value") != 0 ||
        strncmp(entry->name, owner->name, owner_len) != 0 || entry->name[owner_len] != '.')
        return false;
    char camel[AT_JSON_NAME_BYTES];
    (void)at_json_name(field->name, camel, sizeof(camel));
    camel[0] = upper(camel[0]);
    struct at_slice rest = at_slice_cstr(entry->name + owner_len + 1);
    struct at_slice head = at_slice_cstr(camel);
    return at_slice_has_prefix(rest, head) &&
           at_slice_eq(at_slice_from(rest, head.len), AT_LIT("Entry"));
}

size_t at_json_item_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_ENUM:
        return sizeof(uint32_t);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return sizeof(uint64_t);
    case PROTOBUF_C_TYPE_FLOAT:
        return sizeof(float);
    case PROTOBUF_C_TYPE_DOUBLE:
        return sizeof(double);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(char *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(ProtobufCMessage *);
    }
    AT_ASSERT(!"a type that protobuf-c knows");
    return 0;
}
