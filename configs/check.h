/* check.h: what must hold in an instance file beyond its shape. Only configs/ includes it. */
#ifndef ATOLL_CONFIGS_CHECK_H
#define ATOLL_CONFIGS_CHECK_H

#include "base/slice.h"
#include "base/status.h"
#include "configs/schema.h"

/* at_instance_check: INVALID_ARGUMENT with place, problem and what is expected. */
AT_MUST_USE enum at_code at_instance_check(const struct raw_instance *raw,
                                           const char *path,
                                           struct at_slice text,
                                           struct at_error *reterr);

#endif
