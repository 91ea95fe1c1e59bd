#include "cluster/tablet/writer.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"

/* The thread: takes what came, makes rounds of it, keeps house.
 *
 *     take mail -> local writes -> foreign replies -> calls -> commit and answer -> keep house
 *
 * A turn ends after its share of local writes, and foreign replies get a round and as much time as
 * these had: a flood of either does not keep the other out, and who lacks much catches up.
 *
 * After a failed commit the writer is broken: writes are refused, sync calls fail, replies wait,
 * reads go on; a few times a second it tries to commit again. */

#define IDLE_MS 100
#define PROMISE_NS (100 * AT_MS_NS)
#define TRIM_NS (2 * AT_S_NS)
#define TRIM_FULL_NS (100 * AT_MS_NS) /* while writes are refused for it */
#define RETRY_NS (300 * AT_MS_NS)
#define SHARE_NS (10 * AT_MS_NS) /* local writes per turn; seen by the clock of each round */
#define KEY_BYTES_MAX (AT_KEY_BYTES_MAX + 16)
#define META_BYTES_MAX (AT_ENTRY_BYTES_MAX + AT_MIB)
#define ARENA_FIRST_BYTES (256 * AT_KIB)

static enum at_code make_any_cell(struct writer *w, struct at_error *reterr);
static void take_mail(struct writer *w);
static void take_list(struct writer *w, struct at_mail *list);
static void do_writes(struct writer *w);
static void do_write(struct writer *w, struct at_write *write);
static void do_calls(struct writer *w);
static void refuse_writes(struct writer *w);
static void keep_house(struct writer *w);
static void renew_promise(struct writer *w);
static void try_again(struct writer *w);
static bool idle(const struct writer *w);
static void end(struct writer *w);

enum at_code writer_new(struct at_store *s, struct writer **ret_w, struct at_error *reterr)
{
    struct writer *w = AT_NEW(struct writer);

    AT_ASSERT(s->engine != NULL);
    w->store = s;
    w->engine = s->engine;
    syncer_init(w);
    at_arena_init(&w->arena, ARENA_FIRST_BYTES);
    at_buf_init(&w->key, KEY_BYTES_MAX);
    at_buf_init(&w->meta_key, KEY_BYTES_MAX);
    at_buf_init(&w->meta_value, META_BYTES_MAX);
    mail_list_init(&w->backlog);
    mail_list_init(&w->applies);
    round_init(w);
    round_begin(w);
    w->next_sync_ns = w->next_trim_ns = w->round.mono_ns;
    *ret_w = w;
    s->writer = w;
    AT_TRY(make_any_cell(w, reterr));
    return writer_load(w, true, reterr);
}

void writer_free(struct writer **writer)
{
    struct writer *w = AT_TAKE(*writer);

    if (w == NULL)
        return;
    writer_unload(w);
    syncer_deinit(w);
    at_filter_free(&w->any_cell);
    round_deinit(w);
    at_free(w->family_ids);
    at_buf_deinit(&w->meta_value);
    at_buf_deinit(&w->meta_key);
    at_buf_deinit(&w->key);
    at_arena_deinit(&w->arena);
    at_free(w);
}

void *writer_main(void *writer)
{
    struct writer *w = writer;

    syncer_start(w);
    while (writer_turn(w))
        continue;
    end(w);
    return NULL;
}

bool writer_turn(struct writer *w)
{
    bool closing = atomic_load(&w->store->closing); /* before the mail is taken: it is all then */

    take_mail(w);
    round_begin(w);
    uint64_t begun_ns = w->round.mono_ns;
    if (w->broken)
        try_again(w);
    if (w->broken)
        refuse_writes(w);
    else
        do_writes(w);
    acts_write(w);
    if (!w->broken)
        apply_replies(w, w->round.mono_ns - begun_ns);
    do_calls(w);
    if (w->loaded)
        round_commit(w);
    keep_house(w);
    return !closing || (!w->broken && !idle(w));
}

uint64_t writer_wall_ns(const struct writer *w)
{
    uint64_t now = at_clock_wall_ns(&w->store->config.clock);

    return now > w->hlc_floor ? now : w->hlc_floor;
}

static enum at_code make_any_cell(struct writer *w, struct at_error *reterr)
{
    w->any_cell_node = (struct at_filter_node){.kind = AT_FILTER_CELLS_PER_ROW_LIMIT, .number = 1};
    return at_filter_compile(&w->any_cell_node, &w->any_cell, reterr);
}

static bool idle(const struct writer *w)
{
    return w->backlog.head == NULL && w->applies.head == NULL && w->applying.apply == NULL;
}

static void take_mail(struct writer *w)
{
    struct at_store *s = w->store;
    struct at_mail *mail;

    if (w->backlog.head == NULL) {
        bool wait = !w->broken && w->applies.head == NULL && w->applying.apply == NULL;
        wait = (wait || w->broken) && !s->config.manual;
        take_list(w, at_mailbox_wait(&s->mailbox, wait ? IDLE_MS : 0));
    }
    for (mail = at_mailbox_take(&s->applies); mail != NULL;) {
        struct at_mail *next = mail->next;
        mail_list_put(&w->applies, mail);
        mail = next;
    }
}

static void take_list(struct writer *w, struct at_mail *list)
{
    while (list != NULL) {
        struct at_mail *next = list->next;
        if (list == &w->store->poke)
            atomic_store(&w->store->poked, false); /* before the other mailboxes are looked at */
        else
            mail_list_put(&w->backlog, list);
        list = next;
    }
}

static void do_writes(struct writer *w)
{
    uint64_t share_ends_ns = w->round.mono_ns + SHARE_NS;
    struct at_mail *mail;

    while (!w->broken && w->round.mono_ns < share_ends_ns &&
           (mail = mail_list_take(&w->backlog)) != NULL)
        do_write(w, (struct at_write *)mail);
}

/* Its sender has given up on it, and may have written elsewhere since: done now, it would beat what
 * was written or deleted there after it. */
static bool too_late(const struct writer *w, const struct at_write *write)
{
    uint64_t begin_by_ns = atomic_load_explicit(&write->begin_by_ns, memory_order_relaxed);

    return begin_by_ns != 0 && begin_by_ns <= w->round.mono_ns;
}

static void do_write(struct writer *w, struct at_write *write)
{
    write->seq = 0;
    if (too_late(w, write)) {
        round_answer(w, write,
                     at_fail(&write->error, AT_UNAVAILABLE, "the write was given up meanwhile"));
        return;
    }
    switch (write->kind) {
    case AT_WRITE_ROWS:
        write_rows(w, (struct at_write_rows *)write);
        return;
    case AT_WRITE_MODIFY:
        write_modify(w, (struct at_write_modify *)write);
        return;
    case AT_WRITE_CHECK:
        write_check(w, (struct at_write_check *)write);
        return;
    case AT_WRITE_CATALOG:
        write_catalog(w, (struct at_write_catalog *)write);
        return;
    case AT_WRITE_DROP:
        write_drop(w, (struct at_write_drop *)write);
        return;
    case AT_WRITE_COLLECT:
        write_collect(w, (struct at_write_collect *)write);
        return;
    case AT_WRITE_COPY:
        write_copy(w, (struct copy_step *)write);
        return;
    case AT_WRITE_APPLY:
    case AT_WRITE_CALL:
        break; /* these have mailboxes of their own */
    }
    AT_ASSERT(!"a write of an unknown kind");
}

/* Calls only change the replica, so they may also run while the disk refuses: what must be on disk
 * before it is told then fails. */
static void do_calls(struct writer *w)
{
    struct at_mail *mail = at_mailbox_take(&w->store->calls);

    while (mail != NULL) {
        struct at_replica_call *call = (struct at_replica_call *)mail;
        mail = mail->next;
        call->failed = !w->loaded || (w->broken && call->sync);
        if (call->failed) {
            call->done(call);
            continue;
        }
        call->run(call, w->replica);
        if (w->broken) {
            call->done(call);
            continue;
        }
        w->round.sync = w->round.sync || call->sync;
        mail_list_put(&w->round.calls, &call->mail);
    }
}

static void refuse_writes(struct writer *w)
{
    struct at_mail *mail;

    AT_ASSERT(w->broken || w->backlog.head == NULL);
    while ((mail = mail_list_take(&w->backlog)) != NULL) {
        struct at_write *write = (struct at_write *)mail;
        if (write->kind == AT_WRITE_CATALOG)
            ((struct at_write_catalog *)write)->ret_schema = NULL;
        round_refuse(w, write);
    }
}

static void keep_house(struct writer *w)
{
    if (!w->loaded || w->broken)
        return;
    uint64_t now = at_clock_mono_ns(&w->store->config.clock);
    if (now >= w->next_promise_ns + PROMISE_NS)
        renew_promise(w);
    syncer_turn(w);
    if (now >= w->next_trim_ns) {
        tokens_expire(w);
        w->next_trim_ns = now + (trim_log(w) ? TRIM_FULL_NS : TRIM_NS);
        round_commit(w);
    }
}

static void renew_promise(struct writer *w)
{
    w->next_promise_ns = w->round.mono_ns;
    if (at_replica_promise(w->replica, w->round.wall_ns)) {
        w->round.clock = true;
        round_commit(w);
        return;
    }
    store_publish_view(w->store, w->replica);
}

/* The first commit after a failure carries what the replica has to say, and proves that the disk
 * takes it. */
static void try_again(struct writer *w)
{
    struct at_error error = {0};

    if (w->round.mono_ns < w->next_retry_ns)
        return;
    w->next_retry_ns = w->round.mono_ns + RETRY_NS;
    if (at_engine_resume(w->engine, &error) != AT_OK)
        return;
    if (!w->loaded && writer_load(w, false, &error) != AT_OK)
        return;
    uint8_t key = META_RUN;
    struct at_buf run AT_CLEANUP(at_buf_deinit);
    at_buf_init(&run, AT_KIB);
    if (at_engine_get(w->engine, NULL, AT_SPACE_META, at_slice_make(&key, 1), &run, &error) !=
        AT_OK)
        return;
    at_batch_put(w->round.batch, AT_SPACE_META, at_slice_make(&key, 1), at_buf_slice(&run));
    w->broken = false;
    w->round.sync = true;
    if (round_commit(w))
        at_log(AT_LOG_INFO, "the disk takes commits again");
}

static void end(struct writer *w)
{
    struct at_error error = {0};

    syncer_stop(w);
    refuse_writes(w);
    apply_drop_all(w);
    acts_write(w);
    do_calls(w);
    if (w->loaded && !w->broken && round_commit(w) && writer_close_clean(w, &error) == AT_OK)
        return;
    at_log(AT_LOG_ERROR, "closing with an unsynced tail", AT_KV_STR("error", error.msg));
}
