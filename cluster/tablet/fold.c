#include "cluster/tablet/fold.h"

#include "base/assert.h"
#include "base/bytes.h"

enum at_code at_fold_add(struct at_fold *fold,
                         enum at_family_type type,
                         int64_t timestamp_micros,
                         struct at_slice value)
{
    AT_ASSERT(at_fold_applies(type));
    AT_ASSERT(!fold->active || fold->timestamp_micros == timestamp_micros);
    if (value.len != AT_FOLD_VALUE_BYTES)
        return AT_DATA_LOSS;

    int64_t add = (int64_t)at_get_be64(value.data);
    if (!fold->active)
        fold->value = add;
    else if (type == AT_FAMILY_SUM)
        fold->value = (int64_t)((uint64_t)fold->value + (uint64_t)add);
    else if (type == AT_FAMILY_MIN)
        fold->value = add < fold->value ? add : fold->value;
    else
        fold->value = add > fold->value ? add : fold->value;
    fold->active = true;
    fold->timestamp_micros = timestamp_micros;
    return AT_OK;
}

struct at_slice at_fold_take(struct at_fold *fold)
{
    AT_ASSERT(fold->active);
    at_put_be64(fold->bytes, (uint64_t)fold->value);
    fold->active = false;
    return at_slice_make(fold->bytes, sizeof(fold->bytes));
}
