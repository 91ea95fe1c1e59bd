#include "cluster/admin/mask.h"

/* Over REST, masks come in lowerCamelCase; by gRPC, in snake_case. An upper-case letter is '_' and
 * its lower-case one. */

/* Returns where `path` goes on after `snake`; NULL when it does not begin with it. */
static const char *after(const char *path, const char *snake)
{
    for (; *snake != '\0'; path++) {
        if (*path >= 'A' && *path <= 'Z') {
            if (snake[0] != '_' || snake[1] != *path - 'A' + 'a')
                return 0;
            snake += 2;
        } else if (*path == *snake) {
            snake++;
        } else {
            return 0;
        }
    }
    return path;
}

bool at_mask_is(const char *path, const char *snake)
{
    const char *rest = after(path, snake);

    return rest && (*rest == '\0' || *rest == '.');
}

bool at_mask_same(const char *path, const char *snake)
{
    const char *rest = after(path, snake);

    return rest && *rest == '\0';
}
