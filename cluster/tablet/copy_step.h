/* copy_step.h: what copies do on the writer thread, and what a source and a sink are made of.
 * ADAPTER (threads). Private to the files copy*.c and write_copy.c. */
#ifndef ATOLL_CLUSTER_TABLET_COPY_STEP_H
#define ATOLL_CLUSTER_TABLET_COPY_STEP_H

#include "cluster/model/copy_item.h"
#include "cluster/tablet/copy.h"
#include "cluster/tablet/copy_merge.h"
#include "cluster/tablet/writer.h"

#include <pthread.h>

/* --- a step --- */

struct copy_step {
    struct at_write base;
    /* Runs between rounds (the last one is committed), and answers, by round_answer or, when the
     * round it made failed, by round_refuse. */
    void (*run)(struct writer *w, struct copy_step *step);
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over;
};

/* copy_step_do gives a step to the writer and waits for it: base.code. UNAVAILABLE or
 * RESOURCE_EXHAUSTED when it was not taken. */
AT_MUST_USE enum at_code
copy_step_do(struct at_store *s, struct copy_step *step, struct at_error *reterr);

/* --- the source --- */

/* A part beside part 0: keys [start, end) of one prefix. */
struct source_part {
    struct at_copy_part told;
    struct at_slice start; /* whole keys */
    struct at_slice end;
    struct at_floor floor; /* what is below is left out */
};

struct at_copy_source {
    struct at_store *store;
    struct at_snapshot *snapshot;
    struct at_schema *schema;
    struct at_copy_state state;
    struct at_local_ids ids;
    const struct at_local_id **tables; /* of ids, ascending by id */
    uint32_t table_count;
    struct at_arena arena;
    struct source_part *parts;
    uint32_t part_count;
    uint32_t part_cap;
    uint64_t bytes;
};

struct source_step {
    struct copy_step step;
    struct at_copy_source *source;
    struct at_member_id receiver;
    const struct at_vector *needs;
};
/* Fills snapshot, schema and state, all of one moment. */
void copy_source_run(struct writer *w, struct copy_step *step);

/* --- the sink --- */

/* A stretch that the donor has: where it was merged up to. */
struct sink_part {
    struct at_copy_part told;
    uint32_t table_id;
    uint32_t family_id;
    bool dead;
    bool done;
    struct at_slice end;
    struct at_buf at; /* merged below */
};

/* A prefix of keys that may be here. */
struct sink_prefix {
    uint32_t table_id;
    uint32_t family_id;
    bool dead;    /* of a generation that is over once the catalogs are merged */
    bool covered; /* the donor has it: it is in the parts */
};

struct sink_drop {
    struct at_copy_drop told;
    uint32_t table_id;
};

struct at_copy_sink {
    struct at_store *store;
    uint64_t number; /* writer's */
    struct at_copy_state donor;
    struct at_copy_rule rule;
    struct at_snapshot *own;
    struct at_aside *aside;
    struct at_arena arena; /* the state, and part 0 */
    size_t catalog_bytes;
    struct at_buf catalog_at; /* cursor of part 0 */

    struct at_catalog_record *records;
    uint32_t record_count;
    uint32_t record_cap;
    struct sink_drop *drops;
    uint32_t drop_count;
    uint32_t drop_cap;
    struct at_copy_token *tokens;
    uint32_t token_count;
    uint32_t token_cap;
    struct sink_part *parts;
    uint32_t part_count;
    uint32_t part_cap;
    uint32_t part_expected;

    bool planned; /* part 0 is whole */
    struct at_catalog *merged;
    struct sink_prefix *prefixes; /* ascending */
    uint32_t prefix_count;
    struct at_buf last_key; /* that was put aside */
    uint32_t *marked;       /* tables of which row markers were put, ascending as put */
    uint32_t marked_count;
    uint32_t marked_cap;

    /* Under store->copy_lock. */
    struct at_copy_table_progress *progress;
    uint32_t progress_count;
};

struct sink_step {
    struct copy_step step;
    struct at_copy_sink *sink;
};
void copy_sink_begin_run(struct writer *w, struct copy_step *step);
void copy_sink_plan_run(struct writer *w, struct copy_step *step);
void copy_sink_finish_run(struct writer *w, struct copy_step *step);
void copy_sink_drop_run(struct writer *w, struct copy_step *step);

#endif
