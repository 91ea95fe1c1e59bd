#include "cluster/tablet/fold.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"

static void add_int(struct at_fold *fold, struct at_slice partial);

void at_fold_deinit(struct at_fold *fold)
{
    at_hll_deinit(&fold->hll);
    at_free(fold->bytes);
    *fold = (struct at_fold){0};
}

bool at_fold_fits(enum at_family_type type, struct at_slice partial)
{
    AT_ASSERT(at_fold_applies(type));
    if (type == AT_FAMILY_HLL)
        return at_hll_check(partial) == AT_OK;
    return partial.len == AT_FOLD_INT_BYTES;
}

bool at_fold_add(struct at_fold *fold,
                 enum at_family_type type,
                 int64_t timestamp_micros,
                 struct at_slice partial)
{
    AT_ASSERT(at_fold_applies(type));
    AT_ASSERT(!fold->active || fold->timestamp_micros == timestamp_micros);
    AT_ASSERT(!fold->active || fold->type == type);
    if (type != AT_FAMILY_HLL && partial.len != AT_FOLD_INT_BYTES)
        return false;
    if (!fold->active)
        at_hll_clear(&fold->hll);
    fold->type = type;
    if (type != AT_FAMILY_HLL)
        add_int(fold, partial);
    else if (at_hll_merge(&fold->hll, partial) != AT_OK)
        return false;
    fold->active = true;
    fold->timestamp_micros = timestamp_micros;
    return true;
}

void at_fold_drop(struct at_fold *fold)
{
    fold->active = false;
}

struct at_slice at_fold_take(struct at_fold *fold)
{
    AT_ASSERT(fold->active);
    fold->active = false;
    if (fold->bytes == NULL)
        fold->bytes = at_alloc(AT_HLL_STATE_BYTES_MAX);
    if (fold->type == AT_FAMILY_HLL)
        return at_slice_make(fold->bytes, at_hll_encode(&fold->hll, fold->bytes));
    at_put_be64(fold->bytes, (uint64_t)fold->value);
    return at_slice_make(fold->bytes, AT_FOLD_INT_BYTES);
}

static void add_int(struct at_fold *fold, struct at_slice partial)
{
    int64_t add = (int64_t)at_get_be64(partial.data);

    if (!fold->active)
        fold->value = add;
    else if (fold->type == AT_FAMILY_SUM)
        fold->value = (int64_t)((uint64_t)fold->value + (uint64_t)add);
    else if (fold->type == AT_FAMILY_MIN)
        fold->value = add < fold->value ? add : fold->value;
    else
        fold->value = add > fold->value ? add : fold->value;
}
