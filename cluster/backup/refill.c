#include "cluster/backup/refill.h"

#include <semaphore.h>
#include <time.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/backup/pace.h"

/* A batch has no more mutations than this; of a chunk of tiny cells there are several. */
#define BATCH_MUTATIONS_MAX 4096u
#define AGAIN_NS (100 * AT_MS_NS)

struct batch {
    const struct at_backup_refill *refill;
    struct at_mutation mutations[BATCH_MUTATIONS_MAX];
    struct at_row_mutations rows[BATCH_MUTATIONS_MAX];
    bool aggregates[AT_FAMILIES_MAX]; /* by the families' places */
    uint32_t mutation_count;
    uint32_t row_count;
    struct at_error row_error;
    struct at_write_rows write;
    sem_t done;
};

static enum at_code
find_types(struct batch *b, const struct at_backup_scan *scan, struct at_error *reterr);
static void
put_item(struct batch *b, const struct at_backup_scan *scan, const struct at_backup_item *item);
static enum at_code write_batch(struct batch *b, struct at_error *reterr);

static enum at_code
fill_chunk(struct batch *b, struct at_backup_scan *scan, struct at_error *reterr)
{
    struct at_backup_item item;
    bool done = false;

    for (;;) {
        AT_TRY(at_backup_scan_item(scan, &item, &done, reterr));
        if (done)
            return write_batch(b, reterr);
        put_item(b, scan, &item);
        if (b->mutation_count == BATCH_MUTATIONS_MAX)
            AT_TRY(write_batch(b, reterr));
    }
}

static enum at_code fill(struct batch *b, struct at_backup_scan *scan, struct at_error *reterr)
{
    const struct at_backup_refill *refill = b->refill;
    struct at_pace pace;
    bool done = false;

    AT_TRY(find_types(b, scan, reterr));
    at_pace_start(&pace);
    for (;;) {
        AT_TRY(at_backup_scan_chunk(scan, &done, reterr));
        if (done)
            return AT_OK;
        AT_TRY(fill_chunk(b, scan, reterr));
        if (refill->on_progress)
            refill->on_progress(refill->ctx, (uint32_t)(scan->in.read_bytes * 100 / scan->in.size));
        at_pace_rest(&pace);
    }
}

enum at_code at_backup_refill(const struct at_backup_refill *refill,
                              struct at_backup_scan *scan,
                              struct at_error *reterr)
{
    struct batch *b = AT_NEW(struct batch);

    b->refill = refill;
    int rc = sem_init(&b->done, 0, 0);
    AT_ASSERT(rc == 0);
    enum at_code code = fill(b, scan, reterr);
    (void)sem_destroy(&b->done);
    at_free(b);
    return code;
}

/* The families of the file are those of the table; their types say which cells are merged. */
static enum at_code
find_types(struct batch *b, const struct at_backup_scan *scan, struct at_error *reterr)
{
    const struct at_backup_refill *refill = b->refill;
    struct at_schema *schema = at_store_schema(refill->store);
    const struct at_table *table = at_catalog_table(schema->catalog, refill->table);
    bool right = table && table->generation == refill->table_generation;

    for (uint32_t i = 0; right && i < scan->head.family_count; i++) {
        const struct at_family *family = at_table_family(table, scan->head.families[i].name);
        right = family != NULL;
        b->aggregates[i] = right && family->type != AT_FAMILY_PLAIN;
    }
    at_schema_unref(&schema);
    if (right)
        return AT_OK;
    return at_fail(reterr, AT_NOT_FOUND, "Table not found: %.*s", AT_SLICE_ARG(refill->full_name));
}

static void
put_item(struct batch *b, const struct at_backup_scan *scan, const struct at_backup_item *item)
{
    struct at_row_mutations *row = b->row_count > 0 ? &b->rows[b->row_count - 1] : NULL;
    struct at_mutation *m = &b->mutations[b->mutation_count++];

    *m = (struct at_mutation){
        .kind = b->aggregates[item->family] ? AT_MUTATION_MERGE : AT_MUTATION_SET,
        .family = scan->head.families[item->family].name,
        .qualifier = item->qualifier,
        .timestamp_micros = item->timestamp_micros,
        .value = item->value,
    };
    if (!row || !at_slice_eq(row->row, item->row)) {
        row = &b->rows[b->row_count++];
        *row = (struct at_row_mutations){.row = item->row, .mutations = m, .error = &b->row_error};
    }
    row->mutation_count++;
}

static void on_done(struct at_write *write)
{
    sem_post(&((struct batch *)write->ctx)->done);
}

/* *ret_again: refused as a whole, with nothing done, by a full queue or while writes are held back.
 * Rows of one request may be in several commits, of which a later one can fail. */
static enum at_code try_write(struct batch *b, bool *ret_again, struct at_error *reterr)
{
    const struct at_backup_refill *refill = b->refill;

    b->write = (struct at_write_rows){
        .base = {.kind = AT_WRITE_ROWS, .done = on_done, .ctx = b},
        .table = refill->table,
        .table_generation = refill->table_generation,
        .full_name = refill->full_name,
        .rows = b->rows,
        .row_count = b->row_count,
    };
    enum at_code code = at_store_submit(refill->store, &b->write.base);
    *ret_again = code == AT_RESOURCE_EXHAUSTED;
    if (code != AT_OK)
        return at_fail(reterr, code, "The writer takes nothing more");
    while (sem_wait(&b->done) != 0)
        continue; /* interrupted */
    code = b->write.base.code;
    bool held_back = code == AT_UNAVAILABLE || code == AT_RESOURCE_EXHAUSTED;
    *ret_again = held_back && b->write.base.seq == 0;
    if (held_back && b->write.base.seq != 0)
        return at_fail(reterr, AT_ABORTED, "A batch may have been written in part");
    if (code != AT_OK && reterr)
        *reterr = b->write.base.error;
    for (uint32_t i = 0; code == AT_OK && i < b->row_count; i++) {
        code = b->rows[i].code;
        if (code != AT_OK && reterr)
            *reterr = b->row_error;
    }
    return code;
}

static enum at_code write_batch(struct batch *b, struct at_error *reterr)
{
    enum at_code code = AT_OK;
    bool again = b->mutation_count > 0;

    while (again) {
        if (atomic_load(b->refill->stop))
            return at_fail(reterr, AT_CANCELLED, "The restore was given up");
        code = try_write(b, &again, reterr);
        if (again)
            (void)nanosleep(&(struct timespec){.tv_nsec = (long)AGAIN_NS}, NULL);
    }
    b->mutation_count = b->row_count = 0;
    return code;
}
