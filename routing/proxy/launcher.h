/* launcher.h: asks the launcher for processes: `atoll launch VERB` as a child of the router.
 * ADAPTER (uv_spawn).
 *
 * Nothing waits: the answer comes on the loop that asked. What was asked goes on when the router
 * ends; it may be asked for again. */
#ifndef ATOLL_ROUTING_PROXY_LAUNCHER_H
#define ATOLL_ROUTING_PROXY_LAUNCHER_H

#include <jansson.h>
#include <pthread.h>

#include "wire/loop.h"

struct at_launch_run;

struct at_launcher {
    const char *program;   /* NULL: there is none */
    const char *state_dir; /* where it keeps instances */
    pthread_mutex_t lock;  /* of the list */
    struct at_launch_run *runs;
};

/* What the launcher said: `answer` (borrowed) is there when code is AT_OK. */
typedef void
at_launch_done(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer);

void at_launcher_init(struct at_launcher *l, const char *program, const char *state_dir);

/* at_launcher_close ends all waits with UNAVAILABLE; the loops were stopped, and are settled
 * afterwards. */
void at_launcher_close(struct at_launcher *l);
void at_launcher_deinit(struct at_launcher *l);

/* at_launch runs a verb (static text) with `spec` (taken over); `done` runs once, later, on this
 * loop. A launcher that is killed is asked once more. Loop thread. */
void at_launch(struct at_launcher *l,
               struct at_loop *loop,
               const char *verb,
               json_t *spec,
               at_launch_done *done,
               void *ctx);

#endif
