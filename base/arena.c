#include "base/arena.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Blocks form a list, newest first; the first block is its last node and outlives resets. A
 * request larger than the next block would be gets a block of its own *behind* the newest one,
 * so that one large value neither wastes what is left of the newest nor doubles the growth. */

#define FIRST_BYTES_MIN ((size_t)256)
#define GROWTH_BYTES_MAX ((size_t)1 << 20)

struct at_arena_block {
    struct at_arena_block *older;
    size_t size;
    _Alignas(16) uint8_t data[];
};

static struct at_arena_block *block_new(size_t size);
static void rewind_to(struct at_arena *a, struct at_arena_block *block);

void at_arena_init(struct at_arena *a, size_t first_bytes)
{
    first_bytes = (first_bytes + AT_ARENA_ALIGN - 1) & ~(AT_ARENA_ALIGN - 1);
    *a = (struct at_arena){.first_bytes =
                               first_bytes > FIRST_BYTES_MIN ? first_bytes : FIRST_BYTES_MIN};
}

void at_arena_deinit(struct at_arena *a)
{
    at_arena_reset(a);
    at_free(a->head);
    *a = (struct at_arena){0};
}

void at_arena_reset(struct at_arena *a)
{
    struct at_arena_block *b = a->head;

    a->used_bytes = 0;
    if (b == NULL)
        return;
    while (b->older != NULL) {
        struct at_arena_block *older = b->older;
        at_free(b);
        b = older;
    }
    rewind_to(a, b);
}

void *at_arena_grow(struct at_arena *a, size_t size)
{
    AT_ASSERT(size <= SIZE_MAX / 4);
    size_t step = (size + AT_ARENA_ALIGN - 1) & ~(AT_ARENA_ALIGN - 1);

    if (a->head == NULL) {
        rewind_to(a, block_new(a->first_bytes));
    } else {
        size_t next_bytes =
            a->head->size < GROWTH_BYTES_MAX / 2 ? a->head->size * 2 : GROWTH_BYTES_MAX;
        if (next_bytes < a->first_bytes)
            next_bytes = a->first_bytes;
        if (step <= next_bytes) {
            struct at_arena_block *b = block_new(next_bytes);
            b->older = a->head;
            rewind_to(a, b);
        }
    }
    a->used_bytes += step;
    if (step <= (size_t)(a->end - a->next)) {
        a->next += step;
        ASAN_UNPOISON_MEMORY_REGION(a->next - step, size);
        return a->next - step;
    }

    /* The first block must stay the last node: the own block goes between the two. */
    struct at_arena_block *own = block_new(step);
    ASAN_POISON_MEMORY_REGION(own->data + size, step - size);
    if (a->head->older == NULL) {
        own->older = a->head;
        a->head = own;
        a->next = a->end = own->data + own->size;
        return own->data;
    }
    own->older = a->head->older;
    a->head->older = own;
    return own->data;
}

struct at_slice at_arena_copy(struct at_arena *a, struct at_slice s)
{
    uint8_t *copy = at_arena_alloc_raw(a, s.len + 1);

    if (s.len > 0)
        memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    return at_slice_make(copy, s.len);
}

char *at_arena_printf(struct at_arena *a, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    AT_ASSERT(n >= 0);
    char *text = at_arena_alloc_raw(a, (size_t)n + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

static struct at_arena_block *block_new(size_t size)
{
    struct at_arena_block *b = at_realloc(NULL, sizeof(*b) + size);

    b->older = NULL;
    b->size = size;
    return b;
}

static void rewind_to(struct at_arena *a, struct at_arena_block *block)
{
    a->head = block;
    a->next = block->data;
    a->end = block->data + block->size;
    ASAN_POISON_MEMORY_REGION(block->data, block->size);
}
