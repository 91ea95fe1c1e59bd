#include "base/assert.h"

#include "support/test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_true_condition_goes_on(void **state)
{
    int evaluated = 0;

    (void)state;
    AT_ASSERT(++evaluated == 1);
    assert_int_equal(evaluated, 1);
}

static void a_false_condition_aborts_and_says_where(void **state)
{
    char text[8192] = "";
    size_t len = 0;
    ssize_t n;
    int ends[2];
    int status;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        AT_ASSERT(1 + 1 == 3);
        _exit(0);
    }
    close(ends[1]);
    while (len < sizeof(text) - 1 && (n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)n;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "1 + 1 == 3"));
    assert_non_null(strstr(text, "test_assert.c:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_true_condition_goes_on),
        cmocka_unit_test(a_false_condition_aborts_and_says_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
