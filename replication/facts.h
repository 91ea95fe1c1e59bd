/* facts.h: what is true wherever it is told: promises, closed epochs, vouches. PURE.
 *
 * Facts may be relayed by anyone, kept and repeated. They are merged, never replaced, always after
 * the entries of the reply that carries them. */
#ifndef ATOLL_REPLICATION_FACTS_H
#define ATOLL_REPLICATION_FACTS_H

#include "base/arena.h"
#include "base/pack.h"
#include "base/stamp.h"

/* A closed epoch of an origin that has left the vectors, and where it ended. */
struct at_epoch_end {
    struct at_member_id origin;
    uint32_t epoch;
    uint64_t end;
};

/* "Every own entry of `origin` stamped <= hlc is at or below (epoch, seq), or in one of the own
 * epochs closed_from .. epoch-1, all closed; nothing will be issued at or below hlc."
 * closed_from == epoch: there are none. */
struct at_promise {
    struct at_member_id origin;
    uint32_t epoch;
    uint64_t seq;
    uint64_t hlc;
    uint32_t closed_from;
};

/* `voucher` had applied (origin, epoch) up to seq when it answered a CLOSE or a FENCE. All vouches
 * of one closing are told together. */
struct at_vouch {
    struct at_member_id voucher;
    struct at_position position;
};

/* Epochs of origin below `epoch` are complete and have left the vectors. */
struct at_first_open {
    struct at_member_id origin;
    uint32_t epoch;
};

/* Arrays are owned and grow when their cap is not 0; with cap 0 they are borrowed (of an arena). */
struct at_positions_facts {
    struct at_first_open *first_open;
    struct at_epoch_end *ends;
    struct at_promise *promises;
    struct at_vouch *vouches;
    uint32_t first_open_count;
    uint32_t end_count;
    uint32_t promise_count;
    uint32_t vouch_count;
    uint32_t first_open_cap;
    uint32_t end_cap;
    uint32_t promise_cap;
    uint32_t vouch_cap;
};

void at_positions_facts_init(struct at_positions_facts *f);
void at_positions_facts_deinit(struct at_positions_facts *f);
/* at_positions_facts_clear empties; owned memory is kept. */
void at_positions_facts_clear(struct at_positions_facts *f);
/* at_positions_facts_copy: `to` owns what it gets; its memory is reused. */
void at_positions_facts_copy(struct at_positions_facts *to, const struct at_positions_facts *from);

/* The adders append to owned facts. */
void at_positions_facts_add_first_open(struct at_positions_facts *f, struct at_first_open item);
void at_positions_facts_add_end(struct at_positions_facts *f, struct at_epoch_end item);
void at_positions_facts_add_promise(struct at_positions_facts *f, struct at_promise item);
void at_positions_facts_add_vouch(struct at_positions_facts *f, struct at_vouch item);

/* at_positions_facts_first_open returns the first open epoch of origin, 1 when nothing is told. */
uint32_t at_positions_facts_first_open(const struct at_positions_facts *f,
                                       struct at_member_id origin);

/* Msgpack form: an array of four arrays of numbers. RESOURCE_EXHAUSTED from the buffer. Decoding
 * puts the arrays into `arena`; INVALID_ARGUMENT when malformed or beyond AT_FACTS_MAX of a kind.
 */
AT_MUST_USE enum at_code at_positions_facts_encode(const struct at_positions_facts *f,
                                                   struct at_buf *out);
AT_MUST_USE enum at_code at_positions_facts_decode(struct at_positions_facts *f,
                                                   struct at_unpack *in,
                                                   struct at_arena *arena);

#endif
