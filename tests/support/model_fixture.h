/* model_fixture.h: one replica model per test, and the words in which schedules are told. A to D
 * are nodes 0 to 3. Set-ups say how many there are, and whether each commit is synced. */
#ifndef ATOLL_TESTS_SUPPORT_MODEL_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_MODEL_FIXTURE_H

#include "replication/replica_state.h"
#include "support/replica_model.h"
#include "support/test.h"

enum { A, B, C, D };
#define ENOUGH 1000 /* entries: all that there are */

static struct model m;

static inline int sync_two(void **state)
{
    (void)state;
    model_init(&m, 2, true);
    return 0;
}

static inline int sync_three(void **state)
{
    (void)state;
    model_init(&m, 3, true);
    return 0;
}

static inline int sync_four(void **state)
{
    (void)state;
    model_init(&m, 4, true);
    return 0;
}

static inline int async_two(void **state)
{
    (void)state;
    model_init(&m, 2, false);
    return 0;
}

static inline int async_three(void **state)
{
    (void)state;
    model_init(&m, 3, false);
    return 0;
}

static inline int done(void **state)
{
    (void)state;
    model_deinit(&m);
    return 0;
}

static inline void time_passes(uint64_t ms)
{
    m.now_ns += ms * MODEL_MS;
}

static inline void write_at(uint32_t node)
{
    assert_true(model_write(&m, node, 1));
}

static inline void pull(uint32_t node, uint32_t donor)
{
    (void)model_exchange(&m, node, donor, ENOUGH);
}

static inline uint64_t stamp_of(uint32_t origin, uint32_t epoch, uint64_t seq)
{
    return m.truth[origin][epoch - 1].entries[seq - 1].hlc;
}

static inline enum at_origin_state state_of(uint32_t node, uint32_t of)
{
    const struct at_replica *r = model_replica(&m, node);
    uint32_t at = at_replica_find_origin(r, (struct at_member_id){of + 1});

    return at == AT_NO_ORIGIN ? AT_ORIGIN_KNOWN : r->origins[at].state;
}

static inline enum at_replica_mode mode_of(uint32_t node)
{
    return m.nodes[node].view.mode;
}

static inline void fence(uint32_t coordinator, uint32_t victim, bool minority)
{
    struct at_member_id id = {victim + 1};

    assert_int_equal(at_replica_fence_begin(model_replica(&m, coordinator), &id, 1, minority, NULL),
                     AT_OK);
    model_commit(&m, coordinator, true);
}

/* The log of (origin, 1) is cut everywhere it is held. */
static inline void cap_all(uint32_t origin, uint32_t first, uint32_t second)
{
    model_cap(&m, first, origin, 1);
    model_cap(&m, second, origin, 1);
}

/* A and C have cut what B lacks. */
static inline void need_a_copy_at_b(void)
{
    write_at(A);
    for (int i = 0; i < 2; i++) {
        pull(C, A);
        pull(A, C);
    }
    cap_all(A, A, C);
    pull(B, A);
    pull(B, C);
    assert_int_equal(mode_of(B), AT_MODE_NEEDS_COPY);
}

#endif
