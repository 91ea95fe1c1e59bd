/* profile_table.h: the app profiles of an instance as a router last heard of them. PURE. */
#ifndef ATOLL_ROUTING_PROXY_PROFILE_TABLE_H
#define ATOLL_ROUTING_PROXY_PROFILE_TABLE_H

#include "appprofile/profile.h"

struct at_profile_entry {
    struct at_slice id;
    struct at_profile profile;
};

struct at_profile_table {
    struct at_arena arena;            /* owns everything below */
    struct at_profile_entry *entries; /* ascending by id */
    uint32_t count;
    bool known;       /* false until the first one was heard */
    uint64_t version; /* digest of the set */
};

void at_profile_table_init(struct at_profile_table *t);
void at_profile_table_deinit(struct at_profile_table *t);

/* at_profile_table_load replaces the table by what a serialized atoll.v1.HeartbeatResponse carries.
 * INVALID_ARGUMENT when malformed; then the table is as before. */
AT_MUST_USE enum at_code at_profile_table_load(struct at_profile_table *t,
                                               struct at_slice response,
                                               struct at_error *reterr);

/* at_profile_table_find: NULL when there is none; an empty id means "default". */
const struct at_profile *at_profile_table_find(const struct at_profile_table *t,
                                               struct at_slice id);

#endif
