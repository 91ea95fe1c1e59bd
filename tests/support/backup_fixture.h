/* backup_fixture.h: a store with a table "t" of plain families f and g and a sum s, and a path for
 * a backup's file. */
#ifndef ATOLL_TESTS_SUPPORT_BACKUP_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_BACKUP_FIXTURE_H

#include <stdatomic.h>

#include "cluster/backup/scan.h"
#include "cluster/backup/take.h"
#include "support/store_fixture.h"
#include "support/test.h"

struct bfx {
    struct fx fx;
    char path[160];
    _Atomic bool stop;
    struct at_error error;
};

static FX_UNUSED void bfx_open(struct bfx *b)
{
    memset(b, 0, sizeof(*b));
    fx_open(&b->fx, 1, 1);
    fx_make_table(&b->fx);
    AT_ASSERT(fx_change(&b->fx, "t", "s", FX_FIELDS(FX_SUM), true) == AT_OK);
    (void)snprintf(b->path, sizeof(b->path), "%s/backups/c1+b.1", b->fx.dir);
}

static FX_UNUSED void bfx_close(struct bfx *b)
{
    fx_close(&b->fx);
}

static FX_UNUSED enum at_code bfx_take(struct bfx *b, struct at_backup_end *ret_counts)
{
    struct at_backup_take take = {
        .store = b->fx.store,
        .table = fx_s("t"),
        .source_table = FX_NAME,
        .path = b->path,
        .stop = &b->stop,
    };
    enum at_code code = at_backup_take(&take, &b->error);

    if (ret_counts)
        *ret_counts = take.counts;
    return code;
}

static FX_UNUSED bool bfx_exists(const struct bfx *b, const char *suffix)
{
    char path[200];

    (void)snprintf(path, sizeof(path), "%s%s", b->path, suffix);
    return access(path, F_OK) == 0;
}

/* Changes one byte of the file, counted from its end. */
static FX_UNUSED void bfx_damage(const struct bfx *b, long from_end)
{
    FILE *f = fopen(b->path, "r+");
    int c;

    AT_ASSERT(f != NULL);
    AT_ASSERT(fseek(f, -from_end, SEEK_END) == 0);
    c = fgetc(f);
    AT_ASSERT(fseek(f, -from_end, SEEK_END) == 0);
    AT_ASSERT(fputc(c ^ 1, f) != EOF);
    AT_ASSERT(fclose(f) == 0);
}

#endif
