/* Command lines as Go's flag package reads them. */
#include "cli/cbt/go_flags.h"

#include <string.h>

#include "base/alloc.h"
#include "support/test.h"

#define ARGS_MAX 6

struct line {
    const char *name;
    const char *args[ARGS_MAX];
    const char *host;
    const char *port;
    const char *error; /* NULL: it is fine */
    bool help;
};

static const struct line LINES[] = {
    {"without flags the defaults hold", {NULL}, "localhost", "9000", NULL, false},
    {"one dash, value apart", {"-host", "h", "-port", "1"}, "h", "1", NULL, false},
    {"two dashes", {"--host", "h", "--port", "1"}, "h", "1", NULL, false},
    {"value behind an equals sign", {"-host=h", "--port=0x10"}, "h", "0x10", NULL, false},
    {"an empty value", {"-host="}, "", "9000", NULL, false},
    {"a value that looks like a flag", {"-host", "-port"}, "-port", "9000", NULL, false},
    {"the last one counts", {"-host", "a", "-host", "b"}, "b", "9000", NULL, false},
    {"an argument ends the flags", {"x", "-port", "1"}, "localhost", "9000", NULL, false},
    {"two dashes alone end the flags", {"--", "-port", "1"}, "localhost", "9000", NULL, false},
    {"one dash alone is an argument", {"-", "-port", "1"}, "localhost", "9000", NULL, false},
    {"-help", {"-help"}, "localhost", "9000", NULL, true},
    {"--h", {"--h", "-bad"}, "localhost", "9000", NULL, true},
    {"an unknown flag", {"-bogus"}, NULL, NULL, "flag provided but not defined: -bogus", false},
    {"a flag without its value", {"-port"}, NULL, NULL, "flag needs an argument: -port", false},
    {"a number that is none",
     {"-port", "x"},
     NULL,
     NULL,
     "invalid value \"x\" for flag -port: parse error",
     false},
    {"three dashes", {"---port", "1"}, NULL, NULL, "bad flag syntax: ---port", false},
    {"no name", {"-=1"}, NULL, NULL, "bad flag syntax: -=1", false},
};

static void make(struct at_go_flag flags[2])
{
    flags[0] = (struct at_go_flag){
        .name = "host", .help = "the host", .value = "localhost", .fallback = "localhost"};
    flags[1] = (struct at_go_flag){
        .name = "port", .type = AT_GO_INT, .help = "the port", .value = "9000", .fallback = "9000"};
}

static void test_line(void **state)
{
    const struct line *c = *state;
    struct at_go_flag flags[2];
    char text[ARGS_MAX + 1][64] = {"program"};
    char *argv[ARGS_MAX + 1] = {text[0]};
    struct at_error error;
    bool help = false;
    int argc = 1;

    make(flags);
    for (; argc <= ARGS_MAX && c->args[argc - 1]; argc++) {
        (void)strncat(text[argc], c->args[argc - 1], sizeof(text[argc]) - 1);
        argv[argc] = text[argc];
    }
    enum at_code code = at_go_flags_parse(flags, 2, argc, argv, &help, &error);
    assert_int_equal(code, c->error ? AT_INVALID_ARGUMENT : AT_OK);
    assert_int_equal(help, c->help);
    if (c->error) {
        assert_string_equal(error.msg, c->error);
        return;
    }
    assert_string_equal(flags[0].value, c->host);
    assert_string_equal(flags[1].value, c->port);
}

static void help_is_written_as_go_does(void **state)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    struct at_go_flag flags[3];

    (void)state;
    make(flags);
    flags[2] = (struct at_go_flag){.name = "dir", .help = "the folder"};
    at_buf_init(&text, 1024);
    assert_int_equal(at_go_flags_help(flags, 3, "x/y", &text), AT_OK);
    assert_true(at_slice_eq_cstr(at_buf_slice(&text),
                                 "Usage of x/y:\n"
                                 "  -host string\n    \tthe host (default \"localhost\")\n"
                                 "  -port int\n    \tthe port (default 9000)\n"
                                 "  -dir string\n    \tthe folder\n"));
}

int main(void)
{
    enum { COUNT = sizeof(LINES) / sizeof(LINES[0]) };
    struct CMUnitTest tests[COUNT + 1];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = LINES[i].name,
                                       .test_func = test_line,
                                       .initial_state = (void *)(uintptr_t)&LINES[i]};
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(help_is_written_as_go_does);
    return _cmocka_run_group_tests("go_flags", tests, COUNT + 1, NULL, NULL);
}
