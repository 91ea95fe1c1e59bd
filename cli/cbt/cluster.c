/* cluster.c: making, changing and deleting instances and clusters. */
#include <errno.h>
#include <stdlib.h>

#include "cli/cbt/args.h"
#include "cli/cbt/command.h"
#include "cli/cbt/operation.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "google/protobuf/empty.pb-c.h"

#define SERVICE "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define SSD GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__SSD
#define HDD GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__HDD

typedef Google__Bigtable__Admin__V2__Cluster cluster;

/* Go's words for a number that is none, or not of 32 bits. */
static bool read_nodes(const char *what, const char *text, int32_t *ret_nodes)
{
    int64_t value = 0;
    char *end = NULL;

    if (at_cbt_int(at_slice_cstr(text), &value) && value >= INT32_MIN && value <= INT32_MAX) {
        *ret_nodes = (int32_t)value;
        return true;
    }
    errno = 0;
    (void)strtoll(text, &end, 0);
    bool number = text[0] != '\0' && *end == '\0';
    (void)at_cbt_fatal("Bad %s \"%s\": strconv.ParseInt: parsing \"%s\": %s", what, text, text,
                       number ? "value out of range" : "invalid syntax");
    return false;
}

static bool read_storage(const char *text, Google__Bigtable__Admin__V2__StorageType *ret_type)
{
    bool ssd = strcmp(text, "SSD") == 0;

    *ret_type = ssd ? SSD : HDD;
    if (ssd || strcmp(text, "HDD") == 0)
        return true;
    (void)at_cbt_fatal("invalid storage type: %s, must be SSD or HDD", text);
    return false;
}

/* Of "ZONE NODES STORAGE"; NULL when one of them is wrong, which was told then. */
static cluster *read_cluster(struct at_cbt *cbt, const char *nodes_word, char **argv)
{
    cluster *c = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__cluster);

    c->location = at_arena_printf(&cbt->arena, "projects/%s/locations/%s", cbt->project, argv[0]);
    if (!read_nodes(nodes_word, argv[1], &c->serve_nodes) ||
        !read_storage(argv[2], &c->default_storage_type))
        return NULL;
    return c;
}

static char *project_name(struct at_cbt *cbt)
{
    return at_arena_printf(&cbt->arena, "projects/%s", cbt->project);
}

int at_cbt_createinstance(struct at_cbt *cbt, int argc, char **argv)
{
    typedef Google__Bigtable__Admin__V2__CreateInstanceRequest__ClustersEntry entry;
    struct at_error error;

    if (argc < 6)
        return at_cbt_fatal("cbt createinstance <instance-id> <display-name> <cluster-id> <zone> "
                            "<num-nodes> <storage type>");
    Google__Bigtable__Admin__V2__CreateInstanceRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__create_instance_request);
    entry *only = AT_PROTO_NEW(
        &cbt->arena, google__bigtable__admin__v2__create_instance_request__clusters_entry);
    only->key = argv[2];
    only->value = read_cluster(cbt, "num-nodes", argv + 3);
    if (!only->value)
        return 1;
    request->parent = project_name(cbt);
    request->instance_id = argv[0];
    request->instance = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__instance);
    request->instance->display_name = argv[1];
    request->n_clusters = 1;
    request->clusters = &only;
    if (at_cbt_operation(cbt, SERVICE "CreateInstance", request, &error) != AT_OK)
        return at_cbt_failed("Creating instance", &error);
    return 0;
}

int at_cbt_deleteinstance(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {SERVICE "DeleteInstance",
                                                &google__protobuf__empty__descriptor, false};
    struct at_error error;
    void *answer = NULL;

    if (argc != 1)
        return at_cbt_fatal("usage: cbt deleteinstance <instance>");
    Google__Bigtable__Admin__V2__DeleteInstanceRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__delete_instance_request);
    request->name = at_arena_printf(&cbt->arena, "projects/%s/instances/%s", cbt->project, argv[0]);
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Deleting instance", &error);
    return 0;
}

int at_cbt_createcluster(struct at_cbt *cbt, int argc, char **argv)
{
    struct at_error error;

    if (argc < 4)
        return at_cbt_fatal(
            "usage: cbt createcluster <cluster-id> <zone> <num-nodes> <storage type>");
    Google__Bigtable__Admin__V2__CreateClusterRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__create_cluster_request);
    request->cluster = read_cluster(cbt, "num_nodes", argv + 1);
    if (!request->cluster)
        return 1;
    request->parent = at_proto_text(cbt->instance_name);
    request->cluster_id = argv[0];
    if (at_cbt_operation(cbt, SERVICE "CreateCluster", request, &error) != AT_OK)
        return at_cbt_failed("Creating cluster", &error);
    return 0;
}

int at_cbt_updatecluster(struct at_cbt *cbt, int argc, char **argv)
{
    struct at_cbt_option options[] = {{.key = "num-nodes"}, {0}};
    char *paths[] = {at_proto_text("serve_nodes"),
                     at_proto_text("cluster_config.cluster_autoscaling_config")};
    struct at_error error;

    if (argc < 2)
        return at_cbt_fatal("cbt updatecluster <cluster-id> [num-nodes=num-nodes]");
    if (at_cbt_args_parse(argv + 1, argc - 1, options, &error) != AT_OK)
        return at_cbt_fatal("%s", error.msg);
    Google__Bigtable__Admin__V2__PartialUpdateClusterRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__partial_update_cluster_request);
    request->cluster = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__cluster);
    if (options[0].value &&
        !read_nodes("num-nodes", options[0].value, &request->cluster->serve_nodes))
        return 1;
    if (request->cluster->serve_nodes <= 0)
        return at_cbt_fatal("Updating cluster: nothing to update");
    request->cluster->name =
        at_proto_text(at_cbt_name(cbt, cbt->instance_name, "clusters", argv[0]));
    request->update_mask = AT_PROTO_NEW(&cbt->arena, google__protobuf__field_mask);
    request->update_mask->n_paths = 2;
    request->update_mask->paths = paths;
    if (at_cbt_operation(cbt, SERVICE "PartialUpdateCluster", request, &error) != AT_OK)
        return at_cbt_failed("Updating cluster", &error);
    return 0;
}

int at_cbt_deletecluster(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {SERVICE "DeleteCluster",
                                                &google__protobuf__empty__descriptor, false};
    struct at_error error;
    void *answer = NULL;

    if (argc != 1)
        return at_cbt_fatal("usage: cbt deletecluster <cluster>");
    Google__Bigtable__Admin__V2__DeleteClusterRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__delete_cluster_request);
    request->name = at_proto_text(at_cbt_name(cbt, cbt->instance_name, "clusters", argv[0]));
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Deleting cluster", &error);
    return 0;
}
