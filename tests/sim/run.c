#include "sim/schedule.h"

/* What each kind of step does. A step that makes no sense now does nothing. */

static bool changes_members(enum sim_step_kind kind);
static void begin(struct sim_world *w, const struct sim_schedule *s);
static void on_running(struct sim_world *w, const struct sim_step *s, uint32_t a, uint32_t b);
static void on_world(struct sim_world *w, const struct sim_step *s, uint32_t a, uint32_t b);
static void crash(struct sim_world *w, uint32_t a, bool lose);
static void hold_back(struct sim_world *w, uint32_t a);
static void start(struct sim_world *w, uint32_t a);
static void die(struct sim_world *w, uint32_t a);
static void cut(struct sim_world *w);
static void set_clock(struct sim_world *w, uint32_t a);
static void cap(struct sim_world *w, uint32_t a);
static void release(struct sim_world *w, uint32_t a);
static void remove_some(struct sim_world *w, uint32_t a, uint32_t b);

void sim_run(struct sim_world *w, const struct sim_schedule *s, bool tracing)
{
    sim_world_init(w, s->node_count, s->sync_bits);
    w->tracing = tracing;
    w->grain_ns = s->grain_ms * SIM_MS;
    begin(w, s);
    for (uint32_t i = 0; i < s->count && !w->failed; i++) {
        const struct sim_step *step = &s->steps[i];
        uint32_t a = step->a % w->node_count;
        uint32_t b = step->b % w->node_count;
        at_prng_init(&w->rng, step->dice);
        w->now_ns += step->after_ms * SIM_MS;
        sim_deliver_due(w);
        if (w->failed)
            break;
        w->stats.events++;
        sim_hash(w, (uint64_t)step->kind + a * 256 + b * 65536);
        if (tracing)
            sim_trace(w, "step %u: %s %u %u", i, sim_step_name(step->kind), a, b);
        if (w->fork_side != 0 && changes_members(step->kind))
            continue;
        if (sim_ready(w, a))
            on_running(w, step, a, b);
        on_world(w, step, a, b);
    }
    at_prng_init(&w->rng, s->steps[0].dice);
    if (!w->failed)
        sim_rest(w);
    w->stats.schedules++;
}

/* Not once a minority has gone on; nor tokens, which speak of one instance. */
static bool changes_members(enum sim_step_kind kind)
{
    return kind == SIM_STEP_JOIN || kind == SIM_STEP_LEAVE || kind == SIM_STEP_REMOVE ||
           kind == SIM_STEP_DIE || kind == SIM_STEP_TOKEN || kind == SIM_STEP_SET_BACK;
}

static void begin(struct sim_world *w, const struct sim_schedule *s)
{
    const enum at_family_type types[SIM_FAMILIES] = {AT_FAMILY_PLAIN, AT_FAMILY_SUM};

    w->loss_percent = 5;
    w->repeat_percent = 8;
    at_prng_init(&w->rng, 1);
    if (!s->known_schema)
        return;
    w->faithful = true;
    (void)sim_create_table(w, 0, 0, types);
    for (uint32_t i = 1; i < w->node_count; i++) {
        sim_ask_pull(w, i, 0);
        sim_deliver_due(w);
    }
    w->faithful = false;
}

static void on_running(struct sim_world *w, const struct sim_step *s, uint32_t a, uint32_t b)
{
    switch ((int)s->kind) {
    case SIM_STEP_WRITE:
        sim_client_write(w, a, false);
        break;
    case SIM_STEP_SLOW_WRITE:
        sim_client_write(w, a, true);
        break;
    case SIM_STEP_DROP:
        sim_client_drop(w, a);
        break;
    case SIM_STEP_SCHEMA:
        sim_client_schema(w, a);
        break;
    case SIM_STEP_PULL:
        sim_ask_pull(w, a, b);
        break;
    case SIM_STEP_CLOSE:
        sim_ask_close(w, a);
        break;
    case SIM_STEP_SYNC:
        sim_commit(w, a, true);
        break;
    case SIM_STEP_IDLE:
        sim_idle(w, a);
        break;
    case SIM_STEP_TRIM:
        sim_trim(w, a);
        break;
    case SIM_STEP_CAP:
        cap(w, a);
        break;
    case SIM_STEP_FULL:
        w->nodes[a].log_full = true;
        at_replica_set_log_full(w->nodes[a].replica, true);
        break;
    case SIM_STEP_RELEASE:
        release(w, a);
        break;
    case SIM_STEP_TOKEN:
        sim_token_make(w, a);
        break;
    case SIM_STEP_CHECK:
        (void)sim_token_try(w, a, s->b);
        break;
    case SIM_STEP_FORGET:
        sim_forget(w, a);
        break;
    case SIM_STEP_COMPACT:
        sim_compact(w, a);
        break;
    case SIM_STEP_COPY:
        sim_copy_step(w, a);
        break;
    case SIM_STEP_MEMBER:
        sim_member_step(w, a);
        break;
    case SIM_STEP_JOIN:
        sim_join(w, a);
        break;
    case SIM_STEP_LEAVE:
        sim_leave(w, a);
        break;
    case SIM_STEP_REMOVE:
        remove_some(w, a, b);
        break;
    case SIM_STEP_FORK:
        if (s->b % 4 == 0)
            sim_fork(w, a);
        break;
    case SIM_STEP_KEEP:
        sim_past_keep(w, a);
        break;
    default:
        break;
    }
}

static void on_world(struct sim_world *w, const struct sim_step *s, uint32_t a, uint32_t b)
{
    switch ((int)s->kind) {
    case SIM_STEP_CUT:
        cut(w);
        break;
    case SIM_STEP_HEAL:
        memset(w->cut, 0, sizeof(w->cut));
        break;
    case SIM_STEP_CLOG:
        w->clogged_ns[a][b] = w->now_ns + sim_below(w, 1500) * SIM_MS;
        break;
    case SIM_STEP_FAULTS:
        w->loss_percent = sim_below(w, 3) == 0 ? sim_below(w, 60) : 0;
        w->repeat_percent = sim_below(w, 3) == 0 ? sim_below(w, 50) : 5;
        break;
    case SIM_STEP_CLOCK:
        set_clock(w, a);
        break;
    case SIM_STEP_CRASH:
        crash(w, a, sim_below(w, 3) != 0);
        break;
    case SIM_STEP_START:
        for (uint32_t i = 0; i < w->node_count; i++)
            start(w, (a + i) % w->node_count);
        break;
    case SIM_STEP_DIE:
        die(w, a);
        break;
    case SIM_STEP_WAIT:
        w->now_ns += sim_below(w, 400) * SIM_MS;
        break;
    case SIM_STEP_LAZY:
        w->nodes[a].lazy = !w->nodes[a].lazy && sim_below(w, 2) == 0;
        break;
    case SIM_STEP_SET_BACK:
        sim_set_back(w, a);
        break;
    case SIM_STEP_SLOW_WRITE:
        break;
    default:
        /* Any other step on a cluster whose disk is slow ends the wait, sometimes. */
        if (sim_up(w, a) && w->nodes[a].round_open && sim_below(w, 2) == 0)
            sim_commit(w, a, false);
        break;
    }
}

static void crash(struct sim_world *w, uint32_t a, bool lose)
{
    if (sim_up(w, a) && w->nodes[a].view.epoch + 4 < SIM_EPOCHS_MAX)
        sim_node_crash(w, a, lose && !w->nodes[a].sync_commits);
    else
        return;
    if (sim_below(w, 3) == 0)
        hold_back(w, a);
}

/* What the process has sent is still on its way when the next one has begun. */
static void hold_back(struct sim_world *w, uint32_t a)
{
    for (uint32_t i = 0; i < w->flight_count; i++)
        if (w->flights[i].from == a)
            w->flights[i].due_ns += (50 + sim_below(w, 900)) * SIM_MS;
}

static void start(struct sim_world *w, uint32_t a)
{
    if (w->nodes[a].state != SIM_DOWN || sim_below(w, 2) == 0)
        return;
    sim_node_start(w, a, w->nodes[a].tail_lost || sim_below(w, 3) == 0);
}

/* Only while most of the members would be left. */
static void die(struct sim_world *w, uint32_t a)
{
    bool is_there = w->nodes[a].state == SIM_UP || w->nodes[a].state == SIM_DOWN;

    if (!is_there || !sim_may_lose(w, 1u << a))
        return;
    if (w->nodes[a].state == SIM_UP)
        sim_node_stop(w, a, SIM_DEAD);
    w->nodes[a].state = SIM_DEAD;
    w->removed_by_force |= 1u << a;
    sim_trace(w, "cluster %u dies for good", a);
}

/* Two sides, or one direction. */
static void cut(struct sim_world *w)
{
    uint32_t side = sim_below(w, 2) == 0 ? sim_below(w, 1u << w->node_count)
                                         : 1u << sim_below(w, w->node_count);
    bool one_way = sim_below(w, 4) == 0;

    for (uint32_t i = 0; i < w->node_count; i++) {
        if (side >> i & 1)
            w->cut[i] = ~side;
        else
            w->cut[i] = one_way ? 0 : side;
    }
}

static void set_clock(struct sim_world *w, uint32_t a)
{
    int64_t ms = (int64_t)sim_below(w, 300) - 150;

    if (sim_below(w, 4) == 0)
        ms = (int64_t)sim_below(w, 1500) - 300;
    w->nodes[a].offset_ns = ms * (int64_t)SIM_MS;
    w->nodes[a].drift_ppm = (int64_t)sim_below(w, 400) - 200;
}

static void cap(struct sim_world *w, uint32_t a)
{
    const struct at_vector *v = &w->nodes[a].view.applied;

    bool all = sim_below(w, 2) == 0;
    uint32_t first = v->count > 0 ? sim_below(w, v->count) : 0;

    for (uint32_t i = 0; i < v->count && (all || i == 0) && !w->failed; i++)
        sim_cap(w, a, v->items[(first + i) % v->count]);
}

/* An operator accepts the clock of this cluster. */
static void release(struct sim_world *w, uint32_t a)
{
    struct sim_op op = {.kind = SIM_OP_RELEASE, .ticks = 1};

    if (w->nodes[a].view.mode == AT_MODE_READY)
        (void)sim_write(w, a, &op, false);
}

/* The dead, those that are down, and sometimes one that lives. */
static void remove_some(struct sim_world *w, uint32_t a, uint32_t b)
{
    uint32_t members = 0;

    for (uint32_t i = 0; i < w->node_count; i++)
        if (w->nodes[i].state == SIM_DEAD && sim_below(w, 8) != 0)
            members |= 1u << i;
    if ((w->nodes[b].state == SIM_DOWN || sim_below(w, 6) == 0) && a != b)
        members |= 1u << b;
    if ((members & ~w->removed_by_force) != 0 && !sim_may_lose(w, members))
        return;
    if (members != 0) {
        w->removed_by_force |= members;
        sim_remove(w, a, members);
    }
}
