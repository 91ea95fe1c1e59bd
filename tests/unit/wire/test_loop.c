#include "support/test.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/loop.h"

#define SENDERS 4
#define TASKS 5000

struct probe {
    struct at_loop *loop;
    uint32_t order[16];
    uint32_t count;
};

struct numbered {
    struct at_task task;
    struct at_deferred deferred;
    struct probe *probe;
    uint32_t number;
    uint32_t again;
};

static void run_numbered(struct at_task *task)
{
    struct numbered *n = (struct numbered *)task;
    n->probe->order[n->probe->count++] = n->number;
}

static void run_deferred(struct at_deferred *deferred)
{
    struct numbered *n =
        (struct numbered *)((char *)deferred - offsetof(struct numbered, deferred));
    n->probe->order[n->probe->count++] = n->number;
    if (n->again > 0) {
        n->again--;
        at_loop_defer(n->probe->loop, deferred);
    } else {
        at_loop_stop(n->probe->loop);
    }
}

static void tasks_run_in_the_order_of_posting(void **state)
{
    (void)state;
    struct probe p = {.loop = at_loop_new(at_clock_system())};
    struct numbered n[6];
    memset(n, 0, sizeof(n));
    for (uint32_t i = 0; i < 6; i++) {
        n[i].task.run = run_numbered;
        n[i].probe = &p;
        n[i].number = i;
    }
    for (uint32_t i = 0; i < 6; i++)
        at_loop_post(p.loop, &n[i].task);
    at_loop_stop(p.loop);
    at_loop_run(p.loop);
    assert_int_equal(p.count, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(p.order[i], i);
    at_loop_free(&p.loop);
    assert_null(p.loop);
}

static void deferred_work_runs_once_per_turn_and_may_defer_itself(void **state)
{
    (void)state;
    struct probe p = {.loop = at_loop_new(at_clock_system())};
    struct numbered a = {.deferred.run = run_deferred, .probe = &p, .number = 7, .again = 2};
    at_loop_defer(p.loop, &a.deferred);
    at_loop_defer(p.loop, &a.deferred);
    at_loop_run(p.loop);
    assert_int_equal(p.count, 3);
    assert_false(a.deferred.queued);
    at_loop_free(&p.loop);
}

static void a_loop_can_run_again_after_it_stopped(void **state)
{
    (void)state;
    struct probe p = {.loop = at_loop_new(at_clock_system())};
    struct numbered a = {.task.run = run_numbered, .probe = &p, .number = 1};
    for (uint32_t i = 1; i <= 3; i++) {
        at_loop_post(p.loop, &a.task);
        at_loop_stop(p.loop);
        at_loop_run(p.loop);
        assert_int_equal(p.count, i);
    }
    at_loop_free(&p.loop);
}

/* --- the clock --- */

static uint64_t counting_clock(void *ctx)
{
    return ++*(uint64_t *)ctx;
}

static void time_stands_still_within_a_turn(void **state)
{
    (void)state;
    uint64_t reads = 0;
    struct at_loop *loop = at_loop_new(
        (struct at_clock){.wall_ns = counting_clock, .mono_ns = counting_clock, .ctx = &reads});
    uint64_t first = at_loop_now_ns(loop);
    assert_int_equal(at_loop_now_ns(loop), first);
    assert_int_equal(reads, 1);
    at_loop_stop(loop);
    at_loop_run(loop);
    assert_true(at_loop_now_ns(loop) > first);
    at_loop_free(&loop);
}

/* --- threads --- */

struct counted {
    struct at_task task;
    atomic_uint *count;
};

struct sender {
    pthread_t thread;
    struct at_loop *loop;
    struct counted *tasks;
};

static void run_counted(struct at_task *task)
{
    struct counted *c = (struct counted *)task;
    atomic_fetch_add(c->count, 1);
}

static void *send_all(void *arg)
{
    struct sender *s = arg;
    for (int i = 0; i < TASKS; i++)
        at_loop_post(s->loop, &s->tasks[i].task);
    return NULL;
}

static void every_task_of_many_threads_runs_before_the_loop_stops(void **state)
{
    (void)state;
    atomic_uint count;
    struct at_error error;
    struct sender senders[SENDERS];
    struct at_loop *loop = at_loop_new(at_clock_system());
    atomic_init(&count, 0);
    assert_int_equal(at_loop_start(loop, "a-name-that-is-too-long", &error), AT_OK);
    for (int s = 0; s < SENDERS; s++) {
        senders[s].loop = loop;
        senders[s].tasks = at_alloc(TASKS * sizeof(struct counted));
        for (int i = 0; i < TASKS; i++)
            senders[s].tasks[i] = (struct counted){.task.run = run_counted, .count = &count};
        assert_int_equal(pthread_create(&senders[s].thread, NULL, send_all, &senders[s]), 0);
    }
    for (int s = 0; s < SENDERS; s++)
        (void)pthread_join(senders[s].thread, NULL);
    at_loop_stop(loop);
    at_loop_join(loop);
    assert_int_equal(atomic_load(&count), SENDERS * TASKS);
    for (int s = 0; s < SENDERS; s++)
        at_free(senders[s].tasks);
    at_loop_free(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_run_in_the_order_of_posting),
        cmocka_unit_test(deferred_work_runs_once_per_turn_and_may_defer_itself),
        cmocka_unit_test(a_loop_can_run_again_after_it_stopped),
        cmocka_unit_test(time_stands_still_within_a_turn),
        cmocka_unit_test(every_task_of_many_threads_runs_before_the_loop_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
