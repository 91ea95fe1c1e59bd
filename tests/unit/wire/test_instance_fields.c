#include "wire/instance_fields.h"

#include <string.h>

#include "support/test.h"

#define X63 "a23456789012345678901234567890123456789012345678901234567890123"

typedef Google__Bigtable__Admin__V2__Instance instance_t;
typedef Google__Bigtable__Admin__V2__Instance__LabelsEntry label_t;

struct label_case {
    const char *name;
    const char *key;
    const char *value;
    enum at_code code;
};

static const struct label_case LABELS[] = {
    {"takes letters, digits, _ and -", "env_1-a", "1_prod-x", AT_OK},
    {"takes an empty value", "env", "", AT_OK},
    {"takes letters of other scripts", "\xc3\xa4ra", "\xe6\x97\xa5", AT_OK},
    {"takes 63 characters", X63, X63, AT_OK},
    {"rejects an empty key", "", "v", AT_INVALID_ARGUMENT},
    {"rejects a key of 64 characters", X63 "4", "v", AT_INVALID_ARGUMENT},
    {"rejects a value of 64 characters", "k", X63 "4", AT_INVALID_ARGUMENT},
    {"rejects a key that begins with a digit", "1k", "v", AT_INVALID_ARGUMENT},
    {"rejects upper case in a key", "aB", "v", AT_INVALID_ARGUMENT},
    {"rejects upper case in a value", "k", "V", AT_INVALID_ARGUMENT},
    {"rejects a space", "a b", "v", AT_INVALID_ARGUMENT},
};

static void labels(void **state)
{
    const struct label_case *c = *state;
    label_t label = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__LABELS_ENTRY__INIT;
    label_t *list[] = {&label};
    instance_t instance = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__INIT;

    label.key = (char *)(uintptr_t)c->key;
    label.value = (char *)(uintptr_t)c->value;
    instance.n_labels = 1;
    instance.labels = list;
    assert_int_equal(at_instance_labels_check(&instance, NULL), c->code);
}

static void number_of_labels(void **state)
{
    label_t label = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__LABELS_ENTRY__INIT;
    label_t *list[65];
    char key[] = "k";
    instance_t instance = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__INIT;

    (void)state;
    label.key = key;
    for (size_t i = 0; i < 65; i++)
        list[i] = &label;
    instance.labels = list;
    instance.n_labels = 64;
    assert_int_equal(at_instance_labels_check(&instance, NULL), AT_OK);
    instance.n_labels = 65;
    assert_int_equal(at_instance_labels_check(&instance, NULL), AT_INVALID_ARGUMENT);
}

static void whole(void **state)
{
    char name[258];
    instance_t instance = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__INIT;

    (void)state;
    memset(name, 'n', sizeof(name));
    name[257] = '\0';
    instance.display_name = name;
    assert_int_equal(at_instance_fields_check(&instance, NULL), AT_INVALID_ARGUMENT);
    name[256] = '\0';
    assert_int_equal(at_instance_fields_check(&instance, NULL), AT_OK);
    instance.type = 3;
    assert_int_equal(at_instance_fields_check(&instance, NULL), AT_INVALID_ARGUMENT);
    instance.type = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__DEVELOPMENT;
    assert_int_equal(at_instance_fields_check(&instance, NULL), AT_OK);
    name[0] = '\0';
    assert_int_equal(at_instance_fields_check(&instance, NULL), AT_INVALID_ARGUMENT);
}

int main(void)
{
    struct CMUnitTest tests[sizeof(LABELS) / sizeof(LABELS[0]) + 2];
    size_t count = 0;

    for (size_t i = 0; i < sizeof(LABELS) / sizeof(LABELS[0]); i++)
        tests[count++] =
            (struct CMUnitTest){LABELS[i].name, labels, NULL, NULL, (void *)(uintptr_t)&LABELS[i]};
    tests[count++] = (struct CMUnitTest){"at most 64 labels", number_of_labels, NULL, NULL, NULL};
    tests[count++] = (struct CMUnitTest){"a display name of 1 to 256 bytes, and a known type",
                                         whole, NULL, NULL, NULL};
    return _cmocka_run_group_tests("instance_fields", tests, count, NULL, NULL);
}
