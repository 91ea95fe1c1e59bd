/* backup_name.h: the names of backups. PURE.
 *
 * A backup of the home instance is kept in the catalog by "cluster/backup", one of another instance
 * (base/namespace.h) by its full name. Its file is named by that and by the generation of its
 * record, so that a backup made anew never meets the file of the one before. */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_NAME_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_NAME_H

#include "cluster/service/service.h"

struct at_backup_name {
    struct at_slice in; /* its instance; empty: the home instance */
    struct at_slice cluster;
    struct at_slice id;
    struct at_slice kept;
};

/* at_backup_name_parse takes "projects/P/instances/I/clusters/C/backups/B" apart; `kept` is in the
 * arena, the rest borrows. INVALID_ARGUMENT when it has another form; NOT_FOUND: its instance is
 * not served. */
AT_MUST_USE enum at_code at_backup_name_parse(const struct at_service *service,
                                              const char *full,
                                              struct at_arena *arena,
                                              struct at_backup_name *ret_name,
                                              struct at_error *reterr);
/* at_backup_name_of makes it of the parts: `parent` is "projects/P/instances/I/clusters/C". Also
 * INVALID_ARGUMENT when the id breaks the rule. */
AT_MUST_USE enum at_code at_backup_name_of(const struct at_service *service,
                                           const char *parent,
                                           const char *id,
                                           struct at_arena *arena,
                                           struct at_backup_name *ret_name,
                                           struct at_error *reterr);
/* at_backup_name_kept: of a catalog record. Borrows. */
struct at_backup_name at_backup_name_kept(struct at_slice kept);
/* at_backup_name_full: the full name of what is kept so. */
char *at_backup_name_full(const struct at_service *service,
                          struct at_arena *arena,
                          const struct at_backup_name *name);

/* at_backup_file_name: of the file, without a folder. at_backup_path: with it. */
char *
at_backup_file_name(struct at_arena *arena, const struct at_backup_name *name, uint64_t generation);
char *at_backup_path(const struct at_service *service,
                     struct at_arena *arena,
                     const struct at_backup_name *name,
                     uint64_t generation);

#endif
