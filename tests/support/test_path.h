/* test_path.h: where a test puts what it writes: a name for mkdtemp or mkstemp below $TMPDIR, or
 * below /tmp. A run of the whole suite has a folder of its own there, in which nothing may be left.
 */
#ifndef ATOLL_TESTS_SUPPORT_TEST_PATH_H
#define ATOLL_TESTS_SUPPORT_TEST_PATH_H

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

#define TEST_PATH_BYTES 64 /* enough for the folder of a run; other tests assume short paths */

/* test_path writes "<folder>/<name>-XXXXXX" into `ret_path`, of `size` bytes, and returns it. */
static inline char *test_path(char *ret_path, size_t size, const char *name)
{
    const char *folder = getenv("TMPDIR");
    int len = snprintf(ret_path, size, "%s/%s-XXXXXX", folder && folder[0] ? folder : "/tmp", name);

    AT_ASSERT(len > 0 && (size_t)len < size);
    return ret_path;
}

#endif
