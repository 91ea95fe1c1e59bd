/* admin_fixture.h: all services of a cluster over loopback: a real store, a gRPC server on two
 * loops and a channel on the test's thread. The instance has a second member, c2, which is played
 * by the test through the port: it holds waits back, or answers surveys with what it is said to
 * have. */
#ifndef ATOLL_TESTS_SUPPORT_ADMIN_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_ADMIN_FIXTURE_H

#include <stdatomic.h>

#include "atoll/v1/control.pb-c.h"
#include "cluster/admin/admin.h"
#include "cluster/methods.h"
#include "cluster/service/state.h"
#include "google/iam/v1/iam_policy.pb-c.h"
#include "google/longrunning/operations.pb-c.h"
#include "google/protobuf/empty.pb-c.h"
#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"
#include "grpc/health/v1/health.pb-c.h"
#include "support/proto_text.h"
#include "support/store_fixture.h"
#include "support/test.h"
#include "support/wire_text.h"
#include "wire/grpc_client.h"

#define AFX_LOOPS 2
#define AFX_INSTANCE "projects/p/instances/i"
#define AFX_T AFX_INSTANCE "/tables/t"
#define AFX_WAITS_MAX 8

/* What c2 does. */
enum afx_peer {
    AFX_PEER_FOLLOWS, /* has everything at once */
    AFX_PEER_GONE,    /* is out of touch */
    AFX_PEER_HOLDS,   /* is in touch; waits and surveys are held until afx_release */
    AFX_PEER_BEHIND,  /* in touch, answers surveys with what it had at afx_freeze */
};

struct afx {
    struct fx fx;
    struct at_arena arena;
    struct at_catalog_record genesis;
    struct at_service service;
    struct at_service_member members[2];
    const struct at_grpc_method *methods;
    struct at_loop *loops[AFX_LOOPS];
    struct at_grpc_server *server;
    struct at_loop *loop; /* of the test */
    struct at_grpc_channel *channel;
    _Atomic int peer;       /* enum afx_peer */
    atomic_uint wait_count; /* asked so far */
    sem_t asked;
    pthread_mutex_t lock;
    struct at_spread_wait *waits[AFX_WAITS_MAX];
    struct at_survey *surveys[AFX_WAITS_MAX];
    unsigned held_count;
    struct at_replica_view now;
    struct at_replica_view frozen;
    struct at_vector_answer answers[2];
};

struct afx_call {
    struct afx *s;
    bool done;
    enum at_code code;
    char message[600];
    struct at_buf details;
    struct at_buf bytes; /* of all messages */
    struct at_buf text;  /* the messages as proto_text, each followed by ';' but the last one */
    const ProtobufCMessageDescriptor *type;
};

/* --- the port --- */

static inline void afx_hold(struct afx *s, struct at_spread_wait *wait, struct at_survey *survey)
{
    pthread_mutex_lock(&s->lock);
    AT_ASSERT(s->held_count < AFX_WAITS_MAX);
    s->waits[s->held_count] = wait;
    s->surveys[s->held_count++] = survey;
    pthread_mutex_unlock(&s->lock);
}

static inline void afx_wait_spread(void *ctx, struct at_spread_wait *wait)
{
    struct afx *s = ctx;
    int peer = atomic_load(&s->peer);

    atomic_fetch_add(&s->wait_count, 1);
    if (peer == AFX_PEER_HOLDS) {
        afx_hold(s, wait, NULL);
    } else {
        wait->all = peer == AFX_PEER_FOLLOWS;
        wait->done(wait);
    }
    sem_post(&s->asked);
}

static inline void afx_answer(struct afx *s, unsigned i, const struct at_replica_view *view)
{
    s->answers[i] = (struct at_vector_answer){.instance_id = view->instance_id,
                                              .from = fx_members[i],
                                              .ready = true,
                                              .durable = view->applied,
                                              .facts = view->facts,
                                              .member_count = 2,
                                              .members = {{1}, {2}}};
}

static inline void afx_fill_survey(struct afx *s, struct at_survey *survey)
{
    int peer = atomic_load(&s->peer);

    at_store_view(s->fx.store, &s->now);
    afx_answer(s, 0, &s->now);
    afx_answer(s, 1, peer == AFX_PEER_BEHIND ? &s->frozen : &s->now);
    for (uint32_t i = 0; i < 2; i++) {
        survey->members[i] = fx_members[i];
        survey->answers[i] = i == 1 && peer == AFX_PEER_GONE ? NULL : &s->answers[i];
    }
    survey->count = 2;
}

static inline void afx_survey(void *ctx, struct at_survey *survey)
{
    struct afx *s = ctx;

    if (atomic_load(&s->peer) == AFX_PEER_HOLDS) {
        afx_hold(s, NULL, survey);
    } else {
        afx_fill_survey(s, survey);
        survey->done(survey);
    }
    sem_post(&s->asked);
}

static inline uint32_t afx_links(void *ctx, struct at_link_status *ret_links, uint32_t count_max)
{
    struct afx *s = ctx;

    AT_ASSERT(count_max >= 1);
    ret_links[0] = (struct at_link_status){
        .peer = {2},
        .state = atomic_load(&s->peer) == AFX_PEER_GONE ? AT_LINK_CUT : AT_LINK_STREAMING};
    return 1;
}

static inline struct at_service_lag afx_lag(void *ctx)
{
    (void)ctx;
    return (struct at_service_lag){.alone = true};
}

/* afx_freeze remembers what c2 has from now on, being AFX_PEER_BEHIND. */
static inline void afx_freeze(struct afx *s)
{
    at_store_view(s->fx.store, &s->frozen);
    atomic_store(&s->peer, AFX_PEER_BEHIND);
}

static inline void afx_await_asked(struct afx *s)
{
    while (sem_wait(&s->asked) != 0)
        continue;
}

/* afx_release ends what is held, on this thread, as c2 `peer` would. */
static inline void afx_release(struct afx *s, enum afx_peer peer)
{
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->peer, (int)peer);
    for (unsigned i = 0; i < s->held_count; i++) {
        if (s->waits[i]) {
            s->waits[i]->all = peer == AFX_PEER_FOLLOWS;
            s->waits[i]->done(s->waits[i]);
        } else {
            afx_fill_survey(s, s->surveys[i]);
            s->surveys[i]->done(s->surveys[i]);
        }
    }
    s->held_count = 0;
    pthread_mutex_unlock(&s->lock);
}

/* --- opening --- */

static inline void afx_serve(struct afx *s)
{
    struct at_error error;
    struct at_grpc_server_config config = {
        .host = "127.0.0.1", .loops = s->loops, .loop_count = AFX_LOOPS};

    s->members[0] = (struct at_service_member){1, "c1", "z1"};
    s->members[1] = (struct at_service_member){2, "c2", "z2"};
    s->service = (struct at_service){.store = s->fx.store,
                                     .undelete_retention_s = 3600,
                                     .clock = at_clock_system(),
                                     .project = "p",
                                     .instance = "i",
                                     .cluster_id = "c1",
                                     .zone = "z1",
                                     .member = 1,
                                     .members = s->members,
                                     .member_count = 2,
                                     .port = {.ctx = s,
                                              .survey = afx_survey,
                                              .wait_spread = afx_wait_spread,
                                              .links = afx_links,
                                              .lag = afx_lag}};
    s->methods = at_service_methods(&s->service, &config.method_count);
    config.methods = s->methods;
    for (int i = 0; i < AFX_LOOPS; i++)
        s->loops[i] = at_loop_new(at_clock_system());
    assert_int_equal(at_grpc_server_open(&config, &s->server, &error), AT_OK);
    for (int i = 0; i < AFX_LOOPS; i++)
        assert_int_equal(at_loop_start(s->loops[i], "server", &error), AT_OK);
    s->loop = at_loop_new(at_clock_system());
    struct at_grpc_channel_config channel = {.host = "127.0.0.1",
                                             .port = at_grpc_server_port(s->server),
                                             .connection_count = 2,
                                             .connect_timeout_ms = 20000};
    assert_int_equal(at_grpc_channel_open(s->loop, &channel, &s->channel, &error), AT_OK);
}

/* The one profile is "default", which routes to any cluster. */
static inline void afx_open(struct afx *s)
{
    const struct at_profile any = {.routing = AT_ROUTING_ANY, .priority = AT_PRIORITY_HIGH};
    struct at_buf bytes;

    memset(s, 0, sizeof(*s));
    at_arena_init(&s->arena, 4096);
    at_buf_init(&bytes, AT_KIB);
    AT_ASSERT(at_profile_encode(&any, &bytes) == AT_OK);
    s->genesis = (struct at_catalog_record){
        .kind = AT_CATALOG_PROFILE,
        .name = AT_LIT("default"),
        .counter = 1,
        .fields = at_arena_copy(&s->arena, at_buf_slice(&bytes)),
    };
    at_buf_deinit(&bytes);
    AT_ASSERT(pthread_mutex_init(&s->lock, NULL) == 0);
    AT_ASSERT(sem_init(&s->asked, 0, 0) == 0);
    at_replica_view_init(&s->now);
    at_replica_view_init(&s->frozen);
    fx_prepare(&s->fx, 1, 1);
    s->fx.config.genesis = &s->genesis;
    s->fx.config.genesis_count = 1;
    fx_reopen(&s->fx);
    afx_serve(s);
}

static inline void afx_close(struct afx *s)
{
    at_grpc_channel_close(&s->channel);
    at_loop_free(&s->loop);
    for (int i = 0; i < AFX_LOOPS; i++)
        at_loop_stop(s->loops[i]);
    for (int i = 0; i < AFX_LOOPS; i++)
        at_loop_join(s->loops[i]);
    at_store_close(&s->fx.store);
    at_grpc_server_close(&s->server);
    afx_release(s, AFX_PEER_GONE); /* after the calls it was held for */
    for (int i = 0; i < AFX_LOOPS; i++)
        at_loop_free(&s->loops[i]);
    at_service_methods_free(&s->methods);
    fx_close(&s->fx);
    at_replica_view_deinit(&s->now);
    at_replica_view_deinit(&s->frozen);
    sem_destroy(&s->asked);
    pthread_mutex_destroy(&s->lock);
    at_arena_deinit(&s->arena);
}

/* --- calling --- */

struct afx_rpc {
    const char *name;
    const char *service;
    const ProtobufCMessageDescriptor *type; /* of the answer */
};

#define AFX_TABLE "google.bigtable.admin.v2.BigtableTableAdmin"
#define AFX_ADMIN "google.bigtable.admin.v2.BigtableInstanceAdmin"
#define AFX_CLUSTER "atoll.v1.Cluster"
#define AFX_OPERATIONS "google.longrunning.Operations"
#define AFX_DATA "google.bigtable.v2.Bigtable"

static const struct afx_rpc afx_rpcs[] = {
    {"CreateTable", AFX_TABLE, &google__bigtable__admin__v2__table__descriptor},
    {"GetTable", AFX_TABLE, &google__bigtable__admin__v2__table__descriptor},
    {"ModifyColumnFamilies", AFX_TABLE, &google__bigtable__admin__v2__table__descriptor},
    {"ListTables", AFX_TABLE, &google__bigtable__admin__v2__list_tables_response__descriptor},
    {"UpdateTable", AFX_TABLE, &google__longrunning__operation__descriptor},
    {"DeleteTable", AFX_TABLE, &google__protobuf__empty__descriptor},
    {"UndeleteTable", AFX_TABLE, &google__longrunning__operation__descriptor},
    {"CreateBackup", AFX_TABLE, &google__longrunning__operation__descriptor},
    {"CopyBackup", AFX_TABLE, &google__longrunning__operation__descriptor},
    {"GetBackup", AFX_TABLE, &google__bigtable__admin__v2__backup__descriptor},
    {"ListBackups", AFX_TABLE, &google__bigtable__admin__v2__list_backups_response__descriptor},
    {"UpdateBackup", AFX_TABLE, &google__bigtable__admin__v2__backup__descriptor},
    {"DeleteBackup", AFX_TABLE, &google__protobuf__empty__descriptor},
    {"RestoreTable", AFX_TABLE, &google__longrunning__operation__descriptor},
    {"ReadBackup", AFX_CLUSTER, &atoll__v1__read_backup_response__descriptor},
    {"DropRowRange", AFX_TABLE, &google__protobuf__empty__descriptor},
    {"GenerateConsistencyToken", AFX_TABLE,
     &google__bigtable__admin__v2__generate_consistency_token_response__descriptor},
    {"CheckConsistency", AFX_TABLE,
     &google__bigtable__admin__v2__check_consistency_response__descriptor},
    {"CreateAppProfile", AFX_ADMIN, &google__bigtable__admin__v2__app_profile__descriptor},
    {"GetAppProfile", AFX_ADMIN, &google__bigtable__admin__v2__app_profile__descriptor},
    {"ListAppProfiles", AFX_ADMIN,
     &google__bigtable__admin__v2__list_app_profiles_response__descriptor},
    {"UpdateAppProfile", AFX_ADMIN, &google__longrunning__operation__descriptor},
    {"DeleteAppProfile", AFX_ADMIN, &google__protobuf__empty__descriptor},
    {"CreateInstance", AFX_ADMIN, &google__longrunning__operation__descriptor},
    {"DeleteInstance", AFX_ADMIN, &google__protobuf__empty__descriptor},
    {"GetInstance", AFX_ADMIN, &google__bigtable__admin__v2__instance__descriptor},
    {"ListInstances", AFX_ADMIN, &google__bigtable__admin__v2__list_instances_response__descriptor},
    {"GetCluster", AFX_ADMIN, &google__bigtable__admin__v2__cluster__descriptor},
    {"ListClusters", AFX_ADMIN, &google__bigtable__admin__v2__list_clusters_response__descriptor},
    {"UpdateInstance", AFX_ADMIN, &google__bigtable__admin__v2__instance__descriptor},
    {"PartialUpdateInstance", AFX_ADMIN, &google__longrunning__operation__descriptor},
    {"UpdateCluster", AFX_ADMIN, &google__longrunning__operation__descriptor},
    {"PartialUpdateCluster", AFX_ADMIN, &google__longrunning__operation__descriptor},
    {"GetIamPolicy", AFX_TABLE, &google__iam__v1__policy__descriptor},
    {"SetIamPolicy", AFX_TABLE, &google__iam__v1__policy__descriptor},
    {"TestIamPermissions", AFX_TABLE, &google__iam__v1__test_iam_permissions_response__descriptor},
    {"ListHotTablets", AFX_ADMIN, NULL},
    {"Members", AFX_CLUSTER, &atoll__v1__members_response__descriptor},
    {"AddCluster", AFX_CLUSTER, &atoll__v1__add_cluster_response__descriptor},
    {"Join", AFX_CLUSTER, &atoll__v1__join_response__descriptor},
    {"Leave", AFX_CLUSTER, &atoll__v1__leave_response__descriptor},
    {"Remove", AFX_CLUSTER, &atoll__v1__remove_response__descriptor},
    {"Release", AFX_CLUSTER, &atoll__v1__release_response__descriptor},
    {"SetCut", AFX_CLUSTER, &atoll__v1__set_cut_response__descriptor},
    {"Heartbeat", AFX_CLUSTER, &atoll__v1__heartbeat_response__descriptor},
    {"GetOperation", AFX_OPERATIONS, &google__longrunning__operation__descriptor},
    {"ListOperations", AFX_OPERATIONS, &google__longrunning__list_operations_response__descriptor},
    {"WaitOperation", AFX_OPERATIONS, &google__longrunning__operation__descriptor},
    {"CancelOperation", AFX_OPERATIONS, &google__protobuf__empty__descriptor},
    {"DeleteOperation", AFX_OPERATIONS, &google__protobuf__empty__descriptor},
    {"Check", "grpc.health.v1.Health", &grpc__health__v1__health_check_response__descriptor},
    {"MutateRow", AFX_DATA, &google__protobuf__empty__descriptor},
    {"SampleRowKeys", AFX_DATA, NULL},
    {"ReadRows", AFX_DATA, NULL},
    {"MutateRows", AFX_DATA, NULL},
    {"CheckAndMutateRow", AFX_DATA, NULL},
    {"ReadModifyWriteRow", AFX_DATA, NULL},
};

static const struct proto_text_type afx_types[] = {
    {"google.bigtable.admin.v2.AppProfile", &google__bigtable__admin__v2__app_profile__descriptor},
    {"google.bigtable.admin.v2.UpdateAppProfileMetadata",
     &google__bigtable__admin__v2__update_app_profile_metadata__descriptor},
    {"google.bigtable.admin.v2.Table", &google__bigtable__admin__v2__table__descriptor},
    {"google.bigtable.admin.v2.UpdateTableMetadata",
     &google__bigtable__admin__v2__update_table_metadata__descriptor},
    {"google.bigtable.admin.v2.Instance", &google__bigtable__admin__v2__instance__descriptor},
    {"google.bigtable.admin.v2.UpdateInstanceMetadata",
     &google__bigtable__admin__v2__update_instance_metadata__descriptor},
    {"google.bigtable.admin.v2.Cluster", &google__bigtable__admin__v2__cluster__descriptor},
    {"google.bigtable.admin.v2.UpdateClusterMetadata",
     &google__bigtable__admin__v2__update_cluster_metadata__descriptor},
    {"google.bigtable.admin.v2.PartialUpdateClusterMetadata",
     &google__bigtable__admin__v2__partial_update_cluster_metadata__descriptor},
    {"google.bigtable.admin.v2.CreateInstanceMetadata",
     &google__bigtable__admin__v2__create_instance_metadata__descriptor},
    {"google.bigtable.admin.v2.CreateClusterMetadata",
     &google__bigtable__admin__v2__create_cluster_metadata__descriptor},
    {"google.bigtable.admin.v2.Backup", &google__bigtable__admin__v2__backup__descriptor},
    {"google.bigtable.admin.v2.CreateBackupMetadata",
     &google__bigtable__admin__v2__create_backup_metadata__descriptor},
    {"google.bigtable.admin.v2.CopyBackupMetadata",
     &google__bigtable__admin__v2__copy_backup_metadata__descriptor},
    {"google.bigtable.admin.v2.RestoreTableMetadata",
     &google__bigtable__admin__v2__restore_table_metadata__descriptor},
    {"google.bigtable.admin.v2.UndeleteTableMetadata",
     &google__bigtable__admin__v2__undelete_table_metadata__descriptor},
    {"google.rpc.PreconditionFailure", &google__rpc__precondition_failure__descriptor},
    {NULL, NULL},
};

static inline void afx_on_message(void *ctx, struct at_slice message)
{
    struct afx_call *c = ctx;

    if (c->text.len > 0)
        proto_text_must(at_buf_append(&c->text, AT_LIT(";")));
    proto_text_must(at_buf_append(&c->bytes, message));
    if (c->type)
        proto_text(c->type, message, &c->text);
    else
        proto_text_bytes(message, &c->text);
}

static inline void afx_on_done(void *ctx, const struct at_grpc_result *result)
{
    struct afx_call *c = ctx;

    c->done = true;
    c->code = result->code;
    (void)snprintf(c->message, sizeof(c->message), "%.*s", AT_SLICE_ARG(result->message));
    proto_text_must(at_buf_append(&c->details, result->details));
    at_loop_stop(c->s->loop);
}

static inline void afx_call_init(struct afx_call *c, struct afx *s)
{
    *c = (struct afx_call){.s = s};
    at_buf_init(&c->details, AT_MIB);
    at_buf_init(&c->bytes, AT_MIB);
    at_buf_init(&c->text, AT_MIB);
    proto_text_types = afx_types;
}

static inline void afx_call_deinit(struct afx_call *c)
{
    at_buf_deinit(&c->details);
    at_buf_deinit(&c->bytes);
    at_buf_deinit(&c->text);
}

/* afx_start begins a call; `request` is wire_text, and lives in the fixture's arena.
 * timeout_ms 0: no deadline. */
static inline struct at_grpc_client_call *
afx_start(struct afx_call *c, const char *rpc, const char *request, uint32_t timeout_ms)
{
    static const struct at_grpc_client_handler HANDLER = {.on_message = afx_on_message,
                                                          .on_done = afx_on_done};
    const struct afx_rpc *r = afx_rpcs;
    struct at_arena *arena = &c->s->arena;

    while (strcmp(r->name, rpc) != 0)
        AT_ASSERT(++r < afx_rpcs + sizeof(afx_rpcs) / sizeof(afx_rpcs[0]));
    c->type = r->type;
    struct at_grpc_client_request q = {
        .path = at_arena_printf(arena, "/%s/%s", r->service, rpc),
        .message = wire_text(request, arena),
        .deadline_ns = timeout_ms ? fx_mono_ns(NULL) + timeout_ms * AT_MS_NS : UINT64_MAX,
        .handler = &HANDLER,
        .ctx = c};
    return at_grpc_client_start(c->s->channel, &q);
}

static inline void afx_finish(struct afx_call *c)
{
    while (!c->done)
        at_loop_run(c->s->loop);
}

/* --- steps --- */

/* `out`: on success the whole answer as proto_text (NULL: any), else a part of the message. The rpc
 * "rows" reads the table that `request` names, as read_text. */
struct afx_step {
    const char *rpc;
    const char *request;
    enum at_code code;
    const char *out;
};

static inline void afx_run_step(struct afx *s, const struct afx_step *step)
{
    struct afx_call c;

    if (strcmp(step->rpc, "rows") == 0) {
        fx_expect_rows(&s->fx, step->request, step->out);
        return;
    }
    afx_call_init(&c, s);
    (void)afx_start(&c, step->rpc, step->request, 0);
    afx_finish(&c);
    const char *out = c.code == AT_OK ? at_buf_cstr(&c.text) : c.message;
    bool right = c.code == step->code &&
                 (!step->out ||
                  (c.code == AT_OK ? strcmp(out, step->out) == 0 : strstr(out, step->out) != NULL));
    if (!right)
        print_error("%s %s\n  gave %s: %s\n  not  %s: %s\n", step->rpc, step->request,
                    at_code_name(c.code), out, at_code_name(step->code),
                    step->out ? step->out : "");
    afx_call_deinit(&c);
    assert_true(right);
}

/* afx_run_steps runs steps up to one without an rpc, at most `count`. */
static inline void afx_run_steps(struct afx *s, const struct afx_step *steps, size_t count)
{
    for (size_t i = 0; i < count && steps[i].rpc; i++)
        afx_run_step(s, &steps[i]);
}

#define AFX_STEPS_MAX 10
struct afx_case {
    const char *name;
    struct afx_step steps[AFX_STEPS_MAX];
};

static inline void afx_test_case(void **state)
{
    const struct afx_case *item = *state;
    struct afx *s = at_alloc(sizeof(*s));

    afx_open(s);
    afx_run_steps(s, item->steps, AFX_STEPS_MAX);
    afx_close(s);
    at_free(s);
}

/* afx_main runs one test per case, each on a fresh store, then the others. */
static inline int
afx_main(struct afx_case *cases, size_t count, const struct CMUnitTest *others, size_t other_count)
{
    struct CMUnitTest *tests = at_alloc((count + other_count) * sizeof(*tests));

    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = afx_test_case, .initial_state = &cases[i]};
    if (other_count > 0)
        memcpy(tests + count, others, other_count * sizeof(*tests));
    int rc = _cmocka_run_group_tests("admin", tests, count + other_count, NULL, NULL);
    at_free(tests);
    return rc;
}

#endif
