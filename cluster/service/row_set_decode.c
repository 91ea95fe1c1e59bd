#include "cluster/service/row_set_decode.h"

#include "wire/proto_alloc.h"

static struct at_row_bound start_of(const Google__Bigtable__V2__RowRange *r)
{
    if (r->start_key_case == GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_CLOSED)
        return (struct at_row_bound){AT_BOUND_CLOSED, at_proto_bytes(r->start_key_closed)};
    if (r->start_key_case == GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_OPEN)
        return (struct at_row_bound){AT_BOUND_OPEN, at_proto_bytes(r->start_key_open)};
    return (struct at_row_bound){.kind = AT_BOUND_NONE};
}

static struct at_row_bound end_of(const Google__Bigtable__V2__RowRange *r)
{
    if (r->end_key_case == GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_CLOSED)
        return (struct at_row_bound){AT_BOUND_CLOSED, at_proto_bytes(r->end_key_closed)};
    if (r->end_key_case == GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_OPEN)
        return (struct at_row_bound){AT_BOUND_OPEN, at_proto_bytes(r->end_key_open)};
    return (struct at_row_bound){.kind = AT_BOUND_NONE};
}

enum at_code at_row_set_decode(const Google__Bigtable__V2__RowSet *rows,
                               struct at_arena *arena,
                               struct at_row_set *ret_set,
                               struct at_error *reterr)
{
    at_row_set_init(ret_set);
    for (size_t i = 0; rows && i < rows->n_row_keys; i++)
        AT_TRY(at_row_set_add_key(ret_set, arena, at_proto_bytes(rows->row_keys[i]), reterr));
    for (size_t i = 0; rows && i < rows->n_row_ranges; i++) {
        const Google__Bigtable__V2__RowRange *r = rows->row_ranges[i];
        AT_TRY(at_row_set_add_range(ret_set, arena, (uint32_t)i, start_of(r), end_of(r), reterr));
    }
    at_row_set_finish(ret_set, arena);
    return AT_OK;
}
