/* process.c: processes are found by their run files, never by name, and outlive the command that
 * started them.
 *
 * A command may be killed between the start of a process and its run file. What it had started is
 * found by its command line, then; that this must be looked for says run/NAME.starting. */
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/folder.h"

/* STATE/data/NAME.born: the cluster has served, so its store must be there. */
#define BORN_SUFFIX ".born"
#define STARTING_SUFFIX ".starting"
#define POLL_US 2000

static void last_line(const char *path, char line[160]);

static uint64_t now_ms(void)
{
    struct at_clock clock = at_clock_system();
    return at_clock_mono_ns(&clock) / AT_MS_NS;
}

/* A cluster that once served and whose data is gone must not start as if it were new: it would give
 * the numbers of its lost writes to others, before it hears from its peers that they are taken. */
static enum at_code check_data(struct at_state_dir *s, const char *name, struct at_error *reterr)
{
    const char *current =
        at_arena_printf(&s->arena, "%s/CURRENT", at_state_dir_path(s, "data", name, ""));
    if (access(at_state_dir_path(s, "data", name, BORN_SUFFIX), F_OK) != 0 ||
        access(current, F_OK) == 0)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "the data of %s is gone: %s is missing; put it back, or begin a new instance in "
                   "another --state-dir",
                   name, current);
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0)
        (void)close(fd);
}

/* Remembers that the cluster has served with data of its own. */
static void note_born(struct at_state_dir *s, const char *name)
{
    const char *current =
        at_arena_printf(&s->arena, "%s/CURRENT", at_state_dir_path(s, "data", name, ""));
    if (access(current, F_OK) != 0)
        return; /* the router */
    touch(at_state_dir_path(s, "data", name, BORN_SUFFIX));
}

/* Kills what an earlier command had started as `name` and never saw serve. */
static void end_stray(struct at_state_dir *s, const char *name)
{
    const char *starting = at_state_dir_path(s, "run", name, STARTING_SUFFIX);
    const char *run_file = at_state_dir_path(s, "run", name, ".json");
    if (access(starting, F_OK) != 0)
        return;
    struct at_folder folder AT_CLEANUP(at_folder_close);
    const char *entry;
    (void)at_folder_open(&folder, "/proc");
    while ((entry = at_folder_next(&folder)) != NULL) {
        pid_t pid = (pid_t)strtol(entry, NULL, 10);
        if (pid <= 0 || !at_state_dir_is_process(pid, run_file))
            continue;
        (void)kill(pid, SIGKILL);
        while (at_state_dir_is_process(pid, run_file))
            (void)usleep(POLL_US);
        (void)waitpid(pid, NULL, 0); /* it has ended: at once, whether it is our child or not */
    }
    (void)unlink(run_file);
    (void)unlink(starting);
}

enum at_code
at_process_spawn(struct at_state_dir *s, const char *name, pid_t *ret_pid, struct at_error *reterr)
{
    AT_TRY(check_data(s, name, reterr));
    bool router = strcmp(name, AT_ROUTER_NAME) == 0;
    const char *run_file = at_state_dir_path(s, "run", name, ".json");
    const char *arguments[] = {
        "atoll",
        router ? "router" : "cluster",
        "--instance",
        at_state_dir_path(s, "", "instance", ".yaml"),
        "--run-file",
        run_file,
        router ? "--state-dir" : "--cluster",
        router ? s->path : name,
        router ? NULL : "--data", /* a router's arguments end here */
        at_state_dir_path(s, "data", name, ""),
        NULL,
    };
    end_stray(s, name);
    (void)unlink(run_file);
    touch(at_state_dir_path(s, "run", name, STARTING_SUFFIX));
    /* By its real path: a process started through /proc/self/exe would be called "exe". */
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len < 0)
        return at_fail(reterr, AT_INTERNAL, "/proc/self/exe: %s", strerrordesc_np(errno));
    program[len] = '\0';
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, 2, at_state_dir_path(s, "logs", name, ".log"),
                                           O_WRONLY | O_CREAT | O_APPEND, 0666);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    /* A group of its own, so that the terminal's signals pass it by, but no session of its own: the
     * kernel shares processors out among sessions first, and the compactions of one cluster then
     * go before the writes of another, whatever their priorities (sched_autogroup). */
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    int err = posix_spawn(ret_pid, program, &files, &attributes,
                          (char *const *)(uintptr_t)arguments, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    if (err != 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s cannot be started: %s", name,
                       strerrordesc_np(err));
    return AT_OK;
}

static bool interrupted(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

enum at_code at_process_wait_serving(struct at_state_dir *s,
                                     const char *name,
                                     pid_t pid,
                                     uint32_t timeout_ms,
                                     struct at_error *reterr)
{
    uint64_t end_ms = now_ms() + timeout_ms;
    while (now_ms() < end_ms) {
        struct at_running running = at_state_dir_running(s, name);
        if (running.alive && running.pid == pid) {
            note_born(s, name);
            (void)unlink(at_state_dir_path(s, "run", name, STARTING_SUFFIX));
            return AT_OK;
        }
        int status;
        if (interrupted())
            return at_fail(reterr, AT_CANCELLED, "interrupted while %s was starting", name);
        if (waitpid(pid, &status, WNOHANG) == pid) {
            const char *log = at_state_dir_path(s, "logs", name, ".log");
            char line[160];
            last_line(log, line);
            return at_fail(reterr, AT_UNAVAILABLE, "%s ended at once: %s (%s)", name, line, log);
        }
        (void)usleep(POLL_US);
    }
    return at_fail(reterr, AT_DEADLINE_EXCEEDED, "%s (pid %d) does not serve after %u ms, see %s",
                   name, (int)pid, timeout_ms, at_state_dir_path(s, "logs", name, ".log"));
}

/* The last line of the log that says something; the closing "stopped" does not. */
static void last_line(const char *path, char line[160])
{
    char buffer[512];
    line[0] = '\0';
    FILE *file = fopen(path, "re");
    while (file && fgets(buffer, sizeof(buffer), file))
        if (buffer[0] != '\n' && !strstr(buffer, "msg=stopped") && !strstr(buffer, "\"stopped\""))
            (void)snprintf(line, 160, "%.*s", (int)strcspn(buffer, "\n"), buffer);
    if (file)
        (void)fclose(file);
}

/* True once the process is gone; waits for it if it is our child. */
static bool gone(struct at_state_dir *s, const char *name, pid_t pid)
{
    struct at_running running = at_state_dir_running(s, name);
    if (running.alive && running.pid == pid)
        return false;
    (void)waitpid(pid, NULL, 0); /* it has ended: at once, whether it is our child or not */
    return true;
}

static const char *name_at(const struct at_state_dir *s, uint32_t i)
{
    return i == 0 ? AT_ROUTER_NAME : s->instance.clusters[i - 1].id;
}

uint32_t at_process_stop_all(struct at_state_dir *s, uint32_t timeout_ms)
{
    pid_t pids[AT_MEMBERS_MAX + 1];
    uint32_t count = s->instance.cluster_count + 1;
    uint32_t running = 0;
    uint64_t end_ms = now_ms() + timeout_ms;
    for (uint32_t i = 0; i < count; i++) {
        struct at_running r = at_state_dir_running(s, name_at(s, i));
        pids[i] = r.alive ? r.pid : 0;
        running += r.alive;
        if (r.alive)
            (void)kill(r.pid, SIGTERM);
    }
    for (uint32_t i = 0; i < count; i++) {
        while (pids[i] && !gone(s, name_at(s, i), pids[i])) {
            if (now_ms() >= end_ms)
                (void)kill(pids[i], SIGKILL);
            (void)usleep(POLL_US);
        }
        (void)unlink(at_state_dir_path(s, "run", name_at(s, i), ".json"));
        end_stray(s, name_at(s, i));
    }
    return running;
}

bool at_process_stop_one(struct at_state_dir *s, const char *name, uint32_t timeout_ms)
{
    struct at_running r = at_state_dir_running(s, name);
    uint64_t end_ms = now_ms() + timeout_ms;
    if (r.alive)
        (void)kill(r.pid, timeout_ms > 0 ? SIGTERM : SIGKILL);
    while (r.alive && !gone(s, name, r.pid)) {
        if (now_ms() >= end_ms)
            (void)kill(r.pid, SIGKILL);
        (void)usleep(POLL_US);
    }
    (void)unlink(at_state_dir_path(s, "run", name, ".json"));
    end_stray(s, name);
    return r.alive;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *ftw)
{
    (void)stat;
    (void)kind;
    (void)ftw;
    return remove(path) == 0 || errno == ENOENT ? 0 : errno;
}

enum at_code at_process_remove_tree(const char *path, struct at_error *reterr)
{
    enum { DESCRIPTORS = 16 };
    int err =
        access(path, F_OK) == 0 ? nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS) : 0;
    if (err == 0)
        return AT_OK;
    return at_fail(reterr, AT_UNAVAILABLE, "%s cannot be removed: %s", path,
                   strerrordesc_np(err > 0 ? err : errno));
}

enum at_code at_process_forget(struct at_state_dir *s, const char *name, struct at_error *reterr)
{
    AT_TRY(at_process_remove_tree(at_state_dir_path(s, "data", name, ""), reterr));
    (void)unlink(at_state_dir_path(s, "data", name, BORN_SUFFIX));
    (void)unlink(at_state_dir_path(s, "logs", name, ".log"));
    (void)unlink(at_state_dir_path(s, "run", name, ".json"));
    return AT_OK;
}

bool at_process_unborn(struct at_state_dir *s, const struct at_cluster_config *cluster)
{
    return cluster->joining &&
           access(at_state_dir_path(s, "data", cluster->id, BORN_SUFFIX), F_OK) != 0;
}

enum at_code at_process_start_clusters(struct at_state_dir *s,
                                       pid_t ret_pids[AT_MEMBERS_MAX],
                                       struct at_error *reterr)
{
    for (uint32_t i = 0; i < s->instance.cluster_count; i++) {
        const char *id = s->instance.clusters[i].id;
        ret_pids[i] = 0;
        if (!at_process_unborn(s, &s->instance.clusters[i]) && !at_state_dir_running(s, id).alive)
            AT_TRY(at_process_spawn(s, id, &ret_pids[i], reterr));
    }
    return AT_OK;
}

enum at_code at_process_kill(struct at_state_dir *s, const char *name, struct at_error *reterr)
{
    struct at_running r = at_state_dir_running(s, name);
    if (!r.alive || kill(r.pid, SIGKILL) != 0)
        return at_fail(reterr, AT_FAILED_PRECONDITION, "%s is not running", name);
    while (!gone(s, name, r.pid))
        (void)usleep(POLL_US);
    return AT_OK;
}
