/* atoll.v1.Cluster/RangeDigests and Explain over loopback. */
#include "cluster/control/range_digests.h"

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

#define NAME "projects/p/instances/i/tables/t"

static const Atoll__V1__RangeDigestsResponse *
digests(struct fixture *f, Atoll__V1__RangeDigestsRequest request, enum at_code expected)
{
    void *answer = NULL;

    request.table_name = at_arena_printf(&f->arena, "%s", NAME);
    assert_int_equal(ask(f, "/atoll.v1.Cluster/RangeDigests", &request.base,
                         &atoll__v1__range_digests_response__descriptor, &answer),
                     expected);
    return answer;
}

static ProtobufCBinaryData bytes(struct fixture *f, const char *s)
{
    struct at_slice copy = at_arena_copy(&f->arena, at_slice_cstr(s));

    return (ProtobufCBinaryData){copy.len, (uint8_t *)(uintptr_t)copy.data};
}

static void ranges_are_cut_by_rows_and_by_the_cuts_that_come_of_it(void **state)
{
    struct fixture *f = *state;
    char row[16];

    for (int i = 0; i < 10; i++) {
        snprintf(row, sizeof(row), "r%d", i);
        assert_int_equal(fx_set(&f->fx, row, "f", "q", 1000, "x"), AT_OK);
    }
    Atoll__V1__RangeDigestsRequest request = ATOLL__V1__RANGE_DIGESTS_REQUEST__INIT;
    request.piece_rows = 4;
    const Atoll__V1__RangeDigestsResponse *led = digests(f, request, AT_OK);
    assert_int_equal(led->n_pieces, 3);
    assert_int_equal(led->schema_digest.len, 16);
    assert_memory_equal(led->pieces[0]->end_key.data, "r4", 2);
    assert_int_equal(led->pieces[2]->rows, 2);
    assert_int_equal(led->pieces[2]->end_key.len, 0);

    ProtobufCBinaryData cuts[] = {led->pieces[0]->end_key, led->pieces[1]->end_key};
    request.cuts = cuts;
    request.n_cuts = 2;
    const Atoll__V1__RangeDigestsResponse *same = digests(f, request, AT_OK);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(led->pieces[i]->digest.data, same->pieces[i]->digest.data, 16);
    request.n_cuts = 0;
    request.pieces_max = 1;
    assert_int_equal(digests(f, request, AT_OK)->n_pieces, 1);
    request.piece_rows = 0;
    request.start_key = bytes(f, "r5");
    request.end_key = bytes(f, "r7");
    const Atoll__V1__RangeDigestsResponse *one = digests(f, request, AT_OK);
    assert_int_equal(one->n_pieces, 1);
    assert_int_equal(one->pieces[0]->rows, 2);
    request.end_key = bytes(f, "r5");
    (void)digests(f, request, AT_INVALID_ARGUMENT);
}

static const Atoll__V1__ExplainResponse *
explain(struct fixture *f, const char *row, enum at_code expected)
{
    Atoll__V1__ExplainRequest request = ATOLL__V1__EXPLAIN_REQUEST__INIT;
    void *answer = NULL;

    request.table_name = at_arena_printf(&f->arena, "%s", NAME);
    request.row_key = bytes(f, row);
    assert_int_equal(ask(f, "/atoll.v1.Cluster/Explain", &request.base,
                         &atoll__v1__explain_response__descriptor, &answer),
                     expected);
    return answer;
}

static void a_row_is_explained_with_the_names_of_clusters(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(fx_set(&f->fx, "r", "f", "q", 1000, "old"), AT_OK);
    assert_int_equal(fx_delete_row(&f->fx, "r"), AT_OK);
    assert_int_equal(fx_set(&f->fx, "r", "f", "q", 1000, "new"), AT_OK);
    const Atoll__V1__ExplainResponse *x = explain(f, "r", AT_OK);
    assert_int_equal(x->n_items, 3);
    assert_int_equal(x->items[0]->kind, ATOLL__V1__STORED_KIND__ROW_MARKER);
    assert_int_equal(x->items[0]->hides, 1);
    assert_int_equal(x->items[1]->reason, ATOLL__V1__SHOW_REASON__SHOWS);
    assert_string_equal(x->items[1]->cluster_id, "c1");
    assert_string_equal(x->items[1]->family, "f");
    assert_true(x->items[1]->hlc > x->items[0]->hlc);
    assert_int_equal(x->items[2]->reason, ATOLL__V1__SHOW_REASON__DELETED);
    assert_int_equal(x->items[2]->hidden_by, 1);
    assert_memory_equal(x->items[2]->value.data, "old", 3);
    assert_int_equal(explain(f, "nosuch", AT_OK)->n_items, 0);
    (void)explain(f, "", AT_INVALID_ARGUMENT);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ranges_are_cut_by_rows_and_by_the_cuts_that_come_of_it),
        CASE(a_row_is_explained_with_the_names_of_clusters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
