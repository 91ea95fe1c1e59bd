/* resource.c: cutting names at their slashes. */
#include "routing/resource.h"

/* Takes `literal` and then all up to the next slash off the front. */
static bool take(struct at_slice *rest, struct at_slice literal, struct at_slice *ret_part)
{
    if (!at_slice_has_prefix(*rest, literal))
        return false;
    struct at_slice after = at_slice_from(*rest, literal.len);
    const uint8_t *slash = after.len > 0 ? memchr(after.data, '/', after.len) : NULL;
    size_t len = slash ? (size_t)(slash - after.data) : after.len;
    if (len == 0)
        return false;
    *ret_part = at_slice_make(after.data, len);
    *rest = at_slice_from(after, len);
    return true;
}

static struct at_slice without_operations(struct at_slice name)
{
    static const struct at_slice PREFIX = AT_LIT_INIT("operations/");
    return at_slice_has_prefix(name, PREFIX) ? at_slice_from(name, PREFIX.len) : name;
}

bool at_resource_parse(struct at_slice name, struct at_resource *ret_resource)
{
    struct at_resource r = {0};
    struct at_slice begin = without_operations(name), rest = begin;
    if (!take(&rest, AT_LIT("projects/"), &r.project) || !take(&rest, AT_LIT("/instances/"), &r.id))
        return false;
    r.instance = at_slice_make(begin.data, begin.len - rest.len);
    (void)take(&rest, AT_LIT("/clusters/"), &r.cluster);
    *ret_resource = r;
    return true;
}

bool at_resource_project(struct at_slice name, struct at_slice *ret_project)
{
    struct at_slice rest = without_operations(name);
    return take(&rest, AT_LIT("projects/"), ret_project) &&
           (rest.len <= 1 || !memchr(rest.data + 1, '/', rest.len - 1));
}
