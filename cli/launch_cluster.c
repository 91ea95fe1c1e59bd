/* launch_cluster.c: one cluster of an instance that is there.
 *
 *   prepare: member number, ports, a place in instance.yaml as one that joins
 *   start:   its process, until it serves
 *   drop:    all of it is gone
 *
 * Member numbers are never given twice: the highest one is kept in a file of its own, for the
 * cluster that had it may be gone from instance.yaml. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/launch.h"

#define SERVING_MS_MAX 30000
#define STOP_MS_MAX 10000

/* Remembers the highest number that was given; `give`: one more, in ret_member. */
static enum at_code
next_member(struct at_state_dir *s, bool give, uint32_t *ret_member, struct at_error *reterr)
{
    const char *path = at_state_dir_path(s, "", "members", "");
    const char *fresh = at_state_dir_path(s, "", "members", ".new");
    unsigned highest = 0;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%9u", &highest) != 1) /* NOLINT(cert-err34-c): bounded to 9 digits */
        highest = 0;
    if (file)
        (void)fclose(file);
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (s->instance.clusters[i].member > highest)
            highest = s->instance.clusters[i].member;
    file = fopen(fresh, "we");
    bool ok = file && fprintf(file, "%u\n", highest + give) > 0 && fflush(file) == 0 &&
              fsync(fileno(file)) == 0;
    if (file)
        ok = fclose(file) == 0 && ok;
    if (!ok || rename(fresh, path) != 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: cannot be written", path);
    *ret_member = highest + give;
    return AT_OK;
}

static enum at_code
add_cluster(struct at_state_dir *s, const char *id, const char *zone, struct at_error *reterr)
{
    uint32_t count = s->instance.cluster_count;
    bool changed;
    if (count >= AT_CLUSTERS_MAX)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "An instance has %d clusters at most",
                       AT_CLUSTERS_MAX);
    struct at_cluster_config *all = AT_ARENA_ARRAY(&s->arena, struct at_cluster_config, count + 1);
    memcpy(all, s->instance.clusters, count * sizeof(*all));
    all[count] =
        (struct at_cluster_config){.id = id, .zone = zone, .host = "127.0.0.1", .joining = true};
    AT_TRY(next_member(s, true, &all[count].member, reterr));
    s->instance.clusters = all;
    s->instance.cluster_count = count + 1;
    AT_TRY(at_state_dir_ports(s, &changed, reterr));
    AT_TRY(at_state_dir_make(s, reterr));
    return at_state_dir_save(s, reterr);
}

static enum at_code prepare(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    const char *id, *zone;
    AT_TRY(at_launch_text(l, "cluster", &id, reterr));
    AT_TRY(at_launch_text(l, "zone", &zone, reterr));
    AT_TRY(at_launch_open(l, s, reterr));
    int at = at_state_dir_cluster(s, id);
    if (at >= 0 && (!s->instance.clusters[at].joining || s->instance.clusters[at].join_hlc != 0))
        return at_fail(reterr, AT_ALREADY_EXISTS, "Cluster %s exists", id);
    if (at < 0) {
        AT_TRY(add_cluster(s, id, zone, reterr));
        at = at_state_dir_cluster(s, id);
    }
    const struct at_cluster_config *c = &s->instance.clusters[at];
    (void)json_object_set_new(l->answer, "member", json_integer(c->member));
    (void)json_object_set_new(l->answer, "host", json_string(c->host));
    (void)json_object_set_new(l->answer, "grpc", json_integer(c->grpc_port));
    (void)json_object_set_new(l->answer, "peer", json_integer(c->peer_port));
    return AT_OK;
}

enum at_code at_launch_prepare_cluster(struct at_launch *l, struct at_error *reterr)
{
    struct at_state_dir s = {.lock_fd = -1};
    enum at_code code = prepare(l, &s, reterr);
    at_state_dir_close(&s);
    return code;
}

static enum at_code start(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    const char *id;
    pid_t pid;
    AT_TRY(at_launch_text(l, "cluster", &id, reterr));
    AT_TRY(at_launch_open(l, s, reterr));
    int at = at_state_dir_cluster(s, id);
    if (at < 0)
        return at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", id);
    json_int_t hlc = json_integer_value(json_object_get(l->spec, "join_hlc"));
    if (hlc > 0 && s->instance.clusters[at].join_hlc == 0) {
        s->instance.clusters[at].join_hlc = (uint64_t)hlc;
        AT_TRY(at_state_dir_save(s, reterr));
    }
    if (at_state_dir_running(s, id).alive)
        return AT_OK;
    AT_TRY(at_process_spawn(s, id, &pid, reterr));
    return at_process_wait_serving(s, id, pid, SERVING_MS_MAX, reterr);
}

enum at_code at_launch_start_cluster(struct at_launch *l, struct at_error *reterr)
{
    struct at_state_dir s = {.lock_fd = -1};
    enum at_code code = start(l, &s, reterr);
    at_state_dir_close(&s);
    return code;
}

/* Profiles of the file are for the first start only; one that names a cluster which the file does
 * not have would make it a wrong file. */
static void drop_profiles(struct at_instance_config *c, const char *cluster)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->profile_count; i++) {
        bool names = false;
        for (uint32_t k = 0; k < c->profiles[i].cluster_count; k++)
            names = names || strcmp(c->profiles[i].clusters[k], cluster) == 0;
        if (!names)
            c->profiles[kept++] = c->profiles[i];
    }
    c->profile_count = kept;
}

enum at_code at_launch_drop(struct at_state_dir *s, const char *cluster, struct at_error *reterr)
{
    int at = at_state_dir_cluster(s, cluster);
    (void)at_process_stop_one(s, cluster, STOP_MS_MAX);
    if (at >= 0) {
        struct at_instance_config *c = &s->instance;
        if (c->cluster_count == 1)
            return at_fail(reterr, AT_FAILED_PRECONDITION, "%s is the last cluster", cluster);
        uint32_t highest; /* remembered before it may be gone from the file */
        AT_TRY(next_member(s, false, &highest, reterr));
        memmove(&c->clusters[at], &c->clusters[at + 1],
                (c->cluster_count - (uint32_t)at - 1) * sizeof(*c->clusters));
        c->cluster_count--;
        drop_profiles(c, cluster);
        AT_TRY(at_state_dir_save(s, reterr));
    }
    return at_process_forget(s, cluster, reterr);
}

static enum at_code drop(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    const char *id;
    AT_TRY(at_launch_text(l, "cluster", &id, reterr));
    AT_TRY(at_launch_open(l, s, reterr));
    return at_launch_drop(s, id, reterr);
}

enum at_code at_launch_drop_cluster(struct at_launch *l, struct at_error *reterr)
{
    struct at_state_dir s = {.lock_fd = -1};
    enum at_code code = drop(l, &s, reterr);
    at_state_dir_close(&s);
    return code;
}
