/* alarms.h: many alarms on one loop behind one libuv timer. ADAPTER. For wire/ and for those who
 * serve calls.
 *
 * Loop thread. An alarm is embedded in its owner; zeroed memory with `ring` set is an idle one. */
#ifndef ATOLL_WIRE_ALARMS_H
#define ATOLL_WIRE_ALARMS_H

#include "wire/deadlines.h"
#include "wire/loop.h"

struct at_alarm {
    struct at_deadline deadline;
    void (*ring)(struct at_alarm *alarm); /* once per at_alarms_set; never before it is due */
};

struct at_alarms {
    struct at_loop *loop;
    struct at_deadlines heap;
    uv_timer_t timer;
    uint64_t armed_ns; /* when the timer is to ring; meaningful while `armed` */
    bool armed;
    void (*on_closed)(struct at_alarms *alarms);
};

void at_alarms_init(struct at_alarms *a, struct at_loop *loop);

/* at_alarms_close closes the timer; `on_closed` (may be NULL) runs when libuv is done with it. */
void at_alarms_close(struct at_alarms *a, void (*on_closed)(struct at_alarms *alarms));
void at_alarms_deinit(struct at_alarms *a);

/* at_alarms_set has `alarm` ring at `due_ns`; one that is set already is moved. UINT64_MAX: never.
 */
void at_alarms_set(struct at_alarms *a, struct at_alarm *alarm, uint64_t due_ns);

/* at_alarms_clear is legal for an idle alarm. */
void at_alarms_clear(struct at_alarms *a, struct at_alarm *alarm);

#endif
