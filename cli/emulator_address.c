#include "cli/emulator_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define EVERY_HOST "0.0.0.0"
#define TEXT_BYTES (AT_EMULATOR_HOST_BYTES + 16)

static enum at_code take_port(const char *text, uint16_t *ret_port, struct at_error *reterr)
{
    char *end = NULL;

    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (errno != 0 || text[0] == '\0' || *end != '\0' || value < 0 || value > UINT16_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "address %s: invalid port", text);
    *ret_port = (uint16_t)value;
    return AT_OK;
}

/* Numbers, and the name that is meant nearly always, need no resolver: that would cost a tenth of
 * the time to start. */
static bool is_plain(const char *host)
{
    uint8_t bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* A name's IPv4 address is preferred: clients are told "localhost" and dial 127.0.0.1. */
static enum at_code look_up(const char *host, char *out, struct at_error *reterr)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const struct addrinfo *best = NULL;

    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (is_plain(host)) {
        (void)snprintf(out, AT_EMULATOR_HOST_BYTES, "%s", host);
        return AT_OK;
    }
    int rc = getaddrinfo(host, NULL, &hints, &found);
    for (const struct addrinfo *a = found; rc == 0 && a; a = a->ai_next)
        if (!best || (best->ai_family != AF_INET && a->ai_family == AF_INET))
            best = a;
    if (best)
        rc = getnameinfo(best->ai_addr, best->ai_addrlen, out, AT_EMULATOR_HOST_BYTES, NULL, 0,
                         NI_NUMERICHOST);
    if (found)
        freeaddrinfo(found);
    if (rc != 0 || !best)
        return at_fail(reterr, AT_UNAVAILABLE, "lookup %s: %s", host, gai_strerror(rc));
    return AT_OK;
}

/* "HOST:PORT" into its parts. */
static enum at_code split(const char *address,
                          char host[AT_EMULATOR_HOST_BYTES],
                          const char **ret_port,
                          struct at_error *reterr)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;
    bool brackets = len >= 2 && address[0] == '[' && address[len - 1] == ']';

    if (strchr(address, '/'))
        return at_fail(reterr, AT_UNIMPLEMENTED,
                       "%s: sockets that are files are not supported, only HOST:PORT", address);
    if (!colon)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "address %s: missing port in address", address);
    if (!brackets && memchr(address, ':', len))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "address %s: too many colons in address",
                       address);
    if (brackets)
        len -= 2;
    if (len >= AT_EMULATOR_HOST_BYTES)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "address %s: the host is too long", address);
    memcpy(host, address + (brackets ? 1 : 0), len);
    host[len] = '\0';
    *ret_port = colon + 1;
    return AT_OK;
}

enum at_code at_emulator_address_of(const char *address,
                                    const char *host,
                                    const char *port,
                                    struct at_emulator_address *ret_address,
                                    struct at_error *reterr)
{
    char name[AT_EMULATOR_HOST_BYTES] = "";

    if (address && address[0] != '\0') {
        AT_TRY(split(address, name, &port, reterr));
        host = name;
    }
    AT_TRY(take_port(port, &ret_address->port, reterr));
    return look_up(host[0] != '\0' ? host : EVERY_HOST, ret_address->host, reterr);
}

void at_emulator_address_text(const struct at_emulator_address *address, char *out)
{
    bool colons = strchr(address->host, ':') != NULL;

    (void)snprintf(out, TEXT_BYTES, "%s%s%s:%u", colons ? "[" : "", address->host,
                   colons ? "]" : "", (unsigned)address->port);
}
