/* catalog_fixture.h: clusters as far as their catalogs go: each has one, a clock, and what it
 * wrote, for the others. There is one table, T, with one family, F. */
#ifndef ATOLL_TESTS_SUPPORT_CATALOG_FIXTURE_H
#define ATOLL_TESTS_SUPPORT_CATALOG_FIXTURE_H

#include "base/limits.h"
#include "cluster/model/catalog.h"
#include "support/test.h"

#define T AT_LIT("t")
#define F AT_LIT("f")

/* Local ids, so that a test sees what was asked for. */
static inline uint32_t table_id(void *ctx, struct at_slice table, uint64_t generation)
{
    (void)ctx;
    return (uint32_t)(table.data[0] * 100u + generation);
}

static inline uint32_t
family_id(void *ctx, uint32_t table, struct at_slice family, uint64_t generation)
{
    (void)ctx;
    return (uint32_t)(table * 1000u + family.data[0] * 10u + generation);
}

static const struct at_catalog_ids ids = {NULL, table_id, family_id};

/* A cluster: its catalog, its clock, and what it wrote, for the others. */
#define WRITTEN_MAX 32
struct cluster {
    struct at_catalog *catalog;
    uint32_t origin;
    uint64_t hlc;
    struct at_catalog_record written[WRITTEN_MAX];
    uint32_t written_count;
};

static inline struct at_slice table_fields(void) /* the defaults */
{
    return AT_LIT("\x80");
}

static inline void cluster_init(struct cluster *c, uint32_t origin)
{
    *c = (struct cluster){.catalog = at_catalog_new(), .origin = origin};
}

static inline void apply(struct cluster *c, const struct at_catalog_record *records, uint32_t count)
{
    struct at_catalog *next = NULL;

    assert_int_equal(at_catalog_apply(c->catalog, records, count, &ids, &next, NULL), AT_OK);
    at_catalog_free(&c->catalog);
    c->catalog = next;
}

static inline void write_record(struct cluster *c, struct at_catalog_record r)
{
    r.stamp = (struct at_stamp){++c->hlc, {c->origin}};
    c->written[c->written_count++] = r;
    apply(c, &r, 1);
}

/* Creates or deletes: one more than what the serving cluster sees. */
static inline void toggle_table(struct cluster *c)
{
    write_record(c,
                 (struct at_catalog_record){.kind = AT_CATALOG_TABLE,
                                            .name = T,
                                            .counter = at_catalog_table_counter(c->catalog, T) + 1,
                                            .fields = table_fields()});
}

static inline void toggle_family(struct cluster *c)
{
    uint64_t generation = at_catalog_table_counter(c->catalog, T);

    write_record(c, (struct at_catalog_record){
                        .kind = AT_CATALOG_FAMILY,
                        .name = F,
                        .table = T,
                        .table_generation = generation,
                        .counter = at_catalog_family_counter(c->catalog, T, generation, F) + 1});
}

/* Edits a field: the counter stays. */
static inline void edit_table(struct cluster *c, struct at_slice fields)
{
    write_record(c, (struct at_catalog_record){.kind = AT_CATALOG_TABLE,
                                               .name = T,
                                               .counter = at_catalog_table_counter(c->catalog, T),
                                               .fields = fields});
}

/* Each takes all that the other wrote, newest first, and again. */
static inline void heal(struct cluster *a, struct cluster *b)
{
    struct cluster *pairs[2][2] = {{a, b}, {b, a}};

    for (int i = 0; i < 2; i++) {
        struct cluster *to = pairs[i][0];
        const struct cluster *from = pairs[i][1];
        for (uint32_t j = from->written_count; j > 0; j--)
            apply(to, &from->written[j - 1], 1);
        apply(to, from->written, from->written_count);
        if (to->hlc < from->hlc)
            to->hlc = from->hlc;
    }
}

static inline uint64_t generation(const struct cluster *c) /* of the present table; 0: absent */
{
    const struct at_table *t = at_catalog_table(c->catalog, T);

    return t ? t->generation : 0;
}

static inline void two_clusters(struct cluster *a, struct cluster *b)
{
    cluster_init(a, 1);
    cluster_init(b, 2);
}

static inline void free_both(struct cluster *a, struct cluster *b)
{
    at_catalog_free(&a->catalog);
    at_catalog_free(&b->catalog);
}

#endif
