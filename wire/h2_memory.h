/* h2_memory.h: the memory of the HTTP/2 sessions of one loop. PURE.
 *
 * nghttp2 takes and gives back dozens of small blocks per call, and with many calls in flight more
 * of one size than malloc keeps at hand. Here what was given back is kept by size, up to
 * AT_H2_MEMORY_KEPT_BYTES, and is the first to be taken again. Under ASan what is kept may not be
 * touched. External lock (the loop thread). */
#ifndef ATOLL_WIRE_H2_MEMORY_H
#define ATOLL_WIRE_H2_MEMORY_H

#include <nghttp2/nghttp2.h>

#define AT_H2_MEMORY_KEPT_BYTES ((size_t)1024 * 1024)
#define AT_H2_MEMORY_CLASSES 17

struct at_h2_block;

struct at_h2_memory {
    nghttp2_mem mem; /* to be given to sessions, which must end before this does */
    struct at_h2_block *kept[AT_H2_MEMORY_CLASSES];
    size_t kept_bytes;
};

/* The address must not change afterwards. */
void at_h2_memory_init(struct at_h2_memory *m);
void at_h2_memory_deinit(struct at_h2_memory *m);

#endif
