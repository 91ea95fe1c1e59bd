#include "cli/range_hunt.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

/* Clusters whose rows are numbers below ROWS, each with a value (0: not there). */

#define ROWS 20000
#define PIECES_AT_ONCE 3

struct world {
    uint8_t values[3][ROWS];
    char found[512];
    uint32_t found_count;
    uint32_t found_max;
    bool lies; /* one cluster answers about other pieces */
};

static struct world world;

static struct at_slice key_of(struct at_arena *arena, uint32_t row)
{
    return at_slice_cstr(at_arena_printf(arena, "%05u", row));
}

static uint32_t row_of(struct at_slice key, uint32_t none)
{
    char text[8];

    if (key.len == 0)
        return none;
    snprintf(text, sizeof(text), "%.*s", AT_SLICE_ARG(key));
    return (uint32_t)strtoul(text, NULL, 10);
}

static void
end_piece(struct at_hunt_piece *piece, struct at_slice end, uint64_t digest, struct at_arena *arena)
{
    piece->end = end;
    piece->digest = at_arena_copy(arena, at_slice_make(&digest, sizeof(digest)));
}

static enum at_code ask(void *ctx,
                        const struct at_hunt_question *q,
                        struct at_arena *arena,
                        struct at_hunt_piece **ret_pieces,
                        uint32_t *ret_count,
                        struct at_error *reterr)
{
    struct world *w = ctx;
    uint32_t end = row_of(q->range.end, ROWS);
    struct at_hunt_piece *pieces = AT_ARENA_ARRAY(arena, struct at_hunt_piece, ROWS);
    uint32_t n = 0;
    uint64_t digest = 0;

    (void)reterr;
    *ret_pieces = pieces;
    for (uint32_t row = row_of(q->range.start, 0); row < end; row++) {
        while (n < q->cut_count && row_of(q->cuts[n], 0) <= row) {
            end_piece(&pieces[n], q->cuts[n], digest, arena);
            n++;
            digest = 0;
        }
        uint8_t value = w->values[q->cluster][row];
        if (value == 0)
            continue;
        if (q->piece_rows > 0 && pieces[n].rows == q->piece_rows) {
            end_piece(&pieces[n++], key_of(arena, row), digest, arena);
            digest = 0;
            if (n == PIECES_AT_ONCE) {
                *ret_count = n;
                return AT_OK;
            }
        }
        pieces[n].rows++;
        digest = digest * 1000003 + row * 257 + value;
    }
    for (; n < q->cut_count; n++, digest = 0)
        end_piece(&pieces[n], q->cuts[n], digest, arena);
    end_piece(&pieces[n++], w->lies && q->cluster == 1 ? AT_LIT("lie") : q->range.end, digest,
              arena);
    *ret_count = n;
    return AT_OK;
}

static enum at_code found(void *ctx, struct at_hunt_range range, struct at_error *reterr)
{
    struct world *w = ctx;
    uint32_t end = row_of(range.end, ROWS);

    for (uint32_t row = row_of(range.start, 0); row < end; row++)
        if (w->values[0][row] != w->values[1][row] || w->values[0][row] != w->values[2][row]) {
            size_t len = strlen(w->found);
            snprintf(w->found + len, sizeof(w->found) - len, "%u ", row);
        }
    return ++w->found_count == w->found_max ? at_fail(reterr, AT_ABORTED, "enough") : AT_OK;
}

static struct at_hunt_totals hunt(enum at_code expected)
{
    const struct at_hunt_port port = {&world, ask, found};
    struct at_hunt_totals totals;

    assert_int_equal(at_range_hunt_run(&port, 3, &totals, NULL), expected);
    return totals;
}

static int setup(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    for (int c = 0; c < 3; c++)
        for (uint32_t row = 0; row < ROWS; row += 2)
            world.values[c][row] = 1;
    return 0;
}

static void equal_clusters_are_read_once(void **state)
{
    (void)state;
    struct at_hunt_totals totals = hunt(AT_OK);
    assert_int_equal(world.found_count, 0);
    assert_int_equal(totals.digested_rows, 3 * ROWS / 2);
    for (int c = 0; c < 3; c++)
        assert_int_equal(totals.rows[c], ROWS / 2);
}

static void one_row_is_found_for_the_price_of_a_few_pieces(void **state)
{
    (void)state;
    world.values[2][12346] = 9;
    struct at_hunt_totals totals = hunt(AT_OK);
    assert_string_equal(world.found, "12346 ");
    assert_true(totals.digested_rows <= 3 * (ROWS / 2 + 4096 + 64 + 1));
    assert_int_equal(totals.rows[2], ROWS / 2);
}

static void rows_that_one_has_or_lacks_are_found_in_order(void **state)
{
    (void)state;
    world.values[1][1] = 1;
    world.values[2][3] = 1;
    world.values[0][8000] = 0;
    world.values[1][8001] = 1;
    world.values[2][ROWS - 1] = 1;
    (void)hunt(AT_OK);
    assert_string_equal(world.found, "1 3 8000 8001 19999 ");
}

static void an_empty_cluster_beside_full_ones_ends_when_it_is_told(void **state)
{
    (void)state;
    memset(world.values[0], 0, sizeof(world.values[0]));
    world.found_max = 20;
    (void)hunt(AT_ABORTED);
    assert_int_equal(world.found_count, 20);
    assert_memory_equal(world.found, "0 2 4 6 ", 8);
}

static void answers_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    world.lies = true;
    (void)hunt(AT_DATA_LOSS);
}

#define CASE(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(equal_clusters_are_read_once),
        CASE(one_row_is_found_for_the_price_of_a_few_pieces),
        CASE(rows_that_one_has_or_lacks_are_found_in_order),
        CASE(an_empty_cluster_beside_full_ones_ends_when_it_is_told),
        CASE(answers_that_do_not_fit_together_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
