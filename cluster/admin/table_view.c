#include "cluster/admin/admin.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "cluster/admin/instance_view.h"
#include "replication/peer/peering.h"

/* What each view shows. The state of another member is what the links tell: whoever is in touch
 * serves; whoever is not may do so for others, but not as far as this cluster can know. */

#define VIEW(name) GOOGLE__BIGTABLE__ADMIN__V2__TABLE__VIEW__##name
#define STATE(name) GOOGLE__BIGTABLE__ADMIN__V2__TABLE__CLUSTER_STATE__REPLICATION_STATE__##name
#define GRANULARITY_MICROS 2 /* not named in the public proto's enum of this version */

static void fill_states(struct at_table_view *v);
static int own_state(struct at_service *service);
static int state_of(uint32_t member, const struct at_link_status *links, uint32_t count);
static enum at_code fill_schema(const struct at_table_view *v,
                                const struct at_table *table,
                                Google__Bigtable__Admin__V2__Table *out,
                                struct at_error *reterr);

enum at_code at_table_view_init(struct at_table_view *v,
                                struct at_service *service,
                                struct at_arena *arena,
                                int view,
                                int view_default,
                                struct at_error *reterr)
{
    if (view == VIEW(VIEW_UNSPECIFIED))
        view = view_default;
    if (view < VIEW(NAME_ONLY) || view > VIEW(ENCRYPTION_VIEW))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'view' : %d is no view", view);
    *v = (struct at_table_view){.service = service, .arena = arena, .view = view};
    if (view == VIEW(REPLICATION_VIEW) || view == VIEW(ENCRYPTION_VIEW) || view == VIEW(FULL))
        fill_states(v);
    return AT_OK;
}

/* A table that is being filled from a backup is nowhere complete. */
static Google__Bigtable__Admin__V2__Table__ClusterStatesEntry **
states_of_restoring(const struct at_table_view *v)
{
    Google__Bigtable__Admin__V2__Table__ClusterStatesEntry **states = AT_ARENA_ARRAY(
        v->arena, Google__Bigtable__Admin__V2__Table__ClusterStatesEntry *, v->state_count + 1);

    for (size_t i = 0; i < v->state_count; i++) {
        states[i] = AT_ARENA_NEW(v->arena, Google__Bigtable__Admin__V2__Table__ClusterStatesEntry);
        *states[i] = *v->states[i];
        states[i]->value = AT_ARENA_NEW(v->arena, Google__Bigtable__Admin__V2__Table__ClusterState);
        *states[i]->value = *v->states[i]->value;
        states[i]->value->replication_state = STATE(INITIALIZING);
    }
    return states;
}

enum at_code at_table_view_render(const struct at_table_view *v,
                                  const struct at_table *table,
                                  Google__Bigtable__Admin__V2__Table **ret_table,
                                  struct at_error *reterr)
{
    Google__Bigtable__Admin__V2__Table *out =
        AT_ARENA_NEW(v->arena, Google__Bigtable__Admin__V2__Table);

    google__bigtable__admin__v2__table__init(out);
    out->name = at_admin_table_name(v->service, v->arena, table->name);
    out->n_cluster_states = v->state_count;
    out->cluster_states = table->fields.restoring ? states_of_restoring(v) : v->states;
    *ret_table = out;
    if (v->view == VIEW(SCHEMA_VIEW) || v->view == VIEW(FULL))
        return fill_schema(v, table, out, reterr);
    return AT_OK;
}

enum at_code at_table_view_answer(const struct at_change *change,
                                  const struct at_catalog *after,
                                  struct at_slice table_id,
                                  struct at_operation_answer *ret_answer,
                                  struct at_error *reterr)
{
    const struct at_table *table = at_catalog_table(after, table_id);
    Google__Bigtable__Admin__V2__Table *out = NULL;
    const struct at_table_view view = {
        .service = change->service, .arena = change->write.arena, .view = VIEW(SCHEMA_VIEW)};

    if (!table)
        return at_admin_no_table(change->service, table_id, reterr);
    AT_TRY(at_table_view_render(&view, table, &out, reterr));
    ret_answer->resource = out->name;
    ret_answer->response = &out->base;
    return AT_OK;
}

void at_table_view_reply(struct at_change *change, struct at_slice table_id)
{
    struct at_arena *arena = at_grpc_call_arena(change->call);
    const struct at_table *table = at_catalog_table(change->write.ret_schema->catalog, table_id);
    struct at_table_view view;
    Google__Bigtable__Admin__V2__Table *out = NULL;
    struct at_error error;

    /* In the round of the change, a later one may have deleted it again. */
    enum at_code code = table ? at_table_view_init(&view, change->service, arena, VIEW(SCHEMA_VIEW),
                                                   VIEW(SCHEMA_VIEW), &error)
                              : at_admin_no_table(change->service, table_id, &error);
    if (code == AT_OK) {
        AT_ASSERT(table != NULL);
        code = at_table_view_render(&view, table, &out, &error);
    }
    if (code == AT_OK)
        at_service_reply(change->service, change->call, &out->base);
    else
        at_service_fail(change->service, change->call, &error);
}

static enum at_code fill_families(const struct at_table_view *v,
                                  const struct at_table *table,
                                  Google__Bigtable__Admin__V2__Table *out,
                                  struct at_error *reterr)
{
    out->column_families =
        AT_ARENA_ARRAY(v->arena, Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry *,
                       table->family_count + 1);
    for (uint32_t i = 0; i < table->family_count; i++) {
        const struct at_family *family = &table->families[i];
        Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry *entry =
            AT_ARENA_NEW(v->arena, Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry);
        google__bigtable__admin__v2__table__column_families_entry__init(entry);
        entry->key = at_admin_text(v->arena, family->name);
        entry->value = at_proto_unpack(
            v->arena, &google__bigtable__admin__v2__column_family__descriptor, family->fields);
        if (!entry->value)
            return at_fail(reterr, AT_DATA_LOSS, "What is stored of family '%.*s' is damaged",
                           AT_SLICE_ARG(family->name));
        out->column_families[out->n_column_families++] = entry;
    }
    return AT_OK;
}

static enum at_code fill_schema(const struct at_table_view *v,
                                const struct at_table *table,
                                Google__Bigtable__Admin__V2__Table *out,
                                struct at_error *reterr)
{
    const struct at_table_fields *fields = &table->fields;
    int granularity = fields->granularity_micros == 1
                          ? GRANULARITY_MICROS
                          : GOOGLE__BIGTABLE__ADMIN__V2__TABLE__TIMESTAMP_GRANULARITY__MILLIS;

    out->granularity = (Google__Bigtable__Admin__V2__Table__TimestampGranularity)granularity;
    out->deletion_protection = fields->deletion_protection;
    if (fields->restore_info.len > 0)
        out->restore_info = at_proto_unpack(
            v->arena, &google__bigtable__admin__v2__restore_info__descriptor, fields->restore_info);
    if (fields->change_stream_config.len > 0) {
        out->change_stream_config = at_proto_unpack(
            v->arena, &google__bigtable__admin__v2__change_stream_config__descriptor,
            fields->change_stream_config);
        if (!out->change_stream_config)
            return at_fail(reterr, AT_DATA_LOSS, "What is stored of table '%.*s' is damaged",
                           AT_SLICE_ARG(table->name));
    }
    return fill_families(v, table, out, reterr);
}

static void fill_states(struct at_table_view *v)
{
    struct at_service *service = v->service;
    struct at_link_status links[AT_MEMBERS_MAX];
    uint32_t link_count = service->port.links(service->port.ctx, links, AT_MEMBERS_MAX);

    struct at_schema *schema = at_store_schema(service->store);
    struct at_cluster_entries all = at_cluster_entries(service, schema->catalog, v->arena);
    v->states = AT_ARENA_ARRAY(v->arena, Google__Bigtable__Admin__V2__Table__ClusterStatesEntry *,
                               all.count + 1);
    for (uint32_t i = 0; i < all.count; i++) {
        uint32_t member = all.items[i].record->address->member_id;
        Google__Bigtable__Admin__V2__Table__ClusterStatesEntry *entry =
            AT_ARENA_NEW(v->arena, Google__Bigtable__Admin__V2__Table__ClusterStatesEntry);
        google__bigtable__admin__v2__table__cluster_states_entry__init(entry);
        entry->key = at_admin_text(v->arena, all.items[i].id);
        entry->value = AT_ARENA_NEW(v->arena, Google__Bigtable__Admin__V2__Table__ClusterState);
        google__bigtable__admin__v2__table__cluster_state__init(entry->value);
        int state =
            member == service->member ? own_state(service) : state_of(member, links, link_count);
        if (at_cluster_creating(&all.items[i]))
            state = STATE(INITIALIZING);
        entry->value->replication_state =
            (Google__Bigtable__Admin__V2__Table__ClusterState__ReplicationState)state;
        v->states[v->state_count++] = entry;
    }
    at_schema_unref(&schema);
}

static int own_state(struct at_service *service)
{
    struct at_replica_view view;

    if (atomic_load(&service->draining))
        return STATE(PLANNED_MAINTENANCE);
    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    bool ready = view.mode == AT_MODE_READY;
    at_replica_view_deinit(&view);
    return ready ? STATE(READY) : STATE(INITIALIZING);
}

/* All that is not cut serves, also a peer that this cluster itself is behind. */
static int state_of(uint32_t member, const struct at_link_status *links, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (links[i].peer.v == member)
            return links[i].state == AT_LINK_CUT ? STATE(UNPLANNED_MAINTENANCE) : STATE(READY);
    return STATE(STATE_NOT_KNOWN);
}
