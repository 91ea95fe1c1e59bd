/* write.h: the things one can ask the writer to do. PURE (plain structures).
 *
 * Each request embeds an at_write; storage belongs to the asker and must stay valid, with all that
 * its slices borrow, until `done` ran. `done` runs on the writer thread after the commit (or the
 * refusal) and must only enqueue. `code` and `error` hold the result. */
#ifndef ATOLL_CLUSTER_TABLET_WRITE_H
#define ATOLL_CLUSTER_TABLET_WRITE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mailbox.h"
#include "cluster/model/catalog.h"
#include "cluster/model/filter.h"
#include "cluster/model/mutation.h"

enum at_write_kind {
    AT_WRITE_ROWS,    /* struct at_write_rows: MutateRow (one row) and MutateRows */
    AT_WRITE_MODIFY,  /* struct at_write_modify: ReadModifyWriteRow */
    AT_WRITE_CHECK,   /* struct at_write_check: CheckAndMutateRow */
    AT_WRITE_CATALOG, /* struct at_write_catalog: schema and profiles */
    AT_WRITE_DROP,    /* struct at_write_drop: DropRowRange */
    AT_WRITE_COLLECT, /* struct at_write_collect: garbage goes */
    AT_WRITE_APPLY,   /* a foreign reply (replication/peer/peering.h) */
    AT_WRITE_CALL,    /* an at_replica_call */
    AT_WRITE_COPY,    /* of copy_source.c and copy_sink.c alone */
};

struct at_dropped_range; /* schema.h */

struct at_write {
    struct at_mail mail;
    enum at_write_kind kind;
    void (*done)(struct at_write *write);
    void *ctx;
    enum at_code code;
    struct at_error error; /* filled when code is not AT_OK */
    uint64_t seq;          /* own log position of the last entry this wrote; 0: none */
    /* Monotonic. A row write that has not begun by then is refused (UNAVAILABLE) and changes
     * nothing: nobody waits for it any more. 0: whenever; any thread may set AT_WRITE_CALLED_OFF.
     */
    _Atomic uint64_t begin_by_ns;
};

#define AT_WRITE_CALLED_OFF UINT64_C(1)

/* One row's mutations, atomic. Checked by at_mutation_check before it is submitted; whether table
 * and families exist is decided by the writer: NOT_FOUND, with production's wording, and nothing of
 * the row is applied. */
struct at_row_mutations {
    struct at_slice row;
    struct at_mutation *mutations;
    uint32_t mutation_count;
    /* Idempotency: one that was applied under this token is not applied again, and OK. Empty: none.
     * start: when the first attempt was sent, 0 when that is not known. */
    struct at_slice token;
    int64_t token_start_micros;
    struct at_hash128 token_id; /* filled in by the writer */
    enum at_code code;
    struct at_error *error; /* may be NULL; the writer fills it when code is not AT_OK */
};

struct at_write_rows {
    struct at_write base;      /* base.code: what refused the whole request (table, not writable) */
    struct at_slice table;     /* table id */
    uint64_t table_generation; /* NOT_FOUND when the table is of another one; 0: of whichever */
    struct at_slice full_name; /* projects/.../tables/t, for messages */
    struct at_row_mutations *rows;
    uint32_t row_count;
    int64_t
        server_micros; /* timestamp that AT_TIMESTAMP_SERVER becomes, before granularity; 0: now */
};

enum at_rule_kind { AT_RULE_APPEND, AT_RULE_INCREMENT };
struct at_modify_rule {
    enum at_rule_kind kind;
    struct at_slice family;
    struct at_slice qualifier;
    struct at_slice append;
    int64_t increment;
};

struct at_write_modify {
    struct at_write base;
    struct at_slice table;
    struct at_slice full_name;
    struct at_slice row;
    const struct at_modify_rule *rules;
    uint32_t rule_count;
    struct at_arena *arena; /* results go here */
    /* Result: the new state of each modified column, one cell each, ordered by family and
     * qualifier. */
    struct at_cell *ret_cells;
    uint32_t ret_cell_count;
};

struct at_write_check {
    struct at_write base;
    struct at_slice table;
    struct at_slice full_name;
    struct at_slice row;
    const struct at_filter *predicate; /* NULL: does the row have any cell? */
    struct at_row_mutations if_true;   /* mutation_count 0: none */
    struct at_row_mutations if_false;
    struct at_arena *arena;
    bool ret_matched;
};

/* A catalog change is decided on the writer thread against the newest catalog: `decide` fills
 * records (counter and fields; the writer stamps them) in the arena, or refuses with a code. It
 * must not block. All records of one change are one log entry: all or nothing. */
struct at_operation; /* model/operation.h */
struct at_write_catalog {
    struct at_write base;
    enum at_code (*decide)(struct at_write_catalog *write,
                           const struct at_catalog *catalog,
                           struct at_error *reterr);
    struct at_arena *arena;
    struct at_catalog_record *records; /* out of decide */
    uint32_t record_count;
    /* Out of decide: MEMBER or RELEASE operations, each an entry of its own behind the records'
     * one, in the same batch, synced. */
    const struct at_operation *acts;
    uint32_t act_count;
    struct at_schema *ret_schema; /* the schema after the change, a reference of the asker's; may be
                                     NULL on error */
};

struct at_write_drop {
    struct at_write base;
    struct at_slice table;
    struct at_slice full_name;
    struct at_slice prefix; /* empty: all rows */
};

/* A stored add that takes the place of others, which are among the keys that go. */
struct at_write_fold {
    struct at_slice key; /* the one with the highest stamp among them */
    struct at_slice value;
};

/* Removes cells and markers by their exact keys: no log entry, no stamp. ABORTED when the schema by
 * which they were judged may have held what a failed commit took back or a copy replaced, or when
 * nothing may be forgotten now: judge again. */
struct at_write_collect {
    struct at_write base;
    uint64_t schema_version; /* by which the keys were judged */
    const struct at_slice *keys;
    uint32_t key_count;
    const struct at_write_fold *folds;
    uint32_t fold_count;
    uint64_t horizon; /* by which it was judged what is forgotten; 0: nothing is */

    bool raise_floors; /* of all families, to what their rules condemn by age alone by now */
    /* The time at which rules may be asked, with raise_floors. 0: the clock is not trusted, so
     * nothing is old. */
    int64_t ret_now_micros;
    uint64_t ret_horizon; /* with raise_floors: stored; 0: nothing may be forgotten now */

    /* Not 0: nothing that the drop covered is stored any more (all of `keys` went before), so its
     * record goes; without a drop, the table is without row markers if none is stored. */
    uint32_t unhide_table_id;
    const struct at_dropped_range *unhide_drop;
    uint32_t ret_forgotten;
};

#endif
