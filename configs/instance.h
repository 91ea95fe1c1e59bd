/* instance.h: an instance file: clusters, zones, router, app profiles, limits. ADAPTER (libcyaml,
 * files).
 *
 * YAML. Written by people (configs/three-zones.yaml) and, with ports and members filled in, by
 * `atoll up` (STATE/instance.yaml), which all processes of the instance read. */
#ifndef ATOLL_CONFIGS_INSTANCE_H
#define ATOLL_CONFIGS_INSTANCE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

struct at_cluster_config {
    const char *id;
    const char *zone;
    uint16_t grpc_port; /* 0: a free one */
    uint16_t peer_port; /* 0: a free one */
    uint32_t member;    /* 0 until resolved */
    const char *host;   /* default "127.0.0.1" */
    /* Of a cluster that joined an instance that was there: it starts as a newcomer, to be filled by
     * a copy, if its store is new. */
    bool joining;
    uint64_t join_hlc; /* beyond it it stamps; not 0: no founder, so no first record is made of it
                        */
};

struct at_profile_config {
    const char *id;
    const char *description;
    const char *routing;   /* "any" or "single" */
    const char **clusters; /* any: the group (none: all); single: exactly one */
    uint32_t cluster_count;
    bool transactional_writes;
    bool row_affinity;
    const char *priority; /* "LOW", "MEDIUM", "HIGH" (default) */
};

struct at_latency_config {
    const char *from; /* zone */
    const char *to;   /* zone */
    uint32_t ms;
};

struct at_instance_config {
    const char *project; /* default "atoll" */
    const char *instance;
    const char *display_name; /* default: the instance id */
    uint64_t instance_id;     /* 0 until resolved; ties data directories together */
    /* Of an instance that CreateInstance made; "" otherwise. For its first start: */
    const char *created_operation; /* "operations/projects/P/instances/I/operations/N" */
    const char *created_request;   /* the CreateInstanceRequest, serialized, in base64 */
    bool sync;                     /* durability: sync (default) or async */
    /* Every other instance name is served too, from the same clusters, as a namespace of its own.
     */
    bool accept_any_instance;
    struct at_cluster_config *clusters;
    uint32_t cluster_count;
    const char *router_zone;            /* default: zone of the first cluster */
    uint16_t grpc_port;                 /* router; default 8086 */
    uint16_t http_port;                 /* router; default 8087 */
    struct at_profile_config *profiles; /* without "default" one is made: semantics of production */
    uint32_t profile_count;
    struct at_latency_config *latencies;
    uint32_t latency_count;
    /* per cluster process */
    uint32_t block_cache_mib;      /* default 256 */
    uint32_t memtable_mib;         /* default 16 */
    uint32_t log_cap_mib;          /* default 4096 */
    uint32_t copy_mib_per_s;       /* what it gives to a cluster that is filled; default 64 */
    uint32_t max_skew_ms;          /* default 10000 */
    uint32_t gc_max_delay_s;       /* how long garbage may stay; default 3600 */
    bool gc_strict;                /* visibility: strict, or lazy (default) */
    uint32_t undelete_retention_s; /* how long deleted tables can be had back; default 7 days */
    /* routing */
    uint32_t heartbeat_ms;      /* default 100 */
    uint32_t return_lag_ms_max; /* default 1000 */
};

/* at_instance_load reads and checks a file. INVALID_ARGUMENT with "FILE:LINE:COLUMN: what is wrong,
 * what is expected"; NOT_FOUND when there is no such file. Everything lives in the arena. */
AT_MUST_USE enum at_code at_instance_load(const char *path,
                                          struct at_arena *arena,
                                          struct at_instance_config *ret_config,
                                          struct at_error *reterr);

/* at_instance_save writes a resolved file, atomically (new file, fsync, rename). */
AT_MUST_USE enum at_code at_instance_save(const char *path,
                                          const struct at_instance_config *config,
                                          struct at_error *reterr);

#endif
