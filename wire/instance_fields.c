#include "wire/instance_fields.h"

#include <stdbool.h>
#include <string.h>

/* Labels are those of all of Google's cloud: letters are lower-case ones of any script, and any
 * byte beyond ASCII passes for one. */

#define LABELS_MAX 64
#define LABEL_CHARACTERS_MAX 63
#define LABEL_BYTES_MAX 128
#define DISPLAY_NAME_BYTES_MAX 256

typedef Google__Bigtable__Admin__V2__Instance instance_t;

enum at_code at_instance_display_name_check(const char *name, struct at_error *reterr)
{
    size_t len = strlen(name);

    if (len > 0 && len <= DISPLAY_NAME_BYTES_MAX)
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT,
                   "Error in field 'display_name' : must have 1 to %d bytes",
                   DISPLAY_NAME_BYTES_MAX);
}

enum at_code at_instance_type_check(const instance_t *instance, struct at_error *reterr)
{
    int type = (int)instance->type;

    if (type >= 0 && type <= GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__DEVELOPMENT)
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'type' : %d is no type", type);
}

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || c >= 0x80;
}

static bool is_text(const char *text)
{
    size_t len = strlen(text);
    size_t characters = 0;
    bool ok = len <= LABEL_BYTES_MAX;

    for (size_t i = 0; i < len && ok; i++) {
        unsigned char c = (unsigned char)text[i];
        ok = is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
        characters += (c & 0xc0) != 0x80; /* else a character goes on */
    }
    return ok && characters <= LABEL_CHARACTERS_MAX;
}

enum at_code at_instance_labels_check(const instance_t *instance, struct at_error *reterr)
{
    if (instance->n_labels > LABELS_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "Error in field 'labels' : at most %d, has %zu",
                       LABELS_MAX, instance->n_labels);
    for (size_t i = 0; i < instance->n_labels; i++) {
        const char *key = instance->labels[i]->key;
        if (!is_letter((unsigned char)key[0]) || !is_text(key))
            return at_fail(reterr, AT_INVALID_ARGUMENT,
                           "Error in field 'labels' : key '%.100s' must be a lower-case letter and "
                           "up to %d of those, digits, _ and -",
                           key, LABEL_CHARACTERS_MAX - 1);
        if (!is_text(instance->labels[i]->value))
            return at_fail(
                reterr, AT_INVALID_ARGUMENT,
                "Error in field 'labels' : the value of '%s' must be up to %d lower-case "
                "letters, digits, _ and -",
                key, LABEL_CHARACTERS_MAX);
    }
    return AT_OK;
}

enum at_code at_instance_fields_check(const instance_t *instance, struct at_error *reterr)
{
    AT_TRY(at_instance_display_name_check(instance->display_name, reterr));
    AT_TRY(at_instance_type_check(instance, reterr));
    return at_instance_labels_check(instance, reterr);
}
