/* ledger.h: the operations that a router itself remembers: instances being made. ADAPTER (mutex).
 *
 * Any thread. Until an instance serves nobody else knows of it. Operations that ended stay until
 * there are too many, or their instance is deleted. */
#ifndef ATOLL_ROUTING_PROXY_LEDGER_H
#define ATOLL_ROUTING_PROXY_LEDGER_H

#include <pthread.h>

#include "base/buf.h"
#include "base/slice.h"

struct at_ledger_entry;

struct at_ledger {
    pthread_mutex_t lock;
    struct at_ledger_entry *entries; /* oldest first */
    uint32_t count;
};

void at_ledger_init(struct at_ledger *l);
void at_ledger_deinit(struct at_ledger *l);

/* One operation. Slices are copied. */
struct at_ledger_item {
    struct at_slice operation; /* its name */
    struct at_slice instance;  /* "projects/P/instances/I" */
    struct at_slice state;     /* google.longrunning.Operation, serialized */
    struct at_slice resource;  /* the Instance as it is while it is made, serialized */
};

/* at_ledger_open begins one. ALREADY_EXISTS while another one of the instance is not done;
 * RESOURCE_EXHAUSTED when too many are not. */
AT_MUST_USE enum at_code
at_ledger_open(struct at_ledger *l, const struct at_ledger_item *item, struct at_error *reterr);

/* at_ledger_close sets the last state. */
void at_ledger_close(struct at_ledger *l, struct at_slice operation, struct at_slice state);

/* at_ledger_state appends the state of an operation; false: not known here. */
bool at_ledger_state(struct at_ledger *l, struct at_slice operation, struct at_buf *out);

/* at_ledger_resource appends the instance while it is made; false: it is not. */
bool at_ledger_resource(struct at_ledger *l, struct at_slice instance, struct at_buf *out);

/* at_ledger_each calls `visit`, under the lock, with each operation below `prefix` that is not
 * done. */
void at_ledger_each(struct at_ledger *l,
                    struct at_slice prefix,
                    void (*visit)(void *ctx, const struct at_ledger_item *item),
                    void *ctx);

/* at_ledger_forget drops the operations of an instance that are done. */
void at_ledger_forget(struct at_ledger *l, struct at_slice instance);

#endif
