/* http_rest.c: an administration request on its HTTP connection.
 *
 *   READING --whole body--> WAITING (connection suspended) --on_done, resume--> DONE -> answer
 *
 * The connection is suspended while its call is under way, so the one HTTP thread never waits, and
 * libmicrohttpd lets go of nothing that the REST side still has. */
#include "base/alloc.h"
#include "base/limits.h"
#include "routing/proxy/http_impl.h"

#define BODY_BYTES_MAX (4 * AT_MIB)

struct rest_request {
    struct at_rest_call call;
    struct MHD_Connection *connection;
    bool done; /* the answer of the REST side is there */
    struct at_buf body;
    bool too_large;
};

struct params {
    struct at_rest_param items[AT_REST_PARAMS_MAX];
    size_t count;
    bool too_many;
};

static bool begin(struct rest_request *r, const struct at_http_event *event);

static void on_done(struct at_rest_call *call)
{
    struct rest_request *r =
        (struct rest_request *)(void *)((char *)call - offsetof(struct rest_request, call));
    struct MHD_Connection *connection = r->connection;
    r->done = true;
    MHD_resume_connection(connection);
}

static enum MHD_Result answer(struct rest_request *r)
{
    return at_http_answer(r->connection, r->call.http_status, "application/json; charset=UTF-8",
                          at_buf_slice(&r->call.answer));
}

enum MHD_Result at_http_rest_request(struct at_http *http, const struct at_http_event *event)
{
    struct rest_request *r = *event->state;
    if (!r) {
        r = AT_NEW(struct rest_request);
        r->connection = event->connection;
        at_rest_call_init(&r->call, http->rest, on_done);
        at_buf_init(&r->body, BODY_BYTES_MAX);
        *event->state = r;
        return MHD_YES;
    }
    if (*event->upload_size > 0) {
        struct at_slice bytes = at_slice_make(event->upload, *event->upload_size);
        if (!r->too_large && at_buf_append(&r->body, bytes) != AT_OK)
            r->too_large = true;
        *event->upload_size = 0;
        return MHD_YES;
    }
    if (r->done)
        return answer(r);
    return begin(r, event) ? MHD_YES : answer(r);
}

void at_http_rest_completed(void **state)
{
    struct rest_request *r = *state;
    if (!r)
        return;
    at_rest_call_deinit(&r->call);
    at_buf_deinit(&r->body);
    at_free(r);
    *state = NULL;
}

static enum MHD_Result take_param(void *ctx,
                                  enum MHD_ValueKind kind,
                                  const char *name,
                                  size_t name_len,
                                  const char *value,
                                  size_t value_len)
{
    struct params *params = ctx;
    (void)kind;
    params->too_many = params->count == AT_REST_PARAMS_MAX;
    if (params->too_many)
        return MHD_NO;
    params->items[params->count++] = (struct at_rest_param){
        at_slice_make(name, name_len), at_slice_make(value, value ? value_len : 0)};
    return MHD_YES;
}

/* False when the answer is there already. When it returns true, `r` is the REST side's. */
static bool begin(struct rest_request *r, const struct at_http_event *event)
{
    struct params params = {0};
    struct at_error error;
    (void)MHD_get_connection_values_n(event->connection, MHD_GET_ARGUMENT_KIND, take_param,
                                      &params);
    const struct at_rest_input input = {.verb = event->verb,
                                        .path = at_slice_cstr(event->url),
                                        .body = at_buf_slice(&r->body),
                                        .params = params.items,
                                        .param_count = params.count};
    if (r->too_large || params.too_many) {
        (void)at_fail(&error, AT_INVALID_ARGUMENT, "The %s too large",
                      r->too_large ? "request body is" : "query is");
        at_rest_call_refuse(&r->call, &error);
        return false;
    }
    if (!at_rest_call_prepare(&r->call, &input))
        return false;
    MHD_suspend_connection(r->connection);
    at_rest_call_start(&r->call);
    return true;
}
