#include "replication/origin.h"

#include "support/test.h"

static const struct at_member_id O = {5};

static struct at_vouch vouch(uint32_t voucher, uint32_t epoch, uint64_t seq)
{
    return (struct at_vouch){{voucher}, {O, epoch, seq}};
}

static void an_epoch_ends_at_the_furthest_vouch(void **state)
{
    struct at_origin o;
    uint64_t end = 0;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    assert_false(at_origin_end(&o, 1, &end));
    at_origin_vouched(&o, &(struct at_vouch){{5}, {O, 1, 4}});
    struct at_vouch more[] = {vouch(2, 1, 9), vouch(5, 1, 2), vouch(3, 2, 50)};
    for (size_t i = 0; i < 3; i++)
        at_origin_vouched(&o, &more[i]);
    assert_true(at_origin_end(&o, 1, &end));
    assert_int_equal(end, 9);
    assert_int_equal(o.closed.vouch_count, 3);
    assert_false(at_origin_end(&o, 2, &end)); /* its own word is not there yet */
    at_origin_deinit(&o);
}

static void facts_of_other_origins_or_of_gone_epochs_are_ignored(void **state)
{
    struct at_origin o;
    uint64_t end = 0;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_origin_vouched(&o, &(struct at_vouch){{1}, {{6}, 1, 4}});
    assert_false(at_origin_end(&o, 1, &end));
    struct at_vouch v = vouch(5, 1, 4);
    at_origin_vouched(&o, &v);
    at_origin_prune(&o);
    v.position.seq = 99;
    at_origin_vouched(&o, &v);
    at_origin_ended(&o, &(struct at_epoch_end){O, 1, 77});
    assert_true(at_origin_end(&o, 1, &end));
    assert_int_equal(end, 4);
    v.position.epoch = 2 + AT_OPEN_EPOCHS_MAX;
    at_origin_vouched(&o, &v);
    assert_false(at_origin_end(&o, v.position.epoch, &end));
    at_origin_deinit(&o);
}

static void a_promise_counts_when_its_position_and_all_older_ends_are_covered(void **state)
{
    struct at_origin o;
    struct at_vector v;
    struct at_promise p = {O, 3, 7, 1000, 1};
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_vector_init(&v);
    (void)at_vector_raise(&v, (struct at_position){O, 1, 4});
    (void)at_vector_raise(&v, (struct at_position){O, 3, 7});
    assert_false(at_origin_counts(&o, &p, &v)); /* ends not known */
    struct at_vouch one = vouch(5, 1, 4);
    struct at_vouch two = vouch(5, 2, 1);
    at_origin_vouched(&o, &one);
    at_origin_vouched(&o, &two);
    assert_false(at_origin_counts(&o, &p, &v)); /* 2/1 is missing */
    (void)at_vector_raise(&v, (struct at_position){O, 2, 1});
    assert_true(at_origin_counts(&o, &p, &v));
    p.seq = 8;
    assert_false(at_origin_counts(&o, &p, &v));
    p = (struct at_promise){O, 3, 7, 0, 1};
    assert_false(at_origin_counts(&o, &p, &v)); /* none */
    at_vector_deinit(&v);
    at_origin_deinit(&o);
}

/* Its origin has dropped epoch 1, and did not know then of who reads this. */
static void a_promise_counts_only_with_the_epochs_that_its_origin_lists_no_more(void **state)
{
    struct at_origin o;
    struct at_vector v;
    struct at_promise p = {O, 2, 0, 1000, 2};
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_vector_init(&v);
    at_origin_ended(&o, &(struct at_epoch_end){O, 1, 4});
    assert_false(at_origin_counts(&o, &p, &v));
    (void)at_vector_raise(&v, (struct at_position){O, 1, 4});
    assert_true(at_origin_counts(&o, &p, &v));
    at_vector_deinit(&v);
    at_origin_deinit(&o);
}

static void epochs_that_leave_with_a_copy_keep_their_ends(void **state)
{
    struct at_origin o;
    uint64_t end = 0;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    struct at_vouch words[] = {vouch(5, 1, 4), vouch(2, 1, 6), vouch(5, 3, 8)};
    for (size_t i = 0; i < 3; i++)
        at_origin_vouched(&o, &words[i]);
    at_origin_ended(&o, &(struct at_epoch_end){O, 2, 9});
    at_origin_skip_to(&o, 3);
    assert_true(at_origin_end(&o, 1, &end) && end == 6);
    assert_true(at_origin_end(&o, 2, &end) && end == 9);
    assert_int_equal(o.closed.vouch_count, 1);
    at_origin_deinit(&o);
}

static void an_older_unmet_promise_is_kept_while_newer_ones_come(void **state)
{
    struct at_origin o;
    struct at_vector v;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_vector_init(&v);
    for (uint64_t i = 1; i <= 5; i++)
        at_origin_promised(&o, &(struct at_promise){O, 1, i * 10, i * 100, 1});
    assert_int_equal(o.next.hlc, 100);
    assert_int_equal(o.newest.hlc, 500);
    (void)at_vector_raise(&v, (struct at_position){O, 1, 10});
    at_origin_settle(&o, &v);
    assert_int_equal(o.best.hlc, 100);
    assert_int_equal(o.next.hlc, 500);
    (void)at_vector_raise(&v, (struct at_position){O, 1, 50});
    at_origin_settle(&o, &v);
    assert_int_equal(o.best.hlc, 500);
    at_origin_promised(&o, &(struct at_promise){O, 1, 20, 200, 1}); /* old news */
    at_origin_settle(&o, &v);
    assert_int_equal(o.best.hlc, 500);
    assert_int_equal(o.next.hlc, 0);
    at_vector_deinit(&v);
    at_origin_deinit(&o);
}

static void a_promise_that_its_origin_cannot_keep_gives_way_to_one_of_a_later_epoch(void **state)
{
    struct at_origin o;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_origin_promised(&o, &(struct at_promise){O, 1, 10, 100, 1});
    at_origin_promised(&o, &(struct at_promise){O, 2, 0, 200, 1});
    assert_int_equal(o.next.hlc, 200);
    assert_int_equal(o.newest.hlc, 0);
    at_origin_deinit(&o);
}

static void the_newest_ends_are_kept_and_older_ones_forgotten(void **state)
{
    struct at_origin o;
    uint64_t end = 0;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    for (uint32_t e = 1; e <= 200; e++) {
        struct at_vouch v = vouch(5, e, e);
        at_origin_vouched(&o, &v);
        at_origin_prune(&o);
    }
    assert_int_equal(o.first_open, 201);
    assert_true(at_origin_end(&o, 200, &end));
    assert_true(at_origin_end(&o, 150, &end));
    assert_false(at_origin_end(&o, 100, &end));
    assert_in_range(o.closed.end_count, 60, 66);
    assert_int_equal(o.closed.vouch_count, 0);
    at_origin_deinit(&o);
}

static void the_stored_form_comes_back_and_its_prefixes_are_refused(void **state)
{
    struct at_origin o;
    struct at_origin got;
    struct at_buf out;
    uint64_t end = 0;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_buf_init(&out, 4096);
    struct at_vouch v[] = {vouch(5, 1, 4), vouch(5, 2, 300), vouch(2, 2, 200)};
    for (size_t i = 0; i < 3; i++)
        at_origin_vouched(&o, &v[i]);
    at_origin_prune(&o);
    o.min_incarnation = 7;
    o.registered = (struct at_position){{1}, 2, 3};
    o.last = (struct at_position){O, 4, 5};
    at_origin_set_info(&o, AT_LIT("where it is"));
    assert_int_equal(at_origin_encode(&o, &out), AT_OK);
    for (size_t n = 0; n < out.len; n++) {
        at_origin_init(&got, O, AT_ORIGIN_KNOWN);
        assert_int_equal(at_origin_decode(&got, at_slice_make(out.data, n)), AT_INVALID_ARGUMENT);
        at_origin_deinit(&got);
    }
    at_origin_init(&got, O, AT_ORIGIN_KNOWN);
    assert_int_equal(at_origin_decode(&got, at_buf_slice(&out)), AT_OK);
    assert_int_equal(got.state, AT_ORIGIN_ACTIVE);
    assert_int_equal(got.min_incarnation, 7);
    assert_int_equal(got.first_open, 2);
    assert_int_equal(got.registered.origin.v, 1);
    assert_int_equal(got.registered.seq, 3);
    assert_int_equal(got.last.epoch, 4);
    assert_true(at_slice_eq_cstr(at_slice_make(got.info, got.info_len), "where it is"));
    assert_true(at_origin_end(&got, 1, &end) && end == 4);
    assert_true(at_origin_end(&got, 2, &end) && end == 300);
    at_origin_deinit(&got);
    at_origin_deinit(&o);
    at_buf_deinit(&out);
}

static void a_store_of_an_older_version_lacks_only_what_is_new(void **state)
{
    static const uint8_t old[] = {0x96, 1, 0xc2, 7, 2, 0x92, 1, 4, 0x93, 2, 5, 9};
    struct at_origin o;
    uint64_t end = 0;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_KNOWN);
    assert_int_equal(at_origin_decode(&o, at_slice_make(old, sizeof(old))), AT_OK);
    assert_int_equal(o.state, AT_ORIGIN_ACTIVE);
    assert_int_equal(o.first_open, 2);
    assert_true(at_origin_end(&o, 2, &end) && end == 9);
    assert_int_equal(o.registered.epoch, 0);
    assert_int_equal(o.info_len, 0);
    at_origin_deinit(&o);
}

static void one_that_left_ends_with_its_last_entry(void **state)
{
    struct at_origin o;
    struct at_vector v;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_vector_init(&v);
    at_origin_left(&o, (struct at_position){O, 2, 6});
    assert_int_equal(o.state, AT_ORIGIN_LEFT);
    assert_false(at_origin_beyond_final(&o, 2, 6));
    assert_true(at_origin_beyond_final(&o, 2, 7));
    assert_true(at_origin_beyond_final(&o, 3, 1));
    assert_false(at_origin_beyond_final(&o, 1, 99)); /* its end is told later */
    (void)at_vector_raise(&v, (struct at_position){O, 2, 6});
    assert_false(at_origin_final_applied(&o, &v)); /* epoch 1 is not known to be complete */
    struct at_vouch one = vouch(5, 1, 3);
    at_origin_vouched(&o, &one);
    assert_false(at_origin_final_applied(&o, &v));
    (void)at_vector_raise(&v, (struct at_position){O, 1, 3});
    assert_true(at_origin_final_applied(&o, &v));
    at_vector_deinit(&v);
    at_origin_deinit(&o);
}

static void one_that_was_removed_ends_with_what_the_living_vouched_for(void **state)
{
    struct at_origin o;
    struct at_vector v;
    uint64_t end = 0;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_vector_init(&v);
    struct at_vouch words[] = {vouch(5, 1, 90), vouch(2, 1, 4), vouch(3, 1, 7)};
    for (size_t i = 0; i < 3; i++)
        at_origin_vouched(&o, &words[i]);
    (void)at_vector_raise(&v, (struct at_position){O, 2, 1});
    at_origin_removed(&o, &v);
    assert_true(at_origin_end(&o, 1, &end));
    assert_int_equal(end, 7); /* its own word is void */
    assert_true(at_origin_end(&o, 2, &end));
    assert_int_equal(end, 0);
    assert_true(at_origin_beyond_final(&o, 3, 1));
    assert_false(at_origin_final_applied(&o, &v));
    at_origin_void(&o, (struct at_member_id){3});
    assert_true(at_origin_end(&o, 1, &end));
    assert_int_equal(end, 4); /* and so is that of a voucher that was removed later */
    (void)at_vector_raise(&v, (struct at_position){O, 1, 4});
    assert_true(at_origin_final_applied(&o, &v));
    at_vector_deinit(&v);
    at_origin_deinit(&o);
}

static void a_closed_epoch_does_not_end_before_what_was_applied(void **state)
{
    struct at_vouch words[] = {vouch(5, 1, 0), vouch(2, 1, 4), vouch(3, 1, 1), vouch(2, 2, 9)};
    struct at_origin o;
    struct at_vector v;
    uint64_t end = 0;
    (void)state;

    at_origin_init(&o, O, AT_ORIGIN_ACTIVE);
    at_vector_init(&v);
    for (size_t i = 0; i < 4; i++)
        at_origin_vouched(&o, &words[i]);
    (void)at_vector_raise(&v, (struct at_position){O, 1, 4});
    (void)at_vector_raise(&v, (struct at_position){O, 2, 9});
    (void)at_vector_raise(&v, (struct at_position){{9}, 1, 70});
    at_origin_keep(&o, &v);
    assert_int_equal(o.closed.end_count, 0);
    at_origin_void(&o, (struct at_member_id){2});
    at_origin_keep(&o, &v);
    assert_true(at_origin_end(&o, 1, &end));
    assert_int_equal(end, 4);
    assert_false(at_origin_end(&o, 2, &end)); /* still open */
    at_vector_deinit(&v);
    at_origin_deinit(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_ends_at_the_furthest_vouch),
        cmocka_unit_test(facts_of_other_origins_or_of_gone_epochs_are_ignored),
        cmocka_unit_test(a_promise_counts_when_its_position_and_all_older_ends_are_covered),
        cmocka_unit_test(a_promise_counts_only_with_the_epochs_that_its_origin_lists_no_more),
        cmocka_unit_test(epochs_that_leave_with_a_copy_keep_their_ends),
        cmocka_unit_test(an_older_unmet_promise_is_kept_while_newer_ones_come),
        cmocka_unit_test(a_promise_that_its_origin_cannot_keep_gives_way_to_one_of_a_later_epoch),
        cmocka_unit_test(the_newest_ends_are_kept_and_older_ones_forgotten),
        cmocka_unit_test(a_store_of_an_older_version_lacks_only_what_is_new),
        cmocka_unit_test(one_that_left_ends_with_its_last_entry),
        cmocka_unit_test(one_that_was_removed_ends_with_what_the_living_vouched_for),
        cmocka_unit_test(a_closed_epoch_does_not_end_before_what_was_applied),
        cmocka_unit_test(the_stored_form_comes_back_and_its_prefixes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
