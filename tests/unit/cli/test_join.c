/* A cluster that joins: what it asks a member, and what it keeps of the answer. */
#include "cli/join.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atoll/v1/control.pb-c.h"
#include "cli/process.h"
#include "configs/instance.h"
#include "support/test.h"
#include "support/test_path.h"
#include "wire/grpc_server.h"
#include "wire/proto_alloc.h"

/* The member that is asked, on a thread of its own. */
static struct {
    struct at_loop *loop;
    struct at_grpc_server *server;
    unsigned asked;
    enum at_code refuses;
    uint32_t number; /* that it gives */
    bool leaves_out; /* the newcomer */
    Atoll__V1__ClusterAddress from;
    char host[64];
} member;

static char dir[PATH_MAX], data[PATH_MAX + 16], target[64];
static struct at_arena arena;
static struct at_error error;
static const char *path;

static const struct at_slice NONE = {NULL, 0};

static char *text(const char *constant)
{
    return (char *)(uintptr_t)constant;
}

static void answer(struct at_grpc_call *call)
{
    Atoll__V1__InstanceSettings settings = ATOLL__V1__INSTANCE_SETTINGS__INIT;
    Atoll__V1__ClusterAddress there = ATOLL__V1__CLUSTER_ADDRESS__INIT, planned = there,
                              self = member.from;
    Atoll__V1__ClusterAddress *all[] = {&there, &planned, &self};
    Atoll__V1__MembersResponse members = ATOLL__V1__MEMBERS_RESPONSE__INIT;
    Atoll__V1__JoinResponse out = ATOLL__V1__JOIN_RESPONSE__INIT;

    settings.project = text("p");
    settings.instance = text("lab");
    settings.display_name = text("Several machines");
    settings.block_cache_mib = 32;
    settings.memtable_mib = 8;
    settings.log_cap_mib = 64;
    settings.copy_mib_per_s = 5;
    settings.max_skew_ms = 7000;
    settings.gc_max_delay_s = 77;
    settings.gc_strict = true;
    settings.undelete_retention_s = 3600;
    settings.heartbeat_ms = 90;
    settings.return_lag_ms_max = 900;
    there.cluster_id = text("c1");
    there.zone = text("z1");
    there.host = text("10.0.0.1");
    there.grpc_port = 7001;
    there.peer_port = 7002;
    there.member_id = 1;
    planned.cluster_id = text("c9");
    planned.zone = text("z9");
    self.zone = text("z2");
    self.member_id = member.number;
    members.instance_id = 77;
    members.hlc = 123456;
    members.members = all;
    members.n_members = member.leaves_out ? 2 : 3;
    members.settings = &settings;
    out.member_id = member.number;
    out.zone = text("z2");
    out.members = &members;
    enum at_code code = at_proto_pack(at_grpc_call_begin(call), &out.base);
    at_grpc_call_commit(call);
    at_grpc_call_finish(call, code, NONE, NONE);
}

static void on_join(struct at_grpc_call *call, void *ctx)
{
    (void)ctx;
    const Atoll__V1__JoinRequest *in = at_proto_unpack(
        at_grpc_call_arena(call), &atoll__v1__join_request__descriptor, at_grpc_call_request(call));
    member.asked++;
    if (!in || !in->address || member.refuses != AT_OK) {
        at_grpc_call_finish(call, member.refuses, AT_LIT("not here"), NONE);
        return;
    }
    member.from = *in->address;
    (void)snprintf(member.host, sizeof(member.host), "%s", in->address->host);
    answer(call);
    member.from.host = member.host;
}

static const struct at_grpc_method METHODS[] = {{"/atoll.v1.Cluster/Join", on_join, NULL}};

static int set_up(void **unused)
{
    (void)unused;
    char made[TEST_PATH_BYTES];
    (void)test_path(made, sizeof(made), "atoll-test");
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, dir));
    (void)snprintf(data, sizeof(data), "%s/data", dir);
    memset(&member, 0, sizeof(member));
    member.number = 4711;
    member.loop = at_loop_new(at_clock_system());
    struct at_grpc_server_config config = {.host = "127.0.0.1",
                                           .loops = &member.loop,
                                           .loop_count = 1,
                                           .methods = METHODS,
                                           .method_count = 1};
    assert_int_equal(at_grpc_server_open(&config, &member.server, &error), AT_OK);
    assert_int_equal(at_loop_start(member.loop, "member", &error), AT_OK);
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u", at_grpc_server_port(member.server));
    at_arena_init(&arena, 4096);
    return 0;
}

static void end_member(void)
{
    if (!member.loop)
        return;
    at_loop_stop(member.loop);
    at_loop_join(member.loop);
    at_grpc_server_close(&member.server);
    at_loop_free(&member.loop);
}

static int tear_down(void **unused)
{
    (void)unused;
    end_member();
    at_arena_deinit(&arena);
    return at_process_remove_tree(dir, &error) == AT_OK ? 0 : 1;
}

static struct at_join_options options(void)
{
    return (struct at_join_options){.member = target, .cluster = "c2", .data = data};
}

static void the_answer_is_an_instance_file(void **unused)
{
    (void)unused;
    struct at_join_options o = options();
    struct at_instance_config c;
    o.host = "127.0.0.2";
    o.grpc_port = 7101;
    o.peer_port = 7102;
    o.zone = "z2";
    assert_int_equal(at_join(&o, &arena, &path, &error), AT_OK);
    assert_int_equal(at_instance_load(path, &arena, &c, &error), AT_OK);
    assert_string_equal(c.project, "p");
    assert_string_equal(c.instance, "lab");
    assert_string_equal(c.display_name, "Several machines");
    assert_true(c.instance_id == 77);
    assert_false(c.sync);
    assert_true(c.gc_strict);
    assert_int_equal(c.gc_max_delay_s, 77);
    assert_int_equal(c.max_skew_ms, 7000);
    assert_int_equal(c.undelete_retention_s, 3600);
    assert_int_equal(c.copy_mib_per_s, 5);
    assert_int_equal(c.cluster_count, 2); /* one that has not joined is left out */
    assert_string_equal(c.clusters[0].host, "10.0.0.1");
    assert_string_equal(c.clusters[1].id, "c2");
    assert_string_equal(c.clusters[1].zone, "z2");
    assert_string_equal(c.clusters[1].host, "127.0.0.2");
    assert_int_equal(c.clusters[1].grpc_port, 7101);
    assert_int_equal(c.clusters[1].peer_port, 7102);
    assert_int_equal(c.clusters[1].member, 4711);
    for (int i = 0; i < 2; i++) {
        assert_true(c.clusters[i].joining);
        assert_true(c.clusters[i].join_hlc == 123456);
    }
}

static void the_second_start_asks_nobody(void **unused)
{
    (void)unused;
    struct at_join_options o = options();
    const char *again;
    assert_int_equal(at_join(&o, &arena, &path, &error), AT_OK);
    end_member();
    assert_int_equal(at_join(&o, &arena, &again, &error), AT_OK);
    assert_string_equal(path, again);
    assert_int_equal(member.asked, 1);
}

static void asked_again_after_a_refusal_it_is_at_the_same_place(void **unused)
{
    (void)unused;
    struct at_join_options o = options();
    member.leaves_out = true; /* read after it was told the place */
    assert_int_equal(at_join(&o, &arena, &path, &error), AT_UNAVAILABLE);
    uint32_t grpc = member.from.grpc_port, peer = member.from.peer_port;
    assert_true(grpc != 0 && peer != 0 && grpc != peer);
    member.leaves_out = false;
    assert_int_equal(at_join(&o, &arena, &path, &error), AT_OK);
    assert_int_equal(member.asked, 2);
    assert_int_equal(member.from.grpc_port, grpc);
    assert_int_equal(member.from.peer_port, peer);
    assert_string_equal(member.from.host, "127.0.0.1");
}

static void refusals_leave_no_file(void **unused)
{
    (void)unused;
    struct at_join_options o = options();
    member.refuses = AT_NOT_FOUND;
    assert_int_equal(at_join(&o, &arena, &path, &error), AT_NOT_FOUND);
    assert_non_null(strstr(error.msg, "not here"));
    member.refuses = AT_OK;
    o.zone = "z3";
    assert_int_equal(at_join(&o, &arena, &path, &error), AT_INVALID_ARGUMENT);
    assert_non_null(strstr(error.msg, "z2"));
    o.zone = NULL;
    member.number = 0;
    assert_int_equal(at_join(&o, &arena, &path, &error), AT_UNAVAILABLE);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_member_is_a_host_and_a_port(void **unused)
{
    (void)unused;
    static const char *const WRONG[] = {"", "x", ":1", "h:", "h:0", "h:65536", "h:1x"};
    struct at_join_options o = options();
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        o.member = WRONG[i];
        assert_int_equal(at_join(&o, &arena, &path, &error), AT_INVALID_ARGUMENT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_answer_is_an_instance_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_second_start_asks_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(asked_again_after_a_refusal_it_is_at_the_same_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(refusals_leave_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_member_is_a_host_and_a_port, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
