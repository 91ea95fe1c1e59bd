/* http_impl.h: what the files of the HTTP port share. Internal to routing/proxy. */
#ifndef ATOLL_ROUTING_PROXY_HTTP_IMPL_H
#define ATOLL_ROUTING_PROXY_HTTP_IMPL_H

#include <microhttpd.h>

#include "routing/proxy/http.h"
#include "routing/rest/call.h"

struct at_http {
    struct MHD_Daemon *daemon;
    struct at_fleet *fleet;
    struct at_rest *rest;
};

/* at_http_answer queues an answer with a copy of `body`. */
enum MHD_Result at_http_answer(struct MHD_Connection *connection,
                               unsigned status,
                               const char *type,
                               struct at_slice body);

/* One call of libmicrohttpd's about a request of the administration API. */
struct at_http_event {
    struct MHD_Connection *connection;
    const char *url;
    const char *verb;
    const char *upload;
    size_t *upload_size;
    void **state;
};

enum MHD_Result at_http_rest_request(struct at_http *http, const struct at_http_event *event);

/* at_http_rest_completed frees what at_http_rest_request put into `state`; NULL inside is legal. */
void at_http_rest_completed(void **state);

#endif
