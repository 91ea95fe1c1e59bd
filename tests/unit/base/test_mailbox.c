#include "base/mailbox.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "support/test.h"

enum { SENDERS = 4, PER_SENDER = 20000 };

struct letter {
    struct at_mail mail; /* first: a mail is its letter */
    int sender;
    int number;
};

static void messages_arrive_all_at_once_in_order(void **state)
{
    struct at_mailbox m;
    struct letter letters[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    bool was_empty = false;
    int count = 0;

    (void)state;
    at_mailbox_init(&m, 10);
    assert_null(at_mailbox_take(&m));
    for (int i = 0; i < 3; i++) {
        assert_true(at_mailbox_push(&m, &letters[i].mail, &was_empty));
        assert_int_equal(was_empty, i == 0);
    }
    for (struct at_mail *at = at_mailbox_take(&m); at != NULL; at = at->next)
        assert_int_equal(((struct letter *)at)->number, count++);
    assert_int_equal(count, 3);
    assert_null(at_mailbox_take(&m));
    assert_true(at_mailbox_push(&m, &letters[0].mail, &was_empty));
    assert_true(was_empty);
    assert_ptr_equal(at_mailbox_wait(&m, 0), &letters[0].mail);
    at_mailbox_deinit(&m);
}

static void a_full_mailbox_refuses(void **state)
{
    struct at_mailbox m;
    struct at_mail mails[3];

    (void)state;
    at_mailbox_init(&m, 2);
    assert_true(at_mailbox_push(&m, &mails[0], NULL));
    assert_true(at_mailbox_push(&m, &mails[1], NULL));
    assert_false(at_mailbox_push(&m, &mails[2], NULL));
    struct at_mail *list = at_mailbox_take(&m);
    assert_ptr_equal(list, &mails[0]);
    assert_ptr_equal(list->next, &mails[1]);
    assert_null(list->next->next);
    assert_true(at_mailbox_push(&m, &mails[2], NULL));
    at_mailbox_deinit(&m);
}

static void a_list_is_taken_whole_or_not_at_all(void **state)
{
    struct at_mailbox m;
    struct at_mail mails[4];

    (void)state;
    at_mailbox_init(&m, 3);
    for (int i = 0; i < 3; i++)
        mails[i].next = &mails[i + 1];
    assert_false(at_mailbox_push_list(&m, &mails[0], 4));
    assert_null(at_mailbox_take(&m));
    assert_true(at_mailbox_push(&m, &mails[3], NULL));
    mails[0].next = &mails[1];
    assert_true(at_mailbox_push_list(&m, &mails[0], 2));
    assert_false(at_mailbox_push(&m, &mails[2], NULL));
    struct at_mail *list = at_mailbox_take(&m);
    assert_ptr_equal(list, &mails[3]);
    assert_ptr_equal(list->next, &mails[0]);
    assert_ptr_equal(list->next->next, &mails[1]);
    assert_null(list->next->next->next);
    at_mailbox_deinit(&m);
}

static void a_closed_mailbox_refuses_but_gives_out_what_it_has(void **state)
{
    struct at_mailbox m;
    struct at_mail mails[2];

    (void)state;
    at_mailbox_init(&m, 2);
    assert_true(at_mailbox_push(&m, &mails[0], NULL));
    at_mailbox_close(&m);
    assert_false(at_mailbox_push(&m, &mails[1], NULL));
    assert_ptr_equal(at_mailbox_wait(&m, 60000), &mails[0]);
    assert_null(at_mailbox_wait(&m, 60000));
    at_mailbox_deinit(&m);
}

static void a_wait_ends_at_its_timeout(void **state)
{
    struct at_clock clock = at_clock_system();
    struct at_mailbox m;

    (void)state;
    at_mailbox_init(&m, 2);
    uint64_t start_ns = at_clock_mono_ns(&clock);
    assert_null(at_mailbox_wait(&m, 30));
    assert_true(at_clock_mono_ns(&clock) - start_ns >= 30 * AT_MS_NS);
    at_mailbox_deinit(&m);
}

static void *close_soon(void *arg)
{
    struct timespec pause = {.tv_nsec = 20000000};

    nanosleep(&pause, NULL);
    at_mailbox_close(arg);
    return NULL;
}

static void closing_wakes_a_sleeping_reader(void **state)
{
    struct at_mailbox m;
    pthread_t closer;

    (void)state;
    at_mailbox_init(&m, 2);
    assert_int_equal(pthread_create(&closer, NULL, close_soon, &m), 0);
    assert_null(at_mailbox_wait(&m, 3600000));
    pthread_join(closer, NULL);
    at_mailbox_deinit(&m);
}

struct sending {
    struct at_mailbox *mailbox;
    struct letter *letters;
};

static void *send_all(void *arg)
{
    struct sending *s = arg;

    for (int i = 0; i < PER_SENDER; i++) {
        while (!at_mailbox_push(s->mailbox, &s->letters[i].mail, NULL))
            sched_yield();
    }
    return NULL;
}

static void every_sender_s_messages_arrive_in_its_order(void **state)
{
    struct at_mailbox m;
    struct sending sendings[SENDERS];
    pthread_t threads[SENDERS];
    int next[SENDERS] = {0};

    (void)state;
    at_mailbox_init(&m, 1000);
    for (int s = 0; s < SENDERS; s++) {
        sendings[s] = (struct sending){&m, at_alloc(sizeof(struct letter) * PER_SENDER)};
        for (int i = 0; i < PER_SENDER; i++)
            sendings[s].letters[i] = (struct letter){.sender = s, .number = i};
        assert_int_equal(pthread_create(&threads[s], NULL, send_all, &sendings[s]), 0);
    }
    for (int count = 0; count < SENDERS * PER_SENDER;) {
        struct at_mail *at = at_mailbox_wait(&m, 60000);
        assert_non_null(at);
        while (at != NULL) {
            struct letter *l = (struct letter *)at;
            at = at->next;
            assert_int_equal(l->number, next[l->sender]++);
            count++;
        }
    }
    for (int s = 0; s < SENDERS; s++) {
        pthread_join(threads[s], NULL);
        at_free(sendings[s].letters);
    }
    at_mailbox_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_all_at_once_in_order),
        cmocka_unit_test(a_full_mailbox_refuses),
        cmocka_unit_test(a_list_is_taken_whole_or_not_at_all),
        cmocka_unit_test(a_closed_mailbox_refuses_but_gives_out_what_it_has),
        cmocka_unit_test(a_wait_ends_at_its_timeout),
        cmocka_unit_test(closing_wakes_a_sleeping_reader),
        cmocka_unit_test(every_sender_s_messages_arrive_in_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
