/* cbt.c: `atoll cbt`: flags, ~/.cbtrc, and the table of commands. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cbt/command.h"

#define RC_LINE_BYTES_MAX 1024

static const struct {
    const char *name;
    int (*run)(struct at_cbt *cbt, int argc, char **argv);
    const char *usage;
    const char *summary;
} COMMANDS[] = {
    {"addtocell", at_cbt_addtocell, "TABLE ROW [app-profile=P] FAMILY:COLUMN=N[@TIMESTAMP] ...",
     "Add a value to an aggregate cell (write)"},
    {"count", at_cbt_count, "TABLE [prefix=KEY] [app-profile=P]", "Count rows in a table"},
    {"createappprofile", at_cbt_createappprofile,
     "INSTANCE PROFILE DESCRIPTION (route-any | route-to=CLUSTER) [transactional-writes=true] "
     "[force=true]",
     "Create app profile for an instance"},
    {"createcluster", at_cbt_createcluster, "CLUSTER ZONE NODES (SSD|HDD)",
     "Create a cluster in the configured instance"},
    {"createfamily", at_cbt_createfamily, "TABLE FAMILY[:GCPOLICY[:TYPE]]",
     "Create a column family"},
    {"createinstance", at_cbt_createinstance, "INSTANCE DISPLAY-NAME CLUSTER ZONE NODES (SSD|HDD)",
     "Create an instance with an initial cluster"},
    {"createtable", at_cbt_createtable,
     "TABLE [families=FAMILY[:GCPOLICY[:TYPE]],...] [splits=KEY,...]", "Create a table"},
    {"deleteallrows", at_cbt_deleteallrows, "TABLE", "Delete all rows"},
    {"deleteappprofile", at_cbt_deleteappprofile, "INSTANCE PROFILE",
     "Delete app profile for an instance"},
    {"deletecluster", at_cbt_deletecluster, "CLUSTER",
     "Delete a cluster from the configured instance"},
    {"deletecolumn", at_cbt_deletecolumn, "TABLE ROW FAMILY COLUMN [app-profile=P]",
     "Delete all cells in a column"},
    {"deletefamily", at_cbt_deletefamily, "TABLE FAMILY", "Delete a column family"},
    {"deleteinstance", at_cbt_deleteinstance, "INSTANCE", "Delete an instance"},
    {"deleterow", at_cbt_deleterow, "TABLE ROW [app-profile=P]", "Delete a row"},
    {"deletetable", at_cbt_deletetable, "TABLE", "Delete a table"},
    {"getappprofile", at_cbt_getappprofile, "INSTANCE PROFILE", "Read app profile for an instance"},
    {"import", at_cbt_import,
     "TABLE FILE [app-profile=P] [column-family=F] [batch-size=500] [workers=1] "
     "[timestamp=now|value-encoded]",
     "Batch write many rows based on the input file"},
    {"listappprofile", at_cbt_listappprofile, "INSTANCE", "Lists app profile for an instance"},
    {"listclusters", at_cbt_listclusters, "", "List clusters in an instance"},
    {"listinstances", at_cbt_listinstances, "", "List instances in a project"},
    {"lookup", at_cbt_lookup,
     "TABLE ROW [columns=FAMILY:COLUMN,...] [cells-per-column=N] [app-profile=P] "
     "[keys-only=BOOL] [include-stats=full]",
     "Read from a single row"},
    {"ls", at_cbt_ls, "[TABLE]", "List tables and column families"},
    {"read", at_cbt_read,
     "TABLE [start=KEY] [end=KEY] [prefix=KEY] [regex=REGEX] [columns=FAMILY:COLUMN,...] "
     "[count=N] [cells-per-column=N] [app-profile=P] [reversed=BOOL] [keys-only=BOOL] "
     "[include-stats=full] [authorized-view=V]",
     "Read rows"},
    {"set", at_cbt_set, "TABLE ROW [app-profile=P] FAMILY:COLUMN=VALUE[@TIMESTAMP] ...",
     "Set value of a cell (write)"},
    {"setgcpolicy", at_cbt_setgcpolicy,
     "TABLE FAMILY ((maxage=D | maxversions=N) [(and|or) (maxage=D | maxversions=N),...] | never) "
     "[force]",
     "Set the garbage-collection policy (age, versions) for a column family"},
    {"setvaluetype", at_cbt_setvaluetype, "TABLE FAMILY TYPE", "Update column family's value type"},
    {"updateappprofile", at_cbt_updateappprofile,
     "INSTANCE PROFILE DESCRIPTION (route-any | route-to=CLUSTER) [transactional-writes=true] "
     "[force=true]",
     "Update app profile for an instance"},
    {"updatecluster", at_cbt_updatecluster, "CLUSTER num-nodes=N",
     "Update a cluster in the configured instance"},
    {"waitforreplication", at_cbt_waitforreplication, "TABLE",
     "Block until all the completed writes have been replicated to all the clusters"},
};

#define COMMAND_COUNT (sizeof(COMMANDS) / sizeof(COMMANDS[0]))

static void print_usage(FILE *out)
{
    (void)fputs("Usage: atoll cbt [flags] <command> ...\n"
                "  --endpoint HOST:PORT  where the instance listens "
                "(default: $BIGTABLE_EMULATOR_HOST)\n"
                "  --project P           (default: ~/.cbtrc, else atoll)\n"
                "  --instance I          (default: ~/.cbtrc, else lab)\n"
                "  --timeout D           of the command, e.g. 10s, 100ms, 5m\n\n",
                out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        (void)fprintf(out, "  %-19s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    (void)fputs("\n`atoll cbt help COMMAND` tells its arguments.\n", out);
}

static int help(int argc, char **argv)
{
    if (argc == 0) {
        print_usage(stdout);
        return 0;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[0], COMMANDS[i].name) == 0) {
            (void)printf("atoll cbt %s %s\n\n%s.\n", COMMANDS[i].name, COMMANDS[i].usage,
                         COMMANDS[i].summary);
            return 0;
        }
    return at_cbt_fatal("Don't know command \"%s\"", argv[0]);
}

/* Reads "project = x" and "instance = y" of ~/.cbtrc into the arena. What else stands there
 * belongs to the original. */
static void read_rc(struct at_cbt *cbt)
{
    char line[RC_LINE_BYTES_MAX];
    const char *home = getenv("HOME");
    FILE *in = home ? fopen(at_arena_printf(&cbt->arena, "%s/.cbtrc", home), "r") : NULL;
    if (!in)
        return;
    while (fgets(line, sizeof(line), in)) {
        char *equals = strchr(line, '=');
        char *key = line + strspn(line, " \t");
        size_t key_len = strcspn(key, " \t=");
        if (!equals)
            continue;
        char *value = equals + 1 + strspn(equals + 1, " \t");
        value = at_arena_printf(&cbt->arena, "%.*s", (int)strcspn(value, " \t\r\n"), value);
        if (at_slice_eq_cstr(at_slice_make(key, key_len), "project"))
            cbt->project = value;
        else if (at_slice_eq_cstr(at_slice_make(key, key_len), "instance"))
            cbt->instance = value;
    }
    (void)fclose(in);
}

/* Reads one duration as 10s, 100ms, 5m, 1h. */
static bool read_timeout(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *unit;
        double ns;
    } UNITS[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end = NULL;
    double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++)
        if (end != text && strcmp(end, UNITS[i].unit) == 0 && number > 0 &&
            number * UNITS[i].ns < 1e18) {
            *ret_ns = (uint64_t)(number * UNITS[i].ns);
            return true;
        }
    return false;
}

/* Reads flags up to the command; one or two dashes, value behind '=' or as the next argument.
 * Returns the index of the command, or -1 for a flag that is not known. Flags of the original
 * that have no meaning here (credentials, endpoints) are read and ignored. */
static int read_flags(struct at_cbt *cbt, const char **ret_endpoint, int argc, char **argv)
{
    static const char *const IGNORED[] = {"creds",       "admin-endpoint", "data-endpoint",
                                          "cert-file",   "user-agent",     "auth-token",
                                          "access-token"};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *name = argv[i] + (argv[i][1] == '-' ? 2 : 1);
        size_t name_len = strcspn(name, "=");
        const char *value = name[name_len] == '=' ? name + name_len + 1 : NULL;
        struct at_slice flag = at_slice_make(name, name_len);
        if (!value && i + 1 < argc)
            value = argv[++i];
        bool known = value != NULL;
        if (at_slice_eq_cstr(flag, "endpoint"))
            *ret_endpoint = value;
        else if (at_slice_eq_cstr(flag, "project"))
            cbt->project = value;
        else if (at_slice_eq_cstr(flag, "instance"))
            cbt->instance = value;
        else if (at_slice_eq_cstr(flag, "timeout"))
            known = known && read_timeout(value, &cbt->timeout_ns);
        else {
            size_t n = 0;
            while (n < sizeof(IGNORED) / sizeof(IGNORED[0]) && !at_slice_eq_cstr(flag, IGNORED[n]))
                n++;
            known = known && n < sizeof(IGNORED) / sizeof(IGNORED[0]);
        }
        if (!known) {
            (void)fprintf(stderr, "flag provided but not defined, or without value: %s\n", argv[i]);
            return -1;
        }
    }
    return i;
}

static int run(struct at_cbt *cbt, const char *endpoint, int argc, char **argv)
{
    struct at_error error;
    size_t i = 0;
    while (i < COMMAND_COUNT && strcmp(argv[0], COMMANDS[i].name) != 0)
        i++;
    if (i == COMMAND_COUNT)
        return at_cbt_fatal("Unknown command \"%s\"", argv[0]);
    if (!endpoint)
        endpoint = getenv("BIGTABLE_EMULATOR_HOST");
    if (!endpoint || endpoint[0] == '\0')
        return at_cbt_fatal("Missing endpoint: give --endpoint or set BIGTABLE_EMULATOR_HOST");
    if (at_cbt_connect(cbt, endpoint, 1, &error) != AT_OK)
        return at_cbt_fatal("%s", error.msg);
    return COMMANDS[i].run(cbt, argc - 1, argv + 1);
}

int at_command_cbt(int argc, char **argv)
{
    struct at_cbt cbt;
    const char *endpoint = NULL;
    int status = 2;
    at_cbt_init(&cbt);
    read_rc(&cbt);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        status = help(0, NULL);
    } else {
        int first = read_flags(&cbt, &endpoint, argc, argv);
        if (first < 0 || first >= argc)
            print_usage(stderr);
        else if (strcmp(argv[first], "help") == 0)
            status = help(argc - first - 1, argv + first + 1);
        else
            status = run(&cbt, endpoint, argc - first, argv + first);
        if (first >= argc)
            status = 1;
    }
    if (fflush(stdout) != 0)
        status = at_cbt_fatal("the output cannot be written");
    at_cbt_deinit(&cbt);
    return status;
}
