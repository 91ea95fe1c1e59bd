#include "wire/h2_memory.h"

#include "base/alloc.h"

#include <sanitizer/asan_interface.h> /* its macros do nothing without ASan */
#include <stdint.h>
#include <string.h>

/* A block is a head and room for a multiple of STEP_BYTES. Class 0 is all that is larger than the
 * other classes hold; such blocks are not kept. */

#define STEP_BYTES ((size_t)64)

struct at_h2_block {
    struct at_h2_block *next; /* while it is kept */
    size_t room_bytes;
    _Alignas(16) uint8_t data[];
};

static size_t class_of(size_t room_bytes)
{
    size_t class = room_bytes / STEP_BYTES;

    return class < AT_H2_MEMORY_CLASSES ? class : 0;
}

static struct at_h2_block *block_of(void *data)
{
    return (struct at_h2_block *)(void *)((uint8_t *)data - offsetof(struct at_h2_block, data));
}

/* nghttp2 asks for no more than frames and tables take, which are bounded. */
static void *take(size_t size, void *memory)
{
    struct at_h2_memory *m = memory;
    size_t room_bytes = size == 0 ? STEP_BYTES : (size + STEP_BYTES - 1) & ~(STEP_BYTES - 1);
    struct at_h2_block **kept = &m->kept[class_of(room_bytes)];
    struct at_h2_block *block = *kept;

    if (block == NULL) {
        block = at_realloc(NULL, sizeof(*block) + room_bytes);
        block->room_bytes = room_bytes;
        return block->data;
    }
    *kept = block->next;
    m->kept_bytes -= room_bytes;
    ASAN_UNPOISON_MEMORY_REGION(block->data, room_bytes);
    return block->data;
}

static void give_back(void *data, void *memory)
{
    struct at_h2_memory *m = memory;

    if (data == NULL)
        return;
    struct at_h2_block *block = block_of(data);
    size_t class = class_of(block->room_bytes);
    if (class == 0 || m->kept_bytes + block->room_bytes > AT_H2_MEMORY_KEPT_BYTES) {
        at_free(block);
        return;
    }
    ASAN_POISON_MEMORY_REGION(block->data, block->room_bytes);
    block->next = m->kept[class];
    m->kept[class] = block;
    m->kept_bytes += block->room_bytes;
}

static void *take_zeroed(size_t count, size_t size, void *memory)
{
    void *data = take(count * size, memory);

    return memset(data, 0, count * size);
}

static void *resize(void *data, size_t size, void *memory)
{
    if (data != NULL && size <= block_of(data)->room_bytes)
        return data;
    void *larger = take(size, memory);
    if (data != NULL)
        memcpy(larger, data, block_of(data)->room_bytes);
    give_back(data, memory);
    return larger;
}

void at_h2_memory_init(struct at_h2_memory *m)
{
    *m = (struct at_h2_memory){.mem = {
                                   .mem_user_data = m,
                                   .malloc = take,
                                   .free = give_back,
                                   .calloc = take_zeroed,
                                   .realloc = resize,
                               }};
}

void at_h2_memory_deinit(struct at_h2_memory *m)
{
    for (size_t class = 0; class < AT_H2_MEMORY_CLASSES; class ++) {
        while (m->kept[class] != NULL) {
            struct at_h2_block *block = m->kept[class];
            m->kept[class] = block->next;
            ASAN_UNPOISON_MEMORY_REGION(block->data, block->room_bytes);
            at_free(block);
        }
    }
}
