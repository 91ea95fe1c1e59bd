/* port_range.h: from where ports are taken that nobody asked for by number. PURE.
 *
 * Without another wish they are none of those that the kernel gives to outgoing connections
 * (ip_local_port_range): one of these could have the port of a cluster that is down for a moment,
 * which then cannot start. Several users of one machine, or tests that run at a time, keep out of
 * each other's way with a range each. */
#ifndef ATOLL_CLI_PORT_RANGE_H
#define ATOLL_CLI_PORT_RANGE_H

#include <stdint.h>

#include "base/status.h"

#define AT_PORT_RANGE_VARIABLE "ATOLL_PORTS"

/* Invariant: 1 <= first, 1 <= count, first + count <= 65536. */
struct at_port_range {
    uint32_t first;
    uint32_t count;
};

/* at_port_range_of reads "FIRST-LAST"; NULL or empty is 16384-32767. INVALID_ARGUMENT for all else,
 * for port 0, and for a last one before the first. */
AT_MUST_USE enum at_code
at_port_range_of(const char *text, struct at_port_range *ret_range, struct at_error *reterr);

/* at_port_range_at returns a port of the range for a random number. */
uint16_t at_port_range_at(const struct at_port_range *range, uint32_t dice);

#endif
