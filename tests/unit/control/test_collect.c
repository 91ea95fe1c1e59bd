/* atoll.v1.Cluster/Collect over loopback, and digests before and after it. */
#include "cluster/control/collect.h"

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

static int setup(void **state)
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
                                     .zone = "z1"};
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

static int teardown(void **state)
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

static enum at_code ask(struct fixture *f,
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

static enum at_code collect(struct fixture *f, const char *table, uint64_t *ret_collected)
{
    Atoll__V1__CollectRequest request = ATOLL__V1__COLLECT_REQUEST__INIT;
    void *answer = NULL;

    request.table_name = at_arena_printf(&f->arena, "%s", table);
    enum at_code code = ask(f, "/atoll.v1.Cluster/Collect", &request.base,
                            &atoll__v1__collect_response__descriptor, &answer);
    if (code == AT_OK)
        *ret_collected = ((Atoll__V1__CollectResponse *)answer)->collected +
                         ((Atoll__V1__CollectResponse *)answer)->compacted;
    return code;
}

static void digest(struct fixture *f, uint8_t ret_digest[16], uint64_t *ret_cells)
{
    Atoll__V1__DigestRequest request = ATOLL__V1__DIGEST_REQUEST__INIT;
    void *answer = NULL;

    request.now_micros = gcx_now_micros();
    request.table_name = at_arena_printf(&f->arena, "%s", "");
    assert_int_equal(ask(f, "/atoll.v1.Cluster/Digest", &request.base,
                         &atoll__v1__digest_response__descriptor, &answer),
                     AT_OK);
    const Atoll__V1__DigestResponse *d = answer;
    assert_int_equal(d->digest.len, 16);
    memcpy(ret_digest, d->digest.data, 16);
    *ret_cells = d->cells;
}

static void a_run_tells_what_went_and_no_digest_changes(void **state)
{
    struct fixture *f = *state;
    uint64_t collected = 0;
    uint64_t cells;
    uint8_t before[16];
    uint8_t after[16];

    for (int i = 1; i <= 3; i++)
        assert_int_equal(fx_set(&f->fx, "r", "f", "q", i * 1000, "x"), AT_OK);
    digest(f, before, &cells);
    assert_int_equal(cells, 1);
    assert_int_equal(collect(f, "projects/p/instances/i/tables/t", &collected), AT_OK);
    assert_int_equal(collected, 2);
    digest(f, after, &cells);
    assert_memory_equal(before, after, 16);
    assert_int_equal(collect(f, "", &collected), AT_OK);
    assert_int_equal(collected, 0);
    fx_expect_rows(&f->fx, "t", "r: f:q@3000=x|");
}

static void names_that_are_wrong_are_refused(void **state)
{
    struct fixture *f = *state;
    uint64_t collected;

    assert_int_equal(collect(f, "projects/p/instances/i/tables/nosuch", &collected), AT_NOT_FOUND);
    assert_int_equal(collect(f, "t", &collected), AT_INVALID_ARGUMENT);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_run_tells_what_went_and_no_digest_changes),
        CASE(names_that_are_wrong_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
