#include "cluster/admin/cluster_update.h"

#include "support/admin_fixture.h"

#define C AFX_INSTANCE "/clusters/c1"
#define HEAD "name:" C " location:projects/p/locations/z1 state:READY serve_nodes:"
#define SCALING "cluster_config.cluster_autoscaling_config"
#define LIMITS(min, max) "1{1=" min " 2=" max "}"
#define ASKED(limits, cpu) "7{1{" limits " 2{2=" cpu "}}}"
#define SHOWS(min, max, cpu)                                                                  \
    " default_storage_type:SSD cluster_config{cluster_autoscaling_config{autoscaling_limits{" \
    "min_serve_nodes:" min " max_serve_nodes:" max "} autoscaling_targets{"                   \
    "cpu_utilization_percent:" cpu "}}}"

static struct afx_case cases[] = {
    {"a node count is kept",
     {{"UpdateCluster", "1:" C " 4=3", AT_OK, NULL},
      {"GetCluster", "1:" C, AT_OK, HEAD "3 default_storage_type:SSD"},
      {"PartialUpdateCluster", "1{1:" C " 4=5} 2{1:serve_nodes}", AT_OK, NULL},
      {"GetCluster", "1:" C, AT_OK, HEAD "5 default_storage_type:SSD"}}},
    {"autoscaling is set, changed leaf by leaf, and ends with a node count",
     {{"PartialUpdateCluster", "1{1:" C " " ASKED(LIMITS("2", "6"), "50") "} 2{1:" SCALING "}",
       AT_OK, NULL},
      {"GetCluster", "1:" C, AT_OK, HEAD "2" SHOWS("2", "6", "50")},
      {"PartialUpdateCluster",
       "1{1:" C " " ASKED(LIMITS("1", "9"), "70") "} 2{1:" SCALING
                                                  ".autoscaling_limits.max_serve_nodes}",
       AT_OK, NULL},
      {"GetCluster", "1:" C, AT_OK, HEAD "2" SHOWS("2", "9", "50")},
      {"PartialUpdateCluster", "1{1:" C " 4=4} 2{1:serve_nodes 1:" SCALING "}", AT_OK, NULL},
      {"GetCluster", "1:" C, AT_OK, HEAD "4 default_storage_type:SSD"}}},
    {"what can't be is refused",
     {{"UpdateCluster", "1:" C, AT_INVALID_ARGUMENT, "serve_nodes"},
      {"UpdateCluster", "1:" C " 4=-1", AT_INVALID_ARGUMENT, NULL},
      {"UpdateCluster", "1:" AFX_INSTANCE "/clusters/c9 4=1", AT_NOT_FOUND, "c9"},
      {"PartialUpdateCluster", "1{1:" C " 4=5}", AT_INVALID_ARGUMENT, "update_mask"},
      {"PartialUpdateCluster", "1{1:" C " 4=5} 2{1:location}", AT_INVALID_ARGUMENT, "location"},
      {"PartialUpdateCluster", "2{1:serve_nodes}", AT_INVALID_ARGUMENT, "cluster"},
      {"PartialUpdateCluster", "1{1:" C " " ASKED(LIMITS("2", "6"), "90") "} 2{1:" SCALING "}",
       AT_INVALID_ARGUMENT, "cpu"},
      {"GetCluster", "1:" C, AT_OK, HEAD "1 default_storage_type:SSD"}}},
};

int main(void)
{
    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), NULL, 0);
}
