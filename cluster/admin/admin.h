/* admin.h: what the handlers of the admin services share. ADAPTER.
 *
 * A change of the catalog goes to the writer, is decided there against the newest catalog, and is
 * answered when all members in touch have applied it, or after AT_CHANGE_SPREAD_MS. */
#ifndef ATOLL_CLUSTER_ADMIN_ADMIN_H
#define ATOLL_CLUSTER_ADMIN_ADMIN_H

#include "cluster/admin/operation.h"
#include "cluster/service/data.h"
#include "google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h"
#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"

#define AT_CHANGE_SPREAD_MS 5000
#define AT_ADMIN_MODIFICATIONS_MAX 1000 /* of one ModifyColumnFamilies */

/* A handler per path. */
struct at_admin_method {
    const char *path;
    void (*on_request)(struct at_grpc_call *call, void *ctx);
};

/* at_admin_add appends one of them to `methods`; returns the new count. */
size_t at_admin_add(struct at_service *service,
                    const struct at_admin_method *from,
                    size_t from_count,
                    struct at_grpc_method *methods,
                    size_t max);

/* --- change.c: a change of the catalog, from a call's arena --- */

struct at_change {
    struct at_ticket ticket; /* first */
    struct at_service *service;
    struct at_grpc_call *call;
    struct at_write_catalog write; /* the handler sets `decide`; at_change_of gets back from it */
    /* The change stands, in write.ret_schema. Finishes the call. */
    void (*reply)(struct at_change *change);
    /* It was refused with write.base.code. Finishes the call. NULL: at_data_fail. */
    void (*refuse)(struct at_change *change);
    /* Of at_operation_submit alone. */
    enum at_code (*decide)(struct at_write_catalog *write,
                           const struct at_catalog *catalog,
                           struct at_error *reterr);
    at_operation_answer_fn answer;
    Google__Longrunning__Operation *operation; /* that stands for it; NULL: none does */
};

/* at_change_submit gives the change to the writer; then `reply` or `refuse` runs. */
void at_change_submit(struct at_change *change);

static inline struct at_change *at_change_of(struct at_write_catalog *write)
{
    return (struct at_change *)((char *)write - offsetof(struct at_change, write));
}

/* at_change_record makes room for one more record of the change, `count_max` in all (the same at
 * each call of a change), besides the one of an operation. */
struct at_catalog_record *at_change_record(struct at_write_catalog *write, uint32_t count_max);

/* --- admin.c --- */

/* at_admin_reply_empty answers google.protobuf.Empty. */
void at_admin_reply_empty(struct at_service *service, struct at_grpc_call *call);
/* at_admin_pack serializes into the arena. */
struct at_slice at_admin_pack(struct at_arena *arena, const ProtobufCMessage *message);
/* at_admin_text copies to a NUL-terminated string. */
char *at_admin_text(struct at_arena *arena, struct at_slice s);
char *at_admin_instance_name(const struct at_service *service, struct at_arena *arena);
char *
at_admin_table_name(const struct at_service *service, struct at_arena *arena, struct at_slice id);
char *
at_admin_profile_name(const struct at_service *service, struct at_arena *arena, struct at_slice id);
enum at_code
at_admin_no_table(const struct at_service *service, struct at_slice id, struct at_error *reterr);
/* at_admin_whole: FAILED_PRECONDITION while the table is being restored. */
AT_MUST_USE enum at_code at_admin_whole(const struct at_service *service,
                                        const struct at_table *table,
                                        struct at_error *reterr);

/* at_admin_keep: the name that `id` of an instance (at_service_namespace) is kept by; empty when it
 * is too long. */
struct at_slice at_admin_keep(struct at_arena *arena,
                              struct at_slice in,
                              const char *collection,
                              struct at_slice id);

/* The parent of a list: one instance, or all of a project. Borrows the name. */
struct at_admin_parent {
    struct at_slice in;      /* the instance; empty: the home instance */
    struct at_slice project; /* "projects/P" when all of its instances are meant */
    bool home;               /* which the home instance is among */
};
/* at_admin_parent: "projects/P/instances/I", or "-" for the instance. INVALID_ARGUMENT, NOT_FOUND.
 */
AT_MUST_USE enum at_code at_admin_parent(const struct at_service *service,
                                         const char *name,
                                         struct at_admin_parent *ret_parent,
                                         struct at_error *reterr);
/* at_admin_parent_holds: is what is kept by this name in it? */
bool at_admin_parent_holds(const struct at_admin_parent *parent, struct at_slice kept);

/* at_admin_child takes "projects/P/instances/I/<collection>/ID" apart, `collection` being e.g.
 * "/clusters/", into the name that it is kept by; of a cluster, its id. INVALID_ARGUMENT when it
 * has another form, NOT_FOUND when of an instance that is not served. */
AT_MUST_USE enum at_code at_admin_child(const struct at_service *service,
                                        const char *name,
                                        const char *collection,
                                        struct at_slice *ret_id,
                                        struct at_error *reterr);

/* Pages go by keys, most of them names: a token is the last key that was given. */
#define AT_ADMIN_PAGE_KEY_BYTES_MAX 1024
struct at_admin_page {
    uint32_t size;
    struct at_slice after; /* empty: from the start */
};
/* at_admin_page_decode: INVALID_ARGUMENT for a negative size and for what is no token. */
AT_MUST_USE enum at_code at_admin_page_decode(int32_t page_size,
                                              const char *token,
                                              struct at_arena *arena,
                                              struct at_admin_page *ret_page,
                                              struct at_error *reterr);
char *at_admin_page_token(struct at_arena *arena, struct at_slice last);

/* --- table_view.c: a table as clients see it --- */

struct at_table_view {
    struct at_service *service;
    struct at_arena *arena;
    int view; /* Google__Bigtable__Admin__V2__Table__View, never unspecified */
    size_t state_count;
    Google__Bigtable__Admin__V2__Table__ClusterStatesEntry **states;
};
/* at_table_view_init: INVALID_ARGUMENT when `view` (0: `view_default`) is no view. */
AT_MUST_USE enum at_code at_table_view_init(struct at_table_view *v,
                                            struct at_service *service,
                                            struct at_arena *arena,
                                            int view,
                                            int view_default,
                                            struct at_error *reterr);
/* at_table_view_render: DATA_LOSS when what is stored of it can't be read. */
AT_MUST_USE enum at_code at_table_view_render(const struct at_table_view *v,
                                              const struct at_table *table,
                                              Google__Bigtable__Admin__V2__Table **ret_table,
                                              struct at_error *reterr);
/* at_table_view_answer: resource and response of an operation on a table, with its schema.
 * NOT_FOUND, DATA_LOSS. */
AT_MUST_USE enum at_code at_table_view_answer(const struct at_change *change,
                                              const struct at_catalog *after,
                                              struct at_slice table_id,
                                              struct at_operation_answer *ret_answer,
                                              struct at_error *reterr);
/* at_table_view_reply answers a change with the schema of the table after it. */
void at_table_view_reply(struct at_change *change, struct at_slice table_id);

/* --- family_fields.c: a family as it is stored --- */

/* at_family_fields_make checks gc rule and value type and serializes what is kept of `in` (NULL: an
 * empty one). INVALID_ARGUMENT. */
AT_MUST_USE enum at_code at_family_fields_make(const Google__Bigtable__Admin__V2__ColumnFamily *in,
                                               struct at_arena *arena,
                                               struct at_slice *ret_fields,
                                               struct at_error *reterr);

/* --- table_config.c: what else a table record holds --- */

/* at_change_stream_check: NULL is legal. INVALID_ARGUMENT unless it keeps 1 to 7 days. */
AT_MUST_USE enum at_code
at_change_stream_check(const Google__Bigtable__Admin__V2__ChangeStreamConfig *config,
                       struct at_error *reterr);
/* at_table_fields_make serializes into the arena. */
AT_MUST_USE enum at_code at_table_fields_make(const struct at_table_fields *fields,
                                              struct at_arena *arena,
                                              struct at_slice *ret_bytes,
                                              struct at_error *reterr);

/* --- table_create.c --- */

/* at_table_count_check: RESOURCE_EXHAUSTED when instance `in` (at_service_namespace) may have no
 * further table. */
AT_MUST_USE enum at_code
at_table_count_check(const struct at_catalog *catalog, struct at_slice in, struct at_error *reterr);

/* --- table_undelete.c --- */

/* at_table_deleted_fields: what stays of a table that is deleted now; empty when it can't be had
 * back. */
AT_MUST_USE enum at_code at_table_deleted_fields(const struct at_service *service,
                                                 const struct at_table *table,
                                                 struct at_arena *arena,
                                                 struct at_slice *ret_fields,
                                                 struct at_error *reterr);
/* at_table_created_fields adds to the fields of a new table which deleted ones of its name are
 * kept: another member may just be having one back. */
AT_MUST_USE enum at_code at_table_created_fields(const struct at_catalog *catalog,
                                                 struct at_slice table,
                                                 struct at_arena *arena,
                                                 struct at_slice *fields,
                                                 struct at_error *reterr);

/* --- profile_view.c --- */

/* at_profile_view_render: the stored profile with name and etag. DATA_LOSS. */
AT_MUST_USE enum at_code
at_profile_view_render(const struct at_service *service,
                       const struct at_named_record *record,
                       struct at_arena *arena,
                       Google__Bigtable__Admin__V2__AppProfile **ret_profile,
                       struct at_error *reterr);

/* --- handlers; `ctx` is the at_service --- */
void at_on_create_table(struct at_grpc_call *call, void *ctx);
void at_on_get_table(struct at_grpc_call *call, void *ctx);
void at_on_list_tables(struct at_grpc_call *call, void *ctx);
void at_on_update_table(struct at_grpc_call *call, void *ctx);
void at_on_delete_table(struct at_grpc_call *call, void *ctx);
void at_on_undelete_table(struct at_grpc_call *call, void *ctx);
void at_on_modify_column_families(struct at_grpc_call *call, void *ctx);
void at_on_drop_row_range(struct at_grpc_call *call, void *ctx);
void at_on_generate_consistency_token(struct at_grpc_call *call, void *ctx);
void at_on_check_consistency(struct at_grpc_call *call, void *ctx);
void at_on_create_app_profile(struct at_grpc_call *call, void *ctx);
void at_on_get_app_profile(struct at_grpc_call *call, void *ctx);
void at_on_list_app_profiles(struct at_grpc_call *call, void *ctx);
void at_on_update_app_profile(struct at_grpc_call *call, void *ctx);
void at_on_delete_app_profile(struct at_grpc_call *call, void *ctx);
void at_on_get_instance(struct at_grpc_call *call, void *ctx);
void at_on_list_instances(struct at_grpc_call *call, void *ctx);
void at_on_get_cluster(struct at_grpc_call *call, void *ctx);
void at_on_list_clusters(struct at_grpc_call *call, void *ctx);
void at_on_list_hot_tablets(struct at_grpc_call *call, void *ctx);

/* at_unimplemented_admin_methods: the other RPCs of both admin services and of Operations. */
size_t at_unimplemented_admin_methods(struct at_service *service,
                                      struct at_grpc_method *methods,
                                      size_t max);

/* Each fills `methods` from its own table; returns how many. */
size_t
at_table_admin_methods(struct at_service *service, struct at_grpc_method *methods, size_t max);
size_t
at_profile_admin_methods(struct at_service *service, struct at_grpc_method *methods, size_t max);
size_t
at_namespace_admin_methods(struct at_service *service, struct at_grpc_method *methods, size_t max);
size_t at_backup_methods(struct at_service *service, struct at_grpc_method *methods, size_t max);

#endif
