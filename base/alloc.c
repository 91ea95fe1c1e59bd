#include "base/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *check(void *p, size_t size);

void *at_alloc(size_t size)
{
    return check(calloc(1, size ? size : 1), size);
}

void *at_realloc(void *p, size_t size)
{
    return check(realloc(p, size ? size : 1), size);
}

char *at_dup(const void *data, size_t len)
{
    char *copy = check(len < SIZE_MAX ? malloc(len + 1) : NULL, len);

    if (len > 0)
        memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

void at_free(void *p)
{
    free(p);
}

static void *check(void *p, size_t size)
{
    if (p == NULL) {
        dprintf(STDERR_FILENO, "<2>level=fatal msg=\"out of memory\" size=%zu\n", size);
        abort();
    }
    return p;
}
