#include "cluster/admin/backup_order.h"

#include <string.h>
#include <strings.h>

static struct at_slice take_word(const char **next)
{
    const char *start;

    while (**next == ' ')
        (*next)++;
    start = *next;
    while (**next != ' ' && **next != ',' && **next != '\0')
        (*next)++;
    return at_slice_make(start, (size_t)(*next - start));
}

static bool is_word(struct at_slice word, const char *keyword)
{
    return word.len == strlen(keyword) &&
           strncasecmp((const char *)word.data, keyword, word.len) == 0;
}

enum at_code
at_backup_order_parse(const char *text, struct at_backup_order *ret_order, struct at_error *reterr)
{
    const char *next = text;
    struct at_slice word = take_word(&next);

    *ret_order = (struct at_backup_order){.count = 0};
    if (word.len == 0 && *next == '\0') {
        *ret_order = (struct at_backup_order){
            .fields = {AT_BACKUP_FIELD_START_TIME}, .descending = {true}, .count = 1};
        return AT_OK;
    }
    for (;; word = take_word(&next)) {
        if (ret_order->count == AT_BACKUP_ORDER_FIELDS_MAX)
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'order_by' : has more than %d fields",
                           AT_BACKUP_ORDER_FIELDS_MAX);
        if (!at_backup_field_find(word, &ret_order->fields[ret_order->count]))
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'order_by' : '%.*s' is no field to sort by",
                           AT_SLICE_ARG(word));
        word = take_word(&next);
        bool descending = is_word(word, "desc");
        ret_order->descending[ret_order->count++] = descending;
        if (word.len > 0 && !descending && !is_word(word, "asc"))
            break;
        word = take_word(&next); /* nothing but the end, or a comma */
        if (word.len > 0)
            break;
        if (*next == '\0')
            return AT_OK;
        next++;
    }
    return at_fail(reterr, AT_INVALID_ARGUMENT,
                   "Error in field 'order_by' : 'desc' or ',' is expected, not '%.*s'",
                   AT_SLICE_ARG(word));
}

int at_backup_order_cmp(const struct at_backup_order *order,
                        const Google__Bigtable__Admin__V2__Backup *a,
                        const Google__Bigtable__Admin__V2__Backup *b)
{
    for (uint32_t i = 0; i < order->count; i++) {
        enum at_backup_field field = order->fields[i];
        int c;
        if (at_backup_field_is_text(field)) {
            c = strcmp(at_backup_field_text(a, field), at_backup_field_text(b, field));
        } else {
            int64_t x = at_backup_field_number(a, field), y = at_backup_field_number(b, field);
            c = (x > y) - (x < y);
        }
        if (c != 0)
            return order->descending[i] ? -c : c;
    }
    return strcmp(a->name, b->name);
}
