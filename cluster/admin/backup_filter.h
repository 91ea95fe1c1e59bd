/* backup_filter.h: the filter of ListBackups. PURE.
 *
 * Comparisons `field op value`, all of which must hold: one after another, with AND between them or
 * not, in parentheses or not. Fields: see backup_field.h. Operators: = != : < <= > >=; of texts and
 * the state only the first three. ':' with a bare word finds it in a text, with "a quoted one" it
 * is
 * '='. A text equals a full name, or the id at its end. Words are compared without regard to case.
 * Times are RFC 3339. OR and NOT are not supported. */
#ifndef ATOLL_CLUSTER_ADMIN_BACKUP_FILTER_H
#define ATOLL_CLUSTER_ADMIN_BACKUP_FILTER_H

#include "base/arena.h"
#include "base/status.h"
#include "cluster/admin/backup_field.h"

#define AT_BACKUP_FILTER_TERMS_MAX 32
#define AT_BACKUP_FILTER_BYTES_MAX 4096

enum at_backup_op {
    AT_BACKUP_OP_EQ,
    AT_BACKUP_OP_NE,
    AT_BACKUP_OP_HAS,
    AT_BACKUP_OP_LT,
    AT_BACKUP_OP_LE,
    AT_BACKUP_OP_GT,
    AT_BACKUP_OP_GE,
};

struct at_backup_term {
    enum at_backup_field field;
    enum at_backup_op op;
    struct at_slice text; /* of a text field */
    int64_t number;       /* of others: micros, bytes, state */
};
struct at_backup_filter {
    struct at_backup_term terms[AT_BACKUP_FILTER_TERMS_MAX];
    uint32_t count; /* 0: everything matches */
};

/* at_backup_filter_parse: INVALID_ARGUMENT with the place. Texts are in the arena. */
AT_MUST_USE enum at_code at_backup_filter_parse(const char *text,
                                                struct at_arena *arena,
                                                struct at_backup_filter *ret_filter,
                                                struct at_error *reterr);
bool at_backup_filter_matches(const struct at_backup_filter *filter,
                              const Google__Bigtable__Admin__V2__Backup *backup);

#endif
