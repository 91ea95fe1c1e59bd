/* proto_files.c: descriptors are read from their bytes: a tree of a few hundred messages need not
 * stay in memory for questions that are asked now and then. */
#include "wire/proto_files.h"

#include "base/pbwire.h"

/* Generated with the code of the protos. */
extern const uint8_t at_proto_descriptors[];
extern const size_t at_proto_descriptors_size;

enum { SET_FILE = 1, FILE_PACKAGE = 2, FILE_DEPENDENCY = 3, ANY_NAME = 1 };

/* What a scope is, and which fields of its descriptor hold what is named in it. */
enum scope { SCOPE_NONE, SCOPE_FILE, SCOPE_MESSAGE, SCOPE_ENUM, SCOPE_SERVICE };

static const struct {
    enum scope in;
    uint32_t field;
    enum scope kind; /* of what is there; NONE: nothing is named in it */
} PLACES[] = {
    {SCOPE_FILE, 4, SCOPE_MESSAGE},    /* message_type */
    {SCOPE_FILE, 5, SCOPE_ENUM},       /* enum_type */
    {SCOPE_FILE, 6, SCOPE_SERVICE},    /* service */
    {SCOPE_FILE, 7, SCOPE_NONE},       /* extension */
    {SCOPE_MESSAGE, 2, SCOPE_NONE},    /* field */
    {SCOPE_MESSAGE, 3, SCOPE_MESSAGE}, /* nested_type */
    {SCOPE_MESSAGE, 4, SCOPE_ENUM},    /* enum_type */
    {SCOPE_MESSAGE, 6, SCOPE_NONE},    /* extension */
    {SCOPE_MESSAGE, 8, SCOPE_NONE},    /* oneof_decl */
    {SCOPE_ENUM, 2, SCOPE_NONE},       /* value */
    {SCOPE_SERVICE, 2, SCOPE_NONE},    /* method */
};

struct at_slice at_proto_files_own(void)
{
    return at_slice_make(at_proto_descriptors, at_proto_descriptors_size);
}

/* The first bytes field of this number; empty when there is none. */
static struct at_slice bytes_field(struct at_slice message, uint32_t number)
{
    struct at_pb_field field;
    bool bad = false;

    while (at_pb_next(&message, &field, &bad))
        if (field.number == number && field.type == AT_PB_BYTES)
            return field.bytes;
    return at_slice_make(NULL, 0);
}

/* Moves on to the next file of a set. */
static bool next_file(struct at_slice *set, struct at_slice *ret_file)
{
    struct at_pb_field field;
    bool bad = false;

    while (at_pb_next(set, &field, &bad)) {
        *ret_file = field.bytes;
        if (field.number == SET_FILE && field.type == AT_PB_BYTES)
            return true;
    }
    return false;
}

struct at_slice at_proto_file_named(struct at_slice set, struct at_slice name)
{
    struct at_slice file;

    while (next_file(&set, &file))
        if (name.len > 0 && at_slice_eq(bytes_field(file, ANY_NAME), name))
            return file;
    return at_slice_make(NULL, 0);
}

static bool place_of(enum scope in, uint32_t field, enum scope *ret_kind)
{
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        *ret_kind = PLACES[i].kind;
        if (PLACES[i].in == in && PLACES[i].field == field)
            return true;
    }
    return false;
}

/* Steps from a scope to what is named `name` in it. */
static bool step_into(struct at_slice *descriptor, enum scope *scope, struct at_slice name)
{
    struct at_slice rest = *descriptor;
    struct at_pb_field field;
    enum scope kind = SCOPE_NONE;
    bool bad = false;

    while (at_pb_next(&rest, &field, &bad)) {
        if (field.type != AT_PB_BYTES || !place_of(*scope, field.number, &kind) ||
            !at_slice_eq(bytes_field(field.bytes, ANY_NAME), name))
            continue;
        *descriptor = field.bytes;
        *scope = kind;
        return true;
    }
    return false;
}

/* Takes "package." off; false when `symbol` is of another package. */
static bool strip_package(struct at_slice *symbol, struct at_slice package)
{
    if (package.len == 0)
        return true;
    if (!at_slice_has_prefix(*symbol, package) || symbol->len == package.len ||
        symbol->data[package.len] != '.')
        return false;
    *symbol = at_slice_from(*symbol, package.len + 1);
    return true;
}

static bool defines(struct at_slice file, struct at_slice symbol, enum scope *ret_kind)
{
    struct at_slice at = file;
    bool found = symbol.len > 0 && strip_package(&symbol, bytes_field(file, FILE_PACKAGE));

    *ret_kind = SCOPE_FILE;
    while (found) {
        const uint8_t *dot = symbol.len > 0 ? memchr(symbol.data, '.', symbol.len) : NULL;
        size_t len = dot ? (size_t)(dot - symbol.data) : symbol.len;
        found = len > 0 && step_into(&at, ret_kind, at_slice_make(symbol.data, len));
        if (!dot)
            break;
        symbol = at_slice_from(symbol, len + 1);
    }
    return found;
}

static struct at_slice
find_symbol(struct at_slice set, struct at_slice symbol, enum scope *ret_kind)
{
    struct at_slice file;

    while (next_file(&set, &file))
        if (defines(file, symbol, ret_kind))
            return file;
    return at_slice_make(NULL, 0);
}

struct at_slice at_proto_file_defining(struct at_slice set, struct at_slice symbol)
{
    enum scope kind = SCOPE_NONE;

    return find_symbol(set, symbol, &kind);
}

bool at_proto_has_message(struct at_slice set, struct at_slice symbol)
{
    enum scope kind = SCOPE_NONE;

    return find_symbol(set, symbol, &kind).len > 0 && kind == SCOPE_MESSAGE;
}

static bool listed(const struct at_slice *files, size_t count, struct at_slice file)
{
    for (size_t i = 0; i < count; i++)
        if (files[i].data == file.data)
            return true;
    return false;
}

size_t at_proto_files_needed(struct at_slice set,
                             struct at_slice file,
                             struct at_arena *arena,
                             struct at_slice **ret_files)
{
    size_t count = 1;
    size_t max = 1;
    struct at_slice each = set;
    struct at_slice ignored;

    while (next_file(&each, &ignored))
        max++;
    struct at_slice *files = AT_ARENA_ARRAY(arena, struct at_slice, max);
    files[0] = file;
    for (size_t i = 0; i < count; i++) {
        struct at_slice rest = files[i];
        struct at_pb_field field;
        bool bad = false;
        while (at_pb_next(&rest, &field, &bad)) {
            if (field.number != FILE_DEPENDENCY || field.type != AT_PB_BYTES)
                continue;
            struct at_slice other = at_proto_file_named(set, field.bytes);
            if (other.len > 0 && count < max && !listed(files, count, other))
                files[count++] = other;
        }
    }
    *ret_files = files;
    return count;
}
