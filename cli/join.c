/* join.c: the question, and its answer as an instance file.
 *
 * The ports are written down before they are told, so that the question is the same when it has to
 * be asked again: who asks from another place is taken for another process. */
#include "cli/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "atoll/v1/control.pb-c.h"
#include "cli/ask.h"
#include "cli/state_dir.h"

#define JOIN_MS 30000

struct joining {
    const struct at_join_options *options;
    struct at_state_dir folder; /* DATA */
    struct at_cluster_config self;
    char host[256]; /* of the member */
    uint16_t port;
};

static enum at_code parse_member(struct joining *j, struct at_error *reterr)
{
    const char *text = j->options->member, *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    char *end = NULL;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (len == 0 || len >= sizeof(j->host) || port == 0 || port > UINT16_MAX || *end != '\0')
        return at_fail(reterr, AT_INVALID_ARGUMENT, "--join %s: HOST:PORT of a member is expected",
                       text);
    memcpy(j->host, text, len);
    j->host[len] = '\0';
    j->port = (uint16_t)port;
    return AT_OK;
}

/* The ports of an earlier attempt, or those that were asked for, or free ones. */
static enum at_code choose_ports(struct joining *j, struct at_error *reterr)
{
    const char *path = at_state_dir_path(&j->folder, "", "ports", "");
    unsigned grpc = 0, peer = 0;
    bool changed;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%5u %5u", &grpc, &peer) != 2) /* NOLINT(cert-err34-c): bounded */
        grpc = peer = 0;
    if (file)
        (void)fclose(file);
    j->self.grpc_port = j->options->grpc_port ? j->options->grpc_port : (uint16_t)grpc;
    j->self.peer_port = j->options->peer_port ? j->options->peer_port : (uint16_t)peer;
    if (j->self.grpc_port == 0 || j->self.peer_port == 0) {
        j->folder.instance = (struct at_instance_config){.clusters = &j->self, .cluster_count = 1};
        AT_TRY(at_state_dir_ports(&j->folder, &changed, reterr));
    }
    file = fopen(path, "we");
    bool ok = file && fprintf(file, "%u %u\n", j->self.grpc_port, j->self.peer_port) > 0 &&
              fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file)
        ok = fclose(file) == 0 && ok;
    return ok ? AT_OK : at_fail(reterr, AT_UNAVAILABLE, "%s: cannot be written", path);
}

static enum at_code
ask(struct joining *j, Atoll__V1__JoinResponse **ret_answer, struct at_error *reterr)
{
    struct at_arena *arena = &j->folder.arena;
    Atoll__V1__ClusterAddress address = ATOLL__V1__CLUSTER_ADDRESS__INIT;
    Atoll__V1__JoinRequest request = ATOLL__V1__JOIN_REQUEST__INIT;
    void *answer = NULL;
    address.cluster_id = at_arena_printf(arena, "%s", j->self.id);
    address.host = at_arena_printf(arena, "%s", j->self.host);
    address.grpc_port = j->self.grpc_port;
    address.peer_port = j->self.peer_port;
    request.address = &address;
    const struct at_ask question = {j->host, j->port, "/atoll.v1.Cluster/Join", JOIN_MS};
    AT_TRY(at_ask_unary(&question, &request.base, &atoll__v1__join_response__descriptor, arena,
                        &answer, reterr));
    *ret_answer = answer;
    const Atoll__V1__JoinResponse *r = answer;
    if (r->member_id == 0 || !r->members || !r->members->settings ||
        r->members->n_members > AT_MEMBERS_MAX)
        return at_fail(reterr, AT_UNAVAILABLE, "%s does not tell what a newcomer needs",
                       j->options->member);
    return AT_OK;
}

static void take_settings(struct at_instance_config *c, const Atoll__V1__InstanceSettings *s)
{
    c->project = s->project;
    c->instance = s->instance;
    c->display_name = s->display_name;
    c->created_operation = c->created_request = "";
    c->sync = s->sync;
    c->accept_any_instance = s->accept_any_instance;
    c->block_cache_mib = s->block_cache_mib;
    c->memtable_mib = s->memtable_mib;
    c->log_cap_mib = s->log_cap_mib;
    c->copy_mib_per_s = s->copy_mib_per_s;
    c->max_skew_ms = s->max_skew_ms;
    c->gc_max_delay_s = s->gc_max_delay_s;
    c->gc_strict = s->gc_strict;
    c->undelete_retention_s = s->undelete_retention_s;
    c->heartbeat_ms = s->heartbeat_ms;
    c->return_lag_ms_max = s->return_lag_ms_max;
}

/* All are marked as such that joined: this file founds nothing, what it leaves out the copy has. */
static void take_members(struct at_state_dir *folder, const Atoll__V1__MembersResponse *members)
{
    struct at_instance_config *c = &folder->instance;
    c->instance_id = members->instance_id;
    c->clusters = AT_ARENA_ARRAY(&folder->arena, struct at_cluster_config, members->n_members + 1);
    c->cluster_count = 0;
    for (size_t i = 0; i < members->n_members; i++) {
        const Atoll__V1__ClusterAddress *m = members->members[i];
        if (m->member_id == 0)
            continue; /* created, and not joined yet */
        c->clusters[c->cluster_count++] =
            (struct at_cluster_config){.id = m->cluster_id,
                                       .zone = m->zone,
                                       .host = m->host[0] ? m->host : "127.0.0.1",
                                       .grpc_port = (uint16_t)m->grpc_port,
                                       .peer_port = (uint16_t)m->peer_port,
                                       .member = m->member_id,
                                       .joining = true,
                                       .join_hlc = members->hlc};
    }
}

static enum at_code write_file(struct joining *j, const char *path, struct at_error *reterr)
{
    Atoll__V1__JoinResponse *answer;
    AT_TRY(choose_ports(j, reterr));
    AT_TRY(ask(j, &answer, reterr));
    if (j->options->zone && strcmp(j->options->zone, answer->zone) != 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "cluster %s was created in zone %s, not in %s",
                       j->self.id, answer->zone, j->options->zone);
    j->folder.instance = (struct at_instance_config){.router_zone = answer->zone};
    take_settings(&j->folder.instance, answer->members->settings);
    take_members(&j->folder, answer->members);
    if (at_state_dir_cluster(&j->folder, j->self.id) < 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s does not count %s as a member",
                       j->options->member, j->self.id);
    return at_instance_save(path, &j->folder.instance, reterr);
}

enum at_code at_join(const struct at_join_options *options,
                     struct at_arena *arena,
                     const char **ret_file,
                     struct at_error *reterr)
{
    struct joining j = {.options = options};
    j.self = (struct at_cluster_config){.id = options->cluster,
                                        .host = options->host ? options->host : "127.0.0.1"};
    AT_TRY(parse_member(&j, reterr));
    if (mkdir(options->data, 0777) != 0 && errno != EEXIST)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: %s", options->data, strerrordesc_np(errno));
    at_state_dir_begin(&j.folder, options->data);
    *ret_file = at_arena_printf(arena, "%s", at_state_dir_path(&j.folder, "", "instance", ".yaml"));
    enum at_code code = AT_OK;
    if (access(*ret_file, F_OK) != 0)
        code = write_file(&j, *ret_file, reterr);
    at_state_dir_close(&j.folder);
    return code;
}
