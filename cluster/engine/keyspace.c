#include "cluster/engine/engine_internal.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* CELLS may be another column family than it was: "cells" at first, later "cells.N". Which one is a
 * record of the default family, written by the batch that switches; without one it is the first.
 * Any other of these names is an aside that was never finished, or what CELLS was before, and is
 * dropped when the database opens.
 *
 * Batches are written with fixed ids for all but CELLS (see batch.c), so the families are made in
 * the order of their ids, also where a crash left only some of them. */

#define CELLS_NAME "cells"
#define CHOICE_KEY AT_LIT("cells")
#define NAMES_MAX 64 /* families that one directory can hold: leavings included */
#define NAME_BYTES_MAX 32

static const char *const fixed_names[FAMILY_COUNT] = {
    [FAMILY_DEFAULT] = "default",
    [1 + AT_SPACE_CELLS] = CELLS_NAME,
    [1 + AT_SPACE_LOG] = "log",
    [1 + AT_SPACE_META] = "meta",
};

/* What is opened. */
struct families {
    char names[NAMES_MAX][NAME_BYTES_MAX];
    rocksdb_column_family_handle_t *handles[NAMES_MAX];
    const rocksdb_options_t *options[NAMES_MAX];
    int count;
};

static enum at_code
list(struct families *f, const struct at_engine *e, const char *dir, struct at_error *reterr);
static enum at_code
add(struct families *f, const struct at_engine *e, const char *name, struct at_error *reterr);
static bool has(const struct families *f, const char *name);
static bool cells_number(const char *name, uint32_t *ret_number);
static enum at_code
assign(struct at_engine *e, const struct families *f, uint32_t chosen, struct at_error *reterr);
static enum at_code read_choice(const struct at_engine *e,
                                rocksdb_column_family_handle_t *root,
                                uint32_t *ret_number,
                                struct at_error *reterr);
static struct keyspace *
keyspace_new(rocksdb_column_family_handle_t *handle, uint32_t id, uint32_t number);

enum at_code engine_spaces_open(struct at_engine *e, const char *dir, struct at_error *reterr)
{
    struct families f = {.count = 0};
    const char *names[NAMES_MAX];
    uint32_t chosen = 0;
    char *text = NULL;

    AT_TRY(list(&f, e, dir, reterr));
    for (int i = 0; i < f.count; i++)
        names[i] = f.names[i];
    e->db = rocksdb_open_column_families(e->options[FAMILY_DEFAULT], dir, f.count, names, f.options,
                                         f.handles, &text);
    if (text != NULL) {
        e->db = NULL;
        return engine_fail(text, "open the database", reterr);
    }
    AT_ASSERT(strcmp(names[0], fixed_names[FAMILY_DEFAULT]) == 0);
    e->root = f.handles[0];
    enum at_code code = read_choice(e, e->root, &chosen, reterr);
    if (code == AT_OK)
        code = assign(e, &f, chosen, reterr);
    if (code == AT_OK)
        return AT_OK;
    for (int i = 1; i < f.count; i++)
        rocksdb_column_family_handle_destroy(f.handles[i]);
    for (int i = 0; i < AT_SPACE_COUNT; i++)
        at_free(AT_TAKE(e->spaces[i]));
    engine_spaces_close(e);
    return code;
}

void engine_spaces_close(struct at_engine *e)
{
    for (int i = 0; i < AT_SPACE_COUNT; i++)
        engine_space_unref(&e->spaces[i]);
    rocksdb_column_family_handle_destroy(e->root);
    rocksdb_close(e->db);
    e->db = NULL;
}

struct keyspace *
engine_space_ref(struct at_engine *e, enum at_space space, const struct at_snapshot *snapshot)
{
    struct keyspace *k = NULL;

    if (space != AT_SPACE_CELLS) {
        k = e->spaces[space]; /* always the same one */
        k->refs++;
    } else if (snapshot != NULL) {
        k = snapshot->cells;
        k->refs++;
    } else {
        pthread_mutex_lock(&e->spaces_lock);
        k = e->spaces[space];
        k->refs++;
        pthread_mutex_unlock(&e->spaces_lock);
    }
    return k;
}

void engine_space_unref(struct keyspace **space)
{
    struct keyspace *k = AT_TAKE(*space);

    if (k == NULL || --k->refs > 0)
        return;
    rocksdb_column_family_handle_destroy(k->handle);
    at_free(k);
}

enum at_code
engine_space_make(struct at_engine *e, struct keyspace **ret_space, struct at_error *reterr)
{
    char name[NAME_BYTES_MAX];
    char *text = NULL;

    (void)snprintf(name, sizeof(name), CELLS_NAME ".%u", ++e->last_number);
    rocksdb_column_family_handle_t *handle = rocksdb_create_column_family(
        e->db, e->options[engine_family_id(AT_SPACE_CELLS)], name, &text);
    if (text != NULL)
        return engine_fail(text, "make a keyspace", reterr);
    uint32_t id = rocksdb_column_family_handle_get_id(handle);
    *ret_space = keyspace_new(handle, id, e->last_number);
    if (id <= FAMILY_ID_MAX)
        return AT_OK;
    engine_space_drop(e, ret_space);
    return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "this directory has had too many copies: %u", id);
}

void engine_space_drop(struct at_engine *e, struct keyspace **space)
{
    struct keyspace *k = AT_TAKE(*space);
    char *text = NULL;

    if (k == NULL)
        return;
    if (!e->broken)
        rocksdb_drop_column_family(e->db, k->handle, &text);
    if (text != NULL) {
        at_log(AT_LOG_WARN, "can't drop a keyspace, it goes at the next start",
               AT_KV_STR("error", text));
        rocksdb_free(text);
    }
    engine_space_unref(&k);
}

void engine_batch_choose(struct at_batch *batch, const struct keyspace *space)
{
    uint8_t value[4];

    at_put_be32(value, space->number);
    engine_batch_put_root(batch, CHOICE_KEY, at_slice_make(value, sizeof(value)));
}

/* The families of a new database, or those that are there and those that are missing. */
static enum at_code
list(struct families *f, const struct at_engine *e, const char *dir, struct at_error *reterr)
{
    char path[ENGINE_PATH_BYTES_MAX];
    size_t count = 0;
    char *text = NULL;
    char **found = NULL;
    uint32_t number = 0;
    bool cells = false;

    int n = snprintf(path, sizeof(path), "%s/CURRENT", dir);
    AT_ASSERT(n > 0 && (size_t)n < sizeof(path)); /* at_engine_open has looked */
    AT_TRY(add(f, e, fixed_names[FAMILY_DEFAULT], reterr));
    if (access(path, F_OK) == 0)
        found = rocksdb_list_column_families(e->options[FAMILY_DEFAULT], dir, &count, &text);
    enum at_code code = text == NULL ? AT_OK : engine_fail(text, "open the database", reterr);
    for (size_t i = 0; i < count && code == AT_OK; i++) {
        if (cells_number(found[i], &number)) {
            cells = true;
            code = add(f, e, found[i], reterr);
        }
    }
    if (code == AT_OK && !cells)
        code = add(f, e, CELLS_NAME, reterr);
    for (uint32_t i = 1 + AT_SPACE_LOG; i < FAMILY_COUNT && code == AT_OK; i++)
        code = add(f, e, fixed_names[i], reterr);
    for (size_t i = 0; i < count && code == AT_OK; i++)
        if (!has(f, found[i]))
            code = at_fail(reterr, AT_DATA_LOSS, "an unknown column family: %s", found[i]);
    if (found != NULL)
        rocksdb_list_column_families_destroy(found, count);
    return code;
}

static enum at_code
add(struct families *f, const struct at_engine *e, const char *name, struct at_error *reterr)
{
    uint32_t number = 0;
    uint32_t at = FAMILY_DEFAULT;

    if (f->count == NAMES_MAX)
        return at_fail(reterr, AT_DATA_LOSS, "too many column families");
    for (uint32_t i = 0; i < FAMILY_COUNT; i++)
        if (strcmp(fixed_names[i], name) == 0)
            at = i;
    if (cells_number(name, &number))
        at = engine_family_id(AT_SPACE_CELLS);
    (void)snprintf(f->names[f->count], NAME_BYTES_MAX, "%s", name);
    f->options[f->count++] = e->options[at];
    return AT_OK;
}

static bool has(const struct families *f, const char *name)
{
    int i = 0;

    while (i < f->count && strcmp(f->names[i], name) != 0)
        i++;
    return i < f->count;
}

static bool cells_number(const char *name, uint32_t *ret_number)
{
    const char *digits = name + strlen(CELLS_NAME);
    char *end = NULL;

    *ret_number = 0;
    if (strncmp(name, CELLS_NAME, strlen(CELLS_NAME)) != 0 || strlen(name) >= NAME_BYTES_MAX)
        return false;
    if (*digits == '\0')
        return true;
    unsigned long number = strtoul(digits + 1, &end, 10);
    if (*digits != '.' || end == digits + 1 || *end != '\0' || number == 0 || number >= UINT32_MAX)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

/* Which handle is which space; the others are dropped. On an error the handles stay the caller's.
 */
static enum at_code
assign(struct at_engine *e, const struct families *f, uint32_t chosen, struct at_error *reterr)
{
    struct keyspace *others[NAMES_MAX];
    uint32_t other_count = 0;

    for (int i = 1; i < f->count; i++) {
        uint32_t number = 0;
        uint32_t id = rocksdb_column_family_handle_get_id(f->handles[i]);
        bool cells = cells_number(f->names[i], &number);
        bool log = !cells && strcmp(f->names[i], fixed_names[1 + AT_SPACE_LOG]) == 0;
        enum at_space space = cells ? AT_SPACE_CELLS : log ? AT_SPACE_LOG : AT_SPACE_META;
        struct keyspace *k = keyspace_new(f->handles[i], id, number);
        if (number > e->last_number)
            e->last_number = number;
        if (cells && number != chosen)
            others[other_count++] = k;
        else
            e->spaces[space] = k;
    }
    enum at_code code = AT_OK;
    for (uint32_t i = 0; i < AT_SPACE_COUNT && code == AT_OK; i++) {
        const struct keyspace *k = e->spaces[i];
        bool ok = k != NULL && (k->id == engine_family_id((enum at_space)i) ||
                                (i == AT_SPACE_CELLS && chosen > 0 && k->id <= FAMILY_ID_MAX));
        if (!ok)
            code = at_fail(reterr, AT_DATA_LOSS, "column family %s is missing or has another id",
                           fixed_names[i + 1]);
    }
    for (uint32_t i = 0; i < other_count; i++) {
        if (code == AT_OK)
            engine_space_drop(e, &others[i]);
        else
            at_free(others[i]);
    }
    return code;
}

static enum at_code read_choice(const struct at_engine *e,
                                rocksdb_column_family_handle_t *root,
                                uint32_t *ret_number,
                                struct at_error *reterr)
{
    struct at_slice key = CHOICE_KEY;
    char *text = NULL;
    size_t len = 0;

    rocksdb_readoptions_t *read = rocksdb_readoptions_create();
    char *value = rocksdb_get_cf(e->db, read, root, (const char *)key.data, key.len, &len, &text);
    rocksdb_readoptions_destroy(read);
    if (text != NULL)
        return engine_fail(text, "read", reterr);
    if (value == NULL)
        return AT_OK; /* never switched */
    if (len == 4)
        *ret_number = at_get_be32((const uint8_t *)value);
    rocksdb_free(value);
    return len == 4 && *ret_number > 0
               ? AT_OK
               : at_fail(reterr, AT_DATA_LOSS, "the record of keyspaces is damaged");
}

static struct keyspace *
keyspace_new(rocksdb_column_family_handle_t *handle, uint32_t id, uint32_t number)
{
    struct keyspace *k = AT_NEW(struct keyspace);

    k->handle = handle;
    k->id = id;
    k->number = number;
    k->refs = 1;
    return k;
}
