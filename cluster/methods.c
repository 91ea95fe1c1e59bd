#include "cluster/methods.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/admin/admin.h"
#include "cluster/admin/backup.h"
#include "cluster/control/control_methods.h"
#include "cluster/service/data.h"
#include "cluster/service/state.h"

/* The methods of all rooms in one array, with what the handlers keep between requests hanging on
 * the service for as long as the array lives. */

#define METHODS_MAX 256

struct method_room {
    struct at_service *service;
    struct at_grpc_method methods[METHODS_MAX];
};

const struct at_grpc_method *at_service_methods(struct at_service *service, size_t *ret_count)
{
    struct method_room *room = AT_NEW(struct method_room);
    struct at_grpc_method *methods = room->methods;
    size_t count = 0;

    AT_ASSERT(!service->state);
    service->state = at_service_state_new();
    room->service = service;
    count += at_data_methods(service, methods + count, METHODS_MAX - count);
    count += at_table_admin_methods(service, methods + count, METHODS_MAX - count);
    count += at_profile_admin_methods(service, methods + count, METHODS_MAX - count);
    count += at_namespace_admin_methods(service, methods + count, METHODS_MAX - count);
    count += at_backup_methods(service, methods + count, METHODS_MAX - count);
    count += at_control_methods(service, methods + count, METHODS_MAX - count);
    count += at_health_methods(service, methods + count, METHODS_MAX - count);
    AT_ASSERT(count + AT_GRPC_REFLECTION_METHODS <= METHODS_MAX);
    at_grpc_reflection_methods(&service->state->reflection, methods + count);
    count += AT_GRPC_REFLECTION_METHODS;
    service->state->reflection =
        (struct at_grpc_reflection){.methods = methods, .method_count = count};
    *ret_count = count;
    return methods;
}

void at_service_methods_free(const struct at_grpc_method **methods)
{
    if (!*methods)
        return;
    union {
        const char *in;
        struct method_room *out;
    } room = {.in = (const char *)*methods - offsetof(struct method_room, methods)};
    at_service_state_free(&room.out->service->state);
    at_free(room.out);
    *methods = NULL;
}
