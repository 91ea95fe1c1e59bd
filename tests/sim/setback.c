#include "base/bytes.h"
#include "replication/origin.h"
#include "sim/world.h"

/* A disk that is set back to what it held at some time: a snapshot of a machine, a backup of its
 * files. Some of what it said since can't be taken back, so the rules promise something only when
 *
 *     what was kept was synced: else it may hold what it was said to have lost;
 *     it starts in doubt of its tail, with a clock that is beyond all that it said;
 *     nothing is on its way of its old processes;
 *     what it lost others have durably: not its own newest entries, which are lost with its
 *         unsynced tail or by force, but what it may have been the last to have. It may have
 *         vouched for that;
 *     nobody writes to it before it was told of the epochs that it has had before. Else numbers get
 *         a second meaning;
 *     members did not change: it may have fenced or acknowledged one. */

static uint32_t past_seq(const struct sim_node *n, uint32_t origin, uint32_t epoch);
static bool others_have(const struct sim_world *w, uint32_t node, struct at_position p);
static bool may_lose(const struct sim_world *w, uint32_t node);

void sim_past_keep(struct sim_world *w, uint32_t node)
{
    sim_commit(w, node, true);
    if (!w->failed)
        sim_records_share(&w->nodes[node].past, &w->nodes[node].engine.now);
}

void sim_set_back(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    if (n->past.count == 0 || (n->state != SIM_UP && n->state != SIM_DOWN) ||
        n->epoch_max + 8 >= SIM_EPOCHS_MAX || !may_lose(w, node))
        return;
    if (n->state == SIM_UP)
        sim_node_crash(w, node, false);
    for (uint32_t i = 0; i < w->flight_count;) {
        if (w->flights[i].from != node) {
            i++;
            continue;
        }
        sim_letter_deinit(&w->flights[i]);
        w->flights[i] = w->flights[--w->flight_count];
    }
    sim_engine_set_back(&n->engine, &n->past);
    sim_records_clear(&n->past);
    n->tail_lost = true;
    n->set_back = true;
    n->horizon_before = 0;
    sim_load_book(w, node);
    sim_note_losses(w, node);
    w->stats.set_backs++;
    sim_trace(w, "cluster %u is set back", node);
}

bool sim_set_back_may_start(const struct sim_world *w, uint32_t node)
{
    const struct sim_node *n = &w->nodes[node];
    uint64_t wall = sim_wall(w, node);

    return !n->set_back || (wall > n->stamp_max && wall > n->promise_max);
}

bool sim_set_back_unsure(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    if (!n->set_back || n->state != SIM_UP)
        return false;
    if (n->view.epoch == n->epoch_max && w->oracle.truth[node][n->view.epoch - 1].count == 0)
        n->set_back = false;
    return n->set_back;
}

static uint32_t past_seq(const struct sim_node *n, uint32_t origin, uint32_t epoch)
{
    uint8_t key[9] = {'v'};

    at_put_be32(key + 1, origin + 1);
    at_put_be32(key + 5, epoch);
    const struct sim_record *r = sim_records_find(&n->past, at_slice_make(key, 9));
    return r == NULL ? 0 : at_get_be32(sim_record_value(r).data);
}

/* Own entries of its last epoch may be lost: nobody can know its end yet. */
static bool may_lose(const struct sim_world *w, uint32_t node)
{
    const struct sim_node *n = &w->nodes[node];

    for (uint32_t o = 0; o < w->node_count; o++)
        for (uint32_t e = 1; e <= SIM_EPOCHS_MAX; e++) {
            struct at_position p = {sim_id(o), e, n->coverage[o][e - 1]};
            bool free = o == node && e == n->view.epoch;
            if (p.seq > past_seq(n, o, e) && !free && !others_have(w, node, p))
                return false;
        }
    return true;
}

static bool others_have(const struct sim_world *w, uint32_t node, struct at_position p)
{
    for (uint32_t i = 0; i < w->node_count; i++) {
        const struct at_replica_view *v = &w->nodes[i].view;
        if (i == node || !sim_up(w, i))
            continue;
        if (p.epoch < at_positions_facts_first_open(&v->facts, p.origin) ||
            at_vector_get(&v->durable, p.origin, p.epoch) >= p.seq)
            return true;
    }
    return false;
}
