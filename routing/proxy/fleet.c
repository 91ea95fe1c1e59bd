/* fleet.c: adding and removing instances over all loops, and the tables that requests look into.
 *
 *   add:     leader -> every loop: open the front, put it into the table -> leader: done
 *   remove:  leader -> every loop: take it out of the table, retire it -> last request ended
 *            -> leader -> every loop: nothing to do -> leader: free, done
 *
 * The second round of a removal lets everything run that was posted to a loop for a front of this
 * instance before the last front closed. */
#include "routing/proxy/fleet.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/log.h"

#define TABLE_SLOTS_MIN 8

struct lane_entry {
    uint64_t hash;
    struct at_front *front; /* NULL: free */
};

struct at_lane {
    struct at_loop *loop;
    struct at_front *primary;
    struct at_front **fronts; /* all, by name */
    uint32_t count;
    struct lane_entry *table;
    uint32_t mask;
};

/* What one loop has to do for an errand. */
struct part {
    struct at_task task;
    struct at_fleet_errand *errand;
    uint32_t index; /* of the loop */
};

enum errand_kind { ADD, RETIRE, FLUSH };

struct at_fleet_errand {
    struct at_task back; /* to the leader */
    struct at_realm *realm;
    enum errand_kind kind;
    struct at_fleet_done done;
    _Atomic uint32_t left;
    struct part parts[AT_FLEET_LOOPS_MAX];
};

static void begin(struct at_fleet_errand *errand, enum errand_kind kind);
static void run_part(struct at_task *task);
static void part_done(struct at_fleet_errand *errand);
static void run_back(struct at_task *task);
static void on_front_closed(struct at_front *front);
static void lane_insert(struct at_lane *lane, struct at_front *front, bool primary);
static void lane_remove(struct at_lane *lane, const struct at_front *front);
static void lane_index(struct at_lane *lane);
static void free_realm(struct at_realm *realm);

void at_fleet_init(struct at_fleet *fleet, struct at_loop *const *loops, uint32_t loop_count)
{
    AT_ASSERT(loop_count >= 1 && loop_count <= AT_FLEET_LOOPS_MAX);
    *fleet = (struct at_fleet){.loops = loops, .loop_count = loop_count};
    (void)pthread_mutex_init(&fleet->lock, NULL);
    fleet->lanes = at_alloc(loop_count * sizeof(*fleet->lanes));
    for (uint32_t i = 0; i < loop_count; i++) {
        fleet->lanes[i].loop = loops[i];
        lane_index(&fleet->lanes[i]);
    }
}

void at_fleet_close(struct at_fleet *fleet)
{
    fleet->closed = true;
    for (struct at_realm *realm = fleet->realms; realm; realm = realm->next)
        for (uint32_t i = 0; i < fleet->loop_count; i++)
            at_front_close(realm->fronts[i]);
}

void at_fleet_deinit(struct at_fleet *fleet)
{
    if (!fleet->lanes)
        return;
    while (fleet->realms) {
        struct at_realm *realm = fleet->realms;
        fleet->realms = realm->next;
        at_free(realm->errand);
        free_realm(realm);
    }
    for (uint32_t i = 0; i < fleet->loop_count; i++) {
        at_free(fleet->lanes[i].fronts);
        at_free(fleet->lanes[i].table);
    }
    at_free(fleet->lanes);
    fleet->lanes = NULL;
    (void)pthread_mutex_destroy(&fleet->lock);
}

static struct at_realm *make_realm(struct at_fleet *fleet,
                                   const struct at_instance_config *instance,
                                   struct at_arena *arena)
{
    struct at_realm *realm = AT_NEW(struct at_realm);
    if (arena)
        realm->arena = *arena;
    else
        at_arena_init(&realm->arena, AT_KIB);
    realm->fleet = fleet;
    realm->instance = *instance;
    realm->name = at_slice_cstr(at_arena_printf(&realm->arena, "projects/%s/instances/%s",
                                                instance->project ? instance->project : "",
                                                instance->instance));
    at_board_init(&realm->board);
    for (uint32_t i = 0; i < fleet->loop_count; i++) {
        struct at_front *front = AT_NEW(struct at_front);
        front->loop = fleet->loops[i];
        front->instance = &realm->instance;
        front->board = &realm->board;
        front->leader = i == 0;
        front->peers = realm->fronts;
        front->peer_count = fleet->loop_count;
        front->realm = realm;
        front->on_closed = on_front_closed;
        realm->fronts[i] = front;
    }
    return realm;
}

static void free_realm(struct at_realm *realm)
{
    for (uint32_t i = 0; i < realm->fleet->loop_count; i++)
        at_free(realm->fronts[i]);
    at_board_deinit(&realm->board);
    at_arena_deinit(&realm->arena);
    at_free(realm);
}

enum at_code at_fleet_add(struct at_fleet *fleet,
                          const struct at_instance_config *instance,
                          struct at_arena *arena,
                          bool primary,
                          struct at_fleet_done done,
                          struct at_error *reterr)
{
    if (fleet->realm_count >= AT_INSTANCES_MAX)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "A router serves %d instances at most",
                       AT_INSTANCES_MAX);
    struct at_realm *realm = make_realm(fleet, instance, arena);
    realm->primary = primary;
    (void)pthread_mutex_lock(&fleet->lock);
    struct at_realm **last = &fleet->realms;
    while (*last)
        last = &(*last)->next;
    *last = realm;
    fleet->realm_count++;
    (void)pthread_mutex_unlock(&fleet->lock);
    realm->errand = AT_NEW(struct at_fleet_errand);
    realm->errand->realm = realm;
    realm->errand->done = done;
    begin(realm->errand, ADD);
    return AT_OK;
}

void at_fleet_remove(struct at_realm *realm, struct at_fleet_done done)
{
    AT_ASSERT(!realm->errand && !realm->removing);
    realm->removing = true;
    realm->errand = AT_NEW(struct at_fleet_errand);
    realm->errand->realm = realm;
    realm->errand->done = done;
    begin(realm->errand, RETIRE);
}

static void begin(struct at_fleet_errand *errand, enum errand_kind kind)
{
    const struct at_fleet *fleet = errand->realm->fleet;
    errand->kind = kind;
    errand->back.run = run_back;
    atomic_store(&errand->left, fleet->loop_count);
    for (uint32_t i = 0; i < fleet->loop_count; i++) {
        errand->parts[i] = (struct part){.task.run = run_part, .errand = errand, .index = i};
        at_loop_post(fleet->loops[i], &errand->parts[i].task);
    }
}

static void run_part(struct at_task *task)
{
    struct part *part = (struct part *)task; /* its first member */
    struct at_realm *realm = part->errand->realm;
    struct at_lane *lane = &realm->fleet->lanes[part->index];
    struct at_front *front = realm->fronts[part->index];
    struct at_error error;
    if (part->errand->kind == ADD && !realm->fleet->closed) {
        if (at_front_open(front, &error) != AT_OK)
            at_log(AT_LOG_ERROR, "an instance cannot be served", AT_KV_STR("error", error.msg));
        else
            lane_insert(lane, front, realm->primary);
    } else if (part->errand->kind == RETIRE && front->handles > 0) {
        lane_remove(lane, front);
        at_front_retire(front);
        return; /* on_front_closed goes on */
    }
    part_done(part->errand);
}

static void on_front_closed(struct at_front *front)
{
    if (front->realm->removing && front->realm->errand && !front->realm->fleet->closed)
        part_done(front->realm->errand);
}

static void part_done(struct at_fleet_errand *errand)
{
    if (atomic_fetch_sub(&errand->left, 1) == 1)
        at_loop_post(errand->realm->fleet->loops[0], &errand->back);
}

static void unlink_realm(struct at_realm *realm)
{
    struct at_fleet *fleet = realm->fleet;
    (void)pthread_mutex_lock(&fleet->lock);
    struct at_realm **at = &fleet->realms;
    while (*at != realm)
        at = &(*at)->next;
    *at = realm->next;
    fleet->realm_count--;
    (void)pthread_mutex_unlock(&fleet->lock);
}

static void run_back(struct at_task *task)
{
    struct at_fleet_errand *errand = (struct at_fleet_errand *)task; /* its first member */
    struct at_realm *realm = errand->realm;
    struct at_fleet_done done = errand->done;
    if (errand->kind == RETIRE) {
        begin(errand, FLUSH);
        return;
    }
    realm->errand = NULL;
    if (errand->kind == ADD)
        atomic_fetch_add(&realm->fleet->added_count, 1);
    if (errand->kind == FLUSH) {
        unlink_realm(realm);
        free_realm(realm);
    }
    at_free(errand);
    if (done.run)
        done.run(done.ctx);
}

struct at_realm *at_fleet_realm(struct at_fleet *fleet, struct at_slice name)
{
    struct at_realm *found = NULL;
    (void)pthread_mutex_lock(&fleet->lock);
    for (struct at_realm *realm = fleet->realms; realm && !found; realm = realm->next)
        if (at_slice_eq(realm->name, name))
            found = realm;
    (void)pthread_mutex_unlock(&fleet->lock);
    return found;
}

/* --- the table of one loop --- */

static struct at_lane *lane_of(const struct at_fleet *fleet, const struct at_loop *loop)
{
    for (uint32_t i = 0; i < fleet->loop_count; i++)
        if (fleet->lanes[i].loop == loop)
            return &fleet->lanes[i];
    AT_ASSERT(!"every loop of the server has a lane");
    return NULL;
}

struct at_front *
at_fleet_find(const struct at_fleet *fleet, const struct at_loop *loop, struct at_slice name)
{
    const struct at_lane *lane = lane_of(fleet, loop);
    uint64_t hash = at_hash64(name, 0);
    for (uint64_t at = hash & lane->mask; lane->table[at].front; at = (at + 1) & lane->mask)
        if (lane->table[at].hash == hash && at_slice_eq(lane->table[at].front->realm->name, name))
            return lane->table[at].front;
    return NULL;
}

struct at_front *at_fleet_primary(const struct at_fleet *fleet, const struct at_loop *loop)
{
    return lane_of(fleet, loop)->primary;
}

uint32_t at_fleet_list(const struct at_fleet *fleet,
                       const struct at_loop *loop,
                       struct at_slice project,
                       struct at_front *ret_fronts[AT_INSTANCES_MAX])
{
    const struct at_lane *lane = lane_of(fleet, loop);
    uint32_t count = 0;
    for (uint32_t i = 0; i < lane->count; i++) {
        struct at_resource r;
        if (at_resource_parse(lane->fronts[i]->realm->name, &r) && at_slice_eq(r.project, project))
            ret_fronts[count++] = lane->fronts[i];
    }
    return count;
}

static void lane_insert(struct at_lane *lane, struct at_front *front, bool primary)
{
    AT_ASSERT(lane->count < AT_INSTANCES_MAX);
    lane->fronts = at_realloc(lane->fronts, (lane->count + 1) * sizeof(struct at_front *));
    uint32_t at = lane->count++;
    for (; at > 0 && at_slice_cmp(front->realm->name, lane->fronts[at - 1]->realm->name) < 0; at--)
        lane->fronts[at] = lane->fronts[at - 1];
    lane->fronts[at] = front;
    if (primary)
        lane->primary = front;
    lane_index(lane);
}

static void lane_remove(struct at_lane *lane, const struct at_front *front)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lane->count; i++)
        if (lane->fronts[i] != front)
            lane->fronts[kept++] = lane->fronts[i];
    lane->count = kept;
    if (lane->primary == front)
        lane->primary = NULL;
    lane_index(lane);
}

/* At most half full, so a search for a name that is not there is short. */
static void lane_index(struct at_lane *lane)
{
    uint32_t slots = TABLE_SLOTS_MIN;
    while (slots < 2 * lane->count)
        slots *= 2;
    at_free(lane->table);
    lane->table = at_alloc(slots * sizeof(*lane->table));
    lane->mask = slots - 1;
    for (uint32_t i = 0; i < lane->count; i++) {
        uint64_t hash = at_hash64(lane->fronts[i]->realm->name, 0);
        uint64_t at = hash & lane->mask;
        while (lane->table[at].front)
            at = (at + 1) & lane->mask;
        lane->table[at] = (struct lane_entry){hash, lane->fronts[i]};
    }
}
