/* desk_impl.h: an act on one cluster, for the files of the desk that make and remove them. ADAPTER.
 *
 * Loop thread of the call. An act is freed by at_desk_act_refuse while it has not begun, by
 * at_desk_act_end since. */
#ifndef ATOLL_ROUTING_PROXY_DESK_IMPL_H
#define ATOLL_ROUTING_PROXY_DESK_IMPL_H

#include "atoll/v1/control.pb-c.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "routing/proxy/desk.h"
#include "routing/proxy/inquiry.h"

#define AT_DESK_REMOVE_NS (30 * AT_S_NS)

struct at_desk_act {
    struct at_inquiry inquiry; /* its front is kept by at_front_begin */
    struct at_desk *desk;
    struct at_grpc_call *call; /* NULL: answered, or the client has gone */
    struct at_loop *loop;
    struct at_arena arena;
    struct at_slice name;    /* "projects/P/instances/I/clusters/C" */
    struct at_slice project; /* parts of it */
    struct at_slice instance;
    struct at_slice cluster;
    struct at_front_pick pick; /* the registrar, or the one that leaves */
    uv_timer_t again;          /* tries once more */
    bool has_timer;
    bool marked; /* the name is this act's */
    uint64_t leave_until_ns;
    struct at_error error; /* of a creation that is taken back; why a cluster does not leave */
    const struct at_desk_method *cancels; /* CancelOperation; else NULL */
    char *operation;                      /* which */
    /* creation */
    Google__Bigtable__Admin__V2__CreateClusterRequest *request;
    struct at_slice request_bytes;
    const char *zone;
    Atoll__V1__ClusterAddress address;
};

struct at_desk_act *at_desk_act_new(struct at_desk *desk, struct at_grpc_call *call);
struct at_desk_act *at_desk_act_of(struct at_inquiry *inquiry);
/* at_desk_act_aim finds the front of the cluster's instance. INVALID_ARGUMENT, NOT_FOUND. */
AT_MUST_USE enum at_code
at_desk_act_aim(struct at_desk_act *a, struct at_slice name, struct at_error *reterr);
/* at_desk_act_mark takes the cluster's name, until the act ends. FAILED_PRECONDITION: another act
 * has it. */
AT_MUST_USE enum at_code at_desk_act_mark(struct at_desk_act *a, struct at_error *reterr);
/* at_desk_act_begin keeps the front, until the act ends. A client that gives up ends no act. */
void at_desk_act_begin(struct at_desk_act *a);
void at_desk_act_end(struct at_desk_act *a);
/* at_desk_act_fail answers, if nobody did; at_desk_act_refuse also frees. */
void at_desk_act_fail(struct at_desk_act *a, const struct at_error *error);
void at_desk_act_refuse(struct at_desk_act *a, const struct at_error *error);
void at_desk_act_free(struct at_desk_act *a);
/* at_desk_act_again calls `again`, with the act as the timer's data, in a moment. */
void at_desk_act_again(struct at_desk_act *a, uv_timer_cb again);
/* at_desk_act_spec is what the launcher is told. */
json_t *at_desk_act_spec(const struct at_desk_act *a);

#endif
