#include "cluster/model/visible.h"

#include "base/assert.h"
#include "base/bytes.h"

/* Keys come in storage order, which decides all: markers before cells, and everything of one place
 * by falling stamp. So the first version of a timestamp is the winner, and if even that one is
 * hidden, so are those below it. Of the column markers that cover a timestamp the first has the
 * highest stamp and answers for all. A marker that lies within an earlier one, or below what hides
 * the whole family, can hide nothing more and is not kept; so ten thousand deletes of a whole
 * column cost one. */

struct range {
    struct at_stamp stamp;
    int64_t start_micros;
    int64_t last_micros; /* inclusive */
};

/* How many of the newest ranges are looked at to find that a marker adds nothing. */
#define REDUNDANT_LOOK_MAX 64
#define MARKERS_BYTES_MAX (64 * AT_MIB)
#define MARKER_VALUE_BYTES 16

static void raise(struct at_stamp *hidden, struct at_stamp stamp);
static bool hides_all(const struct at_visible *v, struct at_stamp stamp);
static bool redundant(const struct at_visible *v, const struct range *r);

static inline const struct range *ranges(const struct at_visible *v)
{
    return (const struct range *)(const void *)v->column_markers.data;
}

static inline size_t range_count(const struct at_visible *v)
{
    return v->column_markers.len / sizeof(struct range);
}

void at_visible_init(struct at_visible *v)
{
    *v = (struct at_visible){0};
    at_buf_init(&v->column_markers, MARKERS_BYTES_MAX);
}

void at_visible_deinit(struct at_visible *v)
{
    at_buf_deinit(&v->column_markers);
}

void at_visible_begin_row(struct at_visible *v, struct at_stamp hidden)
{
    v->row_hidden = hidden;
    at_visible_begin_family(v);
}

void at_visible_begin_family(struct at_visible *v)
{
    v->family_hidden = v->row_hidden;
    at_visible_begin_column(v);
}

void at_visible_begin_column(struct at_visible *v)
{
    at_buf_clear(&v->column_markers);
    v->have_cell = false;
}

enum at_code
at_visible_marker(struct at_visible *v, const struct at_key *key, struct at_slice value)
{
    if (key->kind == AT_KEY_FAMILY_MARKER) {
        raise(&v->family_hidden, key->stamp);
        return AT_OK;
    }
    AT_ASSERT(key->kind == AT_KEY_COLUMN_MARKER);
    if (value.len != MARKER_VALUE_BYTES)
        return AT_DATA_LOSS;

    int64_t start = (int64_t)at_get_be64(value.data);
    int64_t end = (int64_t)at_get_be64(value.data + 8);
    if (start < 0 || end < 0 || (end != 0 && end <= start))
        return AT_DATA_LOSS;
    struct range r = {key->stamp, start, end == 0 ? INT64_MAX : end - 1};
    if (redundant(v, &r))
        return AT_OK;
    return at_buf_append(&v->column_markers, at_slice_make(&r, sizeof(r)));
}

bool at_visible_cell(struct at_visible *v, int64_t timestamp_micros, struct at_stamp stamp)
{
    if (v->have_cell && timestamp_micros == v->last_timestamp_micros)
        return false;
    v->have_cell = true;
    v->last_timestamp_micros = timestamp_micros;
    return at_visible_partial(v, timestamp_micros, stamp);
}

bool at_visible_partial(const struct at_visible *v, int64_t timestamp_micros, struct at_stamp stamp)
{
    if (timestamp_micros < v->floor.before_micros && at_stamp_cmp(stamp, v->floor.stamp) <= 0)
        return false;
    return !at_visible_covered(v, timestamp_micros, stamp);
}

bool at_visible_covered(const struct at_visible *v, int64_t timestamp_micros, struct at_stamp stamp)
{
    const struct range *r = ranges(v);

    if (hides_all(v, stamp))
        return true;
    for (size_t i = 0, n = range_count(v); i < n; i++)
        if (r[i].start_micros <= timestamp_micros && timestamp_micros <= r[i].last_micros)
            return at_stamp_cmp(stamp, r[i].stamp) < 0;
    return false;
}

static void raise(struct at_stamp *hidden, struct at_stamp stamp)
{
    if (at_stamp_cmp(*hidden, stamp) < 0)
        *hidden = stamp;
}

static bool hides_all(const struct at_visible *v, struct at_stamp stamp)
{
    return at_stamp_cmp(stamp, v->family_hidden) < 0;
}

static bool redundant(const struct at_visible *v, const struct range *r)
{
    const struct range *old = ranges(v);
    size_t n = range_count(v);

    if (hides_all(v, r->stamp))
        return true;
    AT_ASSERT(n == 0 || at_stamp_cmp(r->stamp, old[n - 1].stamp) <= 0);
    for (size_t i = 0; i < n && i < REDUNDANT_LOOK_MAX; i++)
        if (old[i].start_micros <= r->start_micros && r->last_micros <= old[i].last_micros)
            return true;
    return false;
}
