/* forward.c: attempts at one request.
 *
 *   PEEK -> refuse (unknown profile, transaction not allowed)
 *     |
 *     v          no usable answer, and retry.h allows          all tried
 *   ATTEMPT(k) ------------------------------> ATTEMPT(k+1) ... --------> PAUSE -> ATTEMPT(first)
 *     |                                                                    (any-cluster profiles)
 *     | first answer byte
 *     v
 *   STREAMING -> finish with the cluster's status
 *
 * The request's bytes are the client's own, sent as they came; answers go back framed as they came,
 * and credit is given to the cluster only as the client takes bytes. All state lives in the call's
 * arena. The router adds two things to a write: the time that server-stamped cells take, fixed
 * once, so that an attempt repeated elsewhere writes the same cells; and how long this attempt is
 * waited for, so that it is not done after another one was. */
#include "routing/proxy/forward.h"

#include "base/assert.h"
#include "base/namespace.h"
#include "routing/proxy/refresh_all.h"
#include "routing/proxy/reply.h"
#include "routing/retry.h"

enum {
    PENDING_HIGH_BYTES = 1024 * 1024,
    PENDING_LOW_BYTES = 256 * 1024,
};

struct forward {
    struct at_grpc_call *call;
    struct at_front *front;
    const struct at_forward_method *fm;
    const struct at_route_method *method;
    bool single;     /* one cluster alone will do: nowhere else to go */
    bool idempotent; /* of this request, not only of its method */
    struct at_front_pick order[AT_MEMBERS_MAX];
    uint32_t order_count;
    uint32_t next;                          /* index into order of the next target */
    uint32_t target;                        /* slot of the one being tried */
    bool first;                             /* it is the first of `order` */
    uint32_t round;                         /* times that all of `order` were tried */
    struct at_grpc_client_call *upstream;   /* NULL between attempts */
    struct at_alarm alarm;                  /* re-send or pause */
    size_t held_bytes;                      /* taken from upstream, credit not given back yet */
    bool forwarded;                         /* answer bytes have gone to the client */
    const struct at_grpc_metadata *headers; /* of this attempt; live as long as `upstream` */
    size_t header_count;
    struct at_refresh_all *refresh; /* the answer waits for the profiles to be known */
    char write_micros[AT_REPLY_DECIMAL_BYTES];
    size_t write_micros_len;                   /* 0: the request writes nothing */
    char begin_micros[AT_REPLY_DECIMAL_BYTES]; /* of this attempt */
};

static bool choose(struct forward *f);
static enum at_code
choose_by_profile(struct forward *f, const struct at_request_head *head, struct at_error *reterr);
static enum at_code choose_any(struct forward *f, struct at_error *reterr);
static enum at_code
choose_cluster(struct forward *f, const struct at_request_head *head, struct at_error *reterr);
static void count_failed(struct forward *f);
static void count_served(struct forward *f, const struct at_grpc_result *result);
static void give_up(struct forward *f);
static void attempt(struct forward *f);
static void ring_resend(struct at_alarm *alarm);
static void ring_pause(struct at_alarm *alarm);
static void on_headers(void *ctx, const struct at_grpc_metadata *metadata, size_t count);
static void on_framed(void *ctx, struct at_slice bytes);
static void on_writable(struct at_grpc_call *call, void *ctx);
static void on_done(void *ctx, const struct at_grpc_result *result);
static void on_cancel(struct at_grpc_call *call, void *ctx);
static void finish(struct forward *f, const struct at_grpc_result *result);
static void finish_changed(struct forward *f);
static void on_refreshed(void *ctx);

static const struct at_grpc_client_handler HANDLER = {
    .on_headers = on_headers, .on_framed = on_framed, .on_done = on_done};

static struct forward *of_alarm(struct at_alarm *alarm)
{
    return (struct forward *)(void *)((char *)alarm - offsetof(struct forward, alarm));
}

enum at_code at_forward_front(const struct at_fleet *fleet,
                              const struct at_loop *loop,
                              struct at_slice name,
                              struct at_front **ret_front,
                              struct at_error *reterr)
{
    struct at_resource resource;
    bool named = at_resource_parse(name, &resource);
    *ret_front =
        named ? at_fleet_find(fleet, loop, resource.instance) : at_fleet_primary(fleet, loop);
    if (!*ret_front && named) {
        struct at_front *primary = at_fleet_primary(fleet, loop);
        *ret_front = primary && primary->instance->accept_any_instance ? primary : NULL;
    }
    if (*ret_front)
        return AT_OK;
    if (named)
        return at_fail(reterr, AT_NOT_FOUND, "Instance %.*s not found",
                       AT_SLICE_ARG(resource.instance));
    return at_fail(reterr, AT_INVALID_ARGUMENT,
                   "'%.*s' does not name anything of an instance: projects/<project>/instances/"
                   "<instance>/... is expected",
                   AT_SLICE_ARG(name));
}

void at_forward_request(struct at_grpc_call *call, void *ctx)
{
    const struct at_forward_method *fm = ctx;
    struct forward *f = AT_ARENA_NEW(at_grpc_call_arena(call), struct forward);
    f->call = call;
    f->fm = fm;
    f->method = fm->method;
    if (!choose(f))
        return;
    at_front_begin(f->front);
    if (f->method->mutations_field) {
        uint64_t wall_ns = at_clock_wall_ns(at_loop_clock(f->front->loop));
        f->write_micros_len = at_reply_decimal(wall_ns / 1000, f->write_micros);
    }
    at_grpc_call_on_cancel(call, on_cancel, f);
    at_grpc_call_on_writable(call, PENDING_LOW_BYTES, on_writable, f);
    attempt(f);
}

/* Decides where the request may go; answers it itself and returns false when nowhere. */
static bool choose(struct forward *f)
{
    struct at_error error;
    struct at_request_head head;
    enum at_code code = at_request_peek(f->method, at_grpc_call_request(f->call), &head, &error);
    if (code == AT_OK)
        code = at_forward_front(f->fm->fleet, at_grpc_call_loop(f->call), head.table_name,
                                &f->front, &error);
    if (code == AT_OK)
        code = f->method->route == AT_ROUTE_PROFILE   ? choose_by_profile(f, &head, &error)
               : f->method->route == AT_ROUTE_CLUSTER ? choose_cluster(f, &head, &error)
                                                      : choose_any(f, &error);
    if (code != AT_OK)
        at_reply_error(f->call, &error);
    return code == AT_OK;
}

/* A profile of another instance that this one's clusters hold has its whole name for an id; such
 * an instance has the home's default profile until it gets one of its own. */
static const struct at_profile *find_profile(const struct at_front *front,
                                             const struct at_request_head *head)
{
    const struct at_profile_table *profiles = &front->profiles;
    struct at_slice id = head->app_profile_id.len > 0 ? head->app_profile_id : AT_LIT("default");
    struct at_resource resource;
    char kept[AT_KEPT_NAME_BYTES_MAX];
    if (!front->instance->accept_any_instance || !at_resource_parse(head->table_name, &resource) ||
        at_slice_eq(resource.instance, front->realm->name))
        return at_profile_table_find(profiles, id);
    size_t len = at_namespace_keep(resource.instance, AT_LIT("appProfiles"), id, kept);
    const struct at_profile *own =
        len > 0 ? at_profile_table_find(profiles, at_slice_make(kept, len)) : NULL;
    if (own || !at_slice_eq_cstr(id, "default"))
        return own;
    return at_profile_table_find(profiles, id);
}

static enum at_code
choose_by_profile(struct forward *f, const struct at_request_head *head, struct at_error *reterr)
{
    const struct at_profile_table *profiles = &f->front->profiles;
    if (!profiles->known)
        return at_fail(reterr, AT_UNAVAILABLE, "No cluster of the instance could be reached yet");
    const struct at_profile *profile = find_profile(f->front, head);
    if (!profile)
        return at_fail(
            reterr, AT_NOT_FOUND, "App profile '%.*s' not found",
            AT_SLICE_ARG(head->app_profile_id.len > 0 ? head->app_profile_id : AT_LIT("default")));
    if (f->method->transaction)
        AT_TRY(at_profile_transactions(profile, reterr));
    f->idempotent = f->method->idempotent && !head->adds;
    f->single = profile->routing == AT_ROUTING_SINGLE;
    f->order_count = at_front_order(f->front, profile, head->row_key, f->order);
    if (f->order_count == 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION,
                       "The app profile routes to a cluster that the instance does not have");
    return AT_OK;
}

static enum at_code choose_any(struct forward *f, struct at_error *reterr)
{
    f->idempotent = f->method->idempotent;
    f->order_count = at_front_order(f->front, NULL, (struct at_slice){0}, f->order);
    if (f->order_count == 0)
        return at_fail(reterr, AT_UNAVAILABLE, "The instance has no cluster that could be asked");
    return AT_OK;
}

/* What names no cluster, or one that is not there, is any cluster's to refuse. */
static enum at_code
choose_cluster(struct forward *f, const struct at_request_head *head, struct at_error *reterr)
{
    struct at_resource resource;
    if (!at_resource_parse(head->cluster_name, &resource) ||
        !at_slice_eq(resource.instance, f->front->realm->name) ||
        !at_front_find(f->front, resource.cluster, &f->order[0]))
        return choose_any(f, reterr);
    if (!f->front->targets[f->order[0].index].health.up)
        return at_fail(
            reterr, AT_UNAVAILABLE,
            "Cluster %.*s is down, and only it can do this; `atoll start %.*s` starts it",
            AT_SLICE_ARG(resource.cluster), AT_SLICE_ARG(resource.cluster));
    f->idempotent = f->method->idempotent;
    f->single = true;
    f->order_count = 1;
    return AT_OK;
}

static struct at_grpc_metadata begin_within(struct forward *f, uint64_t span_ns)
{
    size_t len = at_reply_decimal(span_ns / 1000, f->begin_micros);
    return (struct at_grpc_metadata){
        .name = AT_LIT("atoll-begin-micros"),
        .value = at_slice_make(f->begin_micros, len),
        .varies = true,
    };
}

static void attempt(struct forward *f)
{
    AT_ASSERT(!f->upstream);
    struct at_front *front = f->front;
    struct at_grpc_channel *channel = NULL;
    while (!channel && f->next < f->order_count) {
        f->first = f->next == 0;
        f->target = f->order[f->next].index;
        channel = at_front_use(front, f->order[f->next++]);
    }
    if (!channel) {
        give_up(f);
        return;
    }
    uint64_t now_ns = at_loop_now_ns(front->loop);
    uint64_t deadline_ns = at_grpc_call_deadline_ns(f->call);
    uint64_t resend_ns = at_retry_resend_at_ns(now_ns, deadline_ns, f->idempotent,
                                               f->method->transaction, f->order_count - f->next);
    struct at_grpc_metadata metadata[3];
    size_t count = 0;
    struct at_slice features = at_grpc_call_metadata(f->call, "bigtable-features");
    if (features.len)
        metadata[count++] =
            (struct at_grpc_metadata){.name = AT_LIT("bigtable-features"), .value = features};
    if (f->write_micros_len > 0)
        metadata[count++] = (struct at_grpc_metadata){
            .name = AT_LIT("atoll-write-micros"),
            .value = at_slice_make(f->write_micros, f->write_micros_len),
            .varies = true,
        };
    if (f->write_micros_len > 0 && resend_ns != UINT64_MAX)
        metadata[count++] = begin_within(f, resend_ns - now_ns);
    struct at_grpc_client_request request = {
        .path = f->method->path,
        .message = at_grpc_call_request(f->call),
        .deadline_ns = deadline_ns,
        .metadata = metadata,
        .metadata_count = count,
        .handler = &HANDLER,
        .ctx = f,
    };
    f->headers = NULL;
    f->header_count = 0;
    f->upstream = at_grpc_client_start(channel, &request);
    if (resend_ns != UINT64_MAX) {
        f->alarm.ring = ring_resend;
        at_alarms_set(&front->alarms, &f->alarm, resend_ns);
    }
}

/* Every cluster that was picked has left the instance since. */
static void give_up(struct forward *f)
{
    struct at_error error;
    (void)at_fail(&error, AT_UNAVAILABLE, "The cluster has just been removed from the instance");
    at_front_end(f->front);
    at_reply_error(f->call, &error);
}

/* Ends the attempt; the answer is not waited for any more. */
static void drop_upstream(struct forward *f)
{
    at_grpc_client_cancel(f->upstream);
    f->upstream = NULL;
    at_front_unuse(f->front, f->target);
}

static void count_failed(struct forward *f)
{
    struct at_board_target *shown = f->front->targets[f->target].shown;
    if (shown)
        atomic_fetch_add_explicit(&shown->failed, 1, memory_order_relaxed);
}

/* Half of the time left has passed without an answer byte: try the next one. */
static void ring_resend(struct at_alarm *alarm)
{
    struct forward *f = of_alarm(alarm);
    if (f->forwarded || !f->upstream || f->next >= f->order_count)
        return;
    count_failed(f);
    drop_upstream(f);
    attempt(f);
}

static void ring_pause(struct at_alarm *alarm)
{
    struct forward *f = of_alarm(alarm);
    f->next = 0;
    attempt(f);
}

/* Kept until the first byte: an attempt that ends before it leaves no trace in the answer. */
static void on_headers(void *ctx, const struct at_grpc_metadata *metadata, size_t count)
{
    struct forward *f = ctx;
    f->headers = metadata;
    f->header_count = count;
}

static void begin_answer(struct forward *f)
{
    at_alarms_clear(&f->front->alarms, &f->alarm);
    f->forwarded = true;
    at_reply_headers(f->call, f->headers, f->header_count);
}

static void on_framed(void *ctx, struct at_slice bytes)
{
    struct forward *f = ctx;
    if (!f->forwarded)
        begin_answer(f);
    /* Full only if the client takes nothing while the cluster ignores its window: bounded by both.
     */
    if (at_grpc_call_send_framed(f->call, bytes) != AT_OK) {
        struct at_error error;
        drop_upstream(f);
        at_front_end(f->front);
        (void)at_fail(&error, AT_RESOURCE_EXHAUSTED, "Too much of the answer is waiting");
        at_grpc_call_fail(f->call, &error);
        return;
    }
    if (at_grpc_call_pending_bytes(f->call) > PENDING_HIGH_BYTES)
        f->held_bytes += bytes.len;
    else
        at_grpc_client_consume(f->upstream, bytes.len);
}

static void on_writable(struct at_grpc_call *call, void *ctx)
{
    struct forward *f = ctx;
    (void)call;
    if (!f->upstream || f->held_bytes == 0)
        return;
    size_t bytes = f->held_bytes;
    f->held_bytes = 0;
    at_grpc_client_consume(f->upstream, bytes);
}

static void on_done(void *ctx, const struct at_grpc_result *result)
{
    struct forward *f = ctx;
    struct at_front *front = f->front;
    f->upstream = NULL;
    at_alarms_clear(&front->alarms, &f->alarm);
    at_front_outcome(front, f->target, result);
    struct at_attempt_outcome outcome = {.code = result->code,
                                         .from_peer = result->from_peer,
                                         .unprocessed = result->unprocessed,
                                         .forwarded = f->forwarded};
    uint32_t left = f->order_count - f->next;
    enum at_retry retry =
        at_retry_decide(&outcome, f->idempotent, f->method->transaction, f->round + 1, left);
    if (retry == AT_RETRY_SAME && f->single)
        retry = AT_RETRY_NO; /* the profile names one cluster, and it does not serve */
    uint64_t pause_ns = at_retry_pause_ms(f->round) * AT_MS_NS;
    uint64_t now_ns = at_loop_now_ns(front->loop);
    if (retry == AT_RETRY_SAME && now_ns + pause_ns >= at_grpc_call_deadline_ns(f->call))
        retry = AT_RETRY_NO;
    if (retry != AT_RETRY_NO)
        count_failed(f);
    else
        count_served(f, result);
    at_front_unuse(front, f->target);
    if (retry == AT_RETRY_ELSEWHERE) {
        attempt(f);
    } else if (retry == AT_RETRY_SAME) {
        f->round++;
        f->alarm.ring = ring_pause;
        at_alarms_set(&front->alarms, &f->alarm, now_ns + pause_ns);
    } else {
        finish(f, result);
    }
}

static void count_served(struct forward *f, const struct at_grpc_result *result)
{
    struct at_board_target *shown = f->front->targets[f->target].shown;
    if (!result->from_peer || !shown)
        return;
    atomic_fetch_add_explicit(&shown->served, 1, memory_order_relaxed);
    if (!f->first)
        atomic_fetch_add_explicit(&f->front->board->failovers, 1, memory_order_relaxed);
}

static void on_cancel(struct at_grpc_call *call, void *ctx)
{
    struct forward *f = ctx;
    if (f->refresh) {
        at_refresh_all_forget(f->refresh);
        f->refresh = NULL;
    }
    at_alarms_clear(&f->front->alarms, &f->alarm);
    if (f->upstream)
        drop_upstream(f);
    at_front_end(f->front);
    at_grpc_call_finish(call, AT_CANCELLED, (struct at_slice){0}, (struct at_slice){0});
}

static void finish(struct forward *f, const struct at_grpc_result *result)
{
    if (!f->forwarded)
        at_reply_headers(f->call, f->headers, f->header_count);
    if (f->method->changes_profiles && result->code == AT_OK) {
        finish_changed(f);
        return;
    }
    at_front_end(f->front);
    at_reply_result(f->call, result);
}

static void finish_changed(struct forward *f)
{
    const struct at_refresh_plan plan = {.home = f->front,
                                         .cluster = f->front->targets[f->target].id};
    f->refresh = at_refresh_all_start(&plan, on_refreshed, f);
}

/* The answer's bytes are with the client's connection already; only the status was held back. */
static void on_refreshed(void *ctx)
{
    struct forward *f = ctx;
    f->refresh = NULL;
    at_front_end(f->front);
    at_grpc_call_finish(f->call, AT_OK, (struct at_slice){0}, (struct at_slice){0});
}
