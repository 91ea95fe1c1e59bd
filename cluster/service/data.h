/* data.h: what the handlers of google.bigtable.v2.Bigtable share. ADAPTER. */
#ifndef ATOLL_CLUSTER_SERVICE_DATA_H
#define ATOLL_CLUSTER_SERVICE_DATA_H

#include "cluster/service/lane.h"
#include "cluster/service/service.h"
#include "cluster/service/state.h"

/* What a data request is aimed at, as the request names it. */
struct at_data_aim {
    const char *table_name;
    const char *authorized_view_name;
    const char *materialized_view_name; /* NULL: the request has no such field */
    const char *app_profile_id;
    enum at_profile_use use;
};

/* Slices borrow the request. */
struct at_data_target {
    struct at_slice table; /* its id */
    struct at_slice full_name;
};

/* at_data_target_check: INVALID_ARGUMENT for a bad name, UNIMPLEMENTED for a view, and what
 * at_service_profile_check refuses. Whether the table exists is not looked at. */
AT_MUST_USE enum at_code at_data_target_check(struct at_service *service,
                                              const struct at_data_aim *aim,
                                              struct at_data_target *ret_target,
                                              struct at_error *reterr);

/* at_data_serves: at_table_serves of the target's table. */
AT_MUST_USE enum at_code at_data_serves(struct at_service *service,
                                        const struct at_data_target *target,
                                        struct at_error *reterr);

/* at_data_heat notes that a request goes to this row, for ListHotTablets. Cheap. */
void at_data_heat(struct at_service *service, struct at_slice table, struct at_slice row);

/* at_data_granularity: of the table's timestamps, in microseconds; the usual one for a table that
 * does not exist. */
int64_t at_data_granularity(struct at_service *service, struct at_slice table);

/* at_data_server_micros reads "atoll-write-micros": the time a router gave to the write, so that a
 * write it sends twice has one outcome. 0: none. */
int64_t at_data_server_micros(const struct at_grpc_call *call);

/* at_data_submit gives a write to the writer by the lane of the call's loop. It is not begun once
 * the call is cancelled, or the time is over that a router gave it by "atoll-begin-micros". */
void at_data_submit(struct at_service *service,
                    struct at_grpc_call *call,
                    struct at_ticket *ticket,
                    struct at_write *write,
                    void (*answer)(struct at_ticket *ticket));

/* at_data_fail is at_service_fail with the write's error under `code`. */
void at_data_fail(struct at_service *service,
                  struct at_grpc_call *call,
                  const struct at_write *write,
                  enum at_code code);

/* --- handlers; `ctx` is the at_service --- */
void at_on_read_rows(struct at_grpc_call *call, void *ctx);
void at_on_sample_row_keys(struct at_grpc_call *call, void *ctx);
void at_on_mutate_row(struct at_grpc_call *call, void *ctx);
void at_on_mutate_rows(struct at_grpc_call *call, void *ctx);
void at_on_check_and_mutate_row(struct at_grpc_call *call, void *ctx);
void at_on_read_modify_write_row(struct at_grpc_call *call, void *ctx);
void at_on_ping_and_warm(struct at_grpc_call *call, void *ctx);
void at_on_unimplemented(struct at_grpc_call *call, void *ctx);

/* at_data_methods fills `methods` with the data API; returns how many. */
size_t at_data_methods(struct at_service *service, struct at_grpc_method *methods, size_t max);

#endif
