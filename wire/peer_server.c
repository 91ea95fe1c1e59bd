#include "wire/peer_socket_impl.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/log.h"

#include <nng/protocol/reqrep0/rep.h>

#include <stdatomic.h>

/* The answering side. A slot goes round
 *     RECEIVING -> TAKEN (the receiver has it) -> SENDING -> RECEIVING ...
 * Closing: connections are hung up first; what is asked meanwhile is not answered. */

enum { SEND_MS_MAX = 5000 };       /* an answer that waits longer for its connection is given up */
enum { HEADER_BYTES_MAX = 64 };    /* nng's own, of a question */
enum { REQUESTS_OF_ONE_MAX = 16 }; /* taken at a time, of one connection */

enum slot_state { SLOT_RECEIVING, SLOT_TAKEN, SLOT_SENDING };

struct slot {
    struct at_peer_request request; /* first: the receiver gives this pointer back */
    struct at_peer_server *server;
    enum slot_state state;
    nng_ctx context;
    nng_aio *aio;
    nng_msg *message; /* while TAKEN: what request.body points into */
    int pipe;         /* whose request this is, -1 none; under the server's lock */
};

struct at_peer_server {
    struct at_peer_server_config config; /* host is not kept */
    nng_socket socket;
    bool socket_open;
    uint16_t port;
    struct at_peer_pipes pipes;
    atomic_bool closing;
    pthread_mutex_t lock; /* guards the slots' pipes */
    struct slot *slots;
    uint32_t slot_count; /* with an aio */
};

static enum at_code listen_on(struct at_peer_server *s, const char *host, struct at_error *reterr);
static enum at_code make_slots(struct at_peer_server *s, struct at_error *reterr);
static void on_aio(void *arg);
static bool admits(struct slot *slot, nng_pipe pipe);
static void receive(struct slot *slot);
static void release_message(struct slot *slot);

enum at_code at_peer_server_open(const struct at_peer_server_config *config,
                                 struct at_peer_server **ret_server,
                                 struct at_error *reterr)
{
    AT_ASSERT(config->in_flight_max > 0);
    AT_ASSERT(config->on_request != NULL);

    struct at_peer_server *s = AT_NEW(struct at_peer_server);
    s->config = *config;
    s->config.host = NULL;
    pthread_mutex_init(&s->lock, NULL);
    at_peer_pipes_init(&s->pipes);

    int rc = nng_rep0_open(&s->socket);
    enum at_code code = AT_OK;
    if (rc != 0)
        code = at_peer_nng_fail(rc, "open", config->host, config->port, reterr);
    s->socket_open = rc == 0;
    if (code == AT_OK)
        code = make_slots(s, reterr);
    if (code == AT_OK)
        code = listen_on(s, config->host, reterr);
    if (code != AT_OK) {
        at_peer_server_close(&s);
        return code;
    }
    for (uint32_t i = 0; i < s->slot_count; i++)
        receive(&s->slots[i]);
    *ret_server = s;
    return AT_OK;
}

uint16_t at_peer_server_port(const struct at_peer_server *server)
{
    return server->port;
}

void at_peer_server_close(struct at_peer_server **server)
{
    struct at_peer_server *s = AT_TAKE(*server);

    if (s == NULL)
        return;
    atomic_store(&s->closing, true);
    at_peer_nng_hang_up(&s->pipes);
    for (uint32_t i = 0; i < s->slot_count; i++) {
        nng_aio_stop(s->slots[i].aio);
        nng_aio_free(s->slots[i].aio);
        release_message(&s->slots[i]);
    }
    if (s->socket_open)
        at_peer_nng_close(s->socket);
    at_peer_pipes_deinit(&s->pipes);
    pthread_mutex_destroy(&s->lock);
    at_free(s->slots);
    at_free(s);
}

void at_peer_request_reply(struct at_peer_request *request, struct at_slice reply)
{
    struct slot *slot = (struct slot *)request;

    AT_ASSERT(slot->state == SLOT_TAKEN);
    nng_msg *message = at_peer_nng_message(reply);
    if (message == NULL) {
        at_peer_request_drop(request);
        return;
    }
    release_message(slot);
    slot->state = SLOT_SENDING;
    nng_aio_set_timeout(slot->aio, SEND_MS_MAX);
    nng_aio_set_msg(slot->aio, message);
    nng_ctx_send(slot->context, slot->aio);
}

void at_peer_request_drop(struct at_peer_request *request)
{
    struct slot *slot = (struct slot *)request;

    AT_ASSERT(slot->state == SLOT_TAKEN);
    release_message(slot);
    receive(slot); /* receiving forgets the request before it */
}

static enum at_code listen_on(struct at_peer_server *s, const char *host, struct at_error *reterr)
{
    char url[AT_PEER_URL_BYTES_MAX];
    nng_listener listener;
    int port = 0;

    AT_TRY(at_peer_nng_url(host, s->config.port, url, reterr));
    int rc = at_peer_pipes_watch(&s->pipes, s->socket);
    if (rc == 0)
        rc = nng_listener_create(&listener, s->socket, url);
    if (rc == 0)
        rc = nng_listener_set_size(listener, NNG_OPT_RECVMAXSZ,
                                   AT_PEER_QUESTION_BYTES_MAX + HEADER_BYTES_MAX);
    if (rc == 0)
        rc = nng_listener_set_bool(listener, NNG_OPT_TCP_NODELAY, true);
    if (rc == 0)
        rc = nng_listener_set_bool(listener, NNG_OPT_TCP_KEEPALIVE, true);
    if (rc == 0)
        rc = nng_listener_start(listener, 0);
    if (rc == 0)
        rc = nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port);
    if (rc != 0)
        return at_peer_nng_fail(rc, "listen on", host, s->config.port, reterr);
    s->port = (uint16_t)port;
    return AT_OK;
}

static enum at_code make_slots(struct at_peer_server *s, struct at_error *reterr)
{
    s->slots = at_alloc(sizeof(struct slot) * s->config.in_flight_max);
    for (uint32_t i = 0; i < s->config.in_flight_max; i++) {
        struct slot *slot = &s->slots[i];
        slot->server = s;
        slot->pipe = -1;
        int rc = nng_ctx_open(&slot->context, s->socket);
        if (rc == 0)
            rc = nng_aio_alloc(&slot->aio, on_aio, slot);
        if (rc != 0)
            return at_peer_nng_fail(rc, "make a context for", "", s->config.port, reterr);
        s->slot_count++;
    }
    return AT_OK;
}

static void on_aio(void *arg)
{
    struct slot *slot = arg;
    int rc = nng_aio_result(slot->aio);

    if (slot->state == SLOT_SENDING && rc != 0) {
        nng_msg_free(nng_aio_get_msg(slot->aio)); /* a failed send leaves the message to us */
        nng_aio_set_msg(slot->aio, NULL);
    }
    if (rc == NNG_ECLOSED || rc == NNG_ECANCELED)
        return;
    if (slot->state == SLOT_SENDING || rc != 0) {
        receive(slot);
        return;
    }
    slot->message = nng_aio_get_msg(slot->aio);
    nng_aio_set_msg(slot->aio, NULL);
    if (!admits(slot, nng_msg_get_pipe(slot->message))) {
        release_message(slot);
        receive(slot);
        return;
    }
    slot->request.body = at_slice_make(nng_msg_body(slot->message), nng_msg_len(slot->message));
    slot->state = SLOT_TAKEN;
    slot->server->config.on_request(slot->server->config.ctx, &slot->request);
}

static bool admits(struct slot *slot, nng_pipe pipe)
{
    struct at_peer_server *s = slot->server;
    int id = nng_pipe_id(pipe);
    uint32_t count = 0;

    if (atomic_load(&s->closing))
        return false;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->config.in_flight_max; i++)
        count += s->slots[i].pipe == id;
    bool admitted = count < REQUESTS_OF_ONE_MAX;
    if (admitted)
        slot->pipe = id;
    pthread_mutex_unlock(&s->lock);
    if (!admitted)
        at_log(AT_LOG_WARN, "a peer asks too much at a time, dropping a request");
    return admitted;
}

static void receive(struct slot *slot)
{
    pthread_mutex_lock(&slot->server->lock);
    slot->pipe = -1;
    pthread_mutex_unlock(&slot->server->lock);
    slot->state = SLOT_RECEIVING;
    nng_aio_set_timeout(slot->aio, NNG_DURATION_INFINITE);
    nng_ctx_recv(slot->context, slot->aio);
}

static void release_message(struct slot *slot)
{
    if (slot->message != NULL)
        nng_msg_free(slot->message);
    slot->message = NULL;
    slot->request.body = at_slice_make(NULL, 0);
}
