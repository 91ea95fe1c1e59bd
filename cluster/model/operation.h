/* operation.h: what a mutation log entry says: a row mutation, catalog records, a dropped row
 * range, a change of members. PURE.
 *
 * The payload is msgpack and names tables and families by name and generation, never by local id:
 *     [1, table, table_generation, row, [[kind, family, family_generation, ...], ...]]
 *     [1, table, table_generation, row, [...], token]        asked for under an idempotency token
 *     [2, [[record], ...]]                                   see catalog.h
 *     [3, table, table_generation, prefix]                   empty prefix: all rows
 *     [4, member, info]                                      a member joins; info: opaque here
 *     [5]                                                    the origin leaves: its last entry
 *     [6, [member, ...], [[voucher, origin, epoch, seq], ...], fork]    members are removed
 *     [7, hlc]                                               stamps up to hlc are accepted
 * Mutation i of a row operation has the stamp hlc + i of its entry. What members do with kinds 4 to
 * 7 is said in replication/membership.h. Decoding is bounded and borrows the payload. */
#ifndef ATOLL_CLUSTER_MODEL_OPERATION_H
#define ATOLL_CLUSTER_MODEL_OPERATION_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/pack.h"
#include "base/stamp.h"
#include "cluster/model/catalog.h"
#include "cluster/model/mutation.h"

enum at_operation_kind {
    AT_OPERATION_ROW = 1,
    AT_OPERATION_CATALOG = 2,
    AT_OPERATION_DROP_RANGE = 3,
    AT_OPERATION_MEMBER = 4,
    AT_OPERATION_LEAVE = 5,
    AT_OPERATION_REMOVE = 6,
    AT_OPERATION_RELEASE = 7,
};

static inline bool at_operation_of_members(enum at_operation_kind kind)
{
    return kind >= AT_OPERATION_MEMBER && kind <= AT_OPERATION_RELEASE;
}

#define AT_OPERATION_RECORDS_MAX 1024
#define AT_OPERATION_INFO_BYTES_MAX 512

/* `voucher` had all of (origin, epoch) up to seq. */
struct at_operation_vouch {
    struct at_member_id voucher;
    struct at_position position;
};

struct at_operation {
    enum at_operation_kind kind;
    /* ROW and DROP_RANGE */
    struct at_slice table;
    uint64_t table_generation;
    struct at_slice row; /* DROP_RANGE: the prefix */
    struct at_mutation *mutations;
    uint32_t mutation_count; /* ROW: also the entry's ticks */
    bool has_token;
    struct at_hash128 token; /* the id of an idempotency token, 16 bytes; not zeros */
    /* CATALOG */
    struct at_catalog_record *records;
    uint32_t record_count;
    /* MEMBER (one) and REMOVE */
    struct at_member_id members[AT_MEMBERS_MAX];
    uint32_t member_count;
    struct at_slice info; /* MEMBER */
    /* REMOVE */
    struct at_operation_vouch *vouches;
    uint32_t vouch_count;
    uint64_t fork_id; /* 0: none */
    uint64_t hlc;     /* RELEASE */
};

/* at_operation_encode appends. at_operation_size_max bounds what it will append (tight within a few
 * bytes per mutation): the log record needs to know before. */
AT_MUST_USE enum at_code at_operation_encode(const struct at_operation *op, struct at_buf *out);
size_t at_operation_size_max(const struct at_operation *op);

/* at_operation_decode: arrays go to the arena, slices borrow `payload`. INVALID_ARGUMENT when
 * malformed, beyond a limit of the API, or of an unknown kind. */
AT_MUST_USE enum at_code
at_operation_decode(struct at_slice payload, struct at_arena *arena, struct at_operation *ret_op);

#endif
