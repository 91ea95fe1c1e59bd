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

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"the vectors of RFC 3720", known_vectors, NULL, NULL, NULL},
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
