#include "cli/cell_diff.h"

#include "base/assert.h"

static int compare(const struct at_listed_cell *a, const struct at_listed_cell *b)
{
    int order = at_slice_cmp(a->row, b->row);

    if (order == 0)
        order = at_slice_cmp(a->family, b->family);
    if (order == 0)
        order = at_slice_cmp(a->qualifier, b->qualifier);
    if (order == 0)
        order = (a->timestamp_micros < b->timestamp_micros) -
                (a->timestamp_micros > b->timestamp_micros);
    return order;
}

size_t at_cell_diff(const struct at_cell_list *lists,
                    uint32_t list_count,
                    void (*differs)(void *ctx, const struct at_listed_cell *const *cells),
                    void *ctx)
{
    size_t at[AT_MEMBERS_MAX] = {0};
    size_t count = 0;

    AT_ASSERT(list_count > 0 && list_count <= AT_MEMBERS_MAX);
    for (;;) {
        const struct at_listed_cell *cells[AT_MEMBERS_MAX] = {0};
        const struct at_listed_cell *first = NULL;
        bool same = true;
        for (uint32_t i = 0; i < list_count; i++)
            if (at[i] < lists[i].count &&
                (first == NULL || compare(&lists[i].cells[at[i]], first) < 0))
                first = &lists[i].cells[at[i]];
        if (first == NULL)
            return count;
        for (uint32_t i = 0; i < list_count; i++) {
            if (at[i] < lists[i].count && compare(&lists[i].cells[at[i]], first) == 0)
                cells[i] = &lists[i].cells[at[i]++];
            same = same && cells[i] != NULL && at_slice_eq(cells[i]->value, first->value);
        }
        if (same)
            continue;
        count++;
        differs(ctx, cells);
    }
}
