/* program.h: a random program of data requests, as values that can be run, shrunk and printed.
 *
 * Everything a program points to lies in the arena it was made in. Requests that must be refused
 * are part of it, rarely: empty keys, families that are not there, forbidden filters. */
#ifndef ATOLL_TESTS_PROPERTY_PROGRAM_H
#define ATOLL_TESTS_PROPERTY_PROGRAM_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/prng.h"
#include "cluster/model/filter.h"
#include "cluster/model/mutation.h"
#include "cluster/model/row_set.h"
#include "cluster/tablet/write.h"

#define PROGRAM_OPS_MAX 32
#define PROGRAM_ROWS_MAX 4
#define PROGRAM_LIST_MAX 4

enum program_mode {
    PROGRAM_ALONE,  /* one store: every answer is foretold */
    PROGRAM_STRICT, /* two, which exchange before the side changes: likewise */
    PROGRAM_LOOSE,  /* two, which exchange now and then: they must end equal */
};

enum op_kind {
    OP_MUTATE_ROW,
    OP_MUTATE_ROWS,
    OP_CHECK,
    OP_MODIFY,
    OP_READ,
    OP_DROP,
    OP_COLLECT,  /* remove all garbage, flush and compact */
    OP_KILL,     /* go on with what a kill -9 leaves; rows[0], if any, is being written meanwhile */
    OP_EXCHANGE, /* of two stores */
    OP_TICK,     /* the clock moves on by `limit` milliseconds */
};

struct op_row {
    struct at_slice row;
    struct at_mutation *mutations;
    uint32_t count;
    uint64_t
        token; /* of MUTATE_ROW and MUTATE_ROWS: idempotency, no two programs' the same; 0: none */
};

struct op_range {
    struct at_row_bound start;
    struct at_row_bound end;
};

struct op {
    enum op_kind kind;
    uint32_t side; /* the store it goes to */
    /* MUTATE_ROW and KILL: the first; CHECK: the branches true and false. */
    struct op_row rows[PROGRAM_ROWS_MAX];
    uint32_t row_count;
    struct at_modify_rule rules[PROGRAM_LIST_MAX]; /* MODIFY, of rows[0].row */
    uint32_t rule_count;
    struct at_filter_node *filter; /* CHECK, READ; NULL: none */
    struct at_slice keys[PROGRAM_LIST_MAX];
    uint32_t key_count;
    struct op_range ranges[PROGRAM_LIST_MAX];
    uint32_t range_count;
    int64_t limit;
    bool reversed;
    struct at_slice prefix; /* DROP */
};

struct program {
    uint64_t seed;
    enum program_mode mode;
    struct op ops[PROGRAM_OPS_MAX];
    uint32_t count;
};

/* The families of the table: f and g are plain; sum, max, min and hll are aggregates. The others
 * have rules by which a collection removes cells: not in loose programs, as stores that collect by
 * versions at different times may differ for ever. `top` is an aggregate, too. */
#define PROGRAM_AGED_RULE "a2"
#define PROGRAM_ANY_RULE "(v2|a3)"
#define PROGRAM_BOTH_RULE "(v1&a2)"
#define PROGRAM_TOP_RULE "v1"
#define PROGRAM_TWO_RULE "v2"
#define PROGRAM_NOW_MICROS INT64_C(1700000000123000) /* at the start of a program, cut to 1 ms */
#define PROGRAM_NOW_REST_NS 456789                   /* what was cut off */
#define PROGRAM_FUTURE_MICROS INT64_C(4102444800000000)

void program_make(struct program *p, uint64_t seed, struct at_arena *arena);

/* --- as text, one line for each operation --- */
void program_print_op(struct at_buf *out, const struct op *op);
void program_print(struct at_buf *out, const struct program *p);

#endif
