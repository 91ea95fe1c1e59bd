#include "base/alloc.h"
#include "base/prng.h"
#include "support/replica_model.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Random schedules over three or four replicas: writes, pulls whose replies are cut, delayed,
 * repeated and lost, crashes with and without loss of the unsynced tail, partitions, clocks that
 * differ, trimming, logs that are cut at a cap, copies, clusters that join, leave, and are removed
 * by force, tokens. The model checks every step; this file checks tokens, and at rest that all have
 * the same. A seed that fails is printed:  ATOLL_SIM_SEED=<seed> runs it alone. */

#define SEEDS 100
#define STEPS 500
#define FLIGHTS_MAX 64
#define TOKENS_MAX 4
#define MESSAGE_BYTES_MAX (1 << 20)

struct flight {
    struct at_buf bytes;
    uint32_t from;
    uint32_t to;
    uint64_t due_ns;
    bool question;
};

struct pending_token {
    struct at_token token;
    /* what had been acknowledged to clients when it was made */
    uint64_t truth[MODEL_NODES_MAX][MODEL_EPOCHS_MAX];
};

struct sim {
    struct model m;
    struct at_prng rng;
    struct flight flights[FLIGHTS_MAX];
    uint32_t flight_count;
    struct pending_token tokens[TOKENS_MAX];
    uint32_t token_count;
    uint32_t apart; /* bits: on the other side of a partition */
    uint64_t write_count;
    uint64_t true_count;
    uint64_t false_count;
    uint64_t crash_count;
    bool members_change;
    uint32_t dead; /* bits: down for good */
    uint32_t dead_or_gone;
};

static uint64_t total_applied;
static uint64_t total_lost;
static uint64_t total_closed;
static uint64_t total_parked;
static uint64_t total_true;
static uint64_t total_crashes;
static uint64_t total_copied;
static uint64_t total_joined;
static uint64_t total_left;
static uint64_t total_removed;

static uint32_t below(struct sim *s, uint32_t n)
{
    return (uint32_t)at_prng_below(&s->rng, n);
}

static bool up(const struct sim *s, uint32_t node)
{
    return s->m.nodes[node].replica != NULL;
}

static bool linked(const struct sim *s, uint32_t a, uint32_t b)
{
    return (s->apart >> a & 1) == (s->apart >> b & 1);
}

static struct flight *send(struct sim *s, uint32_t from, uint32_t to, bool question)
{
    if (s->flight_count == FLIGHTS_MAX || !linked(s, from, to))
        return NULL;
    struct flight *f = &s->flights[s->flight_count++];
    *f = (struct flight){.from = from, .to = to, .question = question};
    at_buf_init(&f->bytes, MESSAGE_BYTES_MAX);
    uint32_t delay_ms = below(s, 8) == 0 ? below(s, 500) : below(s, 10);
    f->due_ns = s->m.now_ns + delay_ms * MODEL_MS;
    return f;
}

static void ask_for_log(struct sim *s, uint32_t node)
{
    uint32_t donor = below(s, s->m.node_count);
    struct flight *f = donor == node ? NULL : send(s, node, donor, true);

    if (f != NULL)
        model_pull(&s->m, node, &f->bytes);
}

static void ask_to_close(struct sim *s, uint32_t node)
{
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_close close;
    uint32_t count = 0;

    if (!at_replica_closing(model_replica(&s->m, node), missing, &count) || count == 0)
        return;
    struct flight *f = send(s, node, missing[below(s, count)].v - 1, true);
    if (f == NULL)
        return;
    at_replica_close_ask(model_replica(&s->m, node), &close);
    assert_int_equal(at_close_encode(&close, &f->bytes), AT_OK);
}

static void arrive(struct sim *s, const struct flight *f)
{
    static const uint32_t cuts[] = {0, 1, 2, 3, 50};

    if (!up(s, f->to) || !linked(s, f->from, f->to) || f->bytes.len == 0 || below(s, 12) == 0)
        return;
    if (!f->question) {
        (void)model_take(&s->m, f->to, at_buf_slice(&f->bytes));
        return;
    }
    struct flight *back = send(s, f->to, f->from, false);
    if (back != NULL)
        model_answer(&s->m, f->to, at_buf_slice(&f->bytes), cuts[below(s, 5)], below(s, 8),
                     &back->bytes);
}

static void deliver_due(struct sim *s)
{
    for (uint32_t i = 0; i < s->flight_count; i++) {
        if (s->flights[i].due_ns > s->m.now_ns)
            continue;
        struct flight f = s->flights[i];
        s->flights[i] = s->flights[--s->flight_count];
        i--;
        arrive(s, &f);
        if (below(s, 8) == 0 && s->flight_count < FLIGHTS_MAX) { /* and once more, later */
            f.due_ns = s->m.now_ns + below(s, 100) * MODEL_MS;
            s->flights[s->flight_count++] = f;
        } else {
            at_buf_deinit(&f.bytes);
        }
    }
}

/* Not for one that left, was removed, or is about to be. */
static bool is_member(const struct sim *s, uint32_t node)
{
    return (s->dead >> node & 1) == 0 && s->m.nodes[node].view.mode != AT_MODE_REMOVED &&
           s->m.nodes[node].view.mode != AT_MODE_INIT &&
           s->m.nodes[node].view.mode != AT_MODE_COPYING;
}

static void make_token(struct sim *s)
{
    if (s->token_count == TOKENS_MAX)
        return;
    struct pending_token *t = &s->tokens[s->token_count++];
    for (uint32_t o = 0; o < s->m.node_count; o++)
        for (uint32_t e = 0; e < MODEL_EPOCHS_MAX; e++)
            t->truth[o][e] = s->m.truth[o][e].count;
    uint32_t reached = 0;
    for (uint32_t i = 0; i < s->m.node_count; i++)
        if (up(s, i) && is_member(s, i) &&
            (reached == 0 || linked(s, (uint32_t)__builtin_ctz(reached), i)) && below(s, 6) != 0)
            reached |= 1u << i;
    if (reached == 0) {
        s->token_count--;
        return;
    }
    model_token(&s->m, reached, &t->token);
}

/* The furthest that any disk of a member has of it: beyond, it is lost, and its origin's clients
 * know. */
static uint64_t surviving(const struct sim *s, uint32_t origin, uint32_t epoch)
{
    uint64_t most = 0;

    for (uint32_t n = 0; n < s->m.node_count; n++)
        if (is_member(s, n) && model_v(&s->m, n, origin, epoch) > most)
            most = model_v(&s->m, n, origin, epoch);
    return most;
}

static void check_token(struct sim *s)
{
    if (s->token_count == 0)
        return;
    uint32_t at = below(s, s->token_count);
    struct pending_token *t = &s->tokens[at];
    uint32_t reached = 0;
    for (uint32_t i = 0; i < s->m.node_count; i++)
        if (up(s, i) &&
            (reached == 0 ? is_member(s, i) : linked(s, (uint32_t)__builtin_ctz(reached), i)))
            reached |= 1u << i;

    if (reached == 0 || !model_check(&s->m, reached, &t->token)) {
        s->false_count++;
        return;
    }
    s->true_count++;
    for (uint32_t o = 0; o < s->m.node_count; o++)
        for (uint32_t e = 1; e <= MODEL_EPOCHS_MAX; e++) {
            uint64_t need = t->truth[o][e - 1];
            uint64_t had = surviving(s, o, e);
            need = had < need ? had : need;
            for (uint32_t n = 0; n < s->m.node_count; n++)
                if (is_member(s, n))
                    assert_true(s->m.nodes[n].logs[o][e - 1].synced_count >= need);
        }
    at_token_deinit(&t->token);
    s->tokens[at] = s->tokens[--s->token_count];
}

static void move_members(struct sim *s, uint32_t node);

static void crash_or_start(struct sim *s, uint32_t node)
{
    if ((s->dead >> node & 1) != 0)
        return;
    if (up(s, node)) {
        if (s->m.nodes[node].view.epoch + 1 < MODEL_EPOCHS_MAX) {
            model_crash(&s->m, node);
            s->crash_count++;
        }
        return;
    }
    model_start(&s->m, node, below(s, 2) == 0);
}

static void set_clock(struct sim *s, uint32_t node)
{
    int64_t ms = (int64_t)below(s, 300) - 150;

    if (below(s, 6) == 0)
        ms = (int64_t)below(s, 1200) - 300;
    s->m.nodes[node].offset_ns = ms * (int64_t)MODEL_MS;
}

static uint32_t alive_count(const struct sim *s)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->m.node_count; i++)
        count += is_member(s, i);
    return count;
}

static void die_for_good(struct sim *s, uint32_t node)
{
    uint32_t victim = below(s, s->m.node_count);

    if (alive_count(s) > 3 && victim != node && (s->dead >> victim & 1) == 0 && below(s, 3) == 0) {
        model_crash(&s->m, victim);
        s->dead |= 1u << victim;
    }
}

/* `node` begins to remove all that died. */
static void remove_dead(struct sim *s, uint32_t node)
{
    struct at_member_id dead[MODEL_NODES_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->m.node_count; i++)
        if ((s->dead >> i & 1) != 0 && i != node)
            dead[count++].v = i + 1;
    if (count > 0 &&
        at_replica_fence_begin(model_replica(&s->m, node), dead, count, true, NULL) == AT_OK)
        model_commit(&s->m, node, false);
}

static void fill(struct sim *s, uint32_t node)
{
    struct model_node *n = &s->m.nodes[node];
    uint32_t donor = below(s, s->m.node_count);

    if (n->copying) {
        if (below(s, 6) == 0)
            model_copy_drop(&s->m, node);
        else
            model_copy_end(&s->m, node);
    } else if ((n->view.mode == AT_MODE_INIT || n->view.mode == AT_MODE_NEEDS_COPY) &&
               up(s, donor)) {
        (void)model_copy_begin(&s->m, node, donor);
    } else if (n->view.mode == AT_MODE_READY && !n->view.caught_up) {
        at_replica_set_caught_up(n->replica);
        model_commit(&s->m, node, false);
    }
}

static void change_members(struct sim *s, uint32_t node)
{
    struct model_node *n = &s->m.nodes[node];
    uint32_t dice = below(s, 40);

    if (dice == 0)
        (void)model_register(&s->m, node);
    else if (dice == 1 && alive_count(s) > 3 && at_replica_leave_begin(n->replica, NULL) == AT_OK)
        model_commit(&s->m, node, false);
    else if (dice == 2)
        die_for_good(s, node);
    else if (dice < 5)
        remove_dead(s, node);
    else if (dice < 8)
        model_cap(&s->m, node, below(s, s->m.node_count), n->view.epoch);
    else
        move_members(s, node);
}

/* What goes on by itself, as far as the others can be reached. */
static void move_members(struct sim *s, uint32_t node)
{
    struct at_member_id missing[AT_MEMBERS_MAX];
    struct at_fence fence;
    uint32_t count = 0;

    fill(s, node);
    (void)model_join(&s->m, node);
    if (s->m.nodes[node].view.mode == AT_MODE_LEAVING)
        (void)model_leave(&s->m, node);
    if (!at_replica_fencing(model_replica(&s->m, node), &fence, missing, &count))
        return;
    if (count == 0)
        (void)model_remove(&s->m, node);
    else if (up(s, missing[0].v - 1) && below(s, 2) == 0)
        (void)model_fence(&s->m, node, missing[below(s, 2) % count].v - 1);
}

static void step(struct sim *s)
{
    uint32_t node = below(s, s->m.node_count);
    uint32_t dice = below(s, 100);

    s->m.now_ns += below(s, 5) * MODEL_MS;
    deliver_due(s);
    if (dice < 4) {
        if (up(s, node) ? dice < 2 : true)
            crash_or_start(s, node);
        return;
    }
    if (!up(s, node))
        return;
    if (s->members_change && below(s, 5) == 0) {
        change_members(s, node);
        return;
    }
    if (dice < 30)
        s->write_count += model_write(&s->m, node, 1 + below(s, 4));
    else if (dice < 65)
        ask_for_log(s, node);
    else if (dice < 72)
        ask_to_close(s, node);
    else if (dice < 80)
        model_commit(&s->m, node, true);
    else if (dice < 87)
        (void)model_idle(&s->m, node);
    else if (dice < 90)
        model_trim(&s->m, node);
    else if (dice < 92)
        s->apart = below(s, 2) == 0 ? 0 : below(s, 1u << s->m.node_count);
    else if (dice < 94)
        set_clock(s, node);
    else if (dice < 95)
        make_token(s);
    else
        check_token(s);
}

static void come_to_rest(struct sim *s)
{
    struct model *m = &s->m;

    s->apart = 0;
    for (uint32_t i = 0; i < m->node_count; i++) {
        m->nodes[i].offset_ns = 0;
        if (!up(s, i) && (s->dead >> i & 1) == 0)
            model_start(m, i, below(s, 2) == 0);
    }
    m->now_ns += 3000 * MODEL_MS;
    model_settle(m);
    for (int round = 0; s->members_change && round < 60; round++) {
        for (uint32_t i = 0; i < m->node_count; i++) {
            if (!up(s, i))
                continue;
            if (round >= 20 && s->dead != 0)
                remove_dead(s, i);
            for (int k = 0; k < 4; k++)
                move_members(s, i);
        }
        model_settle_once(m);
    }
    model_settle(m);
    s->dead_or_gone = 0;
    for (uint32_t i = 0; i < m->node_count; i++)
        if (!is_member(s, i))
            s->dead_or_gone |= 1u << i;
    uint32_t first = 0;
    while ((s->dead_or_gone >> first & 1) != 0)
        first++;
    uint64_t last = 0;
    for (uint32_t i = 0; i < m->node_count; i++)
        last = m->nodes[i].stamp_max > last ? m->nodes[i].stamp_max : last;
    for (uint32_t i = 0; i < m->node_count; i++) {
        if ((s->dead_or_gone >> i & 1) != 0)
            continue;
        assert_false(m->nodes[i].view.closing);
        assert_int_equal(m->nodes[i].view.mode, AT_MODE_READY);
        assert_true(model_horizon(m, i) > last);
        for (uint32_t o = 0; o < m->node_count; o++)
            for (uint32_t e = 1; e <= MODEL_EPOCHS_MAX; e++)
                assert_int_equal(model_v(m, i, o, e), model_v(m, first, o, e));
    }
    for (uint32_t i = 0; i < m->node_count; i++) {
        if ((s->dead_or_gone >> i & 1) != 0)
            continue;
        assert_true(model_write(m, i, 1));
        model_commit(m, i, true);
    }
    model_settle(m);
    while (s->token_count > 0) {
        uint64_t before = s->true_count;
        check_token(s);
        assert_true(s->true_count > before);
    }
}

static void run(uint64_t seed)
{
    struct sim *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    at_prng_init(&s->rng, seed);
    model_init(&s->m, 3 + below(s, 2), below(s, 4) == 0);
    s->members_change = seed % 2 == 0;
    for (int i = 0; i < STEPS; i++)
        step(s);
    come_to_rest(s);

    total_applied += s->m.applied_count;
    total_lost += s->m.lost_count;
    total_closed += s->m.closed_count;
    total_parked += s->m.parked_count;
    total_true += s->true_count;
    total_crashes += s->crash_count;
    total_copied += s->m.copied_count;
    total_joined += s->m.joined_count;
    total_left += s->m.left_count;
    total_removed += s->m.removed_count;
    for (uint32_t i = 0; i < s->flight_count; i++)
        at_buf_deinit(&s->flights[i].bytes);
    model_deinit(&s->m);
    free(s);
}

static uint64_t current_seed;

static void tell_seed(void)
{
    if (current_seed != 0)
        (void)fprintf(stderr, "seed %" PRIu64 "\n", current_seed);
}

static void random_schedules_keep_the_rules(void **state)
{
    const char *one = getenv("ATOLL_SIM_SEED");
    const char *many = getenv("ATOLL_SIM_SEEDS");
    uint64_t seeds = many != NULL ? strtoull(many, NULL, 10) : SEEDS;
    (void)state;

    if (one != NULL) {
        run(strtoull(one, NULL, 10));
        return;
    }
    for (current_seed = 1; current_seed <= seeds; current_seed++)
        run(current_seed);
    current_seed = 0;
    print_message("applied %" PRIu64 ", lost %" PRIu64 ", crashes %" PRIu64 ", closings %" PRIu64
                  ", parked %" PRIu64 ", tokens true %" PRIu64 "\n",
                  total_applied, total_lost, total_crashes, total_closed, total_parked, total_true);
    print_message("copies %" PRIu64 ", joins %" PRIu64 ", left %" PRIu64 ", removals %" PRIu64 "\n",
                  total_copied, total_joined, total_left, total_removed);
    /* A simulation that does not reach these proves nothing about them. */
    assert_true(total_lost > 100 && total_closed > 100 && total_parked > 10 && total_true > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schedules_keep_the_rules),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tell_seed();
    return failed;
}
