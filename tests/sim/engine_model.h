/* engine_model.h: a storage engine in memory for the simulator: sorted keys, atomic batches, a tail
 * of batches that a crash may lose, pinned snapshots.
 *
 * Records are immutable and counted, so a snapshot shares them. What an unsynced batch changed is
 * kept as an undo list; a crash goes back to the end of some batch. */
#ifndef ATOLL_TESTS_SIM_ENGINE_MODEL_H
#define ATOLL_TESTS_SIM_ENGINE_MODEL_H

#include "base/buf.h"

struct sim_record {
    uint32_t refs;
    uint32_t key_len;
    uint32_t value_len;
    uint8_t bytes[]; /* key, value */
};

/* Ascending by key; each item holds a reference. */
struct sim_records {
    struct sim_record **items;
    uint32_t count;
    uint32_t cap;
};

struct sim_undo {
    struct sim_record *was; /* NULL: the key was absent */
    struct sim_record *is;  /* NULL: it was deleted */
};

/* Invariant: marks ascend; undos beyond the last mark are of the open batch. */
struct sim_engine {
    struct sim_records now;
    struct sim_undo *undos;
    uint32_t undo_count;
    uint32_t undo_cap;
    uint32_t *marks; /* undo_count at the end of each unsynced batch */
    uint32_t mark_count;
    uint32_t mark_cap;
};

static inline struct at_slice sim_record_key(const struct sim_record *r)
{
    return at_slice_make(r->bytes, r->key_len);
}
static inline struct at_slice sim_record_value(const struct sim_record *r)
{
    return at_slice_make(r->bytes + r->key_len, r->value_len);
}

void sim_engine_deinit(struct sim_engine *e);
void sim_engine_put(struct sim_engine *e, struct at_slice key, struct at_slice value);
void sim_engine_delete(struct sim_engine *e, struct at_slice key);
/* The batch is in; `sync` makes it and all before durable. */
void sim_engine_commit(struct sim_engine *e, bool sync);
void sim_engine_sync(struct sim_engine *e);
/* Back to the end of batch `keep` of those since the last sync (0: to the sync itself). The batch
 * behind it, which may be the open one, was being written: so much of it reached the disk. One that
 * is not whole is as if it never was. */
struct sim_tear {
    uint32_t percent; /* below 100 */
    bool end;         /* of its end, not of its beginning: sectors are written in any order */
};
void sim_engine_crash(struct sim_engine *e, uint32_t keep, struct sim_tear tear);
/* All is as it was when `past` was shared. */
void sim_engine_set_back(struct sim_engine *e, const struct sim_records *past);

/* The first item at or above key; count when there is none. */
uint32_t sim_records_seek(const struct sim_records *r, struct at_slice key);
/* NULL: absent. */
const struct sim_record *sim_records_find(const struct sim_records *r, struct at_slice key);
void sim_records_share(struct sim_records *to, const struct sim_records *from);
void sim_records_clear(struct sim_records *r);
/* Appends one more reference at the end. */
void sim_records_push(struct sim_records *r, struct sim_record *record);

#endif
