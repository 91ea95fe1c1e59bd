/* route.c: matching a path. The text behind the variable is cut off first, so a '**' needs no
 * trying. */
#include "routing/rest/route.h"

#include "base/assert.h"

#define ROOT AT_LIT("/v2/")

bool at_rest_is_path(struct at_slice path)
{
    return at_slice_has_prefix(path, ROOT);
}

static struct at_slice next_segment(struct at_slice *rest)
{
    const uint8_t *slash = rest->len ? memchr(rest->data, '/', rest->len) : NULL;
    struct at_slice segment =
        at_slice_make(rest->data, slash ? (size_t)(slash - rest->data) : rest->len);
    *rest = at_slice_from(*rest, segment.len + (slash != NULL));
    return segment;
}

/* A colon in the last segment would be a verb that this route does not have. */
static bool fits(struct at_slice segments, struct at_slice value, bool last_is_free)
{
    if (value.len == 0 || value.data[value.len - 1] == '/')
        return false;
    while (segments.len > 0 && value.len > 0) {
        struct at_slice want = next_segment(&segments);
        if (at_slice_eq(want, AT_LIT("**"))) {
            AT_ASSERT(segments.len == 0);
            return true;
        }
        struct at_slice got = next_segment(&value);
        bool any = at_slice_eq(want, AT_LIT("*"));
        if (any ? got.len == 0 : !at_slice_eq(want, got))
            return false;
        if (any && segments.len == 0 && !last_is_free && memchr(got.data, ':', got.len))
            return false;
    }
    return segments.len == 0 && value.len == 0;
}

static bool
match(const struct at_rest_route *route, struct at_slice path, struct at_rest_match *ret)
{
    const char *equals = strchr(route->pattern, '=');
    const char *brace = strchr(route->pattern, '}');
    AT_ASSERT(route->pattern[0] == '{' && equals && brace && equals < brace);
    struct at_slice suffix = at_slice_cstr(brace + 1);
    if (path.len < suffix.len)
        return false;
    struct at_slice value = at_slice_make(path.data, path.len - suffix.len);
    if (!at_slice_eq(at_slice_from(path, value.len), suffix) ||
        !fits(at_slice_make(equals + 1, (size_t)(brace - equals - 1)), value,
              suffix.len > 0 && suffix.data[0] == '/'))
        return false;
    *ret = (struct at_rest_match){
        .route = route,
        .variable = at_slice_make(route->pattern + 1, (size_t)(equals - route->pattern - 1)),
        .value = value,
    };
    return true;
}

bool at_rest_route_find(const char *verb, struct at_slice path, struct at_rest_match *ret_match)
{
    size_t count;
    const struct at_rest_route *routes = at_rest_routes(&count);
    if (!at_rest_is_path(path))
        return false;
    path = at_slice_from(path, ROOT.len);
    for (size_t i = 0; i < count; i++)
        if (strcmp(routes[i].verb, verb) == 0 && match(&routes[i], path, ret_match))
            return true;
    return false;
}
