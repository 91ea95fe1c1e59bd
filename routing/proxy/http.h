/* http.h: the router's HTTP port: /healthz, /status, and REST/JSON of the administration API.
 * ADAPTER (libmicrohttpd, a thread of its own). */
#ifndef ATOLL_ROUTING_PROXY_HTTP_H
#define ATOLL_ROUTING_PROXY_HTTP_H

#include "routing/proxy/fleet.h"

struct at_http;

/* at_http_start listens on 127.0.0.1:port (0: a free one); administration requests are sent on to
 * fleet->grpc_port. UNAVAILABLE when the port is in use. */
AT_MUST_USE enum at_code at_http_start(struct at_fleet *fleet,
                                       uint16_t port,
                                       struct at_http **ret_http,
                                       struct at_error *reterr);
uint16_t at_http_port(const struct at_http *http);
void at_http_stop(struct at_http **http);

#endif
