/* origin.h: what a cluster knows about one origin: its state as a member, its closed epochs, its
 * promises. PURE.
 *
 * Epochs below first_open are complete everywhere and have left the vectors. An epoch is closed
 * when the origin itself has vouched for it, which it does last, after all members, or when an end
 * was told. A removed origin can't: who applies its removal puts a vouch of 0 in its name. Vouches
 * of members may be here before (a removal brings those of all members for all epochs). */
#ifndef ATOLL_REPLICATION_ORIGIN_H
#define ATOLL_REPLICATION_ORIGIN_H

#include "replication/facts.h"
#include "replication/member_info.h"
#include "replication/vector.h"

/* Epochs of one origin that wait to leave the vectors. */
#define AT_OPEN_EPOCHS_MAX 128

enum at_origin_state {
    AT_ORIGIN_KNOWN = 0, /* entries of it came, its registration has not */
    AT_ORIGIN_ACTIVE = 1,
    AT_ORIGIN_LEFT = 2,
    AT_ORIGIN_REMOVED = 3,
};

/* A promise with hlc 0 is none. Invariant: best.hlc < next.hlc < newest.hlc where they are set,
 * and newest is set only when next is. */
struct at_origin {
    struct at_member_id id;
    enum at_origin_state state;
    bool fenced;
    uint32_t min_incarnation; /* replies of older processes of it are dropped */
    uint32_t first_open;
    struct at_position registered; /* of its MEMBER entry; epoch 0: by birth, or not known */
    struct at_position last;       /* LEFT: its LEAVE; REMOVED: epoch only, beyond is nothing */
    uint8_t info[AT_MEMBER_INFO_BYTES_MAX];
    uint32_t info_len;
    struct at_positions_facts closed; /* its ends and vouches; of open epochs too */
    struct at_promise best;           /* counts here */
    struct at_promise next;           /* will count when V covers it */
    struct at_promise newest;         /* a later one, told since */
    bool dirty;                       /* what is stored differs */
};

void at_origin_init(struct at_origin *o, struct at_member_id id, enum at_origin_state state);
void at_origin_deinit(struct at_origin *o);

/* at_origin_end: true when `epoch` is known to be closed, and where. */
bool at_origin_end(const struct at_origin *o, uint32_t epoch, uint64_t *ret_end);

/* at_origin_covers: `v` holds all of the epochs from .. to-1. */
bool at_origin_covers(const struct at_origin *o,
                      const struct at_vector *v,
                      uint32_t from,
                      uint32_t to);

/* at_origin_counts applies rule 17 to a promise of this origin. */
bool at_origin_counts(const struct at_origin *o,
                      const struct at_promise *p,
                      const struct at_vector *applied);

/* at_origin_promised merges a promise; at_origin_settle finds what counts now that V has moved. */
void at_origin_promised(struct at_origin *o, const struct at_promise *p);
void at_origin_settle(struct at_origin *o, const struct at_vector *applied);

/* at_origin_vouched and at_origin_ended merge facts about epochs that are still in the vectors;
 * others are ignored. */
void at_origin_vouched(struct at_origin *o, const struct at_vouch *vouch);
void at_origin_ended(struct at_origin *o, const struct at_epoch_end *end);

/* at_origin_left: `last` is its LEAVE. at_origin_removed: its epochs up to the last that anyone
 * vouched for, or that is in `applied`, are closed; its own word is void. */
void at_origin_left(struct at_origin *o, struct at_position last);
void at_origin_removed(struct at_origin *o, const struct at_vector *applied);
/* at_origin_void drops the word of a removed voucher (rule 24). */
void at_origin_void(struct at_origin *o, struct at_member_id voucher);
/* at_origin_keep: a closed epoch does not end before what is in `applied`. The voided word may have
 * stood for all: who has seen that everybody has the epoch, and has pruned it, gives no word any
 * more. */
void at_origin_keep(struct at_origin *o, const struct at_vector *applied);
/* at_origin_final_applied: one that left or was removed: everything of it is in `applied` (rule
 * 19). */
bool at_origin_final_applied(const struct at_origin *o, const struct at_vector *applied);
/* at_origin_beyond_final: (epoch, seq) of one that left or was removed is not to be taken. */
bool at_origin_beyond_final(const struct at_origin *o, uint32_t epoch, uint64_t seq);
/* at_origin_skip_to: a copy has brought all of the epochs below `first_open`. */
void at_origin_skip_to(struct at_origin *o, uint32_t first_open);
void at_origin_set_info(struct at_origin *o, struct at_slice info);

/* at_origin_prune: epoch first_open leaves the vectors. It must be closed. The ends of the newest
 * epochs are kept (for tokens that name them); of older ones first_open is enough. */
void at_origin_prune(struct at_origin *o);

/* Stored form. Decoding returns INVALID_ARGUMENT for what is not a whole one; `o` must be fresh. */
AT_MUST_USE enum at_code at_origin_encode(const struct at_origin *o, struct at_buf *out);
AT_MUST_USE enum at_code at_origin_decode(struct at_origin *o, struct at_slice value);

#endif
