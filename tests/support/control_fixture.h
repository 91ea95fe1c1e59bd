/* control_fixture.h: the control service of one cluster over loopback, and a channel on the test's
 * thread. Its table "t" has family "f", which keeps one version. */
#ifndef ATOLL_TESTS_SUPPORT_CONTROL_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_CONTROL_FIXTURE_H

#include "atoll/v1/control.pb-c.h"
#include "cluster/control/control_methods.h"
#include "support/gc_fixture.h"
#include "wire/grpc_client.h"
#include "wire/grpc_server.h"

#define METHODS_MAX 16
#define WAIT_NS (60 * AT_S_NS)

struct fixture {
    struct fx fx;
    struct at_service service;
    struct at_grpc_method methods[METHODS_MAX];
    struct at_loop *server_loop;
    struct at_grpc_server *server;
    struct at_loop *loop;
    struct at_grpc_channel *channel;
    struct at_arena arena;
    struct at_error error;
};

static inline int setup(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    gcx_open(&f->fx, 1, 1);
    gcx_family(&f->fx, "f", "v1", at_slice_make(NULL, 0));
    at_arena_init(&f->arena, 4096);
    f->service = (struct at_service){.store = f->fx.store,
                                     .clock = at_clock_system(),
                                     .project = "p",
                                     .instance = "i",
                                     .cluster_id = "c1",
                                     .zone = "z1",
                                     .member = 1};
    f->server_loop = at_loop_new(at_clock_system());
    struct at_grpc_server_config config = {
        .host = "127.0.0.1",
        .loops = &f->server_loop,
        .loop_count = 1,
        .methods = f->methods,
        .method_count = at_control_methods(&f->service, f->methods, METHODS_MAX)};
    assert_int_equal(at_grpc_server_open(&config, &f->server, &f->error), AT_OK);
    assert_int_equal(at_loop_start(f->server_loop, "server", &f->error), AT_OK);
    f->loop = at_loop_new(at_clock_system());
    struct at_grpc_channel_config channel = {.host = "127.0.0.1",
                                             .port = at_grpc_server_port(f->server),
                                             .connection_count = 1,
                                             .connect_timeout_ms = 20000};
    assert_int_equal(at_grpc_channel_open(f->loop, &channel, &f->channel, &f->error), AT_OK);
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    at_grpc_channel_close(&f->channel);
    at_loop_settle(f->loop);
    at_loop_free(&f->loop);
    at_loop_stop(f->server_loop);
    at_loop_join(f->server_loop);
    fx_close(&f->fx);
    at_grpc_server_close(&f->server);
    at_loop_free(&f->server_loop);
    at_arena_deinit(&f->arena);
    at_free(f);
    return 0;
}

/* `answer` is unpacked into the arena; on an error f->error says why. */
static inline enum at_code ask(struct fixture *f,
                               const char *path,
                               const ProtobufCMessage *request,
                               const ProtobufCMessageDescriptor *answer,
                               void **ret_answer)
{
    struct at_buf message AT_CLEANUP(at_buf_deinit);
    struct at_buf response AT_CLEANUP(at_buf_deinit);
    struct at_clock clock = at_clock_system();

    at_buf_init(&message, AT_MIB);
    at_buf_init(&response, AT_MIB);
    assert_int_equal(at_proto_pack(&message, request), AT_OK);
    struct at_grpc_client_request call = {.path = path,
                                          .message = at_buf_slice(&message),
                                          .deadline_ns = at_clock_mono_ns(&clock) + WAIT_NS};
    enum at_code code = at_grpc_unary(f->channel, &call, &response, &f->error);
    if (code == AT_OK) {
        *ret_answer = at_proto_unpack(&f->arena, answer, at_buf_slice(&response));
        assert_non_null(*ret_answer);
    }
    return code;
}

#endif
