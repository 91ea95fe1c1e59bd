#include "support/test.h"

#include "support/store_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A request that is repeated under one idempotency token is applied once. */

#define TOKEN AT_LIT("0123456789abcdef")
#define MINUTE_NS (60 * (int64_t)AT_S_NS)
#define FIVE "r: n:q@1000=%00%00%00%00%00%00%00%05|"
#define TEN "r: n:q@1000=%00%00%00%00%00%00%00%0A|"

struct world {
    struct fx a, b;
};

static int setup(void **state)
{
    struct world *w = at_alloc(sizeof(*w));

    fx_open(&w->a, 1, 2);
    fx_open(&w->b, 2, 2);
    fx_make_table(&w->a);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    fx_exchange(&w->a, &w->b);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    fx_close(&w->a);
    fx_close(&w->b);
    at_free(w);
    return 0;
}

struct attempt {
    const char *row;
    struct at_slice token;
    int64_t start_micros;
    uint64_t ret_seq;
};

static enum at_code add_five(struct fx *f, struct attempt *a, struct at_error *reterr)
{
    uint8_t five[8] = {0, 0, 0, 0, 0, 0, 0, 5};
    struct at_mutation m = {
        .kind = AT_MUTATION_ADD,
        .family = AT_LIT("n"),
        .qualifier = AT_LIT("q"),
        .timestamp_micros = 1000,
        .value = at_slice_make(five, sizeof(five)),
    };
    struct at_row_mutations row = {
        .row = fx_s(a->row),
        .mutations = &m,
        .mutation_count = 1,
        .token = a->token,
        .token_start_micros = a->start_micros,
        .error = reterr,
    };
    struct at_write_rows write = {
        .base = {.kind = AT_WRITE_ROWS},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .rows = &row,
        .row_count = 1,
    };

    assert_int_equal(fx_run(f, &write.base), AT_OK);
    a->ret_seq = write.base.seq;
    return row.code;
}

static void add_five_ok(struct fx *f)
{
    struct attempt a = {.row = "r", .token = TOKEN};

    assert_int_equal(add_five(f, &a, NULL), AT_OK);
}

static void a_repeated_request_is_applied_once(void **state)
{
    struct world *w = *state;
    struct attempt other = {.row = "s", .token = TOKEN};

    for (int i = 0; i < 3; i++)
        add_five_ok(&w->a);
    fx_expect_rows(&w->a, "t", FIVE);
    assert_int_equal(add_five(&w->a, &other, NULL), AT_OK); /* a token guards its row */
    other = (struct attempt){.row = "r", .token = AT_LIT("another token")};
    assert_int_equal(add_five(&w->a, &other, NULL), AT_OK);
    fx_expect_rows(&w->a, "t", TEN "s: n:q@1000=%00%00%00%00%00%00%00%05|");
}

static void requests_in_one_round_are_told_apart_too(void **state)
{
    enum { COUNT = 8 };
    struct world *w = *state;
    uint8_t five[8] = {0, 0, 0, 0, 0, 0, 0, 5};
    struct at_mutation m[COUNT];
    struct at_row_mutations rows[COUNT];
    struct at_write_rows write = {
        .base = {.kind = AT_WRITE_ROWS},
        .table = AT_LIT("t"),
        .full_name = FX_NAME,
        .rows = rows,
        .row_count = COUNT,
    };

    for (int i = 0; i < COUNT; i++) {
        m[i] = (struct at_mutation){.kind = AT_MUTATION_ADD,
                                    .family = AT_LIT("n"),
                                    .qualifier = AT_LIT("q"),
                                    .timestamp_micros = 1000,
                                    .value = at_slice_make(five, sizeof(five))};
        rows[i] = (struct at_row_mutations){
            .row = AT_LIT("r"), .mutations = &m[i], .mutation_count = 1, .token = TOKEN};
    }
    assert_int_equal(fx_run(&w->a, &write.base), AT_OK);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(rows[i].code, AT_OK);
    fx_expect_rows(&w->a, "t", FIVE);
}

static void a_cluster_that_has_the_entry_knows_the_token(void **state)
{
    struct world *w = *state;

    add_five_ok(&w->a);
    fx_pull(&w->b, &w->a, 1 << 20);
    add_five_ok(&w->b);
    fx_exchange(&w->a, &w->b);
    fx_expect_rows(&w->a, "t", FIVE);
    fx_expect_rows(&w->b, "t", FIVE);
    at_store_close(&w->b.store); /* and goes on knowing it */
    fx_reopen(&w->b);
    add_five_ok(&w->b);
    fx_expect_rows(&w->b, "t", FIVE);
}

static void the_token_is_known_after_a_restart(void **state)
{
    struct world *w = *state;

    add_five_ok(&w->a);
    at_store_close(&w->a.store);
    fx_reopen(&w->a);
    add_five_ok(&w->a);
    fx_expect_rows(&w->a, "t", FIVE);
}

/* A process of its own writes and is killed before it can close anything. */
static void the_token_is_known_after_a_kill(void **state)
{
    struct world *w = *state;
    int status = 0;

#ifdef __SANITIZE_THREAD__
    skip(); /* it has no threads behind a fork */
#endif
    at_store_close(&w->a.store);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fx_reopen(&w->a);
        add_five_ok(&w->a);
        (void)kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    fx_reopen(&w->a);
    fx_expect_rows(&w->a, "t", FIVE);
    add_five_ok(&w->a);
    fx_expect_rows(&w->a, "t", FIVE);
}

static void what_was_refused_may_be_tried_again(void **state)
{
    struct world *w = *state;

    assert_int_equal(fx_change(&w->a, "t", "n", (struct at_slice){NULL, 0}, false), AT_OK);
    struct attempt a = {.row = "r", .token = TOKEN};
    assert_int_equal(add_five(&w->a, &a, NULL), AT_NOT_FOUND);
    assert_int_equal(fx_change(&w->a, "t", "n", FX_FIELDS(FX_SUM), true), AT_OK);
    assert_int_equal(add_five(&w->a, &a, NULL), AT_OK);
    assert_true(a.ret_seq > 0);
    fx_expect_rows(&w->a, "t", FIVE);
}

static void a_request_that_started_long_ago_is_refused(void **state)
{
    struct world *w = *state;
    struct at_error error = {0};
    int64_t now = (int64_t)(fx_wall_ns(&w->a) / 1000);
    struct attempt a = {.row = "r", .token = TOKEN};

    a.start_micros = now - 16 * MINUTE_NS / 1000;
    assert_int_equal(add_five(&w->a, &a, &error), AT_FAILED_PRECONDITION);
    assert_non_null(strstr(error.msg, "start_time"));
    fx_expect_rows(&w->a, "t", "");
    a.start_micros = now - 14 * MINUTE_NS / 1000;
    assert_int_equal(add_five(&w->a, &a, &error), AT_OK);
    a.start_micros = now + 5 * MINUTE_NS / 1000; /* of a client whose clock is ahead */
    a.token = AT_LIT("another token");
    assert_int_equal(add_five(&w->a, &a, &error), AT_OK);
    fx_expect_rows(&w->a, "t", TEN);
}

static uint32_t stored_tokens(struct fx *f)
{
    struct at_iter_options options = {0};
    struct at_iter *i = at_iter_open(at_store_engine(f->store), AT_SPACE_META, &options);
    uint32_t count = 0;

    for (at_iter_seek(i, AT_LIT("t")); at_iter_valid(i) && at_iter_key(i).data[0] == 't';
         at_iter_next(i))
        count++;
    at_iter_close(&i);
    return count;
}

/* A running cluster would not trust a clock that jumps. */
static void later(struct fx *f, int64_t offset_ns)
{
    at_store_close(&f->store);
    f->wall_offset_ns = (uint64_t)offset_ns;
    fx_reopen(f);
}

static void a_token_is_forgotten_when_its_time_is_over(void **state)
{
    struct world *w = *state;

    add_five_ok(&w->a);
    assert_int_equal(stored_tokens(&w->a), 1);
    later(&w->a, 14 * MINUTE_NS);
    add_five_ok(&w->a);
    fx_expect_rows(&w->a, "t", FIVE);
    later(&w->a, 19 * MINUTE_NS);
    for (int i = 0; i < 6000 && stored_tokens(&w->a) > 0; i++)
        usleep(10000); /* the writer keeps house every few seconds */
    assert_int_equal(stored_tokens(&w->a), 0);
    add_five_ok(&w->a);
    fx_expect_rows(&w->a, "t", TEN);
}

int main(void)
{
#define TOKEN_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TOKEN_TEST(a_repeated_request_is_applied_once),
        TOKEN_TEST(requests_in_one_round_are_told_apart_too),
        TOKEN_TEST(a_cluster_that_has_the_entry_knows_the_token),
        TOKEN_TEST(the_token_is_known_after_a_restart),
        TOKEN_TEST(the_token_is_known_after_a_kill),
        TOKEN_TEST(what_was_refused_may_be_tried_again),
        TOKEN_TEST(a_request_that_started_long_ago_is_refused),
        TOKEN_TEST(a_token_is_forgotten_when_its_time_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
