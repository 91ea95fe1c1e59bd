/* alarms.c: the timer is moved only to an earlier time. Most alarms are cleared before they are
 * due; when the timer rings for one that has gone, it is armed for the next. */
#include "wire/alarms.h"

#include "base/assert.h"

static void arm(struct at_alarms *a);
static void on_timer(uv_timer_t *timer);
static void on_timer_closed(uv_handle_t *handle);

void at_alarms_init(struct at_alarms *a, struct at_loop *loop)
{
    a->loop = loop;
    int rc = uv_timer_init(at_loop_uv(loop), &a->timer);
    AT_ASSERT(rc == 0);
    a->timer.data = a;
}

void at_alarms_close(struct at_alarms *a, void (*on_closed)(struct at_alarms *alarms))
{
    a->on_closed = on_closed;
    uv_close((uv_handle_t *)&a->timer, on_timer_closed);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct at_alarms *a = handle->data;
    if (a->on_closed)
        a->on_closed(a);
}

void at_alarms_deinit(struct at_alarms *a)
{
    at_deadlines_deinit(&a->heap);
}

void at_alarms_set(struct at_alarms *a, struct at_alarm *alarm, uint64_t due_ns)
{
    AT_ASSERT(alarm->ring != NULL);
    at_deadlines_remove(&a->heap, &alarm->deadline);
    if (due_ns == UINT64_MAX)
        return;
    at_deadlines_add(&a->heap, &alarm->deadline, due_ns);
    arm(a);
}

void at_alarms_clear(struct at_alarms *a, struct at_alarm *alarm)
{
    at_deadlines_remove(&a->heap, &alarm->deadline);
}

static void arm(struct at_alarms *a)
{
    const struct at_deadline *first = at_deadlines_first(&a->heap);
    if (!first || (a->armed && a->armed_ns <= first->due_ns) ||
        uv_is_closing((const uv_handle_t *)&a->timer))
        return;
    uint64_t now_ns = at_loop_now_ns(a->loop);
    uint64_t wait_ns = first->due_ns > now_ns ? first->due_ns - now_ns : 0;
    a->armed = true;
    a->armed_ns = first->due_ns;
    (void)uv_timer_start(&a->timer, on_timer, wait_ns / AT_MS_NS + 1, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct at_alarms *a = timer->data;
    uint64_t now_ns = at_loop_now_ns(a->loop);
    a->armed = false;
    for (;;) {
        struct at_deadline *first = at_deadlines_first(&a->heap);
        if (!first || first->due_ns > now_ns)
            break;
        at_deadlines_remove(&a->heap, first);
        struct at_alarm *alarm = (struct at_alarm *)first;
        alarm->ring(alarm);
    }
    arm(a);
}
