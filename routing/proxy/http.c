/* http.c: two pages, and the administration API below /v2/ (http_rest.c). GET /healthz answers 200
 * "ok" while the router serves, else 503; GET /status is the boards as JSON. Everything else is
 * 404, methods but GET and HEAD 405. */
#include <arpa/inet.h>
#include <string.h>

#include "base/alloc.h"
#include "routing/proxy/http_impl.h"
#include "routing/proxy/status.h"

#define CONNECTIONS_MAX 64
#define IDLE_S_MAX 30

static enum MHD_Result on_request(void *ctx,
                                  struct MHD_Connection *connection,
                                  const char *url,
                                  const char *method,
                                  const char *version,
                                  const char *upload,
                                  size_t *upload_size,
                                  void **state);

static void on_completed(void *ctx,
                         struct MHD_Connection *connection,
                         void **state,
                         enum MHD_RequestTerminationCode code)
{
    (void)ctx;
    (void)connection;
    (void)code;
    at_http_rest_completed(state);
}

enum at_code at_http_start(struct at_fleet *fleet,
                           uint16_t port,
                           struct at_http **ret_http,
                           struct at_error *reterr)
{
    struct at_http *http = AT_NEW(struct at_http);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    http->fleet = fleet;
    enum at_code code = at_rest_start(fleet->grpc_port, &http->rest, reterr);
    if (code != AT_OK) {
        at_free(http);
        return code;
    }
    http->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL,
        on_request, http, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S_MAX, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
    if (!http->daemon) {
        at_rest_stop(http->rest);
        at_rest_free(&http->rest);
        at_free(http);
        return at_fail(reterr, AT_UNAVAILABLE, "HTTP port %u cannot be listened on", port);
    }
    *ret_http = http;
    return AT_OK;
}

uint16_t at_http_port(const struct at_http *http)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

void at_http_stop(struct at_http **http)
{
    if (!*http)
        return;
    at_rest_stop((*http)->rest); /* first: no connection may be suspended when the daemon stops */
    MHD_stop_daemon((*http)->daemon);
    at_rest_free(&(*http)->rest);
    at_free(*http);
    *http = NULL;
}

enum MHD_Result at_http_answer(struct MHD_Connection *connection,
                               unsigned status,
                               const char *type,
                               struct at_slice body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body.len, (void *)(uintptr_t)body.data, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    (void)MHD_add_response_header(response, "content-type", type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* NOLINTNEXTLINE(readability-function-size): the signature is libmicrohttpd's. */
static enum MHD_Result on_request(void *ctx,
                                  struct MHD_Connection *connection,
                                  const char *url,
                                  const char *method,
                                  const char *version,
                                  const char *upload,
                                  size_t *upload_size,
                                  void **state)
{
    struct at_http *http = ctx;
    (void)version;
    if (at_rest_is_path(at_slice_cstr(url))) {
        const struct at_http_event event = {connection, url, method, upload, upload_size, state};
        return at_http_rest_request(http, &event);
    }
    if (*upload_size > 0) {
        *upload_size = 0; /* bodies are thrown away */
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return at_http_answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain",
                              AT_LIT("GET only\n"));
    if (strcmp(url, "/healthz") == 0) {
        bool serving = atomic_load(&http->fleet->serving);
        return at_http_answer(connection, serving ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                              "text/plain", serving ? AT_LIT("ok\n") : AT_LIT("not serving\n"));
    }
    if (strcmp(url, "/status") != 0)
        return at_http_answer(connection, MHD_HTTP_NOT_FOUND, "text/plain",
                              AT_LIT("here are /healthz, /status and /v2/...\n"));
    AT_CLEANUP(at_buf_deinit) struct at_buf body;
    at_buf_init(&body, AT_MIB);
    if (at_status_json(http->fleet, &body) != AT_OK)
        return at_http_answer(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "text/plain",
                              AT_LIT("error\n"));
    return at_http_answer(connection, MHD_HTTP_OK, "application/json", at_buf_slice(&body));
}
