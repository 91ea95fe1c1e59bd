#include "cluster/tablet/writer.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/log.h"

/* Answers are told only after commit and publication, in the order in which they were decided.
 *
 * Which rows a round touched is kept as the round's number in a slot of the row's hash. Two rows in
 * one slot cost a needless commit, never a wrong read. */

#define OWN_BYTES_MAX (AT_WRITER_ROUND_BYTES_MAX + AT_ENTRY_BYTES_MAX + AT_MIB)

static void seal_own(struct writer *w);
static enum at_code commit_batch(struct writer *w, struct at_error *reterr);
static void publish_hides(struct writer *w);
static void answer_all(struct writer *w);
static void fail_all(struct writer *w, enum at_code code, const struct at_error *error);
static void fail_write(struct at_write *write, enum at_code code, const struct at_error *error);
static uint32_t touched_slot(uint32_t table_id, struct at_slice row);

void mail_list_init(struct mail_list *l)
{
    l->head = NULL;
    l->tail = &l->head;
}

void mail_list_put(struct mail_list *l, struct at_mail *mail)
{
    mail->next = NULL;
    *l->tail = mail;
    l->tail = &mail->next;
}

struct at_mail *mail_list_take(struct mail_list *l)
{
    struct at_mail *mail = l->head;

    if (mail == NULL)
        return NULL;
    l->head = mail->next;
    if (l->head == NULL)
        l->tail = &l->head;
    mail->next = NULL;
    return mail;
}

void round_init(struct writer *w)
{
    struct round *r = &w->round;

    *r = (struct round){.batch = at_batch_new()};
    at_record_builder_init(&r->own, OWN_BYTES_MAX);
    at_record_builder_init(&w->foreign, OWN_BYTES_MAX);
    mail_list_init(&r->writes);
    mail_list_init(&r->applies);
    mail_list_init(&r->calls);
    mail_list_init(&r->acts);
    w->round_number = 1;
}

void round_deinit(struct writer *w)
{
    at_batch_free(&w->round.batch);
    at_record_builder_deinit(&w->round.own);
    at_record_builder_deinit(&w->foreign);
}

void round_begin(struct writer *w)
{
    struct round *r = &w->round;

    r->wall_ns = writer_wall_ns(w);
    r->mono_ns = at_clock_mono_ns(&w->store->config.clock);
    r->may_write_known = false;
}

bool round_room(struct writer *w, size_t bytes)
{
    const struct round *r = &w->round;

    if (r->operations == 0)
        return true;
    if (r->operations < AT_WRITER_ROUND_COUNT_MAX && r->bytes + bytes <= AT_WRITER_ROUND_BYTES_MAX)
        return true;
    return round_commit(w);
}

bool round_commit(struct writer *w)
{
    struct round *r = &w->round;
    struct at_error error = {0};

    enum at_code code = commit_batch(w, &error);
    uint32_t operations = r->operations;
    if (code == AT_OK) {
        answer_all(w);
        atomic_fetch_add_explicit(&w->store->operations, operations, memory_order_relaxed);
    } else {
        fail_all(w, code, &error);
    }
    at_batch_clear(r->batch);
    r->own.count = 0;
    r->operations = 0;
    r->bytes = 0;
    r->foreign = r->catalog = r->hides = r->sync = r->clock = false;
    r->aside = NULL;
    w->round_number++;
    round_begin(w);
    return code == AT_OK;
}

void round_flush_put(void *writer, struct at_slice key, struct at_slice value)
{
    struct writer *w = writer;

    AT_ASSERT(key.len > 0 && key.data[0] == META_REPLICA);
    if (value.len > 0)
        at_batch_put(w->round.batch, AT_SPACE_META, key, value);
    else
        at_batch_delete(w->round.batch, AT_SPACE_META, key);
}

enum at_code round_may_write(struct writer *w, struct at_error *reterr)
{
    struct round *r = &w->round;

    if (!r->may_write_known) {
        r->may_write_known = true;
        r->may_write_code =
            at_replica_may_write(w->replica, r->wall_ns, r->mono_ns, &r->may_write_error);
    }
    if (r->may_write_code != AT_OK && reterr != NULL)
        *reterr = r->may_write_error;
    return r->may_write_code;
}

uint64_t round_own(struct writer *w, const struct at_operation *op, uint32_t ticks, size_t size)
{
    uint64_t hlc = at_replica_issue(w->replica, ticks, w->round.wall_ns);

    round_own_issued(w, op, hlc, ticks, size);
    return hlc;
}

void round_own_issued(
    struct writer *w, const struct at_operation *op, uint64_t hlc, uint32_t ticks, size_t size)
{
    struct round *r = &w->round;

    AT_ASSERT(ticks > 0 && !r->foreign);
    AT_ASSERT(size <= AT_ENTRY_BYTES_MAX);
    r->own_last = at_replica_append(w->replica, hlc + ticks - 1);
    if (r->own.count == 0)
        at_record_begin(&r->own, r->own_last.seq);
    AT_ASSERT(r->own_last.seq == r->own.first_seq + r->own.count);
    enum at_code rc = at_record_add_begin(&r->own, hlc, ticks, size);
    AT_ASSERT(rc == AT_OK);
    rc = at_operation_encode(op, &r->own.bytes);
    AT_ASSERT(rc == AT_OK);
    at_record_add_commit(&r->own);
    r->operations++;
    r->bytes += size;
}

void round_touch(struct writer *w, uint32_t table_id, struct at_slice row)
{
    w->touched[touched_slot(table_id, row)] = w->round_number;
}

bool round_settle(struct writer *w, uint32_t table_id, struct at_slice row)
{
    const struct round *r = &w->round;
    bool touched = w->touched[touched_slot(table_id, row)] == w->round_number;

    if (!touched && !r->foreign && !r->catalog && !r->hides)
        return true;
    return round_commit(w);
}

void round_answer(struct writer *w, struct at_write *write, enum at_code code)
{
    write->code = code;
    mail_list_put(&w->round.writes, &write->mail);
}

void round_refuse(struct writer *w, struct at_write *write)
{
    AT_ASSERT(w->broken);
    write->code = AT_OK;
    fail_write(write, w->broken_code, &w->broken_error);
}

static void seal_own(struct writer *w)
{
    struct round *r = &w->round;

    if (r->own.count == 0)
        return;
    at_log_parts_note(&w->parts, r->own_last.origin, r->own_last.epoch);
    at_log_put(r->batch, r->own_last, at_record_finish(&r->own));
}

static enum at_code commit_batch(struct writer *w, struct at_error *reterr)
{
    struct round *r = &w->round;
    const struct at_store_config *config = &w->store->config;
    bool entries = r->operations > 0 || r->foreign;

    if (!entries && r->calls.head == NULL && r->applies.head == NULL && at_batch_empty(r->batch) &&
        !r->sync && !r->clock)
        return AT_OK; /* only refusals: there is nothing to commit */
    seal_own(w);
    (void)at_replica_promise(w->replica, r->wall_ns);
    bool sync = at_replica_flush(w->replica, round_flush_put, w);
    sync = sync || r->sync || (config->sync_commits && entries);
    publish_hides(w);
    enum at_code code = AT_OK;
    if (r->aside != NULL)
        code = at_engine_switch(w->engine, r->batch, r->aside, reterr);
    else if (!at_batch_empty(r->batch))
        code = at_engine_commit(w->engine, r->batch, sync, reterr);
    else if (sync)
        code = at_engine_sync(w->engine, reterr);
    if (code == AT_OK && r->aside != NULL)
        code = writer_reload(w, reterr);
    if (code != AT_OK)
        return code;
    w->unsynced = !sync && (w->unsynced || !at_batch_empty(r->batch));
    at_replica_committed(w->replica, sync);
    store_publish_view(w->store, w->replica);
    if (r->catalog)
        store_publish_schema(w->store, w->schema);
    if (r->catalog || r->hides)
        store_publish_sieve(w->store, w->schema); /* never before its readers have it */
    w->next_promise_ns = r->mono_ns;
    atomic_fetch_add_explicit(&w->store->rounds, 1, memory_order_relaxed);
    if (config->on_commit != NULL)
        config->on_commit(config->ctx);
    return AT_OK;
}

/* A reader takes its snapshot first and the schema second, so what hides must be there before the
 * batch is; the new catalog only after it. */
static void publish_hides(struct writer *w)
{
    if (!w->round.hides)
        return;
    if (!w->round.catalog) {
        store_publish_schema(w->store, w->schema);
        return;
    }
    struct at_schema *both AT_CLEANUP(at_schema_unref) =
        meta_schema_hiding(w, w->store->schema); /* only this thread replaces it */
    store_publish_schema(w->store, both);
}

static void answer_all(struct writer *w)
{
    struct round *r = &w->round;
    struct at_mail *mail;

    while ((mail = mail_list_take(&r->writes)) != NULL) {
        struct at_write *write = (struct at_write *)mail;
        write->done(write);
    }
    while ((mail = mail_list_take(&r->applies)) != NULL)
        w->store->config.on_applied((struct at_apply *)mail);
    while ((mail = mail_list_take(&r->calls)) != NULL) {
        struct at_replica_call *call = (struct at_replica_call *)mail;
        call->done(call);
    }
    while ((mail = mail_list_take(&r->acts)) != NULL) {
        struct at_act_write *act = (struct at_act_write *)mail;
        act->done(act);
    }
}

static void fail_all(struct writer *w, enum at_code code, const struct at_error *error)
{
    struct round *r = &w->round;
    struct at_replica_view *view = &w->store->view;
    struct at_mail *mail;

    at_log(AT_LOG_ERROR, "commit failed, refusing writes and retrying",
           AT_KV_STR("code", at_code_name(code)), AT_KV_STR("error", error->msg));
    w->broken = true;
    w->broken_code = code;
    w->broken_error = *error;
    w->next_retry_ns = r->mono_ns;
    /* The clock of the lost state: nothing it issued is issued again. */
    uint64_t issued = at_replica_issue(w->replica, 1, r->wall_ns);
    w->hlc_floor = issued > view->hlc ? issued : view->hlc;
    writer_unload(w);
    struct at_error load_error = {0};
    if (writer_load(w, false, &load_error) != AT_OK)
        at_log(AT_LOG_ERROR, "can't load the state again", AT_KV_STR("error", load_error.msg));
    /* Only now: who is told must not find what was published for the round. */
    while ((mail = mail_list_take(&r->writes)) != NULL)
        fail_write((struct at_write *)mail, code, error);
    apply_forget(w);
    while ((mail = mail_list_take(&r->calls)) != NULL) {
        struct at_replica_call *call = (struct at_replica_call *)mail;
        call->failed = true;
        call->done(call);
    }
    while ((mail = mail_list_take(&r->acts)) != NULL) {
        struct at_act_write *act = (struct at_act_write *)mail;
        act->code = act->code == AT_OK ? code : act->code;
        act->done(act);
    }
}

static void fail_write(struct at_write *write, enum at_code code, const struct at_error *error)
{
    if (write->kind == AT_WRITE_CATALOG)
        at_schema_unref(&((struct at_write_catalog *)write)->ret_schema);
    if (write->code == AT_OK) {
        write->code = code;
        write->error = *error;
    }
    write->seq = 0;
    write->done(write);
}

static uint32_t touched_slot(uint32_t table_id, struct at_slice row)
{
    return (uint32_t)at_hash64(row, table_id) & (TOUCHED_SLOTS - 1);
}
