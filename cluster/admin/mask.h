/* mask.h: paths of update masks, in either spelling. PURE. */
#ifndef ATOLL_CLUSTER_ADMIN_MASK_H
#define ATOLL_CLUSTER_ADMIN_MASK_H

#include <stdbool.h>

/* at_mask_is: does `path` ("clusterConfig.clusterAutoscalingConfig", "serve_nodes") name the field
 * `snake` ("serve_nodes") or something in it? */
bool at_mask_is(const char *path, const char *snake);

/* at_mask_same: does it name exactly that field? */
bool at_mask_same(const char *path, const char *snake);

#endif
