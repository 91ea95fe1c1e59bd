#include "support/replica_model.h"

#include "replication/replica_state.h"
#include "support/test.h"

#include <stdlib.h>

static void put_record(void *ctx, struct at_slice key, struct at_slice value);
static void disk_put(struct model_disk *d, const struct model_record *rec);
static void disk_clear(struct model_disk *d);
static void disk_merge(struct model_disk *to, struct model_disk *from);

uint32_t model_index(struct at_member_id id)
{
    assert_in_range(id.v, 1, MODEL_NODES_MAX);
    return id.v - 1;
}

void model_init(struct model *m, uint32_t node_count, bool sync_commits)
{
    memset(m, 0, sizeof(*m));
    m->node_count = node_count;
    m->sync_commits = sync_commits;
    m->now_ns = UINT64_C(1700000000) * 1000 * MODEL_MS;
    m->next_request = 1;
    m->next_id = 1;
    for (uint32_t i = 0; i < node_count; i++) {
        for (uint32_t k = 0; k < node_count; k++)
            m->nodes[i].members[m->nodes[i].member_count++].v = k + 1;
        model_birth(m, i);
        assert_int_equal(at_replica_start(m->nodes[i].replica, false, model_wall(m, i), NULL),
                         AT_OK);
        m->nodes[i].first_request = 1;
        at_replica_view_init(&m->nodes[i].view);
        model_commit(m, i, true);
    }
}

void model_deinit(struct model *m)
{
    for (uint32_t i = 0; i < m->act_count; i++)
        if (m->acts[i].kind == MODEL_REMOVE)
            free(m->acts[i].removal.vouches);
    for (uint32_t i = 0; i < m->node_count; i++) {
        struct model_node *n = &m->nodes[i];
        at_replica_free(&n->replica);
        model_copy_drop(m, i);
        at_replica_view_deinit(&n->view);
        at_vector_deinit(&n->before);
        disk_clear(&n->synced);
        disk_clear(&n->pending);
        for (uint32_t o = 0; o < MODEL_NODES_MAX; o++)
            for (uint32_t e = 0; e < MODEL_EPOCHS_MAX; e++)
                free(n->logs[o][e].entries);
    }
    for (uint32_t o = 0; o < MODEL_NODES_MAX; o++)
        for (uint32_t e = 0; e < MODEL_EPOCHS_MAX; e++)
            free(m->truth[o][e].entries);
}

void model_birth(struct model *m, uint32_t node)
{
    const struct model_node *n = &m->nodes[node];
    struct at_replica_config config = {.instance_id = 77,
                                       .self = {node + 1},
                                       .members = n->members,
                                       .member_count = n->member_count,
                                       .newcomer = n->newcomer,
                                       .join_hlc = n->join_hlc,
                                       .registered = n->registered,
                                       .max_skew_ns = MODEL_SKEW_MS * MODEL_MS,
                                       .reserve_step_ns = MODEL_SKEW_MS * MODEL_MS / 4,
                                       .sync_commits = m->sync_commits};
    m->nodes[node].replica = at_replica_new(&config);
}

struct at_replica *model_replica(struct model *m, uint32_t node)
{
    return m->nodes[node].replica;
}

uint64_t model_wall(const struct model *m, uint32_t node)
{
    return m->now_ns + (uint64_t)m->nodes[node].offset_ns;
}

bool model_write(struct model *m, uint32_t node, uint32_t ticks)
{
    struct model_node *n = &m->nodes[node];
    uint64_t wall = model_wall(m, node);

    if (at_replica_may_write(n->replica, wall, m->now_ns, NULL) != AT_OK)
        return false;
    (void)model_append(m, node, ticks, m->next_id++);
    model_commit(m, node, m->sync_commits);
    return true;
}

struct at_position model_append(struct model *m, uint32_t node, uint32_t ticks, uint64_t id)
{
    struct model_node *n = &m->nodes[node];
    uint64_t hlc = at_replica_issue(n->replica, ticks, model_wall(m, node));
    assert_true(hlc > n->stamp_max);
    assert_true(hlc > n->promise_max);
    assert_true(hlc > n->replica->horizon);
    n->stamp_max = hlc + ticks - 1;
    struct at_position p = at_replica_append(n->replica, n->stamp_max);
    struct model_entry e = {.id = id, .hlc = hlc, .ticks = ticks};
    assert_in_range(p.epoch, 1, MODEL_EPOCHS_MAX);
    struct model_log *truth = &m->truth[node][p.epoch - 1];
    assert_int_equal(p.seq, truth->count + 1); /* one number, one meaning */
    model_log_push(truth, e);
    model_log_push(&n->logs[node][p.epoch - 1], e);
    return p;
}

void model_commit(struct model *m, uint32_t node, bool sync)
{
    struct model_node *n = &m->nodes[node];
    size_t before = n->pending.count;

    (void)at_replica_promise(n->replica, model_wall(m, node));
    sync = at_replica_flush(n->replica, put_record, &n->pending) || sync || m->sync_commits;
    n->record_count = n->pending.count - before;
    if (sync) {
        disk_merge(&n->synced, &n->pending);
        for (uint32_t o = 0; o < m->node_count; o++)
            for (uint32_t e = 0; e < MODEL_EPOCHS_MAX; e++)
                n->logs[o][e].synced_count = n->logs[o][e].count;
    }
    at_replica_committed(n->replica, sync);
    model_after(m, node);
}

bool model_idle(struct model *m, uint32_t node)
{
    struct model_node *n = &m->nodes[node];
    bool commit = at_replica_promise(n->replica, model_wall(m, node));

    if (commit)
        model_commit(m, node, false);
    else
        model_after(m, node);
    return commit;
}

void model_trim(struct model *m, uint32_t node)
{
    struct model_node *n = &m->nodes[node];

    for (uint32_t i = 0; i < n->view.applied.count; i++) {
        struct at_position p = n->view.applied.items[i];
        uint64_t bound = at_replica_trim_bound(n->replica, p.origin, p.epoch);
        p.seq = bound < p.seq ? bound : p.seq;
        if (p.seq > 0)
            at_replica_trimmed(n->replica, p);
    }
    model_commit(m, node, false);
}

void model_cap(struct model *m, uint32_t node, uint32_t origin, uint32_t epoch)
{
    struct model_node *n = &m->nodes[node];
    struct at_position p = {.origin = {origin + 1}, .epoch = epoch};

    p.seq = at_replica_cap_bound(n->replica, p.origin, epoch);
    if (p.seq > 0)
        at_replica_trimmed(n->replica, p);
    model_commit(m, node, false);
}

void model_after(struct model *m, uint32_t node)
{
    struct model_node *n = &m->nodes[node];

    at_replica_view_fill(n->replica, &n->view);
    const struct at_positions_facts *f = &n->view.facts;
    for (uint32_t i = 0; i < f->promise_count; i++)
        if (f->promises[i].origin.v == node + 1 && f->promises[i].hlc > n->promise_max)
            n->promise_max = f->promises[i].hlc;
    for (uint32_t i = 0; i < n->before.count; i++) {
        struct at_position p = n->before.items[i];
        if (p.epoch >= at_positions_facts_first_open(f, p.origin))
            assert_true(at_vector_get(&n->view.applied, p.origin, p.epoch) >= p.seq);
    }
    at_vector_copy(&n->before, &n->view.applied);
    assert_true(at_vector_covers(&n->view.applied, &n->view.durable));
}

void model_crash(struct model *m, uint32_t node)
{
    for (uint32_t i = 0; i < m->node_count; i++)
        if (m->nodes[i].copying && m->nodes[i].copy_donor == node)
            model_copy_drop(m, i);
    at_replica_free(&m->nodes[node].replica);
    model_copy_drop(m, node);
}

void model_start(struct model *m, uint32_t node, bool lose_tail)
{
    struct model_node *n = &m->nodes[node];

    if (lose_tail)
        disk_clear(&n->pending);
    disk_merge(&n->synced, &n->pending);
    for (uint32_t o = 0; o < m->node_count; o++)
        for (uint32_t e = 0; e < MODEL_EPOCHS_MAX; e++) {
            struct model_log *log = &n->logs[o][e];
            if (lose_tail) {
                m->lost_count += o == node ? log->count - log->synced_count : 0;
                log->count = log->synced_count;
            }
            log->synced_count = log->count;
        }
    model_birth(m, node);
    for (size_t i = 0; i < n->synced.count; i++) {
        const struct model_record *rec = &n->synced.records[i];
        assert_int_equal(at_replica_restore(n->replica, at_slice_make(rec->key, rec->key_len),
                                            at_slice_make(rec->value, rec->value_len), NULL),
                         AT_OK);
    }
    assert_int_equal(at_replica_start(n->replica, !m->sync_commits, model_wall(m, node), NULL),
                     AT_OK);
    n->first_request = m->next_request;
    at_vector_deinit(&n->before);
    at_replica_view_deinit(&n->view);
    model_commit(m, node, true);
    for (uint32_t i = 0; i < n->view.applied.count; i++) {
        struct at_position p = n->view.applied.items[i];
        assert_int_equal(p.seq, n->logs[model_index(p.origin)][p.epoch - 1].count);
    }
}

uint64_t model_v(const struct model *m, uint32_t node, uint32_t origin, uint32_t epoch)
{
    return m->nodes[node].logs[origin][epoch - 1].count;
}

uint64_t model_horizon(const struct model *m, uint32_t node)
{
    return m->nodes[node].replica->horizon;
}

void model_log_push(struct model_log *log, struct model_entry e)
{
    if (log->count == log->cap) {
        log->cap = log->cap == 0 ? 16 : log->cap * 2;
        log->entries = realloc(log->entries, log->cap * sizeof(*log->entries));
        assert_non_null(log->entries);
    }
    log->entries[log->count++] = e;
}

static void put_record(void *ctx, struct at_slice key, struct at_slice value)
{
    struct model_disk *d = ctx;
    struct model_record rec = {.key_len = key.len, .value_len = value.len};

    assert_true(key.len <= sizeof(rec.key));
    memcpy(rec.key, key.data, key.len);
    rec.value = malloc(value.len + 1);
    assert_non_null(rec.value);
    memcpy(rec.value, value.data, value.len);
    if (d->count == d->cap) {
        d->cap = d->cap == 0 ? 16 : d->cap * 2;
        d->records = realloc(d->records, d->cap * sizeof(*d->records));
        assert_non_null(d->records);
    }
    d->records[d->count++] = rec;
}

static void disk_put(struct model_disk *d, const struct model_record *rec)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->records[i].key_len == rec->key_len &&
            memcmp(d->records[i].key, rec->key, rec->key_len) == 0) {
            free(d->records[i].value);
            d->records[i] = d->records[--d->count];
            break;
        }
    if (rec->value_len > 0)
        put_record(d, at_slice_make(rec->key, rec->key_len),
                   at_slice_make(rec->value, rec->value_len));
}

static void disk_merge(struct model_disk *to, struct model_disk *from)
{
    for (size_t i = 0; i < from->count; i++) {
        disk_put(to, &from->records[i]);
        free(from->records[i].value);
    }
    from->count = 0;
}

static void disk_clear(struct model_disk *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->records[i].value);
    free(d->records);
    *d = (struct model_disk){0};
}
