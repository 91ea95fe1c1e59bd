#include "cluster/tablet/writer.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* META holds everything but cells and log. It is read whole at start, and again after a failed
 * commit.
 *
 * The record META_RUN tells how the store last ran: version(1) flags(1) place(16) boot id; version
 * 1 has no place. Acknowledged but unsynced commits can only be lost with the machine: durability
 * was async, the store was not closed, and this is another boot (or nobody knows which). The place
 * is what the file system says of a file that is written once: it differs in a directory that was
 * copied or restored, which may be an old one, whatever durability was. And what the engine knows
 * to be gone is gone, on any machine. */

#define RUN_VERSION 2
#define RUN_VERSION_PLACELESS 1
#define RUN_ASYNC 0x01
#define RUN_CLEAN 0x02
#define RUN_HEAD_BYTES 2
#define PLACE_BYTES 16 /* inode(8) change time(8) of PLACE_FILE */
#define PLACE_FILE "IDENTITY"
#define DROP_KEY_BYTES (1 + 4 + AT_KEY_STAMP_BYTES)
#define RECORDS_FIRST 64u

struct loading {
    bool reload; /* the replica stays */
    struct at_catalog_record *records;
    uint32_t count;
    uint32_t cap;
    bool run_seen;
    bool anything;
    bool tail_may_be_lost;
    bool moved; /* another place */
    bool lost;  /* it ends before a write that it once had */
};

static void init_data(struct writer *w);
static void unload_data(struct writer *w);
static enum at_code read_meta(struct writer *w, struct loading *l, struct at_error *reterr);
static enum at_code
read_record(struct writer *w, struct loading *l, const struct at_iter *i, struct at_error *reterr);
static enum at_code read_catalog(struct writer *w, struct loading *l, struct at_slice value);
static enum at_code read_drop(struct writer *w, struct at_slice key, struct at_slice value);
static enum at_code read_floor(struct writer *w, struct at_slice key, struct at_slice value);
static enum at_code
read_run(const struct writer *w, struct loading *l, struct at_slice value, struct at_error *reterr);
static enum at_code build_catalog(struct writer *w, struct loading *l, struct at_error *reterr);
static enum at_code complete_catalog(struct writer *w, struct at_error *reterr);
static void forget_dead(struct writer *w);
static enum at_code find_row_markers(struct writer *w, struct at_error *reterr);
static enum at_code first_commit(struct writer *w, struct at_error *reterr);
static void place_of(const struct writer *w, uint8_t ret_place[PLACE_BYTES]);
static void put_run(struct writer *w, uint8_t flags);

enum at_code writer_load(struct writer *w, bool start, struct at_error *reterr)
{
    const struct at_store_config *config = &w->store->config;
    struct loading l = {0};

    AT_ASSERT(!w->loaded && w->replica == NULL);
    init_data(w);
    w->replica = at_replica_new(&config->replica);
    enum at_code rc = read_meta(w, &l, reterr);
    uint64_t last = 0;
    uint64_t reached = 0;
    l.lost = at_engine_lost(w->engine, &last, &reached);
    if (rc == AT_OK && (l.anything || l.lost) && !l.run_seen)
        rc = at_fail(reterr, AT_DATA_LOSS, "the store's records are damaged, or gone");
    if (rc == AT_OK)
        rc = at_replica_start(w->replica, start && (l.tail_may_be_lost || l.moved || l.lost),
                              writer_wall_ns(w), reterr);
    if (rc == AT_OK)
        rc = at_log_parts_load(&w->parts, w->engine, reterr);
    if (rc == AT_OK)
        rc = find_row_markers(w, reterr);
    if (rc == AT_OK)
        rc = build_catalog(w, &l, reterr);
    if (rc == AT_OK && start)
        rc = first_commit(w, reterr);
    at_free(l.records);
    if (rc != AT_OK) {
        writer_unload(w);
        return rc;
    }
    if (l.lost && start)
        at_log(AT_LOG_ERROR,
               "writes that were done are gone: a log in the data directory is damaged or missing; "
               "opening a new epoch",
               AT_KV_U64("ends_at", last), AT_KV_U64("ended_at", reached));
    else if (l.moved && start)
        at_log(AT_LOG_WARN, "the data directory was copied or restored, opening a new epoch");
    else if (l.tail_may_be_lost && start)
        at_log(AT_LOG_WARN, "the machine went down with unsynced writes, opening a new epoch");
    store_publish_schema(w->store, w->schema);
    store_publish_sieve(w->store, w->schema);
    w->loaded = true;
    return AT_OK;
}

/* Ids are all known by now, so nothing that is to be stored comes of it; what of dead tables is
 * still hidden is forgotten at the next start again. */
enum at_code writer_reload(struct writer *w, struct at_error *reterr)
{
    struct loading l = {.reload = true};

    unload_data(w);
    init_data(w);
    enum at_code rc = read_meta(w, &l, reterr);
    if (rc == AT_OK)
        rc = at_log_parts_load(&w->parts, w->engine, reterr);
    if (rc == AT_OK)
        rc = find_row_markers(w, reterr);
    if (rc == AT_OK)
        rc = build_catalog(w, &l, reterr);
    at_free(l.records);
    w->round.catalog = true;
    return rc;
}

static void init_data(struct writer *w)
{
    at_arena_reset(&w->arena);
    at_local_ids_init(&w->ids);
    at_hides_init(&w->hides);
    w->hides.floors_changed = true;
    w->load_version = w->schema_version;
}

void writer_unload(struct writer *w)
{
    at_replica_free(&w->replica);
    unload_data(w);
    w->copying = 0;
    w->loaded = false;
}

static void unload_data(struct writer *w)
{
    at_schema_unref(&w->schema);
    at_hides_deinit(&w->hides);
    at_tokens_deinit(&w->tokens);
    at_local_ids_deinit(&w->ids);
    at_log_parts_deinit(&w->parts);
}

enum at_code writer_close_clean(struct writer *w, struct at_error *reterr)
{
    AT_ASSERT(at_batch_empty(w->round.batch));
    put_run(w, RUN_CLEAN);
    enum at_code rc = at_engine_commit(w->engine, w->round.batch, true, reterr);
    at_batch_clear(w->round.batch);
    return rc;
}

static enum at_code read_meta(struct writer *w, struct loading *l, struct at_error *reterr)
{
    struct at_iter_options options = {0};
    struct at_iter *i AT_CLEANUP(at_iter_close) = at_iter_open(w->engine, AT_SPACE_META, &options);

    for (at_iter_seek(i, at_slice_make(NULL, 0)); at_iter_valid(i); at_iter_next(i)) {
        l->anything = true;
        AT_TRY(read_record(w, l, i, reterr));
    }
    return at_iter_status(i, reterr);
}

static enum at_code
read_record(struct writer *w, struct loading *l, const struct at_iter *i, struct at_error *reterr)
{
    struct at_slice key = at_iter_key(i);
    struct at_slice value = at_iter_value(i);
    enum at_code rc = AT_DATA_LOSS;

    if (key.len > 0) {
        struct at_slice rest = at_slice_from(key, 1);
        switch (key.data[0]) {
        case META_CATALOG:
            rc = read_catalog(w, l, value);
            break;
        case META_TOKEN:
            rc = token_restore(w, key);
            break;
        case META_DROP:
            rc = read_drop(w, key, value);
            break;
        case META_FLOOR:
            rc = read_floor(w, key, value);
            break;
        case META_ID:
            rc = at_local_ids_restore(&w->ids, rest, value);
            break;
        case META_REPLICA:
            if (l->reload)
                return AT_OK;
            return at_replica_restore(w->replica, key, value, reterr);
        case META_RUN:
            return read_run(w, l, value, reterr);
        default:
            break;
        }
    }
    return rc == AT_OK ? AT_OK : at_fail(reterr, AT_DATA_LOSS, "the store's records are damaged");
}

static enum at_code read_catalog(struct writer *w, struct loading *l, struct at_slice value)
{
    struct at_unpack in;

    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? RECORDS_FIRST : l->cap * 2;
        l->records = at_realloc(l->records, l->cap * sizeof(*l->records));
    }
    at_unpack_init(&in, at_arena_copy(&w->arena, value));
    AT_TRY(at_catalog_record_decode(&in, &l->records[l->count]));
    l->count++;
    return AT_OK;
}

static enum at_code read_drop(struct writer *w, struct at_slice key, struct at_slice value)
{
    if (key.len != DROP_KEY_BYTES)
        return AT_DATA_LOSS;
    uint32_t table_id = at_get_be32(key.data + 1);
    struct at_dropped_range drop = {
        .prefix = value,
        .stamp = {~at_get_be64(key.data + 5), {~at_get_be32(key.data + 13)}},
    };
    if (table_id == 0)
        return AT_DATA_LOSS;
    (void)at_hides_add_drop(&w->hides, table_id, drop, NULL, NULL);
    return AT_OK;
}

static enum at_code read_floor(struct writer *w, struct at_slice key, struct at_slice value)
{
    if (key.len != META_FLOOR_KEY_BYTES || value.len != META_FLOOR_VALUE_BYTES)
        return AT_DATA_LOSS;
    uint32_t table_id = at_get_be32(key.data + 1);
    uint32_t family_id = at_get_be32(key.data + 5);
    struct at_floor floor = {
        .before_micros = (int64_t)at_get_be64(value.data),
        .stamp = {at_get_be64(value.data + 8), {at_get_be32(value.data + 16)}},
    };
    if (table_id == 0 || family_id == 0 || floor.before_micros < 0)
        return AT_DATA_LOSS;
    at_hides_set_floor(&w->hides, table_id, family_id, floor);
    return AT_OK;
}

static enum at_code
read_run(const struct writer *w, struct loading *l, struct at_slice value, struct at_error *reterr)
{
    uint8_t id[STORE_BOOT_ID_BYTES];
    size_t len = store_boot_id(&w->store->config, id);

    if (value.len < RUN_HEAD_BYTES ||
        (value.data[0] != RUN_VERSION && value.data[0] != RUN_VERSION_PLACELESS))
        return at_fail(reterr, AT_FAILED_PRECONDITION, "the store is of another version of atoll");
    struct at_slice stored = at_slice_from(value, RUN_HEAD_BYTES);
    if (value.data[0] == RUN_VERSION) {
        uint8_t place[PLACE_BYTES];
        place_of(w, place);
        if (stored.len < PLACE_BYTES)
            return at_fail(reterr, AT_DATA_LOSS, "the store's records are damaged");
        l->moved = memcmp(stored.data, place, PLACE_BYTES) != 0;
        stored = at_slice_from(stored, PLACE_BYTES);
    }
    bool same_boot = len > 0 && at_slice_eq(stored, at_slice_make(id, len));
    uint8_t flags = value.data[1];
    l->run_seen = true;
    l->tail_may_be_lost = (flags & RUN_ASYNC) != 0 && (flags & RUN_CLEAN) == 0 && !same_boot;
    return AT_OK;
}

static enum at_code build_catalog(struct writer *w, struct loading *l, struct at_error *reterr)
{
    const struct at_store_config *config = &w->store->config;
    struct at_catalog *empty AT_CLEANUP(at_catalog_free) = at_catalog_new();
    struct at_catalog *catalog = NULL;
    struct at_catalog_ids ids = meta_ids(w);

    enum at_code rc = at_catalog_apply(empty, l->records, l->count, &ids, &catalog, reterr);
    if (rc != AT_OK)
        return at_wrap(reterr, rc, "stored catalog");
    meta_schema(w, catalog);
    forget_dead(w);
    w->round.catalog = false;
    if (l->anything)
        return complete_catalog(w, reterr);
    if (config->genesis_count == 0)
        return AT_OK;
    rc = writer_apply_catalog(w, config->genesis, config->genesis_count, reterr);
    w->round.catalog = false;
    return rc == AT_OK ? AT_OK : at_wrap(reterr, rc, "first catalog");
}

/* A store that was made before instances and clusters had records gets them as they would have been
 * then; every member does the same. */
static enum at_code complete_catalog(struct writer *w, struct at_error *reterr)
{
    const struct at_store_config *config = &w->store->config;

    if (at_catalog_named_count(w->schema->catalog, AT_CATALOG_INSTANCE) > 0)
        return AT_OK;
    for (uint32_t i = 0; i < config->genesis_count; i++)
        if (config->genesis[i].kind == AT_CATALOG_INSTANCE ||
            config->genesis[i].kind == AT_CATALOG_CLUSTER)
            AT_TRY(writer_apply_catalog(w, &config->genesis[i], 1, reterr));
    w->round.catalog = false;
    return AT_OK;
}

/* What hides rows of tables that are gone, with their data. */
static void forget_dead(struct writer *w)
{
    for (uint32_t i = 0; i < w->ids.count; i++) {
        const struct at_local_id *item = &w->ids.items[i];
        if (item->parent == 0 &&
            at_catalog_table_over(w->schema->catalog, item->name, item->generation))
            at_hides_forget(&w->hides, item->id, meta_drop_gone, w);
    }
}

/* One seek per table: is there any key of family 0? */
static enum at_code find_row_markers(struct writer *w, struct at_error *reterr)
{
    struct at_iter_options options = {0};
    struct at_iter *i AT_CLEANUP(at_iter_close) = at_iter_open(w->engine, AT_SPACE_CELLS, &options);

    for (uint32_t at = 0; at < w->ids.count; at++) {
        uint8_t prefix[AT_KEY_PREFIX_BYTES] = {0};
        const struct at_local_id *item = &w->ids.items[at];
        if (item->parent != 0)
            continue;
        at_put_be32(prefix, item->id);
        struct at_slice start = at_slice_make(prefix, sizeof(prefix));
        at_iter_seek(i, start);
        if (at_iter_valid(i) && at_slice_has_prefix(at_iter_key(i), start))
            at_hides_set_row_markers(&w->hides, item->id);
    }
    return at_iter_status(i, reterr);
}

/* What the replica made of its start, and the mark that the store runs, before the first write. */
static enum at_code first_commit(struct writer *w, struct at_error *reterr)
{
    struct round *r = &w->round;

    put_run(w, 0);
    (void)at_replica_flush(w->replica, round_flush_put, w);
    enum at_code rc = at_engine_commit(w->engine, r->batch, true, reterr);
    at_batch_clear(r->batch);
    if (rc != AT_OK)
        return rc;
    at_replica_committed(w->replica, true);
    round_begin(w);
    enum at_code may_write = round_may_write(w, NULL); /* the view tells it */
    (void)may_write;
    store_publish_view(w->store, w->replica);
    return AT_OK;
}

static void put_run(struct writer *w, uint8_t flags)
{
    uint8_t key = META_RUN;
    uint8_t value[RUN_HEAD_BYTES + PLACE_BYTES + STORE_BOOT_ID_BYTES] = {RUN_VERSION, flags};

    if (!w->store->config.sync_commits)
        value[1] |= RUN_ASYNC;
    place_of(w, value + RUN_HEAD_BYTES);
    size_t len = store_boot_id(&w->store->config, value + RUN_HEAD_BYTES + PLACE_BYTES);
    at_batch_put(w->round.batch, AT_SPACE_META, at_slice_make(&key, 1),
                 at_slice_make(value, RUN_HEAD_BYTES + PLACE_BYTES + len));
}

/* All zero when the file system does not tell, which is then no reason for doubt the next time. */
static void place_of(const struct writer *w, uint8_t ret_place[PLACE_BYTES])
{
    struct stat st = {0};
    int dir = open(w->store->config.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir >= 0) {
        if (fstatat(dir, PLACE_FILE, &st, 0) != 0)
            st = (struct stat){0};
        close(dir);
    }
    at_put_be64(ret_place, st.st_ino);
    at_put_be64(ret_place + 8,
                (uint64_t)st.st_ctim.tv_sec * AT_S_NS + (uint64_t)st.st_ctim.tv_nsec);
}

size_t store_boot_id(const struct at_store_config *config, uint8_t *ret_id)
{
    const char *given = config->boot_id;

    if (given != NULL) {
        size_t given_len = strnlen(given, STORE_BOOT_ID_BYTES);
        memcpy(ret_id, given, given_len);
        return given_len;
    }
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    ssize_t len = read(fd, ret_id, STORE_BOOT_ID_BYTES);
    close(fd);
    return len == STORE_BOOT_ID_BYTES ? (size_t)len : 0;
}
