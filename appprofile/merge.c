/* merge.c: an update mask applied to an app profile.
 *
 * gRPC clients write paths in snake_case and name whole fields; gcloud writes camelCase with
 * sub-fields ("singleClusterRouting.clusterId"). A path is compared with underscores and case left
 * out, so that both spellings meet. A path below the routing branch that is not in force switches
 * to that branch, all of its other fields empty. */
#include "appprofile/profile.h"

enum part {
    PART_DESCRIPTION,
    PART_MULTI,
    PART_MULTI_CLUSTERS,
    PART_MULTI_AFFINITY,
    PART_SINGLE,
    PART_SINGLE_CLUSTER,
    PART_SINGLE_TRANSACTIONS,
    PART_ISOLATION,
    PART_NOTHING,
};

static const struct {
    const char *path; /* without underscores, lower case */
    enum part part;
} PATHS[] = {
    {"description", PART_DESCRIPTION},
    {"multiclusterroutinguseany", PART_MULTI},
    {"multiclusterroutinguseany.clusterids", PART_MULTI_CLUSTERS},
    {"multiclusterroutinguseany.rowaffinity", PART_MULTI_AFFINITY},
    {"singleclusterrouting", PART_SINGLE},
    {"singleclusterrouting.clusterid", PART_SINGLE_CLUSTER},
    {"singleclusterrouting.allowtransactionalwrites", PART_SINGLE_TRANSACTIONS},
    {"priority", PART_ISOLATION},
    {"standardisolation", PART_ISOLATION},
    {"standardisolation.priority", PART_ISOLATION},
    {"databoostisolationreadonly", PART_ISOLATION},
    {"databoostisolationreadonly.computebillingowner", PART_ISOLATION},
    {"etag", PART_NOTHING}, /* honoured wherever it comes, never stored */
    {"name", PART_NOTHING},
};

static bool path_matches(struct at_slice path, const char *plain);
static void take(struct at_profile *to, const struct at_profile *from, enum part part);
static void take_all(struct at_profile *to, const struct at_profile *from);

enum at_code at_profile_merge(const struct at_profile *old,
                              const struct at_profile *change,
                              struct at_profile_mask mask,
                              struct at_arena *arena,
                              struct at_profile *ret_profile,
                              struct at_error *reterr)
{
    struct at_profile merged = *old;
    for (uint32_t i = 0; i < mask.count; i++) {
        size_t k = 0;
        while (k < sizeof(PATHS) / sizeof(PATHS[0]) && !path_matches(mask.paths[i], PATHS[k].path))
            k++;
        if (k == sizeof(PATHS) / sizeof(PATHS[0]))
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'update_mask' : unknown path '%.*s'",
                           AT_SLICE_ARG(mask.paths[i]));
        take(&merged, change, PATHS[k].part);
    }
    if (mask.count == 0)
        take_all(&merged, change);

    /* The two sources may be freed before the result: copy what it borrows. */
    merged.description = at_arena_copy(arena, merged.description);
    merged.cluster_id = at_arena_copy(arena, merged.cluster_id);
    struct at_slice *ids = AT_ARENA_ARRAY(arena, struct at_slice, merged.cluster_id_count + 1);
    for (uint32_t i = 0; i < merged.cluster_id_count; i++)
        ids[i] = at_arena_copy(arena, merged.cluster_ids[i]);
    merged.cluster_ids = ids;
    merged.name = at_arena_copy(arena, old->name);
    merged.etag = (struct at_slice){0};
    *ret_profile = merged;
    return AT_OK;
}

static bool path_matches(struct at_slice path, const char *plain)
{
    size_t at = 0;
    for (size_t i = 0; i < path.len; i++) {
        uint8_t c = path.data[i];
        if (c == '_')
            continue;
        if (c >= 'A' && c <= 'Z')
            c = (uint8_t)(c - 'A' + 'a');
        if (plain[at] == '\0' || (uint8_t)plain[at] != c)
            return false;
        at++;
    }
    return plain[at] == '\0';
}

static void switch_to(struct at_profile *p, enum at_routing routing)
{
    if (p->routing == routing)
        return;
    p->routing = routing;
    p->cluster_id = (struct at_slice){0};
    p->allow_transactional_writes = false;
    p->cluster_ids = NULL;
    p->cluster_id_count = 0;
    p->row_affinity = false;
}

static void take_clusters(struct at_profile *to, const struct at_profile *from)
{
    to->cluster_ids = from->cluster_ids;
    to->cluster_id_count = from->cluster_id_count;
}

static void take_isolation(struct at_profile *to, const struct at_profile *from)
{
    to->data_boost = from->data_boost;
    to->priority = from->priority;
    to->compute_billing_owner = from->compute_billing_owner;
}

static void take(struct at_profile *to, const struct at_profile *from, enum part part)
{
    bool multi = part == PART_MULTI || part == PART_MULTI_CLUSTERS || part == PART_MULTI_AFFINITY;
    bool single =
        part == PART_SINGLE || part == PART_SINGLE_CLUSTER || part == PART_SINGLE_TRANSACTIONS;
    if (multi)
        switch_to(to, AT_ROUTING_ANY);
    if (single)
        switch_to(to, AT_ROUTING_SINGLE);
    if (part == PART_DESCRIPTION)
        to->description = from->description;
    if (part == PART_MULTI || part == PART_MULTI_CLUSTERS)
        take_clusters(to, from);
    if (part == PART_MULTI || part == PART_MULTI_AFFINITY)
        to->row_affinity = from->row_affinity;
    if (part == PART_SINGLE || part == PART_SINGLE_CLUSTER)
        to->cluster_id = from->cluster_id;
    if (part == PART_SINGLE || part == PART_SINGLE_TRANSACTIONS)
        to->allow_transactional_writes = from->allow_transactional_writes;
    if (part == PART_ISOLATION)
        take_isolation(to, from);
}

static void take_all(struct at_profile *to, const struct at_profile *from)
{
    to->description = from->description;
    to->routing = from->routing;
    to->cluster_id = from->cluster_id;
    to->allow_transactional_writes = from->allow_transactional_writes;
    take_clusters(to, from);
    to->row_affinity = from->row_affinity;
    take_isolation(to, from);
}
