/* request.h: operations of a program as requests of google.bigtable.v2. PURE. */
#ifndef ATOLL_TESTS_PROPERTY_REQUEST_H
#define ATOLL_TESTS_PROPERTY_REQUEST_H

#include "property/program.h"

/* request_encode returns the serialized request, in the arena, and the name of its method; NULL for
 * operations that are no data request. */
const char *request_encode(const struct op *op,
                           const char *table_name,
                           struct at_arena *arena,
                           struct at_slice *ret);

#endif
