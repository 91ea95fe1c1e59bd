#include "base/crc32c.h"
#include "support/test.h"

/* Vectors of RFC 3720, appendix B.4. */

static void known_vectors(void **state)
{
    uint8_t bytes[32];

    (void)state;
    assert_int_equal(at_crc32c(at_slice_make(NULL, 0)), 0);
    assert_int_equal(at_crc32c(AT_LIT("123456789")), 0xe3069283);
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(at_crc32c(at_slice_make(bytes, 32)), 0x8a9136aa);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(at_crc32c(at_slice_make(bytes, 32)), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    assert_int_equal(at_crc32c(at_slice_make(bytes, 32)), 0x46dd794e);
}

static uint32_t by_bits(const uint8_t *bytes, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void the_whole_is_what_its_parts_give(void **state)
{
    enum { BYTES = 70 };
    uint8_t bytes[BYTES];

    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    for (size_t len = 0; len <= BYTES; len++)
        for (size_t first = 0; first <= len; first++) {
            uint32_t crc = at_crc32c(at_slice_make(bytes, first));
            crc = at_crc32c_extend(crc, at_slice_make(bytes + first, len - first));
            assert_int_equal(crc, by_bits(bytes, len));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"the vectors of RFC 3720", known_vectors, NULL, NULL, NULL},
        {"the whole is what its parts give", the_whole_is_what_its_parts_give, NULL, NULL, NULL},
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
