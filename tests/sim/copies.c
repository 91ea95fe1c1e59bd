#include "base/assert.h"
#include "base/bytes.h"
#include "base/mutant.h"
#include "replication/replica_state.h"
#include "sim/world.h"

/* Copies, rules 27-32. A snapshot is shipped record by record in chunks; the receiver keeps them
 * aside and switches in one batch. Items: key length(2) value length(2) key value. */

#define CHUNK_RECORDS_MAX 16

static void ask_open(struct sim_world *w, uint32_t node);
static void ask_chunk(struct sim_world *w, uint32_t node);
static void answer_open(struct sim_world *w, const struct sim_letter *l, struct at_message *m);
static void take_opened(struct sim_world *w, const struct sim_letter *l, struct at_message *m);
static void answer_ask(struct sim_world *w, const struct sim_letter *l, struct at_message *m);
static void take_chunk(struct sim_world *w, const struct sim_letter *l, struct at_message *m);
static void finish(struct sim_world *w, uint32_t node);
static void merge(struct sim_world *w, uint32_t node, struct at_copy_rule rule);
static uint64_t hlc_of(const struct sim_record *r);
static void merge_book(struct sim_world *w, uint32_t node);
static void merge_catalog(struct sim_world *w, uint32_t node);
static void empty_logs(struct sim_world *w, uint32_t node, const struct at_vector *grown);
static bool is_shipped(const struct sim_record *r);

void sim_copy_step(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    if (n->view.mode == AT_MODE_NEEDS_COPY || n->view.mode == AT_MODE_INIT)
        ask_open(w, node);
    else if (n->view.mode == AT_MODE_COPYING && !w->faithful && sim_below(w, 12) == 0)
        sim_copy_drop(w, node);
    else if (n->view.mode == AT_MODE_COPYING)
        ask_chunk(w, node);
}

void sim_copy_drop(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    if (n->view.mode != AT_MODE_COPYING)
        return;
    n->copy.runs = false;
    at_replica_copy_drop(n->replica);
    w->stats.copies_dropped++;
    sim_trace(w, "cluster %u drops its copy", node);
    sim_commit(w, node, false);
}

void sim_copies_forget(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];

    n->copy.runs = false;
    sim_engine_deinit(&n->copy.aside);
    for (uint32_t i = 0; i < SIM_OFFERS_MAX; i++) {
        n->offers[i].id = 0;
        sim_records_clear(&n->offers[i].records);
    }
}

void sim_copy_message(struct sim_world *w, const struct sim_letter *l, struct at_message *m)
{
    switch ((int)m->kind) {
    case AT_MESSAGE_COPY_OPEN:
        answer_open(w, l, m);
        break;
    case AT_MESSAGE_COPY_OPENED:
        take_opened(w, l, m);
        break;
    case AT_MESSAGE_COPY_ASK:
        answer_ask(w, l, m);
        break;
    case AT_MESSAGE_COPY_CHUNK:
        take_chunk(w, l, m);
        break;
    default:
        break;
    }
}

static void ask_open(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    uint32_t donor = sim_below(w, w->node_count);
    struct at_copy_open open = {
        .instance_id = n->view.instance_id, .from = sim_id(node), .incarnation = n->view.epoch};

    if (!sim_is_member(w, node, sim_id(donor)))
        return;
    struct sim_letter *l = sim_send(w, node, donor, true);
    if (l == NULL)
        return;
    for (uint32_t i = 0; i < n->replica->gap_count; i++) {
        struct at_position p = n->replica->gaps[i].at;
        p.seq++;
        (void)at_vector_raise(&open.needs, p);
    }
    enum at_code code = at_copy_open_encode(&open, &l->bytes);
    AT_ASSERT(code == AT_OK);
    at_vector_deinit(&open.needs);
}

static void answer_open(struct sim_world *w, const struct sim_letter *l, struct at_message *m)
{
    struct sim_node *n = &w->nodes[l->to];
    struct at_copy_state state;
    struct at_error error;

    if (!at_replica_view_is_instance(&n->view, m->u.copy_open.instance_id))
        return;
    if (at_replica_may_donate(n->replica, m->u.copy_open.from, &m->u.copy_open.needs, &error) !=
        AT_OK) {
        if (!w->faithful)
            sim_trace(w, "cluster %u is no donor for %u: %s", l->to, l->from, error.msg);
        sim_refuse(w, l, m->u.copy_open.from);
        return;
    }
    sim_commit(w, l->to, false);
    struct sim_letter *back = sim_answer(w, l);
    if (back == NULL)
        return;
    uint32_t slot = sim_below(w, SIM_OFFERS_MAX);
    for (uint32_t i = 0; i < SIM_OFFERS_MAX; i++)
        if (n->offers[i].id == 0 || n->offers[i].receiver == l->from)
            slot = i;
    struct sim_offer *offer = &n->offers[slot];
    offer->id = w->next_offer++;
    offer->receiver = l->from;
    sim_records_share(&offer->records, &n->engine.now);
    at_replica_copy_state(n->replica, &w->arena, &state);
    struct at_copy_opened opened = {.instance_id = n->view.instance_id,
                                    .snapshot_id = offer->id,
                                    .bytes = 1,
                                    .part_count = 1,
                                    .state = &state};
    enum at_code code = at_copy_opened_encode(&opened, &back->bytes);
    AT_ASSERT(code == AT_OK);
    at_vector_deinit(&state.applied);
}

static void take_opened(struct sim_world *w, const struct sim_letter *l, struct at_message *m)
{
    struct sim_node *n = &w->nodes[l->to];
    struct sim_copy_in *c = &n->copy;
    struct at_error error;

    if (at_replica_may_copy_from(n->replica, m->u.copy_opened.state, &error) != AT_OK ||
        at_replica_copy_begin(n->replica, &error) != AT_OK)
        return;
    c->runs = true;
    c->donor = l->from;
    c->snapshot_id = m->u.copy_opened.snapshot_id;
    c->next = 0;
    c->asks = 0;
    sim_engine_deinit(&c->aside);
    at_buf_deinit(&c->opened);
    at_buf_init(&c->opened, SIM_MESSAGE_BYTES_MAX);
    enum at_code code = at_buf_append(&c->opened, at_buf_slice(&l->bytes));
    AT_ASSERT(code == AT_OK);
    w->stats.copies_begun++;
    sim_trace(w, "cluster %u begins to copy from %u", l->to, l->from);
    sim_commit(w, l->to, false);
    ask_chunk(w, l->to);
}

static void ask_chunk(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    uint8_t cursor[4];

    if ((!sim_up(w, n->copy.donor) && w->faithful) || n->copy.asks++ > 12) {
        sim_copy_drop(w, node);
        return;
    }
    struct sim_letter *l = sim_send(w, node, n->copy.donor, true);
    if (l == NULL)
        return;
    at_put_be32(cursor, n->copy.next);
    struct at_copy_ask ask = {.instance_id = n->view.instance_id,
                              .from = sim_id(node),
                              .snapshot_id = n->copy.snapshot_id,
                              .cursor = {cursor, 4},
                              .max_bytes = 1000};
    enum at_code code = at_copy_ask_encode(&ask, &l->bytes);
    AT_ASSERT(code == AT_OK);
}

static void answer_ask(struct sim_world *w, const struct sim_letter *l, struct at_message *m)
{
    struct sim_node *n = &w->nodes[l->to];
    struct sim_offer *offer = NULL;
    uint8_t cursor[4];

    for (uint32_t i = 0; i < SIM_OFFERS_MAX; i++)
        if (n->offers[i].id == m->u.copy_ask.snapshot_id)
            offer = &n->offers[i];
    if (offer == NULL && AT_MUTANT(copy_resumed)) {
        sim_records_share(&n->offers[0].records, &n->engine.now);
        n->offers[0].id = m->u.copy_ask.snapshot_id;
        offer = &n->offers[0];
    }
    if (m->u.copy_ask.cursor.len != 4 || m->u.copy_ask.snapshot_id == 0 ||
        !sim_is_member(w, l->to, sim_id(l->from)))
        return;
    struct sim_letter *back = sim_answer(w, l);
    if (back == NULL)
        return;
    struct at_copy_chunk chunk = {.snapshot_id = m->u.copy_ask.snapshot_id};
    at_buf_clear(&w->scratch);
    uint32_t first = at_get_be32(m->u.copy_ask.cursor.data);
    uint32_t at = first;
    uint32_t left = w->chunk_max != 0 ? w->chunk_max
                    : w->faithful     ? 1000
                                      : 1 + sim_below(w, CHUNK_RECORDS_MAX);
    for (; offer != NULL && at < offer->records.count && left > 0; at++) {
        const struct sim_record *r = offer->records.items[at];
        uint8_t head[4] = {(uint8_t)(r->key_len >> 8), (uint8_t)r->key_len,
                           (uint8_t)(r->value_len >> 8), (uint8_t)r->value_len};
        if (!is_shipped(r))
            continue;
        enum at_code code = at_buf_append(&w->scratch, at_slice_make(head, 4));
        AT_ASSERT(code == AT_OK);
        code = at_buf_append(&w->scratch, at_slice_make(r->bytes, r->key_len + r->value_len));
        AT_ASSERT(code == AT_OK);
        left--;
    }
    back->told[0] = first;
    at_put_be32(cursor, at);
    chunk.cursor = at_slice_make(cursor, 4);
    chunk.last = offer != NULL && at == offer->records.count;
    chunk.items = at_buf_slice(&w->scratch);
    chunk.raw_bytes = (uint32_t)chunk.items.len;
    /* A snapshot that this process does not have: told by an empty cursor. */
    if (offer == NULL)
        chunk.cursor = AT_LIT("");
    enum at_code code = at_copy_chunk_encode(&chunk, &back->bytes);
    AT_ASSERT(code == AT_OK);
}

/* Only chunks of this snapshot, each after the one before it. */
static void take_chunk(struct sim_world *w, const struct sim_letter *l, struct at_message *m)
{
    struct sim_node *n = &w->nodes[l->to];
    const struct at_copy_chunk *chunk = &m->u.copy_chunk;
    struct at_slice rest = chunk->items;

    bool ours = chunk->snapshot_id == n->copy.snapshot_id && l->from == n->copy.donor;
    if (n->view.mode != AT_MODE_COPYING || !n->copy.runs ||
        (!ours && !AT_MUTANT(chunk_of_any_snapshot)))
        return;
    if (chunk->cursor.len != 4) {
        sim_copy_drop(w, l->to);
        return;
    }
    if (l->told[0] != n->copy.next)
        return;
    while (rest.len >= 4) {
        size_t key_len = (size_t)rest.data[0] << 8 | rest.data[1];
        size_t value_len = (size_t)rest.data[2] << 8 | rest.data[3];
        sim_engine_put(&n->copy.aside, at_slice_make(rest.data + 4, key_len),
                       at_slice_make(rest.data + 4 + key_len, value_len));
        rest = at_slice_from(rest, 4 + key_len + value_len);
    }
    sim_engine_sync(&n->copy.aside);
    n->copy.asks = 0;
    n->copy.next = at_get_be32(chunk->cursor.data);
    if (chunk->last)
        finish(w, l->to);
    else
        ask_chunk(w, l->to);
}

static bool is_shipped(const struct sim_record *r)
{
    return r->bytes[0] == 'c' || r->bytes[0] == 'd' || r->bytes[0] == 'v' || r->bytes[0] == 'x';
}

static void finish(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    struct at_vector grown;
    struct at_message m;
    struct at_arena arena;

    at_arena_init(&arena, 16 * AT_KIB);
    if (at_message_decode(at_buf_slice(&n->copy.opened), &arena, &m) != AT_OK) {
        sim_fail(w, "codec", "COPY_OPENED does not decode");
        at_arena_deinit(&arena);
        return;
    }
    const struct at_copy_state *state = m.u.copy_opened.state;
    merge(w, node, at_replica_copy_rule(n->replica, state));
    merge_book(w, node);
    merge_catalog(w, node);
    at_vector_init(&grown);
    uint64_t horizon = n->replica->horizon;
    at_replica_copy_end(n->replica, state, &grown);
    if (n->replica->horizon < horizon || n->replica->horizon < state->horizon)
        sim_fail(w, "horizon fell", "of cluster %u, with its copy from %u", node, n->copy.donor);
    empty_logs(w, node, &grown);
    at_vector_deinit(&grown);
    at_message_deinit(&m);
    at_arena_deinit(&arena);
    n->copy.runs = false;
    n->coverage_moved = true;
    n->dirty_rows = (1u << (SIM_TABLES * SIM_ROWS)) - 1;
    w->stats.copies++;
    sim_trace(w, "cluster %u ends its copy from %u", node, n->copy.donor);
    sim_commit(w, node, false);
    sim_engine_deinit(&n->copy.aside);
}

/* Rule 29. */
static void merge(struct sim_world *w, uint32_t node, struct at_copy_rule rule)
{
    struct sim_node *n = &w->nodes[node];
    const struct sim_records *donor = &n->copy.aside.now;

    for (uint32_t i = 0; i < n->engine.now.count;) {
        const struct sim_record *r = n->engine.now.items[i];
        bool data = r->bytes[0] == 'd' || r->bytes[0] == 'x';
        if (data && rule.donor_side && hlc_of(r) <= rule.t &&
            sim_records_find(donor, sim_record_key(r)) == NULL)
            sim_engine_delete(&n->engine, sim_record_key(r));
        else
            i++;
    }
    for (uint32_t i = 0; i < donor->count; i++) {
        const struct sim_record *r = donor->items[i];
        if (r->bytes[0] != 'd' && r->bytes[0] != 'x')
            continue;
        if (hlc_of(r) > rule.t || rule.donor_side)
            sim_engine_put(&n->engine, sim_record_key(r), sim_record_value(r));
    }
}

static uint64_t hlc_of(const struct sim_record *r)
{
    size_t at = r->bytes[0] == 'x' ? 5 : r->key_len - AT_KEY_STAMP_BYTES;
    return ~at_get_be64(r->bytes + at);
}

static void merge_book(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    const struct sim_records *donor = &n->copy.aside.now;

    for (uint32_t i = sim_records_seek(donor, AT_LIT("v"));
         i < donor->count && donor->items[i]->bytes[0] == 'v'; i++) {
        const struct sim_record *r = donor->items[i];
        uint32_t *has = &n->coverage[at_get_be32(r->bytes + 1) - 1][at_get_be32(r->bytes + 5) - 1];
        uint32_t seq = at_get_be32(sim_record_value(r).data);
        if (seq <= *has)
            continue;
        *has = seq;
        sim_engine_put(&n->engine, sim_record_key(r), sim_record_value(r));
    }
}

static void merge_catalog(struct sim_world *w, uint32_t node)
{
    struct sim_node *n = &w->nodes[node];
    const struct sim_records *donor = &n->copy.aside.now;

    for (uint32_t i = sim_records_seek(donor, AT_LIT("c"));
         i < donor->count && donor->items[i]->bytes[0] == 'c'; i++) {
        struct at_catalog_record record;
        struct at_catalog *next = NULL;
        struct at_unpack in;
        at_unpack_init(&in, sim_record_value(donor->items[i]));
        enum at_code code = at_catalog_record_decode(&in, &record);
        AT_ASSERT(code == AT_OK);
        code = at_catalog_apply(n->catalog, &record, 1, NULL, &next, NULL);
        AT_ASSERT(code == AT_OK);
        at_catalog_free(&n->catalog);
        n->catalog = next;
    }
    sim_rows_store_catalog(w, node);
}

static void empty_logs(struct sim_world *w, uint32_t node, const struct at_vector *grown)
{
    struct sim_engine *e = &w->nodes[node].engine;

    for (uint32_t i = 0; i < grown->count; i++) {
        uint8_t key[17];
        sim_log_key(key, (struct at_position){grown->items[i].origin, grown->items[i].epoch, 0});
        uint32_t at = sim_records_seek(&e->now, at_slice_make(key, 17));
        while (at < e->now.count && memcmp(e->now.items[at]->bytes, key, 9) == 0)
            sim_engine_delete(e, sim_record_key(e->now.items[at]));
    }
}
