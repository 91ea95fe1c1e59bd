#include "wire/peer_socket.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "base/log.h"
#include "wire/peer_pipes.h"

#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <nng/supplemental/util/platform.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Both ends are a fixed array of slots; each slot is one nng context with one aio, and goes round
 *     server: RECEIVING -> TAKEN (the receiver has it) -> SENDING -> RECEIVING ...
 *     client: FREE -> SENDING -> RECEIVING -> FREE
 * The slot's state is written before the aio is started and read in its callback, so nng's locks
 * order the two. A callback does not touch its slot after it handed the slot on: the next operation
 * may have begun on another thread by then.
 *
 * REQ would send a question again by itself after its resend time or when the connection breaks.
 * With an infinite resend time it does neither: a broken connection ends the question at once, and
 * whoever asked decides what to do.
 *
 * Closing: connections are hung up first (peer_pipes.h); what is asked meanwhile is not answered.
 * All of ours is stopped and freed by then; the close itself is left behind when it takes too long.
 *
 * Messages are not copied: a body is lent out as it lies in that of nng until it is given back. */

enum { SEND_MS_MAX = 5000 };       /* an answer that waits longer for its connection is given up */
enum { HEADER_BYTES_MAX = 64 };    /* nng's own, of a question */
enum { REQUESTS_OF_ONE_MAX = 16 }; /* taken at a time, of one connection */
enum { RECONNECT_MIN_MS = 20, RECONNECT_MAX_MS = 500, URL_BYTES_MAX = 300 };
enum { HANG_UP_WAIT_MS = 1000, CLOSE_WAIT_S = 1 };

static atomic_bool g_close_hangs; /* nng is not to be ended: that would hang as well */

enum slot_state { SLOT_FREE, SLOT_RECEIVING, SLOT_TAKEN, SLOT_SENDING };

struct server_slot {
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
    struct server_slot *slots;
    uint32_t slot_count; /* with an aio */
};

struct client_slot {
    struct at_peer_client *client;
    struct client_slot *next_free;
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
    struct client_slot *free;
    struct client_slot *slots;
    uint32_t slot_count; /* with an aio */
};

static enum at_code
server_listen(struct at_peer_server *s, const char *host, struct at_error *reterr);
static enum at_code server_make_slots(struct at_peer_server *s, struct at_error *reterr);
static void server_on_aio(void *arg);
static bool server_admits(struct server_slot *slot, nng_pipe pipe);
static void server_receive(struct server_slot *slot);
static void server_release_message(struct server_slot *slot);
static enum at_code
client_dial(struct at_peer_client *c, const char *host, struct at_error *reterr);
static enum at_code client_make_slots(struct at_peer_client *c, struct at_error *reterr);
static void client_on_aio(void *arg);
static void client_receive(struct client_slot *slot);
static void client_finish(struct client_slot *slot, enum at_code code, nng_msg *reply);
static struct client_slot *client_take_slot(struct at_peer_client *c);
static void client_put_slot(struct client_slot *slot);
static void hang_up(struct at_peer_pipes *pipes);
static void close_socket(nng_socket socket);
static void *close_thread(void *id);
static enum at_code make_url(const char *host, uint16_t port, char *url, struct at_error *reterr);
static nng_msg *make_message(struct at_slice bytes);
static enum at_code code_of(int nng_rc);
static enum at_code
fail_nng(struct at_error *reterr, int nng_rc, const char *what, const char *host, uint16_t port);

/* --- the answering side --- */

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
        code = fail_nng(reterr, rc, "open", config->host, config->port);
    s->socket_open = rc == 0;
    if (code == AT_OK)
        code = server_make_slots(s, reterr);
    if (code == AT_OK)
        code = server_listen(s, config->host, reterr);
    if (code != AT_OK) {
        at_peer_server_close(&s);
        return code;
    }
    for (uint32_t i = 0; i < s->slot_count; i++)
        server_receive(&s->slots[i]);
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
    hang_up(&s->pipes);
    for (uint32_t i = 0; i < s->slot_count; i++) {
        nng_aio_stop(s->slots[i].aio);
        nng_aio_free(s->slots[i].aio);
        server_release_message(&s->slots[i]);
    }
    if (s->socket_open)
        close_socket(s->socket);
    at_peer_pipes_deinit(&s->pipes);
    pthread_mutex_destroy(&s->lock);
    at_free(s->slots);
    at_free(s);
}

void at_peer_request_reply(struct at_peer_request *request, struct at_slice reply)
{
    struct server_slot *slot = (struct server_slot *)request;

    AT_ASSERT(slot->state == SLOT_TAKEN);
    nng_msg *message = make_message(reply);
    if (message == NULL) {
        at_peer_request_drop(request);
        return;
    }
    server_release_message(slot);
    slot->state = SLOT_SENDING;
    nng_aio_set_timeout(slot->aio, SEND_MS_MAX);
    nng_aio_set_msg(slot->aio, message);
    nng_ctx_send(slot->context, slot->aio);
}

void at_peer_request_drop(struct at_peer_request *request)
{
    struct server_slot *slot = (struct server_slot *)request;

    AT_ASSERT(slot->state == SLOT_TAKEN);
    server_release_message(slot);
    server_receive(slot); /* receiving forgets the request before it */
}

static enum at_code
server_listen(struct at_peer_server *s, const char *host, struct at_error *reterr)
{
    char url[URL_BYTES_MAX];
    nng_listener listener;
    int port = 0;

    AT_TRY(make_url(host, s->config.port, url, reterr));
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
        return fail_nng(reterr, rc, "listen on", host, s->config.port);
    s->port = (uint16_t)port;
    return AT_OK;
}

static enum at_code server_make_slots(struct at_peer_server *s, struct at_error *reterr)
{
    s->slots = at_alloc(sizeof(struct server_slot) * s->config.in_flight_max);
    for (uint32_t i = 0; i < s->config.in_flight_max; i++) {
        struct server_slot *slot = &s->slots[i];
        slot->server = s;
        slot->pipe = -1;
        int rc = nng_ctx_open(&slot->context, s->socket);
        if (rc == 0)
            rc = nng_aio_alloc(&slot->aio, server_on_aio, slot);
        if (rc != 0)
            return fail_nng(reterr, rc, "make a context for", "", s->config.port);
        s->slot_count++;
    }
    return AT_OK;
}

static void server_on_aio(void *arg)
{
    struct server_slot *slot = arg;
    int rc = nng_aio_result(slot->aio);

    if (slot->state == SLOT_SENDING && rc != 0) {
        nng_msg_free(nng_aio_get_msg(slot->aio)); /* a failed send leaves the message to us */
        nng_aio_set_msg(slot->aio, NULL);
    }
    if (rc == NNG_ECLOSED || rc == NNG_ECANCELED)
        return;
    if (slot->state == SLOT_SENDING || rc != 0) {
        server_receive(slot);
        return;
    }
    slot->message = nng_aio_get_msg(slot->aio);
    nng_aio_set_msg(slot->aio, NULL);
    if (!server_admits(slot, nng_msg_get_pipe(slot->message))) {
        server_release_message(slot);
        server_receive(slot);
        return;
    }
    slot->request.body = at_slice_make(nng_msg_body(slot->message), nng_msg_len(slot->message));
    slot->state = SLOT_TAKEN;
    slot->server->config.on_request(slot->server->config.ctx, &slot->request);
}

static bool server_admits(struct server_slot *slot, nng_pipe pipe)
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

static void server_receive(struct server_slot *slot)
{
    pthread_mutex_lock(&slot->server->lock);
    slot->pipe = -1;
    pthread_mutex_unlock(&slot->server->lock);
    slot->state = SLOT_RECEIVING;
    nng_aio_set_timeout(slot->aio, NNG_DURATION_INFINITE);
    nng_ctx_recv(slot->context, slot->aio);
}

static void server_release_message(struct server_slot *slot)
{
    if (slot->message != NULL)
        nng_msg_free(slot->message);
    slot->message = NULL;
    slot->request.body = at_slice_make(NULL, 0);
}

/* --- the asking side --- */

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
        code = fail_nng(reterr, rc, "open", config->host, config->port);
    c->socket_open = rc == 0;
    if (code == AT_OK)
        code = client_make_slots(c, reterr);
    if (code == AT_OK)
        code = client_dial(c, config->host, reterr);
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
        struct client_slot *slot = &c->slots[i];
        nng_aio_stop(slot->aio);
        if (slot->question != NULL) /* stopped between sending and receiving */
            client_finish(slot, AT_CANCELLED, NULL);
        nng_aio_free(slot->aio);
    }
    hang_up(&c->pipes);
    if (c->socket_open)
        close_socket(c->socket);
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
    struct client_slot *slot =
        body.len <= AT_PEER_QUESTION_BYTES_MAX ? client_take_slot(client) : NULL;

    if (slot == NULL)
        return AT_RESOURCE_EXHAUSTED;
    nng_msg *message = make_message(body);
    if (message == NULL) {
        client_put_slot(slot);
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

static enum at_code client_dial(struct at_peer_client *c, const char *host, struct at_error *reterr)
{
    char url[URL_BYTES_MAX];
    nng_dialer dialer;

    AT_TRY(make_url(host, c->config.port, url, reterr));
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
    return rc == 0 ? AT_OK : fail_nng(reterr, rc, "dial", host, c->config.port);
}

static enum at_code client_make_slots(struct at_peer_client *c, struct at_error *reterr)
{
    c->slots = at_alloc(sizeof(struct client_slot) * c->config.in_flight_max);
    for (uint32_t i = 0; i < c->config.in_flight_max; i++) {
        struct client_slot *slot = &c->slots[i];
        slot->client = c;
        int rc = nng_ctx_open(&slot->context, c->socket);
        if (rc == 0)
            rc = nng_ctx_set_ms(slot->context, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
        if (rc == 0)
            rc = nng_aio_alloc(&slot->aio, client_on_aio, slot);
        if (rc != 0)
            return fail_nng(reterr, rc, "make a context for", "", c->config.port);
        c->slot_count++;
        client_put_slot(slot);
    }
    return AT_OK;
}

static void client_on_aio(void *arg)
{
    struct client_slot *slot = arg;
    int rc = nng_aio_result(slot->aio);

    if (slot->state == SLOT_SENDING && rc == 0) {
        client_receive(slot);
        return;
    }
    nng_msg *message = nng_aio_get_msg(slot->aio);
    nng_aio_set_msg(slot->aio, NULL);
    if (rc == 0) {
        client_finish(slot, AT_OK, message);
        return;
    }
    if (slot->state == SLOT_SENDING)
        nng_msg_free(message); /* a failed send leaves the message to us */
    client_finish(slot, code_of(rc), NULL);
}

static void client_receive(struct client_slot *slot)
{
    nng_time now = nng_clock();

    slot->state = SLOT_RECEIVING;
    nng_aio_set_timeout(slot->aio, slot->deadline > now ? (nng_duration)(slot->deadline - now) : 1);
    nng_ctx_recv(slot->context, slot->aio);
}

/* client_finish gives the slot back before it tells the owner, who may ask again from there. */
static void client_finish(struct client_slot *slot, enum at_code code, nng_msg *reply)
{
    struct at_peer_client *c = slot->client;
    struct at_peer_question *question = AT_TAKE(slot->question);

    AT_ASSERT(question != NULL);
    question->code = code;
    question->impl = reply;
    if (reply != NULL)
        question->reply = at_slice_make(nng_msg_body(reply), nng_msg_len(reply));
    client_put_slot(slot);
    c->config.on_reply(c->config.ctx, question);
}

static struct client_slot *client_take_slot(struct at_peer_client *c)
{
    pthread_mutex_lock(&c->lock);
    struct client_slot *slot = c->free;
    if (slot != NULL)
        c->free = slot->next_free;
    pthread_mutex_unlock(&c->lock);
    return slot;
}

static void client_put_slot(struct client_slot *slot)
{
    struct at_peer_client *c = slot->client;

    slot->state = SLOT_FREE;
    pthread_mutex_lock(&c->lock);
    slot->next_free = c->free;
    c->free = slot;
    pthread_mutex_unlock(&c->lock);
}

/* --- both --- */

void at_peer_sockets_end(void)
{
    if (!atomic_load(&g_close_hangs))
        nng_fini();
}

/* Once a close hangs, nng does not get done with any connection. */
static void hang_up(struct at_peer_pipes *pipes)
{
    (void)at_peer_pipes_hang_up(pipes, atomic_load(&g_close_hangs) ? 0 : HANG_UP_WAIT_MS);
}

static void close_socket(nng_socket socket)
{
    pthread_t thread;
    struct timespec until;
    uintptr_t id = socket.id;

    at_peer_pipes_forget(socket);
    if (pthread_create(&thread, NULL, close_thread, (void *)id) != 0) {
        nng_close(socket);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    /* Once one hangs, the later ones mostly wait for it: they must not hold up who closes them. */
    until.tv_sec += atomic_load(&g_close_hangs) ? 0 : CLOSE_WAIT_S;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0)
        return;
    atomic_store(&g_close_hangs, true);
    pthread_detach(thread);
    at_log(AT_LOG_WARN, "a peer socket does not close, leaving it behind");
}

static void *close_thread(void *id)
{
    nng_socket socket = {.id = (uint32_t)(uintptr_t)id};

    nng_close(socket);
    return NULL;
}

static enum at_code make_url(const char *host, uint16_t port, char *url, struct at_error *reterr)
{
    bool bare_v6 = strchr(host, ':') != NULL && host[0] != '[';
    int n = snprintf(url, URL_BYTES_MAX, bare_v6 ? "tcp://[%s]:%" PRIu16 : "tcp://%s:%" PRIu16,
                     host, port);

    if (n < 0 || n >= URL_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "peer host name is too long");
    return AT_OK;
}

/* make_message returns NULL when there is no memory for that many bytes. */
static nng_msg *make_message(struct at_slice bytes)
{
    nng_msg *message = NULL;

    AT_ASSERT(bytes.len <= AT_PEER_MESSAGE_BYTES_MAX);
    if (nng_msg_alloc(&message, bytes.len) != 0)
        return NULL;
    if (bytes.len > 0)
        memcpy(nng_msg_body(message), bytes.data, bytes.len);
    return message;
}

static enum at_code code_of(int nng_rc)
{
    switch (nng_rc) {
    case NNG_ETIMEDOUT:
        return AT_DEADLINE_EXCEEDED;
    case NNG_ECLOSED:
    case NNG_ECANCELED:
        return AT_CANCELLED;
    case NNG_ENOMEM:
        return AT_RESOURCE_EXHAUSTED;
    case NNG_EADDRINVAL:
    case NNG_EINVAL:
        return AT_INVALID_ARGUMENT;
    case NNG_EADDRINUSE:
        return AT_FAILED_PRECONDITION;
    case NNG_EPERM:
        return AT_PERMISSION_DENIED;
    default:
        return AT_UNAVAILABLE;
    }
}

static enum at_code
fail_nng(struct at_error *reterr, int nng_rc, const char *what, const char *host, uint16_t port)
{
    return at_fail(reterr, code_of(nng_rc), "peer socket: cannot %s %s:%" PRIu16 ": %s", what, host,
                   port, nng_strerror(nng_rc));
}
