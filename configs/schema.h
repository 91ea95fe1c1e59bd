/* schema.h: the shape of an instance file, for libcyaml. Only configs/ includes it. */
#ifndef ATOLL_CONFIGS_SCHEMA_H
#define ATOLL_CONFIGS_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include <cyaml/cyaml.h>

/* What libcyaml fills in: absent numbers are 0, absent texts NULL. */
struct raw_cluster {
    char *id;
    char *zone;
    char *host;
    uint16_t grpc_port;
    uint16_t peer_port;
    uint32_t member;
    bool joining;
    uint64_t join_hlc;
};

struct raw_profile {
    char *id;
    char *description;
    char *routing;
    char **clusters;
    unsigned clusters_count;
    bool transactional_writes;
    bool row_affinity;
    char *priority;
};

struct raw_latency {
    char *from;
    char *to;
    uint32_t ms;
};

struct raw_router {
    char *zone;
    uint16_t *grpc_port; /* 0 is a value of its own: a free port */
    uint16_t *http_port;
};

struct raw_storage {
    uint32_t block_cache_mib;
    uint32_t memtable_mib;
    uint32_t log_cap_mib;
    uint32_t copy_mib_per_s;
};

struct raw_routing {
    uint32_t heartbeat_ms;
    uint32_t return_lag_ms_max;
};

struct raw_clock {
    uint32_t max_skew_ms;
};

struct raw_gc {
    uint32_t max_delay_s;
    char *visibility;
};

struct raw_instance {
    char *project;
    char *instance;
    char *display_name;
    uint64_t instance_id;
    char *created_operation;
    char *created_request;
    char *durability;
    bool accept_any_instance;
    struct raw_cluster *clusters;
    unsigned clusters_count;
    struct raw_router router;
    struct raw_profile *profiles;
    unsigned profiles_count;
    struct raw_latency *latencies;
    unsigned latencies_count;
    struct raw_storage storage;
    struct raw_routing routing;
    struct raw_clock clock;
    struct raw_gc gc;
    uint32_t undelete_retention_s;
};

/* The whole document. */
const cyaml_schema_value_t *at_instance_schema(void);

/* at_instance_schema_fields returns the fields that are known in the mapping `context` (the name of
 * the field that holds it; "" for the document), ending in a NULL key; NULL for an unknown one. */
const cyaml_schema_field_t *at_instance_schema_fields(const char *context);

#endif
