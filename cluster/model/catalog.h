/* catalog.h: tables, families, app profiles and all else that is administered, as small mergeable
 * records. PURE.
 *
 * Existence of a name is a counter: even is absent, odd is present; create and delete add one to
 * what the serving cluster sees; merging takes the maximum. The counter is also the name's
 * generation: data belongs to the (table, family) generation that its cluster saw. All other fields
 * are last-writer-wins by (counter, stamp). Records of deleted names stay for ever. A family is
 * named within one generation of its table, so a table made anew starts without families.
 *
 * A catalog is immutable: applying records makes a new one. It is a function of the set of records
 * applied, whatever their order or repetition.
 *
 * Versions share what did not change. One thread makes them (at_catalog_new, _apply); any thread
 * may look things up in one that is kept alive, and any may free it. */
#ifndef ATOLL_CLUSTER_MODEL_CATALOG_H
#define ATOLL_CLUSTER_MODEL_CATALOG_H

#include "base/arena.h"
#include "base/limits.h"
#include "base/pack.h"
#include "base/stamp.h"
#include "cluster/model/gc_rule.h"

enum at_catalog_kind {
    AT_CATALOG_TABLE = 1,
    AT_CATALOG_FAMILY = 2,
    AT_CATALOG_PROFILE = 3,
    /* Named like profiles, without parts of their own; `fields` are a serialized message: */
    AT_CATALOG_INSTANCE = 4,  /* instance id: google.bigtable.admin.v2.Instance without name */
    AT_CATALOG_CLUSTER = 5,   /* cluster id: atoll.v1.ClusterRecord */
    AT_CATALOG_OPERATION = 6, /* its full name: google.longrunning.Operation */
    AT_CATALOG_POLICY = 7,    /* resource relative to the instance, "" is the instance itself:
                                 google.iam.v1.Policy without etag */
    AT_CATALOG_BACKUP = 8,    /* "cluster/backup": google.bigtable.admin.v2.Backup without name */
};
#define AT_CATALOG_KIND_MAX AT_CATALOG_BACKUP

/* One record, as logged, stored and merged. */
struct at_catalog_record {
    enum at_catalog_kind kind;
    struct at_slice name;      /* table id, family name, profile id, ... */
    struct at_slice table;     /* FAMILY: its table */
    uint64_t table_generation; /* FAMILY */
    uint64_t counter;
    struct at_stamp stamp;  /* of the operation that wrote `fields` */
    struct at_slice fields; /* TABLE: see at_table_fields; FAMILY: a serialized
                               google.bigtable.admin.v2.ColumnFamily; PROFILE: AppProfile; others
                               as said above */
};

/* Which rule merges a family's cells. */
enum at_family_type {
    AT_FAMILY_PLAIN,
    AT_FAMILY_SUM,
    AT_FAMILY_MIN,
    AT_FAMILY_MAX,
    AT_FAMILY_HLL,
};

/* What may be added to an aggregate family's cells; integers are eight bytes, big-endian. */
enum at_family_input {
    AT_FAMILY_INPUT_ANY,
    AT_FAMILY_INPUT_INT, /* sum, min and max take nothing else */
    AT_FAMILY_INPUT_BYTES,
    AT_FAMILY_INPUT_STRING,
};

struct at_family {
    struct at_slice name;
    uint64_t generation; /* odd */
    struct at_stamp stamp;
    enum at_family_type type;
    enum at_family_input input;
    struct at_slice gc_rule;       /* serialized GcRule; empty: never collect */
    const struct at_gc_rule *rule; /* the same, parsed */
    struct at_slice fields;        /* the whole serialized ColumnFamily */
    uint32_t id;                   /* local; 0 until the store gave one */
};

#define AT_TABLE_SPLITS_MAX 10000

/* A generation of a table that was deleted: its data is kept for a time, to be had back. */
struct at_table_previous {
    uint64_t generation;
    int64_t until_micros; /* wall clock of who deleted it: later nobody has it back */
};

/* What a TABLE record's fields hold (msgpack map, unknown keys skipped). */
struct at_table_fields {
    int64_t granularity_micros; /* 1000 or 1 */
    bool deletion_protection;
    struct at_slice change_stream_config; /* serialized, empty: none */
    struct at_slice *splits;              /* ascending, unique, not empty */
    uint32_t split_count;
    /* The generation whose data the table has, when it is not its counter: it was deleted and had
     * back. 0: the counter. Of a deleted table: what it had. */
    uint64_t data_generation;
    struct at_table_previous previous[AT_TABLE_PREVIOUS_MAX]; /* newest first */
    uint32_t previous_count;
    struct at_slice restore_info; /* serialized RestoreInfo, empty: made by CreateTable */
    bool restoring;               /* it is being filled from there: not all rows are in it yet */
};
/* INVALID_ARGUMENT when malformed or when a field is not as said above; encode also
 * RESOURCE_EXHAUSTED from the buffer. Decode borrows `bytes`; absent fields get their defaults. */
AT_MUST_USE enum at_code at_table_fields_encode(const struct at_table_fields *f,
                                                struct at_buf *out);
AT_MUST_USE enum at_code at_table_fields_decode(struct at_slice bytes,
                                                struct at_arena *arena,
                                                struct at_table_fields *ret_fields);

struct at_table {
    struct at_slice name; /* table id */
    uint64_t generation;  /* odd: of its data; counter of its record, unless it was undeleted */
    uint64_t counter;     /* odd: of its record */
    struct at_stamp stamp;
    struct at_table_fields fields;
    struct at_family *families; /* present ones, ascending by name */
    uint32_t family_count;
    uint32_t id; /* local; 0 until the store gave one */
};

/* A present record of any kind but tables and families. */
struct at_named_record {
    struct at_slice name;
    uint64_t generation; /* odd */
    struct at_stamp stamp;
    struct at_slice fields; /* serialized, by kind */
};

struct at_catalog;

/* The empty catalog. */
struct at_catalog *at_catalog_new(void);
void at_catalog_free(struct at_catalog **catalog);

/* at_catalog_apply returns a new catalog with the records merged in; the old one is untouched.
 * `ids` gives local ids to present tables and families (it may allocate them; NULL: all are 0) and
 * is asked again for all of a table of which something changed. Records that lose are ignored. Of
 * operations only the AT_OPERATIONS_MAX with the highest stamps are kept.
 * INVALID_ARGUMENT when a winner's fields are malformed (nothing is made then). */
struct at_catalog_ids {
    void *ctx;
    uint32_t (*table_id)(void *ctx, struct at_slice table, uint64_t generation);
    uint32_t (*family_id)(void *ctx,
                          uint32_t table_id,
                          struct at_slice family,
                          uint64_t generation);
};
AT_MUST_USE enum at_code at_catalog_apply(const struct at_catalog *catalog,
                                          const struct at_catalog_record *records,
                                          uint32_t count,
                                          const struct at_catalog_ids *ids,
                                          struct at_catalog **ret_catalog,
                                          struct at_error *reterr);

/* Look-ups return present ones only, NULL when absent; they live as long as the catalog. */
const struct at_table *at_catalog_table(const struct at_catalog *c, struct at_slice table);
const struct at_family *at_table_family(const struct at_table *t, struct at_slice family);
/* at_table_serves: may clients read and write it? NOT_FOUND when it is NULL; FAILED_PRECONDITION
 * while it is being restored: what is in it is not the whole, and what they wrote would be lost if
 * that had to begin anew. (Routers take UNAVAILABLE for the state of the whole cluster.) */
AT_MUST_USE enum at_code
at_table_serves(const struct at_table *t, struct at_slice full_name, struct at_error *reterr);
const struct at_named_record *
at_catalog_named(const struct at_catalog *c, enum at_catalog_kind kind, struct at_slice name);
/* In name order. */
uint32_t at_catalog_table_count(const struct at_catalog *c);
const struct at_table *at_catalog_table_at(const struct at_catalog *c, uint32_t index);
uint32_t at_catalog_named_count(const struct at_catalog *c, enum at_catalog_kind kind);
const struct at_named_record *
at_catalog_named_at(const struct at_catalog *c, enum at_catalog_kind kind, uint32_t index);

/* What is kept of a table that is deleted; NULL when it is present, never was, or nothing is kept.
 */
const struct at_table_fields *at_catalog_deleted_table(const struct at_catalog *c,
                                                       struct at_slice table);
/* at_catalog_previous: the deleted generation of a table whose data is kept, however long ago that
 * was; NULL: it is none. */
const struct at_table_previous *
at_catalog_previous(const struct at_catalog *c, struct at_slice table, uint64_t generation);

/* at_catalog_table_over: a generation of a table that neither is one now, nor may become one, nor
 * is kept to be had back. */
bool at_catalog_table_over(const struct at_catalog *c, struct at_slice table, uint64_t generation);

/* The counter of a name, present or absent (0: never existed). What create and delete count on
 * from. */
uint64_t at_catalog_table_counter(const struct at_catalog *c, struct at_slice table);
uint64_t at_catalog_family_counter(const struct at_catalog *c,
                                   struct at_slice table,
                                   uint64_t table_generation,
                                   struct at_slice family);
uint64_t at_catalog_named_counter(const struct at_catalog *c,
                                  enum at_catalog_kind kind,
                                  struct at_slice name);

/* Every record, deleted ones too: for tests, digests and dumps. */
uint32_t at_catalog_record_count(const struct at_catalog *c);
const struct at_catalog_record *at_catalog_record_at(const struct at_catalog *c, uint32_t index);

/* at_catalog_record_of: the record of a name, present or deleted; NULL: there never was one. */
const struct at_catalog_record *
at_catalog_record_of(const struct at_catalog *c, enum at_catalog_kind kind, struct at_slice name);

/* at_catalog_has: a record of this kind, generation and name is kept, of whatever counter. */
bool at_catalog_has(const struct at_catalog *c, const struct at_catalog_record *place);

/* at_catalog_kind_version changes exactly when the set of records of a kind does. Not of tables and
 * families. */
uint64_t at_catalog_kind_version(const struct at_catalog *c, enum at_catalog_kind kind);

/* Msgpack form of one record. Decode borrows. */
AT_MUST_USE enum at_code at_catalog_record_encode(const struct at_catalog_record *r,
                                                  struct at_buf *out);
AT_MUST_USE enum at_code at_catalog_record_decode(struct at_unpack *in,
                                                  struct at_catalog_record *ret_record);
/* at_catalog_record_size: the bytes that at_catalog_record_encode appends. */
size_t at_catalog_record_size(const struct at_catalog_record *r);

/* at_catalog_record_readable: its fields are what such a record holds, as far as a catalog reads
 * them. A function of the record alone, so that all members leave out the same ones. Records that
 * are readable are never refused by at_catalog_apply. */
bool at_catalog_record_readable(const struct at_catalog_record *r);

/* Names. INVALID_ARGUMENT naming the rule that is broken. A table name is an id, or the whole name
 * of another instance's table: see base/namespace.h. */
AT_MUST_USE enum at_code at_table_name_check(struct at_slice name, struct at_error *reterr);
AT_MUST_USE enum at_code at_table_id_check(struct at_slice id, struct at_error *reterr);
AT_MUST_USE enum at_code at_family_name_check(struct at_slice name, struct at_error *reterr);

#endif
