/* mutation_decode.h: mutations of a request, from protobuf to the model's form. PURE. */
#ifndef ATOLL_CLUSTER_SERVICE_MUTATION_DECODE_H
#define ATOLL_CLUSTER_SERVICE_MUTATION_DECODE_H

#include "base/arena.h"
#include "cluster/model/mutation.h"
#include "google/bigtable/v2/data.pb-c.h"

struct at_mutation_list {
    struct at_mutation *items;
    uint32_t count;
};

/* at_mutation_decode_list turns `count` mutations into the model's form, in the arena, and applies
 * the API's limits to each. Slices borrow the request. A value to add is 8 bytes, big-endian, when
 * it came as an integer. No mutations at all, or more than AT_MUTATIONS_MAX, are INVALID_ARGUMENT,
 * as is all else that is wrong ("Error in field 'Mutation list' : Error in element #0 : ...");
 * UNIMPLEMENTED for a kind of mutation this server does not know. */
AT_MUST_USE enum at_code at_mutation_decode_list(Google__Bigtable__V2__Mutation *const *mutations,
                                                 size_t count,
                                                 int64_t granularity_micros,
                                                 struct at_arena *arena,
                                                 struct at_mutation_list *ret_list,
                                                 struct at_error *reterr);

/* at_idempotency_decode: an empty token when there is none (`in` NULL). The start is 0 when it is
 * not given. INVALID_ARGUMENT for a token below 8 bytes and for a malformed start_time. */
AT_MUST_USE enum at_code at_idempotency_decode(const Google__Bigtable__V2__Idempotency *in,
                                               struct at_slice *ret_token,
                                               int64_t *ret_start_micros,
                                               struct at_error *reterr);

/* at_mutation_in_entry puts "Error in field 'Entry list' : Error in element #index : " before the
 * message, for what is wrong in one entry of MutateRows. Returns the error's code. */
AT_MUST_USE enum at_code at_mutation_in_entry(struct at_error *error, size_t index);

#endif
