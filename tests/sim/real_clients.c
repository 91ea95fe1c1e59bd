#include "base/assert.h"
#include "base/bytes.h"
#include "cluster/model/operation.h"
#include "sim/real_world.h"

/* Random requests through the real writer. */

#define SUM_FIELDS "\x1a\x04\x32\x02\x22\x00"

static const struct at_slice full_name = AT_LIT_INIT("projects/p/instances/i/tables/t");

static void on_done(struct at_write *write)
{
    ((struct real_write *)write->ctx)->done = true;
}

static struct real_write *new_write(struct real_node *n, enum real_write_kind kind)
{
    for (uint32_t i = 0; i < REAL_WRITES_MAX; i++) {
        struct real_write *x = &n->writes[i];
        if (x->in_use)
            continue;
        struct at_arena arena = x->arena;
        at_arena_reset(&arena);
        *x = (struct real_write){.in_use = true, .kind = kind, .arena = arena};
        return x;
    }
    return NULL;
}

static void submit(struct real_node *n, struct real_write *x, enum at_write_kind kind)
{
    x->u.base.kind = kind;
    x->u.base.done = on_done;
    x->u.base.ctx = x;
    if (at_store_submit(n->disk.store, &x->u.base) != AT_OK)
        x->in_use = false;
}

static void random_mutation(struct real_world *w, struct real_write *x, struct at_mutation *m)
{
    uint32_t family = real_below(w, SIM_FAMILIES);
    uint32_t time = real_below(w, SIM_TIMES);
    uint32_t dice = real_below(w, 10);
    uint8_t *value = at_arena_alloc_raw(&x->arena, 8);

    m->family = real_families[family];
    m->qualifier = real_columns[real_below(w, SIM_COLUMNS)];
    if (dice < 6) {
        m->kind = family == 1 ? AT_MUTATION_ADD : AT_MUTATION_SET;
        m->timestamp_micros = 1000 * (1 + (int64_t)time);
        at_put_be64(value, (uint64_t)w->next_value);
        m->value = at_slice_make(value, 8);
        x->value = x->has_value ? x->value : w->next_value;
        x->has_value = true;
        w->next_value++;
    } else if (dice < 8) {
        m->kind = AT_MUTATION_DELETE_COLUMN;
        m->start_micros = 1000 * (1 + (int64_t)time);
        m->end_micros = real_percent(w, 50) ? 0 : m->start_micros + 1000;
    } else {
        m->kind = dice == 8 ? AT_MUTATION_DELETE_FAMILY : AT_MUTATION_DELETE_ROW;
    }
}

void real_client_rows(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];
    struct real_write *x = new_write(n, REAL_ROWS);

    if (x == NULL)
        return;
    uint32_t count = real_percent(w, 20) ? 1 + real_below(w, 3) : 1;
    struct at_row_mutations *rows = AT_ARENA_ARRAY(&x->arena, struct at_row_mutations, count);
    for (uint32_t i = 0; i < count; i++) {
        rows[i].row = real_rows[real_below(w, SIM_ROWS)];
        rows[i].mutation_count = 1 + (real_percent(w, 30) ? real_below(w, SIM_MUTATIONS_MAX) : 0);
        rows[i].mutations = AT_ARENA_ARRAY(&x->arena, struct at_mutation, rows[i].mutation_count);
        for (uint32_t k = 0; k < rows[i].mutation_count; k++)
            random_mutation(w, x, &rows[i].mutations[k]);
    }
    x->u.rows.table = real_tables[real_percent(w, 25) ? 1 : 0];
    x->u.rows.full_name = full_name;
    x->u.rows.rows = rows;
    x->u.rows.row_count = count;
    submit(n, x, AT_WRITE_ROWS);
}

void real_client_drop(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];
    struct real_write *x = new_write(n, REAL_DROP);
    static const struct at_slice prefixes[] = {AT_LIT_INIT(""), AT_LIT_INIT("a"), AT_LIT_INIT("b")};

    if (x == NULL)
        return;
    x->u.drop.table = real_tables[real_below(w, SIM_TABLES)];
    x->u.drop.full_name = full_name;
    x->u.drop.prefix = prefixes[real_below(w, 3)];
    submit(n, x, AT_WRITE_DROP);
}

/* --- schema --- */

static void put_family(struct real_write *x, uint32_t family, uint64_t generation, uint64_t counter)
{
    struct at_catalog_record *r = &x->u.catalog.records[x->u.catalog.record_count++];

    *r = (struct at_catalog_record){
        .kind = AT_CATALOG_FAMILY,
        .name = real_families[family],
        .table = real_tables[x->table],
        .table_generation = generation,
        .counter = counter,
        .fields = family == 1 ? AT_LIT(SUM_FIELDS) : AT_LIT(""),
    };
}

static enum at_code
decide(struct at_write_catalog *write, const struct at_catalog *c, struct at_error *reterr)
{
    struct real_write *x = write->base.ctx;
    struct at_slice name = real_tables[x->table];
    const struct at_table *table = at_catalog_table(c, name);
    uint64_t counter = at_catalog_table_counter(c, name);
    struct at_table_fields fields = {.granularity_micros = 1000};
    struct at_buf bytes;

    (void)reterr;
    write->records = AT_ARENA_ARRAY(write->arena, struct at_catalog_record, SIM_RECORDS_MAX);
    if (table != NULL && x->change >= SIM_FAMILIES + 1) {
        uint32_t family = x->change % SIM_FAMILIES;
        put_family(x, family, table->generation,
                   at_catalog_family_counter(c, name, table->generation, real_families[family]) +
                       1);
        return AT_OK;
    }
    at_buf_init(&bytes, AT_KIB);
    enum at_code code = at_table_fields_encode(&fields, &bytes);
    AT_ASSERT(code == AT_OK);
    write->records[write->record_count++] = (struct at_catalog_record){
        .kind = AT_CATALOG_TABLE,
        .name = name,
        .counter = counter + 1,
        .fields = at_arena_copy(write->arena, at_buf_slice(&bytes)),
    };
    at_buf_deinit(&bytes);
    for (uint32_t f = 0; table == NULL && f < SIM_FAMILIES; f++)
        put_family(x, f, counter + 1,
                   at_catalog_family_counter(c, name, counter + 1, real_families[f]) | 1);
    return AT_OK;
}

void real_client_schema(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];
    struct real_write *x = new_write(n, REAL_CATALOG);

    if (x == NULL)
        return;
    x->table = real_below(w, SIM_TABLES);
    x->change = real_below(w, 20); /* below 4: of the table itself */
    x->u.catalog.decide = decide;
    x->u.catalog.arena = &x->arena;
    submit(n, x, AT_WRITE_CATALOG);
}

/* --- a newcomer's registration --- */

static enum at_code
decide_join(struct at_write_catalog *write, const struct at_catalog *c, struct at_error *reterr)
{
    struct real_write *x = write->base.ctx;

    (void)c;
    (void)reterr;
    write->acts = x->act;
    write->act_count = 1;
    return AT_OK;
}

void real_client_join(struct real_world *w, uint32_t registrar)
{
    struct real_node *n = &w->nodes[registrar];
    struct real_write *x = w->node_count < SIM_NODES_MAX ? new_write(n, REAL_JOIN) : NULL;
    uint8_t info[64];

    if (x == NULL)
        return;
    x->newcomer = w->node_count++; /* ids are not given twice */
    x->act = AT_ARENA_NEW(&x->arena, struct at_operation);
    x->act->kind = AT_OPERATION_MEMBER;
    x->act->members[0] = real_id(x->newcomer);
    x->act->member_count = 1;
    x->act->info = at_arena_copy(&x->arena, real_info(x->newcomer, info, sizeof(info)));
    x->u.catalog.decide = decide_join;
    x->u.catalog.arena = &x->arena;
    w->stats.joins++;
    submit(n, x, AT_WRITE_CATALOG);
}

/* As `atoll` does with the registrar's answer. */
static void begin_newcomer(struct real_world *w, uint32_t registrar, const struct real_write *x)
{
    struct real_node *n = &w->nodes[x->newcomer];
    const struct at_replica_view *v = &w->nodes[registrar].view;

    n->newcomer = true;
    n->join_hlc = v->hlc;
    for (uint32_t i = 0; i < v->member_count; i++) {
        if (!v->members[i].active)
            continue;
        n->members[n->member_count] = v->members[i].id;
        n->infos[n->member_count] =
            real_info(v->members[i].id.v - 1, n->info_bytes[n->member_count], 64);
        n->member_count++;
    }
    real_trace(w, "cluster %u joins, registered by %u", x->newcomer, registrar);
    real_node_prepare(w, x->newcomer);
    real_node_start(w, x->newcomer);
}

/* --- answers --- */

static void note_acked(struct real_world *w, uint32_t node, uint64_t seq)
{
    uint32_t *acked = &w->acked[node][w->nodes[node].view.epoch - 1];

    if (*acked < seq)
        *acked = (uint32_t)seq;
}

static void check_in_log(struct real_world *w, uint32_t node, const struct real_write *x)
{
    const struct sim_op *op = sim_oracle_op(
        &w->oracle, (struct at_position){real_id(node), w->nodes[node].view.epoch, x->u.base.seq});

    if (op == NULL)
        real_fail(w, "acknowledged write", "cluster %u: seq %llu is not in its log", node,
                  (unsigned long long)x->u.base.seq);
    bool first = x->kind == REAL_ROWS && x->u.rows.row_count == 1 && x->has_value;
    bool found = !first;
    for (uint32_t i = 0; op != NULL && i < op->mutation_count; i++)
        found = found || op->mutations[i].value == x->value;
    if (op != NULL && !found)
        real_fail(w, "acknowledged write", "cluster %u: the log has another one as %llu", node,
                  (unsigned long long)x->u.base.seq);
}

static void free_answer(struct real_write *x)
{
    bool catalog = x->kind == REAL_CATALOG || x->kind == REAL_JOIN;

    if (catalog && x->u.base.code == AT_OK)
        at_schema_unref(&x->u.catalog.ret_schema);
}

void real_clients_take(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    for (uint32_t i = 0; i < REAL_WRITES_MAX; i++) {
        struct real_write *x = &n->writes[i];
        if (!x->in_use || !x->done)
            continue;
        x->in_use = false;
        free_answer(x);
        real_hash(w, (uint64_t)x->u.base.code << 8 | node);
        if (x->u.base.code != AT_OK || x->u.base.seq == 0) {
            w->stats.refused++;
            if (x->kind == REAL_JOIN)
                w->nodes[x->newcomer].state = REAL_GONE; /* it never was registered */
            if (w->resting)
                real_trace(w, "cluster %u refuses: %s %s", node, at_code_name(x->u.base.code),
                           x->u.base.code != AT_OK ? x->u.base.error.msg : "");
            continue;
        }
        w->stats.acked++;
        at_store_view(n->disk.store, &n->view);
        note_acked(w, node, x->u.base.seq);
        check_in_log(w, node, x);
        if (x->kind == REAL_JOIN && !w->resting)
            begin_newcomer(w, node, x);
        else if (x->kind == REAL_JOIN)
            w->nodes[x->newcomer].state = REAL_DEAD;
    }
}

void real_clients_forget(struct real_world *w, uint32_t node)
{
    struct real_node *n = &w->nodes[node];

    for (uint32_t i = 0; i < REAL_WRITES_MAX; i++) {
        struct real_write *x = &n->writes[i];
        if (!x->in_use)
            continue;
        /* Nobody knows whether it was registered: the process of the newcomer never begins. */
        if (x->kind == REAL_JOIN)
            w->nodes[x->newcomer].state = REAL_DEAD;
        if (x->done) /* in a turn of the collector's, and it died before it was told */
            free_answer(x);
        x->in_use = false;
    }
}
