#include <stdlib.h>

#include "base/assert.h"
#include "cluster/admin/instance_view.h"
#include "cluster/service/heat.h"
#include "cluster/service/state.h"

/* ListHotTablets: the stretches of rows that had a good part of this cluster's requests, minute by
 * minute. Only the cluster itself knows them. A page token is the number of what was given. */

#define PERCENT_MIN 1.0
#define PAGE_MAX 1000

typedef Google__Bigtable__Admin__V2__ListHotTabletsRequest request_t;
typedef Google__Bigtable__Admin__V2__ListHotTabletsResponse response_t;

/* Row keys are any bytes, and this field is text. */
static char *row_text(struct at_arena *arena, struct at_slice row)
{
    static const char HEX[] = "0123456789abcdef";
    char *out = at_arena_alloc_raw(arena, 4 * row.len + 1), *p = out;

    for (size_t i = 0; i < row.len; i++) {
        uint8_t c = row.data[i];
        if (c >= 0x20 && c < 0x7f && c != '\\') {
            *p++ = (char)c;
            continue;
        }
        *p++ = '\\';
        *p++ = 'x';
        *p++ = HEX[c >> 4];
        *p++ = HEX[c & 15];
    }
    *p = '\0';
    return out;
}

static uint64_t ns_of(const Google__Protobuf__Timestamp *t, uint64_t otherwise)
{
    if (!t)
        return otherwise;
    return t->seconds < 0 ? 0 : (uint64_t)t->seconds * AT_S_NS + (uint64_t)t->nanos;
}

static Google__Bigtable__Admin__V2__HotTablet *render(const struct at_service *service,
                                                      const char *parent,
                                                      const struct at_heat_stretch *s,
                                                      struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__HotTablet *out =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__HotTablet);

    google__bigtable__admin__v2__hot_tablet__init(out);
    out->table_name = at_admin_table_name(service, arena, s->table);
    out->start_key = row_text(arena, s->first_row);
    out->end_key = row_text(arena, s->last_row);
    out->name = at_arena_printf(arena, "%s/hotTablets/%llu-%.*s-%s", parent,
                                (unsigned long long)(s->start_ns / AT_S_NS), AT_SLICE_ARG(s->table),
                                out->start_key);
    out->start_time = at_admin_time(arena, s->start_ns);
    out->end_time = at_admin_time(arena, s->end_ns);
    out->node_cpu_usage_percent = (float)s->percent;
    return out;
}

static enum at_code check(struct at_service *service, const request_t *in, struct at_error *reterr)
{
    struct at_cluster_entry entry;
    struct at_slice id;

    AT_TRY(at_admin_child(service, in->parent, "/clusters/", &id, reterr));
    if (in->page_size < 0)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'page_size' : must not be negative");
    if (ns_of(in->start_time, 0) > ns_of(in->end_time, UINT64_MAX))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'start_time' : must not be after end_time");
    if (at_slice_eq_cstr(id, service->cluster_id))
        return AT_OK;
    struct at_arena arena;
    at_arena_init(&arena, 1024);
    struct at_schema *schema = at_store_schema(service->store);
    bool there = at_cluster_entry(service, schema->catalog, id, &arena, &entry);
    at_schema_unref(&schema);
    at_arena_deinit(&arena);
    if (!there)
        return at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", in->parent);
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "Hot tablets of cluster %.*s are known to itself alone; this is cluster %s",
                   AT_SLICE_ARG(id), service->cluster_id);
}

static void
fill(struct at_service *service, const request_t *in, struct at_arena *arena, response_t *out)
{
    struct at_heat_stretch *all;
    uint64_t now_ns = at_clock_wall_ns(&service->clock);
    uint32_t count = at_heat_report(service->state->heat, now_ns, arena, &all);
    uint64_t from_ns = ns_of(in->start_time, 0), to_ns = ns_of(in->end_time, UINT64_MAX);
    unsigned long skip = strtoul(in->page_token, NULL, 10), at = 0;
    size_t size = in->page_size > 0 && in->page_size < PAGE_MAX ? (size_t)in->page_size : PAGE_MAX;

    out->hot_tablets = AT_ARENA_ARRAY(arena, Google__Bigtable__Admin__V2__HotTablet *, size + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].percent < PERCENT_MIN || all[i].end_ns < from_ns || all[i].start_ns > to_ns ||
            at++ < skip)
            continue;
        if (out->n_hot_tablets == size) {
            out->next_page_token = at_arena_printf(arena, "%lu", at - 1);
            return;
        }
        out->hot_tablets[out->n_hot_tablets++] = render(service, in->parent, &all[i], arena);
    }
}

void at_on_list_hot_tablets(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    response_t out = GOOGLE__BIGTABLE__ADMIN__V2__LIST_HOT_TABLETS_RESPONSE__INIT;
    const request_t *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__list_hot_tablets_request__descriptor);

    if (!in)
        return;
    if (check(service, in, &error) != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    fill(service, in, at_grpc_call_arena(call), &out);
    at_service_reply(service, call, &out.base);
}
