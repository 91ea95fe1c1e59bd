#include "cluster/model/hll.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/hash.h"

#include <math.h>

/* A value's hash gives, at either precision, an index (its highest bits) and a rank (the place of
 * the first 1 in the bits behind them, counted from 1). An entry keeps both at precision 25, and
 * that is enough to find them at precision 14: the lower 11 bits of the index come before the bits
 * of the rank. So going dense loses nothing that a dense sketch would have known.
 *
 * The estimate of a dense sketch is Ertl's ("New cardinality estimation algorithms for HyperLogLog
 * sketches", 2017): it has no bias to be corrected by tables, at no cardinality. A sparse sketch
 * counts linearly in 2^25 slots. */

#define VERSION 1
#define FORM_SPARSE 1
#define FORM_DENSE 2
/* Stored states depend on it: it never changes under this version. */
#define HASH_SEED UINT64_C(0x61746f6c6c686c6c) /* "atollhll" */

#define REGISTERS (1u << AT_HLL_PRECISION)
#define RANK_BITS 6
#define RANK_MASK ((1u << RANK_BITS) - 1)
#define LOW_BITS (AT_HLL_SPARSE_PRECISION - AT_HLL_PRECISION)
#define SPARSE_RANK_MAX (64 - AT_HLL_SPARSE_PRECISION + 1)
#define DENSE_RANK_MAX (64 - AT_HLL_PRECISION + 1)

_Static_assert(AT_HLL_HEADER_BYTES + AT_HLL_DENSE_BYTES <= AT_HLL_STATE_BYTES_MAX,
               "both forms fit into the largest state");

static const uint8_t HEAD[] = {'H', 'L', 'L', VERSION, AT_HLL_PRECISION};

static uint32_t entry_of(struct at_slice value);
static void add_entry(struct at_hll *hll, uint32_t entry);
static void raise_register(uint8_t *registers, uint32_t entry);
static void go_dense(struct at_hll *hll);
static size_t put_head(uint8_t *out, uint8_t form);
static enum at_code check_entries(struct at_slice entries);
static uint32_t packed_rank(const uint8_t *packed, uint32_t index);
static double sigma(double x);
static double tau(double x);

void at_hll_deinit(struct at_hll *hll)
{
    at_free(hll->entries);
    at_free(hll->registers);
    *hll = (struct at_hll){0};
}

void at_hll_clear(struct at_hll *hll)
{
    hll->entry_count = 0;
    hll->dense = false;
}

void at_hll_add(struct at_hll *hll, struct at_slice value)
{
    add_entry(hll, entry_of(value));
}

enum at_code at_hll_merge(struct at_hll *hll, struct at_slice state)
{
    AT_TRY(at_hll_check(state));
    struct at_slice body = at_slice_from(state, AT_HLL_HEADER_BYTES);
    if (state.data[AT_HLL_HEADER_BYTES - 1] == FORM_SPARSE) {
        for (size_t at = 0; at < body.len; at += AT_HLL_ENTRY_BYTES)
            add_entry(hll, at_get_be32(body.data + at));
        return AT_OK;
    }
    if (!hll->dense)
        go_dense(hll);
    for (uint32_t i = 0; i < REGISTERS; i++) {
        uint32_t rank = packed_rank(body.data, i);
        if (rank > hll->registers[i])
            hll->registers[i] = (uint8_t)rank;
    }
    return AT_OK;
}

enum at_code at_hll_check(struct at_slice state)
{
    if (state.len < AT_HLL_HEADER_BYTES || memcmp(state.data, HEAD, sizeof(HEAD)) != 0)
        return AT_INVALID_ARGUMENT;
    struct at_slice body = at_slice_from(state, AT_HLL_HEADER_BYTES);
    switch (state.data[AT_HLL_HEADER_BYTES - 1]) {
    case FORM_SPARSE:
        return check_entries(body);
    case FORM_DENSE:
        if (body.len != AT_HLL_DENSE_BYTES)
            return AT_INVALID_ARGUMENT;
        for (uint32_t i = 0; i < REGISTERS; i++)
            if (packed_rank(body.data, i) > DENSE_RANK_MAX)
                return AT_INVALID_ARGUMENT;
        return AT_OK;
    default:
        return AT_INVALID_ARGUMENT;
    }
}

size_t at_hll_encode(const struct at_hll *hll, uint8_t *out)
{
    size_t len = put_head(out, hll->dense ? FORM_DENSE : FORM_SPARSE);

    if (!hll->dense) {
        for (uint32_t i = 0; i < hll->entry_count; i++, len += AT_HLL_ENTRY_BYTES)
            at_put_be32(out + len, hll->entries[i]);
        return len;
    }
    for (uint32_t i = 0; i < REGISTERS; i += 4, len += 3) {
        const uint8_t *r = hll->registers + i;
        out[len] = (uint8_t)(r[0] << 2 | r[1] >> 4);
        out[len + 1] = (uint8_t)(r[1] << 4 | r[2] >> 2);
        out[len + 2] = (uint8_t)(r[2] << 6 | r[3]);
    }
    return len;
}

void at_hll_one(struct at_slice value, uint8_t *out)
{
    at_put_be32(out + put_head(out, FORM_SPARSE), entry_of(value));
}

uint64_t at_hll_estimate(const struct at_hll *hll)
{
    double count_of[DENSE_RANK_MAX + 1] = {0};
    double m = REGISTERS;

    if (!hll->dense) {
        double slots = 1u << AT_HLL_SPARSE_PRECISION;
        return (uint64_t)llround(slots * log(slots / (slots - hll->entry_count)));
    }
    for (uint32_t i = 0; i < REGISTERS; i++)
        count_of[hll->registers[i]]++;
    double z = m * tau(1 - count_of[DENSE_RANK_MAX] / m);
    for (int rank = DENSE_RANK_MAX - 1; rank >= 1; rank--)
        z = 0.5 * (z + count_of[rank]);
    z += m * sigma(count_of[0] / m);
    double estimate = m * m / (2 * log(2) * z);
    return estimate < 0x1p63 ? (uint64_t)llround(estimate) : INT64_MAX;
}

static uint32_t entry_of(struct at_slice value)
{
    uint64_t hash = at_hash64(value, HASH_SEED);
    uint64_t rest = hash << AT_HLL_SPARSE_PRECISION;
    uint32_t rank = rest != 0 ? (uint32_t)__builtin_clzll(rest) + 1 : SPARSE_RANK_MAX;

    return (uint32_t)(hash >> (64 - AT_HLL_SPARSE_PRECISION)) << RANK_BITS | rank;
}

static void add_entry(struct at_hll *hll, uint32_t entry)
{
    uint32_t low = 0;
    uint32_t high = hll->entry_count;

    if (hll->dense) {
        raise_register(hll->registers, entry);
        return;
    }
    if (hll->entries == NULL)
        hll->entries = at_alloc((AT_HLL_SPARSE_MAX + 1) * sizeof(*hll->entries));
    while (low < high) { /* the first entry of this index or a higher one */
        uint32_t middle = (low + high) / 2;
        if (hll->entries[middle] >> RANK_BITS < entry >> RANK_BITS)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t *place = &hll->entries[low];
    if (low < hll->entry_count && *place >> RANK_BITS == entry >> RANK_BITS) {
        *place = entry > *place ? entry : *place;
        return;
    }
    memmove(place + 1, place, (hll->entry_count - low) * sizeof(*place));
    *place = entry;
    if (++hll->entry_count > AT_HLL_SPARSE_MAX)
        go_dense(hll);
}

static void raise_register(uint8_t *registers, uint32_t entry)
{
    uint32_t index = entry >> RANK_BITS;
    uint32_t low = index & ((1u << LOW_BITS) - 1);
    uint32_t rank = LOW_BITS + (entry & RANK_MASK);

    if (low != 0)
        rank = (uint32_t)__builtin_clz(low) - (32 - LOW_BITS) + 1;
    uint8_t *r = &registers[index >> LOW_BITS];
    *r = rank > *r ? (uint8_t)rank : *r;
}

static void go_dense(struct at_hll *hll)
{
    AT_ASSERT(!hll->dense);
    if (hll->registers == NULL)
        hll->registers = at_alloc(REGISTERS);
    memset(hll->registers, 0, REGISTERS);
    for (uint32_t i = 0; i < hll->entry_count; i++)
        raise_register(hll->registers, hll->entries[i]);
    hll->entry_count = 0;
    hll->dense = true;
}

static size_t put_head(uint8_t *out, uint8_t form)
{
    memcpy(out, HEAD, sizeof(HEAD));
    out[sizeof(HEAD)] = form;
    return AT_HLL_HEADER_BYTES;
}

static enum at_code check_entries(struct at_slice entries)
{
    uint32_t least = 0; /* of the next index */

    if (entries.len % AT_HLL_ENTRY_BYTES != 0 ||
        entries.len > AT_HLL_SPARSE_MAX * AT_HLL_ENTRY_BYTES)
        return AT_INVALID_ARGUMENT;
    for (size_t at = 0; at < entries.len; at += AT_HLL_ENTRY_BYTES) {
        uint32_t entry = at_get_be32(entries.data + at);
        uint32_t index = entry >> RANK_BITS;
        uint32_t rank = entry & RANK_MASK;
        if (index < least || index >= 1u << AT_HLL_SPARSE_PRECISION || rank == 0 ||
            rank > SPARSE_RANK_MAX)
            return AT_INVALID_ARGUMENT;
        least = index + 1;
    }
    return AT_OK;
}

static uint32_t packed_rank(const uint8_t *packed, uint32_t index)
{
    const uint8_t *p = packed + (size_t)index / 4 * 3;
    uint32_t four = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

    return four >> (18 - index % 4 * RANK_BITS) & RANK_MASK;
}

/* The two series of the estimator; each ends when it no longer changes. */
static double sigma(double x)
{
    double y = 1;
    double z = x;
    double before;

    if (x >= 1)
        return INFINITY;
    do {
        before = z;
        x *= x;
        z += x * y;
        y += y;
    } while (z > before);
    return z;
}

static double tau(double x)
{
    double y = 1;
    double z = 1 - x;
    double before;

    if (x <= 0 || x >= 1)
        return 0;
    do {
        before = z;
        x = sqrt(x);
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z < before);
    return z / 3;
}
