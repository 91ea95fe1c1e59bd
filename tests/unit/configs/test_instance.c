/* Instance files: defaults, and what is saved is loaded again. */
#include "configs/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"
#include "support/test_path.h"

struct fixture {
    char dir[64];
    char path[80];
    struct at_arena arena;
};

static void put(const struct fixture *f, const char *text)
{
    FILE *file = fopen(f->path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void defaults_fill_a_small_file(void **state)
{
    struct fixture *f = *state;
    put(f, "instance: lab\nclusters:\n  - {id: a, zone: z1}\n");
    struct at_instance_config c;
    assert_int_equal(at_instance_load(f->path, &f->arena, &c, NULL), AT_OK);
    assert_string_equal(c.project, "atoll");
    assert_string_equal(c.display_name, "lab");
    assert_true(c.sync);
    assert_string_equal(c.router_zone, "z1");
    assert_int_equal(c.grpc_port, 8086);
    assert_int_equal(c.http_port, 8087);
    assert_int_equal(c.clusters[0].grpc_port, 0);
    assert_string_equal(c.clusters[0].host, "127.0.0.1");
    assert_int_equal(c.heartbeat_ms, 100);
    assert_int_equal(c.gc_max_delay_s, 3600);
    assert_false(c.gc_strict);
}

static void the_default_profile_follows_the_number_of_clusters(void **state)
{
    struct fixture *f = *state;
    struct at_instance_config c;
    put(f, "instance: lab\nclusters:\n  - {id: a, zone: z1}\n");
    assert_int_equal(at_instance_load(f->path, &f->arena, &c, NULL), AT_OK);
    assert_int_equal(c.profile_count, 1);
    assert_string_equal(c.profiles[0].id, "default");
    assert_string_equal(c.profiles[0].routing, "single");
    assert_string_equal(c.profiles[0].clusters[0], "a");
    assert_true(c.profiles[0].transactional_writes);
    put(f, "instance: lab\nclusters:\n  - {id: a, zone: z1}\n  - {id: b, zone: z2}\n");
    assert_int_equal(at_instance_load(f->path, &f->arena, &c, NULL), AT_OK);
    assert_string_equal(c.profiles[0].routing, "any");
    assert_int_equal(c.profiles[0].cluster_count, 0);
    assert_false(c.profiles[0].transactional_writes);
    put(f, "instance: lab\nclusters:\n  - {id: a, zone: z1}\nprofiles:\n"
           "  - {id: default, routing: any}\n");
    assert_int_equal(at_instance_load(f->path, &f->arena, &c, NULL), AT_OK);
    assert_int_equal(c.profile_count, 1);
    assert_string_equal(c.profiles[0].routing, "any");
}

static void a_port_of_zero_is_not_the_default(void **state)
{
    struct fixture *f = *state;
    struct at_instance_config c;
    put(f, "instance: lab\nclusters:\n  - {id: a, zone: z1}\nrouter:\n  grpc_port: 0\n");
    assert_int_equal(at_instance_load(f->path, &f->arena, &c, NULL), AT_OK);
    assert_int_equal(c.grpc_port, 0);
    assert_int_equal(c.http_port, 8087);
}

static void what_is_saved_is_loaded_again(void **state)
{
    struct fixture *f = *state;
    struct at_instance_config a, b;
    put(f, "project: p\ninstance: lab\ndisplay_name: 'A: b'\ndurability: async\nclusters:\n"
           "  - {id: a, zone: z1, grpc_port: 4001, peer_port: 4002, member: 7}\n"
           "  - {id: b, zone: z2}\n"
           "router: {zone: z2, grpc_port: 4003, http_port: 0}\n"
           "profiles:\n  - {id: tx, description: d, routing: single, clusters: [b],\n"
           "     transactional_writes: true, priority: LOW}\n"
           "latencies:\n  - {from: z1, to: z2, ms: 30}\n"
           "storage: {memtable_mib: 16}\ngc: {max_delay_s: 5, visibility: strict}\n");
    assert_int_equal(at_instance_load(f->path, &f->arena, &a, NULL), AT_OK);
    a.instance_id = UINT64_C(0xfedcba9876543210);
    assert_string_equal(a.created_operation, "");
    a.created_operation = "operations/projects/p/instances/lab/operations/1";
    a.created_request = at_arena_printf(&f->arena, "%01000d", 0);
    assert_int_equal(at_instance_save(f->path, &a, NULL), AT_OK);
    assert_int_equal(at_instance_load(f->path, &f->arena, &b, NULL), AT_OK);
    assert_string_equal(b.project, "p");
    assert_string_equal(b.display_name, "A: b");
    assert_false(b.sync);
    assert_true(b.instance_id == a.instance_id);
    assert_string_equal(b.created_operation, a.created_operation);
    assert_string_equal(b.created_request, a.created_request);
    assert_int_equal(b.clusters[0].peer_port, 4002);
    assert_int_equal(b.clusters[0].member, 7);
    assert_int_equal(b.http_port, 0);
    assert_int_equal(b.profile_count, 2);
    assert_string_equal(b.profiles[0].id, "tx");
    assert_string_equal(b.profiles[0].clusters[0], "b");
    assert_true(b.profiles[0].transactional_writes);
    assert_string_equal(b.profiles[0].priority, "LOW");
    assert_int_equal(b.latencies[0].ms, 30);
    assert_int_equal(b.memtable_mib, 16);
    assert_int_equal(b.gc_max_delay_s, 5);
    assert_true(b.gc_strict);
    assert_int_equal(b.block_cache_mib, a.block_cache_mib);
}

static void a_missing_file_is_not_found(void **state)
{
    struct fixture *f = *state;
    struct at_instance_config c;
    struct at_error error;
    assert_int_equal(at_instance_load("/nonexistent/x.yaml", &f->arena, &c, &error), AT_NOT_FOUND);
    assert_non_null(strstr(error.msg, "/nonexistent/x.yaml"));
}

static void the_files_that_are_shipped_load(void **state)
{
    struct fixture *f = *state;
    struct at_instance_config c;
    struct at_error error = {0};
    if (at_instance_load(ATOLL_SOURCE_DIR "/configs/three-zones.yaml", &f->arena, &c, &error))
        fail_msg("%s", error.msg);
    assert_int_equal(c.cluster_count, 3);
    if (at_instance_load(ATOLL_SOURCE_DIR "/configs/one-zone.yaml", &f->arena, &c, &error))
        fail_msg("%s", error.msg);
    assert_int_equal(c.cluster_count, 1);
}

static int set_up(void **state)
{
    static struct fixture f;
    (void)test_path(f.dir, sizeof(f.dir), "atoll-test");
    if (!mkdtemp(f.dir))
        return -1;
    (void)snprintf(f.path, sizeof(f.path), "%s/i.yaml", f.dir);
    at_arena_init(&f.arena, 4096);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    at_arena_deinit(&f->arena);
    (void)unlink(f->path);
    return rmdir(f->dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill_a_small_file),
        cmocka_unit_test(the_default_profile_follows_the_number_of_clusters),
        cmocka_unit_test(a_port_of_zero_is_not_the_default),
        cmocka_unit_test(what_is_saved_is_loaded_again),
        cmocka_unit_test(a_missing_file_is_not_found),
        cmocka_unit_test(the_files_that_are_shipped_load),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
