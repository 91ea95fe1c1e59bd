#include "wire/peer_socket.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "support/held_port.h"
#include "support/nng_leaks.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two ends in one process, over real loopback TCP. Requests and replies are taken off nng's threads
 * through mailboxes, as the product does. */

#define WAIT_MS 60000

struct ends {
    struct at_mailbox requests;
    struct at_mailbox replies;
    struct at_peer_server *server;
    struct at_peer_client *client;
    uint16_t port;
    struct held_port held; /* the port, also between two servers */
};

static void on_request(void *ctx, struct at_peer_request *request)
{
    struct ends *e = ctx;
    assert_true(at_mailbox_push(&e->requests, &request->mail, NULL));
}

static void on_reply(void *ctx, struct at_peer_question *question)
{
    struct ends *e = ctx;
    assert_true(at_mailbox_push(&e->replies, &question->mail, NULL));
}

static void open_server(struct ends *e, uint16_t port, uint32_t in_flight_max)
{
    struct at_peer_server_config config = {.host = "127.0.0.1",
                                           .port = port,
                                           .in_flight_max = in_flight_max,
                                           .on_request = on_request,
                                           .ctx = e};
    struct at_error error = {0};
    if (at_peer_server_open(&config, &e->server, &error) != AT_OK)
        fail_msg("%s", error.msg);
    e->port = at_peer_server_port(e->server);
    assert_int_not_equal(e->port, 0);
}

static void open_client(struct ends *e, uint32_t in_flight_max)
{
    struct at_peer_client_config config = {.host = "127.0.0.1",
                                           .port = e->port,
                                           .in_flight_max = in_flight_max,
                                           .on_reply = on_reply,
                                           .ctx = e};
    assert_int_equal(at_peer_client_open(&config, &e->client, NULL), AT_OK);
}

static void setup(struct ends *e)
{
    *e = (struct ends){0};
    at_mailbox_init(&e->requests, 100);
    at_mailbox_init(&e->replies, 100);
    held_port_take(&e->held);
    open_server(e, e->held.port, 4);
    open_client(e, 4);
}

static void teardown(struct ends *e)
{
    at_peer_client_close(&e->client);
    at_peer_server_close(&e->server);
    held_port_let_go(&e->held);
    at_mailbox_deinit(&e->requests);
    at_mailbox_deinit(&e->replies);
}

/* Mail is the first field of both kinds. */
static struct at_peer_request *next_request(struct ends *e)
{
    struct at_mail *mail = at_mailbox_wait(&e->requests, WAIT_MS);
    assert_non_null(mail);
    assert_null(mail->next);
    return (struct at_peer_request *)mail;
}

static struct at_peer_question *next_reply(struct ends *e)
{
    struct at_mail *mail = at_mailbox_wait(&e->replies, WAIT_MS);
    assert_non_null(mail);
    assert_null(mail->next);
    return (struct at_peer_question *)mail;
}

static uint64_t now_ms(void)
{
    struct at_clock clock = at_clock_system();
    return at_clock_mono_ns(&clock) / AT_MS_NS;
}

/* Answers every "ping" that has come, also one that nobody waits for any more. */
static void answer_pings(struct ends *e)
{
    struct at_mail *next = NULL;

    for (struct at_mail *m = at_mailbox_wait(&e->requests, 1); m != NULL; m = next) {
        struct at_peer_request *r = (struct at_peer_request *)m;
        next = m->next;
        if (at_slice_eq(r->body, AT_LIT("ping")))
            at_peer_request_reply(r, AT_LIT("pong"));
        else
            at_peer_request_drop(r);
    }
}

/* One whole exchange; says whether it worked. */
static bool exchange(struct ends *e, uint32_t timeout_ms)
{
    struct at_peer_question q = {0};
    struct at_mail *come = NULL;
    uint64_t end_ms = now_ms() + timeout_ms + WAIT_MS;

    assert_int_equal(at_peer_client_ask(e->client, &q, AT_LIT("ping"), timeout_ms), AT_OK);
    while (come == NULL && now_ms() < end_ms) {
        answer_pings(e);
        come = at_mailbox_wait(&e->replies, 1);
    }
    assert_ptr_equal(come, &q);
    bool answered = q.code == AT_OK;
    if (answered)
        assert_true(at_slice_eq(q.reply, AT_LIT("pong")));
    at_peer_question_done(&q);
    return answered;
}

/* Asks with a deadline until one of the questions has arrived before its own, which takes longer
 * where the machine is busy; that one is not answered. Returns the time it was given. */
static uint32_t
ask_in_vain(struct ends *e, struct at_peer_question *q, struct at_peer_request **ret_request)
{
    for (uint32_t timeout_ms = 200;; timeout_ms *= 2) {
        assert_true(timeout_ms < WAIT_MS);
        *q = (struct at_peer_question){0};
        assert_int_equal(at_peer_client_ask(e->client, q, AT_LIT("q"), timeout_ms), AT_OK);
        struct at_mail *come = at_mailbox_wait(&e->requests, timeout_ms);
        *ret_request = (struct at_peer_request *)come;
        for (struct at_mail *m = come ? come->next : NULL, *next = NULL; m != NULL; m = next) {
            next = m->next;
            at_peer_request_drop((struct at_peer_request *)m);
        }
        if (come != NULL)
            return timeout_ms;
        assert_ptr_equal(next_reply(e), q);
        at_peer_question_done(q);
    }
}

static void an_answer_reaches_who_asked(void **state)
{
    (void)state;
    struct ends e;
    setup(&e);
    for (int i = 0; i < 100; i++)
        assert_true(exchange(&e, WAIT_MS));
    teardown(&e);
}

static void an_empty_answer_is_an_answer(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q = {0};
    setup(&e);
    assert_int_equal(at_peer_client_ask(e.client, &q, at_slice_make(NULL, 0), WAIT_MS), AT_OK);
    struct at_peer_request *r = next_request(&e);
    assert_int_equal(r->body.len, 0);
    at_peer_request_reply(r, at_slice_make(NULL, 0));
    assert_int_equal(next_reply(&e)->code, AT_OK);
    assert_int_equal(q.reply.len, 0);
    at_peer_question_done(&q);
    teardown(&e);
}

static void large_messages_pass_unchanged_and_larger_questions_are_refused(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q = {0};
    size_t len = 20u << 20;
    uint8_t *bytes = at_alloc(len);

    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    setup(&e);
    struct at_slice question = at_slice_make(bytes, AT_PEER_QUESTION_BYTES_MAX);
    struct at_slice more = at_slice_make(bytes, AT_PEER_QUESTION_BYTES_MAX + 1);
    assert_int_equal(at_peer_client_ask(e.client, &q, more, WAIT_MS), AT_RESOURCE_EXHAUSTED);
    assert_int_equal(at_peer_client_ask(e.client, &q, question, WAIT_MS), AT_OK);
    struct at_peer_request *r = next_request(&e);
    assert_true(at_slice_eq(r->body, question));
    at_peer_request_reply(r, at_slice_make(bytes, len));
    assert_int_equal(next_reply(&e)->code, AT_OK);
    assert_true(at_slice_eq(q.reply, at_slice_make(bytes, len)));
    at_peer_question_done(&q);
    teardown(&e);
    at_free(bytes);
}

static void answers_may_come_in_another_order(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question slow = {0};
    struct at_peer_question fast = {0};
    setup(&e);
    assert_int_equal(at_peer_client_ask(e.client, &slow, AT_LIT("slow"), WAIT_MS), AT_OK);
    struct at_peer_request *held = next_request(&e);
    assert_int_equal(at_peer_client_ask(e.client, &fast, AT_LIT("fast"), WAIT_MS), AT_OK);
    at_peer_request_reply(next_request(&e), AT_LIT("fast"));
    assert_ptr_equal(next_reply(&e), &fast);
    assert_true(at_slice_eq(held->body, AT_LIT("slow"))); /* still lent out */
    at_peer_request_reply(held, AT_LIT("slow"));
    assert_ptr_equal(next_reply(&e), &slow);
    assert_true(at_slice_eq(slow.reply, AT_LIT("slow")));
    assert_true(at_slice_eq(fast.reply, AT_LIT("fast")));
    at_peer_question_done(&slow);
    at_peer_question_done(&fast);
    teardown(&e);
}

static void more_questions_than_allowed_are_refused(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q[5] = {0};
    setup(&e);
    for (int i = 0; i < 4; i++)
        assert_int_equal(at_peer_client_ask(e.client, &q[i], AT_LIT("q"), WAIT_MS), AT_OK);
    assert_int_equal(at_peer_client_ask(e.client, &q[4], AT_LIT("q"), WAIT_MS),
                     AT_RESOURCE_EXHAUSTED);
    for (int open = 4; open > 0;) {
        struct at_mail *next = NULL;
        for (struct at_mail *m = at_mailbox_wait(&e.requests, WAIT_MS); m != NULL; m = next) {
            next = m->next;
            at_peer_request_reply((struct at_peer_request *)m, AT_LIT("a"));
            open--;
        }
    }
    for (int open = 4; open > 0;)
        for (struct at_mail *m = at_mailbox_wait(&e.replies, WAIT_MS); m != NULL; m = m->next) {
            assert_int_equal(((struct at_peer_question *)m)->code, AT_OK);
            open--;
        }
    for (int i = 0; i < 4; i++)
        at_peer_question_done(&q[i]);
    assert_true(exchange(&e, WAIT_MS)); /* the slots are free again */
    teardown(&e);
}

static void a_question_without_answer_ends_at_its_deadline(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q = {0};
    setup(&e);
    struct at_peer_request *r = NULL;
    uint64_t begin_ms = now_ms();
    uint32_t timeout_ms = ask_in_vain(&e, &q, &r);
    assert_int_equal(next_reply(&e)->code, AT_DEADLINE_EXCEEDED);
    assert_true(now_ms() - begin_ms >= timeout_ms - 10);
    at_peer_question_done(&q);

    /* The late answer goes nowhere, and not to the next question. */
    at_peer_request_reply(r, AT_LIT("late"));
    assert_true(exchange(&e, WAIT_MS));
    teardown(&e);
}

static void a_dropped_request_is_not_answered(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q = {0};
    setup(&e);
    struct at_peer_request *r = NULL;
    (void)ask_in_vain(&e, &q, &r);
    at_peer_request_drop(r);
    assert_int_equal(next_reply(&e)->code, AT_DEADLINE_EXCEEDED);
    at_peer_question_done(&q);
    for (int i = 0; i < 10; i++) /* its place is free again */
        assert_true(exchange(&e, WAIT_MS));
    teardown(&e);
}

/* Its server is closed: asks until no question ends because the connection breaks. */
static void notice_the_break(struct ends *e)
{
    for (int in_vain = 0; in_vain < 3;) {
        struct at_peer_question q = {0};
        assert_int_equal(at_peer_client_ask(e->client, &q, AT_LIT("q"), 100), AT_OK);
        in_vain = next_reply(e)->code == AT_DEADLINE_EXCEEDED ? in_vain + 1 : 0;
        at_peer_question_done(&q);
    }
}

static void a_peer_that_is_down_only_costs_the_timeout(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q = {0};
    setup(&e);
    at_peer_server_close(&e.server);
    notice_the_break(&e);
    uint64_t begin_ms = now_ms();
    assert_int_equal(at_peer_client_ask(e.client, &q, AT_LIT("q"), 150), AT_OK);
    assert_int_equal(next_reply(&e)->code, AT_DEADLINE_EXCEEDED);
    assert_true(now_ms() - begin_ms >= 140);
    at_peer_question_done(&q);
    teardown(&e);
}

static void a_question_ends_at_once_when_its_peer_dies(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q = {0};
    setup(&e);
    assert_int_equal(at_peer_client_ask(e.client, &q, AT_LIT("q"), WAIT_MS), AT_OK);
    struct at_peer_request *r = next_request(&e);
    at_peer_request_drop(r);
    at_peer_server_close(&e.server);
    assert_int_equal(next_reply(&e)->code, AT_UNAVAILABLE); /* not at its deadline */
    at_peer_question_done(&q);
    teardown(&e);
}

static void a_peer_that_returns_on_its_port_is_found_again(void **state)
{
    (void)state;
    struct ends e;
    setup(&e);
    for (int round = 0; round < 3; round++) {
        uint64_t begin_ms = now_ms();
        assert_true(exchange(&e, WAIT_MS));
        at_peer_server_close(&e.server);
        (void)exchange(&e, 50);
        open_server(&e, e.port, 4);
        while (!exchange(&e, 250))
            assert_true(now_ms() - begin_ms < WAIT_MS);
    }
    teardown(&e);
}

static void closing_the_asking_side_cancels_open_questions(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q[3] = {0};
    setup(&e);
    for (int i = 0; i < 3; i++)
        assert_int_equal(at_peer_client_ask(e.client, &q[i], AT_LIT("q"), WAIT_MS), AT_OK);
    at_peer_client_close(&e.client);
    int cancelled = 0;
    for (struct at_mail *m = at_mailbox_take(&e.replies); m != NULL; m = m->next)
        cancelled += ((struct at_peer_question *)m)->code == AT_CANCELLED;
    assert_int_equal(cancelled, 3);

    /* Requests that arrived have lost their asker; answering them is harmless. */
    struct at_mail *next = NULL;
    for (struct at_mail *m = at_mailbox_take(&e.requests); m != NULL; m = next) {
        next = m->next;
        at_peer_request_reply((struct at_peer_request *)m, AT_LIT("a"));
    }
    teardown(&e);
}

static void a_client_without_peer_closes_with_open_questions(void **state)
{
    (void)state;
    struct ends e;
    struct at_peer_question q = {0};
    setup(&e);
    at_peer_server_close(&e.server);
    notice_the_break(&e);
    assert_int_equal(at_peer_client_ask(e.client, &q, AT_LIT("q"), WAIT_MS), AT_OK);
    at_peer_client_close(&e.client);
    assert_int_equal(next_reply(&e)->code, AT_CANCELLED); /* not at its deadline */
    teardown(&e);
}

static void a_port_in_use_is_reported(void **state)
{
    (void)state;
    struct ends e;
    setup(&e);
    struct at_peer_server_config config = {.host = "127.0.0.1",
                                           .port = e.port,
                                           .in_flight_max = 1,
                                           .on_request = on_request,
                                           .ctx = &e};
    struct at_peer_server *second = NULL;
    struct at_error error = {0};
    assert_int_equal(at_peer_server_open(&config, &second, &error), AT_FAILED_PRECONDITION);
    assert_null(second);
    assert_non_null(strstr(error.msg, "in use"));
    teardown(&e);
}

static void a_host_name_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char host[400];
    struct ends e = {0};
    struct at_peer_client_config config = {
        .host = host, .port = 1, .in_flight_max = 1, .on_reply = on_reply, .ctx = &e};
    memset(host, 'a', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    assert_int_equal(at_peer_client_open(&config, &e.client, NULL), AT_INVALID_ARGUMENT);
    assert_null(e.client);
}

/* A bare connection that speaks just enough of the protocol to ask, and never reads. */
static int connect_rudely(uint16_t port)
{
    static const uint8_t hello[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct linger at_once = {.l_onoff = 1};
    int small = 4096;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(fd, hello, sizeof(hello)), sizeof(hello));
    return fd;
}

static void ask_rudely(int fd)
{
    static const uint8_t question[8 + 4] = {0, 0, 0, 0, 0, 0, 0, 4, 0x80, 0, 0, 1};

    assert_int_equal(write(fd, question, sizeof(question)), sizeof(question));
}

/* Answers whoever asks, until "ping" was asked and answered. False: that did not come to be. */
static bool answered_among_others(struct ends *e, struct at_slice others)
{
    struct at_peer_question q = {0};
    struct at_mail *next = NULL;
    bool asked = false;

    assert_int_equal(at_peer_client_ask(e->client, &q, AT_LIT("ping"), WAIT_MS), AT_OK);
    for (int i = 0; i < WAIT_MS / 100 && !asked; i++) {
        for (struct at_mail *m = at_mailbox_wait(&e->requests, 100); m != NULL; m = next) {
            struct at_peer_request *r = (struct at_peer_request *)m;
            bool ours = at_slice_eq(r->body, AT_LIT("ping"));
            next = m->next;
            at_peer_request_reply(r, ours ? AT_LIT("pong") : others);
            asked = asked || ours;
        }
    }
    assert_ptr_equal(next_reply(e), &q);
    at_peer_question_done(&q);
    return q.code == AT_OK;
}

static void who_asks_and_does_not_read_takes_nothing_from_others(void **state)
{
    static uint8_t answer[8 << 20];
    struct at_slice large = at_slice_make(answer, sizeof(answer));
    struct ends e;

    (void)state;
    setup(&e);
    int fd = connect_rudely(e.port);
    for (int i = 0; i < 4; i++) { /* all four places wait for the rude one, but not for ever */
        ask_rudely(fd);
        at_peer_request_reply(next_request(&e), large);
    }
    assert_true(answered_among_others(&e, large));
    close(fd);
    teardown(&e);
}

static void of_one_connection_a_few_requests_are_taken_at_a_time(void **state)
{
    struct ends e = {0};

    (void)state;
    at_mailbox_init(&e.requests, 100);
    at_mailbox_init(&e.replies, 100);
    held_port_take(&e.held);
    open_server(&e, e.held.port, 24);
    open_client(&e, 4);
    int fd = connect_rudely(e.port);
    for (int i = 0; i < 40; i++)
        ask_rudely(fd);
    struct at_mail *held = NULL;
    int count = 0;
    while (count < 16) {
        struct at_mail *m = at_mailbox_wait(&e.requests, WAIT_MS);
        assert_non_null(m);
        while (m != NULL) {
            struct at_mail *next = m->next;
            m->next = held;
            held = m;
            m = next;
            count++;
        }
    }
    assert_int_equal(count, 16);
    assert_true(exchange(&e, WAIT_MS)); /* another connection's is taken all the same */
    while (held != NULL) {
        struct at_mail *next = held->next;
        at_peer_request_drop((struct at_peer_request *)held);
        held = next;
    }
    close(fd);
    teardown(&e);
}

#ifdef __SANITIZE_THREAD__
#define HAMMER_ROUNDS 4 /* each takes seconds there */
#else
#define HAMMER_ROUNDS 20
#endif

struct hammer {
    int fd;
    pthread_t thread;
};

/* Asks in halves, so that messages are on their way in whenever the other side looks. */
static void *hammer_main(void *arg)
{
    static const uint8_t halves[2][8] = {{0, 0, 0, 0, 0, 0, 0, 4}, {0x80, 0, 0, 1}};
    struct hammer *h = arg;

    while (send(h->fd, halves[0], 8, MSG_NOSIGNAL) == 8 &&
           send(h->fd, halves[1], 4, MSG_NOSIGNAL) == 4)
        sched_yield();
    return NULL;
}

/* On a busy machine the close of the last one may still be under way. */
static void open_when_free(struct ends *e)
{
    uint64_t end_ms = now_ms() + WAIT_MS;
    struct at_peer_server_config config = {.host = "127.0.0.1",
                                           .port = e->held.port,
                                           .in_flight_max = 4,
                                           .on_request = on_request,
                                           .ctx = e};

    while (at_peer_server_open(&config, &e->server, NULL) != AT_OK) {
        assert_true(now_ms() < end_ms);
        (void)usleep(1000);
    }
    e->port = e->held.port;
}

/* The port is free again soon; with what nng loses it never would be. */
static void a_server_that_is_asked_without_pause_closes(void **state)
{
    struct hammer hammers[6];
    struct ends e = {0};

    (void)state;
    held_port_take(&e.held);
    for (int round = 0; round < HAMMER_ROUNDS; round++) {
        at_mailbox_init(&e.requests, 100);
        open_when_free(&e);
        for (int i = 0; i < 6; i++) {
            hammers[i].fd = connect_rudely(e.port);
            assert_int_equal(pthread_create(&hammers[i].thread, NULL, hammer_main, &hammers[i]), 0);
        }
        for (int taken = 0; taken < 20;) {
            struct at_mail *next = NULL;
            for (struct at_mail *m = at_mailbox_wait(&e.requests, WAIT_MS); m != NULL; m = next) {
                next = m->next;
                at_peer_request_drop((struct at_peer_request *)m);
                taken++;
            }
        }
        at_peer_server_close(&e.server);
        at_mailbox_deinit(&e.requests); /* what was in it is gone */
        for (int i = 0; i < 6; i++) {
            pthread_join(hammers[i].thread, NULL);
            close(hammers[i].fd);
        }
    }
    held_port_let_go(&e.held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_reaches_who_asked),
        cmocka_unit_test(an_empty_answer_is_an_answer),
        cmocka_unit_test(large_messages_pass_unchanged_and_larger_questions_are_refused),
        cmocka_unit_test(answers_may_come_in_another_order),
        cmocka_unit_test(more_questions_than_allowed_are_refused),
        cmocka_unit_test(a_question_without_answer_ends_at_its_deadline),
        cmocka_unit_test(a_dropped_request_is_not_answered),
        cmocka_unit_test(a_peer_that_is_down_only_costs_the_timeout),
        cmocka_unit_test(a_question_ends_at_once_when_its_peer_dies),
        cmocka_unit_test(a_peer_that_returns_on_its_port_is_found_again),
        cmocka_unit_test(closing_the_asking_side_cancels_open_questions),
        cmocka_unit_test(a_client_without_peer_closes_with_open_questions),
        cmocka_unit_test(who_asks_and_does_not_read_takes_nothing_from_others),
        cmocka_unit_test(of_one_connection_a_few_requests_are_taken_at_a_time),
        cmocka_unit_test(a_server_that_is_asked_without_pause_closes),
        cmocka_unit_test(a_port_in_use_is_reported),
        cmocka_unit_test(a_host_name_that_is_too_long_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0) /* a test that failed has left its sockets open */
        at_peer_sockets_end();
    return failed;
}
