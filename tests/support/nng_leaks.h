/* nng_leaks.h: include once in a test program that opens peer sockets.
 *
 * nng 1.5 forgets a connection whose handshake ends while its socket is being closed; leak
 * checkers report it now and then. What nng's own code allocated is therefore not counted. */
#ifndef ATOLL_TESTS_SUPPORT_NNG_LEAKS_H
#define ATOLL_TESTS_SUPPORT_NNG_LEAKS_H

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libnng.so\n";
}

#endif
