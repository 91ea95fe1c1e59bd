/* pool.h: the messages that an Any of the administration API may hold. PURE. */
#ifndef ATOLL_ROUTING_REST_POOL_H
#define ATOLL_ROUTING_REST_POOL_H

#include "wire/json/field.h"

const struct at_json_pool *at_rest_pool(void);

#endif
