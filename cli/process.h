/* process.h: starting and stopping the processes of an instance. ADAPTER (posix_spawn, signals). */
#ifndef ATOLL_CLI_PROCESS_H
#define ATOLL_CLI_PROCESS_H

#include "cli/state_dir.h"

/* at_process_spawn starts the process NAME in a process group of its own, with its log as stderr,
 * and removes its old run file first. Does not wait. FAILED_PRECONDITION when a cluster that served
 * before has no data any more. */
AT_MUST_USE enum at_code
at_process_spawn(struct at_state_dir *s, const char *name, pid_t *ret_pid, struct at_error *reterr);

/* at_process_wait_serving waits until the run file says that `pid` serves. UNAVAILABLE, with the
 * end of its log, when it dies first; DEADLINE_EXCEEDED after timeout_ms; CANCELLED when a blocked
 * SIGINT, SIGTERM or SIGHUP has come. */
AT_MUST_USE enum at_code at_process_wait_serving(struct at_state_dir *s,
                                                 const char *name,
                                                 pid_t pid,
                                                 uint32_t timeout_ms,
                                                 struct at_error *reterr);

/* at_process_stop_all sends SIGTERM to all that run, waits up to timeout_ms, then SIGKILLs the
 * rest. Returns how many were running. */
uint32_t at_process_stop_all(struct at_state_dir *s, uint32_t timeout_ms);

/* at_process_stop_one does the same to one process; false: it was not running. */
bool at_process_stop_one(struct at_state_dir *s, const char *name, uint32_t timeout_ms);

/* at_process_forget removes what a cluster leaves: data, log and run file. It must not run. */
AT_MUST_USE enum at_code
at_process_forget(struct at_state_dir *s, const char *name, struct at_error *reterr);

/* at_process_remove_tree removes a folder with all that is in it; gone already is no error. */
AT_MUST_USE enum at_code at_process_remove_tree(const char *path, struct at_error *reterr);

/* at_process_unborn: the cluster is to join, and has not served yet; whether it is a member is for
 * the router's launcher to find out. */
bool at_process_unborn(struct at_state_dir *s, const struct at_cluster_config *cluster);

/* at_process_start_clusters starts all clusters that do not run, but the unborn. Does not wait:
 * `ret_pids`, by the clusters' order, are for at_process_wait_serving (0: it ran already). */
AT_MUST_USE enum at_code at_process_start_clusters(struct at_state_dir *s,
                                                   pid_t ret_pids[AT_MEMBERS_MAX],
                                                   struct at_error *reterr);

/* at_process_kill sends SIGKILL and waits until the process is gone. FAILED_PRECONDITION when it is
 * not running. */
AT_MUST_USE enum at_code
at_process_kill(struct at_state_dir *s, const char *name, struct at_error *reterr);

#endif
