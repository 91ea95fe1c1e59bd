#include "cli/temp_store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/folder.h"

#define PREFIX "atoll-emulator-"
#define LOCK "in-use"
#define OPEN_DESCRIPTORS_MAX 16
#define TRIES_MAX 10

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static bool remove_all(const char *dir)
{
    return nftw(dir, remove_one, OPEN_DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS) == 0;
}

static bool is_own(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

/* Removes `dir` if it is of a process that is dead. The lock is held meanwhile: who has just made
 * the folder and waits for the lock finds the file gone then, and makes another one. */
static void sweep_one(const char *dir)
{
    char path[AT_TEMP_STORE_BYTES + sizeof("/" LOCK)];

    (void)snprintf(path, sizeof(path), "%s/" LOCK, dir);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (is_own(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)remove_all(dir); /* or the next one does */
    (void)close(fd);
}

static void sweep(const char *parent)
{
    char dir[AT_TEMP_STORE_BYTES];
    struct at_folder folder AT_CLEANUP(at_folder_close);
    const char *name;

    (void)at_folder_open(&folder, parent); /* if it can't, making one says why */
    while ((name = at_folder_next(&folder)) != NULL) {
        if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        int len = snprintf(dir, sizeof(dir), "%s/%s", parent, name);
        if (len > 0 && (size_t)len < sizeof(dir))
            sweep_one(dir);
    }
}

/* The lock of `dir`, or -1 with errno. */
static int take_lock(const char *dir)
{
    char path[AT_TEMP_STORE_BYTES + sizeof("/" LOCK)];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/" LOCK, dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
        return fd;
    (void)close(fd);
    errno = EAGAIN; /* it was swept in between */
    return -1;
}

enum at_code
at_temp_store_open(struct at_temp_store *t, const char *parent, struct at_error *reterr)
{
    *t = (struct at_temp_store){.lock = -1};
    sweep(parent);
    for (int i = 0; i < TRIES_MAX; i++) {
        int len = snprintf(t->dir, sizeof(t->dir), "%s/" PREFIX "XXXXXX", parent);
        if (len < 0 || (size_t)len >= sizeof(t->dir))
            return at_fail(reterr, AT_UNAVAILABLE, "%s: the path is too long", parent);
        if (!mkdtemp(t->dir))
            break;
        t->lock = take_lock(t->dir);
        if (t->lock >= 0)
            return AT_OK;
        if (errno != EAGAIN && errno != ENOENT) {
            (void)rmdir(t->dir);
            break;
        }
    }
    return at_fail(reterr, AT_UNAVAILABLE, "%s: %s", t->dir, strerrordesc_np(errno));
}

void at_temp_store_remove(struct at_temp_store *t)
{
    if (!remove_all(t->dir))
        (void)fprintf(stderr, "%s could not be removed: %s\n", t->dir, strerrordesc_np(errno));
    (void)close(t->lock);
}
