#include "cluster/control/cut.h"

#include "atoll/v1/control.pb-c.h"
#include "cluster/admin/instance_view.h"

static enum at_code set_cut(struct at_service *service,
                            const Atoll__V1__SetCutRequest *in,
                            const struct at_cluster_entries *all,
                            struct at_error *reterr)
{
    bool found = in->cluster_id[0] == '\0';

    for (uint32_t i = 0; i < all->count; i++) {
        const Atoll__V1__ClusterAddress *there = all->items[i].record->address;
        if (there->member_id == service->member)
            continue;
        if (in->cluster_id[0] != '\0' && !at_slice_eq_cstr(all->items[i].id, in->cluster_id))
            continue;
        found = true;
        service->port.cut(service->port.ctx, (struct at_member_id){there->member_id}, in->asking,
                          in->answering);
    }
    if (!found)
        return at_fail(reterr, AT_NOT_FOUND, "Cluster %s is not another one of this instance",
                       in->cluster_id);
    return AT_OK;
}

void at_on_set_cut(struct at_grpc_call *call, void *ctx)
{
    static const Atoll__V1__SetCutResponse ANSWER = ATOLL__V1__SET_CUT_RESPONSE__INIT;
    struct at_service *service = ctx;
    struct at_error error;
    const Atoll__V1__SetCutRequest *in =
        at_service_unpack(service, call, &atoll__v1__set_cut_request__descriptor);

    if (!in)
        return;
    if (!service->port.cut) {
        (void)at_fail(&error, AT_UNIMPLEMENTED, "This process has no links");
        at_service_fail(service, call, &error);
        return;
    }
    struct at_schema *schema = at_store_schema(service->store);
    struct at_cluster_entries all =
        at_cluster_entries(service, schema->catalog, at_grpc_call_arena(call));
    enum at_code code = set_cut(service, in, &all, &error);
    at_schema_unref(&schema);
    if (code == AT_OK)
        at_service_reply(service, call, &ANSWER.base);
    else
        at_service_fail(service, call, &error);
}
