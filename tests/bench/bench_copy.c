/* bench_copy: how fast a store is copied into another one, both in this process: reading, merging,
 * ingesting and switching, without a network. `bench_copy [MB] [value bytes]`. */
#include "support/copy_fixture.h"

#define ROW_CELLS 64

static double seconds(void)
{
    struct at_clock c = at_clock_system();

    return (double)at_clock_mono_ns(&c) / 1e9;
}

static void fill(struct fx *f, uint64_t bytes, size_t value_bytes)
{
    char *value = at_alloc(value_bytes + 1);
    struct at_mutation m[ROW_CELLS];
    char qualifiers[ROW_CELLS][16];
    char row[24];
    uint64_t n = 0;
    uint64_t seed = 88172645463325252u;

    fx_make_table(f);
    for (uint64_t done = 0; done < bytes; n++) {
        for (size_t i = 0; i < value_bytes; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            value[i] = (char)('a' + seed % 26);
        }
        value[value_bytes] = '\0';
        snprintf(row, sizeof(row), "user%010llu",
                 (unsigned long long)(n * 2654435761u % 10000000000u));
        for (int i = 0; i < ROW_CELLS; i++) {
            snprintf(qualifiers[i], sizeof(qualifiers[i]), "q%d", i);
            m[i] = fx_set_of("f", qualifiers[i], 1000, value);
        }
        AT_ASSERT(fx_mutate(f, row, m, ROW_CELLS, NULL) == AT_OK);
        done += ROW_CELLS * value_bytes;
    }
    at_free(value);
}

int main(int argc, char **argv)
{
    uint64_t mb = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
    size_t value_bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    struct fx a, b;
    struct cfx c;

    fx_open(&a, 1, 2);
    fx_open(&b, 2, 2);
    fill(&a, mb << 20, value_bytes);
    for (int round = 0; round < 2; round++) {
        double begin = seconds();
        cfx_begin(&c, &b, &a);
        c.chunk_bytes = 4 * AT_MIB;
        while (cfx_step(&c))
            continue;
        double taken = seconds();
        uint64_t bytes = c.bytes;
        AT_ASSERT(cfx_finish(&c, NULL) == AT_OK);
        double end = seconds();
        printf("%s: %.0f MB in %.2f s: %.0f MB/s (finish %.3f s)\n",
               round == 0 ? "into an empty store" : "over the same data", (double)bytes / 1e6,
               end - begin, (double)bytes / 1e6 / (end - begin), end - taken);
    }
    fx_close(&a);
    fx_close(&b);
    return 0;
}
