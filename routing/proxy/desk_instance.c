/* desk_instance.c: CreateInstance and DeleteInstance.
 *
 *   create: check -> operation in the ledger, answered -> leader: launcher makes folder and
 *           processes -> fleet serves it -> every loop knows its profiles -> operation done
 *   delete: a live cluster tells that no table is protected and there are no backups -> launcher
 *           ends processes, removes files -> fleet lets go of it -> answered */
#include <stdio.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "base/log.h"
#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"
#include "routing/proxy/desk.h"
#include "routing/proxy/inquiry.h"
#include "routing/proxy/operation.h"
#include "routing/proxy/reply.h"

#define READY_POLL_MS 2
#define READY_MS_MAX 10000
#define CHECK_NS (10 * AT_S_NS)

/* --- making --- */

struct at_desk_poll {
    struct at_desk_poll *next;
    uv_timer_t timer;
    uint32_t count;
};

struct making {
    struct at_task task;
    struct at_desk *desk;
    struct at_arena arena; /* owns what follows */
    struct at_slice operation;
    Google__Bigtable__Admin__V2__CreateInstanceRequest *request;
    struct at_slice name; /* of the instance */
    uint64_t begin_ns;
    json_t *spec;
    struct at_desk_poll poll;
};

static void make(struct at_task *task);
static void
on_made(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void on_served(void *ctx);
static void on_poll(uv_timer_t *timer);
static void end_making(struct making *m, const struct at_error *error);

static struct at_loop *leader_of(const struct at_desk *desk)
{
    return desk->fleet->loops[0];
}

static uint64_t wall_ns(const struct at_desk *desk)
{
    return at_clock_wall_ns(at_loop_clock(leader_of(desk)));
}

/* Takes the arena, which the request lives in, over. */
static enum at_code open_making(struct making *m, struct at_error *reterr)
{
    struct at_slice name = m->operation;
    struct at_resource resource;
    if (!at_resource_parse(name, &resource))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "'%.*s' is no operation", AT_SLICE_ARG(name));
    m->name = resource.instance;
    m->begin_ns = wall_ns(m->desk);
    const struct at_operation_facts facts = {
        .name = m->operation, .request = m->request, .begin_ns = m->begin_ns};
    Google__Bigtable__Admin__V2__Instance *instance =
        at_operation_instance(m->request, false, m->begin_ns, &m->arena);
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    at_buf_init(&bytes, AT_MIB);
    if (at_proto_pack(&bytes, &instance->base) != AT_OK)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "The request is too large");
    const struct at_ledger_item item = {.operation = m->operation,
                                        .instance = m->name,
                                        .state = at_operation_pack(&facts, &m->arena),
                                        .resource = at_buf_slice(&bytes)};
    return at_ledger_open(&m->desk->ledger, &item, reterr);
}

static struct making *new_making(struct at_desk *desk, struct at_slice request)
{
    struct making *m = AT_NEW(struct making);
    m->desk = desk;
    m->task.run = make;
    at_arena_init(&m->arena, 4 * AT_KIB);
    m->request = at_proto_unpack(
        &m->arena, &google__bigtable__admin__v2__create_instance_request__descriptor, request);
    return m;
}

static void free_making(struct making *m)
{
    json_decref(m->spec);
    at_arena_deinit(&m->arena);
    at_free(m);
}

void at_desk_make(struct at_desk *desk,
                  json_t *spec,
                  struct at_slice operation,
                  struct at_slice request)
{
    struct at_error error;
    struct making *m = new_making(desk, request);
    m->operation = at_arena_copy(&m->arena, operation);
    m->spec = spec;
    if (!m->request || at_operation_check(m->request, &error) != AT_OK ||
        open_making(m, &error) != AT_OK) {
        at_log(AT_LOG_WARN, "an instance is not made",
               AT_KV_STR("error", m->request ? error.msg : "a malformed request"));
        free_making(m);
        return;
    }
    at_loop_post(leader_of(desk), &m->task);
}

/* What the launcher is told; NULL: the request is too large to be kept. */
static json_t *write_spec(const struct making *m, struct at_slice request)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    at_buf_init(&text, AT_CREATE_REQUEST_TEXT_MAX);
    if (at_escape_base64(&text, request, false, true) != AT_OK)
        return NULL;
    json_t *clusters = json_array();
    for (size_t i = 0; i < m->request->n_clusters; i++) {
        const char *zone = strstr(m->request->clusters[i]->value->location, "/locations/");
        (void)json_array_append_new(clusters,
                                    json_pack("{s:s, s:s}", "id", m->request->clusters[i]->key,
                                              "zone", zone + strlen("/locations/")));
    }
    return json_pack("{s:s, s:s, s:s, s:s%, s:s%, s:o}", "project",
                     m->request->parent + strlen("projects/"), "instance", m->request->instance_id,
                     "display_name", m->request->instance->display_name, "operation",
                     (const char *)m->operation.data, m->operation.len, "request",
                     (const char *)text.data, text.len, "clusters", clusters);
}

/* Checks the request and opens its operation; `m` has both. */
static enum at_code
begin_making(struct making *m, struct at_grpc_call *call, struct at_error *reterr)
{
    struct at_desk *desk = m->desk;
    if (!m->request)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Malformed request message");
    AT_TRY(at_operation_check(m->request, reterr));
    if (!desk->launcher.program)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "This router cannot start processes: it was not started by `atoll up`; "
                       "instances are made by their instance files");
    m->operation = at_slice_cstr(
        at_arena_printf(&m->arena, "operations/%s/instances/%s/operations/%llu", m->request->parent,
                        m->request->instance_id, (unsigned long long)wall_ns(desk)));
    struct at_resource resource;
    if (at_resource_parse(m->operation, &resource) &&
        at_fleet_find(desk->fleet, at_grpc_call_loop(call), resource.instance))
        return at_fail(reterr, AT_ALREADY_EXISTS, "Instance %.*s already exists",
                       AT_SLICE_ARG(resource.instance));
    m->spec = write_spec(m, at_grpc_call_request(call));
    if (!m->spec)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "The request is too large");
    return open_making(m, reterr);
}

void at_desk_create_instance(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_method *method = ctx;
    struct at_desk *desk = method->desk;
    struct at_error error;
    const struct at_front *primary = at_fleet_primary(desk->fleet, at_grpc_call_loop(call));
    if (primary && primary->instance->accept_any_instance) {
        at_forward_request(call, &method->forward);
        return;
    }
    struct making *m = new_making(desk, at_grpc_call_request(call));
    if (begin_making(m, call, &error) != AT_OK) {
        free_making(m);
        at_reply_error(call, &error);
        return;
    }
    const struct at_operation_facts facts = {
        .name = m->operation, .request = m->request, .begin_ns = m->begin_ns};
    at_reply_headers(call, NULL, 0);
    enum at_code code = at_grpc_call_send(call, at_operation_pack(&facts, &m->arena));
    at_loop_post(leader_of(desk), &m->task);
    at_grpc_call_finish(call, code, (struct at_slice){0}, (struct at_slice){0});
}

static void make(struct at_task *task)
{
    struct making *m = (struct making *)task; /* its first member */
    at_launch(&m->desk->launcher, leader_of(m->desk), "create-instance", json_incref(m->spec),
              on_made, m);
}

static void
on_made(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    struct making *m = ctx;
    struct at_error own = *error;
    struct at_arena arena;
    struct at_instance_config instance;
    if (code != AT_OK) {
        end_making(m, &own);
        return;
    }
    const char *file = json_string_value(json_object_get(answer, "file"));
    at_arena_init(&arena, 16 * AT_KIB);
    code = at_instance_load(file ? file : "", &arena, &instance, &own);
    if (code == AT_OK)
        code = at_fleet_add(m->desk->fleet, &instance, &arena, false,
                            (struct at_fleet_done){on_served, m}, &own);
    if (code == AT_OK)
        return;
    at_arena_deinit(&arena);
    end_making(m, &own);
}

static void on_served(void *ctx)
{
    struct making *m = ctx;
    (void)uv_timer_init(at_loop_uv(leader_of(m->desk)), &m->poll.timer);
    m->poll.timer.data = m;
    m->poll.next = m->desk->polls;
    m->desk->polls = &m->poll;
    (void)uv_timer_start(&m->poll.timer, on_poll, 0, READY_POLL_MS);
}

static void on_timer_closed(uv_handle_t *handle)
{
    end_making(handle->data, NULL);
}

static void stop_poll(struct at_desk *desk, struct at_desk_poll *poll)
{
    struct at_desk_poll **at = &desk->polls;
    while (*at != poll)
        at = &(*at)->next;
    *at = poll->next;
    uv_close((uv_handle_t *)&poll->timer, on_timer_closed);
}

void at_desk_stop_polls(struct at_desk *desk)
{
    while (desk->polls)
        stop_poll(desk, desk->polls);
}

static void on_poll(uv_timer_t *timer)
{
    struct making *m = timer->data;
    struct at_realm *realm = at_fleet_realm(m->desk->fleet, m->name);
    bool ready = !realm || atomic_load(&realm->board.informed) >= m->desk->fleet->loop_count;
    m->poll.count++;
    if (ready || m->poll.count * READY_POLL_MS > READY_MS_MAX)
        stop_poll(m->desk, &m->poll);
}

static void end_making(struct making *m, const struct at_error *error)
{
    const struct at_operation_facts facts = {.name = m->operation,
                                             .request = m->request,
                                             .begin_ns = m->begin_ns,
                                             .end_ns = wall_ns(m->desk),
                                             .error = error};
    at_ledger_close(&m->desk->ledger, m->operation, at_operation_pack(&facts, &m->arena));
    free_making(m);
}

/* --- deleting --- */

struct deletion {
    struct at_task task;
    struct at_inquiry inquiry; /* its first request keeps the front */
    struct at_desk *desk;
    struct at_grpc_call *call; /* NULL: the client has gone */
    struct at_loop *loop;      /* of the call */
    struct at_arena arena;
    struct at_slice name;
    struct at_front_pick order[AT_MEMBERS_MAX];
    uint32_t order_count;
    uint32_t next;
    struct at_error error; /* code AT_OK: none yet */
};

static void ask_tables(struct deletion *d);
static void on_tables(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void on_backups(struct at_inquiry *inquiry, const struct at_grpc_result *result);
static void checked(struct deletion *d);
static void remove_files(struct at_task *task);
static void
on_removed(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);
static void on_gone(void *ctx);
static void finish_deletion(struct at_task *task);

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct deletion *d = ctx;
    d->call = NULL;
    at_grpc_call_finish(call, AT_CANCELLED, (struct at_slice){0}, (struct at_slice){0});
}

static struct deletion *of_inquiry(struct at_inquiry *inquiry)
{
    return (struct deletion *)(void *)((char *)inquiry - offsetof(struct deletion, inquiry));
}

static enum at_code
begin_deletion(struct deletion *d, struct at_slice name, struct at_error *reterr)
{
    struct at_resource resource;
    if (!at_resource_parse(name, &resource) || resource.instance.len != name.len)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid instance name '%.*s': projects/<project>/instances/<instance> is "
                       "expected",
                       AT_SLICE_ARG(name));
    d->name = at_arena_copy(&d->arena, name);
    d->inquiry.front = at_fleet_find(d->desk->fleet, d->loop, name);
    if (!d->inquiry.front)
        return at_fail(reterr, AT_NOT_FOUND, "Instance %.*s not found", AT_SLICE_ARG(name));
    if (d->inquiry.front->realm->primary)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "%.*s is the router's own instance: `atoll down` stops it, and removing the "
                       "state directory removes it",
                       AT_SLICE_ARG(name));
    if (!d->desk->launcher.program)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "This router cannot end processes: it was not started by `atoll up`");
    return at_desk_begin(d->desk, name, reterr);
}

void at_desk_delete_instance(struct at_grpc_call *call, void *ctx)
{
    struct at_desk_method *method = ctx;
    struct at_request_head head;
    struct at_error error = {0};
    const struct at_front *primary = at_fleet_primary(method->desk->fleet, at_grpc_call_loop(call));
    if (primary && primary->instance->accept_any_instance) {
        at_forward_request(call, &method->forward);
        return;
    }
    struct deletion *d = AT_NEW(struct deletion);
    d->desk = method->desk;
    d->call = call;
    d->loop = at_grpc_call_loop(call);
    at_arena_init(&d->arena, AT_KIB);
    at_inquiry_init(&d->inquiry);
    enum at_code code =
        at_request_peek(method->forward.method, at_grpc_call_request(call), &head, &error);
    if (code == AT_OK)
        code = begin_deletion(d, head.table_name, &error);
    if (code != AT_OK) {
        at_reply_error(call, &error);
        at_inquiry_deinit(&d->inquiry);
        at_arena_deinit(&d->arena);
        at_free(d);
        return;
    }
    at_grpc_call_on_cancel(call, on_cancel, d);
    at_front_begin(d->inquiry.front);
    d->order_count = at_front_order(d->inquiry.front, NULL, (struct at_slice){0}, d->order);
    ask_tables(d);
}

static void ask_tables(struct deletion *d)
{
    Google__Bigtable__Admin__V2__ListTablesRequest request =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_TABLES_REQUEST__INIT;
    if (d->next >= d->order_count) {
        (void)at_fail(&d->error, AT_UNAVAILABLE,
                      "No cluster of the instance can be asked whether it may be deleted");
        checked(d);
        return;
    }
    request.parent = at_arena_printf(&d->arena, "%.*s", AT_SLICE_ARG(d->name));
    request.view = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__VIEW__FULL;
    const struct at_inquiry_question question = {
        "/google.bigtable.admin.v2.BigtableTableAdmin/ListTables", &request.base, CHECK_NS};
    d->inquiry.done = on_tables;
    at_inquire(&d->inquiry, d->order[d->next++], &question);
}

static void on_tables(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct deletion *d = of_inquiry(inquiry);
    Google__Bigtable__Admin__V2__ListTablesResponse *tables = NULL;
    if (result->code == AT_OK)
        tables = at_proto_unpack(&d->arena,
                                 &google__bigtable__admin__v2__list_tables_response__descriptor,
                                 at_buf_slice(&inquiry->answer));
    if (!tables) {
        ask_tables(d); /* the next one */
        return;
    }
    for (size_t i = 0; i < tables->n_tables; i++)
        if (tables->tables[i]->deletion_protection) {
            (void)at_fail(&d->error, AT_FAILED_PRECONDITION, "Table %s is protected from deletion",
                          tables->tables[i]->name);
            checked(d);
            return;
        }
    Google__Bigtable__Admin__V2__ListBackupsRequest request =
        GOOGLE__BIGTABLE__ADMIN__V2__LIST_BACKUPS_REQUEST__INIT;
    request.parent = at_arena_printf(&d->arena, "%.*s/clusters/-", AT_SLICE_ARG(d->name));
    const struct at_inquiry_question question = {
        "/google.bigtable.admin.v2.BigtableTableAdmin/ListBackups", &request.base, CHECK_NS};
    d->inquiry.done = on_backups;
    at_inquire(&d->inquiry, d->order[d->next - 1], &question);
}

static void on_backups(struct at_inquiry *inquiry, const struct at_grpc_result *result)
{
    struct deletion *d = of_inquiry(inquiry);
    Google__Bigtable__Admin__V2__ListBackupsResponse *backups = NULL;
    if (result->code == AT_OK)
        backups = at_proto_unpack(&d->arena,
                                  &google__bigtable__admin__v2__list_backups_response__descriptor,
                                  at_buf_slice(&inquiry->answer));
    if (backups && backups->n_backups > 0)
        (void)at_fail(&d->error, AT_FAILED_PRECONDITION,
                      "The instance has backups, %s for one; delete them first",
                      backups->backups[0]->name);
    else if (!backups && result->code != AT_UNIMPLEMENTED)
        (void)at_fail(&d->error, AT_UNAVAILABLE,
                      "The cluster that was asked does not tell its backups: %.*s",
                      AT_SLICE_ARG(result->message));
    checked(d);
}

static void checked(struct deletion *d)
{
    at_front_end(d->inquiry.front);
    if (d->error.code != AT_OK) {
        d->task.run = finish_deletion;
        at_loop_post(d->loop, &d->task);
        return;
    }
    d->task.run = remove_files;
    at_loop_post(leader_of(d->desk), &d->task);
}

/* --- on the leader --- */

static void remove_files(struct at_task *task)
{
    struct deletion *d = (struct deletion *)task; /* its first member */
    struct at_resource r;
    (void)at_resource_parse(d->name, &r);
    json_t *spec = json_pack("{s:s%, s:s%}", "project", (const char *)r.project.data, r.project.len,
                             "instance", (const char *)r.id.data, r.id.len);
    at_launch(&d->desk->launcher, leader_of(d->desk), "delete-instance", spec, on_removed, d);
}

static void
on_removed(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    struct deletion *d = ctx;
    (void)answer;
    struct at_realm *realm = at_fleet_realm(d->desk->fleet, d->name);
    if (code != AT_OK) {
        d->error = *error;
        d->error.code = code;
    } else if (realm && !realm->errand && !d->desk->fleet->closed) {
        at_fleet_remove(realm, (struct at_fleet_done){on_gone, d});
        return;
    }
    on_gone(d);
}

static void on_gone(void *ctx)
{
    struct deletion *d = ctx;
    d->task.run = finish_deletion;
    at_loop_post(d->loop, &d->task);
}

/* --- on the call's loop --- */

static void finish_deletion(struct at_task *task)
{
    struct deletion *d = (struct deletion *)task; /* its first member */
    static const Google__Protobuf__Empty EMPTY = GOOGLE__PROTOBUF__EMPTY__INIT;
    if (d->error.code == AT_OK)
        at_ledger_forget(&d->desk->ledger, d->name);
    at_desk_end(d->desk, d->name);
    if (d->call && d->error.code == AT_OK)
        at_desk_reply(d->call, &EMPTY.base);
    else if (d->call)
        at_reply_error(d->call, &d->error);
    at_inquiry_deinit(&d->inquiry);
    at_arena_deinit(&d->arena);
    at_free(d);
}
