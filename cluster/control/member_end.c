#include "cluster/control/member_end.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/admin/backup.h"
#include "cluster/admin/instance_view.h"
#include "cluster/model/operation.h"
#include "replication/peer/peering.h"

/* A cluster that leaves deletes its record first, as nothing it writes after LEAVE is heard; when
 * replication then refuses, the record is made again of what it keeps of the old one. A call that
 * is cancelled, or a crash, in between: see cluster/departure.h, which goes on leaving. A removed
 * cluster cannot delete it: the coordinator does, also when it is asked again after it has removed.
 *
 * What replication is asked may take as long as others are away, so the question is on the heap and
 * outlives a call that is cancelled, as in await.c:
 *   OUT --peering thread--> BACK, a task is posted    OUT --cancelled--> ALONE: freed when it is
 * back
 */

#define REMOVE_MS_MAX 60000
#define RELEASE_SPAN_MS_MAX (UINT64_C(366) * 24 * 3600 * 1000)

enum phase { PHASE_OUT, PHASE_BACK, PHASE_ALONE };

struct ending;
struct question {
    struct at_task task;
    _Atomic int phase;
    struct at_loop *loop;
    struct ending *ending; /* NULL: its call is cancelled */
    union {
        struct at_leave leave;
        struct at_remove remove;
    };
};

struct ending {
    struct at_change change; /* first; of the records */
    const Atoll__V1__RemoveRequest *request;
    struct at_slice ids[AT_MEMBERS_MAX];
    uint32_t id_count;
    bool deleted;  /* by this call */
    bool restores; /* the record comes back */
    struct question *question;
    struct at_error error;
    uint64_t lost_count_min;
};

static enum at_code decide_end(struct at_write_catalog *write,
                               const struct at_catalog *catalog,
                               struct at_error *reterr);
static void on_left(struct at_leave *leave);
static void on_removed(struct at_remove *remove);
static void on_back(struct at_task *task);
static void on_cancel(struct at_grpc_call *call, void *ctx);

struct at_slice at_cluster_named_by(const struct at_catalog *catalog,
                                    struct at_slice cluster_id,
                                    struct at_arena *arena)
{
    uint32_t count = at_catalog_named_count(catalog, AT_CATALOG_PROFILE);

    for (uint32_t i = 0; i < count; i++) {
        const struct at_named_record *record = at_catalog_named_at(catalog, AT_CATALOG_PROFILE, i);
        struct at_profile profile;
        if (at_profile_decode(record->fields, arena, &profile, NULL) != AT_OK)
            continue;
        bool named =
            profile.routing == AT_ROUTING_SINGLE && at_slice_eq(profile.cluster_id, cluster_id);
        for (uint32_t k = 0; profile.routing == AT_ROUTING_ANY && k < profile.cluster_id_count; k++)
            named = named || at_slice_eq(profile.cluster_ids[k], cluster_id);
        if (named)
            return record->name;
    }
    return at_slice_make(NULL, 0);
}

static struct question *ask(struct ending *e)
{
    struct question *q = AT_NEW(struct question);

    q->task.run = on_back;
    q->loop = at_grpc_call_loop(e->change.call);
    q->ending = e;
    e->question = q;
    at_grpc_call_on_cancel(e->change.call, on_cancel, e);
    return q;
}

static void fail_unable(struct at_service *service, struct at_grpc_call *call, const char *what)
{
    struct at_error error;

    (void)at_fail(&error, AT_UNIMPLEMENTED, "This process can't %s", what);
    at_service_fail(service, call, &error);
}

/* --- leaving --- */

static void ask_leave(struct ending *e)
{
    struct at_service *service = e->change.service;
    struct question *q = ask(e);

    q->leave = (struct at_leave){.done = on_left, .ctx = q};
    service->port.leave(service->port.ctx, &q->leave);
}

static void on_left_recorded(struct at_change *change)
{
    struct ending *e = (struct ending *)change;

    if (at_grpc_call_cancelled(change->call)) {
        (void)at_fail(&e->error, AT_CANCELLED, "the call was cancelled");
        at_service_fail(change->service, change->call, &e->error);
        return; /* its record is gone: it leaves by itself, in a while */
    }
    ask_leave(e);
}

/* Then it writes nothing any more, and its record is gone. */
static bool leaves_already(struct at_service *service)
{
    struct at_replica_view view;

    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    bool leaves = view.mode == AT_MODE_LEAVING || view.mode == AT_MODE_REMOVED;
    at_replica_view_deinit(&view);
    return leaves;
}

void at_on_leave(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;

    if (!at_service_unpack(service, call, &atoll__v1__leave_request__descriptor))
        return;
    if (!service->port.leave) {
        fail_unable(service, call, "leave");
        return;
    }
    struct ending *e = AT_ARENA_NEW(at_grpc_call_arena(call), struct ending);
    e->ids[0] = at_slice_cstr(service->cluster_id);
    e->id_count = 1;
    e->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide_end, .reply = on_left_recorded};
    if (leaves_already(service))
        ask_leave(e);
    else
        at_change_submit(&e->change);
}

static void on_restored(struct at_change *change)
{
    struct ending *e = (struct ending *)change;

    at_service_fail(change->service, change->call, &e->error);
}

/* Refused: the record that was deleted comes back. */
static void restore(struct ending *e)
{
    e->restores = true;
    e->change.write = (struct at_write_catalog){.decide = decide_end};
    e->change.reply = e->change.refuse = on_restored;
    at_change_submit(&e->change);
}

/* --- removing --- */

static enum at_code check_unnamed(const struct at_catalog *catalog,
                                  struct at_slice id,
                                  struct at_arena *arena,
                                  struct at_error *reterr)
{
    struct at_slice profile = at_cluster_named_by(catalog, id, arena);

    if (profile.len == 0)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "Cluster '%.*s' can't be deleted: app profile '%.*s' routes to it",
                   AT_SLICE_ARG(id), AT_SLICE_ARG(profile));
}

static bool is_gone(struct at_service *service, struct at_member_id member)
{
    struct at_replica_view view;
    bool gone = member.v == 0; /* it was created, and has never joined */

    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    for (uint32_t i = 0; i < view.member_count; i++)
        gone = gone || (at_member_eq(view.members[i].id, member) && !view.members[i].active);
    at_replica_view_deinit(&view);
    return gone;
}

static enum at_code check_majority(const struct at_service *service,
                                   const Atoll__V1__RemoveRequest *in,
                                   const struct at_remove *remove,
                                   struct at_error *reterr);

static enum at_code find_members(struct ending *e,
                                 const struct at_catalog *catalog,
                                 struct at_remove *remove,
                                 struct at_error *reterr)
{
    struct at_service *service = e->change.service;
    struct at_arena *arena = at_grpc_call_arena(e->change.call);
    const Atoll__V1__RemoveRequest *in = e->request;
    struct at_cluster_entry entry;

    if (in->n_cluster_ids == 0 || in->n_cluster_ids >= AT_MEMBERS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'cluster_ids' : must have 1 to %d", AT_MEMBERS_MAX - 1);
    for (size_t i = 0; i < in->n_cluster_ids; i++) {
        struct at_slice id = at_slice_cstr(in->cluster_ids[i]);
        if (!at_cluster_entry(service, catalog, id, arena, &entry))
            return at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", in->cluster_ids[i]);
        struct at_member_id member = {entry.record->address->member_id};
        if (member.v == service->member)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "A cluster can't remove itself: ask another one, or let it leave");
        if (in->creating_only && !at_cluster_creating(&entry))
            return at_fail(reterr, AT_ABORTED, "Cluster %s is not CREATING any more",
                           in->cluster_ids[i]);
        if (in->operation[0] != '\0' && strcmp(in->operation, entry.record->operation) != 0)
            return at_fail(reterr, AT_ABORTED, "Cluster %s is not what %s creates",
                           in->cluster_ids[i], in->operation);
        if (in->creating_only)
            AT_TRY(check_unnamed(catalog, id, arena, reterr));
        e->ids[e->id_count++] = id;
        /* Else only its record is left of an earlier try, or it never came to have a number. */
        if (member.v != 0 && !is_gone(service, member))
            remove->members[remove->member_count++] = member;
    }
    return check_majority(service, in, remove, reterr);
}

/* Said before anything is fenced, which can't be taken back. */
static enum at_code check_majority(const struct at_service *service,
                                   const Atoll__V1__RemoveRequest *in,
                                   const struct at_remove *remove,
                                   struct at_error *reterr)
{
    struct at_replica_view view;
    uint32_t active = 0, going = 0;

    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    for (uint32_t i = 0; i < view.member_count; i++) {
        active += view.members[i].active;
        for (uint32_t k = 0; k < remove->member_count; k++)
            going += view.members[i].active && at_member_eq(view.members[i].id, remove->members[k]);
    }
    at_replica_view_deinit(&view);
    if (in->minority_survives || in->creating_only || going == 0 || 2 * (active - going) > active)
        return AT_OK;
    return at_fail(
        reterr, AT_FAILED_PRECONDITION,
        "Only a minority of the %u clusters would be left: others may go on elsewhere. If "
        "those to be removed are dead for good, let the minority survive",
        active);
}

static uint32_t timeout_ms(const struct at_grpc_call *call)
{
    uint64_t now_ns = at_loop_now_ns(at_grpc_call_loop(call));
    uint64_t end_ns = at_grpc_call_deadline_ns(call);
    uint64_t left_ms = end_ns > now_ns ? (end_ns - now_ns) / AT_MS_NS : 0;

    left_ms -= left_ms / 10; /* so that the answer says more than that it came too late */
    return (uint32_t)(left_ms < REMOVE_MS_MAX ? left_ms : REMOVE_MS_MAX);
}

static void on_removed_recorded(struct at_change *change)
{
    const struct ending *e = (struct ending *)change;
    Atoll__V1__RemoveResponse out = ATOLL__V1__REMOVE_RESPONSE__INIT;

    out.lost_count_min = e->lost_count_min;
    at_service_reply(change->service, change->call, &out.base);
}

void at_on_remove(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_remove remove = {.timeout_ms = timeout_ms(call)};
    const Atoll__V1__RemoveRequest *in =
        at_service_unpack(service, call, &atoll__v1__remove_request__descriptor);

    if (!in)
        return;
    if (!service->port.remove) {
        fail_unable(service, call, "remove clusters");
        return;
    }
    struct ending *e = AT_ARENA_NEW(at_grpc_call_arena(call), struct ending);
    e->request = in;
    e->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide_end, .reply = on_removed_recorded};
    struct at_schema *schema = at_store_schema(service->store);
    enum at_code code = find_members(e, schema->catalog, &remove, &e->error);
    at_schema_unref(&schema);
    if (code != AT_OK) {
        at_service_fail(service, call, &e->error);
        return;
    }
    if (remove.member_count == 0) {
        at_change_submit(&e->change);
        return;
    }
    struct question *q = ask(e);
    q->remove = remove;
    q->remove.minority_survives = in->minority_survives || in->creating_only;
    q->remove.done = on_removed;
    q->remove.ctx = q;
    service->port.remove(service->port.ctx, &q->remove);
}

/* --- the way back; on the peering thread --- */

static void come_back(struct question *q)
{
    int out = PHASE_OUT;

    if (atomic_compare_exchange_strong(&q->phase, &out, PHASE_BACK))
        at_loop_post(q->loop, &q->task);
    else
        at_free(q);
}

static void on_left(struct at_leave *leave)
{
    come_back(leave->ctx);
}

static void on_removed(struct at_remove *remove)
{
    come_back(remove->ctx);
}

/* --- on the loop thread --- */

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct ending *e = ctx;
    struct question *q = AT_TAKE(e->question);
    int out = PHASE_OUT;

    if (!q)
        return;
    q->ending = NULL;
    (void)atomic_compare_exchange_strong(&q->phase, &out, PHASE_ALONE);
    (void)at_fail(&e->error, AT_CANCELLED, "the call was cancelled");
    at_service_fail(e->change.service, call, &e->error);
}

static void finish_leave(struct ending *e, const struct at_leave *leave)
{
    static const Atoll__V1__LeaveResponse ANSWER = ATOLL__V1__LEAVE_RESPONSE__INIT;

    if (leave->code == AT_OK) {
        at_service_reply(e->change.service, e->change.call, &ANSWER.base);
        return;
    }
    e->error = leave->error;
    if (e->deleted)
        restore(e);
    else
        at_service_fail(e->change.service, e->change.call, &e->error);
}

static void finish_remove(struct ending *e, const struct at_remove *remove)
{
    e->error = remove->error;
    e->lost_count_min = remove->lost_count_min;
    if (remove->code == AT_OK)
        at_change_submit(&e->change);
    else
        at_service_fail(e->change.service, e->change.call, &e->error);
}

static void on_back(struct at_task *task)
{
    struct question *q = (struct question *)task; /* its first member */
    struct ending *e = q->ending;

    if (e) {
        e->question = NULL;
        if (e->request)
            finish_remove(e, &q->remove);
        else
            finish_leave(e, &q->leave);
    }
    at_free(q);
}

/* --- on the writer thread --- */

static enum at_code
check_leave(const struct ending *e, const struct at_catalog *catalog, struct at_error *reterr)
{
    const struct at_service *service = e->change.service;
    struct at_arena *arena = e->change.write.arena;

    uint64_t counter = at_catalog_named_counter(catalog, AT_CATALOG_CLUSTER, e->ids[0]);

    if (counter > 0 && counter % 2 == 0)
        return AT_OK; /* asked again */
    if (at_cluster_entries(service, catalog, arena).count < 2)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "The last cluster of an instance can't be deleted: delete the instance");
    struct at_slice backup = at_backup_of_cluster(catalog, e->ids[0]);
    if (backup.len > 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "Cluster '%s' can't be deleted: it has backups, '%.*s' for one",
                       service->cluster_id, AT_SLICE_ARG(backup));
    return check_unnamed(catalog, e->ids[0], arena, reterr);
}

/* The creation of what is deleted ends without it. */
static void end_creation(struct ending *e,
                         const struct at_catalog *catalog,
                         const struct at_cluster_entry *entry)
{
    struct at_write_catalog *write = &e->change.write;
    struct at_slice name = at_slice_cstr(entry->record->operation);
    const struct at_named_record *record = at_catalog_named(catalog, AT_CATALOG_OPERATION, name);
    struct at_slice ended = {0};

    bool cancelled = e->request && e->request->operation[0] != '\0';

    /* It may have become READY while the others were asked: it is gone all the same. */
    if (record && (at_cluster_creating(entry) || cancelled))
        ended = at_operation_ended(record, write->arena, cancelled ? AT_CANCELLED : AT_ABORTED,
                                   cancelled ? "The operation was cancelled"
                                             : "The cluster was deleted before it was READY");
    if (ended.len > 0)
        *at_change_record(write, 2 * e->id_count) =
            (struct at_catalog_record){.kind = AT_CATALOG_OPERATION,
                                       .name = name,
                                       .counter = record->generation,
                                       .fields = ended};
}

static enum at_code decide_end(struct at_write_catalog *write,
                               const struct at_catalog *catalog,
                               struct at_error *reterr)
{
    struct ending *e = (struct ending *)at_change_of(write);
    struct at_cluster_entry entry;

    if (e->restores) {
        at_cluster_restore(write, catalog, e->ids[0]);
        return AT_OK;
    }
    if (!e->request)
        AT_TRY(check_leave(e, catalog, reterr));
    for (uint32_t i = 0; i < e->id_count; i++) {
        if (!at_cluster_entry(e->change.service, catalog, e->ids[i], write->arena, &entry))
            continue;
        e->deleted = true;
        uint64_t counter = at_catalog_named_counter(catalog, AT_CATALOG_CLUSTER, e->ids[i]);
        *at_change_record(write, 2 * e->id_count) = (struct at_catalog_record){
            .kind = AT_CATALOG_CLUSTER,
            .name = e->ids[i],
            .counter = (counter | 1) + 1,
            /* Of one that leaves they are kept: it may have to stay. */
            .fields = e->request ? at_slice_make(NULL, 0)
                                 : at_admin_pack(write->arena, &entry.record->base),
        };
        end_creation(e, catalog, &entry);
    }
    return AT_OK;
}

void at_cluster_restore(struct at_write_catalog *write,
                        const struct at_catalog *catalog,
                        struct at_slice id)
{
    const struct at_catalog_record *deleted = at_catalog_record_of(catalog, AT_CATALOG_CLUSTER, id);

    if (!deleted || deleted->counter % 2 == 1 || deleted->fields.len == 0)
        return;
    *at_change_record(write, 2) =
        (struct at_catalog_record){.kind = AT_CATALOG_CLUSTER,
                                   .name = at_arena_copy(write->arena, id),
                                   .counter = deleted->counter + 1,
                                   .fields = at_arena_copy(write->arena, deleted->fields)};
}

/* --- releasing --- */

struct release {
    struct at_change change; /* first */
    uint64_t hlc;
    struct at_operation act;
};

static enum at_code decide_release(struct at_write_catalog *write,
                                   const struct at_catalog *catalog,
                                   struct at_error *reterr)
{
    struct release *r = (struct release *)at_change_of(write);

    (void)catalog;
    (void)reterr;
    r->act = (struct at_operation){.kind = AT_OPERATION_RELEASE, .hlc = r->hlc};
    write->acts = &r->act;
    write->act_count = 1;
    return AT_OK;
}

static void on_released(struct at_change *change)
{
    Atoll__V1__ReleaseResponse out = ATOLL__V1__RELEASE_RESPONSE__INIT;

    out.released_hlc = ((struct release *)change)->hlc;
    at_service_reply(change->service, change->call, &out.base);
}

/* A clock that was set back does not take back what it stamped. */
static uint64_t stamped_so_far(struct at_service *service)
{
    uint64_t wall_ns = at_clock_wall_ns(&service->clock);
    struct at_replica_view view;

    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    uint64_t hlc = view.hlc;
    at_replica_view_deinit(&view);
    return hlc > wall_ns ? hlc : wall_ns;
}

void at_on_release(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Atoll__V1__ReleaseRequest *in =
        at_service_unpack(service, call, &atoll__v1__release_request__descriptor);

    if (!in)
        return;
    uint64_t now = stamped_so_far(service);
    bool far = in->at_least_hlc > now && in->at_least_hlc - now > RELEASE_SPAN_MS_MAX * AT_MS_NS;
    if (in->span_ms > RELEASE_SPAN_MS_MAX || far) {
        (void)at_fail(&error, AT_INVALID_ARGUMENT, "Error in field '%s' : at most a year",
                      far ? "at_least_hlc" : "span_ms");
        at_service_fail(service, call, &error);
        return;
    }
    struct release *r = AT_ARENA_NEW(at_grpc_call_arena(call), struct release);
    r->hlc = now + in->span_ms * AT_MS_NS;
    if (r->hlc < in->at_least_hlc)
        r->hlc = in->at_least_hlc;
    r->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide_release, .reply = on_released};
    at_change_submit(&r->change);
}
