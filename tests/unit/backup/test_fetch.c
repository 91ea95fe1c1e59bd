#include "cluster/backup/fetch.h"

#include "support/backup_fixture.h"

/* Donors that give nothing; one that gives is in tests of the worker. */

static enum at_code fetch(struct bfx *b, const char *host, uint16_t port)
{
    struct at_backup_fetch f = {
        .host = host,
        .port = port,
        .name = "projects/p/instances/i/clusters/c1/backups/b",
        .path = b->path,
        .stop = &b->stop,
    };

    return at_backup_fetch(&f, &b->error);
}

static void no_donor(void **state)
{
    struct bfx b;

    (void)state;
    bfx_open(&b);
    assert_int_equal(fetch(&b, "127.0.0.1", 1), AT_UNAVAILABLE);
    assert_false(bfx_exists(&b, ""));
    assert_false(bfx_exists(&b, ".tmp"));
    atomic_store(&b.stop, true);
    assert_int_equal(fetch(&b, "127.0.0.1", 1), AT_CANCELLED);
    assert_false(bfx_exists(&b, ".tmp"));
    bfx_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a donor that is not there leaves nothing", no_donor, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
