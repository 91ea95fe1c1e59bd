#include "base/assert.h"
#include "cluster/service/data.h"

/* RPCs of the public API that this server does not offer still say so by name. */

void at_on_unimplemented(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const char *path = at_grpc_call_path(call);
    const char *slash = strrchr(path, '/');

    enum at_code code = at_fail(&error, AT_UNIMPLEMENTED, "%s is not supported by this server",
                                slash ? slash + 1 : path);
    AT_ASSERT(code == AT_UNIMPLEMENTED);
    at_service_fail(service, call, &error);
}
