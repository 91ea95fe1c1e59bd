#include "base/assert.h"
#include "replication/record.h"

/* Any bytes as a log record. What reads to its end is built again and reads the same. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(struct at_slice record, struct at_slice built)
{
    struct at_record_reader a;
    struct at_record_reader b;
    struct at_entry x;
    struct at_entry y;

    enum at_code rc_a = at_record_open(&a, record);
    enum at_code rc_b = at_record_open(&b, built);
    while (rc_a == AT_OK) {
        rc_a = at_record_next(&a, &x);
        rc_b = at_record_next(&b, &y);
        AT_ASSERT(rc_a == rc_b);
        if (rc_a == AT_OK)
            AT_ASSERT(x.seq == y.seq && x.hlc == y.hlc && x.ticks == y.ticks &&
                      at_slice_eq(x.payload, y.payload));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct at_record_reader r;
    struct at_record_builder b;
    struct at_entry e;

    if (at_record_open(&r, at_slice_make(data, size)) != AT_OK)
        return 0;
    at_record_builder_init(&b, size * 20 + 64);
    at_record_begin(&b, r.next_seq);
    enum at_code rc = at_record_next(&r, &e);
    while (rc == AT_OK) {
        AT_ASSERT(at_record_add(&b, &e) == AT_OK);
        rc = at_record_next(&r, &e);
    }
    if (rc == AT_OUT_OF_RANGE)
        same(at_slice_make(data, size), at_record_finish(&b));
    at_record_builder_deinit(&b);
    return 0;
}
