/* state_dir.c: making, reading and locking the folder of an instance.
 *
 * Ports are chosen once and kept, so that a cluster which is killed and started again is found
 * where it was. A free port is found by binding to 0 and letting go; all are held until the last
 * was found, so that no two are the same. */
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

#include "base/prng.h"

#define PORTS_MAX (2 * AT_MEMBERS_MAX + 2)

static enum at_code make_dirs(struct at_state_dir *s, struct at_error *reterr);
static enum at_code
keep_identity(struct at_state_dir *s, const char *file, struct at_error *reterr);
static enum at_code fill_ports(struct at_instance_config *instance, struct at_error *reterr);

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

enum at_code at_state_dir_open(struct at_state_dir *s, const char *path, struct at_error *reterr)
{
    init(s, path);
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
    AT_TRY(at_instance_load(file, &s->arena, &s->instance, reterr));
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (strcmp(s->instance.clusters[i].id, AT_ROUTER_NAME) == 0)
            return at_fail(reterr, AT_INVALID_ARGUMENT, "%s: a cluster may not be called router",
                           file);
    if (grpc_port >= 0)
        s->instance.grpc_port = (uint16_t)grpc_port;
    if (http_port >= 0)
        s->instance.http_port = (uint16_t)http_port;
    AT_TRY(make_dirs(s, reterr));
    AT_TRY(at_state_dir_lock(s, reterr));
    AT_TRY(keep_identity(s, file, reterr));
    AT_TRY(fill_ports(&s->instance, reterr));
    return at_instance_save(at_state_dir_path(s, "", "instance", ".yaml"), &s->instance, reterr);
}

static enum at_code make_dir(const char *path, struct at_error *reterr)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return AT_OK;
    return at_fail(reterr, AT_UNAVAILABLE, "%s: %s", path, strerrordesc_np(errno));
}

static enum at_code make_dirs(struct at_state_dir *s, struct at_error *reterr)
{
    AT_TRY(make_dir(s->path, reterr));
    static const char *const FOLDERS[] = {"data", "logs", "run"};
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++)
        AT_TRY(make_dir(at_state_dir_path(s, "", FOLDERS[i], ""), reterr));
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        AT_TRY(make_dir(at_state_dir_path(s, "data", s->instance.clusters[i].id, ""), reterr));
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
    now->instance_id = old.instance_id;
    if (same)
        return AT_OK;
    return at_fail(reterr, AT_FAILED_PRECONDITION,
                   "%s holds instance %s/%s with other clusters than %s names; use another "
                   "--state-dir, or remove that one",
                   s->path, old.project, old.instance, file);
}

static int bind_free(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static enum at_code fill_ports(struct at_instance_config *instance, struct at_error *reterr)
{
    uint16_t *ports[PORTS_MAX];
    int held[PORTS_MAX];
    uint32_t count = 0, held_count = 0;
    bool ok = true;
    for (uint32_t i = 0; i < instance->cluster_count; i++) {
        ports[count++] = &instance->clusters[i].grpc_port;
        ports[count++] = &instance->clusters[i].peer_port;
    }
    ports[count++] = &instance->grpc_port;
    ports[count++] = &instance->http_port;
    for (uint32_t i = 0; i < count && ok; i++) {
        if (*ports[i] != 0)
            continue;
        held[held_count] = bind_free(ports[i]);
        ok = held[held_count] >= 0;
        held_count += ok;
    }
    for (uint32_t i = 0; i < held_count; i++)
        (void)close(held[i]);
    return ok ? AT_OK : at_fail(reterr, AT_UNAVAILABLE, "no free port: %s", strerrordesc_np(errno));
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

/* A pid may have been given to somebody else since, and a dead child that nobody waited for still
 * has one: look at what it is. */
static bool is_ours(pid_t pid)
{
    char path[64], line[512] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool ok = fgets(line, sizeof(line), file) != NULL;
    (void)fclose(file);
    const char *end = ok ? strrchr(line, ')') : NULL;
    return end && strstr(line, "(atoll") && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

struct at_running at_state_dir_running(struct at_state_dir *s, const char *name)
{
    struct at_running running = {0};
    json_t *root = json_load_file(at_state_dir_path(s, "run", name, ".json"), 0, NULL);
    if (!root)
        return running;
    running.pid = (pid_t)json_integer_value(json_object_get(root, "pid"));
    running.grpc = (uint16_t)json_integer_value(json_object_get(root, "grpc"));
    running.http = (uint16_t)json_integer_value(json_object_get(root, "http"));
    running.peer = (uint16_t)json_integer_value(json_object_get(root, "peer"));
    json_decref(root);
    running.alive = running.pid > 0 && is_ours(running.pid);
    return running;
}

int at_state_dir_cluster(const struct at_state_dir *s, const char *id)
{
    for (uint32_t i = 0; i < s->instance.cluster_count; i++)
        if (strcmp(s->instance.clusters[i].id, id) == 0)
            return (int)i;
    return -1;
}
