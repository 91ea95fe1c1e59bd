/* lossy_store.h: a manual store whose machine can go down: what was committed but not synced is
 * lost from some point on, as with a power cut. Driven by one thread. */
#ifndef ATOLL_TESTS_SUPPORT_LOSSY_STORE_H
#define ATOLL_TESTS_SUPPORT_LOSSY_STORE_H

#include "cluster/tablet/store.h"

#define LOSSY_LOGS_MAX 16

struct lossy_store {
    struct at_store *store; /* NULL while it is down */
    struct at_store_config config;
    uint32_t boots; /* how often the machine was started */
    char boot_id[40];
    /* The write-ahead logs as of the last sync: number and size. */
    struct lossy_log {
        uint64_t number;
        uint64_t size;
    } synced[LOSSY_LOGS_MAX];
    uint32_t synced_count;
    uint64_t sync_count;
};

/* lossy_store_init: the config is copied, `dir` borrowed; manual, ctx, on_sync and boot_id are set
 * here. The users of on_commit and on_applied get the lossy store as ctx. */
void lossy_store_init(struct lossy_store *l, const struct at_store_config *config);

/* lossy_store_up opens the store. */
AT_MUST_USE enum at_code lossy_store_up(struct lossy_store *l, struct at_error *reterr);
/* lossy_store_down closes it in order. */
void lossy_store_down(struct lossy_store *l);
/* lossy_store_kill: the process dies; what was committed stays, and the machine goes on. */
void lossy_store_kill(struct lossy_store *l);
/* lossy_store_unsynced: bytes of the log that a power cut may take. */
uint64_t lossy_store_unsynced(const struct lossy_store *l);
/* lossy_store_power_cut: the machine goes down; of the unsynced bytes only the first `kept` stay.
 */
void lossy_store_power_cut(struct lossy_store *l, uint64_t kept);
/* lossy_store_damage: while it is down, its newest log that holds something loses its end (of
 * `percent` of its bytes, one at least), as by a bad disk or a hand. */
void lossy_store_damage(struct lossy_store *l, uint32_t percent);

#endif
