#include "cluster/backup/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "support/test.h"
#include "support/test_path.h"

static char folder[64];
static char path[128];

static int begin(void **state)
{
    (void)state;
    (void)test_path(folder, sizeof(folder), "atoll-test");
    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(path, sizeof(path), "%s/backups/b.1", folder);
    return 0;
}

static int end(void **state)
{
    char sub[80];

    (void)state;
    at_backup_file_remove(path);
    (void)snprintf(sub, sizeof(sub), "%s/backups", folder);
    (void)rmdir(sub);
    return rmdir(folder);
}

static bool exists(const char *suffix)
{
    char full[160];

    (void)snprintf(full, sizeof(full), "%s%s", path, suffix);
    return access(full, F_OK) == 0;
}

static void write_file(const char *const *payloads, int count)
{
    struct at_backup_out out;

    assert_int_equal(at_backup_out_open(&out, path, NULL), AT_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(at_backup_out_chunk(&out, at_slice_cstr(payloads[i]), NULL), AT_OK);
    assert_false(exists(""));
    assert_int_equal(at_backup_out_end(&out, NULL), AT_OK);
    at_backup_out_drop(&out); /* does nothing more */
    assert_true(exists(""));
    assert_false(exists(".tmp"));
}

static void chunks_come_back(void **state)
{
    static const char *const PAYLOADS[] = {"one", "the second"};
    struct at_backup_in in;
    struct at_slice payload;

    (void)state;
    write_file(PAYLOADS, 2);
    assert_int_equal(at_backup_in_open(&in, path, NULL), AT_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(at_backup_in_next(&in, &payload, NULL), AT_OK);
        assert_true(at_slice_eq_cstr(payload, PAYLOADS[i]));
    }
    assert_int_equal(at_backup_in_next(&in, &payload, NULL), AT_OK);
    assert_int_equal(payload.len, 0);
    assert_int_equal(in.read_bytes, in.size);
    at_backup_in_close(&in);
}

static void dropped(void **state)
{
    struct at_backup_out out;

    (void)state;
    assert_int_equal(at_backup_out_open(&out, path, NULL), AT_OK);
    assert_int_equal(at_backup_out_chunk(&out, AT_LIT("x"), NULL), AT_OK);
    assert_true(exists(".tmp"));
    at_backup_out_drop(&out);
    assert_false(exists(".tmp"));
    assert_false(exists(""));
}

static void missing(void **state)
{
    struct at_backup_in in;
    struct at_error error;
    struct at_buf bytes;
    uint64_t size;

    (void)state;
    at_buf_init(&bytes, 100);
    assert_int_equal(at_backup_in_open(&in, path, &error), AT_NOT_FOUND);
    at_backup_in_close(&in);
    assert_int_equal(at_backup_file_read(path, 0, 10, &bytes, &size, &error), AT_NOT_FOUND);
    at_buf_deinit(&bytes);
}

static void pieces(void **state)
{
    static const char *const PAYLOADS[] = {"payload"};
    struct at_buf bytes;
    uint64_t size = 0;

    (void)state;
    write_file(PAYLOADS, 1);
    at_buf_init(&bytes, 100);
    for (uint64_t at = 0; at < 23; at += 5)
        assert_int_equal(at_backup_file_read(path, at, 5, &bytes, &size, NULL), AT_OK);
    assert_int_equal(size, 8 + 8 + 7);
    assert_int_equal(bytes.len, size);
    assert_memory_equal(bytes.data, AT_BACKUP_MAGIC, 8);
    assert_memory_equal(bytes.data + 16, "payload", 7);
    assert_int_equal(at_backup_file_read(path, 1000, 5, &bytes, &size, NULL), AT_OK);
    assert_int_equal(bytes.len, size);
    at_buf_deinit(&bytes);
}

/* Every byte of the file changed, and every cut of it: either refused, or a chunk less. */
static void damage(void **state)
{
    static const char *const PAYLOADS[] = {"payload"};
    struct at_backup_in in;
    struct at_slice payload;

    (void)state;
    write_file(PAYLOADS, 1);
    for (long at = 0; at < 23; at++) {
        for (int back = 0; back < 2; back++) {
            FILE *f = fopen(path, "r+");
            assert_non_null(f);
            assert_int_equal(fseek(f, at, SEEK_SET), 0);
            int c = fgetc(f);
            assert_int_equal(fseek(f, at, SEEK_SET), 0);
            assert_int_equal(fputc(c ^ 0x40, f), c ^ 0x40);
            assert_int_equal(fclose(f), 0);
            if (back)
                break;
            enum at_code code = at_backup_in_open(&in, path, NULL);
            if (code == AT_OK)
                code = at_backup_in_next(&in, &payload, NULL);
            assert_int_equal(code, AT_DATA_LOSS);
            at_backup_in_close(&in);
        }
    }
    for (long len = 22; len > 16; len--) {
        assert_int_equal(truncate(path, len), 0);
        assert_int_equal(at_backup_in_open(&in, path, NULL), AT_OK);
        assert_int_equal(at_backup_in_next(&in, &payload, NULL), AT_DATA_LOSS);
        at_backup_in_close(&in);
    }
}

int main(void)
{
#define TEST(name, f)             \
    {                             \
        name, f, begin, end, NULL \
    }
    const struct CMUnitTest tests[] = {
        TEST("chunks come back, and the file has its name when it is whole", chunks_come_back),
        TEST("what is dropped leaves nothing", dropped),
        TEST("a file that is not there is not found", missing),
        TEST("raw pieces make the whole file", pieces),
        TEST("each changed byte and each cut is noticed", damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
