/* gc_fixture.h: a store_fixture whose clock stands until it is moved, families with rules, and the
 * collector in one line. */
#ifndef ATOLL_TESTS_SUPPORT_GC_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_GC_FIXTURE_H

#include "cluster/model/key.h"
#include "cluster/tablet/read.h"
#include "support/rule_text.h"
#include "support/store_fixture.h"
#include "support/test.h"

#define GCX_START_MICROS INT64_C(2000000000000000)

/* All fixtures of a test have one clock. */
static _Atomic uint64_t gcx_now_ns = (uint64_t)GCX_START_MICROS * 1000;

static uint64_t gcx_clock(void *ctx)
{
    (void)ctx;
    return gcx_now_ns;
}

static FX_UNUSED int64_t gcx_now_micros(void)
{
    return (int64_t)(gcx_now_ns / 1000);
}

static FX_UNUSED void gcx_pass_ms(uint64_t ms)
{
    gcx_now_ns += ms * AT_MS_NS;
}

/* A serialized ColumnFamily: the rule, and the value type of `type` (FX_SUM and the like). */
static FX_UNUSED struct at_slice
gcx_fields(const char *rule, struct at_slice type, struct at_buf *out)
{
    struct at_buf bytes;

    at_buf_init(&bytes, RULE_TEXT_BYTES_MAX);
    at_buf_clear(out);
    rule_text(rule, &bytes);
    AT_ASSERT(at_pb_put_bytes(out, 1, at_buf_slice(&bytes)) == AT_OK);
    AT_ASSERT(at_buf_append(out, type) == AT_OK);
    at_buf_deinit(&bytes);
    return at_buf_slice(out);
}

static FX_UNUSED void
gcx_family(struct fx *f, const char *family, const char *rule, struct at_slice type)
{
    struct at_buf fields;

    at_buf_init(&fields, RULE_TEXT_BYTES_MAX);
    AT_ASSERT(fx_change(f, "t", family, gcx_fields(rule, type, &fields), true) == AT_OK);
    at_buf_deinit(&fields);
}

/* Table t, without families. */
static FX_UNUSED void gcx_open_as(struct fx *f, uint32_t member, uint32_t member_count, bool manual)
{
    fx_prepare(f, member, member_count);
    f->config.clock = (struct at_clock){gcx_clock, gcx_clock, f};
    f->config.manual = manual;
    fx_reopen(f);
    if (member == 1)
        AT_ASSERT(fx_change(f, "t", NULL, at_slice_make(NULL, 0), true) == AT_OK);
}

static FX_UNUSED void gcx_open(struct fx *f, uint32_t member, uint32_t member_count)
{
    gcx_open_as(f, member, member_count, false);
}

/* --- another rule for a family --- */

struct gcx_rule {
    struct at_write_catalog write;
    const char *family;
    struct at_slice fields;
};

static enum at_code
gcx_decide(struct at_write_catalog *write, const struct at_catalog *c, struct at_error *reterr)
{
    struct gcx_rule *x = (struct gcx_rule *)write;
    const struct at_table *table = at_catalog_table(c, fx_s("t"));
    struct at_catalog_record *r = AT_ARENA_NEW(write->arena, struct at_catalog_record);

    (void)reterr;
    *r = (struct at_catalog_record){
        .kind = AT_CATALOG_FAMILY,
        .name = fx_s(x->family),
        .table = fx_s("t"),
        .table_generation = table->generation,
        .counter = at_catalog_family_counter(c, fx_s("t"), table->generation, fx_s(x->family)),
        .fields = x->fields,
    };
    write->records = r;
    write->record_count = 1;
    return AT_OK;
}

static FX_UNUSED void
gcx_change_rule(struct fx *f, const char *family, const char *rule, struct at_slice type)
{
    struct at_arena arena;
    struct at_buf fields;
    struct gcx_rule x = {
        .write = {.base = {.kind = AT_WRITE_CATALOG}, .decide = gcx_decide, .arena = &arena},
        .family = family,
    };

    at_arena_init(&arena, 1024);
    at_buf_init(&fields, RULE_TEXT_BYTES_MAX);
    x.fields = gcx_fields(rule, type, &fields);
    AT_ASSERT(fx_run(f, &x.write.base) == AT_OK);
    at_schema_unref(&x.write.ret_schema);
    at_buf_deinit(&fields);
    at_arena_deinit(&arena);
}

/* --- collecting --- */

static void gcx_done(struct at_collect *collect)
{
    sem_post(&((struct fx_wait *)collect->ctx)->done);
}

static FX_UNUSED enum at_code
gcx_collect_in(struct fx *f, const char *table, struct at_collect *ret_collect)
{
    struct fx_wait wait;

    sem_init(&wait.done, 0, 0);
    *ret_collect = (struct at_collect){.table = fx_s(table), .done = gcx_done, .ctx = &wait};
    AT_ASSERT(at_store_collect(f->store, ret_collect) == AT_OK);
    fx_await(f, &wait.done);
    sem_destroy(&wait.done);
    return ret_collect->code;
}

/* Returns how many stored versions went. */
static FX_UNUSED uint64_t gcx_collect(struct fx *f)
{
    struct at_collect collect;

    AT_ASSERT(gcx_collect_in(f, "t", &collect) == AT_OK);
    return collect.collected_count + collect.sieved_count;
}

/* Only moves the floors, as the beginning of a round does. */
static FX_UNUSED void gcx_raise_floors(struct fx *f)
{
    struct at_write_collect write = {.base = {.kind = AT_WRITE_COLLECT}, .raise_floors = true};

    AT_ASSERT(fx_run(f, &write.base) == AT_OK);
    AT_ASSERT(write.ret_now_micros == gcx_now_micros());
}

/* Rewrites all cells, so that compactions drop what they may. */
static FX_UNUSED void gcx_compact(struct fx *f)
{
    static const uint8_t end[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    at_engine_compact(at_store_engine(f->store), at_slice_make("", 1),
                      at_slice_make(end, sizeof(end)));
}

/* Stored keys: cells and partials, and (with `markers`) only delete markers. */
static FX_UNUSED uint32_t gcx_keys(struct fx *f, bool markers)
{
    struct at_iter_options options = {0};
    struct at_iter *i = at_iter_open(at_store_engine(f->store), AT_SPACE_CELLS, &options);
    struct at_buf scratch;
    struct at_key key;
    uint32_t count = 0;

    at_buf_init(&scratch, AT_KEY_BYTES_MAX);
    for (at_iter_seek(i, at_slice_make("", 0)); at_iter_valid(i); at_iter_next(i)) {
        AT_ASSERT(at_key_decode(at_iter_key(i), &scratch, &key) == AT_OK);
        bool cell = key.kind == AT_KEY_CELL || key.kind == AT_KEY_PARTIAL;
        count += cell != markers;
    }
    at_buf_deinit(&scratch);
    at_iter_close(&i);
    return count;
}

/* All rows with what rules condemn at now_micros left out (0: as the store reads). Caller frees. */
static FX_UNUSED char *gcx_rows(struct fx *f, int64_t now_micros)
{
    struct at_arena arena;
    struct at_row_set rows;
    struct at_buf out;

    at_arena_init(&arena, 1024);
    at_buf_init(&out, 64 * AT_MIB);
    at_row_set_init(&rows);
    at_row_set_finish(&rows, &arena);
    struct at_read_spec spec = {.table = fx_s("t"), .rows = &rows, .gc_micros = now_micros};
    read_text(f->store, &spec, 1 << 20, &out);
    char *text = at_dup(out.data, out.len);
    at_buf_deinit(&out);
    at_arena_deinit(&arena);
    return text;
}

#define gcx_expect_rows(f, now_micros, expected)       \
    do {                                               \
        char *gcx_text_ = gcx_rows((f), (now_micros)); \
        assert_string_equal(gcx_text_, (expected));    \
        at_free(gcx_text_);                            \
    } while (0)

static FX_UNUSED struct at_digest gcx_digest(struct fx *f)
{
    struct at_digest_run *run = NULL;
    struct at_digest digest = {0};
    bool done = false;

    AT_ASSERT(at_digest_open(f->store, fx_s("t"), gcx_now_micros(), &run, NULL) == AT_OK);
    while (!done)
        AT_ASSERT(at_digest_step(run, 1 << 20, &done, &digest, NULL) == AT_OK);
    at_digest_close(&run);
    return digest;
}

#endif
