/* instance.c: loading, completing and saving instance files.
 *
 * The shape is libcyaml's business (schema.c), meaning is check.c's. What is loaded is copied into
 * the caller's arena with defaults filled in, so nothing outside this folder sees libcyaml. */
#include "configs/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "configs/check.h"
#include "configs/diagnosis.h"
#include "configs/schema.h"

#define FILE_BYTES_MAX AT_MIB

enum {
    GRPC_PORT_DEFAULT = 8086,
    HTTP_PORT_DEFAULT = 8087,
    BLOCK_CACHE_MIB_DEFAULT = 256,
    MEMTABLE_MIB_DEFAULT = 16,
    LOG_CAP_MIB_DEFAULT = 4096,
    COPY_MIB_PER_S_DEFAULT = 64,
    MAX_SKEW_MS_DEFAULT = 10000,
    GC_MAX_DELAY_S_DEFAULT = 3600,
    HEARTBEAT_MS_DEFAULT = 100,
    RETURN_LAG_MS_DEFAULT = 1000,
    UNDELETE_RETENTION_S_DEFAULT = 7 * 86400,
};

static enum at_code read_file(const char *path, struct at_buf *out, struct at_error *reterr);
static void
take_all(const struct raw_instance *raw, struct at_arena *arena, struct at_instance_config *config);
static void take_profiles(const struct raw_instance *raw,
                          struct at_arena *arena,
                          struct at_instance_config *config);
static void
fill_raw(const struct at_instance_config *config, struct at_arena *arena, struct raw_instance *raw);
static enum at_code write_file(const char *path, struct at_slice text, struct at_error *reterr);

static cyaml_config_t library_config(struct at_diagnosis *diagnosis)
{
    return (cyaml_config_t){
        .log_fn = at_diagnosis_log,
        .log_ctx = diagnosis,
        .log_level = CYAML_LOG_WARNING,
        .mem_fn = cyaml_mem,
        .flags = CYAML_CFG_DEFAULT | CYAML_CFG_NO_ALIAS,
    };
}

enum at_code at_instance_load(const char *path,
                              struct at_arena *arena,
                              struct at_instance_config *ret_config,
                              struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    at_buf_init(&text, FILE_BYTES_MAX);
    AT_TRY(read_file(path, &text, reterr));
    if (text.len == 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "%s:1:1: the file is empty", path);
    struct at_diagnosis diagnosis = {0};
    cyaml_config_t library = library_config(&diagnosis);
    struct raw_instance *raw = NULL;
    /* libyaml asserts that there are bytes, even none: an empty file gets the terminating NUL's. */
    const uint8_t *bytes = (const uint8_t *)at_buf_cstr(&text);
    cyaml_err_t err = cyaml_load_data(bytes, text.len, &library, at_instance_schema(),
                                      (cyaml_data_t **)&raw, NULL);
    if (err != CYAML_OK || !raw)
        return at_diagnosis_fail(&diagnosis, path, at_buf_slice(&text), reterr);
    enum at_code code = at_instance_check(raw, path, at_buf_slice(&text), reterr);
    if (code == AT_OK)
        take_all(raw, arena, ret_config);
    (void)cyaml_free(&library, at_instance_schema(), raw, 0);
    return code;
}

static enum at_code read_file(const char *path, struct at_buf *out, struct at_error *reterr)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return at_fail(reterr, errno == ENOENT ? AT_NOT_FOUND : AT_UNAVAILABLE, "%s: %s", path,
                       strerrordesc_np(errno));
    uint8_t chunk[4096];
    enum at_code code = AT_OK;
    size_t n;
    while (code == AT_OK && (n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        code = at_buf_append(out, at_slice_make(chunk, n));
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (code != AT_OK)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "%s: larger than an instance file can be",
                       path);
    return failed ? at_fail(reterr, AT_UNAVAILABLE, "%s: cannot be read", path) : AT_OK;
}

static const char *text_or(struct at_arena *arena, const char *text, const char *otherwise)
{
    const char *s = text ? text : otherwise;
    return (const char *)at_arena_copy(arena, at_slice_cstr(s)).data;
}

static uint32_t number_or(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}

static void
take_all(const struct raw_instance *raw, struct at_arena *arena, struct at_instance_config *config)
{
    *config = (struct at_instance_config){
        .project = text_or(arena, raw->project, "atoll"),
        .instance = text_or(arena, raw->instance, ""),
        .display_name = text_or(arena, raw->display_name, raw->instance),
        .instance_id = raw->instance_id,
        .created_operation = text_or(arena, raw->created_operation, ""),
        .created_request = text_or(arena, raw->created_request, ""),
        .sync = !raw->durability || strcmp(raw->durability, "sync") == 0,
        .cluster_count = raw->clusters_count,
        .router_zone = text_or(arena, raw->router.zone, raw->clusters[0].zone),
        .grpc_port = raw->router.grpc_port ? *raw->router.grpc_port : GRPC_PORT_DEFAULT,
        .accept_any_instance = raw->accept_any_instance,
        .http_port = raw->router.http_port ? *raw->router.http_port : HTTP_PORT_DEFAULT,
        .latency_count = raw->latencies_count,
        .block_cache_mib = number_or(raw->storage.block_cache_mib, BLOCK_CACHE_MIB_DEFAULT),
        .memtable_mib = number_or(raw->storage.memtable_mib, MEMTABLE_MIB_DEFAULT),
        .log_cap_mib = number_or(raw->storage.log_cap_mib, LOG_CAP_MIB_DEFAULT),
        .copy_mib_per_s = number_or(raw->storage.copy_mib_per_s, COPY_MIB_PER_S_DEFAULT),
        .max_skew_ms = number_or(raw->clock.max_skew_ms, MAX_SKEW_MS_DEFAULT),
        .gc_max_delay_s = number_or(raw->gc.max_delay_s, GC_MAX_DELAY_S_DEFAULT),
        .gc_strict = raw->gc.visibility && strcmp(raw->gc.visibility, "strict") == 0,
        .undelete_retention_s = number_or(raw->undelete_retention_s, UNDELETE_RETENTION_S_DEFAULT),
        .heartbeat_ms = number_or(raw->routing.heartbeat_ms, HEARTBEAT_MS_DEFAULT),
        .return_lag_ms_max = number_or(raw->routing.return_lag_ms_max, RETURN_LAG_MS_DEFAULT),
    };
    config->clusters = AT_ARENA_ARRAY(arena, struct at_cluster_config, raw->clusters_count);
    for (unsigned i = 0; i < raw->clusters_count; i++) {
        const struct raw_cluster *c = &raw->clusters[i];
        config->clusters[i] = (struct at_cluster_config){
            .id = text_or(arena, c->id, ""),
            .zone = text_or(arena, c->zone, ""),
            .host = text_or(arena, c->host, "127.0.0.1"),
            .grpc_port = c->grpc_port,
            .peer_port = c->peer_port,
            .member = c->member,
            .joining = c->joining,
            .join_hlc = c->join_hlc,
        };
    }
    config->latencies = AT_ARENA_ARRAY(arena, struct at_latency_config, raw->latencies_count + 1);
    for (unsigned i = 0; i < raw->latencies_count; i++)
        config->latencies[i] = (struct at_latency_config){
            .from = text_or(arena, raw->latencies[i].from, ""),
            .to = text_or(arena, raw->latencies[i].to, ""),
            .ms = raw->latencies[i].ms,
        };
    take_profiles(raw, arena, config);
}

/* The profile "default" follows production when the file has none: one cluster is routed to with
 * transactions, several are routed to as any. */
static void take_profiles(const struct raw_instance *raw,
                          struct at_arena *arena,
                          struct at_instance_config *config)
{
    config->profiles = AT_ARENA_ARRAY(arena, struct at_profile_config, raw->profiles_count + 1);
    bool have_default = false;
    for (unsigned i = 0; i < raw->profiles_count; i++) {
        const struct raw_profile *p = &raw->profiles[i];
        const char **clusters = AT_ARENA_ARRAY(arena, const char *, p->clusters_count + 1);
        for (unsigned k = 0; k < p->clusters_count; k++)
            clusters[k] = text_or(arena, p->clusters[k], "");
        have_default = have_default || strcmp(p->id, "default") == 0;
        config->profiles[config->profile_count++] = (struct at_profile_config){
            .id = text_or(arena, p->id, ""),
            .description = text_or(arena, p->description, ""),
            .routing = text_or(arena, p->routing, "any"),
            .clusters = clusters,
            .cluster_count = p->clusters_count,
            .transactional_writes = p->transactional_writes,
            .row_affinity = p->row_affinity,
            .priority = text_or(arena, p->priority, "HIGH"),
        };
    }
    if (have_default)
        return;
    bool one = config->cluster_count == 1;
    const char **only = AT_ARENA_ARRAY(arena, const char *, 1);
    only[0] = config->clusters[0].id;
    config->profiles[config->profile_count++] = (struct at_profile_config){
        .id = "default",
        .description = "",
        .routing = one ? "single" : "any",
        .clusters = only,
        .cluster_count = one ? 1 : 0,
        .transactional_writes = one,
        .priority = "HIGH",
    };
}

enum at_code
at_instance_save(const char *path, const struct at_instance_config *config, struct at_error *reterr)
{
    struct at_arena arena;
    at_arena_init(&arena, 16 * AT_KIB);
    struct raw_instance raw = {0};
    fill_raw(config, &arena, &raw);
    struct at_diagnosis diagnosis = {0};
    cyaml_config_t library = library_config(&diagnosis);
    char *text = NULL;
    size_t len = 0;
    cyaml_err_t err = cyaml_save_data(&text, &len, &library, at_instance_schema(), &raw, 0);
    enum at_code code = err == CYAML_OK ? write_file(path, at_slice_make(text, len), reterr)
                                        : at_fail(reterr, AT_INTERNAL, "%s: cannot be written: %s",
                                                  path, cyaml_strerror(err));
    if (text)
        (void)cyaml_mem(NULL, text, 0);
    at_arena_deinit(&arena);
    return code;
}

static char *copy(struct at_arena *arena, const char *text)
{
    return at_arena_printf(arena, "%s", text);
}

/* NULL, so that the field is left out, for an empty text. */
static char *optional(struct at_arena *arena, const char *text)
{
    return text && text[0] ? copy(arena, text) : NULL;
}

static void
fill_raw(const struct at_instance_config *config, struct at_arena *arena, struct raw_instance *raw)
{
    *raw = (struct raw_instance){
        .project = copy(arena, config->project),
        .instance = copy(arena, config->instance),
        .display_name = copy(arena, config->display_name),
        .instance_id = config->instance_id,
        .created_operation = optional(arena, config->created_operation),
        .created_request = optional(arena, config->created_request),
        .durability = copy(arena, config->sync ? "sync" : "async"),
        .accept_any_instance = config->accept_any_instance,
        .clusters_count = config->cluster_count,
        .profiles_count = config->profile_count,
        .latencies_count = config->latency_count,
        .storage = {config->block_cache_mib, config->memtable_mib, config->log_cap_mib,
                    config->copy_mib_per_s},
        .routing = {config->heartbeat_ms, config->return_lag_ms_max},
        .clock = {config->max_skew_ms},
        .gc = {config->gc_max_delay_s, copy(arena, config->gc_strict ? "strict" : "lazy")},
        .undelete_retention_s = config->undelete_retention_s,
    };
    raw->router.zone = copy(arena, config->router_zone);
    raw->router.grpc_port = AT_ARENA_NEW(arena, uint16_t);
    raw->router.http_port = AT_ARENA_NEW(arena, uint16_t);
    *raw->router.grpc_port = config->grpc_port;
    *raw->router.http_port = config->http_port;
    raw->clusters = AT_ARENA_ARRAY(arena, struct raw_cluster, config->cluster_count + 1);
    for (uint32_t i = 0; i < config->cluster_count; i++) {
        const struct at_cluster_config *c = &config->clusters[i];
        raw->clusters[i] = (struct raw_cluster){
            .id = copy(arena, c->id),
            .zone = copy(arena, c->zone),
            .host = copy(arena, c->host),
            .grpc_port = c->grpc_port,
            .peer_port = c->peer_port,
            .member = c->member,
            .joining = c->joining,
            .join_hlc = c->join_hlc,
        };
    }
    raw->profiles = AT_ARENA_ARRAY(arena, struct raw_profile, config->profile_count + 1);
    for (uint32_t i = 0; i < config->profile_count; i++) {
        const struct at_profile_config *p = &config->profiles[i];
        char **clusters = AT_ARENA_ARRAY(arena, char *, p->cluster_count + 1);
        for (uint32_t k = 0; k < p->cluster_count; k++)
            clusters[k] = copy(arena, p->clusters[k]);
        raw->profiles[i] = (struct raw_profile){
            .id = copy(arena, p->id),
            .description = copy(arena, p->description),
            .routing = copy(arena, p->routing),
            .clusters = clusters,
            .clusters_count = p->cluster_count,
            .transactional_writes = p->transactional_writes,
            .row_affinity = p->row_affinity,
            .priority = copy(arena, p->priority),
        };
    }
    raw->latencies = AT_ARENA_ARRAY(arena, struct raw_latency, config->latency_count + 1);
    for (uint32_t i = 0; i < config->latency_count; i++)
        raw->latencies[i] =
            (struct raw_latency){copy(arena, config->latencies[i].from),
                                 copy(arena, config->latencies[i].to), config->latencies[i].ms};
}

/* A reader sees the old file or the new one, never a part: new file, fsync, rename. */
static enum at_code write_file(const char *path, struct at_slice text, struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf temporary;
    at_buf_init(&temporary, 8 * AT_KIB);
    AT_TRY(at_buf_printf(&temporary, "%s.new", path));
    const char *new_path = at_buf_cstr(&temporary);
    FILE *file = fopen(new_path, "we");
    bool ok = file && fwrite(text.data, 1, text.len, file) == text.len && fflush(file) == 0 &&
              fsync(fileno(file)) == 0;
    if (file)
        ok = fclose(file) == 0 && ok;
    if (!ok || rename(new_path, path) != 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: %s", path, strerrordesc_np(errno));
    return AT_OK;
}
