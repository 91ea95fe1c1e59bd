#include "base/folder.h"

#include "base/alloc.h"
#include "support/test.h"
#include "support/test_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[TEST_PATH_BYTES];

static int setup(void **state)
{
    (void)state;
    return mkdtemp(test_path(root, sizeof(root), "folder")) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(root);
}

/* The names, as bits: what is in `names` is numbered. */
static unsigned told(const char *path, const char *const *names, unsigned count)
{
    struct at_folder folder AT_CLEANUP(at_folder_close);
    const char *name;
    unsigned bits = 0;

    assert_true(at_folder_open(&folder, path));
    while ((name = at_folder_next(&folder)) != NULL) {
        unsigned i = 0;
        while (i < count && strcmp(names[i], name) != 0)
            i++;
        assert_true(i < count && (bits >> i & 1) == 0);
        bits |= 1u << i;
    }
    assert_null(at_folder_next(&folder));
    return bits;
}

static void files_folders_and_hidden_ones_are_told_once_each(void **state)
{
    static const char *const names[] = {"file", ".hidden", "folder"};
    char path[3][TEST_PATH_BYTES + 16];

    (void)state;
    for (int i = 0; i < 3; i++)
        (void)snprintf(path[i], sizeof(path[i]), "%s/%s", root, names[i]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(close(open(path[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_int_equal(mkdir(path[2], 0700), 0);
    assert_int_equal(told(root, names, 3), 7);
    for (int i = 0; i < 3; i++)
        assert_int_equal(i < 2 ? unlink(path[i]) : rmdir(path[i]), 0);
}

static void an_empty_folder_has_no_names(void **state)
{
    (void)state;
    assert_int_equal(told(root, NULL, 0), 0);
}

static void what_is_no_folder_is_not_opened_and_has_no_names(void **state)
{
    struct at_folder folder;
    char path[TEST_PATH_BYTES + 16];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/nothing", root);
    assert_false(at_folder_open(&folder, path));
    assert_int_equal(errno, ENOENT);
    assert_null(at_folder_next(&folder));
    at_folder_close(&folder);
    assert_false(at_folder_open(&folder, "/proc/self/status"));
    assert_int_equal(errno, ENOTDIR);
    at_folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_folders_and_hidden_ones_are_told_once_each),
        cmocka_unit_test(an_empty_folder_has_no_names),
        cmocka_unit_test(what_is_no_folder_is_not_opened_and_has_no_names),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
