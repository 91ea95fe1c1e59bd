/* A store driven by hand on a machine that goes down: what is left is a beginning of what was
 * committed, with all that was synced in it. */
#include "support/lossy_store.h"

#include "base/prng.h"
#include "support/gc_fixture.h"

#define PROGRAMS 4
#define CUTS 8
#define NONE at_slice_make(NULL, 0)

struct fixture {
    struct fx fx; /* folder and one-line writes; its store is that of the machine */
    struct lossy_store machine;
    struct at_prng prng;
};

static void up(struct fixture *f)
{
    struct at_error error = {0};

    if (lossy_store_up(&f->machine, &error) != AT_OK)
        fail_msg("%s", error.msg);
    f->fx.store = f->machine.store;
}

static void begin(struct fixture *f, uint64_t seed, bool sync_commits)
{
    at_prng_init(&f->prng, seed);
    fx_prepare(&f->fx, 1, 1);
    f->fx.config.dir = f->fx.dir;
    f->fx.config.clock = (struct at_clock){gcx_clock, gcx_clock, NULL};
    f->fx.config.manual = true;
    f->fx.config.sync_commits = f->fx.config.replica.sync_commits = sync_commits;
    lossy_store_init(&f->machine, &f->fx.config);
    up(f);
    AT_ASSERT(fx_change(&f->fx, "t", NULL, NONE, true) == AT_OK);
    gcx_family(&f->fx, "f", "n", NONE);
    AT_ASSERT(at_store_sync_now(f->fx.store) || sync_commits);
}

static void end(struct fixture *f)
{
    lossy_store_down(&f->machine);
    nftw(f->fx.dir, fx_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_row(struct fixture *f, uint32_t number)
{
    char row[16];

    snprintf(row, sizeof(row), "r%06u", number);
    AT_ASSERT(fx_set(&f->fx, row, "f", "q", 1000, "value") == AT_OK);
}

/* Rows r000000 .. without a hole; how many. */
static uint32_t rows_left(struct fixture *f)
{
    char *text = gcx_rows(&f->fx, 0);
    uint32_t count = 0;

    for (const char *at = text; *at != '\0'; at = strchr(at, '|') + 1) {
        char row[16];
        snprintf(row, sizeof(row), "r%06u:", count++);
        if (strncmp(at, row, strlen(row)) != 0)
            fail_msg("%s expected at %.20s", row, at);
    }
    at_free(text);
    return count;
}

static uint32_t epoch_of(struct fixture *f)
{
    struct at_replica_view view;

    fx_view(&f->fx, &view);
    uint32_t epoch = view.epoch;
    at_replica_view_deinit(&view);
    return epoch;
}

static void run_program(uint64_t seed)
{
    struct fixture *f = AT_NEW(struct fixture);
    uint32_t written = 0;
    uint32_t synced = 0;
    uint32_t lost = 0;

    begin(f, seed, false);
    for (uint32_t cut = 0; cut < CUTS; cut++) {
        uint32_t epoch = epoch_of(f);
        for (uint32_t i = 0, n = (uint32_t)at_prng_below(&f->prng, 200); i < n; i++) {
            write_row(f, written++);
            if (at_prng_below(&f->prng, 30) != 0)
                continue;
            (void)at_store_sync_now(f->fx.store);
            synced = written;
        }
        uint64_t unsynced = lossy_store_unsynced(&f->machine);
        lossy_store_power_cut(&f->machine, at_prng_below(&f->prng, unsynced + 1));
        gcx_pass_ms(1100);
        up(f);
        uint32_t left = rows_left(f);
        if (left < synced || left > written)
            fail_msg("seed %llu: %u rows are left of %u, of which %u were synced",
                     (unsigned long long)seed, left, written, synced);
        assert_true(epoch_of(f) > epoch); /* nobody knows what was lost */
        lost += written - left;
        written = synced = left;
        AT_ASSERT(at_store_sync_now(f->fx.store) || true);
    }
    assert_true(lost > 0);
    end(f);
    at_free(f);
}

static void a_power_cut_leaves_a_beginning_of_what_was_committed(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < PROGRAMS; i++)
        run_program(100 + i);
}

static void nothing_is_lost_by_a_kill_or_where_commits_are_synced(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    (void)state;
    begin(f, 1, false);
    for (uint32_t i = 0; i < 50; i++)
        write_row(f, i);
    lossy_store_kill(&f->machine);
    up(f);
    assert_int_equal(rows_left(f), 50);
    assert_int_equal(epoch_of(f), 1);
    end(f);

    begin(f, 1, true);
    for (uint32_t i = 0; i < 50; i++)
        write_row(f, i);
    assert_int_equal(lossy_store_unsynced(&f->machine), 0);
    lossy_store_power_cut(&f->machine, 0);
    up(f);
    assert_int_equal(rows_left(f), 50);
    assert_int_equal(epoch_of(f), 1);
    end(f);
    at_free(f);
}

/* Others may have the numbers that are gone here: they never get a second meaning. */
static void writes_that_are_gone_after_a_kill_open_a_new_epoch(void **state)
{
    static const struct {
        uint32_t percent;
        bool sync_commits;
    } cases[] = {{0, false}, {30, false}, {0, true}, {30, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture *f = AT_NEW(struct fixture);
        begin(f, 1, cases[i].sync_commits);
        lossy_store_kill(&f->machine);
        up(f); /* so that what comes has a log of its own, and the records of the start have not */
        for (uint32_t r = 0; r < 50; r++)
            write_row(f, r);
        lossy_store_kill(&f->machine);
        lossy_store_damage(&f->machine, cases[i].percent);
        up(f);
        assert_true(rows_left(f) < 50);
        assert_int_equal(epoch_of(f), 2);
        lossy_store_kill(&f->machine);
        up(f); /* told once */
        assert_int_equal(epoch_of(f), 2);
        end(f);
        at_free(f);
    }
}

static void a_store_that_lost_all_of_its_records_is_not_opened(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);
    struct at_error error = {0};

    (void)state;
    begin(f, 1, false);
    write_row(f, 0);
    lossy_store_kill(&f->machine);
    lossy_store_damage(&f->machine, 100);
    assert_int_equal(lossy_store_up(&f->machine, &error), AT_DATA_LOSS);
    nftw(f->fx.dir, fx_remove, 8, FTW_DEPTH | FTW_PHYS);
    at_free(f);
}

static uint64_t durable_seq(struct fixture *f)
{
    struct at_replica_view view;

    fx_view(&f->fx, &view);
    uint64_t seq = at_vector_get(&view.durable, (struct at_member_id){1}, view.epoch);
    at_replica_view_deinit(&view);
    return seq;
}

static void writers_do_not_wait_for_the_reservation_of_the_clock(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    (void)state;
    begin(f, 1, false);
    for (uint32_t i = 0; i < 60; i++) { /* three times as long as a reservation */
        gcx_pass_ms(50);
        uint64_t sync_count = f->machine.sync_count;
        write_row(f, 0);
        if (i > 0)
            assert_int_equal(f->machine.sync_count, sync_count);
        assert_true(at_store_sync_now(f->fx.store));
    }
    end(f);
    at_free(f);
}

/* A sync that began covers what was committed before it, once it ended. */
static void the_driver_decides_when_a_sync_ends(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);

    (void)state;
    begin(f, 1, false);
    gcx_pass_ms(2000);
    at_store_turn(f->fx.store); /* the clock is reserved further, which is synced */
    uint64_t before = durable_seq(f);
    write_row(f, 0); /* its turn begins a sync */
    uint64_t sync_count = f->machine.sync_count;
    write_row(f, 1);
    for (int i = 0; i < 5; i++)
        at_store_turn(f->fx.store);
    assert_int_equal(f->machine.sync_count, sync_count);
    assert_int_equal(durable_seq(f), before);
    assert_true(at_store_sync_now(f->fx.store));
    assert_int_equal(durable_seq(f), before + 1);
    assert_true(at_store_sync_now(f->fx.store));
    assert_int_equal(durable_seq(f), before + 2);
    assert_false(at_store_sync_now(f->fx.store));
    end(f);
    at_free(f);
}

/* Forgetting is cut short at any byte: what was deleted stays so. */
static void a_power_cut_while_forgetting_brings_nothing_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct fixture *f = AT_NEW(struct fixture);
        struct at_collect collect = {.done = NULL};
        struct fx_wait wait;
        begin(f, seed, false);
        for (uint32_t i = 0; i < 60; i++) {
            char row[16];
            write_row(f, i);
            snprintf(row, sizeof(row), "r%06u", i);
            assert_int_equal(fx_delete_row(&f->fx, row), AT_OK);
        }
        assert_int_equal(fx_drop(&f->fx, "t", "r00001"), AT_OK);
        assert_int_equal(fx_set(&f->fx, "s", "f", "q", 1000, "stays"), AT_OK);
        AT_ASSERT(at_store_sync_now(f->fx.store) || true);
        sem_init(&wait.done, 0, 0);
        collect = (struct at_collect){.done = gcx_done, .ctx = &wait};
        assert_int_equal(at_store_collect(f->fx.store, &collect), AT_OK);
        uint64_t turns = 1 + at_prng_below(&f->prng, 40);
        for (uint64_t i = 0; i < turns; i++)
            (void)at_store_collect_turn(f->fx.store, 256);
        uint64_t unsynced = lossy_store_unsynced(&f->machine);
        lossy_store_power_cut(&f->machine, at_prng_below(&f->prng, unsynced + 1));
        gcx_pass_ms(1100);
        up(f);
        gcx_expect_rows(&f->fx, 0, "s: f:q@1000=stays|");
        assert_int_equal(gcx_collect_in(&f->fx, "t", &collect), AT_OK);
        gcx_expect_rows(&f->fx, 0, "s: f:q@1000=stays|");
        assert_int_equal(gcx_keys(&f->fx, true), 0);
        sem_destroy(&wait.done);
        end(f);
        at_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_cut_leaves_a_beginning_of_what_was_committed),
        cmocka_unit_test(nothing_is_lost_by_a_kill_or_where_commits_are_synced),
        cmocka_unit_test(writes_that_are_gone_after_a_kill_open_a_new_epoch),
        cmocka_unit_test(a_store_that_lost_all_of_its_records_is_not_opened),
        cmocka_unit_test(the_driver_decides_when_a_sync_ends),
        cmocka_unit_test(writers_do_not_wait_for_the_reservation_of_the_clock),
        cmocka_unit_test(a_power_cut_while_forgetting_brings_nothing_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
