#include "base/assert.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The process state is no longer trusted here: no heap, no log, no locks of ours. */

#define FRAMES_MAX 64

void at_assert_fail(const char *cond, const char *file, int line)
{
    void *frames[FRAMES_MAX];

    dprintf(STDERR_FILENO, "<2>level=fatal msg=\"assertion failed\" cond=\"%s\" at=%s:%d\n", cond,
            file, line);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
    abort();
}
