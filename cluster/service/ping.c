#include "cluster/service/data.h"

#include "google/bigtable/v2/bigtable.pb-c.h"

/* Channel pools call PingAndWarm before they use a connection: it says whether instance and app
 * profile are served here, and there is nothing to warm. */

static enum at_code check(struct at_service *service,
                          const Google__Bigtable__V2__PingAndWarmRequest *in,
                          struct at_error *reterr)
{
    AT_TRY(at_service_instance_check(service, at_slice_cstr(in->name), reterr));
    return at_service_profile_check(service, at_slice_cstr(in->name),
                                    at_slice_cstr(in->app_profile_id), AT_USE_READ, reterr);
}

void at_on_ping_and_warm(struct at_grpc_call *call, void *ctx)
{
    static const Google__Bigtable__V2__PingAndWarmResponse ANSWER =
        GOOGLE__BIGTABLE__V2__PING_AND_WARM_RESPONSE__INIT;
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__V2__PingAndWarmRequest *in =
        at_service_unpack(service, call, &google__bigtable__v2__ping_and_warm_request__descriptor);

    if (!in)
        return;
    if (check(service, in, &error) != AT_OK)
        at_service_fail(service, call, &error);
    else
        at_service_reply(service, call, &ANSWER.base);
}
