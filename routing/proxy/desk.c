/* desk.c: which handler answers what, and what all acts need. */
#include "routing/proxy/desk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "base/folder.h"
#include "base/log.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "routing/proxy/gather.h"
#include "routing/proxy/reply.h"
#include "wire/proto_alloc.h"

struct at_desk_busy {
    struct at_desk_busy *next;
    struct at_slice name; /* owned */
};

void at_desk_init(struct at_desk *desk,
                  struct at_fleet *fleet,
                  const char *program,
                  const char *state_dir)
{
    *desk = (struct at_desk){.fleet = fleet};
    at_launcher_init(&desk->launcher, state_dir ? program : NULL, state_dir);
    at_ledger_init(&desk->ledger);
    (void)pthread_mutex_init(&desk->lock, NULL);
}

void at_desk_close(struct at_desk *desk)
{
    at_launcher_close(&desk->launcher);
    at_desk_stop_polls(desk);
}

void at_desk_deinit(struct at_desk *desk)
{
    while (desk->busy) {
        struct at_slice name = desk->busy->name;
        at_desk_end(desk, name);
    }
    at_launcher_deinit(&desk->launcher);
    at_ledger_deinit(&desk->ledger);
    (void)pthread_mutex_destroy(&desk->lock);
}

enum at_code at_desk_begin(struct at_desk *desk, struct at_slice name, struct at_error *reterr)
{
    (void)pthread_mutex_lock(&desk->lock);
    struct at_desk_busy *b = desk->busy;
    while (b && !at_slice_eq(b->name, name))
        b = b->next;
    bool busy = b != NULL;
    if (!busy) {
        b = AT_NEW(struct at_desk_busy);
        b->name = at_slice_make(at_dup(name.data, name.len), name.len);
        b->next = desk->busy;
        desk->busy = b;
    }
    (void)pthread_mutex_unlock(&desk->lock);
    if (!busy)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION, "%.*s is currently being modified",
                   AT_SLICE_ARG(name));
}

void at_desk_end(struct at_desk *desk, struct at_slice name)
{
    (void)pthread_mutex_lock(&desk->lock);
    struct at_desk_busy **at = &desk->busy;
    while (*at && !at_slice_eq((*at)->name, name))
        at = &(*at)->next;
    struct at_desk_busy *b = *at;
    if (b) {
        *at = b->next;
        at_free((void *)(uintptr_t)b->name.data);
        at_free(b);
    }
    (void)pthread_mutex_unlock(&desk->lock);
}

void at_desk_reply(struct at_grpc_call *call, const ProtobufCMessage *message)
{
    at_reply_headers(call, NULL, 0);
    enum at_code code = at_proto_pack(at_grpc_call_begin(call), message);
    if (code == AT_OK)
        at_grpc_call_commit(call);
    else
        at_grpc_call_abandon(call);
    at_grpc_call_finish(call, code, (struct at_slice){0}, (struct at_slice){0});
}

/* --- what is answered from the ledger, or else forwarded --- */

static void reply_bytes(struct at_grpc_call *call, struct at_slice bytes)
{
    at_reply_headers(call, NULL, 0);
    enum at_code code = at_grpc_call_send(call, bytes);
    at_grpc_call_finish(call, code, (struct at_slice){0}, (struct at_slice){0});
}

/* GetOperation, WaitOperation, GetInstance: of an instance that only the router knows yet. */
static void on_get(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_method *m = ctx;
    struct at_request_head head;
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    at_buf_init(&bytes, AT_MIB);
    bool known =
        at_request_peek(m->forward.method, at_grpc_call_request(call), &head, NULL) == AT_OK &&
        (at_ledger_state(&m->desk->ledger, head.table_name, &bytes) ||
         at_ledger_resource(&m->desk->ledger, head.table_name, &bytes));
    if (known)
        reply_bytes(call, at_buf_slice(&bytes));
    else
        at_forward_request(call, &m->forward);
}

static void on_gather(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_method *m = ctx;
    struct at_gather_plan plan;
    if (!at_gather_method(m->forward.method, at_grpc_call_request(call), &plan)) {
        at_forward_request(call, &m->forward);
        return;
    }
    plan.fleet = m->desk->fleet;
    at_gather(call, &plan);
}

static void add_creating(void *ctx, const struct at_ledger_item *item)
{
    if (at_pb_put_bytes(ctx, 1, item->resource) != AT_OK)
        at_log(AT_LOG_WARN, "an instance is left out of a list");
}

static void on_list_instances(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_method *m = ctx;
    struct at_error error;
    struct at_arena *arena = at_grpc_call_arena(call);
    const struct at_front *primary = at_fleet_primary(m->desk->fleet, at_grpc_call_loop(call));
    if (primary && primary->instance->accept_any_instance) {
        at_forward_request(call, &m->forward);
        return;
    }
    const Google__Bigtable__Admin__V2__ListInstancesRequest *in =
        at_proto_unpack(arena, &google__bigtable__admin__v2__list_instances_request__descriptor,
                        at_grpc_call_request(call));
    struct at_gather_plan plan = {
        .fleet = m->desk->fleet,
        .path = "/google.bigtable.admin.v2.BigtableInstanceAdmin/GetInstance",
        .name_field = 1,
        .failed_field = 2,
        .whole = true,
    };
    if (!in || strncmp(in->parent, "projects/", 9) != 0 || in->parent[9] == '\0' ||
        strchr(in->parent + 9, '/')) {
        (void)at_fail(&error, AT_INVALID_ARGUMENT,
                      "Invalid project name '%s': projects/<project> is expected",
                      in ? in->parent : "");
        at_reply_error(call, &error);
        return;
    }
    plan.project = at_slice_cstr(in->parent + 9);
    AT_CLEANUP(at_buf_deinit) struct at_buf more;
    at_buf_init(&more, 16 * AT_MIB);
    struct at_slice prefix = at_slice_cstr(at_arena_printf(arena, "%s/instances/", in->parent));
    at_ledger_each(&m->desk->ledger, prefix, add_creating, &more);
    plan.more = at_buf_slice(&more);
    at_gather(call, &plan);
}

void (*at_desk_handler(const struct at_route_method *method))(struct at_grpc_call *call, void *ctx)
{
    static const struct {
        const char *name;
        void (*handler)(struct at_grpc_call *call, void *ctx);
    } OWN[] = {
        {"CreateInstance", at_desk_create_instance},
        {"ListInstances", on_list_instances},
        {"DeleteInstance", at_desk_delete_instance},
        {"CreateCluster", at_desk_create_cluster},
        {"DeleteCluster", at_desk_delete_cluster},
        {"GetInstance", on_get},
        {"GetOperation", on_get},
        {"WaitOperation", on_get},
        {"CancelOperation", at_desk_cancel_operation},
    };
    const char *name = strrchr(method->path, '/') + 1;
    for (size_t i = 0; i < sizeof(OWN) / sizeof(OWN[0]); i++)
        if (strcmp(OWN[i].name, name) == 0)
            return OWN[i].handler;
    return method->gather != AT_GATHER_NO ? on_gather : NULL;
}

/* --- instances that are there when the router starts --- */

/* The router's own. Its fronts are not open yet. */
static const struct at_instance_config *first_of(const struct at_desk *desk)
{
    const struct at_realm *realm = desk->fleet->realms;
    while (!realm->primary)
        realm = realm->next;
    return &realm->instance;
}

static void
on_cleared(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    (void)ctx;
    (void)code; /* the launcher's failure is in the log */
    (void)error;
    (void)answer;
}

static void launch_for(struct at_desk *desk, const char *verb, const struct at_instance_config *i)
{
    json_t *spec = json_pack("{s:s, s:s}", "project", i->project, "instance", i->instance);
    at_launch(&desk->launcher, desk->fleet->loops[0], verb, spec, on_cleared, NULL);
}

/* A cluster that was being made when the router ended: whether it is one is the launcher's to ask.
 * Of those that are born it does nothing. */
static void resume_clusters(struct at_desk *desk, const struct at_instance_config *instance)
{
    for (uint32_t i = 0; i < instance->cluster_count; i++) {
        if (!instance->clusters[i].joining)
            continue;
        launch_for(desk, "resume-clusters", instance);
        return;
    }
}

static void resume_making(struct at_desk *desk, const char *path)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf request;
    at_buf_init(&request, AT_CREATE_REQUEST_TEXT_MAX);
    json_t *spec = json_load_file(path, 0, NULL);
    const char *operation = json_string_value(json_object_get(spec, "operation"));
    const char *text = json_string_value(json_object_get(spec, "request"));
    if (!operation || !text || at_unescape_base64(&request, at_slice_cstr(text)) != AT_OK) {
        at_log(AT_LOG_WARN, "not a request to make an instance", AT_KV_STR("file", path));
        json_decref(spec);
        return;
    }
    at_log(AT_LOG_INFO, "going on making an instance", AT_KV_STR("file", path));
    at_desk_make(desk, spec, at_slice_cstr(operation), at_buf_slice(&request));
}

static void resume_serving(struct at_desk *desk, const char *path)
{
    struct at_error error;
    struct at_arena arena;
    struct at_instance_config instance;
    at_arena_init(&arena, 16 * AT_KIB);
    enum at_code code = at_instance_load(path, &arena, &instance, &error);
    if (code == AT_OK)
        code =
            at_fleet_add(desk->fleet, &instance, &arena, false, (struct at_fleet_done){0}, &error);
    if (code == AT_OK) {
        resume_clusters(desk, &instance);
        return;
    }
    at_log(AT_LOG_WARN, "an instance is not served", AT_KV_STR("error", error.msg));
    at_arena_deinit(&arena);
}

/* What an earlier router began to remove. `folder` is "I" or "I@P". */
static void resume_removing(struct at_desk *desk, const char *folder)
{
    const struct at_instance_config *first = first_of(desk);
    const char *at = strchr(folder, '@');
    size_t len = at ? (size_t)(at - folder) : strlen(folder);
    json_t *spec =
        json_pack("{s:s, s:s%}", "project", at ? at + 1 : first->project, "instance", folder, len);
    at_launch(&desk->launcher, desk->fleet->loops[0], "delete-instance", spec, on_cleared, NULL);
}

static bool has(const struct at_desk *desk, const char *folder, const char *name, char path[4096])
{
    (void)snprintf(path, 4096, "%s/instances/%s/%s", desk->launcher.state_dir, folder, name);
    return access(path, F_OK) == 0;
}

static void resume(struct at_desk *desk, const char *folder)
{
    char path[4096];
    if (has(desk, folder, "deletion", path))
        resume_removing(desk, folder);
    else if (has(desk, folder, "creation.json", path))
        resume_making(desk, path);
    else if (has(desk, folder, "instance.yaml", path))
        resume_serving(desk, path);
}

void at_desk_resume(struct at_desk *desk)
{
    char path[4096];
    bool left = false;
    if (!desk->launcher.program)
        return;
    (void)snprintf(path, sizeof(path), "%s/instances", desk->launcher.state_dir);
    struct at_folder folder AT_CLEANUP(at_folder_close);
    const char *name;
    (void)at_folder_open(&folder, path);
    while ((name = at_folder_next(&folder)) != NULL) {
        if (name[0] != '.')
            resume(desk, name);
        left = left || strncmp(name, ".gone-", 6) == 0;
    }
    if (left)
        launch_for(desk, "sweep", first_of(desk));
    resume_clusters(desk, first_of(desk));
}
