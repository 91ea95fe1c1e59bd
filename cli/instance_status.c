/* instance_status.c: lag is computed from two answers, the lagging side's first: what the other has
 * by the time it is asked can only be more, so a lag of 0 is never shown early. The two are asked
 * right after each other: who is silent takes its time before, so that what others do meanwhile
 * does not look like lag. */
#include "cli/instance_status.h"

#include <string.h>

#include "base/clock.h"
#include "cli/ask.h"
#include "cli/process.h"

#define ASK_MS 1000

static void ask_cluster(struct at_cluster_report *c,
                        const struct at_cluster_config *config,
                        struct at_arena *arena);
static struct at_lag_report lag_of(const struct at_cluster_report *behind,
                                   const struct at_cluster_report *ahead,
                                   const struct at_cluster_report *later);
static void count_in(struct at_lag_report *lag, uint64_t missing, uint64_t between_ns);
static uint64_t scaled(uint64_t amount, uint64_t by, uint64_t of);
static uint64_t now_ns(void);

void at_instance_ask(struct at_state_dir *s,
                     struct at_arena *arena,
                     struct at_instance_report *ret_report)
{
    struct at_instance_report *r = ret_report;
    bool silent = false;
    *r = (struct at_instance_report){.cluster_count = s->instance.cluster_count};
    r->name = at_arena_printf(arena, "projects/%s/instances/%s", s->instance.project,
                              s->instance.instance);
    r->router_running = at_state_dir_running(s, AT_ROUTER_NAME);
    Atoll__V1__StatusRequest request = ATOLL__V1__STATUS_REQUEST__INIT;
    struct at_ask ask = {"127.0.0.1", r->router_running.grpc, "/atoll.v1.Router/Status", ASK_MS};
    void *answer;
    if (r->router_running.alive &&
        at_ask_unary(&ask, &request.base, &atoll__v1__router_status__descriptor, arena, &answer,
                     NULL) == AT_OK)
        r->router = answer;
    for (uint32_t i = 0; i < r->cluster_count; i++) {
        const struct at_cluster_config *c = &s->instance.clusters[i];
        r->clusters[i].running = at_state_dir_running(s, c->id);
        ask_cluster(&r->clusters[i], c, arena);
        /* one that has served before is down */
        r->clusters[i].joining = at_process_unborn(s, c);
        silent = silent || (r->clusters[i].running.alive && !r->clusters[i].status);
    }
    for (uint32_t i = 0; silent && i < r->cluster_count; i++)
        if (r->clusters[i].status)
            ask_cluster(&r->clusters[i], &s->instance.clusters[i], arena);
    for (uint32_t ahead = 0; ahead < r->cluster_count; ahead++) {
        struct at_cluster_report later = r->clusters[ahead];
        if (later.status)
            ask_cluster(&later, &s->instance.clusters[ahead], arena);
        for (uint32_t behind = 0; behind < r->cluster_count; behind++)
            if (behind != ahead)
                r->lag[behind][ahead] = lag_of(&r->clusters[behind], &r->clusters[ahead], &later);
    }
}

static void ask_cluster(struct at_cluster_report *c,
                        const struct at_cluster_config *config,
                        struct at_arena *arena)
{
    Atoll__V1__StatusRequest request = ATOLL__V1__STATUS_REQUEST__INIT;
    struct at_ask ask = {config->host, config->grpc_port, "/atoll.v1.Cluster/Status", ASK_MS};
    void *answer;
    c->id = config->id;
    c->zone = config->zone;
    c->status = NULL;
    c->asked_ns = now_ns();
    if (c->running.alive &&
        at_ask_unary(&ask, &request.base, &atoll__v1__cluster_status__descriptor, arena, &answer,
                     NULL) == AT_OK)
        c->status = answer;
}

static uint64_t now_ns(void)
{
    struct at_clock clock = at_clock_system();

    return at_clock_mono_ns(&clock);
}

static struct at_lag_report lag_of(const struct at_cluster_report *behind,
                                   const struct at_cluster_report *ahead,
                                   const struct at_cluster_report *later)
{
    struct at_lag_report lag = {.link = "CUT"};
    if (!behind->status)
        return lag;
    for (size_t i = 0; i < behind->status->n_links; i++) {
        const Atoll__V1__LinkStatus *link = behind->status->links[i];
        if (strcmp(link->peer_id, ahead->id) != 0)
            continue;
        lag.link = link->state;
        lag.known = link->lag_known;
        lag.ms = link->lag_ms;
        lag.entries = link->lag_entries;
        lag.bytes = link->lag_bytes;
        lag.entries_per_s = link->entries_per_second;
        lag.bytes_per_s = link->bytes_per_second;
        lag.skew_ms = link->skew_ms;
    }
    if (!lag.known || !later->status) {
        lag.known = false;
        return lag;
    }
    uint64_t applied = 0;
    for (size_t i = 0; i < behind->status->n_positions; i++) {
        const Atoll__V1__PositionStatus *p = behind->status->positions[i];
        if (p->member_id == later->status->member_id && p->epoch == later->status->epoch)
            applied = p->applied;
    }
    uint64_t missing = later->status->seq > applied ? later->status->seq - applied : 0;
    count_in(&lag, missing, later->asked_ns - behind->asked_ns);
    return lag;
}

/* More is missing than the lagging side knew when it was asked. Of the size of these entries
 * nothing is known but what others had. */
static void count_in(struct at_lag_report *lag, uint64_t missing, uint64_t between_ns)
{
    uint64_t between_ms = between_ns / AT_MS_NS;

    if (missing <= lag->entries)
        return;
    if (lag->entries > 0)
        lag->bytes = scaled(lag->bytes, missing, lag->entries);
    else if (lag->entries_per_s > 0)
        lag->bytes = scaled(lag->bytes_per_s, missing, lag->entries_per_s);
    if (lag->ms <= between_ms)
        lag->ms = between_ms + 1;
    lag->entries = missing;
}

static uint64_t scaled(uint64_t amount, uint64_t by, uint64_t of)
{
    double result = (double)amount * (double)by / (double)of;

    return result < (double)INT64_MAX ? (uint64_t)result : (uint64_t)INT64_MAX;
}

/* What its folder says of it stays open as long as the arena of `root`. */
static struct at_instance_report *ask_other(struct at_state_dir *root,
                                            const char *path,
                                            const struct at_instance_report *first,
                                            struct at_arena *arena)
{
    struct at_state_dir *s = AT_ARENA_NEW(&root->arena, struct at_state_dir);
    struct at_instance_report *r = AT_ARENA_NEW(arena, struct at_instance_report);
    struct at_error error;
    at_state_dir_begin(s, path);
    if (at_instance_load(at_state_dir_path(s, "", "instance", ".yaml"), &root->arena, &s->instance,
                         &error) == AT_OK) {
        at_instance_ask(s, arena, r);
        r->router_running = first->router_running;
        r->router = first->router;
    } else {
        r = NULL; /* it is being made, or removed */
    }
    at_state_dir_close(s);
    return r;
}

uint32_t at_instance_ask_others(struct at_state_dir *root,
                                const struct at_instance_report *first,
                                struct at_arena *arena,
                                struct at_instance_report ***ret_reports)
{
    const char **paths;
    uint32_t count = at_state_dir_folders(root, &paths), kept = 0;
    struct at_instance_report **reports =
        AT_ARENA_ARRAY(arena, struct at_instance_report *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        reports[kept] = ask_other(root, paths[i], first, arena);
        kept += reports[kept] != NULL;
    }
    *ret_reports = reports;
    return kept;
}

const Atoll__V1__RouterClusterStatus *at_router_report_of(const struct at_instance_report *r,
                                                          const char *id)
{
    for (size_t i = 0; r->router && i < r->router->n_clusters; i++) {
        const Atoll__V1__RouterClusterStatus *c = r->router->clusters[i];
        if (strcmp(c->cluster_id, id) == 0 && strcmp(c->instance, r->name) == 0)
            return c;
    }
    return NULL;
}

const char *at_cluster_report_state(const struct at_cluster_report *c)
{
    if (!c->running.alive)
        return c->joining ? "CREATING" : "DOWN";
    if (!c->status)
        return "SILENT"; /* runs, but does not answer: stopped, or starting */
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(
        &atoll__v1__cluster_state__descriptor, (int)c->status->state);
    return value ? value->name : "UNKNOWN";
}
