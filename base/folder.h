/* folder.h: the names in a folder of the disk, one by one. ADAPTER.
 *
 *   struct at_folder folder AT_CLEANUP(at_folder_close);
 *   if (at_folder_open(&folder, path))
 *       while ((name = at_folder_next(&folder)) != NULL)
 *           ...
 *
 * What comes into the folder or goes meanwhile may be told or not. One thread at a time. */
#ifndef ATOLL_BASE_FOLDER_H
#define ATOLL_BASE_FOLDER_H

#include <stdbool.h>

struct at_folder {
    void *stream; /* NULL: not open */
};

/* at_folder_open: false, and errno says why, when it is not there or can't be read. */
bool at_folder_open(struct at_folder *folder, const char *path);
/* at_folder_next returns a name, in no order, hidden ones too, but not "." and ".."; NULL: there
 * are no more. It lives until the next call. */
const char *at_folder_next(struct at_folder *folder);
void at_folder_close(struct at_folder *folder);

#endif
