#include "support/test.h"

#include "wire/grpc_frame.h"

#define MAX 100000

static const uint8_t STREAM[] = {0, 0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 'z'};

/* Feeds the stream in pieces of `piece` bytes; checks the three messages. */
static void read_in_pieces(size_t piece, bool keep)
{
    struct at_grpc_frame f;
    uint32_t count = 0;
    at_grpc_frame_init(&f, MAX, keep);
    for (size_t off = 0; off < sizeof(STREAM); off += piece) {
        size_t n = sizeof(STREAM) - off < piece ? sizeof(STREAM) - off : piece;
        struct at_slice rest = at_slice_make(STREAM + off, n);
        while (rest.len > 0) {
            struct at_slice message;
            bool done;
            assert_int_equal(at_grpc_frame_next(&f, &rest, &message, &done), AT_OK);
            if (!done)
                continue;
            static const struct at_slice WANTED[] = {
                {(const uint8_t *)"abc", 3}, {(const uint8_t *)"", 0}, {(const uint8_t *)"z", 1}};
            assert_true(count < 3 && at_slice_eq(message, WANTED[count]));
            if (keep && message.len > 0)
                assert_ptr_equal(message.data, f.body.data);
            count++;
        }
    }
    assert_int_equal(count, 3);
    assert_true(at_grpc_frame_clean(&f));
    at_grpc_frame_deinit(&f);
}

static void messages_come_out_whole_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= sizeof(STREAM); piece++) {
        read_in_pieces(piece, false);
        read_in_pieces(piece, true);
    }
}

static void a_whole_message_is_not_copied(void **state)
{
    (void)state;
    struct at_grpc_frame f;
    struct at_slice rest = at_slice_make(STREAM, 8);
    struct at_slice message;
    bool done;
    at_grpc_frame_init(&f, MAX, false);
    assert_int_equal(at_grpc_frame_next(&f, &rest, &message, &done), AT_OK);
    assert_true(done);
    assert_ptr_equal(message.data, STREAM + 5);
    assert_int_equal(f.body.cap, 0);
    at_grpc_frame_deinit(&f);
}

struct bad_case {
    const char *name;
    uint8_t prefix[5];
    enum at_code code;
};

static const struct bad_case BAD[] = {
    {"compressed", {1, 0, 0, 0, 1}, AT_UNIMPLEMENTED},
    {"unknown flag", {2, 0, 0, 0, 1}, AT_INTERNAL},
    {"one byte too long", {0, 0, 1, 0x86, 0xa1}, AT_RESOURCE_EXHAUSTED},
    {"the longest", {0, 255, 255, 255, 255}, AT_RESOURCE_EXHAUSTED},
    {"just short enough", {0, 0, 1, 0x86, 0xa0}, AT_OK},
};

static void a_bad_prefix_is_refused_before_any_memory_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct at_grpc_frame f;
        struct at_slice rest = at_slice_make(BAD[i].prefix, 5);
        struct at_slice message;
        bool done;
        at_grpc_frame_init(&f, MAX, true);
        if (at_grpc_frame_next(&f, &rest, &message, &done) != BAD[i].code || done)
            fail_msg("%s", BAD[i].name);
        assert_int_equal(f.body.cap, 0);
        at_grpc_frame_deinit(&f);
    }
}

static void a_reset_forgets_half_a_message_and_gives_memory_back(void **state)
{
    (void)state;
    static uint8_t big[50005] = {0, 0, 0, 0xc3, 0x50};
    struct at_grpc_frame f;
    struct at_slice rest = at_slice_make(big, 40000);
    struct at_slice message;
    bool done;
    at_grpc_frame_init(&f, MAX, true);
    assert_int_equal(at_grpc_frame_next(&f, &rest, &message, &done), AT_OK);
    assert_false(done);
    assert_false(at_grpc_frame_clean(&f));
    at_grpc_frame_reset(&f, 1000);
    assert_true(at_grpc_frame_clean(&f));
    assert_int_equal(f.body.cap, 0);
    rest = at_slice_make(STREAM, sizeof(STREAM));
    assert_int_equal(at_grpc_frame_next(&f, &rest, &message, &done), AT_OK);
    assert_true(done);
    at_grpc_frame_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_whole_however_they_are_cut),
        cmocka_unit_test(a_whole_message_is_not_copied),
        cmocka_unit_test(a_bad_prefix_is_refused_before_any_memory_is_taken),
        cmocka_unit_test(a_reset_forgets_half_a_message_and_gives_memory_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
