/* text.h: the texts that JSON has for times, durations and field masks. PURE. */
#ifndef ATOLL_WIRE_JSON_TEXT_H
#define ATOLL_WIRE_JSON_TEXT_H

#include "base/arena.h"
#include "base/buf.h"

/* Seconds and nanoseconds as Timestamp and Duration have them. */
struct at_json_time {
    int64_t s;
    int32_t ns;
};

/* at_json_timestamp_write appends e.g. 2026-01-02T03:04:05.006Z, with 0, 3, 6 or 9 digits behind
 * the point. INVALID_ARGUMENT outside of the years 1 to 9999. */
AT_MUST_USE enum at_code at_json_timestamp_write(struct at_buf *out, struct at_json_time t);

/* at_json_timestamp_read reads RFC 3339 with any offset. INVALID_ARGUMENT. */
AT_MUST_USE enum at_code at_json_timestamp_read(struct at_slice text, struct at_json_time *ret);

/* at_json_duration_write appends e.g. 604800s or -0.500s. INVALID_ARGUMENT when it is not a valid
 * Duration (signs that differ, more than 10,000 years). */
AT_MUST_USE enum at_code at_json_duration_write(struct at_buf *out, struct at_json_time t);
AT_MUST_USE enum at_code at_json_duration_read(struct at_slice text, struct at_json_time *ret);

/* at_json_mask_path gives a path of a mask in snake_case, whichever way it was spelled; in the
 * arena, NUL-terminated. */
char *at_json_mask_path(struct at_arena *arena, struct at_slice path);

#endif
