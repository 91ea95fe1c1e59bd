#include "cluster/admin/backup_filter.h"

#include <stdio.h>

#include "support/test.h"

struct filter_case {
    const char *name;
    const char *filter;
    enum at_code code;
    const char *matches; /* of the backups below; or a part of the message */
};

static Google__Protobuf__Timestamp time_of(int64_t seconds)
{
    Google__Protobuf__Timestamp t = GOOGLE__PROTOBUF__TIMESTAMP__INIT;

    t.seconds = seconds;
    return t;
}

/* b1 to b3 */
static const struct {
    const char *name;
    const char *table;
    const char *source;
    int64_t start_s; /* 2018-03-28T14:50:00Z is 1522248600 */
    int64_t size;
    bool ready;
} BACKUPS[] = {
    {"projects/p/instances/i/clusters/c1/backups/b1", "projects/p/instances/i/tables/prod", "",
     1522248600, 100, true},
    {"projects/p/instances/i/clusters/c1/backups/howl2", "projects/p/instances/i/tables/test", "",
     1522248599, 5000, false},
    {"projects/p/instances/i/clusters/c2/backups/b3", "projects/p/instances/i/tables/prod",
     "projects/p/instances/i/clusters/c1/backups/b1", 1522248601, 0, true},
};

static void run(void **state)
{
    const struct filter_case *c = *state;
    struct at_backup_filter filter;
    struct at_error error = {0};
    struct at_arena arena;
    char matched[8] = "";

    at_arena_init(&arena, 4096);
    enum at_code code = at_backup_filter_parse(c->filter, &arena, &filter, &error);
    assert_int_equal(code, c->code);
    for (int i = 0; i < 3 && code == AT_OK; i++) {
        Google__Bigtable__Admin__V2__Backup b = GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__INIT;
        Google__Protobuf__Timestamp start = time_of(BACKUPS[i].start_s);
        char name[80], table[80], source[80];
        (void)snprintf(name, sizeof(name), "%s", BACKUPS[i].name);
        (void)snprintf(table, sizeof(table), "%s", BACKUPS[i].table);
        (void)snprintf(source, sizeof(source), "%s", BACKUPS[i].source);
        b.name = name;
        b.source_table = table;
        b.source_backup = source;
        b.start_time = b.expire_time = &start;
        b.size_bytes = BACKUPS[i].size;
        b.state = BACKUPS[i].ready ? GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__READY
                                   : GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__CREATING;
        if (at_backup_filter_matches(&filter, &b))
            strncat(matched, i == 0 ? "1" : i == 1 ? "2" : "3", 2);
    }
    if (code == AT_OK)
        assert_string_equal(matched, c->matches);
    else
        assert_non_null(strstr(error.msg, c->matches));
    at_arena_deinit(&arena);
}

#define BAD AT_INVALID_ARGUMENT
static struct filter_case cases[] = {
    {"no filter matches all", "", AT_OK, "123"},
    {"spaces are no filter", "  ", AT_OK, "123"},
    {"a state", "state:READY", AT_OK, "13"},
    {"a state in any case", "STATE = creating", BAD, "'STATE' is no field"},
    {"a state's value in any case", "state = creating", AT_OK, "2"},
    {"not a state", "state != READY", AT_OK, "2"},
    {"a quoted name is the id", "name:\"b1\"", AT_OK, "1"},
    {"or the full name", "name = \"projects/p/instances/i/clusters/c2/backups/b3\"", AT_OK, "3"},
    {"a bare word is found in the name", "name:HOWL", AT_OK, "2"},
    {"a quoted part is not the name", "name:\"howl\"", AT_OK, ""},
    {"another name", "name != b1", AT_OK, "23"},
    {"the source table", "source_table:prod", AT_OK, "13"},
    {"in camel case", "sourceTable:\"test\"", AT_OK, "2"},
    {"the source backup", "source_backup:b1", AT_OK, "3"},
    {"a time before", "start_time < \"2018-03-28T14:50:00Z\"", AT_OK, "2"},
    {"a time up to", "start_time <= 2018-03-28T14:50:00Z", AT_OK, "12"},
    {"a time after", "expire_time > \"2018-03-28T14:50:00Z\"", AT_OK, "3"},
    {"a time from, with an offset", "expire_time>=\"2018-03-28T15:50:00+01:00\"", AT_OK, "13"},
    {"a size", "size_bytes > 99", AT_OK, "12"},
    {"a size exactly", "size_bytes=100", AT_OK, "1"},
    {"all must hold", "state:READY AND size_bytes > 0", AT_OK, "1"},
    {"in parentheses", "(name:b) AND ((start_time > \"2018-03-28T14:50:00Z\"))", AT_OK, "3"},
    {"without AND", "(state:READY) (source_table:prod) name:b3", AT_OK, "3"},
    {"OR is refused", "state:READY OR state:CREATING", BAD, "OR and NOT"},
    {"NOT is refused", "NOT state:READY", BAD, "OR and NOT"},
    {"an unknown field", "colour:red", BAD, "'colour' is no field"},
    {"an unknown state", "state:GONE", BAD, "no state"},
    {"no operator", "state READY", BAD, "operator"},
    {"no value", "state:", BAD, "value"},
    {"a text has no order", "name < b", BAD, "no order"},
    {"a state has no order", "state > READY", BAD, "no order"},
    {"not a number", "size_bytes > many", BAD, "number of bytes"},
    {"a number too large", "size_bytes > 99999999999999999999", BAD, "number of bytes"},
    {"not a time", "start_time < yesterday", BAD, "a time"},
    {"a quote left open", "name:\"b1", BAD, "closing"},
    {"a parenthesis too few", "(state:READY", BAD, "')' is missing"},
    {"a parenthesis too many", "state:READY)", BAD, "too many"},
    {"something else", "&", BAD, "name of a field"},
};

static void limits(void **state)
{
    static char text[AT_BACKUP_FILTER_BYTES_MAX + 2];
    struct at_backup_filter filter;
    struct at_error error;
    struct at_arena arena;

    (void)state;
    at_arena_init(&arena, 4096);
    memset(text, ' ', sizeof(text) - 1);
    assert_int_equal(at_backup_filter_parse(text, &arena, &filter, &error), BAD);
    text[0] = '\0';
    for (int i = 0; i <= AT_BACKUP_FILTER_TERMS_MAX; i++) {
        assert_int_equal(at_backup_filter_parse(text, &arena, &filter, &error), AT_OK);
        strncat(text, "name:b ", 8);
    }
    assert_int_equal(at_backup_filter_parse(text, &arena, &filter, &error), BAD);
    at_arena_deinit(&arena);
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT + 1];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, run, NULL, NULL, &cases[i]};
    tests[COUNT] =
        (struct CMUnitTest){"too long, or too many comparisons", limits, NULL, NULL, NULL};
    return _cmocka_run_group_tests("filter", tests, COUNT + 1, NULL, NULL);
}
