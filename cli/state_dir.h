/* state_dir.h: the folder where an instance lives: its resolved file, data, logs, run files.
 * ADAPTER.
 *
 *   STATE/instance.yaml        the resolved instance file, read by all processes
 *   STATE/data/CLUSTER/        one RocksDB each
 *   STATE/data/CLUSTER.born    the cluster has served: its data must be there
 *   STATE/logs/NAME.log        stderr of each process
 *   STATE/run/NAME.json        {"pid", "grpc", ...}, written by a process once it serves
 *   STATE/run/NAME.starting    it was started, and nobody has seen it serve yet
 *   STATE/lock                 held by the command that starts or stops processes
 *   STATE/members              the highest member number that was ever given
 *   STATE/instances/INSTANCE/  the same for each other instance, without a router of its own;
 *                              INSTANCE@PROJECT when its project is not the first one's
 *
 * NAME is a cluster id or "router" (no cluster may be called so). */
#ifndef ATOLL_CLI_STATE_DIR_H
#define ATOLL_CLI_STATE_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/limits.h"
#include "configs/instance.h"

#define AT_STATE_DIR_DEFAULT "./.atoll"
#define AT_ROUTER_NAME "router"

struct at_state_dir {
    struct at_arena arena; /* owns all texts */
    const char *path;      /* absolute */
    struct at_instance_config instance;
    int lock_fd; /* -1: not held */
};

/* at_state_dir_open reads STATE/instance.yaml. NOT_FOUND when there is none: nothing was started
 * here. */
AT_MUST_USE enum at_code
at_state_dir_open(struct at_state_dir *s, const char *path, struct at_error *reterr);

/* at_state_dir_create makes the folder for the instance of `file` (or opens it again: then ids and
 * ports are kept; FAILED_PRECONDITION when its clusters are others), fills in member ids, the
 * instance id and free ports, and saves. grpc_port and http_port override the router's (-1: as the
 * file says). FAILED_PRECONDITION while a process of it runs; UNAVAILABLE when a port that was
 * asked for is in use. Holds the lock afterwards. */
AT_MUST_USE enum at_code at_state_dir_create(struct at_state_dir *s,
                                             const char *path,
                                             const char *file,
                                             int grpc_port,
                                             int http_port,
                                             struct at_error *reterr);
void at_state_dir_close(struct at_state_dir *s);

/* at_state_dir_begin names a folder without reading anything of it; it may not be there yet. */
void at_state_dir_begin(struct at_state_dir *s, const char *path);

/* at_state_dir_of names the folder of an instance below the first one's. Into root's arena. */
const char *at_state_dir_of(struct at_state_dir *root, const char *project, const char *instance);

/* at_state_dir_folders lists the folders of all other instances, in order; into root's arena.
 * Returns how many. */
uint32_t at_state_dir_folders(struct at_state_dir *root, const char ***ret_paths);

/* at_state_dir_make makes the folder itself, those in it, and one for the data of each cluster. */
AT_MUST_USE enum at_code at_state_dir_make(struct at_state_dir *s, struct at_error *reterr);

/* at_state_dir_ports gives every cluster that has no port, or one that somebody else has taken, a
 * free one. `*ret_changed` when any is new. */
AT_MUST_USE enum at_code
at_state_dir_ports(struct at_state_dir *s, bool *ret_changed, struct at_error *reterr);

/* at_state_dir_save writes instance.yaml. */
AT_MUST_USE enum at_code at_state_dir_save(struct at_state_dir *s, struct at_error *reterr);

/* at_state_dir_lock takes the lock; UNAVAILABLE when another command has it for more than 10 s. */
AT_MUST_USE enum at_code at_state_dir_lock(struct at_state_dir *s, struct at_error *reterr);

/* at_state_dir_path formats a path below the folder, into the arena. */
const char *
at_state_dir_path(struct at_state_dir *s, const char *folder, const char *name, const char *suffix);

/* What a process's run file says. `alive`: that pid exists and is such a process. */
struct at_running {
    bool alive;
    pid_t pid;
    uint16_t grpc;
    uint16_t http;
    uint16_t peer;
};
struct at_running at_state_dir_running(struct at_state_dir *s, const char *name);

/* at_state_dir_is_process: that pid exists and is the process of this run file. One that is on its
 * way out is waited for (5 s at most): no port and no lock of it is left once this is false. */
bool at_state_dir_is_process(pid_t pid, const char *run_file);

/* Index of a cluster of the instance, or -1. */
int at_state_dir_cluster(const struct at_state_dir *s, const char *id);

#endif
