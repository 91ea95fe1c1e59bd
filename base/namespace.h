/* namespace.h: names of what belongs to one of several instances that share one set of clusters.
 * PURE.
 *
 * A cluster has one home instance, the one of its file. With `accept_any_instance` it serves every
 * other well-formed "projects/P/instances/I" too, each as a namespace by itself. A table or app
 * profile of the home instance is kept by its id alone; one of another instance by its whole
 * resource name, "projects/P/instances/I/tables/T". Ids have no '/', so the forms can't be mixed
 * up, a whole name may be borrowed from the request, and says itself where it belongs. */
#ifndef ATOLL_BASE_NAMESPACE_H
#define ATOLL_BASE_NAMESPACE_H

#include "base/limits.h"
#include "base/slice.h"
#include "base/status.h"

struct at_instance_name {
    struct at_slice project;
    struct at_slice instance;
};

/* at_namespace_take takes "projects/P/instances/I" off the front of `rest`, of which "" or "/..."
 * is left. False (and `rest` as it was) when it does not begin so. Slices borrow. */
bool at_namespace_take(struct at_slice *rest, struct at_instance_name *ret_name);

/* at_namespace_check: are these names that production would accept? Projects are ids
 * ("my-project-1", "example.com:old-one") or numbers; instances are "[a-z][-a-z0-9]*" without a '-'
 * at the end, and may be shorter than production's six characters. One leniency: clients that were
 * told no project send the literal "{{projectId}}". INVALID_ARGUMENT naming the rule. */
AT_MUST_USE enum at_code at_namespace_check(const struct at_instance_name *name,
                                            struct at_error *reterr);

/* at_namespace_of: the "projects/P/instances/I" in a kept name; empty when it is of the home
 * instance. Borrows. */
struct at_slice at_namespace_of(struct at_slice kept);

/* at_namespace_id: the id at the end of a kept name. Borrows. */
struct at_slice at_namespace_id(struct at_slice kept);

/* at_namespace_holds: is a kept name of instance `instance` ("projects/P/instances/I", empty: the
 * home instance)? */
bool at_namespace_holds(struct at_slice instance, struct at_slice kept);

/* at_namespace_keep writes the kept name of `id`, in `collection` ("tables", "appProfiles"), to
 * `out`: of the home instance when `instance` is empty. Returns its length, or 0 when it would be
 * longer than AT_KEPT_NAME_BYTES_MAX. */
size_t at_namespace_keep(struct at_slice instance,
                         struct at_slice collection,
                         struct at_slice id,
                         char out[AT_KEPT_NAME_BYTES_MAX]);

#endif
