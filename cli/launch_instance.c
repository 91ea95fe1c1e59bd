/* launch_instance.c: an instance's folder and processes, made and removed.
 *
 *   made:     folder, creation.json (what was asked) -> instance.yaml -> processes serve ->
 *             creation.json removed
 *   removed:  "deletion" in the folder -> processes killed -> folder renamed to .gone-... -> files
 *             removed
 *
 * A folder with creation.json is one whose making was not finished: who finds it asks for the same
 * again; the same with "deletion". One whose name begins with a dot is none any more, and is swept
 * away by whoever comes by. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/folder.h"
#include "base/prng.h"
#include "cli/launch.h"

#define SERVING_MS_MAX 30000
#define GONE_PREFIX ".gone-"

static enum at_code
make_folder(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr);
static enum at_code
write_instance(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr);
static enum at_code
take_clusters(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr);
static enum at_code start_all(struct at_state_dir *s, struct at_error *reterr);
static enum at_code
remove_folder(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr);

enum at_code at_launch_create_instance(struct at_launch *l, struct at_error *reterr)
{
    struct at_state_dir s;
    at_state_dir_begin(&s, at_state_dir_of(l->root, l->project, l->instance));
    enum at_code code = make_folder(l, &s, reterr);
    if (code == AT_OK) {
        code = start_all(&s, reterr);
        struct at_error ignored;
        (void)json_object_set_new(l->answer, "file",
                                  json_string(at_state_dir_path(&s, "", "instance", ".yaml")));
        if (code == AT_OK)
            (void)unlink(at_state_dir_path(&s, "", "creation", ".json"));
        else if (remove_folder(l, &s, &ignored) != AT_OK)
            (void)fprintf(stderr, "atoll launch: %s\n", ignored.msg);
    }
    at_state_dir_close(&s);
    return code;
}

static enum at_code make_parent(struct at_launch *l, struct at_error *reterr)
{
    const char *path = at_state_dir_path(l->root, "", "instances", "");
    if (mkdir(path, 0777) != 0 && access(path, W_OK) != 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: cannot be made", path);
    return AT_OK;
}

static enum at_code
make_folder(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    AT_TRY(make_parent(l, reterr));
    if (mkdir(s->path, 0777) != 0 && access(s->path, W_OK) != 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: cannot be made", s->path);
    AT_TRY(at_state_dir_lock(s, reterr));
    const char *asked = at_state_dir_path(s, "", "creation", ".json");
    const char *file = at_state_dir_path(s, "", "instance", ".yaml");
    bool begun = access(asked, F_OK) == 0;
    if (access(file, F_OK) == 0 && !begun)
        return at_fail(reterr, AT_ALREADY_EXISTS, "Instance projects/%s/instances/%s exists",
                       l->project, l->instance);
    if (!begun && json_dump_file(l->spec, asked, JSON_COMPACT) != 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: cannot be written", asked);
    if (access(file, F_OK) != 0)
        AT_TRY(write_instance(l, s, reterr));
    else
        AT_TRY(at_instance_load(file, &s->arena, &s->instance, reterr));
    return at_state_dir_make(s, reterr);
}

static const char *text_or_empty(const struct at_launch *l, const char *key)
{
    const char *text = json_string_value(json_object_get(l->spec, key));
    return text ? text : "";
}

/* The default profile follows the number of clusters at birth, and stays so when others join. */
static void write_default(struct at_state_dir *s)
{
    struct at_instance_config *c = &s->instance;
    bool one = c->cluster_count == 1;
    const char **only = AT_ARENA_NEW(&s->arena, const char *);
    *only = c->clusters[0].id;
    c->profiles = AT_ARENA_NEW(&s->arena, struct at_profile_config);
    c->profile_count = 1;
    c->profiles[0] = (struct at_profile_config){.id = "default",
                                                .description = "",
                                                .routing = one ? "single" : "any",
                                                .clusters = only,
                                                .cluster_count = one,
                                                .transactional_writes = one,
                                                .priority = "HIGH"};
}

/* Like the router's own instance in all that is not said: durability, sizes, times, distances. */
static enum at_code
write_instance(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    struct at_instance_config *c = &s->instance;
    bool changed;
    *c = l->root->instance;
    c->project = l->project;
    c->instance = l->instance;
    c->display_name = text_or_empty(l, "display_name");
    c->created_operation = text_or_empty(l, "operation");
    c->created_request = text_or_empty(l, "request");
    c->accept_any_instance = false;
    c->instance_id = 0;
    c->grpc_port = 0;
    c->http_port = 0;
    while (c->instance_id == 0)
        at_random_bytes(&c->instance_id, sizeof(c->instance_id));
    AT_TRY(take_clusters(l, s, reterr));
    write_default(s);
    AT_TRY(at_state_dir_ports(s, &changed, reterr));
    return at_state_dir_save(s, reterr);
}

static enum at_code
take_clusters(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    const json_t *list = json_object_get(l->spec, "clusters");
    size_t count = json_array_size(list);
    if (count < 1 || count > AT_CLUSTERS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "an instance has 1 to %d clusters",
                       AT_CLUSTERS_MAX);
    s->instance.clusters = AT_ARENA_ARRAY(&s->arena, struct at_cluster_config, count);
    s->instance.cluster_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        struct at_launch one = {.spec = item};
        struct at_cluster_config *c = &s->instance.clusters[i];
        *c = (struct at_cluster_config){.host = "127.0.0.1", .member = (uint32_t)i + 1};
        AT_TRY(at_launch_text(&one, "id", &c->id, reterr));
        AT_TRY(at_launch_text(&one, "zone", &c->zone, reterr));
    }
    return AT_OK;
}

static enum at_code start_all(struct at_state_dir *s, struct at_error *reterr)
{
    pid_t pids[AT_MEMBERS_MAX];
    AT_TRY(at_process_start_clusters(s, pids, reterr));
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (pids[i] > 0)
            AT_TRY(at_process_wait_serving(s, s->instance.clusters[i].id, pids[i], SERVING_MS_MAX,
                                           reterr));
    return AT_OK;
}

enum at_code at_launch_delete_instance(struct at_launch *l, struct at_error *reterr)
{
    struct at_state_dir s;
    const char *path = at_state_dir_of(l->root, l->project, l->instance);
    if (access(path, F_OK) != 0)
        return at_launch_sweep(l, reterr); /* an earlier run may have been killed over the rest */
    at_state_dir_begin(&s, path);
    enum at_code code = at_state_dir_lock(&s, reterr);
    if (code == AT_OK)
        code = remove_folder(l, &s, reterr);
    at_state_dir_close(&s);
    return code;
}

/* Whatever has a run file here, or is to have one; the instance file may be missing or older. */
static void kill_all(struct at_state_dir *s)
{
    struct at_folder folder AT_CLEANUP(at_folder_close);
    const char *file;
    (void)at_folder_open(&folder, at_state_dir_path(s, "", "run", ""));
    while ((file = at_folder_next(&folder)) != NULL) {
        const char *dot = strrchr(file, '.');
        if (!dot || dot == file || (strcmp(dot, ".json") != 0 && strcmp(dot, ".starting") != 0))
            continue;
        const char *name = at_arena_printf(&s->arena, "%.*s", (int)(dot - file), file);
        (void)at_process_stop_one(s, name, 0);
    }
}

static enum at_code
remove_folder(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    uint64_t random;
    at_random_bytes(&random, sizeof(random));
    const char *gone = at_arena_printf(&s->arena, "%s/" GONE_PREFIX "%016llx",
                                       at_state_dir_path(l->root, "", "instances", ""),
                                       (unsigned long long)random);
    (void)creat(at_state_dir_path(s, "", "deletion", ""), 0666);
    kill_all(s);
    if (rename(s->path, gone) != 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: cannot be removed", s->path);
    return at_launch_sweep(l, reterr);
}

enum at_code at_launch_sweep(struct at_launch *l, struct at_error *reterr)
{
    const char *parent = at_state_dir_path(l->root, "", "instances", "");
    struct at_folder folder AT_CLEANUP(at_folder_close);
    const char *name;
    (void)at_folder_open(&folder, parent);
    while ((name = at_folder_next(&folder)) != NULL)
        if (strncmp(name, GONE_PREFIX, strlen(GONE_PREFIX)) == 0)
            AT_TRY(at_process_remove_tree(at_arena_printf(&l->root->arena, "%s/%s", parent, name),
                                          reterr));
    return AT_OK;
}
