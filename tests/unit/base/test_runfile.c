/* A run file is there as a whole or not at all. */
#include "base/runfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/test.h"
#include "support/test_path.h"

static void says_pid_and_ports(void **state)
{
    (void)state;
    char path[TEST_PATH_BYTES];
    (void)test_path(path, sizeof(path), "atoll-test");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    struct at_runfile_port ports[] = {{"grpc", 4001}, {"peer", 4002}};
    assert_int_equal(at_runfile_write(path, ports, 2, NULL), AT_OK);
    char want[128], got[128] = "";
    (void)snprintf(want, sizeof(want), "{\"pid\": %d, \"grpc\": 4001, \"peer\": 4002}\n", getpid());
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(got, sizeof(got), file));
    (void)fclose(file);
    assert_string_equal(got, want);
    (void)unlink(path);
}

static void no_path_writes_nothing_and_a_bad_one_is_refused(void **state)
{
    (void)state;
    struct at_error error;
    assert_int_equal(at_runfile_write(NULL, NULL, 0, NULL), AT_OK);
    assert_int_equal(at_runfile_write("/nonexistent/x", NULL, 0, &error), AT_UNAVAILABLE);
    assert_non_null(strstr(error.msg, "/nonexistent/x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_pid_and_ports),
        cmocka_unit_test(no_path_writes_nothing_and_a_bad_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
