/* resource.h: which instance and cluster a resource name is about. PURE. */
#ifndef ATOLL_ROUTING_RESOURCE_H
#define ATOLL_ROUTING_RESOURCE_H

#include "base/slice.h"

/* Slices borrow the name. */
struct at_resource {
    struct at_slice instance; /* "projects/P/instances/I" */
    struct at_slice project;  /* "P" */
    struct at_slice id;       /* "I"; "-" stands for all of the project */
    struct at_slice cluster;  /* "C" when "/clusters/C" follows; else empty */
};

/* at_resource_parse reads the front of a name: "projects/P/instances/I" with anything behind it,
 * and the same after "operations/". False when it does not begin so. */
bool at_resource_parse(struct at_slice name, struct at_resource *ret_resource);

/* at_resource_project reads "projects/P", and the same after "operations/", with nothing or one
 * more collection behind it; false when it is not that. */
bool at_resource_project(struct at_slice name, struct at_slice *ret_project);

#endif
