/* Writes to one cell and deletes of it on two clusters, with clocks that are equal, apart or stand
 * still: three real stores that exchange their logs by hand. */
#include "cluster/tablet/explain.h"
#include "support/store_fixture.h"
#include "support/test.h"

#define SKEW_NS (2 * AT_S_NS) /* less than the fixture's max_skew */

struct world {
    struct fx a;
    struct fx b;
    struct fx c;
};

/* All clocks that were stopped stand here. */
static _Atomic uint64_t stopped_ns;

static uint64_t wall(void *ctx)
{
    return stopped_ns != 0 ? stopped_ns : fx_wall_ns(ctx);
}

static void open_one(struct fx *f, uint32_t member)
{
    fx_prepare(f, member, 3);
    f->config.clock.wall_ns = wall;
    fx_reopen(f);
}

static void all_exchange(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        fx_exchange(&w->a, &w->b);
        fx_exchange(&w->b, &w->c);
        fx_exchange(&w->a, &w->c);
    }
}

static int setup(void **state)
{
    struct world *w = AT_NEW(struct world);

    stopped_ns = 0;
    open_one(&w->a, 1);
    open_one(&w->b, 2);
    open_one(&w->c, 3);
    fx_make_table(&w->a);
    all_exchange(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    stopped_ns = 0;
    fx_close(&w->a);
    fx_close(&w->b);
    fx_close(&w->c);
    at_free(w);
    return 0;
}

static void stop_clocks(struct world *w)
{
    stopped_ns = fx_wall_ns(&w->a) + SKEW_NS;
}

static void expect_everywhere(struct world *w, const char *rows)
{
    fx_expect_rows(&w->a, "t", rows);
    fx_expect_rows(&w->b, "t", rows);
    fx_expect_rows(&w->c, "t", rows);
}

static struct at_stamp stamp_of(struct fx *f, const char *row, uint32_t item, uint32_t count)
{
    struct at_arena arena;
    struct at_explanation x;

    at_arena_init(&arena, 4096);
    assert_int_equal(at_explain_row(f->store, (struct at_explain_query){AT_LIT("t"), fx_s(row), 1},
                                    &arena, &x, NULL),
                     AT_OK);
    assert_int_equal(x.count, count);
    struct at_stamp stamp = x.items[item].stamp;
    at_arena_deinit(&arena);
    return stamp;
}

/* Member 2 wins on all, as the higher id, and the stamps differ in nothing else. */
static void of_equal_clocks_one_cluster_wins_everywhere(void **state)
{
    struct world *w = *state;

    stop_clocks(w);
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "of b"), AT_OK);
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "of a"), AT_OK);
    fx_pull(&w->c, &w->b, 1 << 20);
    fx_pull(&w->c, &w->a, 1 << 20);
    all_exchange(w);
    struct at_stamp winner = stamp_of(&w->c, "r", 0, 2);
    struct at_stamp loser = stamp_of(&w->c, "r", 1, 2);
    assert_int_equal(winner.hlc, loser.hlc);
    assert_int_equal(winner.origin.v, 2);
    expect_everywhere(w, "r: f:q@1000=of b|");
}

static void of_equal_clocks_a_delete_wins_or_loses_everywhere(void **state)
{
    struct world *w = *state;

    assert_int_equal(fx_set(&w->a, "b-deletes", "f", "q", 1000, "v"), AT_OK);
    assert_int_equal(fx_set(&w->a, "a-deletes", "f", "q", 1000, "v"), AT_OK);
    all_exchange(w);
    stop_clocks(w);
    assert_int_equal(fx_set(&w->a, "b-deletes", "f", "q", 1000, "new"), AT_OK);
    assert_int_equal(fx_delete_row(&w->b, "b-deletes"), AT_OK);
    assert_int_equal(fx_set(&w->b, "a-deletes", "f", "q", 1000, "new"), AT_OK);
    assert_int_equal(fx_delete_row(&w->a, "a-deletes"), AT_OK);
    all_exchange(w);
    struct at_stamp marker = stamp_of(&w->c, "a-deletes", 0, 3);
    struct at_stamp cell = stamp_of(&w->c, "a-deletes", 1, 3);
    assert_int_equal(marker.hlc, cell.hlc);
    expect_everywhere(w, "a-deletes: f:q@1000=new|");
}

static void in_one_tick_the_later_request_wins(void **state)
{
    struct world *w = *state;

    stop_clocks(w);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fx_set(&w->a, "kept", "f", "q", 1000, "old"), AT_OK);
        assert_int_equal(fx_delete_row(&w->a, "kept"), AT_OK);
        assert_int_equal(fx_set(&w->a, "kept", "f", "q", 1000, "new"), AT_OK);
        assert_int_equal(fx_set(&w->a, "gone", "f", "q", 1000, "v"), AT_OK);
        assert_int_equal(fx_delete_row(&w->a, "gone"), AT_OK);
        fx_expect_rows(&w->a, "t", "kept: f:q@1000=new|");
    }
    all_exchange(w);
    expect_everywhere(w, "kept: f:q@1000=new|");
}

/* The write lies between the deletes and comes last, once to who has the older one first and once
 * to who has the newer one first. */
static void of_two_deletes_the_later_one_hides(void **state)
{
    struct world *w = *state;

    assert_int_equal(fx_delete_row(&w->a, "r"), AT_OK);
    w->c.wall_offset_ns = SKEW_NS / 2;
    assert_int_equal(fx_set(&w->c, "r", "f", "q", 1000, "between"), AT_OK);
    w->b.wall_offset_ns = SKEW_NS;
    assert_int_equal(fx_delete_row(&w->b, "r"), AT_OK);
    fx_pull(&w->a, &w->b, 1 << 20);
    fx_pull(&w->b, &w->a, 1 << 20);
    fx_expect_rows(&w->c, "t", "r: f:q@1000=between|");
    fx_pull(&w->a, &w->c, 1 << 20);
    fx_pull(&w->b, &w->c, 1 << 20);
    all_exchange(w);
    expect_everywhere(w, "");
    assert_int_equal(fx_set(&w->c, "r", "f", "q", 1000, "after"), AT_OK);
    all_exchange(w);
    expect_everywhere(w, "r: f:q@1000=after|");
}

static void the_newer_write_wins_after_a_compaction_too(void **state)
{
    struct world *w = *state;
    const struct at_slice start = AT_LIT("\0\0\0\0");
    const struct at_slice end = AT_LIT("\xff\xff\xff\xff");

    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "older"), AT_OK);
    w->a.wall_offset_ns = SKEW_NS;
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "newer"), AT_OK);
    at_engine_compact(at_store_engine(w->a.store), start, end);
    fx_pull(&w->a, &w->b, 1 << 20);
    fx_expect_rows(&w->a, "t", "r: f:q@1000=newer|");
    at_engine_compact(at_store_engine(w->a.store), start, end);
    fx_expect_rows(&w->a, "t", "r: f:q@1000=newer|");
    all_exchange(w);
    expect_everywhere(w, "r: f:q@1000=newer|");
}

static void what_has_seen_another_write_wins_whatever_its_clock(void **state)
{
    struct world *w = *state;

    w->a.wall_offset_ns = SKEW_NS;
    assert_int_equal(fx_set(&w->a, "r", "f", "q", 1000, "seen"), AT_OK);
    assert_int_equal(fx_set(&w->b, "unseen", "f", "q", 1000, "v"), AT_OK);
    fx_pull(&w->b, &w->a, 1 << 20);
    assert_int_equal(fx_set(&w->b, "r", "f", "q", 1000, "answer"), AT_OK);
    all_exchange(w);
    expect_everywhere(w, "r: f:q@1000=answer|unseen: f:q@1000=v|");
}

static void a_cell_of_the_future_does_not_move_the_clock(void **state)
{
    struct world *w = *state;
    int64_t future_micros = INT64_C(4102444800000000); /* 2100 */
    struct at_mutation m = fx_set_of("f", "q", future_micros, "v");

    assert_int_equal(fx_mutate(&w->a, "r", &m, 1, NULL), AT_OK);
    all_exchange(w);
    assert_int_equal(fx_set(&w->b, "s", "f", "q", 1000, "v"), AT_OK);
    uint64_t hlc = stamp_of(&w->b, "s", 0, 1).hlc;
    assert_true(hlc < fx_wall_ns(&w->b) + 2 * SKEW_NS);
    assert_true(stamp_of(&w->a, "r", 0, 1).hlc < hlc);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(of_equal_clocks_one_cluster_wins_everywhere),
        CASE(of_equal_clocks_a_delete_wins_or_loses_everywhere),
        CASE(in_one_tick_the_later_request_wins),
        CASE(of_two_deletes_the_later_one_hides),
        CASE(the_newer_write_wins_after_a_compaction_too),
        CASE(what_has_seen_another_write_wins_whatever_its_clock),
        CASE(a_cell_of_the_future_does_not_move_the_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
