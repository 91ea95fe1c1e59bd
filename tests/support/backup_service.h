/* backup_service.h: backups over the admin fixture: requests with times, and waits for what the
 * worker does. */
#ifndef ATOLL_TESTS_SUPPORT_BACKUP_SERVICE_H
#define ATOLL_TESTS_SUPPORT_BACKUP_SERVICE_H

#include <time.h>

#include "cluster/admin/backup_job.h"
#include "cluster/admin/backup_worker.h"
#include "support/admin_fixture.h"

#define BS_UNUSED __attribute__((unused))
#define BS_C1 AFX_INSTANCE "/clusters/c1"
#define BS_C2 AFX_INSTANCE "/clusters/c2"
#define BS_DAY 86400

struct bs {
    struct afx s;
    struct at_backup_worker *worker;
    char dir[100];
    char text[8000]; /* the last answer, or message */
};

static BS_UNUSED void bs_start(struct bs *b)
{
    assert_int_equal(at_backup_worker_start(&b->s.service, &b->worker, NULL), AT_OK);
}

/* `works`: with the worker. */
static BS_UNUSED struct bs *bs_open(bool works)
{
    struct bs *b = at_alloc(sizeof(*b));

    memset(b, 0, sizeof(*b));
    afx_open(&b->s);
    (void)snprintf(b->dir, sizeof(b->dir), "%s/backups", b->s.fx.dir);
    b->s.service.backup_dir = b->dir;
    if (works)
        bs_start(b);
    return b;
}

static BS_UNUSED void bs_close(struct bs *b)
{
    at_backup_worker_stop(&b->worker);
    afx_close(&b->s);
    at_free(b);
}

/* Calls; "@N" in the request is N seconds from now. The answer is in text. */
static BS_UNUSED enum at_code bs_call(struct bs *b, const char *rpc, const char *request)
{
    struct afx_call c;
    char out[1000] = "";
    size_t len = 0;

    for (const char *p = request; *p != '\0'; p++) {
        if (*p == '@') {
            char *rest = NULL;
            long seconds = strtol(p + 1, &rest, 10);
            len +=
                (size_t)snprintf(out + len, sizeof(out) - len, "%ld", (long)time(NULL) + seconds);
            p = rest - 1;
        } else {
            out[len++] = *p;
            out[len] = '\0';
        }
        AT_ASSERT(len + 30 < sizeof(out));
    }
    afx_call_init(&c, &b->s);
    (void)afx_start(&c, rpc, out, 0);
    afx_finish(&c);
    (void)snprintf(b->text, sizeof(b->text), "%s",
                   c.code == AT_OK ? at_buf_cstr(&c.text) : c.message);
    enum at_code code = c.code;
    afx_call_deinit(&c);
    return code;
}

static BS_UNUSED void
bs_expect(struct bs *b, const char *rpc, const char *request, enum at_code code, const char *part)
{
    enum at_code got = bs_call(b, rpc, request);

    if (got != code || (part && !strstr(b->text, part)))
        print_error("%s %s\n  gave %s: %s\n  not  %s: %s\n", rpc, request, at_code_name(got),
                    b->text, at_code_name(code), part ? part : "");
    assert_int_equal(got, code);
    assert_true(!part || strstr(b->text, part));
}

/* Until the answer has `part`. */
static BS_UNUSED void
bs_await(struct bs *b, const char *rpc, const char *request, enum at_code code, const char *part)
{
    for (int i = 0; i < 1200; i++) {
        if (bs_call(b, rpc, request) == code && (!part || strstr(b->text, part)))
            return;
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    bs_expect(b, rpc, request, code, part);
}

static BS_UNUSED bool bs_file(const struct bs *b, const char *name)
{
    char path[200];

    (void)snprintf(path, sizeof(path), "%s/%s", b->dir, name);
    return access(path, F_OK) == 0;
}

static BS_UNUSED void bs_table(struct bs *b)
{
    bs_expect(b, "CreateTable", "1:" AFX_INSTANCE " 2:t 3{3{1:f 2{1{1=2}}} 3{1:s 2{3{6{4{}}}}}}",
              AT_OK, NULL);
    bs_expect(b, "MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=1000 4:v}}", AT_OK, NULL);
}

#define BS_CREATE(parent, id) "1:" parent " 2:" id " 3{2:$t 3{1=@86400}}"

/* Writes row r as who restores the table does, which takes no requests meanwhile. */
static BS_UNUSED void bs_restore_row(struct bs *b, const char *table, const char *family)
{
    struct at_schema *schema = at_store_schema(b->s.fx.store);
    const struct at_table *t = at_catalog_table(schema->catalog, at_slice_cstr(table));
    struct at_mutation m = {.kind = AT_MUTATION_SET,
                            .family = at_slice_cstr(family),
                            .qualifier = AT_LIT("q"),
                            .timestamp_micros = 1001,
                            .value = AT_LIT("v")};
    struct at_row_mutations row = {.row = AT_LIT("r"), .mutations = &m, .mutation_count = 1};
    struct at_write_rows write = {.base = {.kind = AT_WRITE_ROWS},
                                  .table = at_slice_cstr(table),
                                  .full_name = at_slice_cstr(table),
                                  .rows = &row,
                                  .row_count = 1};

    assert_non_null(t);
    write.table_generation = t->generation;
    at_schema_unref(&schema);
    assert_int_equal(fx_run(&b->s.fx, &write.base), AT_OK);
    assert_int_equal(row.code, AT_OK);
}

/* The next job there is to do; name "" when there is none. In the fixture's arena. */
static BS_UNUSED struct at_backup_job bs_job(struct bs *b)
{
    struct at_schema *schema = at_store_schema(b->s.fx.store);
    struct at_backup_job job = {.name = AT_LIT("")};

    if (!at_backup_job_next(&b->s.service, schema->catalog, NULL, 0, &b->s.arena, &job))
        job = (struct at_backup_job){.name = AT_LIT("")};
    at_schema_unref(&schema);
    return job;
}

#endif
