/* state_dir.c: making, reading and locking the folder of an instance.
 *
 * Ports are chosen once and kept, so that a cluster which is killed and started again is found
 * where it was; only when somebody else has taken one since, another is chosen. A free port is
 * found by binding to it and letting go; all are held until the last was found, so that no two are
 * the same.
 *
 * A process is told from others by the path of its run file on its command line: pids are given
 * again, and other instances run the same program. */
#include "cli/state_dir.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/folder.h"
#include "base/prng.h"
#include "cli/port_range.h"

#define PORTS_MAX (2 * AT_MEMBERS_MAX + 2)
#define COMMAND_LINE_BYTES_MAX 8192

enum { EXIT_TRIES = 1000, EXIT_PAUSE_US = 5000 };

/* One port that a process will listen on. */
struct slot {
    uint16_t *port; /* 0: any */
    bool fixed;     /* somebody asked for this one: never another instead */
};

struct slots {
    struct slot items[PORTS_MAX];
    uint32_t count;
};

static enum at_code make_dir(const char *path, struct at_error *reterr);
static enum at_code make_dirs(struct at_state_dir *s, struct at_error *reterr);
static void list_slots(struct at_instance_config *instance, bool own_file, struct slots *ret_slots);
static enum at_code refuse_running(struct at_state_dir *s,
                                   const struct at_instance_config *instance,
                                   struct at_error *reterr);
static enum at_code
keep_identity(struct at_state_dir *s, const char *file, struct at_error *reterr);
static enum at_code part_equal_slots(const struct slots *slots, struct at_error *reterr);
static enum at_code fill_slots(const struct slots *slots, struct at_error *reterr);

static void init(struct at_state_dir *s, const char *path)
{
    char absolute[PATH_MAX];
    *s = (struct at_state_dir){.lock_fd = -1};
    at_arena_init(&s->arena, 16 * AT_KIB);
    if (path[0] == '/' || !getcwd(absolute, sizeof(absolute)))
        s->path = at_arena_printf(&s->arena, "%s", path);
    else
        s->path = at_arena_printf(&s->arena, "%s/%s", absolute,
                                  strncmp(path, "./", 2) == 0 ? path + 2 : path);
}

static enum at_code check_path(const char *path, struct at_error *reterr)
{
    return path[0] ? AT_OK
                   : at_fail(reterr, AT_INVALID_ARGUMENT, "the state directory has no name");
}

/* One name for one folder, however it was spelled. */
static void make_canonical(struct at_state_dir *s)
{
    char real[PATH_MAX];
    if (realpath(s->path, real))
        s->path = at_arena_printf(&s->arena, "%s", real);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

void at_state_dir_begin(struct at_state_dir *s, const char *path)
{
    init(s, path);
    make_canonical(s);
}

enum at_code at_state_dir_open(struct at_state_dir *s, const char *path, struct at_error *reterr)
{
    init(s, path);
    AT_TRY(check_path(path, reterr));
    make_canonical(s);
    const char *file = at_state_dir_path(s, "", "instance", ".yaml");
    enum at_code code = at_instance_load(file, &s->arena, &s->instance, reterr);
    if (code == AT_NOT_FOUND)
        return at_fail(reterr, AT_NOT_FOUND,
                       "no instance in %s; `atoll up` makes one (or name it with --state-dir)",
                       path);
    return code;
}

void at_state_dir_close(struct at_state_dir *s)
{
    if (s->lock_fd >= 0)
        (void)close(s->lock_fd);
    at_arena_deinit(&s->arena);
}

const char *
at_state_dir_path(struct at_state_dir *s, const char *folder, const char *name, const char *suffix)
{
    return at_arena_printf(&s->arena, "%s%s%s/%s%s", s->path, folder[0] ? "/" : "", folder, name,
                           suffix);
}

enum at_code at_state_dir_create(struct at_state_dir *s,
                                 const char *path,
                                 const char *file,
                                 int grpc_port,
                                 int http_port,
                                 struct at_error *reterr)
{
    init(s, path);
    AT_TRY(check_path(path, reterr));
    AT_TRY(at_instance_load(file, &s->arena, &s->instance, reterr));
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (strcmp(s->instance.clusters[i].id, AT_ROUTER_NAME) == 0)
            return at_fail(reterr, AT_INVALID_ARGUMENT, "%s: a cluster may not be called router",
                           file);
    if (grpc_port >= 0)
        s->instance.grpc_port = (uint16_t)grpc_port;
    if (http_port >= 0)
        s->instance.http_port = (uint16_t)http_port;
    AT_TRY(make_dir(s->path, reterr));
    make_canonical(s);
    AT_TRY(at_state_dir_lock(s, reterr));
    const char *own = at_state_dir_path(s, "", "instance", ".yaml");
    struct slots slots;
    list_slots(&s->instance, is_same_file(own, file), &slots);
    AT_TRY(keep_identity(s, file, reterr));
    AT_TRY(make_dirs(s, reterr));
    AT_TRY(part_equal_slots(&slots, reterr));
    AT_TRY(fill_slots(&slots, reterr));
    return at_instance_save(own, &s->instance, reterr);
}

const char *at_state_dir_of(struct at_state_dir *root, const char *project, const char *instance)
{
    const char *folder = at_state_dir_path(root, "instances", instance, "");
    if (strcmp(project, root->instance.project) == 0)
        return folder;
    return at_arena_printf(&root->arena, "%s@%s", folder, project);
}

static int cmp_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

uint32_t at_state_dir_folders(struct at_state_dir *root, const char ***ret_paths)
{
    const char **paths = AT_ARENA_ARRAY(&root->arena, const char *, AT_INSTANCES_MAX);
    uint32_t count = 0;
    struct at_folder folder AT_CLEANUP(at_folder_close);
    const char *name;
    (void)at_folder_open(&folder, at_state_dir_path(root, "", "instances", ""));
    while (count < AT_INSTANCES_MAX && (name = at_folder_next(&folder)) != NULL)
        if (name[0] != '.')
            paths[count++] = at_state_dir_path(root, "instances", name, "");
    if (count > 0)
        qsort(paths, count, sizeof(*paths), cmp_paths);
    *ret_paths = paths;
    return count;
}

enum at_code at_state_dir_make(struct at_state_dir *s, struct at_error *reterr)
{
    AT_TRY(make_dir(s->path, reterr));
    return make_dirs(s, reterr);
}

enum at_code at_state_dir_save(struct at_state_dir *s, struct at_error *reterr)
{
    return at_instance_save(at_state_dir_path(s, "", "instance", ".yaml"), &s->instance, reterr);
}

/* Ports of clusters that run are theirs. */
enum at_code at_state_dir_ports(struct at_state_dir *s, bool *ret_changed, struct at_error *reterr)
{
    struct slots slots = {.count = 0};
    uint16_t before[PORTS_MAX];
    for (uint32_t i = 0; i < s->instance.cluster_count; i++) {
        struct at_cluster_config *c = &s->instance.clusters[i];
        if (at_state_dir_running(s, c->id).alive)
            continue;
        slots.items[slots.count++] = (struct slot){&c->grpc_port, false};
        slots.items[slots.count++] = (struct slot){&c->peer_port, false};
    }
    for (uint32_t i = 0; i < slots.count; i++)
        before[i] = *slots.items[i].port;
    AT_TRY(fill_slots(&slots, reterr));
    *ret_changed = false;
    for (uint32_t i = 0; i < slots.count; i++)
        *ret_changed = *ret_changed || before[i] != *slots.items[i].port;
    return AT_OK;
}

static enum at_code make_dir(const char *path, struct at_error *reterr)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return AT_OK;
    return at_fail(reterr, AT_UNAVAILABLE, "%s: %s", path, strerrordesc_np(errno));
}

static enum at_code make_dirs(struct at_state_dir *s, struct at_error *reterr)
{
    static const char *const FOLDERS[] = {"data", "logs", "run"};
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++)
        AT_TRY(make_dir(at_state_dir_path(s, "", FOLDERS[i], ""), reterr));
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        AT_TRY(make_dir(at_state_dir_path(s, "data", s->instance.clusters[i].id, ""), reterr));
    return AT_OK;
}

/* The file of running processes must stay as they read it. */
static enum at_code refuse_running(struct at_state_dir *s,
                                   const struct at_instance_config *instance,
                                   struct at_error *reterr)
{
    for (uint32_t i = 0; i <= instance->cluster_count; i++) {
        const char *name = i == 0 ? AT_ROUTER_NAME : instance->clusters[i - 1].id;
        struct at_running running = at_state_dir_running(s, name);
        if (running.alive)
            return at_fail(reterr, AT_FAILED_PRECONDITION,
                           "%s runs already (pid %d); `atoll down` stops this instance, `atoll "
                           "start` starts a part of it",
                           name, (int)running.pid);
    }
    return AT_OK;
}

/* Takes over ids and ports from an earlier `up` in this folder. */
static enum at_code keep_identity(struct at_state_dir *s, const char *file, struct at_error *reterr)
{
    struct at_instance_config *now = &s->instance;
    struct at_instance_config old;
    enum at_code code =
        at_instance_load(at_state_dir_path(s, "", "instance", ".yaml"), &s->arena, &old, reterr);
    if (code == AT_NOT_FOUND) {
        while (now->instance_id == 0)
            at_random_bytes(&now->instance_id, sizeof(now->instance_id));
        for (uint32_t i = 0; i < now->cluster_count; i++)
            now->clusters[i].member = i + 1;
        return AT_OK;
    }
    AT_TRY(code);
    AT_TRY(refuse_running(s, &old, reterr));
    bool same = old.cluster_count == now->cluster_count && !strcmp(old.project, now->project) &&
                !strcmp(old.instance, now->instance);
    for (uint32_t i = 0; i < now->cluster_count && same; i++) {
        same = strcmp(old.clusters[i].id, now->clusters[i].id) == 0 &&
               strcmp(old.clusters[i].zone, now->clusters[i].zone) == 0;
        now->clusters[i].member = old.clusters[i].member;
        if (now->clusters[i].grpc_port == 0)
            now->clusters[i].grpc_port = old.clusters[i].grpc_port;
        if (now->clusters[i].peer_port == 0)
            now->clusters[i].peer_port = old.clusters[i].peer_port;
    }
    if (now->grpc_port == 0)
        now->grpc_port = old.grpc_port;
    if (now->http_port == 0)
        now->http_port = old.http_port;
    now->instance_id = old.instance_id;
    if (same)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "%s holds instance %s/%s with other clusters than %s names; use another "
                   "--state-dir, or remove that one",
                   s->path, old.project, old.instance, file);
}

/* Before ports are taken over from earlier: what is there now was asked for. */
static void list_slots(struct at_instance_config *instance, bool own_file, struct slots *ret_slots)
{
    struct slots *slots = ret_slots;
    slots->count = 0;
    for (uint32_t i = 0; i < instance->cluster_count; i++) {
        struct at_cluster_config *c = &instance->clusters[i];
        slots->items[slots->count++] = (struct slot){&c->grpc_port, !own_file && c->grpc_port != 0};
        slots->items[slots->count++] = (struct slot){&c->peer_port, !own_file && c->peer_port != 0};
    }
    slots->items[slots->count++] = (struct slot){&instance->grpc_port, instance->grpc_port != 0};
    slots->items[slots->count++] = (struct slot){&instance->http_port, instance->http_port != 0};
}

/* Returns a socket that holds *port (0: chooses one), or -1 when it is in use. With `reuse` a port
 * that was used a moment ago is not in use, though its old connections linger: SO_REUSEADDR. */
static int hold(uint16_t *port, int reuse)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) != 0 ||
        bind(fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        (void)close(fd);
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

static int hold_any(const struct at_port_range *range, uint16_t *ret_port)
{
    enum { TRIES = 64 };
    for (uint32_t i = 0; i < TRIES; i++) {
        uint16_t dice;
        at_random_bytes(&dice, sizeof(dice));
        *ret_port = at_port_range_at(range, dice);
        int fd = hold(ret_port, 0);
        if (fd >= 0)
            return fd;
    }
    *ret_port = 0;
    return hold(ret_port, 0);
}

/* A kept port gives way to one that was asked for. */
static enum at_code part_equal_slots(const struct slots *slots, struct at_error *reterr)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct slot *a = &slots->items[k], *b = &slots->items[i];
            if (*a->port == 0 || *a->port != *b->port)
                continue;
            if (a->fixed && b->fixed)
                return at_fail(reterr, AT_INVALID_ARGUMENT, "port %u is asked for twice", *a->port);
            *(a->fixed ? b : a)->port = 0;
        }
    }
    return AT_OK;
}

static enum at_code fill_slots(const struct slots *slots, struct at_error *reterr)
{
    int held[PORTS_MAX];
    uint32_t held_count = 0;
    struct at_port_range range;
    enum at_code code = at_port_range_of(getenv(AT_PORT_RANGE_VARIABLE), &range, reterr);
    for (int want_free = 0; want_free < 2; want_free++) { /* given ones first */
        for (uint32_t i = 0; i < slots->count && code == AT_OK; i++) {
            const struct slot *slot = &slots->items[i];
            if (want_free != (*slot->port == 0))
                continue;
            int fd = want_free ? hold_any(&range, slot->port) : hold(slot->port, 1);
            if (fd >= 0)
                held[held_count++] = fd;
            else if (want_free)
                code = at_fail(reterr, AT_UNAVAILABLE, "no free port: %s", strerrordesc_np(errno));
            else if (slot->fixed)
                code = at_fail(reterr, AT_UNAVAILABLE,
                               "port %u cannot be had: %s; choose another (--grpc-port and "
                               "--http-port are the router's, 0 means a free one)",
                               *slot->port, strerrordesc_np(errno));
            else
                *slot->port = 0;
        }
    }
    for (uint32_t i = 0; i < held_count; i++)
        (void)close(held[i]);
    return code;
}

enum at_code at_state_dir_lock(struct at_state_dir *s, struct at_error *reterr)
{
    enum { TRIES = 100, PAUSE_US = 100 * 1000 };
    if (s->lock_fd >= 0)
        return AT_OK;
    int fd = open(at_state_dir_path(s, "", "lock", ""), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: %s", s->path, strerrordesc_np(errno));
    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            s->lock_fd = fd;
            return AT_OK;
        }
        (void)usleep(PAUSE_US);
    }
    (void)close(fd);
    return at_fail(reterr, AT_UNAVAILABLE, "another atoll command is at work in %s", s->path);
}

/* A process that was killed has no command line any more, but its ports and locks until its last
 * thread is through its exit. One that nobody waited for is a zombie afterwards, which has nothing.
 */
static bool is_exiting(pid_t pid)
{
    enum { FLAGS = 6, THREADS = 17, EXITING = 4 }; /* fields after the state: proc(5); PF_EXITING */
    char path[64], line[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t len = fread(line, 1, sizeof(line) - 1, file);
    (void)fclose(file);
    line[len] = '\0';
    char *at = strrchr(line, ')');
    if (!at || at[1] != ' ' || at[2] == '\0')
        return false;
    char state = at[2];
    unsigned long flags = 0, threads = 0;
    at += 3;
    for (uint32_t field = 1; field <= THREADS; field++) {
        unsigned long value = strtoul(at, &at, 10);
        if (field == FLAGS)
            flags = value;
        else if (field == THREADS)
            threads = value;
    }
    return (flags & EXITING) != 0 && (state != 'Z' || threads > 1);
}

bool at_state_dir_is_process(pid_t pid, const char *run_file)
{
    char path[64], line[COMMAND_LINE_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t len = fread(line, 1, sizeof(line) - 1, file);
    (void)fclose(file);
    for (uint32_t i = 0; len == 0 && i < EXIT_TRIES && is_exiting(pid); i++)
        (void)usleep(EXIT_PAUSE_US);
    line[len] = '\0';
    for (size_t at = 0; at < len; at += strlen(line + at) + 1)
        if (strcmp(line + at, run_file) == 0)
            return true;
    return false;
}

struct at_running at_state_dir_running(struct at_state_dir *s, const char *name)
{
    struct at_running running = {0};
    const char *file = at_state_dir_path(s, "run", name, ".json");
    json_t *root = json_load_file(file, 0, NULL);
    if (!root)
        return running;
    running.pid = (pid_t)json_integer_value(json_object_get(root, "pid"));
    running.grpc = (uint16_t)json_integer_value(json_object_get(root, "grpc"));
    running.http = (uint16_t)json_integer_value(json_object_get(root, "http"));
    running.peer = (uint16_t)json_integer_value(json_object_get(root, "peer"));
    json_decref(root);
    running.alive = running.pid > 0 && at_state_dir_is_process(running.pid, file);
    return running;
}

int at_state_dir_cluster(const struct at_state_dir *s, const char *id)
{
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (strcmp(s->instance.clusters[i].id, id) == 0)
            return (int)i;
    return -1;
}
