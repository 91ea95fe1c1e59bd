/* warning.c: which changes of an app profile an operator must confirm.
 *
 * Transactions on one row through several clusters are unsafe: each cluster would decide on its own
 * copy. So the moments at which two clusters could both run them are the ones that warn. */
#include "appprofile/warning.h"

#include <stdio.h>

#define TYPE_PREFIX "CLOUD_BIGTABLE_APP_PROFILE_WARNING_"

static bool transactional(const struct at_profile *p)
{
    return p->routing == AT_ROUTING_SINGLE && p->allow_transactional_writes;
}

uint32_t at_profile_update_warnings(struct at_slice id,
                                    const struct at_profile *old,
                                    const struct at_profile *now,
                                    const struct at_profile *others,
                                    uint32_t other_count,
                                    struct at_profile_warning *ret_warnings)
{
    uint32_t count = 0;
    if (!transactional(now))
        return 0;
    if (old && transactional(old) && !at_slice_eq(old->cluster_id, now->cluster_id)) {
        struct at_profile_warning *w = &ret_warnings[count++];
        *w = (struct at_profile_warning){.type = TYPE_PREFIX "TRANSACTIONAL_CLUSTER_CHANGE",
                                         .subject = id};
        (void)snprintf(
            w->description, sizeof(w->description),
            "Moving single-row transactions from cluster '%.*s' to '%.*s': writes that "
            "have not replicated yet will not be seen by transactions on the new cluster.",
            AT_SLICE_ARG(old->cluster_id), AT_SLICE_ARG(now->cluster_id));
    }
    for (uint32_t i = 0; i < other_count; i++) {
        if (!transactional(&others[i]) || at_slice_eq(others[i].cluster_id, now->cluster_id))
            continue;
        struct at_profile_warning *w = &ret_warnings[count++];
        *w = (struct at_profile_warning){.type = TYPE_PREFIX "TRANSACTIONS_ON_SEVERAL_CLUSTERS",
                                         .subject = id};
        (void)snprintf(w->description, sizeof(w->description),
                       "Another app profile allows single-row transactions on cluster '%.*s'; "
                       "transactions on the same row through two clusters are unsafe.",
                       AT_SLICE_ARG(others[i].cluster_id));
        break;
    }
    return count;
}

uint32_t at_profile_delete_warnings(struct at_slice id, struct at_profile_warning *ret_warnings)
{
    ret_warnings[0] = (struct at_profile_warning){.type = TYPE_PREFIX "DELETE", .subject = id};
    (void)snprintf(ret_warnings[0].description, sizeof(ret_warnings[0].description),
                   "Deleting an app profile will cause all requests using it to fail.");
    return 1;
}
