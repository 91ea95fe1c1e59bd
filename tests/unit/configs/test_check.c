/* A wrong file gives file, line, column and what is expected. */
#include "configs/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "configs/instance.h"
#include "support/test.h"
#include "support/test_path.h"

struct wrong_case {
    const char *name;
    const char *text;
    const char *place; /* ":line:column: " */
    const char *says;
};

#define ONE "clusters:\n  - {id: a, zone: z1}\n"

static const struct wrong_case CASES[] = {
    {"number expected", "instance: lab\nclusters:\n  - id: a\n    zone: z\n    grpc_port: x\n",
     ":5:16: ", "x"},
    {"port out of range",
     "instance: lab\nclusters:\n  - id: a\n    zone: z\n    grpc_port: 70000\n",
     ":5:16: ", "70000"},
    {"unknown key", "instance: lab\nclusters:\n  - id: a\n    zoone: z\n",
     ":4:5: ", "expected one of id zone host"},
    {"unknown key at the top", "instance: lab\nclutsers: 1\n", ":2:1: ", "expected one of project"},
    {"missing zone", "instance: lab\nclusters:\n  - id: a\n", ":3:", "zone"},
    {"missing instance", ONE, ":2:", "instance"},
    {"no clusters", "instance: lab\nclusters: []\n", ":2:11: ", "1 min"},
    {"bad instance id", "instance: Lab\n" ONE, ":1:11: ", "expected an instance id"},
    {"bad cluster id", "instance: lab\nclusters:\n  - {id: 9a, zone: z1}\n",
     ":3:10: ", "expected a cluster id"},
    {"bad durability", "instance: lab\ndurability: maybe\n" ONE, ":2:13: ", "sync or async"},
    {"cluster id twice",
     "instance: lab\nclusters:\n  - {id: aa, zone: z1}\n  - {id: aa, zone: z2}\n",
     ":4:10: ", "no other cluster has"},
    {"zone twice", "instance: lab\nclusters:\n  - {id: a, zone: z1}\n  - {id: b, zone: z1}\n",
     ":4:19: ", "one cluster per zone"},
    {"member number twice",
     "instance: lab\nclusters:\n  - {id: aa, zone: z1, member: 5}\n"
     "  - {id: bb, zone: z2, member: 5}\n",
     ":4:10: ", "no other cluster has"},
    {"member number out of range",
     "instance: lab\nclusters:\n  - {id: a, zone: z1, member: 4294967295}\n", ":3:", "below"},
    {"port twice",
     "instance: lab\nclusters:\n  - {id: a, zone: z1, grpc_port: 5001, peer_port: 5001}\n",
     ":3:51: ", "nothing else"},
    {"profile of an unknown cluster",
     "instance: lab\n" ONE "profiles:\n  - {id: p, routing: single, clusters: [q]}\n",
     ":5:41: ", "cluster of this file"},
    {"single without a cluster", "instance: lab\n" ONE "profiles:\n  - {id: p9, routing: single}\n",
     ":5:10: ", "exactly one cluster"},
    {"transactions through any",
     "instance: lab\n" ONE "profiles:\n  - {id: p9, routing: any, transactional_writes: true}\n",
     ":5:10: ", "unsafe"},
    {"unknown routing", "instance: lab\n" ONE "profiles:\n  - {id: p, routing: none}\n",
     ":5:22: ", "routing: any"},
    {"unknown priority",
     "instance: lab\n" ONE "profiles:\n  - {id: p, routing: any, priority: TOP}\n",
     ":5:37: ", "LOW, MEDIUM or HIGH"},
    {"number out of range", "instance: lab\n" ONE "routing:\n  heartbeat_ms: 5\n",
     ":5:3: ", "from 10 to 10000"},
    {"not YAML", "instance: [lab\n" ONE, ":", "STRING"},
    {"empty", "", ":1:1: ", ""},
};

static void wrong_files_are_placed(void **state)
{
    (void)state;
    char path[TEST_PATH_BYTES];
    (void)test_path(path, sizeof(path), "atoll-test");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t len = strlen(CASES[i].text);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, CASES[i].text, len, 0), len);
        struct at_arena arena;
        at_arena_init(&arena, 4096);
        struct at_instance_config config;
        struct at_error error = {0};
        enum at_code code = at_instance_load(path, &arena, &config, &error);
        at_arena_deinit(&arena);
        const char *rest = strstr(error.msg, path);
        bool placed =
            rest && strncmp(rest + strlen(path), CASES[i].place, strlen(CASES[i].place)) == 0;
        if (code != AT_INVALID_ARGUMENT || !placed || !strstr(error.msg, CASES[i].says))
            fail_msg("%s: %s: %s", CASES[i].name, at_code_name(code), error.msg);
    }
    (void)close(fd);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_files_are_placed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
