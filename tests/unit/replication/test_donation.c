#include "replication/donation.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

/* Vectors are written as "origin.epoch:seq ..."; a plan as its parts "origin.epoch:first-last" and
 * gaps "origin.epoch<base". The donor is member 1. */

struct donation_case {
    const char *name;
    const char *held;
    const char *base;
    const char *asker;
    uint32_t skip; /* an origin; 0: none */
    uint32_t start_after;
    const char *plan;
};

static const struct donation_case cases[] = {
    {"sends nothing to one that has all", "1.1:5 2.1:3", "", "1.1:5 2.1:3", 0, 0, ""},
    {"sends nothing to one that has more", "1.1:5", "", "1.1:9", 0, 0, ""},
    {"begins right behind what the asker has", "1.1:5", "", "1.1:2", 0, 0, "1.1:3-5 "},
    {"sends all origins, own and relayed", "1.1:5 2.1:3", "", "", 0, 0, "1.1:1-5 2.1:1-3 "},
    {"sends all epochs, older ones first", "1.1:5 1.2:7", "", "", 0, 0, "1.1:1-5 1.2:1-7 "},
    {"leaves out what is skipped", "1.1:5 2.1:3", "", "", 2, 0, "1.1:1-5 "},
    {"tells a gap and sends no entries of it", "1.1:5 2.1:9", "2.1:4", "2.1:3", 0, 0,
     "1.1:1-5 2.1<4 "},
    {"sends when the asker is exactly at base", "2.1:9", "2.1:4", "2.1:4", 0, 0, "2.1:5-9 "},
    {"tells no gap of what is skipped", "2.1:9", "2.1:4", "", 2, 0, ""},
    {"goes round the origins", "1.1:1 2.1:1 3.1:1", "", "", 0, 1, "2.1:1-1 3.1:1-1 1.1:1-1 "},
    {"goes round from the last to the first", "1.1:1 3.1:1", "", "", 0, 3, "1.1:1-1 3.1:1-1 "},
};

static void parse(struct at_vector *v, const char *text)
{
    at_vector_init(v);
    while (*text != '\0') {
        struct at_position p = {{0}, 0, 0};
        char *end = NULL;
        p.origin.v = (uint32_t)strtoul(text, &end, 10);
        p.epoch = (uint32_t)strtoul(end + 1, &end, 10);
        p.seq = strtoull(end + 1, &end, 10);
        assert_int_equal(at_vector_set(v, p), AT_OK);
        text = *end == ' ' ? end + 1 : end;
    }
}

static void plan_text(const struct at_donation *plan, struct at_buf *out)
{
    for (uint32_t i = 0; i < plan->part_count; i++) {
        const struct at_donation_part *p = &plan->parts[i];
        assert_int_equal(at_buf_printf(out, "%u.%u:%llu-%llu ", p->first.origin.v, p->first.epoch,
                                       (unsigned long long)p->first.seq,
                                       (unsigned long long)p->last_seq),
                         AT_OK);
    }
    for (uint32_t i = 0; i < plan->gap_count; i++) {
        struct at_position base = plan->gaps[i].base;
        assert_int_equal(at_buf_printf(out, "%u.%u<%llu ", base.origin.v, base.epoch,
                                       (unsigned long long)base.seq),
                         AT_OK);
    }
}

struct scene {
    struct at_replica_view view;
    struct at_pull pull;
    struct at_donation plan;
    struct at_buf text;
};

static void setup(struct scene *s, const char *held, const char *base, const char *asker)
{
    *s = (struct scene){0};
    at_replica_view_init(&s->view);
    s->view.mode = AT_MODE_READY;
    s->view.self.v = 1;
    parse(&s->view.applied, held);
    parse(&s->view.base, base);
    parse(&s->pull.applied, asker);
    at_positions_facts_init(&s->pull.facts);
    at_buf_init(&s->text, 10000);
}

static const char *plan_of(struct scene *s, uint32_t start_after)
{
    at_donation_plan(&s->view, &s->pull, (struct at_member_id){start_after}, &s->plan);
    assert_int_equal(at_donation_news(&s->view, &s->pull), s->plan.part_count > 0);
    at_buf_clear(&s->text);
    plan_text(&s->plan, &s->text);
    return at_buf_cstr(&s->text);
}

static void teardown(struct scene *s)
{
    at_replica_view_deinit(&s->view);
    at_vector_deinit(&s->pull.applied);
    at_positions_facts_deinit(&s->pull.facts);
    at_buf_deinit(&s->text);
}

static void run_case(void **state)
{
    const struct donation_case *c = *state;
    struct scene s;

    setup(&s, c->held, c->base, c->asker);
    if (c->skip != 0)
        s.pull.skip[s.pull.skip_count++].v = c->skip;
    assert_string_equal(plan_of(&s, c->start_after), c->plan);
    teardown(&s);
}

static void a_donor_that_is_being_filled_gives_nothing(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, "1.1:5", "", "");
    s.view.mode = AT_MODE_COPYING;
    assert_string_equal(plan_of(&s, 0), "");
    s.view.mode = AT_MODE_INIT;
    assert_string_equal(plan_of(&s, 0), "");
    s.view.mode = AT_MODE_NEEDS_COPY; /* what it has is good */
    assert_string_equal(plan_of(&s, 0), "1.1:1-5 ");
    teardown(&s);
}

static void epochs_that_the_asker_has_closed_are_not_sent_again(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, "2.1:5 2.2:3", "", "");
    at_positions_facts_add_first_open(&s.pull.facts, (struct at_first_open){{2}, 2});
    assert_string_equal(plan_of(&s, 0), "2.2:1-3 ");
    teardown(&s);
}

static void an_epoch_closed_here_is_a_gap_for_one_that_lacks_its_end(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, "2.2:3", "", "2.1:4 2.2:3");
    at_positions_facts_add_first_open(&s.view.facts, (struct at_first_open){{2}, 2});
    at_positions_facts_add_end(&s.view.facts, (struct at_epoch_end){{2}, 1, 5});
    assert_string_equal(plan_of(&s, 0), "2.1<5 ");
    at_vector_raise(&s.pull.applied, (struct at_position){{2}, 1, 5});
    assert_string_equal(plan_of(&s, 0), "");
    teardown(&s);
}

static void more_pairs_than_fit_are_cut(void **state)
{
    (void)state;
    struct scene s;

    setup(&s, "", "", "");
    for (uint32_t epoch = 1; epoch <= AT_DONATION_PARTS_MAX + 5; epoch++)
        at_vector_raise(&s.view.applied, (struct at_position){{2}, epoch, 1});
    (void)plan_of(&s, 0);
    assert_int_equal(s.plan.part_count, AT_DONATION_PARTS_MAX);
    assert_true(s.plan.cut);
    teardown(&s);
}

#define CASE_COUNT (sizeof(cases) / sizeof(*cases))

int main(void)
{
    struct CMUnitTest tests[CASE_COUNT + 4];
    size_t n = 0;

    for (; n < CASE_COUNT; n++)
        tests[n] = (struct CMUnitTest){.name = cases[n].name,
                                       .test_func = run_case,
                                       .initial_state = (void *)(uintptr_t)&cases[n]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_donor_that_is_being_filled_gives_nothing);
    tests[n++] =
        (struct CMUnitTest)cmocka_unit_test(epochs_that_the_asker_has_closed_are_not_sent_again);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(
        an_epoch_closed_here_is_a_gap_for_one_that_lacks_its_end);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(more_pairs_than_fit_are_cut);
    return _cmocka_run_group_tests("donation", tests, n, NULL, NULL);
}
