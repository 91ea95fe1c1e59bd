#include "cluster/tablet/writer.h"

#include "base/log.h"

/* What all active members have durably goes. When the log is still over its cap, the oldest foreign
 * records go, then own ones that somebody has; when only own entries that nobody has are left,
 * writes are refused until that changes. Sizes are estimates, and to free a little at every look
 * would leave the log so full that the error of an estimate refuses writes: what goes is enough for
 * some time. */

#define ROOM_SHARE 8 /* of the cap, to be free afterwards */

static void trim_acknowledged(struct writer *w);
static void trim_to_cap(struct writer *w, uint64_t over_bytes);
static uint64_t
free_part(struct writer *w, struct at_log_part *part, uint64_t bytes, uint64_t bound);
static void trim_part(struct writer *w, struct at_log_part *part, uint64_t bound);
static uint64_t total_bytes(struct writer *w);

bool trim_log(struct writer *w)
{
    uint64_t bytes_max = w->store->config.log_bytes_max;

    trim_acknowledged(w);
    uint64_t bytes = total_bytes(w);
    if (bytes_max != 0 && bytes > bytes_max) {
        trim_to_cap(w, bytes - bytes_max + bytes_max / ROOM_SHARE);
        bytes = total_bytes(w);
    }
    atomic_store_explicit(&w->store->log_bytes, bytes, memory_order_relaxed);
    bool full = bytes_max != 0 && bytes > bytes_max;
    at_replica_set_log_full(w->replica, full);
    return full;
}

static void trim_acknowledged(struct writer *w)
{
    for (uint32_t i = 0; i < w->parts.count; i++) {
        struct at_log_part *part = &w->parts.items[i];
        trim_part(w, part, at_replica_trim_bound(w->replica, part->origin, part->epoch));
    }
}

/* Foreign parts first; of each, no more than its share of what is too much. */
static void trim_to_cap(struct writer *w, uint64_t over_bytes)
{
    struct at_member_id self = w->store->config.replica.self;

    for (int own = 0; own <= 1; own++) {
        for (uint32_t i = 0; i < w->parts.count && over_bytes > 0; i++) {
            struct at_log_part *part = &w->parts.items[i];
            if (at_member_eq(part->origin, self) != (own == 1))
                continue;
            uint64_t bound = at_replica_cap_bound(w->replica, part->origin, part->epoch);
            uint64_t freed = free_part(w, part, over_bytes, bound);
            over_bytes -= freed < over_bytes ? freed : over_bytes;
        }
    }
}

static uint64_t
free_part(struct writer *w, struct at_log_part *part, uint64_t bytes, uint64_t bound)
{
    uint64_t before = at_log_part_bytes(part, w->engine);
    uint64_t seq = at_log_part_seq_at(part, w->engine, bytes);

    trim_part(w, part, seq < bound ? seq : bound);
    uint64_t after = at_log_part_bytes(part, w->engine);
    uint64_t freed = after < before ? before - after : 0;
    if (freed > 0)
        at_log(AT_LOG_WARN, "log over its cap, freed records that a slow member lacks",
               AT_KV_U64("origin", part->origin.v), AT_KV_U64("epoch", part->epoch),
               AT_KV_U64("bytes", freed));
    return freed;
}

static void trim_part(struct writer *w, struct at_log_part *part, uint64_t bound)
{
    struct at_error error = {0};
    uint64_t before = part->trimmed;

    if (at_log_part_trim(part, w->engine, bound, w->round.batch, &error) != AT_OK) {
        at_log(AT_LOG_WARN, "can't trim the log, retrying", AT_KV_STR("error", error.msg));
        return;
    }
    if (part->trimmed == before)
        return;
    struct at_position base = {part->origin, part->epoch, part->trimmed};
    at_replica_trimmed(w->replica, base);
}

static uint64_t total_bytes(struct writer *w)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < w->parts.count; i++)
        bytes += at_log_part_bytes(&w->parts.items[i], w->engine);
    return bytes;
}
