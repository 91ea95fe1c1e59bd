/* family.h: column families and their value types as cbt writes and prints them. PURE. */
#ifndef ATOLL_CLI_CBT_FAMILY_H
#define ATOLL_CLI_CBT_FAMILY_H

#include "base/arena.h"
#include "base/buf.h"
#include "google/bigtable/admin/v2/table.pb-c.h"

/* at_cbt_family_parse reads name[:policy[:type]]; the name goes into the arena.
 * INVALID_ARGUMENT for a bad policy or type. */
AT_MUST_USE enum at_code at_cbt_family_parse(struct at_slice text,
                                             struct at_arena *arena,
                                             char **ret_name,
                                             Google__Bigtable__Admin__V2__ColumnFamily **ret_family,
                                             struct at_error *reterr);

/* at_cbt_type_parse reads intsum, intmin, intmax, inthll or stringutf8bytes.
 * INVALID_ARGUMENT for anything else. */
AT_MUST_USE enum at_code at_cbt_type_parse(const char *name,
                                           struct at_arena *arena,
                                           Google__Bigtable__Admin__V2__Type **ret_type,
                                           struct at_error *reterr);

/* at_cbt_type_text returns the type as JSON, "{}" for none. Static. */
const char *at_cbt_type_text(const Google__Bigtable__Admin__V2__Type *type);

#endif
