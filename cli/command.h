/* command.h: the subcommands of `atoll`. Each gets its name ("atoll up") as argv[0] and returns an
 * exit code: 0 done, 1 failed (with a message on stderr), 2 wrong usage. */
#ifndef ATOLL_CLI_COMMAND_H
#define ATOLL_CLI_COMMAND_H

/* Server processes; `atoll up` starts them. */
int at_command_cluster(int argc, char **argv);
int at_command_router(int argc, char **argv);
/* In place of Google's emulator: takes its flags. */
int at_command_emulator(int argc, char **argv);

/* The launcher. */
int at_command_launch(int argc, char **argv);
int at_command_up(int argc, char **argv);
int at_command_down(int argc, char **argv);
int at_command_start(int argc, char **argv);
int at_command_kill(int argc, char **argv);
int at_command_remove(int argc, char **argv);
int at_command_release(int argc, char **argv);
int at_command_cut(int argc, char **argv);
int at_command_heal(int argc, char **argv);
int at_command_status(int argc, char **argv);
int at_command_digest(int argc, char **argv);
int at_command_gc(int argc, char **argv);
int at_command_verify(int argc, char **argv);
int at_command_explain(int argc, char **argv);

/* Clients; and `atoll cbt`, cli/cbt/command.h. */
int at_command_bench(int argc, char **argv);

#endif
