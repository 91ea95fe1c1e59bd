/* world.h: an instance in one thread: clusters made of the real replication rules and a model
 * engine, a network, clocks and clients. Everything that happens is decided by the seeds of the
 * steps (schedule.h), so a list of steps is a whole history.
 *
 * A check that fails is noted once (sim_fail); the run ends at the end of the event. */
#ifndef ATOLL_TESTS_SIM_WORLD_H
#define ATOLL_TESTS_SIM_WORLD_H

#include "base/prng.h"
#include "cluster/model/catalog.h"
#include "cluster/model/hll.h"
#include "cluster/model/key.h"
#include "replication/fill.h"
#include "replication/lag.h"
#include "replication/token.h"
#include "sim/engine_model.h"
#include "sim/oracle.h"

#define SIM_MS UINT64_C(1000000)
#define SIM_SKEW_MS 400
#define SIM_INSTANCE 77
#define SIM_FLIGHTS_MAX 96
#define SIM_OFFERS_MAX 3
#define SIM_TOKENS_MAX 4
#define SIM_MESSAGE_BYTES_MAX (1 << 20)

enum sim_node_state {
    SIM_ABSENT, /* never was */
    SIM_UP,
    SIM_DOWN,
    SIM_DEAD, /* down for good: its disk is lost */
    SIM_GONE, /* ended in order, or told that it is no member */
};

/* A pinned snapshot of a donor. */
struct sim_offer {
    uint64_t id; /* 0: free */
    uint32_t receiver;
    struct sim_records records;
};

struct sim_copy_in {
    bool runs;
    uint32_t donor;
    uint64_t snapshot_id;
    struct at_buf opened;    /* the message that opened it */
    struct sim_engine aside; /* what has come */
    uint32_t asks;           /* without an answer */
    uint32_t next;           /* index of the next record of the snapshot */
};

struct sim_peer_evidence {
    struct at_lag_evidence lag;
    bool in_use;
    uint32_t told[SIM_EPOCHS_MAX]; /* what the peer had of its own when it made the last reply */
};

/* Where the answer to one asker's last question ended: a question may go on from there before the
 * answer has come. */
struct sim_sent {
    uint64_t request;
    struct at_vector upto;
};

struct sim_node {
    enum sim_node_state state;
    struct sim_engine engine;
    struct at_replica *replica; /* NULL unless UP */
    struct at_replica_view view;
    struct at_vector before; /* V after the last event */
    struct at_vector synced; /* V at the last sync */
    struct at_catalog *catalog;
    sim_coverage coverage;    /* what its disk holds, by the simulator's own book */
    bool coverage_moved;      /* since the schema below was made */
    struct sim_schema schema; /* what the oracle expects of the catalog */
    bool sync_commits;
    bool round_open; /* issued, not committed: the disk is slow */
    bool log_full;
    bool tail_lost; /* by a crash, since it last ran */
    int64_t offset_ns;
    int64_t drift_ppm;
    uint64_t boot; /* unique per process */
    uint64_t first_request;
    uint64_t stamp_max;   /* issued ever, lost ones too */
    uint64_t stamp_shown; /* before the round that is open */
    uint64_t promise_max; /* shown ever */
    uint32_t dirty_rows;  /* bits table * SIM_ROWS + row: changed since they were checked */
    struct sim_offer offers[SIM_OFFERS_MAX];
    struct sim_copy_in copy;
    struct sim_peer_evidence peers[SIM_NODES_MAX];
    struct sim_sent sent[SIM_NODES_MAX];
    uint64_t asked[SIM_NODES_MAX]; /* the last question of this process to each */
    uint64_t horizon_before;
    bool lazy;               /* does not pull for a while */
    struct sim_records past; /* what its disk held at some time; count 0: not kept */
    bool set_back;           /* to there; nobody has written to it since */
    uint32_t epoch_max;      /* that it ever had */
    uint32_t greeters;       /* bits: who asked this process since it left */
};

/* Bytes of message.h on their way. */
struct sim_letter {
    uint32_t from;
    uint32_t to;
    uint64_t from_boot;
    uint64_t to_boot; /* answers: of the process that asked */
    uint64_t due_ns;
    bool question;
    struct at_buf bytes;
    uint32_t told[SIM_EPOCHS_MAX]; /* replies: how far the sender's own log was */
};

struct sim_token {
    struct at_token token;
    sim_coverage acked; /* all that clients were told of when it was made */
    bool held;
};

struct sim_stats {
    uint64_t schedules;
    uint64_t events;
    uint64_t writes;
    uint64_t applied;
    uint64_t crashes;
    uint64_t losses;
    uint64_t lost_entries;
    uint64_t closed;
    uint64_t parked;
    uint64_t gaps;
    uint64_t copies_begun;
    uint64_t copies_dropped;
    uint64_t copies;
    uint64_t joins;
    uint64_t joined;
    uint64_t leaves;
    uint64_t removals;
    uint64_t tokens_true;
    uint64_t tokens_false;
    uint64_t forgets;
    uint64_t folds;
    uint64_t discarded;
    uint64_t refused;
    uint64_t rows_checked;
    uint64_t set_backs;
    uint64_t forks;
};

struct sim_world {
    struct at_prng rng; /* of the step under way */
    uint64_t now_ns;
    uint32_t node_count;
    struct sim_node nodes[SIM_NODES_MAX];
    uint32_t cut[SIM_NODES_MAX]; /* cut[from]: bits of those its letters do not reach */
    uint64_t clogged_ns[SIM_NODES_MAX][SIM_NODES_MAX];
    uint32_t loss_percent;
    uint32_t repeat_percent;
    struct sim_letter flights[SIM_FLIGHTS_MAX];
    uint32_t flight_count;
    struct sim_oracle oracle;
    struct sim_token tokens[SIM_TOKENS_MAX];
    uint64_t next_request;
    uint64_t next_offer;
    uint64_t next_boot;
    int64_t next_value;
    uint32_t removed_by_force; /* bits: dead, or somebody began to remove it */
    uint64_t grain_ns;         /* of all wall clocks: coarse ones make equal stamps */
    uint32_t entries_max;      /* of a reply in a faithful network; 0: all */
    uint32_t start_after;      /* of replies then: the member id to begin behind; 0: any */
    uint32_t deliver_max;      /* letters of one sim_deliver_due; 0: all */
    uint32_t chunk_max;        /* records of a chunk then; 0: all */
    bool hold_answers;         /* they stay on their way, see sim_let_go */
    bool faithful;             /* network without faults: at rest, and in directed schedules */
    struct sim_stats stats;
    uint32_t fork_side;        /* bits: who goes on as another instance; 0: nobody */
    sim_coverage fork_upto[2]; /* what each side had before it did without the other one */
    uint64_t trace_hash;
    bool tracing;
    bool failed;
    char check[64];
    char detail[512];
    struct at_arena arena;    /* of the event */
    struct at_arena op_arena; /* of one decoded operation */
    struct at_buf key;
    struct at_buf scratch;
    struct at_buf payload;
    struct at_hll hll;
};

/* --- world.c --- */

void sim_world_init(struct sim_world *w, uint32_t node_count, uint32_t sync_bits);
void sim_world_deinit(struct sim_world *w);
/* Notes the first violated check. */
void sim_fail(struct sim_world *w, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sim_trace(struct sim_world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_hash(struct sim_world *w, uint64_t v);
uint32_t sim_below(struct sim_world *w, uint32_t n);
uint64_t sim_wall(const struct sim_world *w, uint32_t node);
/* What a cluster tells others of its clock. */
uint64_t sim_clock(const struct sim_world *w, uint32_t node);
bool sim_is_member(const struct sim_world *w, uint32_t viewer, struct at_member_id id);
static inline bool sim_up(const struct sim_world *w, uint32_t node)
{
    return node < w->node_count && w->nodes[node].state == SIM_UP;
}
/* A writer action is possible: up, and no commit is under way. */
static inline bool sim_ready(const struct sim_world *w, uint32_t node)
{
    return sim_up(w, node) && !w->nodes[node].round_open;
}
static inline struct at_member_id sim_id(uint32_t node)
{
    return (struct at_member_id){node + 1};
}
static inline bool sim_linked(const struct sim_world *w, uint32_t from, uint32_t to)
{
    return (w->cut[from] >> to & 1) == 0;
}
/* The state that `viewer` gives to `node`: enum at_origin_state. */
uint8_t sim_state_of(const struct sim_world *w, uint32_t viewer, uint32_t node);

/* --- payload.c: operations as log entries --- */

void sim_payload_encode(struct sim_world *w,
                        const struct sim_op *op,
                        const struct at_removal *removal);

/* --- rows.c: what an entry does to the engine, and how rows are read --- */

void sim_rows_apply(struct sim_world *w,
                    uint32_t node,
                    struct at_position p,
                    const struct at_entry *e);
void sim_rows_load_catalog(struct sim_world *w, uint32_t node);
void sim_rows_read(struct sim_world *w,
                   uint32_t node,
                   uint32_t table,
                   uint32_t row,
                   struct sim_row_state *ret_row);
void sim_rows_check(struct sim_world *w, uint32_t node, bool all);
uint32_t sim_rows_table_id(uint32_t table, uint64_t generation);
uint32_t sim_rows_family_id(uint32_t family, uint64_t generation);
/* Into w->key: 'd' and a key of cluster/model/key.h. */
struct at_slice sim_rows_key(struct sim_world *w, const struct at_key *key);
/* 'x' table(4) ~stamp(12) prefix */
void sim_rows_store_catalog(struct sim_world *w, uint32_t node);
struct at_slice sim_row_name(uint32_t row);
#define SIM_DROP_KEY_BYTES 17
/* The type of a stored partial's family, if it is one of a present generation; else PLAIN. */
enum at_family_type
sim_rows_fold_type(const struct sim_world *w, uint32_t node, const struct at_key *key);
/* Whether a partial is one of the family's type at all. */
bool sim_rows_fits(enum at_family_type type, struct at_slice partial);
/* Of a sketch which values it has seen, as bits. */
int64_t sim_rows_merge(struct sim_world *w,
                       enum at_family_type type,
                       const struct sim_cell_state *cell,
                       struct at_slice partial);

/* --- forget.c: forgetting and compaction --- */

void sim_forget(struct sim_world *w, uint32_t node);
void sim_compact(struct sim_world *w, uint32_t node);
/* A deliberate bug: a dropped range takes what is there, and is forgotten. */
void sim_drop_now(struct sim_world *w, uint32_t node, struct at_slice drop_key);

/* --- node.c: processes, writes, commits --- */

void sim_node_create(struct sim_world *w, uint32_t node, const struct at_replica_config *config);
void sim_node_crash(struct sim_world *w, uint32_t node, bool lose);
void sim_node_start(struct sim_world *w, uint32_t node, bool doubt);
void sim_node_stop(struct sim_world *w, uint32_t node, enum sim_node_state state);
void sim_commit(struct sim_world *w, uint32_t node, bool sync);
/* Without a commit when none is needed. */
void sim_idle(struct sim_world *w, uint32_t node);
void sim_trim(struct sim_world *w, uint32_t node);
void sim_cap(struct sim_world *w, uint32_t node, struct at_position which);
/* One own operation; `op` has all but position and stamp. Left open: the commit is to come. */
bool sim_write(struct sim_world *w, uint32_t node, struct sim_op *op, bool leave_open);
/* One own entry that changes members: not asked whether writes are accepted. */
void sim_append(struct sim_world *w, uint32_t node, struct sim_op *op, const struct at_removal *r);
void sim_apply_entry(struct sim_world *w,
                     uint32_t node,
                     struct at_position p,
                     const struct at_entry *e);
void sim_after(struct sim_world *w, uint32_t node);
void sim_log_key(uint8_t key[17], struct at_position p);
/* The book as the disk has it. */
void sim_load_book(struct sim_world *w, uint32_t node);
/* Own entries beyond what the disk still has are lost. */
void sim_note_losses(struct sim_world *w, uint32_t node);

/* --- setback.c: a disk that goes back to what it once held --- */

/* Keeps what is on the disk now. */
void sim_past_keep(struct sim_world *w, uint32_t node);
/* Its process ends, if it runs, and its disk is what it was when it was kept. */
void sim_set_back(struct sim_world *w, uint32_t node);
/* Not before its clock is beyond all that it ever said. */
bool sim_set_back_may_start(const struct sim_world *w, uint32_t node);
/* It may be in an epoch that it had before and was not told so. */
bool sim_set_back_unsure(struct sim_world *w, uint32_t node);

/* --- fork.c: a minority goes on as another instance --- */

void sim_fork(struct sim_world *w, uint32_t node);
/* 0 or 1. */
uint32_t sim_side(const struct sim_world *w, uint32_t node);
/* After every event of a cluster: until it has fenced the other side it may take of it. */
void sim_fork_note(struct sim_world *w, uint32_t node);
/* The sides are two instances. */
bool sim_fork_settled(const struct sim_world *w);
/* Neither has later entries of the other one. */
void sim_fork_check(struct sim_world *w);

/* --- clients.c: random operations --- */

void sim_client_write(struct sim_world *w, uint32_t node, bool leave_open);
void sim_client_drop(struct sim_world *w, uint32_t node);
void sim_client_schema(struct sim_world *w, uint32_t node);
bool sim_create_table(struct sim_world *w,
                      uint32_t node,
                      uint32_t table,
                      const enum at_family_type *types);
bool sim_delete_table(struct sim_world *w, uint32_t node, uint32_t table);

/* --- network.c --- */

/* Checks what the status would show of all links. */
void sim_check_lags(struct sim_world *w, uint32_t node);
/* NULL: it is lost. The caller encodes into its bytes; an empty one is not delivered. */
struct sim_letter *sim_send(struct sim_world *w, uint32_t from, uint32_t to, bool question);
struct sim_letter *sim_answer(struct sim_world *w, const struct sim_letter *question);
void sim_deliver_due(struct sim_world *w);
/* What was held arrives. */
void sim_let_go(struct sim_world *w);
void sim_letter_deinit(struct sim_letter *l);
void sim_drop_flights(struct sim_world *w);
/* Tells `from`, which asks, that it is removed here, if it is. */
void sim_refuse(struct sim_world *w, const struct sim_letter *l, struct at_member_id from);
void sim_ask_pull(struct sim_world *w, uint32_t node, uint32_t donor);
void sim_ask_close(struct sim_world *w, uint32_t node);

/* --- copies.c --- */

void sim_copy_step(struct sim_world *w, uint32_t node);
void sim_copy_drop(struct sim_world *w, uint32_t node);
void sim_copy_message(struct sim_world *w, const struct sim_letter *l, struct at_message *m);
/* Without a word to the replica: the process ends. */
void sim_copies_forget(struct sim_world *w, uint32_t node);

/* --- members.c --- */

void sim_join(struct sim_world *w, uint32_t registrar);
void sim_leave(struct sim_world *w, uint32_t node);
void sim_remove(struct sim_world *w, uint32_t coordinator, uint32_t members);
/* `minority`: this side goes on even if it is one. */
void sim_remove_surviving(struct sim_world *w,
                          uint32_t coordinator,
                          uint32_t members,
                          bool minority);
/* What a cluster does by itself: asks for acknowledgements, fences, leaves step by step. */
void sim_member_step(struct sim_world *w, uint32_t node);
/* Whether most members would be left, were these removed as well. */
bool sim_may_lose(const struct sim_world *w, uint32_t members);
void sim_member_message(struct sim_world *w, const struct sim_letter *l, struct at_message *m);

/* --- tokens.c --- */

void sim_token_make(struct sim_world *w, uint32_t node);
bool sim_token_try(struct sim_world *w, uint32_t node, uint32_t which);

/* --- rest.c --- */

void sim_rest(struct sim_world *w);

#endif
