/* main.c: `atoll COMMAND ...`. */
#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cbt/command.h"
#include "cli/command.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* NULL: not listed */
} COMMANDS[] = {
    {"up", at_command_up, "start all processes of an instance"},
    {"down", at_command_down, "stop them"},
    {"status", at_command_status, "show state, health, lag and sizes"},
    {"kill", at_command_kill, "kill -9 one cluster"},
    {"start", at_command_start, "start a cluster that is down"},
    {"remove", at_command_remove, "give up clusters that are down for good"},
    {"cut", at_command_cut, "cut the link between two clusters, for drills"},
    {"heal", at_command_heal, "heal links that were cut"},
    {"release", at_command_release, "accept what was parked for a clock that ran ahead"},
    {"digest", at_command_digest, "compare the clusters' visible rows"},
    {"verify", at_command_verify, "find the cells in which clusters differ"},
    {"explain", at_command_explain, "show all that is stored of a row, and why it shows"},
    {"gc", at_command_gc, "collect garbage on every cluster now"},
    {"cbt", at_command_cbt, "create tables, read and write rows, import CSV"},
    {"emulator", at_command_emulator, "stand in for Google's emulator, in one process"},
    {"bench", at_command_bench, "drive an endpoint and report throughput and latency"},
    {"cluster", at_command_cluster, NULL},
    {"router", at_command_router, NULL},
    {"launch", at_command_launch, NULL},
};

static void print_usage(FILE *out)
{
    (void)fputs("usage: atoll COMMAND [ARGUMENTS]\n\n", out);
    for (size_t i = 0; i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++)
        if (COMMANDS[i].summary)
            (void)fprintf(out, "  %-8s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    (void)fputs("\natoll COMMAND --help tells more.\n", out);
}

/* Called by this name, the program is the emulator: tools start theirs by its path. */
static bool is_called_emulator(const char *program)
{
    const char *slash = strrchr(program, '/');

    return strcmp(slash ? slash + 1 : program, "cbtemulator") == 0;
}

static int run(const char *command, int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++) {
        if (strcmp(command, COMMANDS[i].name) != 0)
            continue;
        char name[32];
        (void)snprintf(name, sizeof(name), "atoll %s", COMMANDS[i].name);
        argv[0] = name;
        return COMMANDS[i].run(argc, argv);
    }
    (void)fprintf(stderr, "atoll: unknown command '%s'\n\n", command);
    print_usage(stderr);
    return 2;
}

int main(int argc, char **argv)
{
    char help[] = "--help"; /* of `atoll help COMMAND` */
    char *help_argv[] = {NULL, help, NULL};

    (void)signal(SIGPIPE, SIG_IGN);
    if (argc > 0 && is_called_emulator(argv[0]))
        return at_command_emulator(argc, argv);
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    argp_err_exit_status = 2;
    if (argc > 2 && strcmp(argv[1], "help") == 0)
        return run(argv[2], 2, help_argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)puts("atoll " ATOLL_VERSION);
        return 0;
    }
    return run(argv[1], argc - 1, argv + 1);
}
