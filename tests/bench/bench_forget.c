/* bench_forget: what deleted rows cost a read of their range, before and after they are forgotten.
 *
 *     bench_forget [ROWS]
 *
 * Writes rows, reads them, deletes each, reads the range, collects, reads it again, and for
 * comparison a range that was never written. Of several reads the fastest is told. */
#include "support/gc_fixture.h"

#include "base/prng.h"

#define ROWS 100000u
#define REQUEST_ROWS 100
#define READS 5

static uint64_t mono_ns(void)
{
    return fx_mono_ns(NULL);
}

static void write_rows(struct fx *f, uint32_t rows, enum at_mutation_kind kind)
{
    static char keys[REQUEST_ROWS][24];
    static struct at_mutation mutations[REQUEST_ROWS];
    static struct at_row_mutations some[REQUEST_ROWS];

    for (uint32_t first = 0; first < rows; first += REQUEST_ROWS) {
        uint32_t count = rows - first < REQUEST_ROWS ? rows - first : REQUEST_ROWS;
        for (uint32_t i = 0; i < count; i++) {
            snprintf(keys[i], sizeof(keys[i]), "user%08u", first + i);
            mutations[i] = fx_set_of("f", "q", 1000, "a value of some length, as they are");
            mutations[i].kind = kind;
            some[i] = (struct at_row_mutations){
                .row = at_slice_cstr(keys[i]), .mutations = &mutations[i], .mutation_count = 1};
        }
        struct at_write_rows write = {.base = {.kind = AT_WRITE_ROWS},
                                      .table = fx_s("t"),
                                      .full_name = FX_NAME,
                                      .rows = some,
                                      .row_count = count};
        AT_ASSERT(fx_run(f, &write.base) == AT_OK);
    }
}

/* Milliseconds of reading all rows with the prefix. */
static double read_ms(struct fx *f, const char *start, const char *end)
{
    uint64_t best_ns = UINT64_MAX;

    for (int i = 0; i < READS; i++) {
        struct at_arena arena;
        struct at_row_set rows;
        struct at_buf out;
        at_arena_init(&arena, 1024);
        at_buf_init(&out, 64 * AT_MIB);
        at_row_set_init(&rows);
        struct at_row_bound from = {.kind = AT_BOUND_CLOSED, .key = at_slice_cstr(start)};
        struct at_row_bound to = {.kind = AT_BOUND_OPEN, .key = at_slice_cstr(end)};
        AT_ASSERT(at_row_set_add_range(&rows, &arena, 0, from, to, NULL) == AT_OK);
        at_row_set_finish(&rows, &arena);
        struct at_read_spec spec = {.table = fx_s("t"), .rows = &rows};
        uint64_t begun_ns = mono_ns();
        read_text(f->store, &spec, 1 << 20, &out);
        uint64_t took_ns = mono_ns() - begun_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        at_buf_deinit(&out);
        at_arena_deinit(&arena);
    }
    return (double)best_ns / 1e6;
}

int main(int argc, char **argv)
{
    uint32_t rows = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : ROWS;
    struct at_collect collect;
    struct fx f;

    fx_prepare(&f, 1, 1);
    f.config.log_bytes_max = 1024 * AT_MIB;
    fx_reopen(&f);
    fx_make_table(&f);
    write_rows(&f, rows, AT_MUTATION_SET);
    printf("%u rows: read in %.2f ms\n", rows, read_ms(&f, "user", "usez"));
    write_rows(&f, rows, AT_MUTATION_DELETE_ROW);
    printf("deleted one by one: %.2f ms\n", read_ms(&f, "user", "usez"));
    uint64_t begun_ns = mono_ns();
    AT_ASSERT(gcx_collect_in(&f, "t", &collect) == AT_OK);
    printf("collected %llu cells and forgot %llu markers in %.0f ms; %u keys are left\n",
           (unsigned long long)collect.collected_count, (unsigned long long)collect.forgotten_count,
           (double)(mono_ns() - begun_ns) / 1e6, gcx_keys(&f, true) + gcx_keys(&f, false));
    printf("forgotten: %.3f ms\n", read_ms(&f, "user", "usez"));
    printf("never written: %.3f ms\n", read_ms(&f, "x", "y"));
    fx_close(&f);
    return 0;
}
