/* row_reader.h: reads a ReadRows answer as the strictest of clients would: every rule of the chunk
 * stream is checked. Rows are rendered as "key f:q@ts=value#label ...;" with bytes that are no
 * ASCII text as \xNN and long values as their length and hash. */
#ifndef ATOLL_TESTS_SUPPORT_ROW_READER_H
#define ATOLL_TESTS_SUPPORT_ROW_READER_H

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/limits.h"
#include "google/bigtable/v2/bigtable.pb-c.h"
#include "support/test.h"

#define ROW_READER_SHOWN_BYTES 64

struct row_reader {
    struct at_buf text;
    struct at_buf last_key; /* of the last complete or scanned row */
    struct at_buf key;
    struct at_buf family;
    struct at_buf qualifier;
    struct at_buf value;
    int64_t timestamp_micros;
    char label[32];
    size_t total; /* of a split value, 0: none is under way */
    bool in_row;
    bool reversed;
    bool any_key;
    unsigned messages;
    unsigned rows;
    unsigned cells;
    unsigned marks; /* last_scanned_row_key */
    size_t message_bytes_max;
    bool have_stats;
    int64_t stats[4]; /* rows seen, rows returned, cells seen, cells returned */
};

static inline void row_reader_init(struct row_reader *r)
{
    *r = (struct row_reader){0};
    at_buf_init(&r->text, 64 * AT_MIB);
    at_buf_init(&r->last_key, AT_MIB);
    at_buf_init(&r->key, AT_MIB);
    at_buf_init(&r->family, AT_MIB);
    at_buf_init(&r->qualifier, AT_MIB);
    at_buf_init(&r->value, 256 * AT_MIB);
}

static inline void row_reader_deinit(struct row_reader *r)
{
    at_buf_deinit(&r->text);
    at_buf_deinit(&r->last_key);
    at_buf_deinit(&r->key);
    at_buf_deinit(&r->family);
    at_buf_deinit(&r->qualifier);
    at_buf_deinit(&r->value);
}

static inline void row_reader_set(struct at_buf *b, ProtobufCBinaryData bytes)
{
    at_buf_clear(b);
    assert_int_equal(at_buf_append(b, at_slice_make(bytes.data, bytes.len)), AT_OK);
}

static inline void row_reader_show(struct row_reader *r, struct at_slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        bool plain = bytes.data[i] >= 0x20 && bytes.data[i] < 0x7f;
        enum at_code code = plain ? at_buf_printf(&r->text, "%c", bytes.data[i])
                                  : at_buf_printf(&r->text, "\\x%02x", bytes.data[i]);
        assert_int_equal(code, AT_OK);
    }
}

static inline void row_reader_advance(struct row_reader *r, struct at_slice key)
{
    int c = at_slice_cmp(key, at_buf_slice(&r->last_key));

    assert_true(!r->any_key || (r->reversed ? c < 0 : c > 0));
    r->any_key = true;
    at_buf_clear(&r->last_key);
    assert_int_equal(at_buf_append(&r->last_key, key), AT_OK);
}

static inline void row_reader_end_cell(struct row_reader *r)
{
    struct at_slice value = at_buf_slice(&r->value);

    r->cells++;
    assert_int_equal(at_buf_append(&r->text, AT_LIT(" ")), AT_OK);
    row_reader_show(r, at_buf_slice(&r->family));
    assert_int_equal(at_buf_append(&r->text, AT_LIT(":")), AT_OK);
    row_reader_show(r, at_buf_slice(&r->qualifier));
    assert_int_equal(at_buf_printf(&r->text, "@%" PRId64 "=", r->timestamp_micros), AT_OK);
    if (value.len <= ROW_READER_SHOWN_BYTES)
        row_reader_show(r, value);
    else
        assert_int_equal(
            at_buf_printf(&r->text, "<%zu,%" PRIx64 ">", value.len, at_hash64(value, 0)), AT_OK);
    if (r->label[0])
        assert_int_equal(at_buf_printf(&r->text, "#%s", r->label), AT_OK);
    at_buf_clear(&r->value);
    r->total = 0;
}

static inline void row_reader_head(struct row_reader *r,
                                   const Google__Bigtable__V2__ReadRowsResponse__CellChunk *c)
{
    if (!r->in_row) {
        assert_true(c->row_key.len > 0 && c->family_name && c->qualifier);
        row_reader_set(&r->key, c->row_key);
        row_reader_advance(r, at_buf_slice(&r->key));
        row_reader_show(r, at_buf_slice(&r->key));
        r->in_row = true;
    } else {
        assert_true(c->row_key.len == 0);
        assert_true(!c->family_name || c->qualifier);
        if (c->family_name)
            assert_false(at_slice_eq_cstr(at_buf_slice(&r->family), c->family_name->value));
        else if (c->qualifier)
            assert_false(
                at_slice_eq(at_buf_slice(&r->qualifier),
                            at_slice_make(c->qualifier->value.data, c->qualifier->value.len)));
    }
    if (c->family_name) {
        at_buf_clear(&r->family);
        assert_int_equal(at_buf_append(&r->family, at_slice_cstr(c->family_name->value)), AT_OK);
    }
    if (c->qualifier)
        row_reader_set(&r->qualifier, c->qualifier->value);
    r->timestamp_micros = c->timestamp_micros;
    assert_true(c->n_labels <= 1);
    (void)snprintf(r->label, sizeof(r->label), "%s", c->n_labels ? c->labels[0] : "");
}

static inline void row_reader_chunk(struct row_reader *r,
                                    const Google__Bigtable__V2__ReadRowsResponse__CellChunk *c)
{
    if (r->total == 0) {
        row_reader_head(r, c);
    } else {
        assert_true(c->row_key.len == 0 && !c->family_name && !c->qualifier);
        assert_true(c->timestamp_micros == 0 && c->n_labels == 0 && c->value.len > 0);
        assert_true(c->value_size == 0 || (size_t)c->value_size == r->total);
    }
    assert_int_equal(at_buf_append(&r->value, at_slice_make(c->value.data, c->value.len)), AT_OK);
    if (c->value_size > 0) {
        r->total = (size_t)c->value_size;
        assert_true(c->value.len > 0 && r->value.len < r->total);
        assert_int_equal(c->row_status_case,
                         GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS__NOT_SET);
        return;
    }
    assert_true(r->total == 0 || r->value.len == r->total);
    row_reader_end_cell(r);
    if (c->row_status_case ==
        GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS__NOT_SET)
        return;
    assert_int_equal(c->row_status_case,
                     GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW);
    assert_true(c->commit_row);
    r->in_row = false;
    r->rows++;
    assert_int_equal(at_buf_append(&r->text, AT_LIT(";")), AT_OK);
}

static inline void row_reader_stats(struct row_reader *r,
                                    const Google__Bigtable__V2__RequestStats *stats)
{
    const Google__Bigtable__V2__FullReadStatsView *view = stats->full_read_stats_view;

    assert_false(r->have_stats);
    r->have_stats = true;
    assert_non_null(view->request_latency_stats->frontend_server_latency);
    r->stats[0] = view->read_iteration_stats->rows_seen_count;
    r->stats[1] = view->read_iteration_stats->rows_returned_count;
    r->stats[2] = view->read_iteration_stats->cells_seen_count;
    r->stats[3] = view->read_iteration_stats->cells_returned_count;
}

static inline void row_reader_message(struct row_reader *r, struct at_slice message)
{
    Google__Bigtable__V2__ReadRowsResponse *in =
        google__bigtable__v2__read_rows_response__unpack(NULL, message.len, message.data);

    assert_non_null(in);
    assert_false(r->have_stats); /* they come last */
    r->messages++;
    if (message.len > r->message_bytes_max)
        r->message_bytes_max = message.len;
    for (size_t i = 0; i < in->n_chunks; i++)
        row_reader_chunk(r, in->chunks[i]);
    if (in->last_scanned_row_key.len > 0) {
        assert_false(r->in_row);
        row_reader_advance(
            r, at_slice_make(in->last_scanned_row_key.data, in->last_scanned_row_key.len));
        r->marks++;
    }
    if (in->request_stats)
        row_reader_stats(r, in->request_stats);
    google__bigtable__v2__read_rows_response__free_unpacked(in, NULL);
}

/* The stream ended with OK. */
static inline void row_reader_finish(const struct row_reader *r)
{
    assert_false(r->in_row);
    assert_int_equal(r->total, 0);
}

#endif
