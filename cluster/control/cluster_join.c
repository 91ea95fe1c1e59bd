#include "cluster/control/cluster_join.h"

#include "base/alloc.h"
#include "base/prng.h"
#include "cluster/admin/instance_view.h"
#include "cluster/control/cluster_add.h"
#include "cluster/model/operation.h"
#include "wire/cluster_fields.h"

/* CreateCluster left a record without a member number, so that a cluster which never comes holds
 * nothing back. Here it gets its number, and its registration as a member, in one commit.
 *
 * Nobody can be asked which numbers were ever given, and two sides of a partition may give one at
 * the same time: it is drawn by lot, beyond those that launchers count up. */

#define LOT_MIN (UINT32_C(1) << 20)
#define LOT_MAX (UINT32_C(999999999)) /* what launchers can read again */

struct join {
    struct at_change change; /* first */
    const Atoll__V1__ClusterAddress *from;
    struct at_slice id;
    uint32_t lot;    /* its number, if it has none yet */
    uint32_t member; /* its number */
    char *zone;
    struct at_operation act;
};

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr);

static void on_joined(struct at_change *change)
{
    const struct join *j = (struct join *)change;
    Atoll__V1__JoinResponse out = ATOLL__V1__JOIN_RESPONSE__INIT;

    out.member_id = j->member;
    out.zone = j->zone;
    out.members = at_members_response(change->service, at_grpc_call_arena(change->call));
    at_service_reply(change->service, change->call, &out.base);
}

static enum at_code check(const Atoll__V1__ClusterAddress *from, struct at_error *reterr)
{
    if (!from)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'address' : must be set");
    AT_TRY(at_cluster_id_check(from->cluster_id, reterr));
    if (from->host[0] == '\0' || from->grpc_port == 0 || from->grpc_port > UINT16_MAX ||
        from->peer_port == 0 || from->peer_port > UINT16_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'address' : host and both ports must be set");
    return AT_OK;
}

void at_on_join(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Atoll__V1__JoinRequest *in =
        at_service_unpack(service, call, &atoll__v1__join_request__descriptor);

    if (!in)
        return;
    if (check(in->address, &error) != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    struct join *j = AT_ARENA_NEW(at_grpc_call_arena(call), struct join);
    at_random_bytes(&j->lot, sizeof(j->lot));
    j->lot = LOT_MIN + j->lot % (LOT_MAX - LOT_MIN);
    j->from = in->address;
    j->id = at_slice_cstr(in->address->cluster_id);
    j->change = (struct at_change){
        .service = service, .call = call, .write.decide = decide, .reply = on_joined};
    at_change_submit(&j->change);
}

/* --- on the writer thread --- */

static bool is_same_place(const Atoll__V1__ClusterAddress *a, const Atoll__V1__ClusterAddress *b)
{
    return strcmp(a->host, b->host) == 0 && a->grpc_port == b->grpc_port &&
           a->peer_port == b->peer_port;
}

static bool is_free(const struct at_service *service,
                    const struct at_catalog *catalog,
                    uint32_t number,
                    struct at_arena *arena)
{
    struct at_cluster_entries all = at_cluster_entries(service, catalog, arena);

    for (uint32_t i = 0; i < all.count; i++)
        if (all.items[i].record->address->member_id == number)
            return false;
    return true;
}

static enum at_code place(struct join *j, Atoll__V1__ClusterAddress *address, struct at_error *e)
{
    struct at_arena *arena = j->change.write.arena;
    struct at_slice info;

    address->member_id = j->member;
    address->host = j->from->host;
    address->grpc_port = j->from->grpc_port;
    address->peer_port = j->from->peer_port;
    AT_TRY(at_cluster_address_info(j->id, address, arena, &info, e));
    j->act = (struct at_operation){
        .kind = AT_OPERATION_MEMBER,
        .members = {{j->member}},
        .member_count = 1,
        .info = info,
    };
    return AT_OK;
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *catalog, struct at_error *reterr)
{
    struct join *j = (struct join *)at_change_of(write);
    const struct at_service *service = j->change.service;
    struct at_cluster_entry entry;

    if (!at_cluster_entry(service, catalog, j->id, write->arena, &entry) || entry.generation == 0)
        return at_fail(reterr, AT_NOT_FOUND,
                       "Cluster %.*s is not there to be joined: create it first",
                       AT_SLICE_ARG(j->id));
    Atoll__V1__ClusterAddress *address = entry.record->address;
    j->zone = at_arena_printf(write->arena, "%s", address->zone);
    j->member = address->member_id;
    if (j->member != 0 && is_same_place(address, j->from))
        return AT_OK;
    if (j->member != 0)
        return at_fail(reterr, AT_ALREADY_EXISTS, "Cluster %.*s is at %s:%u already",
                       AT_SLICE_ARG(j->id), address->host, address->grpc_port);
    if (!is_free(service, catalog, j->lot, write->arena))
        return at_fail(reterr, AT_UNAVAILABLE, "The number that was drawn is taken; try again");
    j->member = j->lot;
    AT_TRY(place(j, address, reterr));
    *at_change_record(write, 1) = (struct at_catalog_record){
        .kind = AT_CATALOG_CLUSTER,
        .name = j->id,
        .counter = entry.generation,
        .fields = at_admin_pack(write->arena, &entry.record->base),
    };
    write->acts = &j->act;
    write->act_count = 1;
    return AT_OK;
}
