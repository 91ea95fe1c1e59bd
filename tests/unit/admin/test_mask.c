#include "cluster/admin/mask.h"

#include "support/test.h"

struct mask_case {
    const char *name;
    const char *path;
    const char *snake;
    bool is;
    bool same;
};

static const struct mask_case CASES[] = {
    {"the field itself", "serve_nodes", "serve_nodes", true, true},
    {"its other spelling", "serveNodes", "serve_nodes", true, true},
    {"something in it", "cluster_config.cluster_autoscaling_config", "cluster_config", true, false},
    {"something in it, in the other spelling", "clusterConfig.clusterAutoscalingConfig",
     "cluster_config", true, false},
    {"a path of two in the other spelling", "clusterConfig.clusterAutoscalingConfig",
     "cluster_config.cluster_autoscaling_config", true, true},
    {"a longer name", "serve_nodes_max", "serve_nodes", false, false},
    {"a longer name in the other spelling", "serveNodesMax", "serve_nodes", false, false},
    {"a shorter name", "serve", "serve_nodes", false, false},
    {"capitals that are no new word", "servEnodes", "serve_nodes", false, false},
    {"nothing", "", "serve_nodes", false, false},
};

static void paths_name_fields_in_either_spelling(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct mask_case *c = &CASES[i];
        if (at_mask_is(c->path, c->snake) != c->is || at_mask_same(c->path, c->snake) != c->same)
            fail_msg("%s", c->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_name_fields_in_either_spelling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
