/* Who is asked and says nothing. */
#include "cli/ask.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "support/test.h"

/* A process that is stopped: the kernel takes the connection, and nobody reads. */
static void one_that_hangs_is_not_waited_for(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct at_arena arena;
    struct at_error error;

    (void)state;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    at_arena_init(&arena, AT_KIB);
    /* DEADLINE_EXCEEDED, or UNAVAILABLE where this machine is slower than that */
    assert_int_not_equal(at_ask_alive("127.0.0.1", ntohs(address.sin_port), 50, &arena, &error),
                         AT_OK);
    at_arena_deinit(&arena);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_that_hangs_is_not_waited_for)};

    return cmocka_run_group_tests_name("ask", tests, NULL, NULL);
}
