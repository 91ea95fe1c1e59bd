/* catalog_slot.h: all records of one table (its own and its families'), or the one of a name. PURE.
 *
 * The unit that versions of a catalog share: sealed slots never change but for their count of
 * references, which is counted atomically, as the last holder of an old version may be any thread.
 * A slot that is not sealed belongs to the one catalog that is being made. */
#ifndef ATOLL_CLUSTER_MODEL_CATALOG_SLOT_H
#define ATOLL_CLUSTER_MODEL_CATALOG_SLOT_H

#include "cluster/model/catalog.h"

struct at_catalog_slot {
    uint32_t refs;
    bool sealed;
    bool present;
    enum at_catalog_kind kind; /* not FAMILY */
    struct at_arena arena;     /* everything below lives here */
    struct at_slice name;
    struct at_catalog_record *records; /* table first (if any), families by generation and name */
    uint32_t record_count;
    uint32_t record_cap;
    uint64_t digest; /* of the records; sealed */
    union {
        struct at_table table;        /* TABLE, sealed; absent: fields alone, if any */
        struct at_named_record named; /* others, present, sealed */
    };
};

/* at_catalog_slot_new makes an empty, unsealed slot; copies the name. */
struct at_catalog_slot *at_catalog_slot_new(enum at_catalog_kind kind, struct at_slice name);
/* at_catalog_slot_copy makes an unsealed one with the same records. */
struct at_catalog_slot *at_catalog_slot_copy(const struct at_catalog_slot *slot);
struct at_catalog_slot *at_catalog_slot_ref(struct at_catalog_slot *slot);
void at_catalog_slot_unref(struct at_catalog_slot **slot);

/* at_catalog_slot_find returns the stored record of the same kind, table generation and name, or
 * NULL. */
const struct at_catalog_record *at_catalog_slot_find(const struct at_catalog_slot *slot,
                                                     const struct at_catalog_record *r);

/* at_catalog_record_wins: `r` replaces `old` (NULL: none yet). A total order, so that merging does
 * not depend on order even if a peer breaks the rule that stamps are unique. */
bool at_catalog_record_wins(const struct at_catalog_record *r, const struct at_catalog_record *old);

/* at_catalog_slot_put stores a winner in an unsealed slot; copies it. */
void at_catalog_slot_put(struct at_catalog_slot *slot, const struct at_catalog_record *r);

/* at_catalog_slot_seal works out what is present. INVALID_ARGUMENT when the fields of a present
 * name are malformed. `ids` may be NULL. */
AT_MUST_USE enum at_code at_catalog_slot_seal(struct at_catalog_slot *slot,
                                              const struct at_catalog_ids *ids,
                                              struct at_error *reterr);

#endif
