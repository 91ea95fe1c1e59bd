#include "cluster/admin/backup_filter.h"

#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "cluster/admin/rfc3339.h"

/* As all comparisons must hold, parentheses only need to be balanced. */

struct parser {
    const char *text;
    const char *next;
    struct at_arena *arena;
    uint32_t depth;
};

static enum at_code fail_at(const struct parser *p, const char *what, struct at_error *reterr)
{
    return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'filter' : %s at character %td",
                   what, p->next - p->text + 1);
}

static void skip_spaces(struct parser *p)
{
    while (*p->next == ' ' || *p->next == '\t' || *p->next == '\n')
        p->next++;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/' || c == '+' || (unsigned char)c >= 0x80;
}

static struct at_slice take_word(struct parser *p, bool colons)
{
    const char *start = p->next;

    while (is_word_byte(*p->next) || (colons && *p->next == ':'))
        p->next++;
    return at_slice_make(start, (size_t)(p->next - start));
}

static bool is_word(struct at_slice word, const char *keyword)
{
    return word.len == strlen(keyword) &&
           strncasecmp((const char *)word.data, keyword, word.len) == 0;
}

static enum at_code take_op(struct parser *p, enum at_backup_op *ret_op, struct at_error *reterr)
{
    static const struct {
        const char *text;
        enum at_backup_op op;
    } OPS[] = {
        {"!=", AT_BACKUP_OP_NE}, {"<=", AT_BACKUP_OP_LE}, {">=", AT_BACKUP_OP_GE},
        {"<", AT_BACKUP_OP_LT},  {">", AT_BACKUP_OP_GT},  {"=", AT_BACKUP_OP_EQ},
        {":", AT_BACKUP_OP_HAS},
    };

    skip_spaces(p);
    for (size_t i = 0; i < sizeof(OPS) / sizeof(OPS[0]); i++) {
        size_t len = strlen(OPS[i].text);
        if (strncmp(p->next, OPS[i].text, len) != 0)
            continue;
        p->next += len;
        *ret_op = OPS[i].op;
        return AT_OK;
    }
    return fail_at(p, "an operator is expected", reterr);
}

/* A quoted value; \" and \\ stand for themselves. */
static enum at_code
take_quoted(struct parser *p, struct at_slice *ret_text, struct at_error *reterr)
{
    char *out = at_arena_alloc_raw(p->arena, strlen(p->next) + 1);
    size_t len = 0;

    p->next++;
    while (*p->next != '"' && *p->next != '\0') {
        if (p->next[0] == '\\' && p->next[1] != '\0')
            p->next++;
        out[len++] = *p->next++;
    }
    if (*p->next != '"')
        return fail_at(p, "a closing '\"' is missing", reterr);
    p->next++;
    *ret_text = at_slice_make(out, len);
    return AT_OK;
}

static bool read_number(struct at_slice text, int64_t *ret_number)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || n > (INT64_MAX - 9) / 10)
            return false;
        n = n * 10 + (text.data[i] - '0');
    }
    *ret_number = n;
    return text.len > 0;
}

static enum at_code
read_value(const struct parser *p, struct at_backup_term *term, struct at_error *reterr)
{
    if (at_backup_field_is_text(term->field))
        return AT_OK;
    if (term->field == AT_BACKUP_FIELD_SIZE_BYTES)
        return read_number(term->text, &term->number)
                   ? AT_OK
                   : fail_at(p, "a number of bytes is expected before", reterr);
    if (term->field != AT_BACKUP_FIELD_STATE)
        return at_rfc3339_read(term->text, &term->number)
                   ? AT_OK
                   : fail_at(p, "a time like \"2026-01-31T12:00:00Z\" is expected before", reterr);
    term->number = GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__READY;
    if (is_word(term->text, "READY"))
        return AT_OK;
    term->number = GOOGLE__BIGTABLE__ADMIN__V2__BACKUP__STATE__CREATING;
    return is_word(term->text, "CREATING")
               ? AT_OK
               : fail_at(p, "no state of a backup stands before", reterr);
}

static enum at_code take_term(struct parser *p,
                              struct at_slice field,
                              struct at_backup_term *ret_term,
                              struct at_error *reterr)
{
    if (is_word(field, "OR") || is_word(field, "NOT"))
        return fail_at(p, "OR and NOT are not supported", reterr);
    if (!at_backup_field_find(field, &ret_term->field))
        return field.len == 0 ? fail_at(p, "the name of a field is expected", reterr)
                              : at_fail(reterr, AT_INVALID_ARGUMENT,
                                        "Error in field 'filter' : '%.*s' is no field to filter by",
                                        AT_SLICE_ARG(field));
    AT_TRY(take_op(p, &ret_term->op, reterr));
    bool ordered = ret_term->op > AT_BACKUP_OP_HAS;
    if (ordered &&
        (at_backup_field_is_text(ret_term->field) || ret_term->field == AT_BACKUP_FIELD_STATE))
        return fail_at(p, "this field has no order; '=', '!=' or ':' is expected before", reterr);
    skip_spaces(p);
    if (*p->next == '"') {
        AT_TRY(take_quoted(p, &ret_term->text, reterr));
        if (ret_term->op == AT_BACKUP_OP_HAS)
            ret_term->op = AT_BACKUP_OP_EQ;
    } else {
        ret_term->text = take_word(p, true);
    }
    if (ret_term->text.len == 0)
        return fail_at(p, "a value is expected", reterr);
    return read_value(p, ret_term, reterr);
}

/* Parentheses and what joins terms, up to the next term. */
static enum at_code
take_joint(struct parser *p, struct at_slice *ret_field, struct at_error *reterr)
{
    *ret_field = at_slice_make(NULL, 0);
    for (;;) {
        skip_spaces(p);
        if (*p->next == '\0')
            return p->depth == 0 ? AT_OK : fail_at(p, "a ')' is missing", reterr);
        if (*p->next == ')' && p->depth == 0)
            return fail_at(p, "there is a ')' too many", reterr);
        if (*p->next == '(' || *p->next == ')') {
            p->depth += *p->next == '(' ? 1 : (uint32_t)-1;
            p->next++;
            continue;
        }
        struct at_slice word = take_word(p, false);
        if (word.len == 0)
            return fail_at(p, "the name of a field is expected", reterr);
        if (is_word(word, "AND"))
            continue;
        *ret_field = word;
        return AT_OK;
    }
}

enum at_code at_backup_filter_parse(const char *text,
                                    struct at_arena *arena,
                                    struct at_backup_filter *ret_filter,
                                    struct at_error *reterr)
{
    struct parser p = {.text = text, .next = text, .arena = arena};
    struct at_slice field;

    *ret_filter = (struct at_backup_filter){.count = 0};
    if (strlen(text) > AT_BACKUP_FILTER_BYTES_MAX)
        return fail_at(&p, "it is too long", reterr);
    for (;;) {
        AT_TRY(take_joint(&p, &field, reterr));
        if (field.len == 0)
            return AT_OK;
        if (ret_filter->count == AT_BACKUP_FILTER_TERMS_MAX)
            return fail_at(&p, "there are too many comparisons", reterr);
        AT_TRY(take_term(&p, field, &ret_filter->terms[ret_filter->count], reterr));
        ret_filter->count++;
    }
}

/* --- matching --- */

static bool same_text(struct at_slice a, struct at_slice b)
{
    return a.len == b.len &&
           (a.len == 0 || strncasecmp((const char *)a.data, (const char *)b.data, a.len) == 0);
}

static bool text_is(struct at_slice value, struct at_slice wanted)
{
    const uint8_t *slash = value.len > 0 ? memrchr(value.data, '/', value.len) : NULL;
    size_t id_at = slash ? (size_t)(slash - value.data) + 1 : 0;

    return same_text(value, wanted) || same_text(at_slice_from(value, id_at), wanted);
}

static bool text_has(struct at_slice value, struct at_slice part)
{
    for (size_t i = 0; i + part.len <= value.len; i++)
        if (same_text(at_slice_make(value.data + i, part.len), part))
            return true;
    return false;
}

static bool number_holds(int64_t value, enum at_backup_op op, int64_t wanted)
{
    switch (op) {
    case AT_BACKUP_OP_EQ:
    case AT_BACKUP_OP_HAS:
        return value == wanted;
    case AT_BACKUP_OP_NE:
        return value != wanted;
    case AT_BACKUP_OP_LT:
        return value < wanted;
    case AT_BACKUP_OP_LE:
        return value <= wanted;
    case AT_BACKUP_OP_GT:
        return value > wanted;
    case AT_BACKUP_OP_GE:
        return value >= wanted;
    }
    return false;
}

bool at_backup_filter_matches(const struct at_backup_filter *filter,
                              const Google__Bigtable__Admin__V2__Backup *backup)
{
    for (uint32_t i = 0; i < filter->count; i++) {
        const struct at_backup_term *t = &filter->terms[i];
        bool holds;
        if (!at_backup_field_is_text(t->field)) {
            holds = number_holds(at_backup_field_number(backup, t->field), t->op, t->number);
        } else {
            struct at_slice value = at_slice_cstr(at_backup_field_text(backup, t->field));
            holds = t->op == AT_BACKUP_OP_HAS ? text_has(value, t->text) : text_is(value, t->text);
            holds = holds == (t->op != AT_BACKUP_OP_NE);
        }
        if (!holds)
            return false;
    }
    return true;
}
