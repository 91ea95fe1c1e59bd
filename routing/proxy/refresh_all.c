/* refresh_all.c: one refresh per loop, each on its own thread, counted down to one answer. */
#include "routing/proxy/refresh_all.h"

#include "base/alloc.h"
#include "base/assert.h"

struct part {
    struct at_task task;
    struct at_refresh refresh;
    struct at_refresh_all *all;
    struct at_front *front;
};

struct at_refresh_all {
    struct at_task finished;
    struct at_front *home;
    _Atomic uint32_t left;
    void (*done)(void *ctx); /* NULL once forgotten; home loop only */
    void *ctx;
    char cluster[AT_BOARD_NAME_BYTES];
    size_t cluster_len;
    struct part parts[];
};

static void run_part(struct at_task *task);
static void part_done(struct at_refresh *refresh);
static void run_finished(struct at_task *task);

struct at_refresh_all *
at_refresh_all_start(const struct at_refresh_plan *plan, void (*done)(void *ctx), void *ctx)
{
    uint32_t count = plan->home->peer_count;
    AT_ASSERT(count > 0);
    AT_ASSERT(plan->cluster.len <= AT_BOARD_NAME_BYTES);
    struct at_refresh_all *all = at_alloc(sizeof(*all) + count * sizeof(struct part));
    if (plan->cluster.len > 0)
        memcpy(all->cluster, plan->cluster.data, plan->cluster.len);
    all->cluster_len = plan->cluster.len;
    all->finished.run = run_finished;
    all->home = plan->home;
    all->done = done;
    all->ctx = ctx;
    atomic_init(&all->left, count);
    for (uint32_t i = 0; i < count; i++) {
        struct part *part = &all->parts[i];
        part->all = all;
        part->front = plan->home->peers[i];
        part->task.run = run_part;
        part->refresh.done = part_done;
        at_loop_post(part->front->loop, &part->task);
    }
    return all;
}

void at_refresh_all_forget(struct at_refresh_all *all)
{
    all->done = NULL;
}

static void run_part(struct at_task *task)
{
    struct part *part = (struct part *)task; /* its first member */
    struct at_refresh_all *all = part->all;
    struct at_slice cluster = at_slice_make(all->cluster, all->cluster_len);
    if (!at_front_find(part->front, cluster, &part->refresh.target))
        part_done(&part->refresh);
    else
        at_front_refresh(part->front, &part->refresh);
}

static void part_done(struct at_refresh *refresh)
{
    struct part *part = (struct part *)(void *)((char *)refresh - offsetof(struct part, refresh));
    struct at_refresh_all *all = part->all;
    if (atomic_fetch_sub(&all->left, 1) == 1)
        at_loop_post(all->home->loop, &all->finished);
}

static void run_finished(struct at_task *task)
{
    struct at_refresh_all *all = (struct at_refresh_all *)task; /* its first member */
    if (all->done)
        all->done(all->ctx);
    at_free(all);
}
