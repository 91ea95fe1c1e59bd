#include "base/prng.h"

#include "base/assert.h"

#include <errno.h>
#include <stddef.h>
#include <sys/random.h>

/* xoshiro256** 1.0 by D. Blackman and S. Vigna; its state must not be all zero, which splitmix64
 * rules out for every seed. */

static uint64_t rotl(uint64_t x, int k);

void at_prng_init(struct at_prng *p, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        p->s[i] = z ^ (z >> 31);
    }
}

uint64_t at_prng_u64(struct at_prng *p)
{
    uint64_t *s = p->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t at_prng_below(struct at_prng *p, uint64_t n)
{
    AT_ASSERT(n > 0);
    /* 2^64 mod n: numbers below it would make the small remainders likelier. */
    uint64_t skip = (UINT64_MAX - n + 1) % n;
    uint64_t r;

    do
        r = at_prng_u64(p);
    while (r < skip);
    return r % n;
}

void at_random_bytes(void *data, uint64_t len)
{
    uint8_t *p = data;

    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        /* Any other failure means a kernel without getrandom(2): there is nothing to fall back to.
         */
        AT_ASSERT(n > 0);
        p += n;
        len -= (uint64_t)n;
    }
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}
