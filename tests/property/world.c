#include "support/service_fixture.h"

#include "support/gc_fixture.h"

#include <dirent.h>

#include "property/model.h"
#include "property/request.h"
#include "property/world.h"

#define TABLE "projects/p/instances/i/tables/t"
#define PATH_BYTES 1024

struct world {
    uint32_t count;
    struct sfx sides[2];
};

static void must(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

/* --- opening and closing --- */

/* The clock stands still but for what programs add to it. */
static uint64_t world_wall_ns(void *ctx)
{
    const struct fx *f = ctx;

    return (uint64_t)PROGRAM_NOW_MICROS * 1000 + PROGRAM_NOW_REST_NS + f->wall_offset_ns;
}

static void make_table(struct fx *f)
{
    struct at_slice none = {NULL, 0};

    must(fx_change(f, "t", NULL, none, true));
    must(fx_change(f, "t", "f", none, true));
    must(fx_change(f, "t", "g", none, true));
    must(fx_change(f, "t", "sum", FX_FIELDS(FX_SUM), true));
    must(fx_change(f, "t", "max", FX_FIELDS(FX_MAX), true));
    must(fx_change(f, "t", "min", FX_FIELDS(FX_MIN), true));
    must(fx_change(f, "t", "hll", FX_FIELDS(FX_HLL), true));
    gcx_family(f, "aged", PROGRAM_AGED_RULE, none);
    gcx_family(f, "any", PROGRAM_ANY_RULE, none);
    gcx_family(f, "both", PROGRAM_BOTH_RULE, none);
    gcx_family(f, "top", PROGRAM_TOP_RULE, at_slice_make(FX_MAX, sizeof(FX_MAX) - 1));
    gcx_family(f, "two", PROGRAM_TWO_RULE, none);
}

static void open_side(struct sfx *s, uint32_t member, uint32_t member_count)
{
    memset(s, 0, sizeof(*s));
    at_arena_init(&s->arena, 4096);
    fx_prepare(&s->fx, member, member_count);
    s->fx.config.clock.wall_ns = world_wall_ns;
    s->fx.config.clock.ctx = &s->fx;
    sfx_make_profiles(s);
    fx_reopen(&s->fx);
    if (member == 1)
        make_table(&s->fx);
    sfx_serve(s);
}

struct world *world_open(uint32_t count)
{
    struct world *w = AT_NEW(struct world);

    AT_ASSERT(count == 1 || count == 2);
    w->count = count;
    for (uint32_t i = 0; i < count; i++)
        open_side(&w->sides[i], i + 1, count);
    world_exchange(w);
    return w;
}

/* Ends service and store; the folder stays. */
static void stop_side(struct sfx *s)
{
    at_grpc_channel_close(&s->channel);
    at_loop_free(&s->loop);
    for (int i = 0; i < SFX_LOOPS; i++)
        at_loop_stop(s->loops[i]);
    for (int i = 0; i < SFX_LOOPS; i++)
        at_loop_join(s->loops[i]);
    at_store_close(&s->fx.store);
    at_grpc_server_close(&s->server);
    for (int i = 0; i < SFX_LOOPS; i++)
        at_loop_free(&s->loops[i]);
    at_service_state_free(&s->service.state);
}

static void remove_dir(const char *dir)
{
    (void)nftw(dir, fx_remove, 8, FTW_DEPTH | FTW_PHYS);
}

void world_close(struct world **world)
{
    struct world *w = *world;

    if (w == NULL)
        return;
    for (uint32_t i = 0; i < w->count; i++) {
        stop_side(&w->sides[i]);
        remove_dir(w->sides[i].fx.dir);
        at_arena_deinit(&w->sides[i].arena);
    }
    at_free(w);
    *world = NULL;
}

void world_clear(struct world *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        w->sides[i].fx.wall_offset_ns = 0;
    must(fx_drop(&w->sides[0].fx, "t", ""));
    world_exchange(w);
}

/* --- two stores --- */

void world_exchange(struct world *w)
{
    struct fx *a = &w->sides[0].fx;
    struct fx *b = &w->sides[1].fx;

    if (w->count < 2)
        return;
    fx_exchange(a, b);
    fx_acknowledge(a, b);
    fx_acknowledge(b, a);
}

static struct at_digest digest_of(struct fx *f)
{
    struct at_digest_run *run = NULL;
    struct at_digest digest = {0};
    bool done = false;

    must(at_digest_open(f->store, AT_LIT("t"), PROGRAM_NOW_MICROS, &run, NULL));
    while (!done)
        must(at_digest_step(run, AT_MIB, &done, &digest, NULL));
    at_digest_close(&run);
    return digest;
}

bool world_digests_equal(struct world *w)
{
    struct at_digest a = digest_of(&w->sides[0].fx);
    struct at_digest b = digest_of(&w->sides[1].fx);

    return a.rows == b.rows && a.cells == b.cells && memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

/* --- a kill -9: what the folder holds at some instant --- */

struct copying {
    pthread_t thread;
    const char *from;
    const char *to;
};

static void copy_file(const char *from, const char *to)
{
    char bytes[1 << 16];
    FILE *in = fopen(from, "re");
    FILE *out = in ? fopen(to, "we") : NULL;

    AT_ASSERT(!in || out); /* an old file may be gone by now */
    for (size_t n; in && (n = fread(bytes, 1, sizeof(bytes), in)) > 0;)
        AT_ASSERT(fwrite(bytes, 1, n, out) == n);
    if (in)
        AT_ASSERT(fclose(in) == 0 && fclose(out) == 0);
}

static void copy_dir(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    const struct dirent *entry;

    AT_ASSERT(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        char source[PATH_BYTES];
        char target[PATH_BYTES];
        if (entry->d_name[0] == '.')
            continue;
        AT_ASSERT(snprintf(source, PATH_BYTES, "%s/%s", from, entry->d_name) < PATH_BYTES);
        AT_ASSERT(snprintf(target, PATH_BYTES, "%s/%s", to, entry->d_name) < PATH_BYTES);
        if (entry->d_type != DT_DIR) {
            copy_file(source, target);
            continue;
        }
        AT_ASSERT(mkdir(target, 0700) == 0);
        copy_dir(source, target);
    }
    closedir(dir);
}

/* Changes with the set of files, and with the record of what they mean. */
static uint64_t files_hash(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    uint64_t hash = 0;

    AT_ASSERT(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        struct stat s = {0};
        if (entry->d_name[0] == '.')
            continue;
        if (strncmp(entry->d_name, "MANIFEST", 8) == 0)
            (void)fstatat(dirfd(dir), entry->d_name, &s, 0);
        hash += at_hash64(at_slice_cstr(entry->d_name), (uint64_t)s.st_size);
    }
    closedir(dir);
    return hash;
}

/* A copy is what a kill leaves only if no file came or went meanwhile; the log may grow. */
static void *copy_run(void *ctx)
{
    const struct copying *c = ctx;

    for (uint64_t before = 0;;) {
        before = files_hash(c->from);
        copy_dir(c->from, c->to);
        if (files_hash(c->from) == before)
            return NULL;
        remove_dir(c->to);
        AT_ASSERT(mkdir(c->to, 0700) == 0);
    }
}

static void call(struct sfx_call *c, const struct op *op)
{
    struct at_slice request;
    const char *rpc = request_encode(op, TABLE, &c->arena, &request);

    c->rows.reversed = op->reversed;
    (void)sfx_start(c, rpc, request, "bigtable-features CAE=");
    sfx_finish(c);
}

static void kill_side(struct sfx *s, const struct op *op)
{
    char dir[TEST_PATH_BYTES];
    struct copying copying = {.from = s->fx.dir,
                              .to = mkdtemp(test_path(dir, sizeof(dir), "atoll-test"))};
    struct sfx_call c;

    _Static_assert(sizeof(dir) <= sizeof(s->fx.dir), "the folder's name must fit");
    AT_ASSERT(copying.to != NULL);
    AT_ASSERT(pthread_create(&copying.thread, NULL, copy_run, &copying) == 0);
    sfx_call_init(&c, s);
    if (op->row_count > 0)
        call(&c, op);
    AT_ASSERT(pthread_join(copying.thread, NULL) == 0);
    sfx_call_deinit(&c);
    stop_side(s);
    remove_dir(s->fx.dir);
    memcpy(s->fx.dir, dir, sizeof(dir));
    fx_reopen(&s->fx);
    sfx_serve(s);
}

/* --- garbage --- */

struct collecting {
    struct at_collect collect;
    sem_t done;
};

static void collected(struct at_collect *collect)
{
    sem_post(&((struct collecting *)collect)->done);
}

/* Removes what is hidden or overwritten, then flushes and compacts. */
static void collect(struct fx *f)
{
    struct collecting c = {.collect = {.table = AT_LIT("t"), .done = collected}};

    sem_init(&c.done, 0, 0);
    must(at_store_collect(f->store, &c.collect));
    while (sem_wait(&c.done) != 0)
        continue;
    sem_destroy(&c.done);
    must(c.collect.code);
}

/* --- answers --- */

static void put(struct at_buf *out, const char *text)
{
    must(at_buf_append(out, at_slice_cstr(text)));
}

static void put_entries(const struct sfx_call *c, struct at_buf *out)
{
    Google__Bigtable__V2__MutateRowsResponse *in =
        google__bigtable__v2__mutate_rows_response__unpack(NULL, c->first.len, c->first.data);

    AT_ASSERT(in != NULL && c->message_count == 1);
    for (size_t i = 0; i < in->n_entries; i++) {
        AT_ASSERT(in->entries[i]->index == (int64_t)i);
        put(out, i ? " " : "");
        put(out, at_code_name((enum at_code)in->entries[i]->status->code));
    }
    google__bigtable__v2__mutate_rows_response__free_unpacked(in, NULL);
}

static void put_matched(const struct sfx_call *c, struct at_buf *out)
{
    Google__Bigtable__V2__CheckAndMutateRowResponse *in =
        google__bigtable__v2__check_and_mutate_row_response__unpack(NULL, c->first.len,
                                                                    c->first.data);

    AT_ASSERT(in != NULL);
    put(out, in->predicate_matched ? "matched" : "unmatched");
    google__bigtable__v2__check_and_mutate_row_response__free_unpacked(in, NULL);
}

static void put_modified(struct sfx_call *c, struct at_buf *out)
{
    Google__Bigtable__V2__ReadModifyWriteRowResponse *in =
        google__bigtable__v2__read_modify_write_row_response__unpack(NULL, c->first.len,
                                                                     c->first.data);
    struct at_cell cells[MODEL_CELLS_MAX];
    uint32_t count = 0;

    AT_ASSERT(in != NULL && in->row != NULL);
    for (size_t f = 0; f < in->row->n_families; f++) {
        const Google__Bigtable__V2__Family *family = in->row->families[f];
        for (size_t k = 0; k < family->n_columns; k++) {
            const Google__Bigtable__V2__Column *column = family->columns[k];
            for (size_t i = 0; i < column->n_cells; i++)
                cells[count++] = (struct at_cell){
                    .family = at_slice_cstr(family->name),
                    .qualifier = at_slice_make(column->qualifier.data, column->qualifier.len),
                    .timestamp_micros = column->cells[i]->timestamp_micros,
                    .value =
                        at_slice_make(column->cells[i]->value.data, column->cells[i]->value.len),
                };
        }
    }
    model_put_row(out, at_slice_make(in->row->key.data, in->row->key.len), cells, count);
    google__bigtable__v2__read_modify_write_row_response__free_unpacked(in, NULL);
}

static void put_answer(struct sfx_call *c, const struct op *op, struct at_buf *out)
{
    if (c->code != AT_OK)
        put(out, at_code_name(c->code));
    else if (op->kind == OP_READ)
        must(at_buf_append(out, at_buf_slice(&c->rows.text)));
    else if (op->kind == OP_MUTATE_ROWS)
        put_entries(c, out);
    else if (op->kind == OP_CHECK)
        put_matched(c, out);
    else if (op->kind == OP_MODIFY)
        put_modified(c, out);
    else
        put(out, "OK");
}

void world_run(struct world *w, const struct op *op, struct at_buf *out)
{
    struct sfx *s = &w->sides[op->side];
    char prefix[8] = "";
    struct sfx_call c;

    AT_ASSERT(op->side < w->count);
    switch (op->kind) {
    case OP_MUTATE_ROW:
    case OP_MUTATE_ROWS:
    case OP_CHECK:
    case OP_MODIFY:
    case OP_READ:
        sfx_call_init(&c, s);
        call(&c, op);
        put_answer(&c, op, out);
        sfx_call_deinit(&c);
        return;
    case OP_DROP:
        AT_ASSERT(op->prefix.len < sizeof(prefix));
        if (op->prefix.len)
            memcpy(prefix, op->prefix.data, op->prefix.len);
        put(out, at_code_name(fx_drop(&s->fx, "t", prefix)));
        return;
    case OP_COLLECT:
        collect(&s->fx);
        return;
    case OP_KILL:
        kill_side(s, op);
        return;
    case OP_EXCHANGE:
        world_exchange(w);
        return;
    case OP_TICK:
        for (uint32_t i = 0; i < w->count; i++)
            w->sides[i].fx.wall_offset_ns += (uint64_t)op->limit * AT_MS_NS;
        return;
    }
}
