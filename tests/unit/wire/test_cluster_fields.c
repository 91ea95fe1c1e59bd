#include "wire/cluster_fields.h"

#include <stdbool.h>

#include "support/test.h"

typedef Google__Bigtable__Admin__V2__Cluster cluster_t;

struct fields_case {
    const char *name;
    int32_t nodes;
    bool hdd;
    bool pairs;
    int32_t least, most; /* 0, 0: no autoscaling */
    int32_t cpu, gib;
    enum at_code code;
    int32_t nodes_after;
};

static const struct fields_case CASES[] = {
    {"nothing said is one node", 0, false, false, 0, 0, 0, 0, AT_OK, 1},
    {"nothing said is two nodes in pairs", 0, false, true, 0, 0, 0, 0, AT_OK, 2},
    {"nodes are kept", 7, false, false, 0, 0, 0, 0, AT_OK, 7},
    {"no negative nodes", -1, false, false, 0, 0, 0, 0, AT_INVALID_ARGUMENT, 0},
    {"pairs are even", 3, false, true, 0, 0, 0, 0, AT_INVALID_ARGUMENT, 0},
    {"autoscaling begins with its least", 9, false, false, 2, 5, 50, 0, AT_OK, 2},
    {"limits in order", 0, false, false, 5, 2, 50, 0, AT_INVALID_ARGUMENT, 0},
    {"limits of pairs are even", 0, false, true, 2, 5, 50, 0, AT_INVALID_ARGUMENT, 0},
    {"cpu at its least", 0, false, false, 1, 2, 10, 0, AT_OK, 1},
    {"cpu below it", 0, false, false, 1, 2, 9, 0, AT_INVALID_ARGUMENT, 0},
    {"cpu at its most", 0, false, false, 1, 2, 80, 0, AT_OK, 1},
    {"cpu above it", 0, false, false, 1, 2, 81, 0, AT_INVALID_ARGUMENT, 0},
    {"storage of SSD", 0, false, false, 1, 2, 50, 2560, AT_OK, 1},
    {"storage of SSD below its least", 0, false, false, 1, 2, 50, 2559, AT_INVALID_ARGUMENT, 0},
    {"storage of SSD above its most", 0, false, false, 1, 2, 50, 5121, AT_INVALID_ARGUMENT, 0},
    {"storage of HDD", 0, true, false, 1, 2, 50, 16384, AT_OK, 1},
    {"storage of HDD is more than of SSD", 0, true, false, 1, 2, 50, 5120, AT_INVALID_ARGUMENT, 0},
};

static void fields_are_checked_and_completed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct fields_case *c = &CASES[i];
        cluster_t cluster = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
        Google__Bigtable__Admin__V2__Cluster__ClusterConfig config =
            GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CLUSTER_CONFIG__INIT;
        Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig scaling =
            GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CLUSTER_AUTOSCALING_CONFIG__INIT;
        Google__Bigtable__Admin__V2__AutoscalingLimits limits =
            GOOGLE__BIGTABLE__ADMIN__V2__AUTOSCALING_LIMITS__INIT;
        Google__Bigtable__Admin__V2__AutoscalingTargets targets =
            GOOGLE__BIGTABLE__ADMIN__V2__AUTOSCALING_TARGETS__INIT;
        struct at_error error = {0};

        cluster.serve_nodes = c->nodes;
        if (c->hdd)
            cluster.default_storage_type = GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__HDD;
        if (c->pairs)
            cluster.node_scaling_factor =
                GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__NODE_SCALING_FACTOR__NODE_SCALING_FACTOR_2X;
        if (c->most > 0) {
            limits.min_serve_nodes = c->least;
            limits.max_serve_nodes = c->most;
            targets.cpu_utilization_percent = c->cpu;
            targets.storage_utilization_gib_per_node = c->gib;
            scaling.autoscaling_limits = &limits;
            scaling.autoscaling_targets = &targets;
            config.cluster_autoscaling_config = &scaling;
            cluster.config_case = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CONFIG_CLUSTER_CONFIG;
            cluster.cluster_config = &config;
        }
        if (at_cluster_fields_check(&cluster, &error) != c->code)
            fail_msg("%s: %s", c->name, error.msg);
        if (c->code != AT_OK)
            continue;
        at_cluster_fields_complete(&cluster);
        assert_int_equal(cluster.serve_nodes, c->nodes_after);
        assert_int_not_equal(cluster.default_storage_type, 0);
    }
}

static void ids_have_a_form(void **state)
{
    (void)state;
    assert_int_equal(at_cluster_id_check("c1", NULL), AT_OK);
    assert_int_equal(at_cluster_id_check("c", NULL), AT_OK);
    assert_int_equal(at_cluster_id_check("us-central1-c1", NULL), AT_OK);
    assert_int_equal(at_cluster_id_check("", NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_cluster_id_check("1c", NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_cluster_id_check("C1", NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_cluster_id_check("c_1", NULL), AT_INVALID_ARGUMENT);
    assert_int_equal(at_cluster_id_check("a234567890123456789012345678901", NULL),
                     AT_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_checked_and_completed),
        cmocka_unit_test(ids_have_a_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
