/* fuzz_request.c: the first byte picks a request of the data API, the rest is its message. What
 * unpacks goes through the decoders and the checks behind them; nothing may crash, and what is
 * accepted must keep the decoders' promises. */
#include "base/alloc.h"
#include "base/assert.h"
#include "cluster/service/features.h"
#include "cluster/service/filter_decode.h"
#include "cluster/service/mutation_decode.h"
#include "cluster/service/row_set_decode.h"
#include "google/bigtable/v2/bigtable.pb-c.h"
#include "wire/proto_alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GRANULARITY_MICROS 1000

static void try_mutations(Google__Bigtable__V2__Mutation *const *mutations,
                          size_t count,
                          struct at_arena *arena)
{
    struct at_mutation_list list;
    struct at_error error = {0};
    enum at_code code =
        at_mutation_decode_list(mutations, count, GRANULARITY_MICROS, arena, &list, &error);

    if (code != AT_OK) {
        AT_ASSERT(error.code == code && error.msg[0] != '\0');
        AT_ASSERT(at_mutation_in_entry(&error, 3) == code);
        return;
    }
    AT_ASSERT(list.count == count && count > 0);
    for (uint32_t i = 0; i < list.count; i++)
        AT_ASSERT(at_mutation_check(&list.items[i], i, GRANULARITY_MICROS, NULL) == AT_OK);
}

static void try_filter(const Google__Bigtable__V2__RowFilter *in, struct at_arena *arena)
{
    struct at_filter_node *root;
    struct at_filter *filter = NULL;

    if (at_filter_decode(in, arena, &root, NULL) != AT_OK || !root)
        return;
    if (at_filter_compile(root, &filter, NULL) == AT_OK)
        (void)at_filter_may_pass_family(filter, AT_LIT("f"));
    at_filter_free(&filter);
}

static void try_rows(const Google__Bigtable__V2__RowSet *in, struct at_arena *arena)
{
    struct at_row_set set;

    if (at_row_set_decode(in, arena, &set, NULL) != AT_OK)
        return;
    AT_ASSERT(set.count > 0);
    for (uint32_t i = 1; i < set.count; i++) {
        AT_ASSERT(set.ranges[i - 1].end.len > 0);
        AT_ASSERT(at_slice_cmp(set.ranges[i - 1].end, set.ranges[i].start) <= 0);
    }
}

static void try_read_rows(struct at_slice bytes, struct at_arena *arena)
{
    const Google__Bigtable__V2__ReadRowsRequest *in =
        at_proto_unpack(arena, &google__bigtable__v2__read_rows_request__descriptor, bytes);

    if (!in)
        return;
    try_rows(in->rows, arena);
    try_filter(in->filter, arena);
}

static void try_mutate_rows(struct at_slice bytes, struct at_arena *arena)
{
    const Google__Bigtable__V2__MutateRowsRequest *in =
        at_proto_unpack(arena, &google__bigtable__v2__mutate_rows_request__descriptor, bytes);

    for (size_t i = 0; in && i < in->n_entries; i++)
        try_mutations(in->entries[i]->mutations, in->entries[i]->n_mutations, arena);
}

static void try_mutate_row(struct at_slice bytes, struct at_arena *arena)
{
    const Google__Bigtable__V2__MutateRowRequest *in =
        at_proto_unpack(arena, &google__bigtable__v2__mutate_row_request__descriptor, bytes);

    if (in)
        try_mutations(in->mutations, in->n_mutations, arena);
}

static void try_check_and_mutate(struct at_slice bytes, struct at_arena *arena)
{
    const Google__Bigtable__V2__CheckAndMutateRowRequest *in = at_proto_unpack(
        arena, &google__bigtable__v2__check_and_mutate_row_request__descriptor, bytes);

    if (!in)
        return;
    try_mutations(in->true_mutations, in->n_true_mutations, arena);
    try_mutations(in->false_mutations, in->n_false_mutations, arena);
    try_filter(in->predicate_filter, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_arena arena;

    if (size == 0)
        return 0;
    struct at_slice bytes = at_slice_make(data + 1, size - 1);
    at_arena_init(&arena, 4096);
    switch (data[0] % 5) {
    case 0:
        try_read_rows(bytes, &arena);
        break;
    case 1:
        try_mutate_row(bytes, &arena);
        break;
    case 2:
        try_mutate_rows(bytes, &arena);
        break;
    case 3:
        try_check_and_mutate(bytes, &arena);
        break;
    default:
        (void)at_features_decode(bytes, &arena);
        break;
    }
    at_arena_deinit(&arena);
    return 0;
}
