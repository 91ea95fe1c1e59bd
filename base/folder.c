#include "base/folder.h"

#include <dirent.h>
#include <string.h>

bool at_folder_open(struct at_folder *folder, const char *path)
{
    folder->stream = opendir(path);
    return folder->stream != NULL;
}

const char *at_folder_next(struct at_folder *folder)
{
    const struct dirent *entry = NULL;

    do {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): streams of glibc are, each by one thread. */
        entry = folder->stream != NULL ? readdir(folder->stream) : NULL;
    } while (entry != NULL &&
             (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry != NULL ? entry->d_name : NULL;
}

void at_folder_close(struct at_folder *folder)
{
    if (folder->stream != NULL)
        (void)closedir(folder->stream);
    folder->stream = NULL;
}
