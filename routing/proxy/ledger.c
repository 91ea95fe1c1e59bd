/* ledger.c: a short list behind a lock: it is looked at by administration requests only. */
#include "routing/proxy/ledger.h"

#include "base/alloc.h"
#include "base/limits.h"

struct at_ledger_entry {
    struct at_ledger_entry *next;
    struct at_ledger_item item; /* owns its bytes */
    bool done;
};

static struct at_slice dup(struct at_slice s)
{
    return at_slice_make(at_dup(s.data, s.len), s.len);
}

static void release(struct at_slice s)
{
    at_free((void *)(uintptr_t)s.data);
}

static void free_entry(struct at_ledger_entry *e)
{
    release(e->item.operation);
    release(e->item.instance);
    release(e->item.state);
    release(e->item.resource);
    at_free(e);
}

void at_ledger_init(struct at_ledger *l)
{
    *l = (struct at_ledger){0};
    (void)pthread_mutex_init(&l->lock, NULL);
}

void at_ledger_deinit(struct at_ledger *l)
{
    while (l->entries) {
        struct at_ledger_entry *e = l->entries;
        l->entries = e->next;
        free_entry(e);
    }
    (void)pthread_mutex_destroy(&l->lock);
}

/* Removes the entries that are done and, unless `instance` is empty, of it: all, or the first. */
static void drop_done(struct at_ledger *l, struct at_slice instance, bool all)
{
    struct at_ledger_entry **at = &l->entries;
    while (*at) {
        struct at_ledger_entry *e = *at;
        if (!e->done || (instance.len > 0 && !at_slice_eq(e->item.instance, instance))) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        l->count--;
        free_entry(e);
        if (!all)
            return;
    }
}

static struct at_ledger_entry *find_open(struct at_ledger *l, struct at_slice instance)
{
    struct at_ledger_entry *e = l->entries;
    while (e && (e->done || !at_slice_eq(e->item.instance, instance)))
        e = e->next;
    return e;
}

enum at_code
at_ledger_open(struct at_ledger *l, const struct at_ledger_item *item, struct at_error *reterr)
{
    enum at_code code = AT_OK;
    (void)pthread_mutex_lock(&l->lock);
    if (l->count >= AT_ROUTER_OPERATIONS_MAX)
        drop_done(l, (struct at_slice){0}, false);
    if (find_open(l, item->instance)) {
        code = at_fail(reterr, AT_ALREADY_EXISTS, "Instance %.*s is being made",
                       AT_SLICE_ARG(item->instance));
    } else if (l->count >= AT_ROUTER_OPERATIONS_MAX) {
        code = at_fail(reterr, AT_RESOURCE_EXHAUSTED, "Too many instances are being made");
    } else {
        struct at_ledger_entry *e = AT_NEW(struct at_ledger_entry);
        e->item = (struct at_ledger_item){.operation = dup(item->operation),
                                          .instance = dup(item->instance),
                                          .state = dup(item->state),
                                          .resource = dup(item->resource)};
        struct at_ledger_entry **last = &l->entries;
        while (*last)
            last = &(*last)->next;
        *last = e;
        l->count++;
    }
    (void)pthread_mutex_unlock(&l->lock);
    return code;
}

void at_ledger_close(struct at_ledger *l, struct at_slice operation, struct at_slice state)
{
    (void)pthread_mutex_lock(&l->lock);
    for (struct at_ledger_entry *e = l->entries; e; e = e->next) {
        if (!at_slice_eq(e->item.operation, operation))
            continue;
        release(e->item.state);
        e->item.state = dup(state);
        e->done = true;
    }
    (void)pthread_mutex_unlock(&l->lock);
}

bool at_ledger_state(struct at_ledger *l, struct at_slice operation, struct at_buf *out)
{
    bool found = false;
    (void)pthread_mutex_lock(&l->lock);
    for (struct at_ledger_entry *e = l->entries; e && !found; e = e->next)
        found =
            at_slice_eq(e->item.operation, operation) && at_buf_append(out, e->item.state) == AT_OK;
    (void)pthread_mutex_unlock(&l->lock);
    return found;
}

bool at_ledger_resource(struct at_ledger *l, struct at_slice instance, struct at_buf *out)
{
    (void)pthread_mutex_lock(&l->lock);
    struct at_ledger_entry *e = find_open(l, instance);
    bool found = e && at_buf_append(out, e->item.resource) == AT_OK;
    (void)pthread_mutex_unlock(&l->lock);
    return found;
}

void at_ledger_each(struct at_ledger *l,
                    struct at_slice prefix,
                    void (*visit)(void *ctx, const struct at_ledger_item *item),
                    void *ctx)
{
    (void)pthread_mutex_lock(&l->lock);
    for (struct at_ledger_entry *e = l->entries; e; e = e->next)
        if (!e->done && at_slice_has_prefix(e->item.instance, prefix))
            visit(ctx, &e->item);
    (void)pthread_mutex_unlock(&l->lock);
}

void at_ledger_forget(struct at_ledger *l, struct at_slice instance)
{
    (void)pthread_mutex_lock(&l->lock);
    drop_done(l, instance, true);
    (void)pthread_mutex_unlock(&l->lock);
}
