#include "wire/peer_socket_impl.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

#include <nng/protocol/reqrep0/req.h>
#include <nng/supplemental/util/platform.h>

/* The asking side. A slot goes round
 *     FREE -> SENDING -> RECEIVING -> FREE
 * REQ would send a question again by itself after its resend time or when the connection breaks.
 * With an infinite resend time it does neither: a broken connection ends the question at once, and
 * whoever asked decides what to do. */

enum { RECONNECT_MIN_MS = 20, RECONNECT_MAX_MS = 500 };

enum slot_state { SLOT_FREE, SLOT_SENDING, SLOT_RECEIVING };

struct slot {
    struct at_peer_client *client;
    struct slot *next_free;
    enum slot_state state;
    nng_ctx context;
    nng_aio *aio;
    nng_time deadline; /* nng_clock */
    struct at_peer_question *question;
};

struct at_peer_client {
    struct at_peer_client_config config; /* host is not kept */
    nng_socket socket;
    bool socket_open;
    struct at_peer_pipes pipes;
    pthread_mutex_t lock; /* guards `free` */
    struct slot *free;
    struct slot *slots;
    uint32_t slot_count; /* with an aio */
};

static enum at_code dial(struct at_peer_client *c, const char *host, struct at_error *reterr);
static enum at_code make_slots(struct at_peer_client *c, struct at_error *reterr);
static void on_aio(void *arg);
static void receive(struct slot *slot);
static void finish(struct slot *slot, enum at_code code, nng_msg *reply);
static struct slot *take_slot(struct at_peer_client *c);
static void put_slot(struct slot *slot);

enum at_code at_peer_client_open(const struct at_peer_client_config *config,
                                 struct at_peer_client **ret_client,
                                 struct at_error *reterr)
{
    AT_ASSERT(config->in_flight_max > 0);
    AT_ASSERT(config->on_reply != NULL);

    struct at_peer_client *c = AT_NEW(struct at_peer_client);
    c->config = *config;
    c->config.host = NULL;
    pthread_mutex_init(&c->lock, NULL);
    at_peer_pipes_init(&c->pipes);

    int rc = nng_req0_open(&c->socket);
    enum at_code code = AT_OK;
    if (rc != 0)
        code = at_peer_nng_fail(rc, "open", config->host, config->port, reterr);
    c->socket_open = rc == 0;
    if (code == AT_OK)
        code = make_slots(c, reterr);
    if (code == AT_OK)
        code = dial(c, config->host, reterr);
    if (code != AT_OK) {
        at_peer_client_close(&c);
        return code;
    }
    *ret_client = c;
    return AT_OK;
}

void at_peer_client_close(struct at_peer_client **client)
{
    struct at_peer_client *c = AT_TAKE(*client);

    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->slot_count; i++) {
        struct slot *slot = &c->slots[i];
        nng_aio_stop(slot->aio);
        if (slot->question != NULL) /* stopped between sending and receiving */
            finish(slot, AT_CANCELLED, NULL);
        nng_aio_free(slot->aio);
    }
    at_peer_nng_hang_up(&c->pipes);
    if (c->socket_open)
        at_peer_nng_close(c->socket);
    at_peer_pipes_deinit(&c->pipes);
    pthread_mutex_destroy(&c->lock);
    at_free(c->slots);
    at_free(c);
}

enum at_code at_peer_client_ask(struct at_peer_client *client,
                                struct at_peer_question *question,
                                struct at_slice body,
                                uint32_t timeout_ms)
{
    struct slot *slot = body.len <= AT_PEER_QUESTION_BYTES_MAX ? take_slot(client) : NULL;

    if (slot == NULL)
        return AT_RESOURCE_EXHAUSTED;
    nng_msg *message = at_peer_nng_message(body);
    if (message == NULL) {
        put_slot(slot);
        return AT_RESOURCE_EXHAUSTED;
    }
    question->reply = at_slice_make(NULL, 0);
    question->impl = NULL;
    slot->question = question;
    slot->deadline = nng_clock() + timeout_ms;
    slot->state = SLOT_SENDING;
    nng_aio_set_timeout(slot->aio, (nng_duration)timeout_ms);
    nng_aio_set_msg(slot->aio, message);
    nng_ctx_send(slot->context, slot->aio);
    return AT_OK;
}

void at_peer_question_done(struct at_peer_question *question)
{
    if (question->impl != NULL)
        nng_msg_free(question->impl);
    question->impl = NULL;
    question->reply = at_slice_make(NULL, 0);
}

static enum at_code dial(struct at_peer_client *c, const char *host, struct at_error *reterr)
{
    char url[AT_PEER_URL_BYTES_MAX];
    nng_dialer dialer;

    AT_TRY(at_peer_nng_url(host, c->config.port, url, reterr));
    int rc = at_peer_pipes_watch(&c->pipes, c->socket);
    if (rc == 0)
        rc = nng_dialer_create(&dialer, c->socket, url);
    if (rc == 0)
        rc = nng_dialer_set_size(dialer, NNG_OPT_RECVMAXSZ, AT_PEER_MESSAGE_BYTES_MAX);
    if (rc == 0)
        rc = nng_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, true);
    if (rc == 0)
        rc = nng_dialer_set_bool(dialer, NNG_OPT_TCP_KEEPALIVE, true);
    if (rc == 0)
        rc = nng_dialer_set_ms(dialer, NNG_OPT_RECONNMINT, RECONNECT_MIN_MS);
    if (rc == 0)
        rc = nng_dialer_set_ms(dialer, NNG_OPT_RECONNMAXT, RECONNECT_MAX_MS);
    if (rc == 0)
        rc = nng_dialer_start(dialer, NNG_FLAG_NONBLOCK);
    return rc == 0 ? AT_OK : at_peer_nng_fail(rc, "dial", host, c->config.port, reterr);
}

static enum at_code make_slots(struct at_peer_client *c, struct at_error *reterr)
{
    c->slots = at_alloc(sizeof(struct slot) * c->config.in_flight_max);
    for (uint32_t i = 0; i < c->config.in_flight_max; i++) {
        struct slot *slot = &c->slots[i];
        slot->client = c;
        int rc = nng_ctx_open(&slot->context, c->socket);
        if (rc == 0)
            rc = nng_ctx_set_ms(slot->context, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
        if (rc == 0)
            rc = nng_aio_alloc(&slot->aio, on_aio, slot);
        if (rc != 0)
            return at_peer_nng_fail(rc, "make a context for", "", c->config.port, reterr);
        c->slot_count++;
        put_slot(slot);
    }
    return AT_OK;
}

static void on_aio(void *arg)
{
    struct slot *slot = arg;
    int rc = nng_aio_result(slot->aio);

    if (slot->state == SLOT_SENDING && rc == 0) {
        receive(slot);
        return;
    }
    nng_msg *message = nng_aio_get_msg(slot->aio);
    nng_aio_set_msg(slot->aio, NULL);
    if (rc == 0) {
        finish(slot, AT_OK, message);
        return;
    }
    if (slot->state == SLOT_SENDING)
        nng_msg_free(message); /* a failed send leaves the message to us */
    finish(slot, at_peer_nng_code(rc), NULL);
}

static void receive(struct slot *slot)
{
    nng_time now = nng_clock();

    slot->state = SLOT_RECEIVING;
    nng_aio_set_timeout(slot->aio, slot->deadline > now ? (nng_duration)(slot->deadline - now) : 1);
    nng_ctx_recv(slot->context, slot->aio);
}

/* finish gives the slot back before it tells the owner, who may ask again from there. */
static void finish(struct slot *slot, enum at_code code, nng_msg *reply)
{
    struct at_peer_client *c = slot->client;
    struct at_peer_question *question = AT_TAKE(slot->question);

    AT_ASSERT(question != NULL);
    question->code = code;
    question->impl = reply;
    if (reply != NULL)
        question->reply = at_slice_make(nng_msg_body(reply), nng_msg_len(reply));
    put_slot(slot);
    c->config.on_reply(c->config.ctx, question);
}

static struct slot *take_slot(struct at_peer_client *c)
{
    pthread_mutex_lock(&c->lock);
    struct slot *slot = c->free;
    if (slot != NULL)
        c->free = slot->next_free;
    pthread_mutex_unlock(&c->lock);
    return slot;
}

static void put_slot(struct slot *slot)
{
    struct at_peer_client *c = slot->client;

    slot->state = SLOT_FREE;
    pthread_mutex_lock(&c->lock);
    slot->next_free = c->free;
    c->free = slot;
    pthread_mutex_unlock(&c->lock);
}
