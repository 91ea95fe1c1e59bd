/* Where the emulator listens. */
#include "cli/emulator_address.h"

#include "support/test.h"

struct place {
    const char *name;
    const char *address;
    const char *host;
    const char *port;
    enum at_code code;
    const char *text;
};

static const struct place PLACES[] = {
    {"the defaults", NULL, "localhost", "9000", AT_OK, "127.0.0.1:9000"},
    {"an empty address does not count", "", "127.0.0.2", "1", AT_OK, "127.0.0.2:1"},
    {"an empty host is every address", NULL, "", "1", AT_OK, "0.0.0.0:1"},
    {"an address wins", "127.0.0.3:7", "localhost", "9000", AT_OK, "127.0.0.3:7"},
    {"an address without host", ":7", "localhost", "9000", AT_OK, "0.0.0.0:7"},
    {"IPv6 in brackets", "[::1]:7", "localhost", "9000", AT_OK, "[::1]:7"},
    {"IPv6 as a host", NULL, "::1", "0", AT_OK, "[::1]:0"},
    {"ports may be hexadecimal", NULL, "::1", "0x10", AT_OK, "[::1]:16"},
    {"IPv6 without brackets", "::1:7", "", "0", AT_INVALID_ARGUMENT, NULL},
    {"no port", "127.0.0.1", "", "0", AT_INVALID_ARGUMENT, NULL},
    {"an empty port", "127.0.0.1:", "", "0", AT_INVALID_ARGUMENT, NULL},
    {"a port beyond the last", NULL, "localhost", "65536", AT_INVALID_ARGUMENT, NULL},
    {"a negative port", NULL, "localhost", "-1", AT_INVALID_ARGUMENT, NULL},
    {"a port with more behind it", NULL, "localhost", "1x", AT_INVALID_ARGUMENT, NULL},
    {"a socket's path", "/tmp/x.sock", "", "0", AT_UNIMPLEMENTED, NULL},
    {"a host that is too long",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1", "", "0",
     AT_INVALID_ARGUMENT, NULL},
};

static void test_place(void **state)
{
    const struct place *c = *state;
    struct at_emulator_address address;
    char text[AT_EMULATOR_HOST_BYTES + 16];

    assert_int_equal(at_emulator_address_of(c->address, c->host, c->port, &address, NULL), c->code);
    if (!c->text)
        return;
    at_emulator_address_text(&address, text);
    assert_string_equal(text, c->text);
}

int main(void)
{
    enum { COUNT = sizeof(PLACES) / sizeof(PLACES[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = PLACES[i].name,
                                       .test_func = test_place,
                                       .initial_state = (void *)(uintptr_t)&PLACES[i]};
    return _cmocka_run_group_tests("emulator_address", tests, COUNT, NULL, NULL);
}
