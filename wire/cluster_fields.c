#include "wire/cluster_fields.h"

#include <stdbool.h>
#include <string.h>

#define ID_BYTES_MAX 30
#define CPU_PERCENT_MIN 10
#define CPU_PERCENT_MAX 80
#define SSD_GIB_MIN 2560
#define SSD_GIB_MAX 5120
#define HDD_GIB_MIN 8192
#define HDD_GIB_MAX 16384

#define CLUSTER(name) GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__##name

enum at_code at_cluster_id_check(const char *id, struct at_error *reterr)
{
    size_t len = strlen(id);
    bool ok = len > 0 && len <= ID_BYTES_MAX && id[0] >= 'a' && id[0] <= 'z';

    for (size_t i = 0; ok && i < len; i++)
        ok = (id[i] >= 'a' && id[i] <= 'z') || (id[i] >= '0' && id[i] <= '9') || id[i] == '-';
    if (ok)
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT,
                   "Invalid cluster id '%s': it must match [a-z][-a-z0-9]* and have at most %d "
                   "characters",
                   id, ID_BYTES_MAX);
}

const Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig *
at_cluster_autoscaling(const Google__Bigtable__Admin__V2__Cluster *cluster)
{
    if (cluster->config_case != CLUSTER(CONFIG_CLUSTER_CONFIG) || !cluster->cluster_config)
        return NULL;
    return cluster->cluster_config->cluster_autoscaling_config;
}

static enum at_code check_targets(const Google__Bigtable__Admin__V2__AutoscalingTargets *targets,
                                  bool hdd,
                                  struct at_error *reterr)
{
    int32_t cpu = targets ? targets->cpu_utilization_percent : 0;
    int32_t gib = targets ? targets->storage_utilization_gib_per_node : 0;
    int32_t gib_min = hdd ? HDD_GIB_MIN : SSD_GIB_MIN;
    int32_t gib_max = hdd ? HDD_GIB_MAX : SSD_GIB_MAX;

    if (cpu < CPU_PERCENT_MIN || cpu > CPU_PERCENT_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'autoscaling_targets.cpu_utilization_percent' : must be "
                       "from %d to %d",
                       CPU_PERCENT_MIN, CPU_PERCENT_MAX);
    if (gib != 0 && (gib < gib_min || gib > gib_max))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'autoscaling_targets.storage_utilization_gib_per_node' : "
                       "must be from %d to %d",
                       gib_min, gib_max);
    return AT_OK;
}

enum at_code at_cluster_fields_check(const Google__Bigtable__Admin__V2__Cluster *cluster,
                                     struct at_error *reterr)
{
    const Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig *scaling =
        at_cluster_autoscaling(cluster);
    bool hdd = cluster->default_storage_type == GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__HDD;
    bool pairs =
        cluster->node_scaling_factor == CLUSTER(NODE_SCALING_FACTOR__NODE_SCALING_FACTOR_2X);

    if (cluster->serve_nodes < 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'serve_nodes' : must be greater than 0");
    if (pairs && cluster->serve_nodes % 2 != 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'serve_nodes' : must be even with NODE_SCALING_FACTOR_2X");
    if (!scaling)
        return AT_OK;
    int32_t least = scaling->autoscaling_limits ? scaling->autoscaling_limits->min_serve_nodes : 0;
    int32_t most = scaling->autoscaling_limits ? scaling->autoscaling_limits->max_serve_nodes : 0;
    if (least < 1 || most < least)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'autoscaling_limits' : min_serve_nodes must be greater than "
                       "0 and not greater than max_serve_nodes");
    if (pairs && (least % 2 != 0 || most % 2 != 0))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'autoscaling_limits' : must be even with "
                       "NODE_SCALING_FACTOR_2X");
    return check_targets(scaling->autoscaling_targets, hdd, reterr);
}

void at_cluster_fields_complete(Google__Bigtable__Admin__V2__Cluster *cluster)
{
    const Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig *scaling =
        at_cluster_autoscaling(cluster);
    bool pairs =
        cluster->node_scaling_factor == CLUSTER(NODE_SCALING_FACTOR__NODE_SCALING_FACTOR_2X);

    if (scaling && scaling->autoscaling_limits)
        cluster->serve_nodes = scaling->autoscaling_limits->min_serve_nodes;
    if (cluster->serve_nodes <= 0)
        cluster->serve_nodes = pairs ? 2 : 1;
    if (cluster->default_storage_type ==
        GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__STORAGE_TYPE_UNSPECIFIED)
        cluster->default_storage_type = GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__SSD;
}
