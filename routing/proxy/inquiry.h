/* inquiry.h: one question of the router's own to one cluster. ADAPTER. Loop thread. */
#ifndef ATOLL_ROUTING_PROXY_INQUIRY_H
#define ATOLL_ROUTING_PROXY_INQUIRY_H

#include "routing/proxy/front.h"
#include "wire/proto_alloc.h"

/* Embedded in the act that asks. */
struct at_inquiry {
    struct at_front *front;
    uint32_t target;
    struct at_buf message; /* the request */
    struct at_buf answer;  /* the response */
    /* Once; the result lives during it. The inquiry may begin anew in it. */
    void (*done)(struct at_inquiry *inquiry, const struct at_grpc_result *result);
};

struct at_inquiry_question {
    const char *path;
    const ProtobufCMessage *request;
    uint64_t timeout_ns;
};

/* at_inquiry_init: zeroed memory is enough for at_inquiry_deinit. */
void at_inquiry_init(struct at_inquiry *inquiry);
void at_inquiry_deinit(struct at_inquiry *inquiry);

/* at_inquire asks the cluster `pick` of `front`, which a request keeps (at_front_begin). A cluster
 * that has left is UNAVAILABLE, told before at_inquire returns. */
void at_inquire(struct at_inquiry *inquiry,
                struct at_front_pick pick,
                const struct at_inquiry_question *question);

#endif
