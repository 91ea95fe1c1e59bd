#include "cluster/admin/instance_view.h"
#include "cluster/admin/lookup.h"
#include "cluster/service/heat.h"
#include "cluster/service/state.h"

/* ListHotTablets: the stretches of rows that had a good part of this cluster's requests, minute by
 * minute. Only the cluster itself knows them. A page token is the number of what was given. */

#define PERCENT_MIN 1.0
#define SKIP_DIGITS_MAX 9

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

static enum at_code
check(const struct at_lookup *lookup, const request_t *in, struct at_error *reterr)
{
    const struct at_service *service = lookup->service;
    struct at_cluster_entry entry;
    struct at_slice id;

    AT_TRY(at_admin_child(service, in->parent, "/clusters/", &id, reterr));
    if (ns_of(in->start_time, 0) > ns_of(in->end_time, UINT64_MAX))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'start_time' : must not be after end_time");
    if (at_slice_eq_cstr(id, service->cluster_id))
        return AT_OK;
    if (!at_cluster_entry(service, lookup->catalog, id, lookup->arena, &entry))
        return at_fail(reterr, AT_NOT_FOUND, "Cluster %s not found", in->parent);
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "Hot tablets of cluster %.*s are known to itself alone; this is cluster %s",
                   AT_SLICE_ARG(id), service->cluster_id);
}

static enum at_code
skip_of(const struct at_admin_page *page, unsigned long *ret_skip, struct at_error *reterr)
{
    *ret_skip = 0;
    for (size_t i = 0; i < page->after.len; i++) {
        uint8_t c = page->after.data[i];
        if (c < '0' || c > '9' || page->after.len > SKIP_DIGITS_MAX)
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'page_token' : not one of a list of hot tablets");
        *ret_skip = *ret_skip * 10 + (unsigned long)(c - '0');
    }
    return AT_OK;
}

static enum at_code
fill(const struct at_lookup *lookup, const request_t *in, response_t *out, struct at_error *reterr)
{
    struct at_service *service = lookup->service;
    struct at_arena *arena = lookup->arena;
    struct at_admin_page page;
    unsigned long skip, at = 0;
    struct at_heat_stretch *all;
    uint64_t now_ns = at_clock_wall_ns(&service->clock);
    uint32_t count = at_heat_report(service->state->heat, now_ns, arena, &all);
    uint64_t from_ns = ns_of(in->start_time, 0), to_ns = ns_of(in->end_time, UINT64_MAX);

    AT_TRY(at_admin_page_decode(in->page_size, in->page_token, arena, &page, reterr));
    AT_TRY(skip_of(&page, &skip, reterr));
    out->hot_tablets = AT_ARENA_ARRAY(arena, Google__Bigtable__Admin__V2__HotTablet *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].percent < PERCENT_MIN || all[i].end_ns < from_ns || all[i].start_ns > to_ns ||
            at++ < skip)
            continue;
        if (out->n_hot_tablets == page.size) {
            const char *given = at_arena_printf(arena, "%lu", at - 1);
            out->next_page_token = at_admin_page_token(arena, at_slice_cstr(given));
            return AT_OK;
        }
        out->hot_tablets[out->n_hot_tablets++] = render(service, in->parent, &all[i], arena);
    }
    return AT_OK;
}

static enum at_code list(const struct at_lookup *lookup,
                         const void *request,
                         const ProtobufCMessage **ret_answer,
                         struct at_error *reterr)
{
    response_t *out = AT_ARENA_NEW(lookup->arena, response_t);

    google__bigtable__admin__v2__list_hot_tablets_response__init(out);
    AT_TRY(check(lookup, request, reterr));
    AT_TRY(fill(lookup, request, out, reterr));
    *ret_answer = &out->base;
    return AT_OK;
}

void at_on_list_hot_tablets(struct at_grpc_call *call, void *ctx)
{
    at_lookup_answer(ctx, call, &google__bigtable__admin__v2__list_hot_tablets_request__descriptor,
                     list);
}
