/* alloc.h: heap memory for small objects, and clean-up by scope. PURE.
 *
 * Running out of memory on a small object ends the process with a message (as
 * git and h2o do). Anything whose size a peer chooses is limited first, so
 * these never see an unbounded size. */
#ifndef ATOLL_BASE_ALLOC_H
#define ATOLL_BASE_ALLOC_H

#include <stddef.h>

/* at_alloc returns zeroed memory that at_free releases. Never NULL; size 0 is allowed. */
__attribute__((malloc, warn_unused_result, returns_nonnull)) void *at_alloc(size_t size);

/* at_realloc grows or shrinks `p` (NULL allowed); new bytes are not zeroed. Never NULL. */
__attribute__((warn_unused_result, returns_nonnull)) void *at_realloc(void *p, size_t size);

/* at_dup copies `len` bytes and adds a NUL behind them. Never NULL. */
__attribute__((malloc, warn_unused_result, returns_nonnull)) char *at_dup(const void *data,
                                                                          size_t len);

/* at_free releases; NULL is allowed. */
void at_free(void *p);

#define AT_NEW(type) ((type *)at_alloc(sizeof(type)))

/* AT_CLEANUP(f) calls f(&variable) at the end of the scope. */
#define AT_CLEANUP(f) __attribute__((cleanup(f)))

/* AT_TAKE hands a pointer out of a cleanup scope: yields it and nulls the variable. */
#define AT_TAKE(p)                     \
    __extension__({                    \
        __typeof__(p) at_taken_ = (p); \
        (p) = NULL;                    \
        at_taken_;                     \
    })

/* at_free_ptr is for AT_CLEANUP on plain heap pointers. */
static inline void at_free_ptr(void *p)
{
    at_free(*(void **)p);
}

#endif
