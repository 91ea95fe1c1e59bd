/* profile.c: app profiles. An update is a long-running operation. */
#include "cli/cbt/args.h"
#include "cli/cbt/command.h"
#include "cli/cbt/operation.h"
#include "cli/cbt/print.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"

#define SERVICE "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define ROUTE_USAGE "(route-any | [ route-to=<cluster-id> : transactional-writes])"

typedef Google__Bigtable__Admin__V2__AppProfile app_profile;

static const char *profile_name(struct at_cbt *cbt, const char *instance, const char *profile)
{
    return at_arena_printf(&cbt->arena, "projects/%s/instances/%s/appProfiles/%s", cbt->project,
                           instance, profile);
}

static const char *routing_text(struct at_cbt *cbt, const app_profile *p)
{
    switch ((int)p->routing_policy_case) {
    case GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY:
        return "&{}";
    case GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING:
        return at_arena_printf(&cbt->arena, "&{cluster_id:\"%s\"%s}",
                               p->single_cluster_routing->cluster_id,
                               p->single_cluster_routing->allow_transactional_writes
                                   ? " allow_transactional_writes:true"
                                   : "");
    case GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY__NOT_SET:
    default:
        return "<nil>";
    }
}

/* Reads the routing and the flags of createappprofile and updateappprofile from argv[2..]; prints
 * what is wrong and returns false. */
static bool read_profile(struct at_cbt *cbt, int argc, char **argv, app_profile *p, bool *ret_force)
{
    struct at_cbt_option options[] = {{.key = "force"}, {.key = "transactional-writes"}, {0}};
    bool transactional = false;
    p->description = argv[2];
    bool any = strcmp(argv[3], "route-any") == 0;
    if (!any &&
        (strncmp(argv[3], "route-to=", 9) != 0 || argv[3][9] == '\0' || strchr(argv[3] + 9, '='))) {
        (void)at_cbt_fatal(
            "Exactly one of (route-any | [route-to : transactional-writes]) must be specified.");
        return false;
    }
    *ret_force = false;
    if (at_cbt_args_parse(argv + 4, argc - 4, options, NULL) != AT_OK ||
        (options[0].value && !at_cbt_bool(options[0].value, ret_force)) ||
        (options[1].value && !at_cbt_bool(options[1].value, &transactional))) {
        (void)at_cbt_fatal("optional flags can be specified as "
                           "(force=<true>|transactional-writes=<true>) got %s ",
                           argv[4]);
        return false;
    }
    if (any) {
        p->routing_policy_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY;
        p->multi_cluster_routing_use_any = AT_PROTO_NEW(
            &cbt->arena, google__bigtable__admin__v2__app_profile__multi_cluster_routing_use_any);
        return true;
    }
    p->routing_policy_case =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
    p->single_cluster_routing =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__app_profile__single_cluster_routing);
    p->single_cluster_routing->cluster_id = argv[3] + 9;
    p->single_cluster_routing->allow_transactional_writes = transactional;
    return true;
}

int at_cbt_createappprofile(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "CreateAppProfile", &google__bigtable__admin__v2__app_profile__descriptor, false};
    struct at_error error;
    bool force = false;
    void *answer = NULL;
    if (argc < 4 || argc > 6)
        return at_cbt_fatal("usage: cbt createappprofile <instance-id> <profile-id> <description> "
                            " " ROUTE_USAGE " [optional flag] \noptional flags may be `force`");
    Google__Bigtable__Admin__V2__CreateAppProfileRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__create_app_profile_request);
    request->app_profile = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__app_profile);
    if (!read_profile(cbt, argc, argv, request->app_profile, &force))
        return 1;
    request->ignore_warnings = force;
    request->parent =
        at_arena_printf(&cbt->arena, "projects/%s/instances/%s", cbt->project, argv[0]);
    request->app_profile_id = argv[1];
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Failed to create app profile ", &error);
    app_profile *made = answer;
    (void)printf("Name: %s\nRoutingPolicy: %s\n", made->name, routing_text(cbt, made));
    return 0;
}

int at_cbt_getappprofile(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "GetAppProfile", &google__bigtable__admin__v2__app_profile__descriptor, true};
    struct at_error error;
    void *answer = NULL;
    if (argc != 2)
        return at_cbt_fatal("usage: cbt getappprofile <instance-id> <profile-id>");
    Google__Bigtable__Admin__V2__GetAppProfileRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__get_app_profile_request);
    request->name = at_proto_text(profile_name(cbt, argv[0], argv[1]));
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Failed to get app profile ", &error);
    app_profile *p = answer;
    (void)printf("Name: %s\nEtag: %s\nDescription: %s\nRoutingPolicy: %s\n", p->name, p->etag,
                 p->description, routing_text(cbt, p));
    return 0;
}

int at_cbt_listappprofile(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {
        SERVICE "ListAppProfiles",
        &google__bigtable__admin__v2__list_app_profiles_response__descriptor, true};
    static const char *const TITLES[] = {"AppProfile", "Profile Description", "Profile Etag",
                                         "Profile Routing Policy"};
    static const char *const LINES[] = {"-----------", "--------------------", "------------",
                                        "----------------------"};
    struct at_cbt_grid grid;
    struct at_error error;
    int status = 0;
    if (argc != 1)
        return at_cbt_fatal("usage: cbt listappprofile <instance-id>");
    Google__Bigtable__Admin__V2__ListAppProfilesRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__list_app_profiles_request);
    request->parent =
        at_arena_printf(&cbt->arena, "projects/%s/instances/%s", cbt->project, argv[0]);
    at_cbt_grid_begin(&grid, 4, TITLES, LINES);
    for (bool more = true; more;) {
        void *answer = NULL;
        if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK) {
            status = at_cbt_fatal("Failed to fetch app profile rpc error: code = %s desc = %s",
                                  at_cbt_code_name(error.code), error.msg);
            break;
        }
        Google__Bigtable__Admin__V2__ListAppProfilesResponse *page = answer;
        for (size_t i = 0; i < page->n_app_profiles; i++) {
            app_profile *p = page->app_profiles[i];
            at_cbt_grid_add(&grid, p->name);
            at_cbt_grid_add(&grid, p->description);
            at_cbt_grid_add(&grid, p->etag);
            at_cbt_grid_add(&grid, routing_text(cbt, p));
        }
        request->page_token = page->next_page_token;
        more = page->next_page_token[0] != '\0';
    }
    at_cbt_grid_end(&grid, status == 0 ? stdout : NULL);
    return status;
}

int at_cbt_updateappprofile(struct at_cbt *cbt, int argc, char **argv)
{
    struct at_error error;
    bool force = false;
    char *paths[2] = {at_proto_text("description"), NULL};
    if (argc < 4)
        return at_cbt_fatal("usage: cbt updateappprofile  <instance-id> <profile-id> <description>"
                            " " ROUTE_USAGE " [optional flag] \noptional flags may be `force`");
    Google__Bigtable__Admin__V2__UpdateAppProfileRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__update_app_profile_request);
    request->app_profile = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__app_profile);
    if (!read_profile(cbt, argc, argv, request->app_profile, &force))
        return 1;
    bool single = request->app_profile->routing_policy_case ==
                  GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
    paths[1] = at_proto_text(single ? "single_cluster_routing" : "multi_cluster_routing_use_any");
    request->ignore_warnings = force;
    request->app_profile->name = at_proto_text(profile_name(cbt, argv[0], argv[1]));
    request->update_mask = AT_PROTO_NEW(&cbt->arena, google__protobuf__field_mask);
    request->update_mask->n_paths = 2;
    request->update_mask->paths = paths;
    if (at_cbt_operation(cbt, SERVICE "UpdateAppProfile", request, &error) != AT_OK)
        return at_cbt_failed("Failed to update app profile ", &error);
    return 0;
}

int at_cbt_deleteappprofile(struct at_cbt *cbt, int argc, char **argv)
{
    static const struct at_cbt_method METHOD = {SERVICE "DeleteAppProfile",
                                                &google__protobuf__empty__descriptor, false};
    struct at_error error;
    void *answer = NULL;
    if (argc != 2)
        return at_cbt_fatal("usage: cbt deleteappprofile <instance-id> <profile-id>");
    Google__Bigtable__Admin__V2__DeleteAppProfileRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__delete_app_profile_request);
    request->name = at_proto_text(profile_name(cbt, argv[0], argv[1]));
    request->ignore_warnings = true;
    if (at_cbt_call(cbt, &METHOD, request, &answer, &error) != AT_OK)
        return at_cbt_failed("Failed to delete  app profile ", &error);
    return 0;
}
