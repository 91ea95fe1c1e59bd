#include "cluster/backup/take.h"

#include "support/backup_fixture.h"

static void counts(void **state)
{
    struct at_backup_end counted, checked;
    struct bfx b;

    (void)state;
    bfx_open(&b);
    assert_int_equal(fx_set(&b.fx, "r1", "f", "q", 1000, "old"), AT_OK);
    assert_int_equal(fx_set(&b.fx, "r1", "f", "q", 2000, "new"), AT_OK);
    assert_int_equal(fx_set(&b.fx, "r1", "g", "q", 1000, "x"), AT_OK);
    assert_int_equal(fx_set(&b.fx, "r2", "f", "q", 1000, "gone"), AT_OK);
    assert_int_equal(fx_delete_row(&b.fx, "r2"), AT_OK);
    assert_int_equal(fx_add(&b.fx, "r3", "s", "q", 3), AT_OK);
    assert_int_equal(fx_add(&b.fx, "r3", "s", "q", 4), AT_OK);
    assert_int_equal(bfx_take(&b, &counted), AT_OK);
    assert_int_equal(counted.rows, 2);
    assert_int_equal(counted.cells, 4);
    assert_int_equal(at_backup_check(b.path, &b.stop, &checked, &b.error), AT_OK);
    assert_int_equal(checked.cells, 4);
    bfx_close(&b);
}

static void refusals(void **state)
{
    struct bfx b;

    (void)state;
    bfx_open(&b);
    assert_int_equal(fx_change(&b.fx, "t", NULL, at_slice_make(NULL, 0), false), AT_OK);
    assert_int_equal(bfx_take(&b, NULL), AT_NOT_FOUND);
    assert_false(bfx_exists(&b, ""));
    bfx_close(&b);
}

static void stopped(void **state)
{
    struct bfx b;
    char big[100000];

    (void)state;
    bfx_open(&b);
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    for (char row[] = "a"; row[0] < 'i'; row[0]++)
        assert_int_equal(fx_set(&b.fx, row, "f", "q", 1000, big), AT_OK);
    atomic_store(&b.stop, true);
    assert_int_equal(bfx_take(&b, NULL), AT_CANCELLED);
    assert_false(bfx_exists(&b, ""));
    assert_false(bfx_exists(&b, ".tmp"));
    bfx_close(&b);
}

static void no_folder(void **state)
{
    struct bfx b;

    (void)state;
    bfx_open(&b);
    (void)snprintf(b.path, sizeof(b.path), "%s/no/such/folder", b.fx.dir);
    assert_int_not_equal(bfx_take(&b, NULL), AT_OK);
    bfx_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"what shows is in the file, aggregates folded", counts, NULL, NULL, NULL},
        {"a table that is not there is not found", refusals, NULL, NULL, NULL},
        {"one that is stopped leaves nothing", stopped, NULL, NULL, NULL},
        {"a folder that can't be made is an error", no_folder, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
