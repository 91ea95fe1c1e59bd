/* message.h: what clusters say to each other: PULL, CLOSE, VECTOR and their answers. PURE.
 *
 * Every message is a msgpack map with small integer keys; unknown keys are skipped, so that later
 * versions can add some. Decoding borrows the input for records and copies the rest; every count
 * is bounded by base/limits.h. */
#ifndef ATOLL_REPLICATION_MESSAGE_H
#define ATOLL_REPLICATION_MESSAGE_H

#include "base/arena.h"
#include "base/limits.h"
#include "replication/facts.h"
#include "replication/vector.h"

enum at_message_kind {
    AT_MESSAGE_PULL = 1,
    AT_MESSAGE_REPLY = 2,
    AT_MESSAGE_CLOSE = 3,
    AT_MESSAGE_CLOSE_ANSWER = 4,
    AT_MESSAGE_VECTOR = 5, /* asks for the positions, synced first: consistency tokens */
    AT_MESSAGE_VECTOR_ANSWER = 6,
    AT_MESSAGE_REFUSED = 7, /* not a member, removed, other instance, malformed */
};

struct at_pull {
    uint64_t request_id; /* unique in the asking process */
    uint64_t instance_id;
    struct at_member_id from;
    uint32_t incarnation;
    struct at_vector applied;
    struct at_vector durable;        /* the only acknowledgement */
    struct at_positions_facts facts; /* first_open and ends only */
    uint32_t member_count;           /* members the asker knows: a newer list shows */
    struct at_member_id members[AT_MEMBERS_MAX];
    /* Origins whose entries the donor need not relay, because the asker gets them first hand. */
    struct at_member_id skip[AT_MEMBERS_MAX];
    uint32_t skip_count;
    uint32_t max_bytes;
    uint32_t wait_ms;
    uint64_t hlc; /* the asker's clock, for the guard (rule 5) */
};

/* One run of entries. `record` is as record.h says; it may begin below what was asked. */
struct at_run {
    struct at_member_id origin;
    uint32_t epoch;
    struct at_slice record;
};

/* The donor no longer holds entries of (origin, epoch) at or below `base`, and the asker lacks
 * some. */
struct at_gap {
    struct at_position base;
};

struct at_reply {
    uint64_t to_request;
    uint64_t instance_id;
    struct at_member_id from;
    uint32_t incarnation;
    uint64_t hlc;
    struct at_run *runs;
    uint32_t run_count;
    struct at_gap *gaps;
    uint32_t gap_count;
    struct at_vector ends_known; /* the donor's V: what exists, for lag */
    struct at_positions_facts facts;
    uint32_t member_count;
    struct at_member_id members[AT_MEMBERS_MAX];
    bool more; /* max_bytes cut it: ask again at once */
};

/* A process of `member` older than `incarnation` has lost its tail: its replies are void. */
struct at_incarnation {
    struct at_member_id member;
    uint32_t incarnation;
};

/* Made by at_replica_close_ask. `known` is what the origin knows of the other members: one that
 * lost its tail as well may have replies on their way that hold more than it can vouch for. */
struct at_close {
    uint64_t instance_id;
    struct at_member_id origin;
    uint32_t incarnation;
    uint32_t round; /* grows when `known` does; only answers to the last round count */
    uint32_t known_count;
    struct at_incarnation known[AT_MEMBERS_MAX];
};
struct at_close_answer {
    uint64_t instance_id;
    struct at_member_id from;
    uint32_t from_incarnation;
    struct at_member_id origin;
    uint32_t incarnation; /* as asked */
    uint32_t round;       /* as asked */
    struct at_position positions[AT_EPOCHS_MAX];
    uint32_t position_count;
};

struct at_vector_ask {
    uint64_t instance_id;
    struct at_member_id from;
};
struct at_vector_answer {
    uint64_t instance_id;
    struct at_member_id from;
    bool ready; /* mode READY and no old epochs to close */
    struct at_vector durable;
    struct at_positions_facts facts;
    uint32_t member_count;
    struct at_member_id members[AT_MEMBERS_MAX];
};

/* A decoded message. Arrays live in `arena`, records and the reason borrow the input. Vectors own
 * their memory: at_message_deinit. */
struct at_message {
    enum at_message_kind kind;
    union {
        struct at_pull pull;
        struct at_reply reply;
        struct at_close close;
        struct at_close_answer *close_answer;
        struct at_vector_ask vector_ask;
        struct at_vector_answer vector_answer;
        struct at_slice refused; /* reason for people */
    } u;
};

/* Encoders append. RESOURCE_EXHAUSTED from the buffer. */
AT_MUST_USE enum at_code at_pull_encode(const struct at_pull *m, struct at_buf *out);
AT_MUST_USE enum at_code at_reply_encode(const struct at_reply *m, struct at_buf *out);
AT_MUST_USE enum at_code at_close_encode(const struct at_close *m, struct at_buf *out);
AT_MUST_USE enum at_code at_close_answer_encode(const struct at_close_answer *m,
                                                struct at_buf *out);
AT_MUST_USE enum at_code at_vector_ask_encode(const struct at_vector_ask *m, struct at_buf *out);
AT_MUST_USE enum at_code at_vector_answer_encode(const struct at_vector_answer *m,
                                                 struct at_buf *out);
AT_MUST_USE enum at_code at_refused_encode(struct at_slice reason, struct at_buf *out);

/* at_message_decode reads any of them. INVALID_ARGUMENT when malformed, over a limit or without a
 * field that it needs; then there is nothing to release. */
AT_MUST_USE enum at_code
at_message_decode(struct at_slice bytes, struct at_arena *arena, struct at_message *ret_message);
void at_message_deinit(struct at_message *m);

#endif
