#include "cluster/admin/admin.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/escape.h"
#include "base/namespace.h"
#include "google/protobuf/empty.pb-c.h"

#define PAGE_SIZE_MAX 1000 /* also what 0 means */

size_t at_admin_add(struct at_service *service,
                    const struct at_admin_method *from,
                    size_t from_count,
                    struct at_grpc_method *methods,
                    size_t max)
{
    AT_ASSERT(from_count <= max);
    for (size_t i = 0; i < from_count; i++)
        methods[i] = (struct at_grpc_method){
            .path = from[i].path, .on_request = from[i].on_request, .ctx = service};
    return from_count;
}

void at_admin_reply_empty(struct at_service *service, struct at_grpc_call *call)
{
    static const Google__Protobuf__Empty EMPTY = GOOGLE__PROTOBUF__EMPTY__INIT;

    at_service_reply(service, call, &EMPTY.base);
}

struct at_slice at_admin_pack(struct at_arena *arena, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = at_arena_alloc_raw(arena, size + 1);

    size_t written = protobuf_c_message_pack(message, bytes);
    AT_ASSERT(written == size);
    return at_slice_make(bytes, size);
}

char *at_admin_text(struct at_arena *arena, struct at_slice s)
{
    return at_arena_printf(arena, "%.*s", AT_SLICE_ARG(s));
}

char *at_admin_instance_name(const struct at_service *service, struct at_arena *arena)
{
    return at_arena_printf(arena, "projects/%s/instances/%s", service->project, service->instance);
}

static char *child_name(const struct at_service *service,
                        struct at_arena *arena,
                        const char *collection,
                        struct at_slice kept)
{
    if (at_namespace_of(kept).len > 0)
        return at_admin_text(arena, kept);
    return at_arena_printf(arena, "projects/%s/instances/%s/%s/%.*s", service->project,
                           service->instance, collection, AT_SLICE_ARG(kept));
}

char *
at_admin_table_name(const struct at_service *service, struct at_arena *arena, struct at_slice kept)
{
    return child_name(service, arena, "tables", kept);
}

char *at_admin_profile_name(const struct at_service *service,
                            struct at_arena *arena,
                            struct at_slice kept)
{
    return child_name(service, arena, "appProfiles", kept);
}

enum at_code
at_admin_no_table(const struct at_service *service, struct at_slice kept, struct at_error *reterr)
{
    if (at_namespace_of(kept).len > 0)
        return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(kept));
    return at_fail(reterr, AT_NOT_FOUND, "Table not found: projects/%s/instances/%s/tables/%.*s",
                   service->project, service->instance, AT_SLICE_ARG(kept));
}

enum at_code at_admin_whole(const struct at_service *service,
                            const struct at_table *table,
                            struct at_error *reterr)
{
    if (!table->fields.restoring)
        return AT_OK;
    if (at_namespace_of(table->name).len > 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "Table %.*s is being restored",
                       AT_SLICE_ARG(table->name));
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "Table projects/%s/instances/%s/tables/%.*s is being restored", service->project,
                   service->instance, AT_SLICE_ARG(table->name));
}

struct at_slice at_admin_keep(struct at_arena *arena,
                              struct at_slice in,
                              const char *collection,
                              struct at_slice id)
{
    char kept[AT_KEPT_NAME_BYTES_MAX];
    size_t len = at_namespace_keep(in, at_slice_cstr(collection), id, kept);

    return at_arena_copy(arena, at_slice_make(kept, len));
}

enum at_code at_admin_parent(const struct at_service *service,
                             const char *name,
                             struct at_admin_parent *ret_parent,
                             struct at_error *reterr)
{
    struct at_slice all = at_slice_cstr(name);
    struct at_slice rest = all;
    struct at_slice any = AT_LIT("/instances/-");
    struct at_instance_name instance;

    *ret_parent = (struct at_admin_parent){0};
    if (!at_namespace_take(&rest, &instance) || rest.len > 0 ||
        !at_slice_eq_cstr(instance.instance, "-")) {
        AT_TRY(at_service_instance_check(service, all, reterr));
        return at_service_namespace(service, all, &ret_parent->in, reterr);
    }
    ret_parent->project = at_slice_make(name, all.len - any.len);
    ret_parent->home = at_slice_eq_cstr(instance.project, service->project);
    if (ret_parent->home)
        return AT_OK;
    if (!service->accept_any_instance)
        return at_fail(reterr, AT_NOT_FOUND, "Project projects/%.*s not found",
                       AT_SLICE_ARG(instance.project));
    instance.instance = AT_LIT("any"); /* only the project is to be checked */
    return at_namespace_check(&instance, reterr);
}

bool at_admin_parent_holds(const struct at_admin_parent *parent, struct at_slice kept)
{
    struct at_slice in = at_namespace_of(kept);

    if (parent->project.len == 0)
        return at_slice_eq(in, parent->in);
    if (in.len == 0)
        return parent->home;
    return at_slice_has_prefix(in, parent->project) && in.data[parent->project.len] == '/';
}

enum at_code at_admin_child(const struct at_service *service,
                            const char *name,
                            const char *collection,
                            struct at_slice *ret_id,
                            struct at_error *reterr)
{
    struct at_slice all = at_slice_cstr(name);
    const char *found = strstr(name, collection);
    size_t end = found ? (size_t)(found - name) + strlen(collection) : 0;
    struct at_slice in;

    if (!found || end == all.len || memchr(name + end, '/', all.len - end))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid name '%s': projects/<project>/instances/<instance>%s<id> is "
                       "expected",
                       name, collection);
    struct at_slice instance = at_slice_make(name, (size_t)(found - name));
    AT_TRY(at_service_instance_check(service, instance, reterr));
    AT_TRY(at_service_namespace(service, instance, &in, reterr));
    /* Clusters are shared by all instances. */
    bool shared = strcmp(collection, "/clusters/") == 0;
    *ret_id = in.len == 0 || shared ? at_slice_from(all, end) : all;
    return AT_OK;
}

/* A token is the last key that was given, behind its checksum: what a client made up itself is
 * told from it, rather than taken for a key that nothing follows. */
#define PAGE_CHECK_BYTES 4
#define PAGE_TOKEN_BYTES_MAX (AT_ADMIN_PAGE_KEY_BYTES_MAX + PAGE_CHECK_BYTES)

static bool read_token(const char *token, struct at_buf *bytes, struct at_slice *ret_name)
{
    if (at_unescape_base64(bytes, at_slice_cstr(token)) != AT_OK || bytes->len <= PAGE_CHECK_BYTES)
        return false;
    *ret_name = at_slice_from(at_buf_slice(bytes), PAGE_CHECK_BYTES);
    return at_get_be32(bytes->data) == at_crc32c(*ret_name);
}

enum at_code at_admin_page_decode(int32_t page_size,
                                  const char *token,
                                  struct at_arena *arena,
                                  struct at_admin_page *ret_page,
                                  struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    struct at_slice name = {0};

    at_buf_init(&bytes, PAGE_TOKEN_BYTES_MAX);
    if (page_size < 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'page_size' : must not be negative, is %d", (int)page_size);
    if (token[0] != '\0' && !read_token(token, &bytes, &name))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'page_token' : not one that this server gave out");
    ret_page->size =
        page_size == 0 || page_size > PAGE_SIZE_MAX ? PAGE_SIZE_MAX : (uint32_t)page_size;
    ret_page->after = at_arena_copy(arena, name);
    return AT_OK;
}

char *at_admin_page_token(struct at_arena *arena, struct at_slice last)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    uint8_t *bytes = at_arena_alloc_raw(arena, last.len + PAGE_CHECK_BYTES);

    at_put_be32(bytes, at_crc32c(last));
    memcpy(bytes + PAGE_CHECK_BYTES, last.data, last.len);
    at_buf_init(&text, 2 * PAGE_TOKEN_BYTES_MAX);
    enum at_code code =
        at_escape_base64(&text, at_slice_make(bytes, last.len + PAGE_CHECK_BYTES), true, false);
    AT_ASSERT(code == AT_OK);
    return at_admin_text(arena, at_buf_slice(&text));
}
