/* raw_peer.h: one that speaks to members by messages of the test: as an asker, or standing in for a
 * member. For tests of peering. */
#ifndef ATOLL_TESTS_RAW_PEER_H
#define ATOLL_TESTS_RAW_PEER_H

#include "unit/replication_peer/fake_trio.h"

/* --- asking --- */

struct raw_asker {
    struct at_peer_client *client;
    struct at_mailbox answers;
    struct at_mail *come; /* of them, not looked at yet */
    struct at_buf body;
    struct at_arena arena;
    struct at_peer_question questions[8];
    uint32_t question_count;
};

__attribute__((unused)) static void raw_on_answer(void *ctx, struct at_peer_question *question)
{
    at_mailbox_push(ctx, &question->mail, NULL);
}

__attribute__((unused)) static void raw_open(struct raw_asker *a, uint16_t port)
{
    *a = (struct raw_asker){0};
    at_mailbox_init(&a->answers, 16);
    at_buf_init(&a->body, AT_PEER_QUESTION_BYTES_MAX);
    at_arena_init(&a->arena, AT_KIB);
    struct at_peer_client_config config = {.host = "127.0.0.1",
                                           .port = port,
                                           .in_flight_max = 8,
                                           .on_reply = raw_on_answer,
                                           .ctx = &a->answers};
    assert_int_equal(at_peer_client_open(&config, &a->client, NULL), AT_OK);
}

__attribute__((unused)) static void raw_close(struct raw_asker *a)
{
    at_peer_client_close(&a->client);
    for (; a->come != NULL; a->come = a->come->next)
        at_peer_question_done((struct at_peer_question *)a->come);
    for (struct at_mail *m = at_mailbox_take(&a->answers); m != NULL; m = m->next)
        at_peer_question_done((struct at_peer_question *)m);
    at_buf_deinit(&a->body);
    at_arena_deinit(&a->arena);
    at_mailbox_deinit(&a->answers);
}

/* Sends what is in a->body. */
__attribute__((unused)) static void raw_send(struct raw_asker *a, uint32_t timeout_ms)
{
    struct at_peer_question *q = &a->questions[a->question_count++ % 8];

    *q = (struct at_peer_question){0};
    assert_int_equal(at_peer_client_ask(a->client, q, at_buf_slice(&a->body), timeout_ms), AT_OK);
}

/* The kind of the next answer; 0: none came within wait_ms, or the question failed. */
__attribute__((unused)) static int
raw_take(struct raw_asker *a, struct at_message *ret_message, uint32_t wait_ms)
{
    struct at_message ignored = {0};
    struct at_message *m = ret_message != NULL ? ret_message : &ignored;
    if (a->come == NULL)
        a->come = at_mailbox_wait(&a->answers, wait_ms);
    struct at_peer_question *q = (struct at_peer_question *)a->come;
    if (q != NULL)
        a->come = a->come->next;
    *m = (struct at_message){0};
    if (q == NULL)
        return 0;
    if (q->code == AT_OK)
        assert_int_equal(at_message_decode(at_arena_copy(&a->arena, q->reply), &a->arena, m),
                         AT_OK);
    at_peer_question_done(q);
    int kind = (int)m->kind;
    if (ret_message == NULL)
        at_message_deinit(m);
    return kind;
}

__attribute__((unused)) static int raw_ask(struct raw_asker *a, struct at_message *ret_message)
{
    raw_send(a, PATIENCE_MS);
    return raw_take(a, ret_message, PATIENCE_MS);
}

/* --- standing in --- */

struct raw_server {
    struct at_peer_server *server;
    struct at_mailbox inbox;
    pthread_t thread;
    atomic_bool stop;
    struct at_buf out;
    /* Fills `out`; false: the question is dropped. */
    bool (*answer)(struct raw_server *s, const struct at_message *m);
    void *ctx;
};

__attribute__((unused)) static void raw_on_request(void *ctx, struct at_peer_request *request)
{
    at_mailbox_push(&((struct raw_server *)ctx)->inbox, &request->mail, NULL);
}

__attribute__((unused)) static void *raw_main(void *arg)
{
    struct raw_server *s = arg;
    struct at_arena arena;
    struct at_mail *next = NULL;

    at_arena_init(&arena, AT_KIB);
    while (!atomic_load(&s->stop)) {
        for (struct at_mail *m = at_mailbox_wait(&s->inbox, 5); m != NULL; m = next) {
            struct at_peer_request *request = (struct at_peer_request *)m;
            struct at_message message = {0};
            next = m->next;
            assert_int_equal(at_message_decode(request->body, &arena, &message), AT_OK);
            at_buf_clear(&s->out);
            if (s->answer(s, &message))
                at_peer_request_reply(request, at_buf_slice(&s->out));
            else
                at_peer_request_drop(request);
            at_message_deinit(&message);
            at_arena_reset(&arena);
        }
    }
    at_arena_deinit(&arena);
    return NULL;
}

__attribute__((unused)) static void raw_serve(struct raw_server *s, uint16_t port)
{
    struct at_peer_server_config config = {.host = "127.0.0.1",
                                           .port = port,
                                           .in_flight_max = 32,
                                           .on_request = raw_on_request,
                                           .ctx = s};

    at_mailbox_init(&s->inbox, 64);
    at_buf_init(&s->out, AT_PEER_MESSAGE_BYTES_MAX);
    assert_int_equal(at_peer_server_open(&config, &s->server, NULL), AT_OK);
    assert_int_equal(pthread_create(&s->thread, NULL, raw_main, s), 0);
}

__attribute__((unused)) static void raw_end(struct raw_server *s)
{
    struct at_mail *next = NULL;

    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    for (struct at_mail *m = at_mailbox_take(&s->inbox); m != NULL; m = next) {
        next = m->next;
        at_peer_request_drop((struct at_peer_request *)m);
    }
    at_peer_server_close(&s->server);
    at_mailbox_deinit(&s->inbox);
    at_buf_deinit(&s->out);
}

#endif
