#include "base/alloc.h"
#include "replication/member_info.h"

#include "support/test.h"

static void encode(struct at_buf *out)
{
    struct at_member_info info = {.cluster_id = AT_LIT("c1"),
                                  .zone = AT_LIT("zone-a"),
                                  .host = AT_LIT("127.0.0.1"),
                                  .grpc_port = 8086,
                                  .peer_port = 65535};

    at_buf_init(out, AT_MEMBER_INFO_BYTES_MAX);
    assert_int_equal(at_member_info_encode(&info, out), AT_OK);
}

static void an_info_comes_out_as_it_went_in(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf out;
    struct at_member_info info;
    (void)state;

    encode(&out);
    assert_int_equal(at_member_info_decode(at_buf_slice(&out), &info), AT_OK);
    assert_true(at_slice_eq_cstr(info.cluster_id, "c1"));
    assert_true(at_slice_eq_cstr(info.zone, "zone-a"));
    assert_true(at_slice_eq_cstr(info.host, "127.0.0.1"));
    assert_int_equal(info.grpc_port, 8086);
    assert_int_equal(info.peer_port, 65535);
}

static void every_prefix_and_everything_longer_is_refused(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf out;
    struct at_member_info info;
    (void)state;

    encode(&out);
    for (size_t n = 0; n < out.len; n++)
        assert_int_equal(at_member_info_decode(at_slice_make(out.data, n), &info),
                         AT_INVALID_ARGUMENT);
    assert_int_equal(at_buf_append(&out, AT_LIT("x")), AT_OK);
    assert_int_equal(at_member_info_decode(at_buf_slice(&out), &info), AT_INVALID_ARGUMENT);
}

static void a_text_with_a_nul_and_a_port_too_large_are_refused(void **state)
{
    static const uint8_t nul[] = {0x95, 0xa1, 0, 0xa0, 0xa0, 1, 1};
    static const uint8_t port[] = {0x95, 0xa0, 0xa0, 0xa0, 0xce, 0, 1, 0, 0, 1};
    static const uint8_t four[] = {0x94, 0xa0, 0xa0, 0xa0, 1};
    struct at_member_info info;
    (void)state;

    assert_int_equal(at_member_info_decode(at_slice_make(nul, sizeof(nul)), &info),
                     AT_INVALID_ARGUMENT);
    assert_int_equal(at_member_info_decode(at_slice_make(port, sizeof(port)), &info),
                     AT_INVALID_ARGUMENT);
    assert_int_equal(at_member_info_decode(at_slice_make(four, sizeof(four)), &info),
                     AT_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_info_comes_out_as_it_went_in),
        cmocka_unit_test(every_prefix_and_everything_longer_is_refused),
        cmocka_unit_test(a_text_with_a_nul_and_a_port_too_large_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
