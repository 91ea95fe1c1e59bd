/* fuzz_backup_chunk: any bytes as the payload of a chunk of a backup's file. What decodes survives
 * a second round; nothing is read beyond the payload. */
#include "base/assert.h"
#include "cluster/backup/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

static void check_head(struct at_unpack *in, struct at_arena *arena, struct at_buf *b)
{
    enum at_backup_chunk kind;
    struct at_backup_head head, again;
    struct at_unpack rest;

    if (at_backup_head_decode(in, arena, &head) != AT_OK)
        return;
    must(at_backup_head_encode(&head, b));
    must(at_backup_payload_kind(at_buf_slice(b), &kind, &rest));
    must(at_backup_head_decode(&rest, arena, &again));
    AT_ASSERT(again.family_count == head.family_count);
}

static void check_items(struct at_unpack *in, struct at_buf *b)
{
    struct at_backup_item item, again;
    struct at_unpack one;

    while (!at_unpack_done(in) && at_backup_item_decode(in, 3, &item) == AT_OK) {
        at_buf_clear(b);
        must(at_backup_item_encode(&item, b));
        at_unpack_init(&one, at_buf_slice(b));
        must(at_backup_item_decode(&one, 3, &again));
        AT_ASSERT(at_unpack_done(&one) && at_slice_eq(item.row, again.row) &&
                  at_slice_eq(item.value, again.value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum at_backup_chunk kind;
    struct at_backup_end end;
    struct at_unpack rest;
    struct at_arena arena;
    struct at_buf b;
    size_t chunk_size;

    if (size >= AT_BACKUP_CHUNK_HEAD_BYTES) {
        struct at_slice behind =
            at_slice_from(at_slice_make(data, size), AT_BACKUP_CHUNK_HEAD_BYTES);
        if (at_backup_chunk_size(data, &chunk_size) == AT_OK)
            AT_ASSERT(chunk_size <= AT_BACKUP_PAYLOAD_BYTES_MAX);
        (void)at_backup_chunk_check(data, behind);
    }
    if (at_backup_payload_kind(at_slice_make(data, size), &kind, &rest) != AT_OK)
        return 0;
    at_arena_init(&arena, 4 * AT_KIB);
    at_buf_init(&b, 16 * AT_MIB);
    if (kind == AT_BACKUP_HEAD)
        check_head(&rest, &arena, &b);
    else if (kind == AT_BACKUP_CELLS)
        check_items(&rest, &b);
    else if (at_backup_end_decode(&rest, &end) == AT_OK)
        AT_ASSERT(at_unpack_done(&rest));
    at_buf_deinit(&b);
    at_arena_deinit(&arena);
    return 0;
}
