/* real_world.h: the simulator's second mode: whole clusters, with the real store, engine, writer,
 * collector and peering, in one thread, on virtual clocks and a virtual network (fake_peer_socket).
 * Everything that happens is decided by one seed.
 *
 * The oracle is that of the first mode: each cluster's own log is read as it grows, so the oracle
 * has every operation there ever was, with its stamp; what a cluster must show is a function of the
 * operations that its vector covers. */
#ifndef ATOLL_TESTS_SIM_REAL_WORLD_H
#define ATOLL_TESTS_SIM_REAL_WORLD_H

#include "base/arena.h"
#include "cluster/tablet/store.h"
#include "replication/peer/peering.h"
#include "replication/token.h"
#include "sim/fake_peer_socket.h"
#include "sim/oracle.h"
#include "support/lossy_store.h"

#define REAL_INSTANCE 77
#define REAL_SKEW_MS 400
#define REAL_WRITES_MAX 8
#define REAL_TOKENS_MAX 4
#define REAL_HELD_MAX 512
#define REAL_TRACE_LINES 60
#define REAL_START_NS UINT64_C(1700000000000000000)

enum real_state {
    REAL_ABSENT, /* never was */
    REAL_UP,
    REAL_DOWN,
    REAL_DEAD, /* down for good: its disk is lost */
    REAL_GONE, /* ended in order, or told that it is no member */
};

/* What the writer holds of the peering's: given back when the process dies. */
enum real_held_kind { REAL_HELD_APPLY, REAL_HELD_CALL, REAL_HELD_ACT };
struct real_held {
    enum real_held_kind kind;
    void *item;
};

/* A client's request. */
enum real_write_kind { REAL_ROWS, REAL_DROP, REAL_CATALOG, REAL_JOIN };
struct real_write {
    bool in_use;
    bool done;
    enum real_write_kind kind;
    union {
        struct at_write base;
        struct at_write_rows rows;
        struct at_write_drop drop;
        struct at_write_catalog catalog;
    } u;
    struct at_arena arena;
    struct at_operation *act;
    uint32_t newcomer; /* JOIN */
    uint32_t table;    /* CATALOG: what is to change */
    uint32_t change;
    int64_t value; /* ROWS: of the first mutation, if it has one */
    bool has_value;
};

typedef uint32_t real_positions[SIM_NODES_MAX][SIM_EPOCHS_MAX];

struct real_node {
    enum real_state state;
    struct lossy_store disk;
    char dir[96];
    struct at_peering *peering;
    struct at_replica_view view;    /* after its last turn */
    struct at_replica_view last;    /* as the event before left it */
    struct at_vector durable_floor; /* said to be durable, by any process of it */
    struct at_vector disk_floor;    /* committed when it went down without a power cut */
    uint64_t wake_ns;               /* world time of the next turn */
    uint64_t lazy_until_ns;
    int64_t wall_offset_ns;
    int64_t drift_ppm;
    uint64_t mono_start_ns;
    uint64_t dying_ticks; /* a dying process's clock runs, so that nothing is waited for */
    bool dying;
    bool leaving;
    bool power_lost; /* since its last start */
    bool condemned;  /* somebody was asked to remove it by force */
    bool copying;    /* as the last turn found it */
    struct real_write writes[REAL_WRITES_MAX];
    struct real_held held[REAL_HELD_MAX];
    uint32_t held_count;
    struct at_leave leave;
    bool leave_out;
    struct at_remove remove;
    bool remove_out;
    /* A newcomer's birth. */
    bool newcomer;
    uint64_t join_hlc;
    struct at_member_id members[AT_MEMBERS_MAX];
    struct at_slice infos[AT_MEMBERS_MAX];
    uint8_t info_bytes[AT_MEMBERS_MAX][64];
    uint32_t member_count;
};

enum real_token_step { REAL_TOKEN_FREE, REAL_TOKEN_MAKING, REAL_TOKEN_HELD, REAL_TOKEN_CHECKING };
struct real_token {
    enum real_token_step step;
    struct at_token token;
    struct at_survey survey;
    bool done;
    uint32_t node;
    real_positions acked; /* when the making began */
};

struct real_stats {
    uint64_t seeds;
    uint64_t events;
    uint64_t turns;
    uint64_t acked;
    uint64_t refused;
    uint64_t kills;
    uint64_t power_cuts;
    uint64_t losses; /* power cuts that took committed entries */
    uint64_t lost_entries;
    uint64_t copies_begun;
    uint64_t copies;
    uint64_t copies_cut; /* a side died meanwhile */
    uint64_t needs_copy;
    uint64_t joins;
    uint64_t joined;
    uint64_t leaves;
    uint64_t left;
    uint64_t removals;
    uint64_t removed;
    uint64_t zombies; /* learnt that they were removed */
    uint64_t tokens_true;
    uint64_t tokens_false;
    uint64_t rows_checked;
    uint64_t collected;
    uint64_t forgotten;
    uint64_t virtual_ms;
};

struct real_world {
    uint64_t seed;
    struct at_prng rng;
    char root[64];
    uint32_t node_count;
    uint32_t birth_count;
    struct real_node nodes[SIM_NODES_MAX];
    struct sim_oracle oracle;
    real_positions acked; /* told to clients */
    real_positions shown; /* committed by a process that died, before a power cut */
    bool sync_commits;
    uint64_t log_cap;
    uint32_t gc_delay_s;
    struct real_token tokens[REAL_TOKENS_MAX];
    int64_t next_value;
    bool resting;
    uint64_t next_operator_ns;
    struct real_stats stats;
    uint64_t hash;
    bool tracing;
    bool failed;
    char check[64];
    char detail[600];
    char lines[REAL_TRACE_LINES][200];
    uint32_t line_count;
    struct at_arena arena;
    struct at_buf scratch;
};

/* --- real_world.c --- */
void real_init(struct real_world *w, uint64_t seed);
void real_deinit(struct real_world *w);
void real_fail(struct real_world *w, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void real_trace(struct real_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void real_hash(struct real_world *w, uint64_t v);
uint32_t real_below(struct real_world *w, uint32_t n);
static inline bool real_percent(struct real_world *w, uint32_t p)
{
    return real_below(w, 100) < p;
}
static inline bool real_up(const struct real_world *w, uint32_t node)
{
    return node < w->node_count && w->nodes[node].state == REAL_UP;
}
static inline struct at_member_id real_id(uint32_t node)
{
    return (struct at_member_id){node + 1};
}
/* A random cluster that is up; SIM_NODES_MAX: there is none. */
uint32_t real_some_up(struct real_world *w);
/* real_advance lets time pass and everything happen that is due. */
void real_advance(struct real_world *w, uint64_t ns);
void real_run(struct real_world *w, uint32_t events);

/* --- real_node.c --- */
/* Forgets the clusters of another world. */
void real_nodes_reset(void);
void real_node_prepare(struct real_world *w, uint32_t node);
void real_node_start(struct real_world *w, uint32_t node);
/* The process ends: in order, killed, or with the machine. */
enum real_end { REAL_END_ORDERLY, REAL_END_KILLED, REAL_END_POWER };
void real_node_end(struct real_world *w, uint32_t node, enum real_end how, enum real_state then);
void real_node_turn(struct real_world *w, uint32_t node);
struct at_slice real_info(uint32_t node, uint8_t *bytes, size_t size);

/* --- real_clients.c --- */
void real_client_rows(struct real_world *w, uint32_t node);
void real_client_drop(struct real_world *w, uint32_t node);
void real_client_schema(struct real_world *w, uint32_t node);
void real_client_join(struct real_world *w, uint32_t registrar);
/* Takes what was answered. */
void real_clients_take(struct real_world *w, uint32_t node);
/* The process has died: nobody is answered. */
void real_clients_forget(struct real_world *w, uint32_t node);

/* --- real_truth.c --- */
extern const struct at_slice real_tables[SIM_TABLES];
extern const struct at_slice real_families[SIM_FAMILIES];
extern const struct at_slice real_rows[SIM_ROWS];
extern const struct at_slice real_columns[SIM_COLUMNS];
/* What the node has written of its own is told to the oracle. */
void real_truth_read(struct real_world *w, uint32_t node);
void real_coverage(const struct real_world *w, uint32_t node, sim_coverage *ret_coverage);
void real_check_rows(struct real_world *w, uint32_t node, bool all);
/* After each turn: positions, horizon, acknowledged writes. */
void real_check_view(struct real_world *w, uint32_t node);
/* What the start found, against what was said to be durable; notes what was lost. */
void real_check_start(struct real_world *w, uint32_t node);

/* --- real_members.c --- */
void real_leave(struct real_world *w, uint32_t node);
void real_remove(struct real_world *w, uint32_t coordinator, uint32_t members);
void real_members_take(struct real_world *w, uint32_t node);
/* Whether one more may go and a majority stays. */
bool real_may_lose(const struct real_world *w, uint32_t node);
/* Whether a newcomer may join, and a majority is left should it be lost before it has begun. */
bool real_may_gain(const struct real_world *w);
void real_token_make(struct real_world *w, uint32_t node);
void real_token_check(struct real_world *w, uint32_t node);
void real_tokens_take(struct real_world *w);
/* What is left over, for people. */
void real_describe(struct real_world *w, uint32_t node);
bool real_member_active(const struct real_world *w, uint32_t viewer, uint32_t node);

/* --- real_rest.c --- */
void real_rest(struct real_world *w);

#endif
