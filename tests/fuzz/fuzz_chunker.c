/* fuzz_chunker: the input is a script of rows and cells. A client that checks every rule of the
 * chunk protocol must get exactly these out of the messages, or the chunker must say that its
 * buffer was full. */
#include "base/assert.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "cli/cbt/chunk_reader.h"
#include "cluster/service/chunker.h"
#include "wire/proto_alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY_BYTES_MAX (4 + 255)
#define LARGE_VALUES_MAX 1
#define LARGE_VALUE_BYTES (AT_CHUNK_VALUE_BYTES_MAX + 5)

/* Rows in the order in which they end. */
struct tally {
    uint64_t hash;
    uint64_t row_count;
};

struct actor {
    struct at_slice script;
    struct at_chunker chunker;
    struct at_chunk_reader reader;
    struct at_buf out;
    bool open; /* a message is under way */
    bool in_row;
    bool has_cells;
    uint32_t key_count; /* keys go up */
    uint32_t large_count;
    uint8_t key[KEY_BYTES_MAX];
    size_t key_len;
    uint64_t row_hash;
    struct tally put;
    struct tally got;
};

static const uint8_t LARGE[LARGE_VALUE_BYTES] = {1};

static uint8_t next_byte(struct actor *a)
{
    if (a->script.len == 0)
        return 0;
    uint8_t b = a->script.data[0];
    a->script = at_slice_from(a->script, 1);
    return b;
}

static struct at_slice next_bytes(struct actor *a, size_t n)
{
    struct at_slice s = at_slice_make(a->script.data, n < a->script.len ? n : a->script.len);
    a->script = at_slice_from(a->script, s.len);
    return s;
}

static uint64_t hash_cell(uint64_t hash, struct at_slice *parts, int64_t timestamp_micros)
{
    for (int i = 0; i < 3; i++)
        hash = at_hash64(parts[i], hash + parts[i].len);
    return hash ^ (uint64_t)timestamp_micros;
}

static void tally_row(struct tally *t, struct at_slice key, uint64_t row_hash)
{
    t->hash = at_hash64(key, t->hash) + row_hash;
    t->row_count++;
}

/* --- the client --- */

static void on_row(void *ctx, const struct at_client_row *row)
{
    struct actor *a = ctx;
    uint64_t hash = 0;

    for (size_t i = 0; i < row->cell_count; i++) {
        const struct at_row_cell *c = &row->cells[i];
        struct at_slice parts[] = {c->family, c->qualifier, c->value};
        hash = hash_cell(hash, parts, c->timestamp_micros);
    }
    tally_row(&a->got, row->key, hash);
}

static struct at_buf *begin(void *ctx)
{
    struct actor *a = ctx;

    AT_ASSERT(!a->open);
    a->open = true;
    at_buf_clear(&a->out);
    return &a->out;
}

static void commit(void *ctx)
{
    struct actor *a = ctx;
    struct at_arena arena;

    AT_ASSERT(a->open);
    a->open = false;
    at_arena_init(&arena, 4096);
    const Google__Bigtable__V2__ReadRowsResponse *response = at_proto_unpack(
        &arena, &google__bigtable__v2__read_rows_response__descriptor, at_buf_slice(&a->out));
    AT_ASSERT(response != NULL);
    enum at_code code = at_chunk_reader_take(&a->reader, response, NULL);
    AT_ASSERT(code == AT_OK);
    at_arena_deinit(&arena);
}

/* --- the script --- */

static struct at_slice next_key(struct actor *a)
{
    at_put_be32(a->key, ++a->key_count);
    struct at_slice more = next_bytes(a, next_byte(a) % 8 == 7 ? 255 : 2);
    if (more.len > 0)
        memcpy(a->key + 4, more.data, more.len);
    a->key_len = 4 + more.len;
    return at_slice_make(a->key, a->key_len);
}

static void end_row(struct actor *a)
{
    if (!a->in_row)
        return;
    at_chunker_row_end(&a->chunker);
    if (a->has_cells)
        tally_row(&a->put, at_slice_make(a->key, a->key_len), a->row_hash);
    a->in_row = a->has_cells = false;
    a->row_hash = 0;
}

static void begin_row(struct actor *a)
{
    end_row(a);
    a->in_row = true;
    at_chunker_row(&a->chunker, next_key(a));
}

static void put_cell(struct actor *a)
{
    static const char *const FAMILIES[] = {"f", "g", "a_long_family_name", "h"};
    uint8_t shape = next_byte(a);
    struct at_cell cell = {
        .family = at_slice_cstr(FAMILIES[shape & 3]),
        .qualifier = next_bytes(a, shape & 4   ? 1
                                   : shape & 8 ? 200
                                               : 0),
        .timestamp_micros = (int64_t)(shape >> 6) - 1,
        .value = next_bytes(a, shape & 16 ? next_byte(a) : 1),
    };

    if (!a->in_row)
        begin_row(a);
    if ((shape & 0x3c) == 0x3c && a->large_count++ < LARGE_VALUES_MAX)
        cell.value = at_slice_make(LARGE, LARGE_VALUE_BYTES - next_byte(a) % 16);
    at_chunker_cell(&a->chunker, &cell);
    struct at_slice parts[] = {cell.family, cell.qualifier, cell.value};
    a->row_hash = hash_cell(a->row_hash, parts, cell.timestamp_micros);
    a->has_cells = true;
}

static void act(struct actor *a)
{
    switch (next_byte(a) % 8) {
    case 0:
        begin_row(a);
        break;
    case 1:
        end_row(a);
        break;
    case 2:
        at_chunker_flush(&a->chunker);
        break;
    case 3:
        end_row(a);
        at_chunker_last_scanned(&a->chunker, next_key(a));
        break;
    default:
        put_cell(a);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct actor a = {.script = {data, size}};
    size_t small = next_byte(&a);

    at_buf_init(&a.out, small < 32 ? small * 16 : 64 * AT_MIB);
    at_chunk_reader_init(&a.reader, false, on_row, &a);
    at_chunker_init(&a.chunker, (struct at_chunker_port){&a, begin, commit});
    while (a.script.len > 0 && at_chunker_code(&a.chunker) == AT_OK)
        act(&a);
    end_row(&a);
    at_chunker_end(&a.chunker);
    if (at_chunker_code(&a.chunker) == AT_OK) {
        enum at_code code = at_chunk_reader_end(&a.reader, NULL);
        AT_ASSERT(code == AT_OK);
        AT_ASSERT(!a.open);
        AT_ASSERT(a.got.row_count == a.put.row_count);
        AT_ASSERT(a.got.hash == a.put.hash);
        AT_ASSERT(a.chunker.row_count == a.put.row_count);
    } else {
        AT_ASSERT(small < 32);
        AT_ASSERT(at_chunker_code(&a.chunker) == AT_RESOURCE_EXHAUSTED);
    }
    at_chunker_deinit(&a.chunker);
    at_chunk_reader_deinit(&a.reader);
    at_buf_deinit(&a.out);
    return 0;
}
