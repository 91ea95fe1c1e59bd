/* grpc_channel.c: which connection takes a call, and how connections come back.
 *
 * A slot per configured connection:
 *
 *   IDLE/BACKOFF --attempt--> CONNECTING --peer's SETTINGS--> READY --lost, GOAWAY--> CONNECTING
 *                                 \--refused, timeout--> BACKOFF (50 ms, doubling to 250 ms)
 *
 * A peer that was never reached is perhaps just being started together with us: in the first two
 * seconds of a channel it is tried every 10 ms.
 *
 * Calls wait only for a first attempt (slot not `failing`) or for room on a READY connection.
 * A connection that was lost soon after it was made counts as a failed attempt, so a peer that
 * accepts and closes does not make us spin. */
#include <netdb.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "wire/grpc_client_impl.h"

#define CONNECTIONS_MAX 64
#define WAITING_MAX 10000
#define BACKOFF_FIRST_MS 50
#define BACKOFF_LAST_MS 250
#define BACKOFF_YOUNG_MS 10
#define YOUNG_NS (2 * AT_S_NS)
#define SHORT_LIFE_NS (100 * AT_MS_NS)

static void try_connect(struct at_grpc_slot *slot);
static void on_slot_alarm(struct at_alarm *alarm);
static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list);
static void attempt_failed(struct at_grpc_slot *slot, const char *why);
static void on_doom(struct at_deferred *deferred);
static void on_alarms_closed(struct at_alarms *alarms);

static void make_session_template(struct at_grpc_channel *channel)
{
    int rc = nghttp2_session_callbacks_new(&channel->callbacks);
    AT_ASSERT(rc == 0);
    at_grpc_client_conn_set_callbacks(channel->callbacks);
    rc = nghttp2_option_new(&channel->option);
    AT_ASSERT(rc == 0);
    nghttp2_option_set_no_auto_window_update(channel->option, 1);
    nghttp2_option_set_no_closed_streams(channel->option, 1);
}

enum at_code at_grpc_channel_open(struct at_loop *loop,
                                  const struct at_grpc_channel_config *config,
                                  struct at_grpc_channel **ret_channel,
                                  struct at_error *reterr)
{
    if (config->connection_count < 1 || config->connection_count > CONNECTIONS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "a channel has 1 to 64 connections");
    struct at_grpc_channel *channel = AT_NEW(struct at_grpc_channel);
    size_t host_len = strlen(config->host);
    size_t authority_size = host_len + sizeof("[]:65535");
    channel->loop = loop;
    channel->host = at_dup(config->host, host_len);
    channel->port = config->port;
    channel->authority = at_alloc(authority_size);
    (void)snprintf(channel->authority, authority_size,
                   strchr(config->host, ':') ? "[%s]:%u" : "%s:%u", config->host,
                   (unsigned)config->port);
    channel->connect_timeout_ms = config->connect_timeout_ms;
    channel->young_until_ns = at_loop_now_ns(loop) + YOUNG_NS;
    channel->keepalive_ms = config->keepalive_ms;
    channel->doom.run = on_doom;
    at_link_init(&channel->conns);
    at_link_init(&channel->waiting);
    at_link_init(&channel->doomed);
    at_link_init(&channel->pool);
    at_alarms_init(&channel->alarms, loop);
    at_h2_scratch_init(&channel->scratch);
    make_session_template(channel);
    channel->refs = 1; /* the alarms' timer */
    channel->slot_count = config->connection_count;
    channel->slots = at_alloc(channel->slot_count * sizeof(*channel->slots));
    for (uint32_t i = 0; i < channel->slot_count; i++) {
        channel->slots[i].channel = channel;
        channel->slots[i].alarm.ring = on_slot_alarm;
        try_connect(&channel->slots[i]);
    }
    *ret_channel = channel;
    return AT_OK;
}

void at_grpc_channel_ref(struct at_grpc_channel *channel)
{
    channel->refs++;
}

void at_grpc_channel_unref(struct at_grpc_channel *channel)
{
    AT_ASSERT(channel->refs > 0);
    if (--channel->refs > 0)
        return;
    AT_ASSERT(channel->closing && at_link_empty(&channel->conns));
    while (!at_link_empty(&channel->pool)) {
        struct at_link *first = channel->pool.next;
        at_link_remove(first);
        at_grpc_client_call_free(AT_LINK_OF(first, struct at_grpc_client_call, link));
    }
    at_alarms_deinit(&channel->alarms);
    at_h2_scratch_deinit(&channel->scratch);
    nghttp2_session_callbacks_del(channel->callbacks);
    nghttp2_option_del(channel->option);
    at_free(channel->slots);
    at_free(channel->authority);
    at_free(channel->host);
    at_free(channel);
}

static void end_all(struct at_link *list, enum at_code code, const char *message, bool unprocessed)
{
    while (!at_link_empty(list))
        at_grpc_client_call_end(AT_LINK_OF(list->next, struct at_grpc_client_call, link), code,
                                message, unprocessed);
}

void at_grpc_channel_close(struct at_grpc_channel **channel_ptr)
{
    struct at_grpc_channel *channel = AT_TAKE(*channel_ptr);
    if (!channel)
        return;
    channel->closing = true;
    at_grpc_channel_ref(channel);
    for (uint32_t i = 0; i < channel->slot_count; i++) {
        struct at_grpc_slot *slot = &channel->slots[i];
        at_alarms_clear(&channel->alarms, &slot->alarm);
        if (slot->resolving)
            (void)uv_cancel((uv_req_t *)&slot->resolve);
        if (slot->conn)
            slot->conn->slot = NULL;
        slot->conn = NULL;
    }
    end_all(&channel->doomed, AT_CANCELLED, "the channel is closed", true);
    end_all(&channel->waiting, AT_CANCELLED, "the channel is closed", true);
    /* Connections go at the end of the turn: this may be running inside one of their callbacks. */
    for (struct at_link *l = channel->conns.next; l != &channel->conns; l = l->next) {
        struct at_grpc_client_conn *conn = AT_LINK_OF(l, struct at_grpc_client_conn, link);
        end_all(&conn->calls, AT_CANCELLED, "the channel is closed", false);
        at_h2_conn_fail(&conn->h2);
    }
    at_alarms_close(&channel->alarms, on_alarms_closed);
    at_grpc_channel_unref(channel);
}

static void on_alarms_closed(struct at_alarms *alarms)
{
    at_grpc_channel_unref(AT_LINK_OF(alarms, struct at_grpc_channel, alarms));
}

bool at_grpc_channel_connected(const struct at_grpc_channel *channel)
{
    for (uint32_t i = 0; i < channel->slot_count; i++)
        if (channel->slots[i].state == AT_GRPC_SLOT_READY)
            return true;
    return false;
}

/* --- connecting --- */

static bool numeric_address(const struct at_grpc_channel *channel, struct sockaddr_storage *ret)
{
    memset(ret, 0, sizeof(*ret));
    return uv_ip4_addr(channel->host, channel->port, (struct sockaddr_in *)ret) == 0 ||
           uv_ip6_addr(channel->host, channel->port, (struct sockaddr_in6 *)ret) == 0;
}

static void connect_to(struct at_grpc_slot *slot, const struct sockaddr *address)
{
    slot->conn = at_grpc_client_conn_open(slot, address);
    if (!slot->conn)
        attempt_failed(slot, "cannot connect");
}

static void try_connect(struct at_grpc_slot *slot)
{
    struct at_grpc_channel *channel = slot->channel;
    struct sockaddr_storage address;
    uint64_t due_ns = at_loop_now_ns(channel->loop) + channel->connect_timeout_ms * AT_MS_NS;
    AT_ASSERT(!slot->conn);
    slot->state = AT_GRPC_SLOT_CONNECTING;
    at_alarms_set(&channel->alarms, &slot->alarm, due_ns);
    if (numeric_address(channel, &address)) {
        connect_to(slot, (const struct sockaddr *)&address);
        return;
    }
    if (slot->resolving)
        return; /* an earlier look-up is still going on: its answer will do */
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char port[8];
    (void)snprintf(port, sizeof(port), "%u", (unsigned)channel->port);
    int rc = uv_getaddrinfo(at_loop_uv(channel->loop), &slot->resolve, on_resolved, channel->host,
                            port, &hints);
    if (rc != 0) {
        attempt_failed(slot, "cannot resolve the host name");
        return;
    }
    slot->resolving = true;
    at_grpc_channel_ref(channel);
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
    struct at_grpc_slot *slot = AT_LINK_OF(req, struct at_grpc_slot, resolve);
    struct at_grpc_channel *channel = slot->channel;
    slot->resolving = false;
    if (!channel->closing && slot->state == AT_GRPC_SLOT_CONNECTING) {
        if (status == 0 && list)
            connect_to(slot, list->ai_addr);
        else
            attempt_failed(slot, "cannot resolve the host name");
    }
    uv_freeaddrinfo(list);
    at_grpc_channel_unref(channel);
}

static uint32_t next_backoff_ms(const struct at_grpc_slot *slot)
{
    if (at_loop_now_ns(slot->channel->loop) < slot->channel->young_until_ns)
        return BACKOFF_YOUNG_MS;
    if (slot->backoff_ms < BACKOFF_FIRST_MS)
        return BACKOFF_FIRST_MS;
    return slot->backoff_ms * 2 < BACKOFF_LAST_MS ? slot->backoff_ms * 2 : BACKOFF_LAST_MS;
}

void at_grpc_channel_wake(struct at_grpc_channel *channel)
{
    for (uint32_t i = 0; i < channel->slot_count; i++) {
        struct at_grpc_slot *slot = &channel->slots[i];
        if (slot->state != AT_GRPC_SLOT_BACKOFF || channel->closing)
            continue;
        at_alarms_clear(&channel->alarms, &slot->alarm);
        slot->failing = false; /* calls may wait for this attempt */
        try_connect(slot);
    }
}

static void attempt_failed(struct at_grpc_slot *slot, const char *why)
{
    struct at_grpc_channel *channel = slot->channel;
    slot->state = AT_GRPC_SLOT_BACKOFF;
    slot->failing = true;
    slot->backoff_ms = next_backoff_ms(slot);
    (void)snprintf(channel->last_error, sizeof(channel->last_error), "%.60s: %.30s",
                   channel->authority, why);
    at_alarms_set(&channel->alarms, &slot->alarm,
                  at_loop_now_ns(channel->loop) + slot->backoff_ms * AT_MS_NS);
    at_grpc_channel_doom_soon(channel);
}

static void on_slot_alarm(struct at_alarm *alarm)
{
    struct at_grpc_slot *slot = AT_LINK_OF(alarm, struct at_grpc_slot, alarm);
    if (slot->state == AT_GRPC_SLOT_BACKOFF) {
        try_connect(slot);
    } else if (slot->state == AT_GRPC_SLOT_CONNECTING) {
        struct at_grpc_client_conn *conn = slot->conn;
        if (conn)
            at_h2_conn_close(&conn->h2); /* comes back through at_grpc_channel_conn_leaves */
        else
            attempt_failed(slot, "the host name is not resolved in time");
    }
}

void at_grpc_channel_conn_ready(struct at_grpc_client_conn *conn)
{
    struct at_grpc_slot *slot = conn->slot;
    if (!slot || slot->state != AT_GRPC_SLOT_CONNECTING)
        return;
    slot->state = AT_GRPC_SLOT_READY;
    slot->channel->young_until_ns = 0;
    slot->failing = false;
    slot->ready_ns = at_loop_now_ns(slot->channel->loop);
    at_alarms_clear(&slot->channel->alarms, &slot->alarm);
    at_grpc_channel_pump(slot->channel);
}

void at_grpc_channel_conn_leaves(struct at_grpc_client_conn *conn, const char *why)
{
    struct at_grpc_slot *slot = conn->slot;
    if (!slot)
        return;
    conn->slot = NULL;
    slot->conn = NULL;
    uint64_t now_ns = at_loop_now_ns(slot->channel->loop);
    if (slot->state == AT_GRPC_SLOT_READY && now_ns - slot->ready_ns >= SHORT_LIFE_NS) {
        slot->backoff_ms = 0;
        try_connect(slot);
    } else {
        attempt_failed(slot, why);
    }
}

/* --- calls and connections --- */

struct at_grpc_client_conn *at_grpc_channel_pick(struct at_grpc_channel *channel)
{
    struct at_grpc_client_conn *best = NULL;
    if (channel->closing)
        return NULL;
    for (uint32_t i = 0; i < channel->slot_count; i++) {
        struct at_grpc_client_conn *conn = channel->slots[i].conn;
        if (channel->slots[i].state != AT_GRPC_SLOT_READY || !at_grpc_client_conn_has_room(conn))
            continue;
        if (!best || conn->call_count < best->call_count)
            best = conn;
    }
    return best;
}

static bool hopeful(const struct at_grpc_channel *channel)
{
    for (uint32_t i = 0; i < channel->slot_count; i++) {
        const struct at_grpc_slot *slot = &channel->slots[i];
        if (slot->state == AT_GRPC_SLOT_READY ||
            (slot->state == AT_GRPC_SLOT_CONNECTING && !slot->failing))
            return true;
    }
    return false;
}

void at_grpc_channel_enqueue(struct at_grpc_channel *channel, struct at_grpc_client_call *call)
{
    if (channel->closing) {
        at_grpc_client_call_doom(call, AT_CANCELLED, "the channel is closed");
    } else if (!hopeful(channel)) {
        at_grpc_client_call_doom(call, AT_UNAVAILABLE, channel->last_error);
    } else if (channel->waiting_count >= WAITING_MAX) {
        at_grpc_client_call_doom(call, AT_UNAVAILABLE, "too many calls wait for a connection");
    } else {
        at_link_append(&channel->waiting, &call->link);
        call->waiting = true;
        channel->waiting_count++;
    }
}

void at_grpc_channel_doom_soon(struct at_grpc_channel *channel)
{
    if (!channel->doom.queued)
        at_grpc_channel_ref(channel);
    at_loop_defer(channel->loop, &channel->doom);
}

void at_grpc_channel_pump(struct at_grpc_channel *channel)
{
    while (!at_link_empty(&channel->waiting)) {
        struct at_grpc_client_conn *conn = at_grpc_channel_pick(channel);
        if (!conn)
            break;
        struct at_grpc_client_call *call =
            AT_LINK_OF(channel->waiting.next, struct at_grpc_client_call, link);
        (void)at_grpc_client_call_submit(call, conn); /* if not, pick finds another or none */
    }
}

/* Ends what cannot be sent, at the end of the turn. */
static void on_doom(struct at_deferred *deferred)
{
    struct at_grpc_channel *channel = AT_LINK_OF(deferred, struct at_grpc_channel, doom);
    struct at_link due;
    at_link_init(&due);
    while (!at_link_empty(&channel->doomed)) { /* what these start is for the next round */
        struct at_link *l = channel->doomed.next;
        at_link_remove(l);
        at_link_append(&due, l);
    }
    while (!at_link_empty(&due)) {
        struct at_grpc_client_call *call = AT_LINK_OF(due.next, struct at_grpc_client_call, link);
        at_grpc_client_call_end(call, call->doom_code, call->doom_message, true);
    }
    if (!channel->closing && !hopeful(channel))
        end_all(&channel->waiting, AT_UNAVAILABLE, channel->last_error, true);
    at_grpc_channel_unref(channel);
}
