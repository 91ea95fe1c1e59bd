/* warning.h: changes to app profiles that an operator must confirm. PURE.
 *
 * Each warning becomes a google.rpc.PreconditionFailure violation whose type begins with
 * CLOUD_BIGTABLE_APP_PROFILE_WARNING; ignore_warnings overrides them all. */
#ifndef ATOLL_APPPROFILE_WARNING_H
#define ATOLL_APPPROFILE_WARNING_H

#include "appprofile/profile.h"

#define AT_PROFILE_WARNINGS_MAX 4

struct at_profile_warning {
    const char *type;        /* static */
    struct at_slice subject; /* the profile's id */
    char description[200];
};

/* at_profile_update_warnings: moving a transactional profile to another cluster; two profiles that
 * would allow transactions on different clusters. `others` are all other profiles of the instance,
 * with their ids. Returns the count (at most AT_PROFILE_WARNINGS_MAX). `old` is NULL on creation.
 */
uint32_t at_profile_update_warnings(struct at_slice id,
                                    const struct at_profile *old,
                                    const struct at_profile *now,
                                    const struct at_profile *others,
                                    uint32_t other_count,
                                    struct at_profile_warning *ret_warnings);

/* at_profile_delete_warnings: deleting always warns. */
uint32_t at_profile_delete_warnings(struct at_slice id, struct at_profile_warning *ret_warnings);

#endif
