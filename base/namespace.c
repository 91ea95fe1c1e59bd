#include "base/namespace.h"

#define PROJECTS AT_LIT("projects/")
#define INSTANCES AT_LIT("/instances/")
#define UNTOLD_PROJECT AT_LIT("{{projectId}}")

/* Takes "<literal>" and then everything up to the next '/' off the front of `rest`. */
static bool take_part(struct at_slice *rest, struct at_slice literal, struct at_slice *ret_part)
{
    if (!at_slice_has_prefix(*rest, literal))
        return false;
    struct at_slice after = at_slice_from(*rest, literal.len);
    const uint8_t *slash = after.len > 0 ? memchr(after.data, '/', after.len) : NULL;
    size_t len = slash ? (size_t)(slash - after.data) : after.len;
    *ret_part = at_slice_make(after.data, len);
    *rest = at_slice_from(after, len);
    return len > 0;
}

bool at_namespace_take(struct at_slice *rest, struct at_instance_name *ret_name)
{
    struct at_slice left = *rest;

    if (!take_part(&left, PROJECTS, &ret_name->project) ||
        !take_part(&left, INSTANCES, &ret_name->instance))
        return false;
    *rest = left;
    return true;
}

static bool is_lower(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* [a-z][-a-z0-9]* with no '-' at the end. */
static bool is_dns_label(struct at_slice s)
{
    if (s.len == 0 || !is_lower(s.data[0]) || s.data[s.len - 1] == '-')
        return false;
    for (size_t i = 1; i < s.len; i++)
        if (!is_lower(s.data[i]) && !is_digit(s.data[i]) && s.data[i] != '-')
            return false;
    return true;
}

static bool is_number(struct at_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.data[i]))
            return false;
    return s.len > 0;
}

/* Labels with dots between them. */
static bool is_domain(struct at_slice s)
{
    size_t begin = 0;

    for (size_t i = 0; i <= s.len; i++) {
        if (i < s.len && s.data[i] != '.')
            continue;
        if (!is_dns_label(at_slice_make(s.data + begin, i - begin)))
            return false;
        begin = i + 1;
    }
    return true;
}

static bool is_project(struct at_slice s)
{
    const uint8_t *colon = s.len > 0 ? memchr(s.data, ':', s.len) : NULL;

    if (s.len > AT_PROJECT_ID_BYTES_MAX)
        return false;
    if (!colon)
        return is_dns_label(s) || is_number(s) || at_slice_eq(s, UNTOLD_PROJECT);
    size_t at = (size_t)(colon - s.data);
    return is_domain(at_slice_make(s.data, at)) && is_dns_label(at_slice_from(s, at + 1));
}

enum at_code at_namespace_check(const struct at_instance_name *name, struct at_error *reterr)
{
    if (!is_project(name->project))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid project '%.*s': [a-z][-a-z0-9]*, with a domain and ':' before it "
                       "or not, or a number, of at most %d characters is expected",
                       AT_SLICE_ARG(name->project), AT_PROJECT_ID_BYTES_MAX);
    if (!is_dns_label(name->instance) || name->instance.len > AT_INSTANCE_ID_BYTES_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Invalid instance id '%.*s': [a-z][-a-z0-9]*[a-z0-9] of at most %d "
                       "characters is expected",
                       AT_SLICE_ARG(name->instance), AT_INSTANCE_ID_BYTES_MAX);
    return AT_OK;
}

struct at_slice at_namespace_of(struct at_slice kept)
{
    struct at_slice rest = kept;
    struct at_instance_name name;

    if (!at_namespace_take(&rest, &name))
        return at_slice_make(NULL, 0);
    return at_slice_make(kept.data, kept.len - rest.len);
}

struct at_slice at_namespace_id(struct at_slice kept)
{
    const uint8_t *slash = kept.len > 0 ? memrchr(kept.data, '/', kept.len) : NULL;

    return slash ? at_slice_from(kept, (size_t)(slash - kept.data) + 1) : kept;
}

bool at_namespace_holds(struct at_slice instance, struct at_slice kept)
{
    return at_slice_eq(at_namespace_of(kept), instance);
}

static size_t put(char *out, size_t at, struct at_slice s)
{
    if (s.len > 0)
        memcpy(out + at, s.data, s.len);
    return at + s.len;
}

size_t at_namespace_keep(struct at_slice instance,
                         struct at_slice collection,
                         struct at_slice id,
                         char out[AT_KEPT_NAME_BYTES_MAX])
{
    size_t before = instance.len > 0 ? instance.len + collection.len + 2 : 0;
    size_t len = 0;

    if (id.len > AT_KEPT_NAME_BYTES_MAX || before > AT_KEPT_NAME_BYTES_MAX - id.len)
        return 0;
    if (before > 0) {
        len = put(out, len, instance);
        out[len++] = '/';
        len = put(out, len, collection);
        out[len++] = '/';
    }
    return put(out, len, id);
}
