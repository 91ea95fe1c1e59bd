#include "support/service_fixture.h"

/* Reads as streams: long ones, interrupted ones, many at once. */

static struct sfx *fixture;

/* Writes `count` rows r00000.. of one cell of `value_bytes`. */
static void write_rows(unsigned count, size_t value_bytes)
{
    struct at_buf text;

    for (unsigned done = 0; done < count;) {
        struct sfx_call c;
        sfx_call_init(&c, fixture);
        at_buf_init(&text, 64 * AT_MIB);
        assert_int_equal(at_buf_printf(&text, "1:$t "), AT_OK);
        for (unsigned i = 0; i < 1000 && done < count; i++, done++)
            assert_int_equal(
                at_buf_printf(&text, "2{1:r%05u 2{1{1:f 2:q 4:*%zu}}} ", done, value_bytes), AT_OK);
        sfx_run(&c, "MutateRows", at_buf_cstr(&text));
        assert_int_equal(c.code, AT_OK);
        at_buf_deinit(&text);
        sfx_call_deinit(&c);
    }
}

static void a_long_scan_arrives_whole(void **state)
{
    struct sfx_call c;

    (void)state;
    sfx_clear(fixture);
    write_rows(400, 64 * AT_KIB);
    sfx_call_init(&c, fixture);
    sfx_run(&c, "ReadRows", "1:$t 6=2");
    assert_int_equal(c.code, AT_OK);
    assert_int_equal(c.rows.rows, 400);
    assert_int_equal(c.rows.stats[1], 400);
    assert_true(c.message_count > 50);
    assert_true(c.rows.message_bytes_max < 2 * AT_MIB);
    sfx_call_deinit(&c);
}

static void a_large_value_comes_back_in_parts(void **state)
{
    struct sfx_call c;
    char want[80];
    size_t size = 20 * AT_MIB + 1;

    (void)state;
    sfx_clear(fixture);
    sfx_call_init(&c, fixture);
    sfx_run(&c, "MutateRow", "1:$t 2:r 3{1{1:f 2:q 4:*20971521}}");
    assert_int_equal(c.code, AT_OK);
    sfx_call_deinit(&c);
    uint8_t *value = at_alloc(size);
    memset(value, 'x', size);
    (void)snprintf(want, sizeof(want), "r f:q@0=<%zu,%" PRIx64 ">;", size,
                   at_hash64(at_slice_make(value, size), 0));
    at_free(value);
    sfx_call_init(&c, fixture);
    sfx_run(&c, "ReadRows", "1:$t");
    assert_string_equal(at_buf_cstr(&c.rows.text), want);
    assert_true(c.message_count > 20);
    sfx_call_deinit(&c);
}

/* Several steps lie within one row. */
static void a_row_of_many_cells_is_one_row(void **state)
{
    struct sfx_call c;
    struct at_buf text;

    (void)state;
    sfx_clear(fixture);
    sfx_call_init(&c, fixture);
    at_buf_init(&text, 16 * AT_MIB);
    assert_int_equal(at_buf_printf(&text, "1:$t 2:r "), AT_OK);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(at_buf_printf(&text, "3{1{1:%c 2:q%05d 4:*1000}}", i % 2 ? 'f' : 'g', i),
                         AT_OK);
    sfx_run(&c, "MutateRow", at_buf_cstr(&text));
    assert_int_equal(c.code, AT_OK);
    at_buf_deinit(&text);
    sfx_call_deinit(&c);
    sfx_call_init(&c, fixture);
    sfx_run(&c, "ReadRows", "1:$t 6=2");
    assert_int_equal(c.code, AT_OK);
    assert_int_equal(c.rows.rows, 1);
    assert_int_equal(c.rows.cells, 5000);
    assert_int_equal(c.rows.stats[3], 5000);
    assert_true(c.rows.message_bytes_max < 256 * AT_KIB);
    sfx_call_deinit(&c);
}

static unsigned marks_with(const char *features)
{
    struct sfx_call c;

    sfx_call_init(&c, fixture);
    (void)sfx_start(&c, "ReadRows", wire_text("1:$t 3{9:nothing}", &c.arena), features);
    sfx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    assert_int_equal(c.rows.rows, 0);
    unsigned marks = c.rows.marks;
    sfx_call_deinit(&c);
    return marks;
}

static void rows_without_output_are_marked_now_and_then(void **state)
{
    (void)state;
    sfx_clear(fixture);
    write_rows(20000, 100);
    unsigned marks = marks_with("bigtable-features IAE=");
    assert_true(marks >= 2 && marks <= 20);
    assert_true(marks_with("bigtable-features IAE") >= 2);
    assert_int_equal(marks_with("bigtable-features CAE="), 0);
    assert_int_equal(marks_with(NULL), 0);
}

static void marks_lie_between_the_rows_that_come_out(void **state)
{
    struct sfx_call c;

    (void)state;
    sfx_call_init(&c, fixture);
    (void)sfx_start(&c, "ReadRows", wire_text("1:$t 3{4:'r..000'}", &c.arena),
                    "bigtable-features IAE=");
    sfx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    assert_int_equal(c.rows.rows, 20);
    sfx_call_deinit(&c);
}

static void many_scans_at_once_are_all_complete(void **state)
{
    enum { SCANS = 20 };
    static struct sfx_call calls[SCANS];
    struct sfx_call point;

    (void)state;
    for (int i = 0; i < SCANS; i++) {
        sfx_call_init(&calls[i], fixture);
        (void)sfx_start(&calls[i], "ReadRows", wire_text("1:$t", &calls[i].arena), NULL);
    }
    sfx_call_init(&point, fixture);
    sfx_run(&point, "ReadRows", "1:$t 2{1:r00007}");
    assert_int_equal(point.rows.rows, 1);
    sfx_call_deinit(&point);
    for (int i = 0; i < SCANS; i++) {
        sfx_finish(&calls[i]);
        assert_int_equal(calls[i].code, AT_OK);
        assert_int_equal(calls[i].rows.rows, 20000);
        sfx_call_deinit(&calls[i]);
    }
}

struct canceller {
    struct at_grpc_client_call *call;
    unsigned after;
    bool stopped;
};

static void stop_early(struct sfx_call *c, struct at_slice message)
{
    struct canceller *x = c->ctx;

    (void)message;
    if (c->message_count == x->after && !x->stopped) {
        x->stopped = true;
        at_loop_stop(c->s->loop);
    }
}

static void cancelled_scans_leave_nothing_behind(void **state)
{
    (void)state;
    sfx_clear(fixture);
    write_rows(300, 64 * AT_KIB);
    for (unsigned after = 1; after <= 60; after += 20) {
        struct canceller x = {.after = after};
        struct sfx_call c;
        sfx_call_init(&c, fixture);
        c.on_message = stop_early;
        c.ctx = &x;
        x.call = sfx_start(&c, "ReadRows", wire_text("1:$t", &c.arena), NULL);
        while (!x.stopped)
            at_loop_run(fixture->loop);
        at_grpc_client_cancel(x.call);
        sfx_call_deinit(&c);
    }
    struct sfx_call c;
    sfx_call_init(&c, fixture);
    sfx_run(&c, "ReadRows", "1:$t 4=2");
    assert_int_equal(c.rows.rows, 2);
    sfx_call_deinit(&c);
}

static int open_fixture(void **state)
{
    (void)state;
    fixture = AT_NEW(struct sfx);
    sfx_open(fixture);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    sfx_close(fixture);
    at_free(fixture);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_scan_arrives_whole),
        cmocka_unit_test(a_large_value_comes_back_in_parts),
        cmocka_unit_test(a_row_of_many_cells_is_one_row),
        cmocka_unit_test(rows_without_output_are_marked_now_and_then),
        cmocka_unit_test(marks_lie_between_the_rows_that_come_out),
        cmocka_unit_test(many_scans_at_once_are_all_complete),
        cmocka_unit_test(cancelled_scans_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
