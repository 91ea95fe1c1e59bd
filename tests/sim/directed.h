/* directed.h: schedules step by step, in a network without faults. A is cluster 0; the checks of
 * the world run after every step. */
#ifndef ATOLL_TESTS_SIM_DIRECTED_H
#define ATOLL_TESTS_SIM_DIRECTED_H

#include "base/alloc.h"
#include "base/mutant.h"
#include "sim/world.h"
#include "support/test.h"

#include <stdlib.h>

enum { A, B, C, D, E };
#define ALL 0xffu /* durable by each commit */
#define NONE 0u

static struct sim_world *w;

static inline void good(void)
{
    if (w->failed)
        fail_msg("%s: %s", w->check, w->detail);
}

static inline void tick(void)
{
    w->now_ns += 5 * SIM_MS;
}

static inline void pull(uint32_t node, uint32_t donor)
{
    tick();
    sim_ask_pull(w, node, donor);
    sim_deliver_due(w);
    good();
}

static inline void pull_some(uint32_t node, uint32_t donor, uint32_t entries)
{
    w->entries_max = entries;
    pull(node, donor);
    w->entries_max = 0;
}

/* All pull from all, twice: promises and acknowledgements get round. */
static inline void exchange(uint32_t count)
{
    for (uint32_t k = 0; k < 2 * count * count; k++) {
        uint32_t node = k / count % count;
        if (!sim_up(w, node) || node == k % count || !sim_up(w, k % count))
            continue;
        sim_idle(w, node);
        pull(node, k % count);
    }
}

static inline void begin(uint32_t count, uint32_t sync_bits)
{
    const enum at_family_type types[SIM_FAMILIES] = {AT_FAMILY_PLAIN, AT_FAMILY_SUM};

    w = AT_NEW(struct sim_world);
    sim_world_init(w, count, sync_bits);
    at_prng_init(&w->rng, 1);
    w->faithful = true;
    assert_true(sim_create_table(w, A, 0, types));
    exchange(count);
}

static inline void end(void)
{
    good();
    sim_rest(w);
    good();
    sim_world_deinit(w);
    at_free(w);
}

static inline void mutate(uint32_t node, enum at_mutation_kind kind, uint32_t row, int64_t value)
{
    struct sim_op op = {.kind = SIM_OP_ROW,
                        .ticks = 1,
                        .table_generation = 1,
                        .row = (uint8_t)row,
                        .mutation_count = 1,
                        .mutations = {{.kind = kind,
                                       .family = kind == AT_MUTATION_ADD ? 1 : 0,
                                       .time_end = 2,
                                       .family_generation = 1,
                                       .value = value}}};
    tick();
    assert_true(sim_write(w, node, &op, false));
    good();
}

static inline void set(uint32_t node, uint32_t row, int64_t value)
{
    mutate(node, AT_MUTATION_SET, row, value);
}

static inline void add(uint32_t node, uint32_t row, int64_t value)
{
    mutate(node, AT_MUTATION_ADD, row, value);
}

static inline void delete_row(uint32_t node, uint32_t row)
{
    mutate(node, AT_MUTATION_DELETE_ROW, row, 0);
}

static inline void drop(uint32_t node)
{
    struct sim_op op = {
        .kind = SIM_OP_DROP, .ticks = 1, .table_generation = 1, .row_end = SIM_ROWS};
    tick();
    assert_true(sim_write(w, node, &op, false));
}

static inline void cap(uint32_t node, uint32_t origin, uint32_t epoch)
{
    sim_cap(w, node, (struct at_position){.origin = sim_id(origin), .epoch = epoch});
    good();
}

static inline void forget(uint32_t node)
{
    for (int i = 0; i < 6; i++)
        sim_forget(w, node);
    good();
}

/* The whole unsynced tail is lost. */
static inline void lose(uint32_t node)
{
    struct sim_engine *e = &w->nodes[node].engine;

    e->mark_count = 0; /* back to the last sync */
    w->nodes[node].horizon_before = 0;
    sim_node_crash(w, node, false);
    sim_node_start(w, node, true);
    good();
}

static inline void restart(uint32_t node, bool doubt)
{
    sim_node_crash(w, node, false);
    sim_node_start(w, node, doubt);
    good();
}

static inline void close_epochs(uint32_t node)
{
    sim_ask_close(w, node);
    sim_deliver_due(w);
    assert_false(w->nodes[node].view.closing);
    good();
}

static inline void sync(uint32_t node)
{
    sim_commit(w, node, true);
}

static inline void copy(uint32_t node)
{
    for (int i = 0; i < 20 && w->nodes[node].view.mode != AT_MODE_READY; i++) {
        sim_copy_step(w, node);
        sim_deliver_due(w);
    }
    assert_int_equal(w->nodes[node].view.mode, AT_MODE_READY);
    good();
}

static inline void deliver_one(void)
{
    w->deliver_max = 1;
    sim_deliver_due(w);
    w->deliver_max = 0;
}

/* Until the first record of many has come, and the next is asked for. */
static inline void begin_copy(uint32_t node)
{
    w->chunk_max = 1;
    for (int i = 0; i < 12 && w->nodes[node].view.mode != AT_MODE_COPYING; i++) {
        sim_copy_step(w, node);
        deliver_one(); /* open */
        deliver_one(); /* opened */
    }
    deliver_one(); /* ask */
    deliver_one(); /* chunk */
    assert_int_equal(w->nodes[node].view.mode, AT_MODE_COPYING);
    assert_true(w->nodes[node].copy.next > 0);
    good();
}

static inline uint32_t has(uint32_t node, uint32_t origin, uint32_t epoch)
{
    return w->nodes[node].coverage[origin][epoch - 1];
}

static inline void die(uint32_t node)
{
    sim_node_stop(w, node, SIM_DEAD);
    w->removed_by_force |= 1u << node;
}

static inline void remove_now(uint32_t node, uint32_t members)
{
    w->removed_by_force |= members;
    sim_remove(w, node, members);
    for (int i = 0; i < 8; i++) {
        sim_member_step(w, node);
        sim_deliver_due(w);
    }
    good();
}

#endif
