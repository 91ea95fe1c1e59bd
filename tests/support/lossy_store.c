#include "support/lossy_store.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"

/* RocksDB's logs are the files NNNNNN.log. After each sync their sizes are noted; what is beyond
 * them may be lost, from any byte on: recovery ends at the first record that is not whole. Logs
 * that were closed are synced before a table that goes beyond them is installed, so one that is not
 * the newest and was not noted yet is taken for synced; that only loses less. */

#define PATH_BYTES 512

static uint32_t list_logs(const struct lossy_store *l, struct lossy_log *ret_logs);
static uint64_t synced_size(const struct lossy_store *l, uint64_t number);
static void on_sync(void *ctx);
static void log_path(const struct lossy_store *l, uint64_t number, char *path);

void lossy_store_init(struct lossy_store *l, const struct at_store_config *config)
{
    *l = (struct lossy_store){.config = *config};
    l->config.manual = true;
    l->config.ctx = l;
    l->config.on_sync = on_sync;
    l->config.boot_id = l->boot_id;
}

enum at_code lossy_store_up(struct lossy_store *l, struct at_error *reterr)
{
    AT_ASSERT(l->store == NULL);
    snprintf(l->boot_id, sizeof(l->boot_id), "boot-%u", l->boots);
    l->synced_count = 0;
    return at_store_open(&l->config, &l->store, reterr);
}

void lossy_store_down(struct lossy_store *l)
{
    at_store_close(&l->store);
}

void lossy_store_kill(struct lossy_store *l)
{
    at_store_abandon(&l->store);
}

uint64_t lossy_store_unsynced(const struct lossy_store *l)
{
    struct lossy_log logs[LOSSY_LOGS_MAX];
    uint32_t count = list_logs(l, logs);
    uint64_t synced = count > 0 ? synced_size(l, logs[count - 1].number) : 0;

    return count > 0 && logs[count - 1].size > synced ? logs[count - 1].size - synced : 0;
}

void lossy_store_power_cut(struct lossy_store *l, uint64_t kept)
{
    struct lossy_log logs[LOSSY_LOGS_MAX];
    char path[PATH_BYTES];
    uint64_t unsynced = lossy_store_unsynced(l);

    AT_ASSERT(kept <= unsynced);
    at_store_abandon(&l->store);
    l->boots++;
    uint32_t count = list_logs(l, logs);
    if (count == 0 || unsynced == 0)
        return;
    log_path(l, logs[count - 1].number, path);
    int rc = truncate(path, (off_t)(logs[count - 1].size - unsynced + kept));
    AT_ASSERT(rc == 0);
}

void lossy_store_damage(struct lossy_store *l, uint32_t percent)
{
    struct lossy_log logs[LOSSY_LOGS_MAX];
    char path[PATH_BYTES];

    AT_ASSERT(l->store == NULL);
    uint32_t at = list_logs(l, logs);
    while (at > 0 && logs[at - 1].size == 0)
        at--;
    AT_ASSERT(at > 0);
    uint64_t cut = logs[at - 1].size * percent / 100;
    log_path(l, logs[at - 1].number, path);
    int rc = truncate(path, (off_t)(logs[at - 1].size - (cut > 0 ? cut : 1)));
    AT_ASSERT(rc == 0);
}

/* By number, the newest last. */
static uint32_t list_logs(const struct lossy_store *l, struct lossy_log *ret_logs)
{
    DIR *dir = opendir(l->config.dir);
    struct dirent *entry;
    uint32_t count = 0;

    AT_ASSERT(dir != NULL);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((entry = readdir(dir)) != NULL) {
        char path[PATH_BYTES];
        struct stat st;
        char *end = NULL;
        uint64_t number = strtoull(entry->d_name, &end, 10);
        if (end == entry->d_name || strcmp(end, ".log") != 0)
            continue;
        log_path(l, number, path);
        if (stat(path, &st) != 0)
            continue;
        AT_ASSERT(count < LOSSY_LOGS_MAX);
        uint32_t at = count++;
        for (; at > 0 && ret_logs[at - 1].number > number; at--)
            ret_logs[at] = ret_logs[at - 1];
        ret_logs[at] = (struct lossy_log){number, (uint64_t)st.st_size};
    }
    closedir(dir);
    return count;
}

static uint64_t synced_size(const struct lossy_store *l, uint64_t number)
{
    for (uint32_t i = 0; i < l->synced_count; i++)
        if (l->synced[i].number == number)
            return l->synced[i].size;
    return 0;
}

static void on_sync(void *ctx)
{
    struct lossy_store *l = ctx;

    l->synced_count = list_logs(l, l->synced);
    l->sync_count++;
}

static void log_path(const struct lossy_store *l, uint64_t number, char *path)
{
    int len = snprintf(path, PATH_BYTES, "%s/%06" PRIu64 ".log", l->config.dir, number);

    AT_ASSERT(len > 0 && len < PATH_BYTES);
}
