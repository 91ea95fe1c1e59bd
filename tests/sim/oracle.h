/* oracle.h: what the simulator knows and no cluster does: every operation there ever was, and what
 * a set of them must look like when it is read.
 *
 * The state of a set of operations is found by applying them one after the other in the order of
 * their stamps to plain arrays: it has nothing in common with how clusters store and read. */
#ifndef ATOLL_TESTS_SIM_ORACLE_H
#define ATOLL_TESTS_SIM_ORACLE_H

#include "cluster/model/catalog.h"
#include "cluster/model/mutation.h"
#include "replication/membership.h"

#define SIM_NODES_MAX 12 /* that ever were; member id = index + 1 */
#define SIM_EPOCHS_MAX 40
#define SIM_TABLES 2
#define SIM_FAMILIES 3
#define SIM_ROWS 3 /* a0 a1 b0 */
#define SIM_COLUMNS 2
#define SIM_TIMES 2
#define SIM_MUTATIONS_MAX 3
#define SIM_SKETCH_VALUES 8
#define SIM_RECORDS_MAX (1 + SIM_FAMILIES)

enum sim_op_kind {
    SIM_OP_ROW,
    SIM_OP_DROP,
    SIM_OP_CATALOG,
    SIM_OP_MEMBER,
    SIM_OP_LEAVE,
    SIM_OP_REMOVE,
    SIM_OP_RELEASE,
};

struct sim_mutation {
    enum at_mutation_kind kind;
    uint8_t family;
    uint8_t column;
    uint8_t time;     /* DELETE_COLUMN: first time index hidden */
    uint8_t time_end; /* DELETE_COLUMN: behind the last */
    bool sketch;      /* added: a sketch that has seen `value`, one of 0 .. SIM_SKETCH_VALUES-1 */
    uint32_t family_generation;
    int64_t value;
};

struct sim_catalog_change {
    bool is_family;
    uint8_t family;
    enum at_family_type type;
    uint32_t table_generation;
    uint32_t counter;
};

struct sim_op {
    enum sim_op_kind kind;
    struct at_position at;
    uint64_t hlc;
    uint32_t ticks;
    uint8_t table;
    uint32_t table_generation;
    uint8_t row; /* DROP: first row */
    uint8_t row_end;
    uint8_t mutation_count;
    uint8_t change_count;
    struct sim_mutation mutations[SIM_MUTATIONS_MAX];
    struct sim_catalog_change changes[SIM_RECORDS_MAX];
    uint64_t digest;  /* of its payload */
    uint32_t members; /* bits by index: MEMBER, REMOVE */
    bool lost;        /* its origin lost it in a crash */
};

/* How much of each (origin, epoch) is in a set. */
typedef uint32_t sim_coverage[SIM_NODES_MAX][SIM_EPOCHS_MAX];

struct sim_history {
    struct sim_op **ops; /* [seq - 1] */
    uint32_t count;
    uint32_t cap;
};

struct sim_row_op {
    const struct sim_op *op;
    uint32_t index; /* of the mutation */
};

struct sim_row_history {
    struct sim_row_op *items; /* ascending by stamp */
    uint32_t count;
    uint32_t cap;
};

struct sim_oracle {
    struct sim_history truth[SIM_NODES_MAX][SIM_EPOCHS_MAX];
    struct sim_row_history rows[SIM_TABLES][SIM_ROWS];
    const struct sim_op **catalog_ops;
    uint32_t catalog_count;
    uint32_t catalog_cap;
    uint64_t stamp_max;
    uint32_t op_count;
};

struct sim_family_state {
    uint32_t counter;
    enum at_family_type type;
};
struct sim_table_state {
    uint32_t counter;
    struct sim_family_state families[SIM_FAMILIES]; /* of the generation `counter` */
};
struct sim_schema {
    struct sim_table_state tables[SIM_TABLES];
};

struct sim_cell_state {
    bool present;
    int64_t value; /* of a sketch: bits, which values it has seen */
};
struct sim_row_state {
    struct sim_cell_state cells[SIM_FAMILIES][SIM_COLUMNS][SIM_TIMES];
};

void sim_oracle_deinit(struct sim_oracle *o);
/* Takes a copy of the operation; its position must be the next of its (origin, epoch). */
struct sim_op *sim_oracle_add(struct sim_oracle *o, const struct sim_op *op);
/* Takes back the last row operation of an (origin, epoch): it was never committed nor shown. */
void sim_oracle_retract(struct sim_oracle *o, uint32_t origin, uint32_t epoch);
/* NULL: there never was one. */
struct sim_op *sim_oracle_op(const struct sim_oracle *o, struct at_position p);

static inline bool sim_covered(const sim_coverage *set, struct at_position p)
{
    return (*set)[p.origin.v - 1][p.epoch - 1] >= p.seq;
}

void sim_oracle_schema(const struct sim_oracle *o,
                       const sim_coverage *set,
                       struct sim_schema *ret_schema);
void sim_oracle_row(const struct sim_oracle *o,
                    const sim_coverage *set,
                    const struct sim_schema *schema,
                    uint32_t table,
                    uint32_t row,
                    struct sim_row_state *ret_row);

#endif
