/* profile.h: an app profile: how requests that name it are routed. PURE.
 *
 * Stored and sent as a serialized google.bigtable.admin.v2.AppProfile; this is its readable form.
 * An isolation is always present: a profile without one has standard isolation, priority HIGH. */
#ifndef ATOLL_APPPROFILE_PROFILE_H
#define ATOLL_APPPROFILE_PROFILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/status.h"

enum at_routing {
    AT_ROUTING_NONE, /* neither branch set: not valid */
    AT_ROUTING_SINGLE,
    AT_ROUTING_ANY,
};

enum at_priority { AT_PRIORITY_UNSPECIFIED, AT_PRIORITY_LOW, AT_PRIORITY_MEDIUM, AT_PRIORITY_HIGH };

struct at_profile {
    struct at_slice name; /* full resource name; may be empty in a request */
    struct at_slice etag;
    struct at_slice description;
    enum at_routing routing;
    /* SINGLE */
    struct at_slice cluster_id;
    bool allow_transactional_writes;
    /* ANY; no ids: every cluster of the instance, later ones too */
    struct at_slice *cluster_ids;
    uint32_t cluster_id_count;
    bool row_affinity;
    /* isolation */
    bool data_boost; /* read-only isolation */
    enum at_priority priority;
    uint32_t compute_billing_owner; /* data boost; 0 unspecified, 1 host pays */
};

/* at_profile_decode reads the serialized form; slices borrow `bytes`, arrays the arena. The old
 * `priority` field becomes standard isolation. INVALID_ARGUMENT when malformed. */
AT_MUST_USE enum at_code at_profile_decode(struct at_slice bytes,
                                           struct at_arena *arena,
                                           struct at_profile *ret_profile,
                                           struct at_error *reterr);
AT_MUST_USE enum at_code at_profile_encode(const struct at_profile *p, struct at_buf *out);

/* at_profile_etag appends the etag of what the profile says (its name and etag do not count). */
AT_MUST_USE enum at_code at_profile_etag(const struct at_profile *p, struct at_buf *out);

/* at_profile_id_check: INVALID_ARGUMENT unless [_a-zA-Z0-9][-_.a-zA-Z0-9]*, at most 50 bytes. */
AT_MUST_USE enum at_code at_profile_id_check(struct at_slice id, struct at_error *reterr);

/* at_profile_check: a routing is set; the clusters it names are among `clusters` (NOT_FOUND), not
 * named twice; data boost only with single-cluster routing without transactions. INVALID_ARGUMENT.
 */
AT_MUST_USE enum at_code at_profile_check(const struct at_profile *p,
                                          const struct at_slice *clusters,
                                          uint32_t cluster_count,
                                          struct at_error *reterr);

/* An update mask. */
struct at_profile_mask {
    const struct at_slice *paths;
    uint32_t count;
};
/* at_profile_merge puts the fields of `change` that the mask names into a copy of `old`. No paths:
 * all fields. Paths come in snake_case or camelCase, with sub-fields
 * ("singleClusterRouting.clusterId"); a path of the other routing branch switches to it.
 * INVALID_ARGUMENT for an unknown path. */
AT_MUST_USE enum at_code at_profile_merge(const struct at_profile *old,
                                          const struct at_profile *change,
                                          struct at_profile_mask mask,
                                          struct at_arena *arena,
                                          struct at_profile *ret_profile,
                                          struct at_error *reterr);

/* at_profile_transactions: may read-modify-write and check-and-mutate run through it? If not, the
 * answer is FAILED_PRECONDITION "Single-row transactions are not allowed by this app profile". */
AT_MUST_USE enum at_code at_profile_transactions(const struct at_profile *p,
                                                 struct at_error *reterr);

/* at_profile_serves: does the profile allow `cluster` to serve its requests? */
bool at_profile_serves(const struct at_profile *p, struct at_slice cluster);

#endif
