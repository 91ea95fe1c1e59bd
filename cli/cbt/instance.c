/* instance.c: listinstances, listclusters. */
#include "cli/cbt/command.h"
#include "cli/cbt/print.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"

#define SERVICE "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

int at_cbt_listinstances(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "ListInstances", &google__bigtable__admin__v2__list_instances_response__descriptor,
        true};
    static const char *const TITLES[] = {"Instance Name", "Info"};
    static const char *const LINES[] = {"-------------", "----"};
    struct at_cbt_grid grid;
    struct at_error error;
    void *answer = NULL;
    (void)argv;
    if (argc != 0)
        return at_cbt_fatal("usage: cbt listinstances");
    Google__Bigtable__Admin__V2__ListInstancesRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__list_instances_request);
    request->parent = at_arena_printf(&cbt->arena, "projects/%s", cbt->project);
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Getting list of instances", &error);
    Google__Bigtable__Admin__V2__ListInstancesResponse *list = answer;
    at_cbt_grid_begin(&grid, 2, TITLES, LINES);
    for (size_t i = 0; i < list->n_instances; i++) {
        at_cbt_grid_add(&grid, last_part(list->instances[i]->name));
        at_cbt_grid_add(&grid, list->instances[i]->display_name);
    }
    at_cbt_grid_end(&grid, stdout);
    return 0;
}

static const char *state_name(Google__Bigtable__Admin__V2__Cluster__State state)
{
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(
        &google__bigtable__admin__v2__cluster__state__descriptor, (int)state);
    return v ? v->name : "STATE_NOT_KNOWN";
}

int at_cbt_listclusters(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "ListClusters", &google__bigtable__admin__v2__list_clusters_response__descriptor,
        true};
    static const char *const TITLES[] = {"Cluster Name", "Zone", "State"};
    static const char *const LINES[] = {"------------", "----", "----"};
    struct at_cbt_grid grid;
    struct at_error error;
    void *answer = NULL;
    (void)argv;
    if (argc != 0)
        return at_cbt_fatal("usage: cbt listclusters");
    Google__Bigtable__Admin__V2__ListClustersRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__list_clusters_request);
    request->parent = at_proto_text(cbt->instance_name);
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Getting list of clusters", &error);
    Google__Bigtable__Admin__V2__ListClustersResponse *list = answer;
    at_cbt_grid_begin(&grid, 3, TITLES, LINES);
    for (size_t i = 0; i < list->n_clusters; i++) {
        Google__Bigtable__Admin__V2__Cluster *c = list->clusters[i];
        at_cbt_grid_add(&grid, last_part(c->name));
        at_cbt_grid_add(&grid, last_part(c->location));
        at_cbt_grid_add(&grid, at_arena_printf(&cbt->arena, "%s (%d serve nodes)",
                                               state_name(c->state), c->serve_nodes));
    }
    at_cbt_grid_end(&grid, stdout);
    return 0;
}
