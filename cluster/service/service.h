/* service.h: what every RPC handler of a cluster knows, and what they share. ADAPTER.
 *
 * Handlers run on the loop thread of the call. Reads run there too, in bounded steps; everything
 * that mutates goes to the store's writer and comes back to the loop by at_loop_post. A handler
 * allocates from the call's arena, which lives until finish. */
#ifndef ATOLL_CLUSTER_SERVICE_SERVICE_H
#define ATOLL_CLUSTER_SERVICE_SERVICE_H

#include "appprofile/profile.h"
#include "cluster/tablet/store.h"
#include "wire/grpc_server.h"
#include "wire/proto_alloc.h"

struct at_survey;
struct at_spread_wait;
struct at_service_state;
struct at_link_status;
struct at_leave;
struct at_remove;
struct at_member_progress;
struct at_copy_table_progress;

struct at_service_member {
    uint32_t member;
    const char *cluster_id;
    const char *zone;
};

/* What replication looks like from here, in a few words. */
struct at_service_lag {
    bool alone;  /* no other member is heard: there is nothing to lag behind */
    bool known;  /* every member that is heard has told what it has */
    uint64_t ms; /* upper bound of what is missing here */
};

/* What the services need from replication; given as a port so that they link without it. */
struct at_service_port {
    void *ctx;
    void (*survey)(void *ctx, struct at_survey *survey);
    void (*wait_spread)(void *ctx, struct at_spread_wait *wait);
    /* Links in the order of the members; returns the count. */
    uint32_t (*links)(void *ctx, struct at_link_status *ret_links, uint32_t count_max);
    struct at_service_lag (*lag)(void *ctx);
    /* Of membership. Any of them may be NULL: then this process can't do that. */
    void (*leave)(void *ctx, struct at_leave *leave);
    void (*remove)(void *ctx, struct at_remove *remove);
    /* For drills, as at_peering_cut. */
    void (*cut)(void *ctx, struct at_member_id member, bool asking, bool answering);
    /* How far other members are filled, and of the copy that fills this one; return the count. */
    uint32_t (*progress)(void *ctx, struct at_member_progress *ret_members, uint32_t count_max);
    uint32_t (*copy_progress)(void *ctx,
                              struct at_copy_table_progress *ret_tables,
                              uint32_t count_max);
};

struct at_service {
    struct at_store *store;
    struct at_clock clock;
    const char *project;
    const char *instance;
    const char *display_name;                           /* NULL: the instance's id */
    const struct Atoll__V1__InstanceSettings *settings; /* told to who joins; NULL: nothing */
    uint32_t undelete_retention_s;                      /* 0: deleted tables can't be had back */
    const char *backup_dir;   /* where the files of backups are; NULL: none can be made */
    bool accept_any_instance; /* every other well-formed instance name is served too */
    const char *cluster_id;
    const char *zone;
    uint32_t member;
    uint16_t grpc_port; /* known once the server listens */
    uint16_t peer_port;
    const struct at_service_member *members; /* of the instance, self included */
    uint32_t member_count;
    struct at_service_port port;
    _Atomic bool draining;
    uint8_t response_params[128]; /* serialized ResponseParams of this cluster */
    size_t response_params_size;
    struct at_service_state *state; /* made by at_service_methods */
};

/* --- shared by handlers (request.c) --- */

/* at_service_begin puts what every answer carries: ResponseParams and server-timing. Call before
 * the first send and before finish; once. */
void at_service_begin(struct at_service *service, struct at_grpc_call *call);

/* at_service_fail is at_service_begin (if not done) and at_grpc_call_fail, with the advice to try
 * again when the error has any. */
void at_service_fail(struct at_service *service,
                     struct at_grpc_call *call,
                     const struct at_error *error);
/* at_service_fail_with says more: a serialized google.rpc.Status (see details.h). */
void at_service_fail_with(struct at_service *service,
                          struct at_grpc_call *call,
                          const struct at_error *error,
                          struct at_slice details);

/* at_service_reply packs and sends one message, then finishes with OK. */
void at_service_reply(struct at_service *service,
                      struct at_grpc_call *call,
                      const ProtobufCMessage *message);

/* at_service_unpack decodes the request into the call's arena; on malformed bytes it answers
 * INVALID_ARGUMENT itself and returns NULL. */
void *at_service_unpack(struct at_service *service,
                        struct at_grpc_call *call,
                        const ProtobufCMessageDescriptor *descriptor);

/* at_service_table_id takes "projects/P/instances/I/tables/T" apart, into the name that the table
 * is kept by (base/namespace.h): INVALID_ARGUMENT when it has another form, NOT_FOUND when it is of
 * another instance and that is not accepted. Borrows `name`. */
AT_MUST_USE enum at_code at_service_table_id(const struct at_service *service,
                                             struct at_slice name,
                                             struct at_slice *ret_table_id,
                                             struct at_error *reterr);

/* at_service_namespace: the instance that "projects/P/instances/I[/...]" begins with; empty when it
 * is the home instance. Codes as above. Borrows `name`. */
AT_MUST_USE enum at_code at_service_namespace(const struct at_service *service,
                                              struct at_slice name,
                                              struct at_slice *ret_namespace,
                                              struct at_error *reterr);

/* at_service_instance_check: "projects/P/instances/I", likewise. */
AT_MUST_USE enum at_code at_service_instance_check(const struct at_service *service,
                                                   struct at_slice name,
                                                   struct at_error *reterr);

enum at_profile_use { AT_USE_READ, AT_USE_WRITE, AT_USE_TRANSACTION };

/* at_service_profile_check: may a request of this kind run here by app profile `id` (empty:
 * "default") of the instance that `name`, already checked, is in? NOT_FOUND: no such profile.
 * FAILED_PRECONDITION: the profile does not route to this cluster, does not allow transactions, or
 * is read-only. This cluster's own catalog decides. An instance that did not change its "default"
 * has that of the home instance. */
AT_MUST_USE enum at_code at_service_profile_check(struct at_service *service,
                                                  struct at_slice name,
                                                  struct at_slice id,
                                                  enum at_profile_use use,
                                                  struct at_error *reterr);

#endif
