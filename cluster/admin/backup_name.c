#include "cluster/admin/backup_name.h"

#include <stdio.h>

#include "base/namespace.h"

#define CLUSTERS "/clusters/"
#define BACKUPS "/backups/"

static enum at_code fail_form(const char *what, const char *form, struct at_error *reterr)
{
    return at_fail(reterr, AT_INVALID_ARGUMENT, "Invalid name '%s': %s is expected", what, form);
}

static bool is_id(struct at_slice id)
{
    for (size_t i = 0; i < id.len; i++) {
        uint8_t c = id.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && (i == 0 || (c != '-' && c != '.')))
            return false;
    }
    return id.len > 0 && id.len <= AT_BACKUP_ID_BYTES_MAX;
}

/* What stands behind "projects/P/instances/I". */
static enum at_code take_instance(const struct at_service *service,
                                  struct at_slice name,
                                  struct at_backup_name *ret_name,
                                  struct at_slice *ret_rest,
                                  struct at_error *reterr)
{
    struct at_instance_name instance;

    *ret_name = (struct at_backup_name){0};
    *ret_rest = name;
    AT_TRY(at_service_namespace(service, name, &ret_name->in, reterr));
    bool taken = at_namespace_take(ret_rest, &instance);
    return taken ? AT_OK : AT_INVALID_ARGUMENT; /* at_service_namespace has said so */
}

static void keep(struct at_arena *arena, struct at_backup_name *name)
{
    const char *text =
        name->in.len > 0
            ? at_arena_printf(arena, "%.*s" CLUSTERS "%.*s" BACKUPS "%.*s", AT_SLICE_ARG(name->in),
                              AT_SLICE_ARG(name->cluster), AT_SLICE_ARG(name->id))
            : at_arena_printf(arena, "%.*s/%.*s", AT_SLICE_ARG(name->cluster),
                              AT_SLICE_ARG(name->id));
    name->kept = at_slice_cstr(text);
}

/* "/clusters/C/backups/B", or "/clusters/C" with empty `middle`. */
static bool take_parts(struct at_slice rest,
                       const char *middle,
                       struct at_slice *ret_cluster,
                       struct at_slice *ret_id)
{
    struct at_slice clusters = AT_LIT(CLUSTERS);
    struct at_slice backups = at_slice_cstr(middle);

    if (!at_slice_has_prefix(rest, clusters))
        return false;
    rest = at_slice_from(rest, clusters.len);
    const uint8_t *slash = rest.len > 0 ? memchr(rest.data, '/', rest.len) : NULL;
    size_t len = slash ? (size_t)(slash - rest.data) : rest.len;
    *ret_cluster = at_slice_make(rest.data, len);
    rest = at_slice_from(rest, len);
    if (len == 0 || len > AT_INSTANCE_ID_BYTES_MAX || !at_slice_has_prefix(rest, backups))
        return false;
    *ret_id = at_slice_from(rest, backups.len);
    return backups.len > 0 || rest.len == 0;
}

enum at_code at_backup_name_parse(const struct at_service *service,
                                  const char *full,
                                  struct at_arena *arena,
                                  struct at_backup_name *ret_name,
                                  struct at_error *reterr)
{
    struct at_slice rest;

    AT_TRY(take_instance(service, at_slice_cstr(full), ret_name, &rest, reterr));
    if (!take_parts(rest, BACKUPS, &ret_name->cluster, &ret_name->id) || !is_id(ret_name->id))
        return fail_form(
            full, "projects/<project>/instances/<instance>/clusters/<cluster>/backups/<backup>",
            reterr);
    keep(arena, ret_name);
    return AT_OK;
}

enum at_code at_backup_name_of(const struct at_service *service,
                               const char *parent,
                               const char *id,
                               struct at_arena *arena,
                               struct at_backup_name *ret_name,
                               struct at_error *reterr)
{
    struct at_slice rest;
    struct at_slice none;

    AT_TRY(take_instance(service, at_slice_cstr(parent), ret_name, &rest, reterr));
    if (!take_parts(rest, "", &ret_name->cluster, &none))
        return fail_form(parent, "projects/<project>/instances/<instance>/clusters/<cluster>",
                         reterr);
    ret_name->id = at_slice_cstr(id);
    if (!is_id(ret_name->id))
        return at_fail(reterr, AT_INVALID_ARGUMENT,
                       "Error in field 'backup_id' : Backup id '%.60s' must be 1 to %d of "
                       "[-_.a-zA-Z0-9], the first of [_a-zA-Z0-9]",
                       id, AT_BACKUP_ID_BYTES_MAX);
    keep(arena, ret_name);
    return AT_OK;
}

struct at_backup_name at_backup_name_kept(struct at_slice kept)
{
    struct at_backup_name name = {.in = at_namespace_of(kept), .kept = kept};
    const uint8_t *slash;

    if (name.in.len > 0) {
        (void)take_parts(at_slice_from(kept, name.in.len), BACKUPS, &name.cluster, &name.id);
        return name;
    }
    slash = kept.len > 0 ? memchr(kept.data, '/', kept.len) : NULL;
    size_t len = slash ? (size_t)(slash - kept.data) : 0;
    name.cluster = at_slice_make(kept.data, len);
    name.id = at_slice_from(kept, slash ? len + 1 : kept.len);
    return name;
}

char *at_backup_name_full(const struct at_service *service,
                          struct at_arena *arena,
                          const struct at_backup_name *name)
{
    if (name->in.len > 0)
        return at_arena_printf(arena, "%.*s", AT_SLICE_ARG(name->kept));
    return at_arena_printf(arena, "projects/%s/instances/%s" CLUSTERS "%.*s" BACKUPS "%.*s",
                           service->project, service->instance, AT_SLICE_ARG(name->cluster),
                           AT_SLICE_ARG(name->id));
}

char *
at_backup_file_name(struct at_arena *arena, const struct at_backup_name *name, uint64_t generation)
{
    char *text = at_arena_printf(arena, "%.*s.%llu", AT_SLICE_ARG(name->kept),
                                 (unsigned long long)generation);

    for (char *c = text; *c != '\0'; c++)
        if (*c == '/')
            *c = '+';
    return text;
}

char *at_backup_path(const struct at_service *service,
                     struct at_arena *arena,
                     const struct at_backup_name *name,
                     uint64_t generation)
{
    return at_arena_printf(arena, "%s/%s", service->backup_dir,
                           at_backup_file_name(arena, name, generation));
}
