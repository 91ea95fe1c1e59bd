/* table.c: columns for people, JSON for scripts. */
#include "cli/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static void print_lags(FILE *out, const struct at_instance_report *r);
static void print_router(FILE *out, const struct at_instance_report *r);
static void print_health(FILE *out, const struct at_instance_report *r);
static void print_clusters(FILE *out, const struct at_instance_report *r);
static void print_details(FILE *out, const struct at_cluster_report *c);
static json_t *cluster_json(const struct at_instance_report *r, uint32_t index);

void at_table_print_instance(FILE *out, struct at_state_dir *s)
{
    struct at_arena arena;
    struct at_instance_report r;
    at_arena_init(&arena, 16 * AT_KIB);
    at_instance_ask(s, &arena, &r);
    (void)fprintf(out, "instance projects/%s/instances/%s\n\n", s->instance.project,
                  s->instance.instance);
    (void)fprintf(out, "%-16s %-20s %-6s %-6s %-8s %s\n", "CLUSTER", "ZONE", "GRPC", "PEER", "PID",
                  "STATE");
    for (uint32_t i = 0; i < r.cluster_count; i++) {
        const struct at_cluster_report *c = &r.clusters[i];
        (void)fprintf(out, "%-16s %-20s %-6u %-6u %-8d %s\n", c->id, c->zone, c->running.grpc,
                      c->running.peer, (int)c->running.pid, at_cluster_report_state(c));
    }
    (void)fprintf(out, "%-16s %-20s %-6u %-6s %-8d %s\n", AT_ROUTER_NAME, s->instance.router_zone,
                  r.router_running.grpc, "", (int)r.router_running.pid,
                  r.router ? "SERVING" : "SILENT");
    (void)fprintf(out, "\nhttp://127.0.0.1:%u/status\n", r.router_running.http);
    (void)fprintf(out, "\nexport BIGTABLE_EMULATOR_HOST=127.0.0.1:%u\n", r.router_running.grpc);
    at_arena_deinit(&arena);
}

/* Of the copy that fills a cluster; 100 only when it is over. */
static unsigned percent_of(const Atoll__V1__ClusterStatus *s)
{
    if (s->copy_bytes == 0)
        return 0;
    uint64_t percent = s->copied_bytes / (s->copy_bytes / 100 + 1);
    return percent < 99 ? (unsigned)percent : 99;
}

static void print_bytes(char text[16], uint64_t bytes)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    (void)snprintf(text, 16, unit == 0 ? "%.0f %s" : "%.1f %s", value, UNITS[unit]);
}

void at_table_print_report(FILE *out, const struct at_instance_report *r)
{
    (void)fprintf(out, "%s\n", r->name);
    print_clusters(out, r);
    if (r->cluster_count > 1)
        print_lags(out, r);
    print_router(out, r);
}

void at_table_print_other(FILE *out, const struct at_instance_report *r)
{
    (void)fprintf(out, "\n%s\n", r->name);
    print_clusters(out, r);
    if (r->cluster_count > 1)
        print_lags(out, r);
    if (r->router)
        print_health(out, r);
}

static void print_clusters(FILE *out, const struct at_instance_report *r)
{
    (void)fprintf(out, "%-16s %-20s %-8s %-12s %-6s %12s %10s %10s\n", "CLUSTER", "ZONE", "PID",
                  "STATE", "WRITES", "ENTRIES", "LOG", "DATA");
    for (uint32_t i = 0; i < r->cluster_count; i++) {
        const struct at_cluster_report *c = &r->clusters[i];
        char log[16] = "?", data[16] = "?", seq[24] = "?", pid[16] = "-";
        if (c->status) {
            print_bytes(log, c->status->log_bytes);
            print_bytes(data, c->status->data_bytes);
            (void)snprintf(seq, sizeof(seq), "%" PRIu64, c->status->seq);
        }
        if (c->running.alive)
            (void)snprintf(pid, sizeof(pid), "%d", (int)c->running.pid);
        (void)fprintf(out, "%-16s %-20s %-8s %-12s %-6s %12s %10s %10s\n", c->id, c->zone, pid,
                      at_cluster_report_state(c),
                      !c->status             ? "?"
                      : c->status->may_write ? "yes"
                                             : "no",
                      seq, log, data);
        if (c->status)
            print_details(out, c);
    }
}

static void print_details(FILE *out, const struct at_cluster_report *c)
{
    const Atoll__V1__ClusterStatus *s = c->status;
    if (s->state_reason[0])
        (void)fprintf(out, "%-16s %s\n", "", s->state_reason);
    if (s->copy_bytes > 0)
        (void)fprintf(out, "%-16s filled to %u %%, %.1f MB/s\n", "", percent_of(s),
                      (double)s->copy_bytes_per_second / 1e6);
    for (size_t i = 0; i < s->n_fenced; i++)
        (void)fprintf(out, "%-16s %s is fenced: its removal has begun\n", "", s->fenced[i]);
}

static void print_lags(FILE *out, const struct at_instance_report *r)
{
    (void)fprintf(out, "\n%-16s %-16s %-12s %12s %10s\n", "BEHIND", "OF", "LINK", "ENTRIES", "MS");
    for (uint32_t i = 0; i < r->cluster_count; i++) {
        for (uint32_t k = 0; k < r->cluster_count; k++) {
            if (i == k)
                continue;
            const struct at_lag_report *lag = &r->lag[i][k];
            char entries[24] = "?", ms[24] = "?";
            if (lag->known) {
                (void)snprintf(entries, sizeof(entries), "%" PRIu64, lag->entries);
                (void)snprintf(ms, sizeof(ms), "%" PRIu64, lag->ms);
            }
            (void)fprintf(out, "%-16s %-16s %-12s %12s %10s\n", r->clusters[i].id,
                          r->clusters[k].id, lag->link, entries, ms);
        }
    }
}

/* What a cluster is to the router's any-cluster profiles at this moment. All are primaries. */
static const char *role_of(const Atoll__V1__RouterClusterStatus *c)
{
    if (!c->healthy)
        return "out";
    return c->rank == 1 ? "serving" : "standby";
}

static void print_router(FILE *out, const struct at_instance_report *r)
{
    if (!r->router) {
        (void)fprintf(out, "\nrouter: %s\n", r->router_running.alive ? "SILENT" : "DOWN");
        return;
    }
    (void)fprintf(out,
                  "\nrouter: SERVING, pid %" PRIu64 ", gRPC %u, HTTP %u, %" PRIu64 " fail-overs\n",
                  r->router->pid, r->router->grpc_port, r->router->http_port, r->router->failovers);
    print_health(out, r);
}

static void print_health(FILE *out, const struct at_instance_report *r)
{
    (void)fprintf(out, "%-16s %-8s %-9s %10s %12s %10s  %s\n", "CLUSTER", "HEALTH", "ROLE",
                  "RTT us", "SERVED", "FAILED", "REASON");
    for (size_t i = 0; i < r->router->n_clusters; i++) {
        const Atoll__V1__RouterClusterStatus *c = r->router->clusters[i];
        if (strcmp(c->instance, r->name) != 0)
            continue;
        (void)fprintf(out, "%-16s %-8s %-9s %10" PRIu64 " %12" PRIu64 " %10" PRIu64 "  %s\n",
                      c->cluster_id, c->healthy ? "up" : "down", role_of(c), c->rtt_us, c->served,
                      c->failed, c->reason);
    }
}

static json_t *clusters_json(const struct at_instance_report *r)
{
    json_t *clusters = json_array();
    for (uint32_t i = 0; i < r->cluster_count; i++)
        (void)json_array_append_new(clusters, cluster_json(r, i));
    return clusters;
}

static json_t *instance_json(const struct at_instance_report *r)
{
    return json_pack("{s:s, s:o}", "name", r->name, "clusters", clusters_json(r));
}

void at_table_print_json(FILE *out,
                         const struct at_instance_report *r,
                         struct at_instance_report *const *others,
                         uint32_t other_count)
{
    json_t *instances = json_array();
    (void)json_array_append_new(instances, instance_json(r));
    for (uint32_t i = 0; i < other_count; i++)
        (void)json_array_append_new(instances, instance_json(others[i]));
    json_t *router =
        json_pack("{s:i, s:i, s:i, s:s}", "grpc", (int)r->router_running.grpc, "http",
                  (int)r->router_running.http, "pid", (int)r->router_running.pid, "state",
                  r->router                 ? "SERVING"
                  : r->router_running.alive ? "SILENT"
                                            : "DOWN");
    if (r->router)
        (void)json_object_set_new(router, "failovers",
                                  json_integer((json_int_t)r->router->failovers));
    json_t *root = json_pack("{s:o, s:o, s:o}", "router", router, "clusters", clusters_json(r),
                             "instances", instances);
    char *text = json_dumps(root, JSON_INDENT(2));
    (void)fprintf(out, "%s\n", text ? text : "{}");
    free(text);
    json_decref(root);
}

static json_t *lag_json(const struct at_instance_report *r, uint32_t behind)
{
    json_t *lags = json_object();
    for (uint32_t k = 0; k < r->cluster_count; k++) {
        if (k == behind)
            continue;
        const struct at_lag_report *lag = &r->lag[behind][k];
        json_t *one = json_pack("{s:s}", "link", lag->link);
        (void)json_object_set_new(
            one, "entries", lag->known ? json_integer((json_int_t)lag->entries) : json_null());
        (void)json_object_set_new(one, "ms",
                                  lag->known ? json_integer((json_int_t)lag->ms) : json_null());
        (void)json_object_set_new(one, "bytes",
                                  lag->known ? json_integer((json_int_t)lag->bytes) : json_null());
        (void)json_object_set_new(one, "entriesPerSecond",
                                  json_integer((json_int_t)lag->entries_per_s));
        (void)json_object_set_new(one, "bytesPerSecond",
                                  json_integer((json_int_t)lag->bytes_per_s));
        (void)json_object_set_new(one, "skewMs", json_integer((json_int_t)lag->skew_ms));
        (void)json_object_set_new(lags, r->clusters[k].id, one);
    }
    return lags;
}

static void set_health(json_t *root, const Atoll__V1__RouterClusterStatus *c)
{
    (void)json_object_set_new(root, "healthy", json_boolean(c->healthy));
    (void)json_object_set_new(root, "role", json_string(role_of(c)));
}

static json_t *cluster_json(const struct at_instance_report *r, uint32_t index)
{
    const struct at_cluster_report *c = &r->clusters[index];
    json_t *root = json_pack("{s:s, s:s, s:i, s:i, s:i, s:s, s:o}", "id", c->id, "zone", c->zone,
                             "grpc", (int)c->running.grpc, "peer", (int)c->running.peer, "pid",
                             c->running.alive ? (int)c->running.pid : 0, "state",
                             at_cluster_report_state(c), "lag", lag_json(r, index));
    if (!c->status)
        return root;
    (void)json_object_set_new(root, "may_write", json_boolean(c->status->may_write));
    (void)json_object_set_new(root, "entries", json_integer((json_int_t)c->status->seq));
    (void)json_object_set_new(root, "log_bytes", json_integer((json_int_t)c->status->log_bytes));
    (void)json_object_set_new(root, "forgotten", json_integer((json_int_t)c->status->forgotten));
    (void)json_object_set_new(root, "data_bytes", json_integer((json_int_t)c->status->data_bytes));
    (void)json_object_set_new(root, "copied_bytes",
                              json_integer((json_int_t)c->status->copied_bytes));
    (void)json_object_set_new(root, "copy_bytes", json_integer((json_int_t)c->status->copy_bytes));
    (void)json_object_set_new(root, "copy_bytes_per_second",
                              json_integer((json_int_t)c->status->copy_bytes_per_second));
    const Atoll__V1__RouterClusterStatus *health = at_router_report_of(r, c->id);
    if (health)
        set_health(root, health);
    return root;
}
