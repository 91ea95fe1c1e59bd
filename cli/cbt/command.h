/* command.h: the commands of `atoll cbt`. Each gets the arguments behind its name and returns
 * the exit code: 0, or 1 with a message on stderr. */
#ifndef ATOLL_CLI_CBT_COMMAND_H
#define ATOLL_CLI_CBT_COMMAND_H

#include "cli/cbt/session.h"

/* `atoll cbt` itself: a subcommand as those of cli/command.h. */
int at_command_cbt(int argc, char **argv);

/* schema.c: tables and column families */
int at_cbt_createtable(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_createfamily(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_setgcpolicy(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_setvaluetype(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_deletefamily(struct at_cbt *cbt, int argc, char **argv);

/* table.c: tables as a whole */
int at_cbt_ls(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_deletetable(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_deleteallrows(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_waitforreplication(struct at_cbt *cbt, int argc, char **argv);

/* profile.c: app profiles */
int at_cbt_createappprofile(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_getappprofile(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_listappprofile(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_updateappprofile(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_deleteappprofile(struct at_cbt *cbt, int argc, char **argv);

/* instance.c: instances and clusters */
int at_cbt_listinstances(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_listclusters(struct at_cbt *cbt, int argc, char **argv);

/* cluster.c: making, changing and deleting them */
int at_cbt_createinstance(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_deleteinstance(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_createcluster(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_updatecluster(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_deletecluster(struct at_cbt *cbt, int argc, char **argv);

/* write.c */
int at_cbt_set(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_addtocell(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_deleterow(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_deletecolumn(struct at_cbt *cbt, int argc, char **argv);

/* read.c */
int at_cbt_read(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_lookup(struct at_cbt *cbt, int argc, char **argv);
int at_cbt_count(struct at_cbt *cbt, int argc, char **argv);

/* import.c */
int at_cbt_import(struct at_cbt *cbt, int argc, char **argv);

#endif
