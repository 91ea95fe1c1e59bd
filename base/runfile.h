/* runfile.h: how a serving process tells where it listens: a small JSON file. ADAPTER (files).
 *
 * Written once, atomically, when the process serves; readers see nothing or all of it. */
#ifndef ATOLL_BASE_RUNFILE_H
#define ATOLL_BASE_RUNFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct at_runfile_port {
    const char *name; /* "grpc", "peer", "http" */
    uint16_t port;
};

/* at_runfile_write writes {"pid": N, "NAME": PORT, ...} to `path` (NULL: nothing is written). */
AT_MUST_USE enum at_code at_runfile_write(const char *path,
                                          const struct at_runfile_port *ports,
                                          uint32_t port_count,
                                          struct at_error *reterr);

#endif
