/* gather.c: as many calls as there are instances, and one answer when the last has ended, in the
 * order of their names. Lists are joined as bytes: field 1 of every list is its items, and field 2
 * of one in pages is the token of the next page. */
#include "routing/proxy/gather.h"

#include "base/alloc.h"
#include "base/pbwire.h"
#include "routing/proxy/reply.h"

enum { ITEMS_FIELD = 1, NEXT_TOKEN_FIELD = 2 };
enum { ANSWER_BYTES_MAX = 64 * 1024 * 1024, PAGES_MAX = 1000 };
#define EACH_NS (5 * AT_S_NS)

struct gather;

/* What an instance answered; in the call's arena. */
struct page {
    struct page *next;
    struct at_slice bytes;
};

struct part {
    struct gather *gather;
    struct at_front *front;
    struct at_front_pick order[AT_MEMBERS_MAX];
    uint32_t order_count;
    uint32_t next;
    uint32_t target;
    struct at_grpc_client_call *upstream;
    struct at_slice message;
    struct at_slice answer; /* the latest message; in the call's arena */
    struct page *pages;
    struct page **pages_end;
    uint32_t page_count;
    bool answered;
};

struct gather {
    struct at_grpc_call *call;
    struct at_gather_plan plan;
    struct part *parts;
    uint32_t count;
    uint32_t open_count;
    struct at_error refused; /* what one says of the request, and so would all */
    struct at_buf out;
};

static void attempt(struct part *part);
static void end_part(struct part *part, bool answered);
static void on_message(void *ctx, struct at_slice message);
static void on_done(void *ctx, const struct at_grpc_result *result);
static void on_cancel(struct at_grpc_call *call, void *ctx);
static bool take_page(struct part *part);
static void take_items(struct gather *g, struct at_slice answer);
static void take_failed(struct gather *g, const struct at_front *front);
static void finish(struct gather *g);

static const struct at_grpc_client_handler HANDLER = {.on_message = on_message, .on_done = on_done};

bool at_gather_method(const struct at_route_method *method,
                      struct at_slice request,
                      struct at_gather_plan *ret_plan)
{
    struct at_request_head head;
    struct at_resource resource;
    if (method->gather == AT_GATHER_NO || at_request_peek(method, request, &head, NULL) != AT_OK)
        return false;
    bool parsed = at_resource_parse(head.table_name, &resource);
    if (parsed && !at_slice_eq_cstr(resource.id, "-"))
        return false;
    struct at_gather_plan plan = {.path = method->path,
                                  .request = request,
                                  .project = resource.project,
                                  .name_field = method->table_field};
    switch (method->gather) {
    case AT_GATHER_OPERATIONS:
        if (!parsed && !at_resource_project(head.table_name, &plan.project))
            return false;
        plan.name_prefix = AT_LIT("operations/");
        plan.page_size_field = 2;
        plan.page_token_field = 3;
        plan.failed_field = 3;
        *ret_plan = plan;
        return true;
    case AT_GATHER_PROFILES:
        plan.page_size_field = 3;
        plan.page_token_field = 2;
        plan.failed_field = 3;
        break;
    case AT_GATHER_BACKUPS:
        plan.name_suffix = AT_LIT("/clusters/-");
        plan.page_size_field = 4;
        plan.page_token_field = 5;
        break;
    case AT_GATHER_CLUSTERS:
        plan.failed_field = 2;
        break;
    case AT_GATHER_NO:
        break;
    }
    *ret_plan = plan;
    return parsed;
}

/* The request with the name of this instance, for the page of `token`; in the call's arena. */
static struct at_slice
write_request(const struct gather *g, const struct at_front *front, struct at_slice token)
{
    const struct at_gather_plan *plan = &g->plan;
    struct at_arena *arena = at_grpc_call_arena(g->call);
    AT_CLEANUP(at_buf_deinit) struct at_buf b;
    at_buf_init(&b, plan->request.len + token.len + 4 * AT_KIB);
    struct at_slice name = at_slice_cstr(
        at_arena_printf(arena, "%.*s%.*s%.*s", AT_SLICE_ARG(plan->name_prefix),
                        AT_SLICE_ARG(front->realm->name), AT_SLICE_ARG(plan->name_suffix)));
    enum at_code code = at_buf_append(&b, plan->request);
    if (code == AT_OK)
        code = at_pb_put_bytes(&b, plan->name_field, name);
    if (code == AT_OK && plan->page_size_field)
        code = at_pb_put_varint(&b, plan->page_size_field, 0);
    if (code == AT_OK && plan->page_token_field)
        code = at_pb_put_bytes(&b, plan->page_token_field, token);
    return code == AT_OK ? at_arena_copy(arena, at_buf_slice(&b)) : plan->request;
}

void at_gather(struct at_grpc_call *call, const struct at_gather_plan *plan)
{
    struct at_arena *arena = at_grpc_call_arena(call);
    struct at_front **fronts = AT_ARENA_ARRAY(arena, struct at_front *, AT_INSTANCES_MAX);
    struct gather *g = AT_ARENA_NEW(arena, struct gather);
    g->call = call;
    g->plan = *plan;
    g->count = at_fleet_list(plan->fleet, at_grpc_call_loop(call), plan->project, fronts);
    g->parts = AT_ARENA_ARRAY(arena, struct part, g->count + 1);
    at_buf_init(&g->out, ANSWER_BYTES_MAX);
    if (at_buf_append(&g->out, plan->more) != AT_OK)
        at_buf_clear(&g->out);
    at_grpc_call_on_cancel(call, on_cancel, g);
    g->open_count = g->count;
    for (uint32_t i = 0; i < g->count; i++) {
        struct part *part = &g->parts[i];
        part->gather = g;
        part->front = fronts[i];
        part->pages_end = &part->pages;
        part->message = write_request(g, fronts[i], (struct at_slice){0});
        part->order_count = at_front_order(fronts[i], NULL, (struct at_slice){0}, part->order);
        at_front_begin(part->front);
    }
    g->open_count++; /* until all have begun */
    for (uint32_t i = 0; i < g->count; i++)
        attempt(&g->parts[i]);
    if (--g->open_count == 0)
        finish(g);
}

static void attempt(struct part *part)
{
    struct gather *g = part->gather;
    struct at_grpc_channel *channel = NULL;
    while (!channel && part->next < part->order_count) {
        part->target = part->order[part->next].index;
        channel = at_front_use(part->front, part->order[part->next++]);
    }
    if (!channel) {
        end_part(part, false);
        return;
    }
    uint64_t end_ns = at_loop_now_ns(part->front->loop) + EACH_NS;
    uint64_t deadline_ns = at_grpc_call_deadline_ns(g->call);
    struct at_grpc_client_request request = {
        .path = g->plan.path,
        .message = part->message,
        .deadline_ns = end_ns < deadline_ns ? end_ns : deadline_ns,
        .handler = &HANDLER,
        .ctx = part,
    };
    part->upstream = at_grpc_client_start(channel, &request);
}

static void on_message(void *ctx, struct at_slice message)
{
    struct part *part = ctx;
    part->answer = at_arena_copy(at_grpc_call_arena(part->gather->call), message);
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct part *part = ctx;
    part->upstream = NULL;
    at_front_outcome(part->front, part->target, result);
    at_front_unuse(part->front, part->target);
    bool has_none = result->code == AT_NOT_FOUND || result->code == AT_UNIMPLEMENTED;
    bool refused = result->code == AT_INVALID_ARGUMENT && result->from_peer;
    if (refused)
        (void)at_fail(&part->gather->refused, result->code, "%.*s", AT_SLICE_ARG(result->message));
    bool ended = result->code == AT_OK ? !take_page(part) : has_none || refused;
    if (ended)
        end_part(part, true);
    else
        attempt(part); /* the next page, or at the next cluster */
}

/* Keeps the answer; true when there is a page behind it, which the same cluster is asked for. */
static bool take_page(struct part *part)
{
    const struct gather *g = part->gather;
    struct at_arena *arena = at_grpc_call_arena(g->call);
    struct page *page = AT_ARENA_NEW(arena, struct page);
    struct at_slice rest = part->answer;
    struct at_slice token = {0};
    struct at_pb_field field;
    bool bad = false;
    *page = (struct page){.bytes = part->answer};
    *part->pages_end = page;
    part->pages_end = &page->next;
    part->answer = (struct at_slice){0};
    while (g->plan.page_token_field && at_pb_next(&rest, &field, &bad))
        if (field.number == NEXT_TOKEN_FIELD && field.type == AT_PB_BYTES)
            token = field.bytes;
    if (token.len == 0 || ++part->page_count == PAGES_MAX)
        return false;
    part->message = write_request(g, part->front, token);
    part->next--;
    return true;
}

static void end_part(struct part *part, bool answered)
{
    struct gather *g = part->gather;
    part->answered = answered;
    if (!answered)
        take_failed(g, part->front);
    at_front_end(part->front);
    if (--g->open_count == 0)
        finish(g);
}

static void take_items(struct gather *g, struct at_slice answer)
{
    struct at_pb_field field;
    bool bad = false;
    if (g->plan.whole) {
        if (answer.len > 0 && at_pb_put_bytes(&g->out, ITEMS_FIELD, answer) != AT_OK)
            return;
        return;
    }
    while (at_pb_next(&answer, &field, &bad))
        if (field.number == ITEMS_FIELD && field.type == AT_PB_BYTES &&
            at_pb_put_bytes(&g->out, ITEMS_FIELD, field.bytes) != AT_OK)
            return;
}

static void take_failed(struct gather *g, const struct at_front *front)
{
    for (uint32_t i = 0; i < front->target_count && g->plan.failed_field; i++) {
        const struct at_front_target *t = &front->targets[i];
        if (t->state != AT_FRONT_MEMBER)
            continue;
        struct at_slice location = at_slice_cstr(
            at_arena_printf(at_grpc_call_arena(g->call), "projects/%.*s/locations/%.*s",
                            AT_SLICE_ARG(g->plan.project), AT_SLICE_ARG(t->zone)));
        if (at_pb_put_bytes(&g->out, g->plan.failed_field, location) != AT_OK)
            return;
    }
}

static void finish(struct gather *g)
{
    struct at_grpc_call *call = g->call;
    if (g->refused.code != AT_OK) {
        at_buf_deinit(&g->out);
        at_reply_error(call, &g->refused);
        return;
    }
    for (uint32_t i = 0; i < g->count; i++)
        for (const struct page *page = g->parts[i].pages; page && g->parts[i].answered;
             page = page->next)
            take_items(g, page->bytes);
    at_reply_headers(call, NULL, 0);
    enum at_code code = at_grpc_call_send(call, at_buf_slice(&g->out));
    at_buf_deinit(&g->out);
    at_grpc_call_finish(call, code, (struct at_slice){0}, (struct at_slice){0});
}

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct gather *g = ctx;
    for (uint32_t i = 0; i < g->count; i++) {
        struct part *part = &g->parts[i];
        if (!part->upstream)
            continue;
        at_grpc_client_cancel(part->upstream);
        part->upstream = NULL;
        at_front_unuse(part->front, part->target);
        at_front_end(part->front);
    }
    at_buf_deinit(&g->out);
    at_grpc_call_finish(call, AT_CANCELLED, (struct at_slice){0}, (struct at_slice){0});
}
