/* crc32c.h: CRC-32C (Castagnoli), the checksum of what lies on disk for long. PURE. */
#ifndef ATOLL_BASE_CRC32C_H
#define ATOLL_BASE_CRC32C_H

#include "base/slice.h"

uint32_t at_crc32c(struct at_slice s);

#endif
