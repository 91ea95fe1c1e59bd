/* http_get.h: one HTTP/1.1 request over loopback, blocking. */
#ifndef ATOLL_TESTS_UNIT_ROUTING_PROXY_HTTP_GET_H
#define ATOLL_TESTS_UNIT_ROUTING_PROXY_HTTP_GET_H

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

/* http_request returns the status (0: no connection) and the whole answer as text. */
static inline int
http_request(uint16_t port, const char *method, const char *path, char *ret_text, size_t size)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    ret_text[0] = '\0';
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(fd);
        return 0;
    }
    char line[256];
    int n =
        snprintf(line, sizeof(line),
                 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", method, path);
    assert_int_equal(write(fd, line, (size_t)n), n);
    size_t len = 0;
    ssize_t got;
    while (len + 1 < size && (got = read(fd, ret_text + len, size - 1 - len)) > 0)
        len += (size_t)got;
    ret_text[len] = '\0';
    (void)close(fd);
    return len > 12 ? (int)strtol(ret_text + 9, NULL, 10) : 0;
}

#endif
