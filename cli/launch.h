/* launch.h: `atoll launch`: what the router asks to start and end processes. ADAPTER.
 *
 * One JSON object comes in on stdin and one goes out on stdout: {"ok": true, ...} or {"code": 5,
 * "message": "..."}. Every verb works under the lock of the instance's folder, may be repeated, and
 * goes on where an earlier run of it stopped half way. */
#ifndef ATOLL_CLI_LAUNCH_H
#define ATOLL_CLI_LAUNCH_H

#include <jansson.h>

#include "cli/process.h"

struct at_launch {
    struct at_state_dir *root; /* open: the router's own folder */
    const char *project;
    const char *instance;
    const json_t *spec; /* all that came in */
    json_t *answer;     /* goes out after success */
};

/* at_launch_text returns a text of the spec; INVALID_ARGUMENT when it is missing. */
AT_MUST_USE enum at_code at_launch_text(const struct at_launch *l,
                                        const char *key,
                                        const char **ret_text,
                                        struct at_error *reterr);

/* at_launch_open opens and locks the folder of the instance. NOT_FOUND. Close it in any case. */
AT_MUST_USE enum at_code
at_launch_open(const struct at_launch *l, struct at_state_dir *s, struct at_error *reterr);

/* The verbs. */
AT_MUST_USE enum at_code at_launch_create_instance(struct at_launch *l, struct at_error *reterr);
AT_MUST_USE enum at_code at_launch_delete_instance(struct at_launch *l, struct at_error *reterr);
AT_MUST_USE enum at_code at_launch_sweep(struct at_launch *l, struct at_error *reterr);
AT_MUST_USE enum at_code at_launch_prepare_cluster(struct at_launch *l, struct at_error *reterr);
AT_MUST_USE enum at_code at_launch_start_cluster(struct at_launch *l, struct at_error *reterr);
AT_MUST_USE enum at_code at_launch_resume_clusters(struct at_launch *l, struct at_error *reterr);
AT_MUST_USE enum at_code at_launch_drop_cluster(struct at_launch *l, struct at_error *reterr);

/* at_launch_drop removes a cluster from an open, locked folder: process, files, instance.yaml. */
AT_MUST_USE enum at_code
at_launch_drop(struct at_state_dir *s, const char *cluster, struct at_error *reterr);

#endif
