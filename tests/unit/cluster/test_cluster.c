/* A cluster process as a whole: it refuses what it cannot be, serves, and stops on SIGTERM. */
#include "cluster/cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/nng_leaks.h"
#include "support/test.h"
#include "support/test_path.h"

struct fixture {
    char dir[64];
    char data[80];
    char run[80];
    struct at_cluster_config clusters[1];
    struct at_instance_config instance;
};

static int set_up(void **state)
{
    struct fixture *f = AT_NEW(struct fixture);
    (void)test_path(f->dir, sizeof(f->dir), "atoll-cluster");
    if (!mkdtemp(f->dir))
        return -1;
    (void)snprintf(f->data, sizeof(f->data), "%s/data", f->dir);
    (void)snprintf(f->run, sizeof(f->run), "%s/run.json", f->dir);
    f->clusters[0] =
        (struct at_cluster_config){.id = "c1", .zone = "z1", .member = 1, .host = "127.0.0.1"};
    f->instance = (struct at_instance_config){.project = "p",
                                              .instance = "i",
                                              .display_name = "i",
                                              .instance_id = 7,
                                              .clusters = f->clusters,
                                              .cluster_count = 1,
                                              .router_zone = "z1",
                                              .block_cache_mib = 8,
                                              .memtable_mib = 1,
                                              .log_cap_mib = 16,
                                              .max_skew_ms = 10000,
                                              .heartbeat_ms = 100};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
    int status = system(command); /* NOLINT(cert-env33-c): a path of our own */
    at_free(f);
    return status;
}

static struct at_cluster_options options_of(const struct fixture *f)
{
    return (struct at_cluster_options){.instance = &f->instance,
                                       .cluster_id = "c1",
                                       .data_dir = f->data,
                                       .loop_count = 1,
                                       .run_file = f->run};
}

/* Runs the process in a child, sends SIGTERM once its run file is there, returns its exit code. */
static int run_and_stop(const struct fixture *f)
{
    struct at_cluster_options options = options_of(f);
    (void)unlink(f->run);
    pid_t pid = fork();
    if (pid == 0)
        _exit(at_cluster_main(&options));
    for (int i = 0; i < 3000 && access(f->run, R_OK) != 0; i++)
        (void)usleep(10 * 1000);
    bool served = access(f->run, R_OK) == 0;
    int status = 0;
    (void)kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(served);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void it_serves_and_stops_cleanly_twice(void **state)
{
    assert_int_equal(run_and_stop(*state), 0);
    assert_int_equal(run_and_stop(*state), 0);
}

static void it_refuses_an_id_that_the_instance_lacks(void **state)
{
    struct at_cluster_options options = options_of(*state);
    options.cluster_id = "c9";
    assert_int_equal(at_cluster_main(&options), 1);
}

static void it_refuses_a_file_that_is_not_resolved(void **state)
{
    struct fixture *f = *state;
    struct at_cluster_options options = options_of(f);
    f->instance.instance_id = 0;
    assert_int_equal(at_cluster_main(&options), 1);
}

static void it_refuses_the_data_of_another_instance(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(run_and_stop(f), 0);
    struct at_cluster_options options = options_of(f);
    f->instance.instance_id = 8;
    assert_int_equal(at_cluster_main(&options), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_refuses_an_id_that_the_instance_lacks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_refuses_a_file_that_is_not_resolved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_serves_and_stops_cleanly_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_refuses_the_data_of_another_instance, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
