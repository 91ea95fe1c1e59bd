/* Asking a launcher that is a shell script. */
#include "routing/proxy/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"
#include "support/test_path.h"

static char script[64];
static struct at_launcher launcher;
static struct at_loop *loop;
static uint32_t done_count;
static enum at_code got_code;
static char got_message[256];
static int got_number;

static int set_up(void **state)
{
    (void)state;
    (void)test_path(script, sizeof(script), "atoll-test");
    int fd = mkstemp(script);
    assert_true(fd >= 0);
    (void)close(fd);
    at_launcher_init(&launcher, script, "/state");
    loop = at_loop_new(at_clock_system());
    done_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    at_loop_free(&loop);
    at_launcher_deinit(&launcher);
    (void)unlink(script);
    return 0;
}

static void write_script(const char *text)
{
    FILE *file = fopen(script, "we");
    assert_non_null(file);
    (void)fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(script, 0700), 0);
}

static void
on_done(void *ctx, enum at_code code, const struct at_error *error, const json_t *answer)
{
    (void)ctx;
    done_count++;
    got_code = code;
    (void)snprintf(got_message, sizeof(got_message), "%s", code == AT_OK ? "" : error->msg);
    got_number = (int)json_integer_value(json_object_get(answer, "number"));
    at_loop_stop(loop);
}

static void ask(void)
{
    at_launch(&launcher, loop, "a-verb", json_pack("{s:i}", "number", 7), on_done, NULL);
}

static void the_answer_comes_back(void **state)
{
    (void)state;
    write_script("[ \"$1 $2 $3 $4\" = 'launch a-verb --state-dir /state' ] || exit 9\n"
                 "read -r line; echo \"${line%?},\\\"ok\\\":true}\"");
    ask();
    at_loop_run(loop);
    assert_int_equal(done_count, 1);
    assert_int_equal(got_code, AT_OK);
    assert_int_equal(got_number, 7);
    assert_null(launcher.runs);
}

static void a_refusal_is_told(void **state)
{
    (void)state;
    write_script("cat >/dev/null; echo '{\"code\":5,\"message\":\"none such\"}'; exit 1");
    ask();
    at_loop_run(loop);
    assert_int_equal(got_code, AT_NOT_FOUND);
    assert_string_equal(got_message, "none such");
}

static void one_that_says_nothing_is_unavailable(void **state)
{
    (void)state;
    write_script("exit 0");
    ask();
    at_loop_run(loop);
    assert_int_equal(got_code, AT_UNAVAILABLE);
}

static void one_that_is_killed_is_asked_again(void **state)
{
    char text[512];
    (void)state;
    (void)snprintf(text, sizeof(text),
                   "read -r line; [ -e %s.again ] || { : >%s.again; kill -9 $$; }\n"
                   "rm %s.again; echo \"${line%%?},\\\"ok\\\":true}\"",
                   script, script, script);
    write_script(text);
    ask();
    at_loop_run(loop);
    assert_int_equal(done_count, 1);
    assert_int_equal(got_code, AT_OK);
    assert_int_equal(got_number, 7);
    assert_null(launcher.runs);
}

static void one_that_is_not_there_is_unavailable(void **state)
{
    (void)state;
    launcher.program = "/nowhere/at/all";
    ask();
    at_loop_run(loop);
    assert_int_equal(done_count, 1);
    assert_int_equal(got_code, AT_UNAVAILABLE);
}

static void a_router_that_stops_waits_no_longer(void **state)
{
    (void)state;
    write_script("sleep 3");
    ask();
    at_loop_settle(loop);
    at_launcher_close(&launcher);
    at_loop_settle(loop);
    assert_int_equal(done_count, 1);
    assert_int_equal(got_code, AT_UNAVAILABLE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_answer_comes_back),
        CASE(a_refusal_is_told),
        CASE(one_that_says_nothing_is_unavailable),
        CASE(one_that_is_killed_is_asked_again),
        CASE(one_that_is_not_there_is_unavailable),
        CASE(a_router_that_stops_waits_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
