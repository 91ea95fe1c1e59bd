/* crc32c.h: CRC-32C (Castagnoli), the checksum of what lies on disk for long, and of what
 * travels far. PURE. */
#ifndef ATOLL_BASE_CRC32C_H
#define ATOLL_BASE_CRC32C_H

#include "base/slice.h"

uint32_t at_crc32c(struct at_slice s);

/* at_crc32c_extend returns the checksum of what has the checksum `crc`, followed by `s`. */
uint32_t at_crc32c_extend(uint32_t crc, struct at_slice s);

#endif
