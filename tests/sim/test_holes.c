#include "base/alloc.h"
#include "base/mutant.h"
#include "sim/world.h"
#include "support/test.h"

#include <stdlib.h>

/* Each schedule that broke an earlier draft of the rules, step by step, in a network without
 * faults; then all come to rest. The checks of the world run after every step. A is cluster 0. */

enum { A, B, C, D, E };
#define ALL 0xffu /* durable by each commit */
#define NONE 0u

static struct sim_world *w;

static void good(void)
{
    if (w->failed)
        fail_msg("%s: %s", w->check, w->detail);
}

static void tick(void)
{
    w->now_ns += 5 * SIM_MS;
}

static void pull(uint32_t node, uint32_t donor)
{
    tick();
    sim_ask_pull(w, node, donor);
    sim_deliver_due(w);
    good();
}

static void pull_some(uint32_t node, uint32_t donor, uint32_t entries)
{
    w->entries_max = entries;
    pull(node, donor);
    w->entries_max = 0;
}

/* All pull from all, twice: promises and acknowledgements get round. */
static void exchange(uint32_t count)
{
    for (uint32_t k = 0; k < 2 * count * count; k++) {
        uint32_t node = k / count % count;
        if (!sim_up(w, node) || node == k % count || !sim_up(w, k % count))
            continue;
        sim_idle(w, node);
        pull(node, k % count);
    }
}

static void begin(uint32_t count, uint32_t sync_bits)
{
    const bool sum[SIM_FAMILIES] = {false, true, false};

    w = AT_NEW(struct sim_world);
    sim_world_init(w, count, sync_bits);
    at_prng_init(&w->rng, 1);
    w->faithful = true;
    assert_true(sim_create_table(w, A, 0, sum));
    exchange(count);
}

static void end(void)
{
    good();
    sim_rest(w);
    good();
    sim_world_deinit(w);
    at_free(w);
}

static void mutate(uint32_t node, enum at_mutation_kind kind, uint32_t row, int64_t value)
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

static void set(uint32_t node, uint32_t row, int64_t value)
{
    mutate(node, AT_MUTATION_SET, row, value);
}

static void add(uint32_t node, uint32_t row, int64_t value)
{
    mutate(node, AT_MUTATION_ADD, row, value);
}

static void delete_row(uint32_t node, uint32_t row)
{
    mutate(node, AT_MUTATION_DELETE_ROW, row, 0);
}

static void drop(uint32_t node)
{
    struct sim_op op = {
        .kind = SIM_OP_DROP, .ticks = 1, .table_generation = 1, .row_end = SIM_ROWS};
    tick();
    assert_true(sim_write(w, node, &op, false));
}

static void cap(uint32_t node, uint32_t origin, uint32_t epoch)
{
    sim_cap(w, node, (struct at_position){.origin = sim_id(origin), .epoch = epoch});
    good();
}

static void forget(uint32_t node)
{
    for (int i = 0; i < 6; i++)
        sim_forget(w, node);
    good();
}

/* The whole unsynced tail is lost. */
static void lose(uint32_t node)
{
    struct sim_engine *e = &w->nodes[node].engine;

    e->mark_count = 0; /* back to the last sync */
    w->nodes[node].horizon_before = 0;
    sim_node_crash(w, node, false);
    sim_node_start(w, node, true);
    good();
}

static void restart(uint32_t node, bool doubt)
{
    sim_node_crash(w, node, false);
    sim_node_start(w, node, doubt);
    good();
}

static void close_epochs(uint32_t node)
{
    sim_ask_close(w, node);
    sim_deliver_due(w);
    assert_false(w->nodes[node].view.closing);
    good();
}

static void sync(uint32_t node)
{
    sim_commit(w, node, true);
}

static void copy(uint32_t node)
{
    for (int i = 0; i < 20 && w->nodes[node].view.mode != AT_MODE_READY; i++) {
        sim_copy_step(w, node);
        sim_deliver_due(w);
    }
    assert_int_equal(w->nodes[node].view.mode, AT_MODE_READY);
    good();
}

static void deliver_one(void)
{
    w->deliver_max = 1;
    sim_deliver_due(w);
    w->deliver_max = 0;
}

/* Until the first record of many has come, and the next is asked for. */
static void begin_copy(uint32_t node)
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

static uint32_t has(uint32_t node, uint32_t origin, uint32_t epoch)
{
    return w->nodes[node].coverage[origin][epoch - 1];
}

static void die(uint32_t node)
{
    sim_node_stop(w, node, SIM_DEAD);
    w->removed_by_force |= 1u << node;
}

static void remove_now(uint32_t node, uint32_t members)
{
    w->removed_by_force |= members;
    sim_remove(w, node, members);
    for (int i = 0; i < 8; i++) {
        sim_member_step(w, node);
        sim_deliver_due(w);
    }
    good();
}

static void H01_a_promise_counts_with_its_position(void **state)
{
    (void)state;
    begin(2, ALL);
    drop(A);
    set(A, 0, 1);
    pull_some(B, A, 1);
    forget(B);
    pull(B, A);
    end();
}

static void H02_nothing_is_promised_over_a_commit_under_way(void **state)
{
    struct sim_op op = {.kind = SIM_OP_DROP, .ticks = 1, .table_generation = 1, .row_end = 3};
    (void)state;
    begin(2, ALL);
    tick();
    assert_true(sim_write(w, A, &op, true));
    pull(B, A);
    forget(B);
    sim_commit(w, A, false);
    pull(B, A);
    end();
}

static void H03_a_promise_of_an_idle_clock_binds_after_a_crash(void **state)
{
    (void)state;
    begin(2, ALL);
    w->now_ns += 80 * SIM_MS;
    sim_idle(w, A);
    pull(B, A);
    w->nodes[A].offset_ns = -(int64_t)(300 * SIM_MS);
    restart(A, false);
    set(A, 0, 1); /* the world checks that its stamp is above all promises */
    end();
}

static void H04_a_new_epoch_promises_when_the_old_one_is_closed(void **state)
{
    (void)state;
    begin(2, NONE);
    set(A, 0, 1);
    set(A, 0, 2);
    restart(A, true);
    pull_some(B, A, 1);
    forget(B);
    pull(B, A);
    end();
}

static void H05_a_reply_of_the_old_process_is_void_once_the_epoch_is_closed(void **state)
{
    (void)state;
    begin(3, NONE);
    exchange(3);
    for (uint32_t i = 0; i < 3; i++)
        sync(i);
    set(A, 0, 1);
    w->hold_answers = true;
    pull(B, A);
    w->hold_answers = false;
    lose(A);
    close_epochs(A);
    exchange(3);
    sim_let_go(w);
    good();
    pull(C, A);
    forget(C);
    pull(C, B);
    end();
}

static void H06_a_number_has_one_meaning_after_a_lost_tail(void **state)
{
    (void)state;
    begin(2, NONE);
    sync(A);
    set(A, 0, 1);
    lose(A);
    set(A, 0, 2); /* in a new epoch: the world checks */
    end();
}

static void H07_an_epoch_that_left_the_vectors_is_not_let_in_again(void **state)
{
    (void)state;
    begin(3, NONE);
    restart(A, true);
    close_epochs(A);
    set(A, 0, 1); /* the first entry of epoch 2 */
    pull(B, A);
    w->hold_answers = true;
    pull(C, B); /* B's answer, with A's entry, comes late */
    w->hold_answers = false;
    pull(C, A);
    restart(A, true);
    close_epochs(A);
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t i = 0; i < 3; i++) {
            sync(i);
            sim_trim(w, i);
        }
        exchange(3);
    }
    assert_int_equal(at_positions_facts_first_open(&w->nodes[C].view.facts, sim_id(A)), 3);
    forget(C);
    sim_let_go(w);
    good();
    pull(A, B);
    end();
}

static void H08_only_what_is_durable_is_acknowledged(void **state)
{
    (void)state;
    begin(3, 1u << C);
    for (uint32_t i = 0; i < 3; i++)
        sync(i);
    set(C, 0, 1);
    pull(B, C);
    sync(B);
    pull(A, C); /* not synced */
    pull(A, C);
    pull(B, C);
    sim_trim(w, C);
    lose(A);
    pull(A, C);
    assert_int_equal(has(A, C, 1), 1);
    end();
}

static void H09_a_reply_never_begins_above_the_askers_position(void **state)
{
    (void)state;
    begin(3, ALL);
    set(A, 0, 1);
    delete_row(A, 1);
    pull(B, A);
    pull(B, A);
    cap(B, A, 1);
    pull(C, B);
    assert_int_equal(has(C, A, 1), 1); /* the table only: a gap was told, nothing was sent */
    pull(C, A);
    end();
}

static void H10_the_only_copy_of_a_write_survives_a_copy(void **state)
{
    (void)state;
    begin(3, ALL);
    set(C, 0, 1);
    pull(A, C);
    pull(A, C);
    cap(C, C, 1);
    cap(A, C, 1);
    set(A, 1, 2);
    pull(B, A); /* it gets A's write, and a gap of C */
    pull(B, C);
    assert_int_equal(w->nodes[B].view.mode, AT_MODE_NEEDS_COPY);
    die(A);
    copy(B);
    pull(C, B);
    assert_int_equal(has(C, A, 1), 2);
    remove_now(B, 1u << A);
    end();
}

static void H11_two_sides_that_need_each_others_copy_both_get_it(void **state)
{
    (void)state;
    begin(4, ALL);
    set(A, 0, 1);
    pull(B, A);
    pull(B, A);
    cap(A, A, 1);
    cap(B, A, 1);
    set(C, 1, 2);
    pull(D, C);
    pull(D, C);
    cap(C, C, 1);
    cap(D, C, 1);
    for (uint32_t i = 0; i < 16; i++)
        pull(i / 4, i % 4);
    assert_int_equal(w->nodes[A].view.mode, AT_MODE_NEEDS_COPY);
    assert_int_equal(w->nodes[D].view.mode, AT_MODE_NEEDS_COPY);
    end();
}

/* C has x; A has forgotten x and the delete that hides it. */
static void forgotten_at_a(void)
{
    begin(3, ALL);
    set(A, 0, 1);
    pull(C, A);
    pull(B, A);
    delete_row(B, 0);
    pull(A, B);
    pull(A, B);
    cap(A, B, 1);
    cap(B, B, 1);
    w->now_ns += 50 * SIM_MS;
    sim_idle(w, C);
    sim_idle(w, B);
    pull(A, C);
    pull(A, B);
    sim_idle(w, A);
    forget(A);
}

static void H12_a_copy_takes_what_is_old_from_one_side_only(void **state)
{
    (void)state;
    forgotten_at_a();
    pull(C, A);
    pull(C, B);
    assert_int_equal(w->nodes[C].view.mode, AT_MODE_NEEDS_COPY);
    copy(C);
    end();
}

static void H13_a_donor_lost_half_way_leaves_the_receiver_as_it_was(void **state)
{
    (void)state;
    begin(3, ALL);
    set(B, 2, 1);
    pull(A, B);
    pull(A, B);
    cap(A, B, 1);
    cap(B, B, 1);
    set(A, 0, 2);
    pull(C, A);
    pull(C, B);
    assert_int_equal(w->nodes[C].view.mode, AT_MODE_NEEDS_COPY);
    w->cut[C] = 1u << B;
    begin_copy(C);
    w->cut[C] = 0;
    assert_int_equal(w->nodes[C].copy.donor, A);
    die(A);
    sim_deliver_due(w);
    sim_copy_step(w, C);
    if (w->nodes[C].view.mode != AT_MODE_READY)
        copy(C);
    remove_now(C, 1u << A);
    end();
}

static void H14_a_copy_goes_on_within_one_snapshot_only(void **state)
{
    (void)state;
    begin(3, ALL);
    add(A, 0, 1);
    pull(B, A);
    pull(B, A);
    cap(B, A, 1);
    cap(A, A, 1);
    pull(C, B);
    pull(C, A);
    assert_int_equal(w->nodes[C].view.mode, AT_MODE_NEEDS_COPY);
    w->cut[C] = 1u << A;
    begin_copy(C);
    sim_drop_flights(w);
    restart(B, false);
    w->cut[C] = 0;
    add(A, 0, 2);
    pull(B, A);
    sim_copy_step(w, C); /* asks for the next record of a snapshot that is gone */
    sim_deliver_due(w);
    if (w->nodes[C].view.mode != AT_MODE_READY)
        copy(C);
    pull(C, A);
    end();
}

static void H15_forgetting_does_not_reach_into_a_pinned_snapshot(void **state)
{
    (void)state;
    begin(3, ALL);
    set(A, 0, 1);
    pull(C, A);
    delete_row(B, 0);
    pull(A, B);
    pull(A, B);
    cap(A, B, 1);
    cap(B, B, 1);
    pull(C, A);
    pull(C, B);
    w->hold_answers = true; /* the snapshot is pinned, the answer on its way */
    sim_copy_step(w, C);
    sim_deliver_due(w);
    w->hold_answers = false;
    exchange(2);
    forget(A);
    sim_let_go(w);
    if (w->nodes[C].view.mode != AT_MODE_READY)
        copy(C);
    end();
}

static void H16_a_marker_goes_with_all_that_it_covers(void **state)
{
    (void)state;
    begin(2, ALL);
    set(A, 0, 1);
    delete_row(A, 0);
    exchange(2);
    sim_compact(w, A);
    forget(A);
    forget(B);
    end();
}

static void H17_nothing_is_pulled_while_a_copy_runs(void **state)
{
    (void)state;
    begin(3, ALL);
    set(A, 0, 1);
    delete_row(A, 0);
    pull(B, A);
    pull(B, A);
    cap(B, A, 1);
    w->hold_answers = true;
    sim_ask_pull(w, C, A); /* an answer that comes in the middle of the copy */
    sim_deliver_due(w);
    w->hold_answers = false;
    exchange(2);
    forget(B);
    w->cut[C] = 1u << A; /* it can't know that A would serve it */
    w->cut[A] = 1u << C;
    pull(C, B);
    assert_int_equal(w->nodes[C].view.mode, AT_MODE_NEEDS_COPY);
    begin_copy(C);
    sim_let_go(w);
    if (w->nodes[C].view.mode != AT_MODE_READY)
        copy(C);
    memset(w->cut, 0, sizeof(w->cut));
    pull(C, A);
    end();
}

static void H18_the_horizon_never_falls(void **state)
{
    (void)state;
    begin(3, ALL);
    add(C, 0, 1);
    pull(B, C);
    delete_row(A, 0);
    add(B, 0, 2);
    pull(A, B);
    pull(A, C);
    pull(A, B);
    cap(A, B, 1);
    cap(A, C, 1);
    sim_join(w, C);
    exchange(3);
    forget(A);
    pull(A, C); /* learns the newcomer, that has promised nothing: the world checks F */
    sim_idle(w, A);
    end();
}

static void H20_a_removed_member_holds_the_horizon_until_its_end_is_here(void **state)
{
    (void)state;
    begin(4, ALL);
    set(A, 0, 1);
    exchange(4);
    delete_row(C, 0);
    pull(B, C);
    die(C);
    remove_now(A, 1u << C);
    pull(B, A);
    set(B, 2, 2);
    sim_idle(w, D);
    pull(A, D);
    w->start_after = A + 1; /* B's own entry, and not C's */
    pull_some(A, B, 1);
    w->start_after = 0;
    assert_int_equal(has(A, C, 1), 0);
    sim_idle(w, A);
    forget(A);
    pull(A, B);
    end();
}

static void H19_what_only_the_removed_one_had_does_not_spread(void **state)
{
    (void)state;
    begin(4, ALL);
    set(D, 0, 1);
    w->removed_by_force |= 1u << D;
    sim_remove(w, B, 1u << D);
    sim_member_step(w, B);
    sim_deliver_due(w); /* A and C have fenced D and answered */
    pull(C, D);
    assert_int_equal(has(C, D, 1), 0);
    for (int i = 0; i < 4; i++) {
        sim_member_step(w, B);
        sim_deliver_due(w);
    }
    sim_idle(w, A);
    pull(B, A);
    forget(B);
    pull(B, C);
    end();
}

static void H21_the_word_of_a_dead_voucher_is_void(void **state)
{
    (void)state;
    begin(5, ALL);
    set(D, 0, 1);
    pull(C, D);
    die(D);
    w->cut[C] = ~(1u << B);
    for (uint32_t i = 0; i < 5; i++)
        w->cut[i] |= i == B ? 0 : 1u << C;
    remove_now(B, 1u << D);
    die(C);
    memset(w->cut, 0, sizeof(w->cut));
    remove_now(B, 1u << C);
    end();
}

static void H22_two_dead_are_removed_in_one_act_by_anyone(void **state)
{
    (void)state;
    begin(5, ALL);
    die(A);
    die(B);
    sim_remove(w, C, 1u << A | 1u << B);
    sim_remove(w, D, 1u << A | 1u << B);
    end();
}

static void H23_only_members_vouch(void **state)
{
    (void)state;
    begin(4, ALL);
    sim_join(w, B); /* cluster 4 */
    sim_copy_step(w, E);
    sim_deliver_due(w);
    die(B);
    remove_now(D, 1u << B);
    end();
}

static void H25_a_leaver_writes_nothing_after_leave(void **state)
{
    (void)state;
    begin(4, ALL);
    w->removed_by_force |= 1u << B;
    sim_remove(w, C, 1u << B);
    sim_leave(w, C);
    end();
}

static void H26_a_leaver_stays_until_all_know(void **state)
{
    (void)state;
    begin(3, ALL);
    sim_leave(w, B);
    exchange(3);
    sim_member_step(w, B);
    pull(C, B);
    sim_member_step(w, B);
    assert_int_equal(w->nodes[B].state, SIM_UP); /* A has not heard of it */
    end();
}

static void H27_a_leaver_leaves_nothing_that_only_it_has(void **state)
{
    (void)state;
    begin(4, ALL);
    set(D, 0, 1);
    pull(B, D);
    die(D);
    sim_leave(w, B);
    sim_member_step(w, B);
    sim_deliver_due(w);
    assert_int_equal(w->nodes[B].view.left, false);
    remove_now(A, 1u << D);
    end();
}

static void H28_a_newcomer_writes_when_all_know_it(void **state)
{
    struct sim_op op = {.kind = SIM_OP_DROP, .ticks = 1, .table_generation = 1, .row_end = 3};
    (void)state;
    begin(2, ALL);
    sim_join(w, A); /* cluster 2 */
    w->cut[C] = 1u << B;
    w->cut[B] = 1u << C;
    copy(C);
    pull(C, A);
    for (int i = 0; i < 4; i++) {
        sim_member_step(w, C);
        sim_deliver_due(w);
    }
    assert_true(w->nodes[C].view.caught_up);
    assert_false(sim_write(w, C, &op, false));
    end();
}

static void H29_a_newcomer_whose_registrar_is_gone_never_was(void **state)
{
    (void)state;
    begin(3, ALL);
    sim_join(w, A); /* cluster 3 */
    die(A);
    remove_now(C, 1u << A);
    sim_rest(w);
    good();
    assert_int_equal(w->nodes[D].state, SIM_GONE);
    end();
}

static void H30_a_token_waits_for_members_that_had_no_say(void **state)
{
    (void)state;
    begin(2, ALL);
    set(A, 0, 1);
    w->cut[A] = 1u << B;
    w->cut[B] = 1u << A;
    sim_token_make(w, B);
    memset(w->cut, 0, sizeof(w->cut));
    assert_false(sim_token_try(w, B, 0));
    pull(B, A);
    assert_true(sim_token_try(w, B, 0));
    end();
}

static void H31_a_token_is_false_while_a_newcomer_is_empty(void **state)
{
    (void)state;
    begin(2, ALL);
    set(A, 0, 1);
    sim_token_make(w, A);
    pull(B, A);
    sim_join(w, A);
    assert_false(sim_token_try(w, B, 0));
    end();
}

static void H32_a_token_of_a_leaver_holds_what_it_wrote(void **state)
{
    (void)state;
    begin(3, ALL);
    set(B, 0, 1);
    sim_leave(w, B);
    sim_token_make(w, B);
    assert_false(sim_token_try(w, C, 0) && has(C, B, 1) == 0);
    end();
}

static void H33_data_that_overtakes_its_schema_is_kept(void **state)
{
    const bool sum[SIM_FAMILIES] = {false, true, false};
    struct sim_op op = {
        .kind = SIM_OP_ROW,
        .table = 1,
        .ticks = 1,
        .table_generation = 1,
        .mutation_count = 1,
        .mutations = {{.family = 1, .kind = AT_MUTATION_ADD, .family_generation = 1, .value = 7}}};
    (void)state;
    begin(3, ALL);
    assert_true(sim_create_table(w, A, 1, sum));
    pull(B, A);
    assert_true(sim_write(w, B, &op, false));
    w->start_after = A + 1; /* B's entry, and not yet the table of A */
    pull_some(C, B, 1);
    w->start_after = 0;
    assert_int_equal(has(C, B, 1), 1);
    pull(C, A);
    struct sim_row_state row;
    sim_rows_read(w, C, 1, 0, &row);
    assert_true(row.cells[1][0][0].present);
    end();
}

static void H34_a_deleted_row_hides_families_its_cluster_did_not_know(void **state)
{
    struct sim_op op = {.kind = SIM_OP_CATALOG,
                        .ticks = 1,
                        .change_count = 1,
                        .changes = {{.is_family = true, .family = 2, .table_generation = 1}}};
    struct sim_op write = {.kind = SIM_OP_ROW,
                           .ticks = 1,
                           .table_generation = 1,
                           .mutation_count = 1,
                           .mutations = {{.family = 2, .family_generation = 3, .value = 7}}};
    (void)state;
    begin(2, ALL);
    op.changes[0].counter = 2;
    assert_true(sim_write(w, A, &op, false));
    pull(B, A);
    op.changes[0].counter = 3;
    assert_true(sim_write(w, B, &op, false));
    assert_true(sim_write(w, B, &write, false));
    w->now_ns += 100 * SIM_MS;
    delete_row(A, 0);
    exchange(2);
    struct sim_row_state row;
    sim_rows_read(w, B, 0, 0, &row);
    assert_false(row.cells[2][0][0].present);
    end();
}

static void H35_existence_is_decided_by_counters(void **state)
{
    const bool sum[SIM_FAMILIES] = {false, true, false};
    (void)state;
    begin(2, ALL);
    set(A, 0, 1); /* A: creates, writes, deletes, creates; B: deletes */
    assert_true(sim_delete_table(w, A, 0));
    assert_true(sim_create_table(w, A, 0, sum));
    tick();
    assert_true(sim_delete_table(w, B, 0));
    exchange(2);
    end();
}

static void H36_a_late_write_does_not_show_in_a_table_made_anew(void **state)
{
    const bool sum[SIM_FAMILIES] = {false, true, false};
    (void)state;
    begin(2, ALL);
    assert_true(sim_delete_table(w, A, 0));
    w->now_ns += 50 * SIM_MS;
    set(B, 0, 1); /* it does not know of the drop */
    exchange(2);
    assert_true(sim_create_table(w, A, 0, sum));
    exchange(2);
    struct sim_row_state row;
    sim_rows_read(w, B, 0, 0, &row);
    assert_false(row.cells[0][0][0].present);
    end();
}

static void H37_a_lost_tail_in_a_late_reply_does_not_make_a_token_true(void **state)
{
    (void)state;
    begin(3, NONE);
    for (uint32_t i = 0; i < 3; i++)
        sync(i);
    delete_row(A, 0);
    w->hold_answers = true;
    pull(B, A);
    w->hold_answers = false;
    lose(A);
    sim_token_make(w, C); /* A closes nothing yet: it counts as not reached */
    sim_let_go(w);
    assert_false(sim_token_try(w, B, 0));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(H01_a_promise_counts_with_its_position),
        cmocka_unit_test(H02_nothing_is_promised_over_a_commit_under_way),
        cmocka_unit_test(H03_a_promise_of_an_idle_clock_binds_after_a_crash),
        cmocka_unit_test(H04_a_new_epoch_promises_when_the_old_one_is_closed),
        cmocka_unit_test(H05_a_reply_of_the_old_process_is_void_once_the_epoch_is_closed),
        cmocka_unit_test(H06_a_number_has_one_meaning_after_a_lost_tail),
        cmocka_unit_test(H07_an_epoch_that_left_the_vectors_is_not_let_in_again),
        cmocka_unit_test(H08_only_what_is_durable_is_acknowledged),
        cmocka_unit_test(H09_a_reply_never_begins_above_the_askers_position),
        cmocka_unit_test(H10_the_only_copy_of_a_write_survives_a_copy),
        cmocka_unit_test(H11_two_sides_that_need_each_others_copy_both_get_it),
        cmocka_unit_test(H12_a_copy_takes_what_is_old_from_one_side_only),
        cmocka_unit_test(H13_a_donor_lost_half_way_leaves_the_receiver_as_it_was),
        cmocka_unit_test(H14_a_copy_goes_on_within_one_snapshot_only),
        cmocka_unit_test(H15_forgetting_does_not_reach_into_a_pinned_snapshot),
        cmocka_unit_test(H16_a_marker_goes_with_all_that_it_covers),
        cmocka_unit_test(H17_nothing_is_pulled_while_a_copy_runs),
        cmocka_unit_test(H18_the_horizon_never_falls),
        cmocka_unit_test(H19_what_only_the_removed_one_had_does_not_spread),
        cmocka_unit_test(H20_a_removed_member_holds_the_horizon_until_its_end_is_here),
        cmocka_unit_test(H21_the_word_of_a_dead_voucher_is_void),
        cmocka_unit_test(H22_two_dead_are_removed_in_one_act_by_anyone),
        cmocka_unit_test(H23_only_members_vouch),
        cmocka_unit_test(H25_a_leaver_writes_nothing_after_leave),
        cmocka_unit_test(H26_a_leaver_stays_until_all_know),
        cmocka_unit_test(H27_a_leaver_leaves_nothing_that_only_it_has),
        cmocka_unit_test(H28_a_newcomer_writes_when_all_know_it),
        cmocka_unit_test(H29_a_newcomer_whose_registrar_is_gone_never_was),
        cmocka_unit_test(H30_a_token_waits_for_members_that_had_no_say),
        cmocka_unit_test(H31_a_token_is_false_while_a_newcomer_is_empty),
        cmocka_unit_test(H32_a_token_of_a_leaver_holds_what_it_wrote),
        cmocka_unit_test(H33_data_that_overtakes_its_schema_is_kept),
        cmocka_unit_test(H34_a_deleted_row_hides_families_its_cluster_did_not_know),
        cmocka_unit_test(H35_existence_is_decided_by_counters),
        cmocka_unit_test(H36_a_late_write_does_not_show_in_a_table_made_anew),
        cmocka_unit_test(H37_a_lost_tail_in_a_late_reply_does_not_make_a_token_true),
    };
    /* To see that the steps get to where the hole was: ATOLL_MUTANT=<name>, in a build that has
     * deliberate bugs. */
    if (!at_mutant_set(getenv("ATOLL_MUTANT")))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
