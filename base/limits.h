/* limits.h: every limit of the system, by name. PURE.
 *
 * API limits are production's (source: the public protos' comments). */
#ifndef ATOLL_BASE_LIMITS_H
#define ATOLL_BASE_LIMITS_H

#define AT_KIB ((size_t)1024)
#define AT_MIB (1024 * AT_KIB)

/* --- the API --- */
#define AT_ROW_KEY_BYTES_MAX (4 * AT_KIB)
#define AT_FAMILY_BYTES_MAX 64
#define AT_QUALIFIER_BYTES_MAX (16 * AT_KIB)
#define AT_VALUE_BYTES_MAX (100 * AT_MIB)
#define AT_ROW_READ_BYTES_MAX (256 * AT_MIB)
#define AT_MUTATIONS_MAX 100000 /* of a MutateRow; over all entries of a MutateRows */
#define AT_RMW_RULES_MAX 100000
#define AT_FILTER_BYTES_MAX 20480
#define AT_FILTER_DEPTH_MAX 20
#define AT_LABEL_BYTES_MAX 15
#define AT_TABLE_ID_BYTES_MAX 50
#define AT_PROFILE_ID_BYTES_MAX 50
#define AT_PROJECT_ID_BYTES_MAX 63
#define AT_KEPT_NAME_BYTES_MAX 224 /* projects/P/instances/I/appProfiles/A: see namespace.h */
#define AT_GC_RULE_BYTES_MAX 500
#define AT_RESOURCE_NAME_BYTES_MAX 512
#define AT_TABLES_MAX 1000          /* of an instance: production's quota */
#define AT_TABLES_ALL_MAX 20000     /* of all instances that share clusters */
#define AT_TABLE_PREVIOUS_MAX 8     /* deleted generations of a table whose data is kept */
#define AT_FAMILIES_MAX 100         /* of a table: production's recommendation, as a limit */
#define AT_PROFILES_MAX 2000        /* of an instance: production's quota */
#define AT_INSTANCE_ID_BYTES_MAX 64 /* of instances and clusters: more than production's */
#define AT_BACKUP_ID_BYTES_MAX 50
#define AT_BACKUPS_MAX 1000          /* of all instances that share clusters */
#define AT_OPERATIONS_MAX 1000       /* kept of an instance, the newest ones */
#define AT_ROW_SET_ITEMS_MAX 1000000 /* keys plus ranges of one ReadRows */

/* --- gRPC --- */
#define AT_GRPC_MESSAGE_BYTES_MAX (256 * AT_MIB)
#define AT_GRPC_METADATA_BYTES_MAX (64 * AT_KIB) /* decoded header list of one request */
#define AT_GRPC_STREAMS_MAX 1000                 /* open at a time on one connection */
#define AT_GRPC_CONNECTIONS_MAX 10000
#define AT_GRPC_BUFFERED_BYTES_MAX (512 * AT_MIB) /* request bytes one connection may hold */
#define AT_GRPC_REQUESTS_BYTES_MAX                                                               \
    (2048 * AT_MIB)                               /* request bytes that all connections may hold \
                                                   */
#define AT_GRPC_REQUEST_SMALL_BYTES (64 * AT_KIB) /* below it one is refused only at twice that */
#define AT_GRPC_WAITING_BYTES_MAX (256 * AT_MIB)  /* shared by the answers that wait on one loop */
#define AT_GRPC_WAITING_BYTES_MIN (16 * AT_KIB)   /* of one answer, however many there are */

/* --- replication --- */
#define AT_CLUSTERS_MAX 8 /* of an instance, production's limit */
/* Members that several clusters registered at the same time, none knowing of the others', may be
 * more: n that each fill the instance up make n * (9 - n), 20 at most. */
#define AT_MEMBERS_MAX 24
#define AT_ORIGINS_MAX 64                        /* and over its life: ids are not used again */
#define AT_EPOCHS_MAX 1024                       /* open (origin, epoch) pairs in one vector */
#define AT_PEER_MESSAGE_BYTES_MAX (160 * AT_MIB) /* one entry with a 100 MiB value must fit */
#define AT_PEER_QUESTION_BYTES_MAX (2 * AT_MIB)  /* vectors and facts at their limits take half */
#define AT_PEER_CONNECTIONS_MAX 1024             /* of the answering side */
#define AT_PULL_BYTES_MAX (4 * AT_MIB)           /* soft: one entry is always sent whole */
#define AT_ENTRY_BYTES_MAX (150 * AT_MIB)
#define AT_TOKEN_BYTES_MAX (64 * AT_KIB)
#define AT_FACTS_MAX 16384           /* promises, ends, vouches of one message, each */
#define AT_RUNS_MAX 65536            /* runs of entries in one reply */
#define AT_COPY_PARTS_MAX (1u << 20) /* of one copy */
#define AT_LOCAL_IDS_MAX                                                    \
    (1u << 18) /* beyond it, entries of unknown tables wait for the catalog \
                */

/* --- the writer --- */
#define AT_WRITER_QUEUE_MAX 65536
#define AT_WRITER_ROUND_BYTES_MAX (8 * AT_MIB) /* soft: one operation is always taken whole */
#define AT_WRITER_ROUND_COUNT_MAX 4096
#define AT_TOKENS_MAX (1u << 20) /* idempotency tokens kept at a time */

/* --- the router --- */
#define AT_INSTANCES_MAX 1000                  /* that one router serves */
#define AT_ROUTER_OPERATIONS_MAX 256           /* that a router itself remembers */
#define AT_CREATE_REQUEST_TEXT_MAX (64 * 1024) /* base64 of a CreateInstanceRequest */
#define AT_LAUNCH_BYTES_MAX (256 * AT_KIB)     /* what the launcher is told, and what it answers */

#endif
