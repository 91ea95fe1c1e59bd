/* request.h: the message that an HTTP request stands for. PURE but for jansson's heap. */
#ifndef ATOLL_ROUTING_REST_REQUEST_H
#define ATOLL_ROUTING_REST_REQUEST_H

#include "base/arena.h"
#include "base/status.h"
#include "routing/rest/route.h"

#define AT_REST_PARAMS_MAX 64

/* One parameter of the query, percent-decoded. */
struct at_rest_param {
    struct at_slice name; /* either spelling, with dots for fields of fields */
    struct at_slice value;
};

struct at_rest_input {
    const char *verb;
    struct at_slice path; /* percent-decoded */
    struct at_slice body;
    const struct at_rest_param *params;
    size_t param_count; /* at most AT_REST_PARAMS_MAX */
};

/* at_rest_request_build makes the packed request message, in the arena. The path wins over the
 * body. Parameters of Google's front end (alt, prettyPrint, key, ...) are passed over.
 * INVALID_ARGUMENT, which names what is wrong. */
AT_MUST_USE enum at_code at_rest_request_build(const struct at_rest_match *match,
                                               const struct at_rest_input *input,
                                               struct at_arena *arena,
                                               struct at_slice *ret_message,
                                               struct at_error *reterr);

#endif
