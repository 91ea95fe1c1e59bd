/* histogram.c: values below 128 have a bucket each; above, the 7 bits behind the leading one pick
 * the bucket within their power of two. */
#include "cli/histogram.h"

static size_t bucket_of(uint64_t value)
{
    if (value < AT_HISTOGRAM_SUB_COUNT)
        return (size_t)value;
    unsigned shift = 63U - (unsigned)__builtin_clzll(value) - AT_HISTOGRAM_SUB_BITS;
    return (size_t)(shift + 1) * AT_HISTOGRAM_SUB_COUNT +
           (size_t)((value >> shift) & (AT_HISTOGRAM_SUB_COUNT - 1));
}

/* The largest value of a bucket. */
static uint64_t bucket_top(size_t bucket)
{
    if (bucket < AT_HISTOGRAM_SUB_COUNT)
        return bucket;
    unsigned shift = (unsigned)(bucket / AT_HISTOGRAM_SUB_COUNT) - 1;
    uint64_t lead = AT_HISTOGRAM_SUB_COUNT + bucket % AT_HISTOGRAM_SUB_COUNT;
    return (lead << shift) + ((UINT64_C(1) << shift) - 1);
}

void at_histogram_add(struct at_histogram *h, uint64_t value)
{
    h->buckets[bucket_of(value)]++;
    h->total++;
    if (value > h->max)
        h->max = value;
}

void at_histogram_merge(struct at_histogram *h, const struct at_histogram *from)
{
    for (size_t i = 0; i < AT_HISTOGRAM_BUCKET_COUNT; i++)
        h->buckets[i] += from->buckets[i];
    h->total += from->total;
    if (from->max > h->max)
        h->max = from->max;
}

uint64_t at_histogram_quantile(const struct at_histogram *h, double quantile)
{
    uint64_t wanted = (uint64_t)(quantile * (double)h->total);
    uint64_t seen = 0;
    if (h->total == 0)
        return 0;
    if (wanted >= h->total)
        return h->max;
    for (size_t i = 0; i < AT_HISTOGRAM_BUCKET_COUNT; i++) {
        seen += h->buckets[i];
        if (seen > wanted)
            return bucket_top(i) < h->max ? bucket_top(i) : h->max;
    }
    return h->max;
}
