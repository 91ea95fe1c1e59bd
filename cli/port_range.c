#include "cli/port_range.h"

#include "base/assert.h"

#define FIRST 16384
#define COUNT 16384
#define PORT_MAX 65535

/* A decimal number of at most PORT_MAX in front of *at, which moves behind it; 0: there is none. */
static uint32_t take_port(const char **at)
{
    uint32_t port = 0;
    for (; **at >= '0' && **at <= '9' && port <= PORT_MAX; (*at)++)
        port = 10 * port + (uint32_t)(**at - '0');
    return port <= PORT_MAX ? port : 0;
}

enum at_code
at_port_range_of(const char *text, struct at_port_range *ret_range, struct at_error *reterr)
{
    *ret_range = (struct at_port_range){FIRST, COUNT};
    if (!text || text[0] == '\0')
        return AT_OK;
    const char *at = text;
    uint32_t first = take_port(&at);
    at += *at == '-';
    uint32_t last = take_port(&at);
    if (*at != '\0' || first == 0 || last < first)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       AT_PORT_RANGE_VARIABLE " is '%.40s' where FIRST-LAST is expected, "
                                              "as in 20000-20999",
                       text);
    *ret_range = (struct at_port_range){first, last - first + 1};
    return AT_OK;
}

uint16_t at_port_range_at(const struct at_port_range *range, uint32_t dice)
{
    AT_ASSERT(range->count > 0);
    AT_ASSERT(range->first + range->count <= PORT_MAX + 1);
    return (uint16_t)(range->first + dice % range->count);
}
