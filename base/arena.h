/* arena.h: memory that is freed all at once: per request, per step. PURE.
 *
 * Blocks grow geometrically and are kept by at_arena_reset (the first one), so
 * a request that fits into the first block allocates nothing. Under ASan what is
 * not handed out is poisoned. One thread. */
#ifndef ATOLL_BASE_ARENA_H
#define ATOLL_BASE_ARENA_H

#include "base/slice.h"

#include <sanitizer/asan_interface.h> /* its macros do nothing without ASan */

#define AT_ARENA_ALIGN ((size_t)16)

struct at_arena_block;

/* Invariant: next <= end, both in the newest block, next aligned for any type. */
struct at_arena {
    struct at_arena_block *head;
    uint8_t *next;
    uint8_t *end;
    size_t used_bytes;  /* handed out since the last reset */
    size_t first_bytes; /* size of the first block */
};

void at_arena_init(struct at_arena *a, size_t first_bytes);
void at_arena_deinit(struct at_arena *a);

/* at_arena_reset frees all but the first block. */
void at_arena_reset(struct at_arena *a);

/* at_arena_grow is the slow half of at_arena_alloc_raw. */
__attribute__((returns_nonnull)) void *at_arena_grow(struct at_arena *a, size_t size);

/* at_arena_alloc_raw returns memory aligned for any type, not zeroed. Never NULL (see alloc.h). */
__attribute__((returns_nonnull)) static inline void *at_arena_alloc_raw(struct at_arena *a,
                                                                        size_t size)
{
    size_t left = (size_t)(a->end - a->next);
    size_t step = (size + AT_ARENA_ALIGN - 1) & ~(AT_ARENA_ALIGN - 1);

    if (step > left || step < size || a->next == NULL)
        return at_arena_grow(a, size);
    void *p = a->next;
    a->next += step;
    a->used_bytes += step;
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
}

/* at_arena_alloc is the same, zeroed. */
__attribute__((returns_nonnull)) static inline void *at_arena_alloc(struct at_arena *a, size_t size)
{
    return memset(at_arena_alloc_raw(a, size), 0, size);
}

/* at_arena_copy copies a slice into the arena, with a NUL behind it that is not counted. */
struct at_slice at_arena_copy(struct at_arena *a, struct at_slice s);

/* at_arena_printf formats into the arena; the result is NUL-terminated. */
char *at_arena_printf(struct at_arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3), returns_nonnull));

#define AT_ARENA_NEW(a, type) ((type *)at_arena_alloc((a), sizeof(type)))
#define AT_ARENA_ARRAY(a, type, count) ((type *)at_arena_alloc((a), sizeof(type) * (count)))

#endif
