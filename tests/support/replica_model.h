/* replica_model.h: a few clusters in one process, as far as replication goes: replicas, logs and
 * stored records, with crashes that lose the unsynced tail, and clusters that join, leave, are
 * removed by force and are filled by copies. Pulls and closings pass as encoded bytes.
 *
 * Checks after every step, and fails the test: entries of one (origin, epoch) are applied in
 * order, once, and are the same everywhere; nothing at or below a horizon is applied; V never
 * falls but by a crash; stamps rise and are above every promise given. */
#ifndef ATOLL_TESTS_SUPPORT_REPLICA_MODEL_H
#define ATOLL_TESTS_SUPPORT_REPLICA_MODEL_H

#include "replication/fill.h"
#include "replication/membership.h"
#include "replication/replica.h"
#include "replication/token.h"

#define MODEL_NODES_MAX 6
#define MODEL_ACTS_MAX 64
#define MODEL_EPOCHS_MAX 48
#define MODEL_MS UINT64_C(1000000)
#define MODEL_SKEW_MS 400

struct model_entry {
    uint64_t id;
    uint64_t hlc;
    uint32_t ticks;
};

/* What an entry that changes members does: found by its id. */
enum model_act_kind { MODEL_JOIN, MODEL_LEAVE, MODEL_REMOVE };
struct model_act {
    uint64_t id;
    enum model_act_kind kind;
    struct at_member_id member;
    struct at_removal removal;
};

struct model_log {
    struct model_entry *entries; /* [seq - 1] */
    uint64_t count;
    uint64_t synced_count;
    uint64_t cap;
};

struct model_record {
    uint8_t key[40];
    size_t key_len;
    uint8_t *value;
    size_t value_len;
};

struct model_disk {
    struct model_record *records;
    size_t count;
    size_t cap;
};

struct model_node {
    struct at_replica *replica; /* NULL: down */
    struct at_replica_view view;
    struct at_vector before; /* V after the last step */
    struct model_disk synced;
    struct model_disk pending; /* put since the last sync */
    struct model_log logs[MODEL_NODES_MAX][MODEL_EPOCHS_MAX];
    int64_t offset_ns;      /* of its wall clock */
    uint64_t first_request; /* of this process */
    uint64_t stamp_max;     /* issued ever, lost ones too */
    uint64_t promise_max;   /* given ever */
    uint64_t record_count;  /* records put by the last commit */
    /* its configuration */
    struct at_member_id members[MODEL_NODES_MAX];
    uint32_t member_count;
    bool newcomer;
    uint64_t join_hlc;
    struct at_position registered;
    struct at_arena copy_arena; /* what the donor told, while COPYING */
    struct at_copy_state copy;
    uint32_t copy_donor;
    bool copying;
};

struct model {
    struct model_node nodes[MODEL_NODES_MAX];
    uint32_t node_count;
    bool sync_commits;
    uint64_t now_ns;
    uint64_t next_request;
    uint64_t next_id;
    uint64_t applied_count;
    uint64_t parked_count;
    uint64_t closed_count;
    uint64_t lost_count;
    uint64_t copied_count;
    uint64_t joined_count;
    uint64_t left_count;
    uint64_t removed_count;
    struct model_act acts[MODEL_ACTS_MAX];
    uint32_t act_count;
    /* what each (origin, epoch, seq) means: a longest log, of entries that ever were */
    struct model_log truth[MODEL_NODES_MAX][MODEL_EPOCHS_MAX];
};

void model_init(struct model *m, uint32_t node_count, bool sync_commits);
void model_deinit(struct model *m);

void model_birth(struct model *m, uint32_t node);
struct at_replica *model_replica(struct model *m, uint32_t node);
uint64_t model_wall(const struct model *m, uint32_t node);

/* One local operation of `ticks` stamps, committed. False: writes are refused. */
bool model_write(struct model *m, uint32_t node, uint32_t ticks);
/* model_commit ends a round; `sync` as the writer wants it. */
void model_commit(struct model *m, uint32_t node, bool sync);
/* model_idle is what an idle writer does a few times a second. True: it had to commit. */
bool model_idle(struct model *m, uint32_t node);
/* model_trim frees what all members have. */
void model_trim(struct model *m, uint32_t node);
/* model_cap frees all that may be freed of one (origin, epoch). */
void model_cap(struct model *m, uint32_t node, uint32_t origin, uint32_t epoch);

void model_crash(struct model *m, uint32_t node);
/* model_start brings a node up again, without its unsynced tail when `lose_tail`. */
void model_start(struct model *m, uint32_t node, bool lose_tail);

/* Positions. */
uint64_t model_v(const struct model *m, uint32_t node, uint32_t origin, uint32_t epoch);
uint64_t model_horizon(const struct model *m, uint32_t node);

/* --- what they tell each other (replica_talk.c): bytes in malloc'd buffers of the caller --- */

void model_pull(struct model *m, uint32_t node, struct at_buf *out);
/* model_answer: `donor` reads a pull (or CLOSE) and appends its answer. At most `entries_max`
 * entries, of the origins in turn from `first_origin`. */
void model_answer(struct model *m,
                  uint32_t donor,
                  struct at_slice question,
                  uint32_t entries_max,
                  uint32_t first_origin,
                  struct at_buf *out);
/* model_take: `node` takes a reply or a CLOSE answer. Returns how many entries it applied, -1 when
 * the reply was dropped. */
int model_take(struct model *m, uint32_t node, struct at_slice answer);

/* The whole exchange at once: `node` pulls from `donor`. */
int model_exchange(struct model *m, uint32_t node, uint32_t donor, uint32_t entries_max);
/* `node` asks all that live to close its old epochs. */
void model_close(struct model *m, uint32_t node);

/* Tokens: made or checked at once by the first of `reached`; nodes whose bit is not in it do not
 * answer. */
void model_token(struct model *m, uint32_t reached, struct at_token *ret_token);
bool model_check(struct model *m, uint32_t reached, const struct at_token *token);

/* model_settle lets all talk until nothing moves (those that are down stay so), and time pass. */
void model_settle(struct model *m);
void model_settle_once(struct model *m);

/* --- members (replica_members.c). Nodes that are down or refuse answer nothing. --- */

/* model_register: `registrar` writes MEMBER of a new node, which is returned, up and INIT; its
 * config is what the registrar knows. MODEL_NODES_MAX: refused. */
uint32_t model_register(struct model *m, uint32_t registrar);
/* model_join asks all whose acknowledgement is missing. True when it may write. */
bool model_join(struct model *m, uint32_t node);
/* model_copy copies from `donor` at once. False: one of the two may not. */
bool model_copy(struct model *m, uint32_t node, uint32_t donor);
bool model_copy_begin(struct model *m, uint32_t node, uint32_t donor);
void model_copy_end(struct model *m, uint32_t node);
void model_copy_drop(struct model *m, uint32_t node);
/* model_leave: one step of leaving: LEAVE when it may be written; asks who knows. True: REMOVED. */
bool model_leave(struct model *m, uint32_t node);
/* model_fence: `of` answers a FENCE of `coordinator`. False: refused. */
bool model_fence(struct model *m, uint32_t coordinator, uint32_t of);
/* model_remove: asks all that are missing and up, and writes REMOVE when all have answered. */
bool model_remove(struct model *m, uint32_t coordinator);
/* model_knows: `node` takes `other` for a member that is not being removed. */
bool model_knows(const struct model *m, uint32_t node, uint32_t other);

/* --- of the three files among themselves --- */

uint32_t model_index(struct at_member_id id);
/* model_after: the view becomes the new state; then the checks that hold after every step. */
void model_after(struct model *m, uint32_t node);
void model_log_push(struct model_log *log, struct model_entry e);
struct at_position model_append(struct model *m, uint32_t node, uint32_t ticks, uint64_t id);
/* model_act_applied: an entry was applied, or written. */
void model_act_applied(struct model *m, uint32_t node, struct at_position p, uint64_t id);

#endif
