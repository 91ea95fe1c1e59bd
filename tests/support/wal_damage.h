/* wal_damage.h: a database's write-ahead logs after an accident of the disk. */
#ifndef ATOLL_TESTS_SUPPORT_WAL_DAMAGE_H
#define ATOLL_TESTS_SUPPORT_WAL_DAMAGE_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

/* Cuts `bytes` off each log that holds something, or removes it (0). Returns how many there were.
 */
static inline int wal_damage(const char *dir, off_t bytes)
{
    DIR *d = opendir(dir);
    char path[400];
    int count = 0;

    assert_non_null(d);
    for (const struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d)) {
        const char *dot = strrchr(entry->d_name, '.');
        struct stat st;
        if (dot == NULL || strcmp(dot, ".log") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        assert_int_equal(stat(path, &st), 0);
        if (st.st_size == 0)
            continue;
        assert_int_equal(bytes > 0 ? truncate(path, st.st_size - bytes) : unlink(path), 0);
        count++;
    }
    closedir(d);
    return count;
}

#endif
