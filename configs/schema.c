/* schema.c: the tables that libcyaml reads and writes instance files by. */
#include "configs/schema.h"

#include <string.h>

#include "base/limits.h"

#define TEXT(key, flags, type, member) \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | (flags), struct type, member, 0, 512)
#define NUMBER(key, type, member) CYAML_FIELD_UINT(key, CYAML_FLAG_OPTIONAL, struct type, member)

static const cyaml_schema_field_t CLUSTER_FIELDS[] = {
    TEXT("id", 0, raw_cluster, id),
    TEXT("zone", 0, raw_cluster, zone),
    TEXT("host", CYAML_FLAG_OPTIONAL, raw_cluster, host),
    NUMBER("grpc_port", raw_cluster, grpc_port),
    NUMBER("peer_port", raw_cluster, peer_port),
    NUMBER("member", raw_cluster, member),
    CYAML_FIELD_BOOL("joining", CYAML_FLAG_OPTIONAL, struct raw_cluster, joining),
    NUMBER("join_hlc", raw_cluster, join_hlc),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t CLUSTER = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_cluster, CLUSTER_FIELDS),
};

static const cyaml_schema_value_t NAME = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, 512),
};

static const cyaml_schema_field_t PROFILE_FIELDS[] = {
    TEXT("id", 0, raw_profile, id),
    TEXT("description", CYAML_FLAG_OPTIONAL, raw_profile, description),
    TEXT("routing", 0, raw_profile, routing),
    CYAML_FIELD_SEQUENCE("clusters",
                         CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct raw_profile,
                         clusters,
                         &NAME,
                         0,
                         AT_MEMBERS_MAX),
    CYAML_FIELD_BOOL(
        "transactional_writes", CYAML_FLAG_OPTIONAL, struct raw_profile, transactional_writes),
    CYAML_FIELD_BOOL("row_affinity", CYAML_FLAG_OPTIONAL, struct raw_profile, row_affinity),
    TEXT("priority", CYAML_FLAG_OPTIONAL, raw_profile, priority),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t PROFILE = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_profile, PROFILE_FIELDS),
};

static const cyaml_schema_field_t LATENCY_FIELDS[] = {
    TEXT("from", 0, raw_latency, from),
    TEXT("to", 0, raw_latency, to),
    CYAML_FIELD_UINT("ms", CYAML_FLAG_DEFAULT, struct raw_latency, ms),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t LATENCY = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_latency, LATENCY_FIELDS),
};

static const cyaml_schema_field_t ROUTER_FIELDS[] = {
    TEXT("zone", CYAML_FLAG_OPTIONAL, raw_router, zone),
    CYAML_FIELD_UINT_PTR(
        "grpc_port", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct raw_router, grpc_port),
    CYAML_FIELD_UINT_PTR(
        "http_port", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct raw_router, http_port),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t STORAGE_FIELDS[] = {
    NUMBER("block_cache_mib", raw_storage, block_cache_mib),
    NUMBER("memtable_mib", raw_storage, memtable_mib),
    NUMBER("log_cap_mib", raw_storage, log_cap_mib),
    NUMBER("copy_mib_per_s", raw_storage, copy_mib_per_s),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t ROUTING_FIELDS[] = {
    NUMBER("heartbeat_ms", raw_routing, heartbeat_ms),
    NUMBER("return_lag_ms_max", raw_routing, return_lag_ms_max),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t CLOCK_FIELDS[] = {
    NUMBER("max_skew_ms", raw_clock, max_skew_ms),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t GC_FIELDS[] = {
    NUMBER("max_delay_s", raw_gc, max_delay_s),
    TEXT("visibility", CYAML_FLAG_OPTIONAL, raw_gc, visibility),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t INSTANCE_FIELDS[] = {
    TEXT("project", CYAML_FLAG_OPTIONAL, raw_instance, project),
    TEXT("instance", 0, raw_instance, instance),
    TEXT("display_name", CYAML_FLAG_OPTIONAL, raw_instance, display_name),
    NUMBER("instance_id", raw_instance, instance_id),
    TEXT("created_operation", CYAML_FLAG_OPTIONAL, raw_instance, created_operation),
    CYAML_FIELD_STRING_PTR("created_request",
                           CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_instance,
                           created_request,
                           0,
                           AT_CREATE_REQUEST_TEXT_MAX),
    TEXT("durability", CYAML_FLAG_OPTIONAL, raw_instance, durability),
    CYAML_FIELD_BOOL(
        "accept_any_instance", CYAML_FLAG_OPTIONAL, struct raw_instance, accept_any_instance),
    CYAML_FIELD_SEQUENCE(
        "clusters", CYAML_FLAG_POINTER, struct raw_instance, clusters, &CLUSTER, 1, AT_MEMBERS_MAX),
    CYAML_FIELD_MAPPING("router", CYAML_FLAG_OPTIONAL, struct raw_instance, router, ROUTER_FIELDS),
    CYAML_FIELD_SEQUENCE("profiles",
                         CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct raw_instance,
                         profiles,
                         &PROFILE,
                         0,
                         100),
    CYAML_FIELD_SEQUENCE("latencies",
                         CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct raw_instance,
                         latencies,
                         &LATENCY,
                         0,
                         AT_MEMBERS_MAX *AT_MEMBERS_MAX),
    CYAML_FIELD_MAPPING(
        "storage", CYAML_FLAG_OPTIONAL, struct raw_instance, storage, STORAGE_FIELDS),
    CYAML_FIELD_MAPPING(
        "routing", CYAML_FLAG_OPTIONAL, struct raw_instance, routing, ROUTING_FIELDS),
    CYAML_FIELD_MAPPING("clock", CYAML_FLAG_OPTIONAL, struct raw_instance, clock, CLOCK_FIELDS),
    CYAML_FIELD_MAPPING("gc", CYAML_FLAG_OPTIONAL, struct raw_instance, gc, GC_FIELDS),
    NUMBER("undelete_retention_s", raw_instance, undelete_retention_s),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t INSTANCE = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_instance, INSTANCE_FIELDS),
};

const cyaml_schema_value_t *at_instance_schema(void)
{
    return &INSTANCE;
}

const cyaml_schema_field_t *at_instance_schema_fields(const char *context)
{
    static const struct {
        const char *context;
        const cyaml_schema_field_t *fields;
    } KNOWN[] = {
        {"", INSTANCE_FIELDS},         {"clusters", CLUSTER_FIELDS}, {"profiles", PROFILE_FIELDS},
        {"latencies", LATENCY_FIELDS}, {"router", ROUTER_FIELDS},    {"storage", STORAGE_FIELDS},
        {"routing", ROUTING_FIELDS},   {"clock", CLOCK_FIELDS},      {"gc", GC_FIELDS},
    };
    for (size_t i = 0; i < sizeof(KNOWN) / sizeof(KNOWN[0]); i++)
        if (strcmp(KNOWN[i].context, context) == 0)
            return KNOWN[i].fields;
    return NULL;
}
