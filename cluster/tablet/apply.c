#include "cluster/tablet/writer.h"

#include "base/assert.h"
#include "base/log.h"

/* Foreign replies, by protocol rules 12-14. A reply is applied entry by entry, over as many rounds
 * as its size asks for; an entry is never split, and the reply's facts go with its last entries.
 *
 * Rule 12 is asked again whenever a reply is taken up in another round: a CLOSE that was answered
 * in between must not be overtaken by what an earlier process of the sender said.
 *
 * An entry may be ahead of the schema of another origin; then it gets a local id for a table that
 * no catalog names yet. Where there are too many of these already it waits for the catalog instead,
 * so that a faulty peer can't fill the memory with names.
 *
 * The log keeps exactly what was applied, in a record of its own for each stretch. An entry of a
 * generation that is dead here has no effect, but is logged: others may need it. */

#define ENTRIES_MAX 16384u

static bool goes_on(struct writer *w, uint64_t share_ends_ns);
static void begin_next(struct writer *w);
static bool still_admitted(struct writer *w);
static void merge_reply(struct writer *w);
static bool apply_runs(struct writer *w);
static bool apply_run(struct writer *w, const struct at_run *run);
static bool apply_entry(struct writer *w, const struct at_run *run, const struct at_entry *entry);
static void log_entry(struct writer *w, const struct at_run *run, const struct at_entry *entry);
static void seal(struct writer *w, const struct at_run *run);
static enum at_code apply_operation(struct writer *w,
                                    const struct at_entry *entry,
                                    struct at_member_id origin,
                                    struct at_operation *op,
                                    bool *ret_discarded);
static enum at_code apply_catalog(struct writer *w, struct at_operation *op, bool *ret_discarded);
static enum at_code apply_row(struct writer *w,
                              const struct at_operation *op,
                              struct at_stamp stamp,
                              bool *ret_discarded);
static enum at_code
known_table(struct writer *w, const struct at_operation *op, uint32_t *ret_table_id);
static enum at_code known_family(struct writer *w,
                                 const struct at_operation *op,
                                 uint32_t table_id,
                                 const struct at_mutation *m,
                                 uint32_t *ret_family_id);
static enum at_code id_ahead(
    struct writer *w, uint32_t parent, struct at_slice name, uint64_t generation, uint32_t *ret_id);
static void too_many_ids(struct writer *w, const struct at_run *run);
static void malformed(struct writer *w, const struct at_run *run, uint64_t seq);
static void finish(struct writer *w, bool dropped);
static bool room_left(const struct writer *w);

void apply_replies(struct writer *w, uint64_t writes_took_ns)
{
    bool waiting = w->applying.apply != NULL || w->applies.head != NULL;
    uint64_t share_ends_ns = w->round.mono_ns + writes_took_ns;

    if (waiting && !room_left(w) && !round_commit(w))
        return;
    for (;;) {
        if (w->applying.apply == NULL)
            begin_next(w);
        if (w->applying.apply == NULL || (!room_left(w) && !goes_on(w, share_ends_ns)))
            return;
        if (!still_admitted(w)) {
            finish(w, true);
            continue;
        }
        if (!apply_runs(w))
            continue;
        merge_reply(w);
        finish(w, false);
    }
}

/* The round is full. Another one follows while local writes had more time than replies. */
static bool goes_on(struct writer *w, uint64_t share_ends_ns)
{
    return w->round.mono_ns < share_ends_ns && round_commit(w);
}

void apply_forget(struct writer *w)
{
    struct at_mail *mail;

    if (w->applying.apply != NULL)
        finish(w, true);
    while ((mail = mail_list_take(&w->round.applies)) != NULL) {
        struct at_apply *apply = (struct at_apply *)mail;
        apply->dropped = true;
        w->store->config.on_applied(apply);
    }
}

void apply_drop_all(struct writer *w)
{
    struct at_mail *mail;

    while ((mail = mail_list_take(&w->applies)) != NULL)
        mail_list_put(&w->round.applies, mail);
    apply_forget(w);
}

static void begin_next(struct writer *w)
{
    struct at_mail *mail = mail_list_take(&w->applies);
    struct at_apply *apply = (struct at_apply *)mail;

    if (mail == NULL)
        return;
    AT_ASSERT(apply->message.kind == AT_MESSAGE_REPLY);
    apply->dropped = false;
    apply->applied_count = 0;
    apply->discarded_count = 0;
    w->applying = (struct applying){.apply = apply};
}

static bool still_admitted(struct writer *w)
{
    const struct at_reply *reply = &w->applying.apply->message.u.reply;
    const char *why = "";

    if (at_replica_admit_reply(w->replica, reply, &why))
        return true;
    at_log(AT_LOG_INFO, "reply refused", AT_KV_U64("from", reply->from.v), AT_KV_STR("why", why));
    return false;
}

static void merge_reply(struct writer *w)
{
    const struct at_reply *reply = &w->applying.apply->message.u.reply;

    if (!at_replica_merge_reply(w->replica, reply, w->round.wall_ns, w->round.mono_ns))
        at_log(AT_LOG_WARN, "a peer tells promises of the future, leaving them out",
               AT_KV_U64("from", reply->from.v));
}

/* True when all runs are done; false when the round is full. */
static bool apply_runs(struct writer *w)
{
    struct applying *a = &w->applying;
    const struct at_reply *reply = &a->apply->message.u.reply;

    for (; a->run < reply->run_count; a->run++) {
        const struct at_run *run = &reply->runs[a->run];
        if (!a->run_open && at_record_open(&a->reader, run->record) != AT_OK) {
            malformed(w, run, 0);
            continue;
        }
        a->run_open = true;
        w->foreign.count = 0;
        bool done = apply_run(w, run);
        seal(w, run);
        if (!done)
            return false;
        a->run_open = false;
    }
    return true;
}

static bool apply_run(struct writer *w, const struct at_run *run)
{
    struct at_entry entry;

    for (;;) {
        if (!room_left(w))
            return false;
        enum at_code rc = at_record_next(&w->applying.reader, &entry);
        if (rc == AT_OUT_OF_RANGE)
            return true;
        if (rc != AT_OK) {
            malformed(w, run, 0);
            return true;
        }
        struct at_position p = {run->origin, run->epoch, entry.seq};
        switch (at_replica_admit(w->replica, p, &entry, w->round.wall_ns)) {
        case AT_ADMIT_APPLY:
            if (!apply_entry(w, run, &entry))
                return true;
            break;
        case AT_ADMIT_SKIP:
            break;
        case AT_ADMIT_STOP:
        case AT_ADMIT_PARK:
            return true;
        }
    }
}

/* False: it was not applied, and nothing of it is to be seen. */
static bool apply_entry(struct writer *w, const struct at_run *run, const struct at_entry *entry)
{
    struct at_apply *apply = w->applying.apply;
    struct at_operation op;
    bool discarded = false;

    enum at_code code = apply_operation(w, entry, run->origin, &op, &discarded);
    if (code == AT_RESOURCE_EXHAUSTED)
        too_many_ids(w, run);
    else if (code != AT_OK)
        malformed(w, run, entry->seq);
    if (code != AT_OK)
        return false;
    log_entry(w, run, entry);
    if (at_operation_of_members(op.kind))
        act_apply(w, &op, (struct at_position){run->origin, run->epoch, entry->seq}, entry->hlc);
    w->round.foreign = true;
    w->round.operations++;
    w->round.bytes += entry->payload.len;
    apply->applied_count++;
    if (discarded) {
        apply->discarded_count++;
        atomic_fetch_add_explicit(&w->store->discarded, 1, memory_order_relaxed);
    }
    return true;
}

static void log_entry(struct writer *w, const struct at_run *run, const struct at_entry *entry)
{
    struct at_position p = {run->origin, run->epoch, entry->seq};

    if (w->foreign.count == 0)
        at_record_begin(&w->foreign, entry->seq);
    AT_ASSERT(entry->seq == w->foreign.first_seq + w->foreign.count);
    enum at_code rc = at_record_add(&w->foreign, entry);
    AT_ASSERT(rc == AT_OK); /* the round's bytes are bounded below the builder's */
    at_replica_apply(w->replica, p, entry);
}

static void seal(struct writer *w, const struct at_run *run)
{
    if (w->foreign.count == 0)
        return;
    struct at_position last = {run->origin, run->epoch, at_record_last_seq(&w->foreign)};
    at_log_parts_note(&w->parts, run->origin, run->epoch);
    at_log_put(w->round.batch, last, at_record_finish(&w->foreign));
    w->foreign.count = 0;
}

static enum at_code apply_operation(struct writer *w,
                                    const struct at_entry *entry,
                                    struct at_member_id origin,
                                    struct at_operation *op,
                                    bool *ret_discarded)
{
    struct at_stamp stamp = {entry->hlc, origin};

    at_arena_reset(&w->arena);
    AT_TRY(at_operation_decode(entry->payload, &w->arena, op));
    switch (op->kind) {
    case AT_OPERATION_ROW:
        if (op->mutation_count > entry->ticks)
            return AT_INVALID_ARGUMENT;
        return apply_row(w, op, stamp, ret_discarded);
    case AT_OPERATION_CATALOG:
        return apply_catalog(w, op, ret_discarded);
    case AT_OPERATION_MEMBER:
    case AT_OPERATION_LEAVE:
    case AT_OPERATION_REMOVE:
    case AT_OPERATION_RELEASE:
        return AT_OK; /* told once it is in the log */
    case AT_OPERATION_DROP_RANGE:
        break;
    }
    uint32_t table_id = 0;
    AT_TRY(known_table(w, op, &table_id));
    *ret_discarded = table_id == 0;
    if (table_id != 0)
        writer_note_drop(w, table_id, (struct at_dropped_range){op->row, stamp});
    return AT_OK;
}

/* A record that can't be read is left out, by every member alike, and what follows it goes on: it
 * must not stop the log of its origin for ever. *ret_discarded: there was one. */
static enum at_code apply_catalog(struct writer *w, struct at_operation *op, bool *ret_discarded)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < op->record_count; i++)
        if (at_catalog_record_readable(&op->records[i]))
            op->records[kept++] = op->records[i];
    *ret_discarded = kept < op->record_count;
    if (*ret_discarded)
        at_log(AT_LOG_ERROR, "a peer sends catalog records that can't be read, leaving them out",
               AT_KV_U64("count", op->record_count - kept));
    op->record_count = kept;
    return kept > 0 ? writer_apply_catalog(w, op->records, kept, NULL) : AT_OK;
}

/* *ret_discarded: some of it was of a dead generation. */
static enum at_code apply_row(struct writer *w,
                              const struct at_operation *op,
                              struct at_stamp stamp,
                              bool *ret_discarded)
{
    uint32_t table_id = 0;

    AT_TRY(known_table(w, op, &table_id));
    *ret_discarded = table_id == 0;
    if (table_id == 0)
        return AT_OK;
    row_reserve_ids(w, op->mutation_count);
    for (uint32_t i = 0; i < op->mutation_count; i++) {
        const struct at_mutation *m = &op->mutations[i];
        w->family_ids[i] = 0;
        if (m->kind == AT_MUTATION_DELETE_ROW)
            continue;
        AT_TRY(known_family(w, op, table_id, m, &w->family_ids[i]));
        *ret_discarded = *ret_discarded || w->family_ids[i] == 0;
    }
    struct row_op put = {
        .table_id = table_id,
        .row = op->row,
        .mutations = op->mutations,
        .count = op->mutation_count,
        .first = stamp,
    };
    row_put(w, &put);
    if (op->has_token)
        token_note(w, op->token, stamp.hlc);
    round_touch(w, table_id, op->row);
    return AT_OK;
}

/* The id of the operation's table, made when its generation is not known yet; 0 when it is dead. */
static enum at_code
known_table(struct writer *w, const struct at_operation *op, uint32_t *ret_table_id)
{
    const struct at_table *table = at_catalog_table(w->schema->catalog, op->table);

    *ret_table_id = 0;
    if (table != NULL && table->generation == op->table_generation)
        *ret_table_id = table->id;
    else if (at_catalog_table_counter(w->schema->catalog, op->table) <= op->table_generation ||
             writer_keeps(w, op->table, op->table_generation))
        return id_ahead(w, 0, op->table, op->table_generation, ret_table_id);
    return AT_OK;
}

static enum at_code known_family(struct writer *w,
                                 const struct at_operation *op,
                                 uint32_t table_id,
                                 const struct at_mutation *m,
                                 uint32_t *ret_family_id)
{
    const struct at_catalog *c = w->schema->catalog;
    const struct at_table *table = at_catalog_table(c, op->table);
    const struct at_family *family = NULL;

    *ret_family_id = 0;
    if (table != NULL && table->id == table_id)
        family = at_table_family(table, m->family);
    if (family != NULL && family->generation == m->family_generation)
        *ret_family_id = family->id;
    else if (at_catalog_family_counter(c, op->table, op->table_generation, m->family) <=
             m->family_generation)
        return id_ahead(w, table_id, m->family, m->family_generation, ret_family_id);
    return AT_OK;
}

static enum at_code id_ahead(
    struct writer *w, uint32_t parent, struct at_slice name, uint64_t generation, uint32_t *ret_id)
{
    *ret_id = at_local_ids_find(&w->ids, parent, name, generation);
    if (*ret_id != 0)
        return AT_OK;
    if (w->ids.count >= AT_LOCAL_IDS_MAX)
        return AT_RESOURCE_EXHAUSTED;
    *ret_id = parent == 0 ? writer_table_id(w, name, generation)
                          : writer_family_id(w, parent, name, generation);
    return AT_OK;
}

static void too_many_ids(struct writer *w, const struct at_run *run)
{
    at_log(AT_LOG_ERROR,
           "an entry of a table that is not in the catalog waits for it: there are too many",
           AT_KV_U64("from", w->applying.apply->message.u.reply.from.v),
           AT_KV_U64("origin", run->origin.v));
}

static void malformed(struct writer *w, const struct at_run *run, uint64_t seq)
{
    at_log(AT_LOG_ERROR, "malformed log entry from a peer, leaving the rest of its run",
           AT_KV_U64("from", w->applying.apply->message.u.reply.from.v),
           AT_KV_U64("origin", run->origin.v), AT_KV_U64("epoch", run->epoch),
           AT_KV_U64("seq", seq));
}

static void finish(struct writer *w, bool dropped)
{
    struct at_apply *apply = w->applying.apply;

    apply->dropped = dropped;
    w->applying = (struct applying){0};
    mail_list_put(&w->round.applies, &apply->mail);
}

static bool room_left(const struct writer *w)
{
    return w->round.bytes < AT_WRITER_ROUND_BYTES_MAX && w->round.operations < ENTRIES_MAX;
}
