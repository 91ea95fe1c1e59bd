/* copy_merge.h: one stretch of keys out of two pictures, by the rule of copies. ADAPTER (engine).
 *
 * Stamped at or below t only what the side has whose picture is complete up to there; above t what
 * either has. The stamp is in the key, and a key above t has the same value on both sides. One at
 * or below it may have two (of folded adds, which keep the highest stamp): then the side's counts.
 */
#ifndef ATOLL_CLUSTER_TABLET_COPY_MERGE_H
#define ATOLL_CLUSTER_TABLET_COPY_MERGE_H

#include "base/pack.h"
#include "cluster/engine/engine.h"
#include "replication/fill.h"

/* at_copy_keeps: whether something with a stamp of this hlc stays. */
static inline bool
at_copy_keeps(const struct at_copy_rule *rule, uint64_t hlc, bool donor_has, bool own_has)
{
    return hlc > rule->t || (rule->donor_side ? donor_has : own_has);
}

/* at_copy_key_hlc: of a whole stored key, which is checked. */
uint64_t at_copy_key_hlc(struct at_slice key);

/* Takes what stays, in the order of the keys; slices live during the call. */
typedef enum at_code (*at_copy_emit)(void *ctx,
                                     struct at_slice key,
                                     struct at_slice value,
                                     struct at_error *reterr);

struct at_copy_stretch {
    struct at_slice start; /* whole stored keys, with the receiver's ids; [start, end) */
    struct at_slice end;
    struct at_slice items; /* the donor's, see model/copy_item.h */
};

/* The receiver's picture of its own cells. */
struct at_copy_own {
    struct at_engine *engine;
    const struct at_snapshot *snapshot;
};

/* at_copy_merge merges the donor's items of a stretch with the receiver's own keys.
 * INVALID_ARGUMENT: items malformed, out of order, out of the stretch, or of a kind that its family
 * can't hold; what was emitted before is void. Else codes of the engine and of `emit`. */
AT_MUST_USE enum at_code at_copy_merge(const struct at_copy_own *own,
                                       const struct at_copy_rule *rule,
                                       const struct at_copy_stretch *stretch,
                                       at_copy_emit emit,
                                       void *ctx,
                                       struct at_error *reterr);

#endif
