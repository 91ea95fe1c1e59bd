#include "base/log.h"

#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Catches stderr in a pipe; nothing here writes more than a pipe holds. */
struct catch
{
    int saved;
    int ends[2];
    char text[60000];
};

static void catch_start(struct catch *c)
{
    assert_int_equal(pipe(c->ends), 0);
    assert_int_equal(fcntl(c->ends[0], F_SETFL, O_NONBLOCK), 0);
    c->saved = dup(STDERR_FILENO);
    assert_true(c->saved >= 0);
    assert_true(dup2(c->ends[1], STDERR_FILENO) >= 0);
}

static const char *catch_stop(struct catch *c)
{
    ssize_t n = read(c->ends[0], c->text, sizeof(c->text) - 1);

    c->text[n > 0 ? n : 0] = '\0';
    dup2(c->saved, STDERR_FILENO);
    close(c->saved);
    close(c->ends[0]);
    close(c->ends[1]);
    return c->text;
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

static time_t this_second(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

/* Waits for the start of a second, so that a test's lines fall into one window; returns it. */
static time_t wait_for_a_new_second(void)
{
    struct timespec pause = {.tv_nsec = 2000000};
    time_t start = this_second();

    while (this_second() == start)
        nanosleep(&pause, NULL);
    return this_second();
}

static struct catch caught;

static void a_line_is_logfmt_with_a_priority(void **state)
{
    (void)state;
    at_log_setup("serve", AT_LOG_INFO);
    catch_start(&caught);
    at_log(AT_LOG_WARN, "peer lagging", AT_KV_STR("peer", "eu-1"),
           AT_KV_SLICE("key", AT_LIT("a b\"\n\0\xff")), AT_KV_U64("lag_ms", UINT64_MAX),
           AT_KV_I64("skew_ms", -5), AT_KV_STR("none", NULL));
    const char *text = catch_stop(&caught);

    const char *want_start = "<4>level=warn time=20";
    const char *want_end = "Z process=serve msg=\"peer lagging\" peer=eu-1 "
                           "key=\"a b\\\"\\n\\x00\\xff\" lag_ms=18446744073709551615 "
                           "skew_ms=-5 none=\"\"\n";
    assert_memory_equal(text, want_start, strlen(want_start));
    assert_true(strlen(text) > strlen(want_end));
    assert_string_equal(text + strlen(text) - strlen(want_end), want_end);
    assert_int_equal(count_of(text, "\n"), 1);
}

static void levels_below_the_lowest_are_not_printed(void **state)
{
    (void)state;
    at_log_setup("p", AT_LOG_WARN);
    catch_start(&caught);
    at_log(AT_LOG_DEBUG, "no");
    at_log(AT_LOG_INFO, "no");
    at_log(AT_LOG_WARN, "yes");
    at_log(AT_LOG_ERROR, "yes");
    const char *text = catch_stop(&caught);
    assert_int_equal(count_of(text, "\n"), 2);
    assert_int_equal(count_of(text, "msg=\"yes\""), 2);
    assert_non_null(strstr(text, "<3>level=error"));
}

static void long_values_and_lines_are_cut(void **state)
{
    char *big = malloc(5001);

    (void)state;
    assert_non_null(big);
    memset(big, 'v', 5000);
    big[5000] = '\0';
    at_log_setup("p", AT_LOG_INFO);
    catch_start(&caught);
    at_log(AT_LOG_INFO, "one", AT_KV_STR("v", big), AT_KV_U64("n", 7));
    at_log(AT_LOG_INFO, "many", AT_KV_STR("a", big), AT_KV_STR("b", big), AT_KV_STR("c", big),
           AT_KV_STR("d", big));
    const char *text = catch_stop(&caught);
    free(big);
    assert_non_null(strstr(text, "vvv... n=7\n"));
    assert_non_null(strstr(text, " c=vvv"));
    assert_string_equal(text + strlen(text) - 6, "d=...\n");
    assert_int_equal(count_of(text, "\n"), 2);
    assert_in_range(strlen(strchr(text, '\n') + 1), 3000, 4096);
}

static void log_once(void)
{
    at_log(AT_LOG_INFO, "again");
}

/* Lines of one window, and one of the next. False: it took longer than a window lasts. */
static bool log_of_two_windows(void)
{
    catch_start(&caught);
    (void)wait_for_a_new_second();
    log_once(); /* tells what was held back before */
    (void)catch_stop(&caught);
    catch_start(&caught);
    time_t second = wait_for_a_new_second();
    for (int i = 0; i < 25; i++)
        log_once();
    bool in_time = this_second() == second;
    at_log(AT_LOG_INFO, "another site");
    (void)wait_for_a_new_second();
    log_once();
    log_once();
    (void)catch_stop(&caught);
    return in_time;
}

static void a_repeating_site_is_held_back_and_says_so(void **state)
{
    (void)state;
    at_log_setup("p", AT_LOG_INFO);
    for (int i = 0; i < 20 && !log_of_two_windows(); i++)
        continue;
    const char *text = caught.text;
    assert_int_equal(count_of(text, "msg=\"again\""), 12);
    assert_int_equal(count_of(text, "msg=\"another site\""), 1);
    assert_int_equal(count_of(text, "msg=\"again\" held=15\n"), 1);
    assert_int_equal(count_of(text, "held="), 1);
}

static void log_from_one_site(void)
{
    at_log(AT_LOG_INFO, "shared", AT_KV_STR("text", "none of these lines is torn apart"));
}

static void *hammer(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2000; i++)
        log_from_one_site();
    return NULL;
}

static void many_threads_share_a_site(void **state)
{
    pthread_t threads[4];

    (void)state;
    at_log_setup("p", AT_LOG_INFO);
    catch_start(&caught);
    time_t begin = this_second();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    size_t windows = (size_t)(this_second() - begin) + 1;
    const char *text = catch_stop(&caught);
    size_t lines = count_of(text, "\n");
    assert_in_range(lines, 10, 40 * windows);
    assert_int_equal(count_of(text, "<6>level=info time="), lines);
    assert_int_equal(count_of(text, "text=\"none of these lines is torn apart\""), lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_logfmt_with_a_priority),
        cmocka_unit_test(levels_below_the_lowest_are_not_printed),
        cmocka_unit_test(long_values_and_lines_are_cut),
        cmocka_unit_test(a_repeating_site_is_held_back_and_says_so),
        cmocka_unit_test(many_threads_share_a_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
