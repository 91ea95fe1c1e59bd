#include "sim/fake_peer_socket.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/limits.h"

/* A question is a flight that goes there, is taken by the server, and comes back as its answer. The
 * asker hears of it once: by the answer, its time running out, a broken connection, or its own
 * closing. The flight itself lives until nobody holds it any more. */

enum flight_step { GOING, TAKEN, RETURNING, OVER };

struct flight {
    struct at_peer_request request; /* first: the server's users give it back */
    struct flight *next;
    enum flight_step step;
    uint32_t from;
    uint32_t to;
    uint64_t due_ns;
    uint64_t deadline_ns;
    bool broken; /* the deadline is when the asker hears that the connection broke */
    struct at_peer_client *client; /* NULL: nobody waits for the answer any more */
    struct at_peer_question *question;
    struct at_peer_server *server; /* that has taken it */
    struct at_buf bytes;           /* of the question, then of the answer */
};

struct at_peer_server {
    struct at_peer_server *next;
    struct at_peer_server_config config;
    uint32_t machine;
    uint32_t taken;
    bool killed;
};

struct at_peer_client {
    struct at_peer_client_config config;
    uint32_t machine;
    uint32_t to;
    uint32_t open;
    bool killed;
};

struct fake_net g_fake_net;

static struct flight *g_flights; /* in order of their making */
static struct at_peer_server *g_servers;

static uint32_t below(uint32_t n)
{
    return (uint32_t)at_prng_below(&g_fake_net.rng, n);
}

static bool percent(uint32_t p)
{
    return below(100) < p;
}

static void note(uint64_t v)
{
    g_fake_net.hash = (g_fake_net.hash ^ v) * UINT64_C(0x9E3779B97F4A7C15);
}

static uint64_t delay_ns(uint32_t from, uint32_t to)
{
    uint64_t us = 50 + below(1 + g_fake_net.delay_max_us);

    if (percent(3))
        us += below(60000);
    if (g_fake_net.clogged_ns[from][to] > g_fake_net.now_ns)
        us += 100000 + below(2000000);
    return us * 1000;
}

void fake_net_init(uint64_t seed)
{
    AT_ASSERT(g_servers == NULL && g_flights == NULL);
    g_fake_net = (struct fake_net){.now_ns = AT_S_NS, .delay_max_us = 2000};
    at_prng_init(&g_fake_net.rng, seed);
}

static struct flight *add_flight(struct at_slice body)
{
    struct flight *f = AT_NEW(struct flight);
    struct flight **end = &g_flights;

    at_buf_init(&f->bytes, AT_PEER_MESSAGE_BYTES_MAX);
    enum at_code code = at_buf_append(&f->bytes, body);
    AT_ASSERT(code == AT_OK);
    while (*end != NULL)
        end = &(*end)->next;
    *end = f;
    return f;
}

static void remove_flight(struct flight *f)
{
    struct flight **at = &g_flights;

    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    at_buf_deinit(&f->bytes);
    at_free(f);
}

/* The asker hears of it; `reply` goes over to the question. */
static void finish(struct flight *f, enum at_code code)
{
    struct at_peer_client *client = AT_TAKE(f->client);
    struct at_peer_question *question = AT_TAKE(f->question);

    if (client == NULL)
        return;
    question->code = code;
    question->impl = NULL;
    question->reply = at_slice_make(NULL, 0);
    if (code == AT_OK) {
        uint8_t *bytes = at_alloc(f->bytes.len + 1);
        if (f->bytes.len > 0)
            memcpy(bytes, f->bytes.data, f->bytes.len);
        question->impl = bytes;
        question->reply = at_slice_make(bytes, f->bytes.len);
    }
    client->open--;
    note((uint64_t)code << 32 | f->from << 8 | f->to);
    client->config.on_reply(client->config.ctx, question);
}

/* --- the answering side --- */

enum at_code at_peer_server_open(const struct at_peer_server_config *config,
                                 struct at_peer_server **ret_server,
                                 struct at_error *reterr)
{
    struct at_peer_server *s = AT_NEW(struct at_peer_server);

    (void)reterr;
    s->config = *config;
    s->machine = g_fake_net.here;
    s->next = g_servers;
    g_servers = s;
    *ret_server = s;
    return AT_OK;
}

uint16_t at_peer_server_port(const struct at_peer_server *server)
{
    return (uint16_t)(1 + server->machine);
}

void at_peer_server_close(struct at_peer_server **server)
{
    struct at_peer_server *s = AT_TAKE(*server);
    struct at_peer_server **at = &g_servers;
    struct flight *next = NULL;

    if (s == NULL)
        return;
    for (struct flight *f = g_flights; f != NULL; f = next) {
        next = f->next;
        if (f->step == TAKEN && f->server == s)
            at_peer_request_drop(&f->request); /* nobody took it from the mailbox */
    }
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    at_free(s);
}

void at_peer_request_reply(struct at_peer_request *request, struct at_slice reply)
{
    struct flight *f = (struct flight *)request;

    AT_ASSERT(f->step == TAKEN);
    f->server->taken--;
    f->step = RETURNING;
    if (f->server->killed || percent(g_fake_net.loss_percent)) {
        f->step = OVER;
        g_fake_net.lost++;
        return;
    }
    at_buf_clear(&f->bytes);
    enum at_code code = at_buf_append(&f->bytes, reply);
    AT_ASSERT(code == AT_OK);
    f->due_ns = g_fake_net.now_ns + delay_ns(f->to, f->from);
}

void at_peer_request_drop(struct at_peer_request *request)
{
    struct flight *f = (struct flight *)request;

    AT_ASSERT(f->step == TAKEN);
    f->server->taken--;
    f->step = OVER;
}

/* --- the asking side --- */

enum at_code at_peer_client_open(const struct at_peer_client_config *config,
                                 struct at_peer_client **ret_client,
                                 struct at_error *reterr)
{
    struct at_peer_client *c = AT_NEW(struct at_peer_client);

    (void)reterr;
    AT_ASSERT(config->port > 0 && config->port <= FAKE_MACHINES_MAX);
    c->config = *config;
    c->machine = g_fake_net.here;
    c->to = (uint32_t)(config->port - 1);
    *ret_client = c;
    return AT_OK;
}

void at_peer_client_close(struct at_peer_client **client)
{
    struct at_peer_client *c = AT_TAKE(*client);

    if (c == NULL)
        return;
    for (struct flight *f = g_flights; f != NULL; f = f->next) {
        if (f->client != c)
            continue;
        finish(f, AT_CANCELLED);
        if (f->step == GOING && (c->killed || percent(50)))
            f->step = OVER; /* it may be on its way */
    }
    AT_ASSERT(c->open == 0);
    at_free(c);
}

static void send(struct at_peer_client *c,
                 struct at_peer_question *question,
                 struct at_slice body,
                 uint64_t deadline_ns)
{
    struct flight *f = add_flight(body);

    f->from = c->machine;
    f->to = c->to;
    f->deadline_ns = deadline_ns;
    f->due_ns = g_fake_net.now_ns + delay_ns(f->from, f->to);
    f->client = question != NULL ? c : NULL;
    f->question = question;
    if (c->killed || percent(g_fake_net.loss_percent)) {
        f->step = OVER;
        g_fake_net.lost++;
    }
}

enum at_code at_peer_client_ask(struct at_peer_client *client,
                                struct at_peer_question *question,
                                struct at_slice body,
                                uint32_t timeout_ms)
{
    uint64_t deadline_ns = g_fake_net.now_ns + timeout_ms * AT_MS_NS;

    if (body.len > AT_PEER_QUESTION_BYTES_MAX || client->open == client->config.in_flight_max)
        return AT_RESOURCE_EXHAUSTED;
    question->reply = at_slice_make(NULL, 0);
    question->impl = NULL;
    client->open++;
    send(client, question, body, deadline_ns);
    if (percent(g_fake_net.repeat_percent))
        send(client, NULL, body, deadline_ns);
    return AT_OK;
}

void at_peer_question_done(struct at_peer_question *question)
{
    at_free(question->impl);
    question->impl = NULL;
    question->reply = at_slice_make(NULL, 0);
}

void at_peer_sockets_end(void)
{
}

/* --- time --- */

static bool moves(const struct flight *f)
{
    return f->step == GOING || f->step == RETURNING;
}

uint64_t fake_net_next_ns(void)
{
    uint64_t next_ns = UINT64_MAX;

    for (const struct flight *f = g_flights; f != NULL; f = f->next) {
        if (moves(f) && f->due_ns < next_ns)
            next_ns = f->due_ns;
        if (f->client != NULL && f->deadline_ns < next_ns)
            next_ns = f->deadline_ns;
    }
    return next_ns;
}

static struct at_peer_server *server_of(uint32_t machine)
{
    struct at_peer_server *s = g_servers;

    while (s != NULL && (s->machine != machine || s->killed))
        s = s->next;
    return s;
}

static void arrive(struct flight *f)
{
    bool back = f->step == RETURNING;
    uint32_t from = back ? f->to : f->from;
    uint32_t to = back ? f->from : f->to;
    struct at_peer_server *s = server_of(f->to);

    if ((g_fake_net.cut[from] >> to & 1) != 0 || (!back && s == NULL)) {
        f->due_ns = g_fake_net.now_ns + (20 + below(200)) * AT_MS_NS; /* it is sent again */
        if (f->client == NULL && percent(30))
            f->step = OVER;
        return;
    }
    if (back) {
        g_fake_net.delivered += f->client != NULL;
        finish(f, AT_OK);
        f->step = OVER;
        return;
    }
    if (percent(g_fake_net.break_percent) || s->taken == s->config.in_flight_max) {
        finish(f, AT_UNAVAILABLE);
        f->step = OVER;
        return;
    }
    note(f->from << 8 | f->to);
    g_fake_net.delivered++;
    s->taken++;
    f->server = s;
    f->step = TAKEN;
    f->request.body = at_buf_slice(&f->bytes);
    s->config.on_request(s->config.ctx, &f->request);
}

uint32_t fake_net_deliver(void)
{
    struct flight *next = NULL;
    uint32_t got = 0;

    for (struct flight *f = g_flights; f != NULL; f = next) {
        next = f->next;
        if (f->client != NULL && f->deadline_ns <= g_fake_net.now_ns) {
            got |= 1U << f->from;
            finish(f, f->broken ? AT_UNAVAILABLE : AT_DEADLINE_EXCEEDED);
        }
        if (moves(f) && f->due_ns <= g_fake_net.now_ns) {
            got |= 1U << (f->step == GOING ? f->to : f->from);
            arrive(f);
        }
        if (f->step == OVER && f->client == NULL)
            remove_flight(f);
    }
    return got;
}

void fake_net_kill(uint32_t machine)
{
    struct at_peer_server *s = server_of(machine);

    for (struct flight *f = g_flights; f != NULL; f = f->next) {
        if (f->from == machine && f->client != NULL)
            f->client->killed = true;
        if (f->to != machine || f->step == OVER)
            continue;
        f->broken = f->step == TAKEN && f->client != NULL && percent(60);
        if (f->broken)
            f->deadline_ns = g_fake_net.now_ns + delay_ns(f->to, f->from);
    }
    if (s != NULL)
        s->killed = true;
}

void fake_net_end(void)
{
    while (g_flights != NULL) {
        AT_ASSERT(g_flights->step != TAKEN && g_flights->client == NULL);
        remove_flight(g_flights);
    }
}
