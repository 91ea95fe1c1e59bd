/* Which column families a directory may hold, and which of them is CELLS when it opens. */
#include "base/alloc.h"
#include "cluster/engine/engine.h"
#include "support/test.h"
#include "support/test_path.h"

#include <ftw.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct keyspace_case {
    const char *name;
    const char *families[6]; /* beside "default"; in this order */
    const char *choice;      /* of the default family; NULL: none */
    size_t choice_len;
    enum at_code code;
    const char *cells; /* the family that a key is to be found in */
};

static const struct keyspace_case cases[] = {
    {"a new one has three", {"cells", "log", "meta"}, NULL, 0, AT_OK, "cells"},
    {"what is missing of a new one is made", {"cells"}, NULL, 0, AT_OK, "cells"},
    {"nothing but the default family is a new one", {NULL}, NULL, 0, AT_OK, NULL},
    {"an aside that nobody chose is dropped",
     {"cells", "log", "meta", "cells.1"},
     NULL,
     0,
     AT_OK,
     "cells"},
    {"the chosen one is the cells",
     {"cells", "log", "meta", "cells.7"},
     "\0\0\0\7",
     4,
     AT_OK,
     "cells.7"},
    {"a chosen one that is not there is data loss",
     {"cells", "log", "meta"},
     "\0\0\0\7",
     4,
     AT_DATA_LOSS,
     NULL},
    {"a record of another length is data loss",
     {"cells", "log", "meta"},
     "\0\7",
     2,
     AT_DATA_LOSS,
     NULL},
    {"zero can't be chosen", {"cells", "log", "meta"}, "\0\0\0\0", 4, AT_DATA_LOSS, NULL},
    {"families out of their order are data loss",
     {"meta", "cells", "log"},
     NULL,
     0,
     AT_DATA_LOSS,
     NULL},
    {"an unknown family is data loss",
     {"cells", "log", "meta", "cellsx"},
     NULL,
     0,
     AT_DATA_LOSS,
     NULL},
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

/* Each family gets its own name under the key "who". */
static void make(const struct keyspace_case *c, const char *path)
{
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_writeoptions_t *w = rocksdb_writeoptions_create();
    char *text = NULL;

    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_t *db = rocksdb_open(o, path, &text);
    assert_null(text);
    for (int i = 0; i < 6 && c->families[i] != NULL; i++) {
        rocksdb_column_family_handle_t *h =
            rocksdb_create_column_family(db, o, c->families[i], &text);
        assert_null(text);
        rocksdb_put_cf(db, w, h, "who", 3, c->families[i], strlen(c->families[i]), &text);
        assert_null(text);
        rocksdb_column_family_handle_destroy(h);
    }
    if (c->choice != NULL)
        rocksdb_put(db, w, "cells", 5, c->choice, c->choice_len, &text);
    assert_null(text);
    rocksdb_close(db);
    rocksdb_writeoptions_destroy(w);
    rocksdb_options_destroy(o);
}

static void run_case(void **state)
{
    const struct keyspace_case *c = *state;
    struct at_engine *e = NULL;
    char dir[TEST_PATH_BYTES];
    char path[80];

    assert_non_null(mkdtemp(test_path(dir, sizeof(dir), "atoll-keyspace")));
    snprintf(path, sizeof(path), "%s/data", dir);
    make(c, path);
    for (int again = 0; again < 2; again++) {
        const struct at_engine_options options = {.dir = path,
                                                  .block_cache_bytes = 1 << 20,
                                                  .memtable_bytes = 1 << 20,
                                                  .background_threads = 2};
        struct at_buf out AT_CLEANUP(at_buf_deinit);
        at_buf_init(&out, 64);
        assert_int_equal(at_engine_open(&options, &e, NULL), c->code);
        if (c->code != AT_OK)
            break;
        enum at_code code = at_engine_get(e, NULL, AT_SPACE_CELLS, AT_LIT("who"), &out, NULL);
        assert_int_equal(code, c->cells == NULL ? AT_NOT_FOUND : AT_OK);
        if (c->cells != NULL)
            assert_true(at_slice_eq(at_buf_slice(&out), at_slice_cstr(c->cells)));
        at_engine_close(&e);
    }
    rocksdb_options_t *o = rocksdb_options_create();
    size_t count = 0;
    char *text = NULL;
    char **names = rocksdb_list_column_families(o, path, &count, &text);
    assert_null(text);
    if (c->code == AT_OK)
        assert_int_equal(count, 4); /* nothing is left over */
    rocksdb_list_column_families_destroy(names, count);
    rocksdb_options_destroy(o);
    assert_int_equal(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
    struct CMUnitTest tests[sizeof(cases) / sizeof(cases[0])];
    size_t count = sizeof(cases) / sizeof(cases[0]);

    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = run_case,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    return _cmocka_run_group_tests("keyspaces", tests, count, NULL, NULL);
}
