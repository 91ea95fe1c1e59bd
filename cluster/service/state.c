#include "cluster/service/state.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"

struct at_service_state *at_service_state_new(void)
{
    struct at_service_state *state = AT_NEW(struct at_service_state);

    at_profile_cache_init(&state->profiles);
    at_drop_set_init(&state->drops);
    state->heat = at_heat_new();
    int rc = pthread_mutex_init(&state->lock, NULL);
    AT_ASSERT(rc == 0);
    return state;
}

void at_service_state_free(struct at_service_state **state_ptr)
{
    struct at_service_state *state = AT_TAKE(*state_ptr);

    if (!state)
        return;
    for (size_t i = 0; i < AT_LANES_MAX; i++) {
        struct at_lane *lane = atomic_load(&state->lanes[i]);
        at_lane_free(&lane);
    }
    at_profile_cache_deinit(&state->profiles);
    at_drop_set_deinit(&state->drops);
    at_heat_free(&state->heat);
    pthread_mutex_destroy(&state->lock);
    at_free(state);
}

static struct at_lane *find(struct at_service_state *state, const struct at_loop *loop)
{
    for (size_t i = 0; i < AT_LANES_MAX; i++) {
        struct at_lane *lane = atomic_load_explicit(&state->lanes[i], memory_order_acquire);
        if (!lane)
            return NULL;
        if (at_lane_loop(lane) == loop)
            return lane;
    }
    return NULL;
}

struct at_lane *
at_service_lane(struct at_service_state *state, struct at_store *store, struct at_loop *loop)
{
    struct at_lane *lane = find(state, loop);

    if (lane)
        return lane;
    pthread_mutex_lock(&state->lock);
    lane = at_lane_new(store, loop);
    size_t i = 0;
    while (i < AT_LANES_MAX && atomic_load(&state->lanes[i]))
        i++;
    AT_ASSERT(i < AT_LANES_MAX);
    atomic_store_explicit(&state->lanes[i], lane, memory_order_release);
    pthread_mutex_unlock(&state->lock);
    return lane;
}
