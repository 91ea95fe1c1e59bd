/* histogram.h: latencies by log-linear buckets: 128 per power of two, so that a quantile is off by
 * less than 1 %. PURE.
 *
 * Invariant: total is the sum of all buckets. */
#ifndef ATOLL_CLI_HISTOGRAM_H
#define ATOLL_CLI_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define AT_HISTOGRAM_SUB_BITS 7
#define AT_HISTOGRAM_SUB_COUNT (1U << AT_HISTOGRAM_SUB_BITS)
#define AT_HISTOGRAM_BUCKET_COUNT \
    ((size_t)(64 - AT_HISTOGRAM_SUB_BITS + 1) * AT_HISTOGRAM_SUB_COUNT)

/* A zeroed one is empty. */
struct at_histogram {
    uint64_t total;
    uint64_t max;
    uint64_t buckets[AT_HISTOGRAM_BUCKET_COUNT];
};

void at_histogram_add(struct at_histogram *h, uint64_t value);

/* at_histogram_merge adds all that `from` holds. */
void at_histogram_merge(struct at_histogram *h, const struct at_histogram *from);

/* at_histogram_quantile returns the largest value of the bucket in which the quantile (0 to 1)
 * falls, never more than the maximum; 0 when empty. */
uint64_t at_histogram_quantile(const struct at_histogram *h, double quantile);

#endif
