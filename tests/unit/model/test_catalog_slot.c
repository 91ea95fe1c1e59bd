/* Slots: sorted records of one name, and which of two records of one place stays. */
#include "cluster/model/catalog_slot.h"
#include "support/test.h"

static struct at_catalog_record
family(const char *name, uint64_t table_generation, uint64_t counter, uint64_t hlc)
{
    return (struct at_catalog_record){.kind = AT_CATALOG_FAMILY,
                                      .name = at_slice_cstr(name),
                                      .table = AT_LIT("t"),
                                      .table_generation = table_generation,
                                      .counter = counter,
                                      .stamp = {hlc, {1}}};
}

static const struct at_catalog_record table_record = {.kind = AT_CATALOG_TABLE,
                                                      .name = {(const uint8_t *)"t", 1},
                                                      .counter = 3,
                                                      .stamp = {1, {1}},
                                                      .fields = {(const uint8_t *)"\x80", 1}};

static void the_higher_counter_wins_then_the_stamp_then_the_bytes(void **state)
{
    struct at_catalog_record old = family("f", 1, 2, 5);
    struct at_catalog_record r = family("f", 1, 3, 1);

    (void)state;
    assert_true(at_catalog_record_wins(&r, NULL));
    assert_true(at_catalog_record_wins(&r, &old));
    assert_false(at_catalog_record_wins(&old, &r));
    r = family("f", 1, 2, 6);
    assert_true(at_catalog_record_wins(&r, &old));
    assert_false(at_catalog_record_wins(&old, &r));
    r = family("f", 1, 2, 5);
    assert_false(at_catalog_record_wins(&r, &old));
    r.fields = AT_LIT("x");
    assert_true(at_catalog_record_wins(&r, &old));
    assert_false(at_catalog_record_wins(&old, &r));
}

static void only_families_of_the_present_generation_show(void **state)
{
    static const char *const names[] = {"c", "a", "b", "d", "aa"};
    struct at_catalog_slot *slot = at_catalog_slot_new(AT_CATALOG_TABLE, AT_LIT("t"));
    struct at_catalog_record r;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        r = family(names[i], 1, 1, 1);
        at_catalog_slot_put(slot, &r);
        r = family(names[i], 3, i == 3 ? 2 : 1, 1); /* d is deleted */
        at_catalog_slot_put(slot, &r);
        r = family(names[i], 5, 1, 1); /* ahead of its table */
        at_catalog_slot_put(slot, &r);
    }
    at_catalog_slot_put(slot, &table_record);
    assert_int_equal(slot->record_count, 16);
    assert_int_equal(slot->records[0].kind, AT_CATALOG_TABLE);
    assert_int_equal(at_catalog_slot_seal(slot, NULL, NULL), AT_OK);
    assert_true(slot->present);
    assert_int_equal(slot->table.family_count, 4);
    assert_true(at_slice_eq_cstr(slot->table.families[0].name, "a"));
    assert_true(at_slice_eq_cstr(slot->table.families[1].name, "aa"));
    assert_true(at_slice_eq_cstr(slot->table.families[2].name, "b"));
    assert_true(at_slice_eq_cstr(slot->table.families[3].name, "c"));
    at_catalog_slot_unref(&slot);
    assert_null(slot);
}

static void putting_replaces_and_finding_needs_the_same_place(void **state)
{
    struct at_catalog_slot *slot = at_catalog_slot_new(AT_CATALOG_TABLE, AT_LIT("t"));
    struct at_catalog_record r = family("f", 1, 1, 1);
    struct at_catalog_record other = family("f", 3, 1, 1);

    (void)state;
    assert_null(at_catalog_slot_find(slot, &r));
    at_catalog_slot_put(slot, &r);
    r.counter = 2;
    at_catalog_slot_put(slot, &r);
    assert_int_equal(slot->record_count, 1);
    assert_int_equal(at_catalog_slot_find(slot, &r)->counter, 2);
    assert_null(at_catalog_slot_find(slot, &other));
    assert_null(at_catalog_slot_find(slot, &table_record));
    at_catalog_slot_unref(&slot);
}

static void a_copy_has_the_records_and_its_own_bytes(void **state)
{
    struct at_catalog_slot *slot = at_catalog_slot_new(AT_CATALOG_TABLE, AT_LIT("t"));
    char text[] = "f";
    struct at_catalog_record r = family(text, 3, 1, 1);

    (void)state;
    at_catalog_slot_put(slot, &table_record);
    at_catalog_slot_put(slot, &r);
    text[0] = 'x'; /* the slot has copied */
    struct at_catalog_slot *copy = at_catalog_slot_copy(slot);
    assert_int_equal(at_catalog_slot_seal(slot, NULL, NULL), AT_OK);
    assert_int_equal(at_catalog_slot_seal(copy, NULL, NULL), AT_OK);
    assert_true(slot->digest == copy->digest);
    struct at_catalog_slot *again = at_catalog_slot_ref(copy);
    at_catalog_slot_unref(&slot);
    at_catalog_slot_unref(&copy);
    assert_true(at_slice_eq_cstr(again->table.families[0].name, "f"));
    at_catalog_slot_unref(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_higher_counter_wins_then_the_stamp_then_the_bytes),
        cmocka_unit_test(only_families_of_the_present_generation_show),
        cmocka_unit_test(putting_replaces_and_finding_needs_the_same_place),
        cmocka_unit_test(a_copy_has_the_records_and_its_own_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
