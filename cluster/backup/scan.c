#include "cluster/backup/scan.h"

#include "cluster/backup/pace.h"

static enum at_code fail_damaged(struct at_error *reterr, const char *how)
{
    return at_fail(reterr, AT_DATA_LOSS, "A backup's file is damaged: %s", how);
}

enum at_code
at_backup_scan_open(struct at_backup_scan *s, const char *path, struct at_error *reterr)
{
    struct at_backup_head head;

    *s = (struct at_backup_scan){.in = {.fd = -1}};
    at_arena_init(&s->arena, 4 * AT_KIB);
    at_buf_init(&s->last_row, AT_ROW_KEY_BYTES_MAX);
    AT_TRY(at_backup_in_open(&s->in, path, reterr));
    AT_TRY(at_backup_in_head(&s->in, &s->arena, &head, reterr));
    s->head = head;
    s->head.source_table = at_arena_copy(&s->arena, head.source_table);
    for (uint32_t i = 0; i < head.family_count; i++) {
        s->head.families[i].name = at_arena_copy(&s->arena, head.families[i].name);
        s->head.families[i].fields = at_arena_copy(&s->arena, head.families[i].fields);
    }
    return AT_OK;
}

void at_backup_scan_close(struct at_backup_scan *s)
{
    at_backup_in_close(&s->in);
    at_buf_deinit(&s->last_row);
    at_arena_deinit(&s->arena);
}

static enum at_code take_end(struct at_backup_scan *s, struct at_error *reterr)
{
    struct at_backup_end end;
    struct at_slice behind;

    if (at_backup_end_decode(&s->rest, &end) != AT_OK || end.rows != s->counted.rows ||
        end.cells != s->counted.cells)
        return fail_damaged(reterr, "it holds other than its end says");
    AT_TRY(at_backup_in_next(&s->in, &behind, reterr));
    if (behind.len > 0)
        return fail_damaged(reterr, "it goes on behind its end");
    s->ended = true;
    return AT_OK;
}

enum at_code at_backup_scan_chunk(struct at_backup_scan *s, bool *ret_done, struct at_error *reterr)
{
    enum at_backup_chunk kind;
    struct at_slice payload;

    *ret_done = s->ended;
    if (s->ended)
        return AT_OK;
    if (s->row.len > 0) {
        at_buf_clear(&s->last_row);
        AT_TRY(at_buf_append(&s->last_row, s->row));
        s->row = at_slice_make(NULL, 0);
    }
    AT_TRY(at_backup_in_next(&s->in, &payload, reterr));
    if (payload.len == 0)
        return fail_damaged(reterr, "it has no end");
    if (at_backup_payload_kind(payload, &kind, &s->rest) != AT_OK || kind == AT_BACKUP_HEAD)
        return fail_damaged(reterr, "a chunk is of no kind");
    if (kind == AT_BACKUP_END)
        AT_TRY(take_end(s, reterr));
    *ret_done = s->ended;
    return AT_OK;
}

enum at_code at_backup_scan_item(struct at_backup_scan *s,
                                 struct at_backup_item *ret_item,
                                 bool *ret_done,
                                 struct at_error *reterr)
{
    struct at_slice before = s->row.len > 0 ? s->row : at_buf_slice(&s->last_row);

    *ret_done = at_unpack_done(&s->rest);
    if (*ret_done)
        return AT_OK;
    if (at_backup_item_decode(&s->rest, s->head.family_count, ret_item) != AT_OK)
        return fail_damaged(reterr, "an item is malformed");
    if (ret_item->row.len > 0) {
        int order = at_slice_cmp(before, ret_item->row);
        /* A row that is in two chunks is named in both. */
        if (order > 0 || (order == 0 && s->row.len > 0))
            return fail_damaged(reterr, "its rows are out of order");
        s->counted.rows += order != 0;
        s->row = ret_item->row;
    }
    if (s->row.len == 0)
        return fail_damaged(reterr, "a cell is of no row");
    ret_item->row = s->row;
    s->counted.cells++;
    return AT_OK;
}

static enum at_code
check_all(struct at_backup_scan *s, const _Atomic bool *stop, struct at_error *reterr)
{
    struct at_backup_item item;
    struct at_pace pace;
    bool done = false;

    at_pace_start(&pace);
    while (!done) {
        bool chunk_done = false;
        AT_TRY(at_backup_scan_chunk(s, &done, reterr));
        while (!done && !chunk_done)
            AT_TRY(at_backup_scan_item(s, &item, &chunk_done, reterr));
        if (atomic_load(stop))
            return at_fail(reterr, AT_CANCELLED, "The check was given up");
        at_pace_rest(&pace);
    }
    return AT_OK;
}

enum at_code at_backup_check(const char *path,
                             const _Atomic bool *stop,
                             struct at_backup_end *ret_counts,
                             struct at_error *reterr)
{
    struct at_backup_scan s;
    enum at_code code = at_backup_scan_open(&s, path, reterr);

    if (code == AT_OK)
        code = check_all(&s, stop, reterr);
    *ret_counts = s.counted;
    at_backup_scan_close(&s);
    return code;
}
