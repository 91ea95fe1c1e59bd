/* emulator_address.h: where `atoll emulator` listens, as its flags tell. ADAPTER (names of hosts
 * are looked up). */
#ifndef ATOLL_CLI_EMULATOR_ADDRESS_H
#define ATOLL_CLI_EMULATOR_ADDRESS_H

#include "base/slice.h"
#include "base/status.h"

#define AT_EMULATOR_HOST_BYTES 64

struct at_emulator_address {
    char host[AT_EMULATOR_HOST_BYTES]; /* numeric */
    uint16_t port;
};

/* at_emulator_address_of: `address` ("HOST:PORT", "[::1]:PORT", ":PORT") wins over `host` and
 * `port` unless it is NULL or empty. An empty host is every address of the machine.
 * INVALID_ARGUMENT for what is no port or has another form, UNIMPLEMENTED for the path of a socket,
 * UNAVAILABLE for a host that is not known. */
AT_MUST_USE enum at_code at_emulator_address_of(const char *address,
                                                const char *host,
                                                const char *port,
                                                struct at_emulator_address *ret_address,
                                                struct at_error *reterr);

/* at_emulator_address_text: "HOST:PORT", a host of colons in brackets. `out` has room for
 * AT_EMULATOR_HOST_BYTES + 16 bytes. */
void at_emulator_address_text(const struct at_emulator_address *address, char *out);

#endif
