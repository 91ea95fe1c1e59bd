/* message.h: what clusters say to each other: PULL, CLOSE, VECTOR, JOIN, FENCE, COPY and their
 * answers. PURE.
 *
 * Every message is a msgpack map with small integer keys; unknown keys are skipped, so that later
 * versions can add some. Decoding borrows the input for records and copies the rest; every count
 * is bounded by base/limits.h. */
#ifndef ATOLL_REPLICATION_MESSAGE_H
#define ATOLL_REPLICATION_MESSAGE_H

#include "base/arena.h"
#include "base/limits.h"
#include "replication/facts.h"
#include "replication/member_info.h"
#include "replication/vector.h"

enum at_message_kind {
    AT_MESSAGE_PULL = 1,
    AT_MESSAGE_REPLY = 2,
    AT_MESSAGE_CLOSE = 3,
    AT_MESSAGE_CLOSE_ANSWER = 4,
    AT_MESSAGE_VECTOR = 5, /* asks for the positions, synced first: consistency tokens */
    AT_MESSAGE_VECTOR_ANSWER = 6,
    AT_MESSAGE_REFUSED = 7, /* not a member, removed, other instance, malformed */
    AT_MESSAGE_JOIN = 8,
    AT_MESSAGE_JOIN_ANSWER = 9,
    AT_MESSAGE_FENCE = 10,
    AT_MESSAGE_FENCE_ANSWER = 11,
    AT_MESSAGE_COPY_OPEN = 12, /* asks for a pinned snapshot */
    AT_MESSAGE_COPY_OPENED = 13,
    AT_MESSAGE_COPY_ASK = 14, /* the next chunk of one part */
    AT_MESSAGE_COPY_CHUNK = 15,
    AT_MESSAGE_COPY_CLOSE = 16, /* the snapshot is not needed any more (0: the one that was asked
                                   for last); answered by REFUSED "" */
};

struct at_copy_state; /* fill.h */

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
    /* A question of this process whose answer is still on its way: go on where that ended, so that
     * a long link is filled. 0, or one the donor does not remember: from `applied`. */
    uint64_t continues;
    bool unpacks; /* the asker takes packed runs (zstd): the link is slow */
};

/* One run of entries. `record` is as record.h says; it may begin below what was asked. */
struct at_run {
    struct at_member_id origin;
    uint32_t epoch;
    struct at_slice record;
    uint32_t packed_from; /* bytes of the record before it was packed with zstd; 0: it is not */
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

/* A newcomer asks who knows it (rule 38), and tells how its filling goes. Also asked by one that
 * returns from NEEDS_COPY, for its progress only. */
struct at_join {
    uint64_t instance_id;
    struct at_member_id from;
    uint32_t incarnation;
    uint8_t mode; /* enum at_replica_mode */
    bool caught_up;
    uint64_t copied_bytes;         /* of this copy; 0 of 0: none runs */
    uint64_t copy_bytes;           /* estimate of all */
    struct at_slice info;          /* encoded at_member_info of the asker */
    struct at_position registered; /* of its MEMBER entry, as far as it knows; epoch 0: not */
    uint64_t hlc;                  /* at or beyond that entry's stamp; 0: not told */
};
enum at_join_verdict {
    AT_JOIN_UNKNOWN = 0, /* its registration has not come here yet */
    AT_JOIN_KNOWN = 1,   /* applied and synced */
    AT_JOIN_NEVER = 2,   /* removed, or its registration was lost with its registrar */
};
struct at_join_answer {
    uint64_t instance_id;
    struct at_member_id from;
    uint32_t from_incarnation;
    struct at_member_id to;
    uint8_t verdict; /* enum at_join_verdict */
    uint64_t hlc;
    struct at_member_seed members[AT_MEMBERS_MAX]; /* active ones, as this cluster knows them */
    uint32_t member_count;
};

struct at_fence {
    uint64_t instance_id;
    struct at_member_id from; /* the coordinator */
    uint32_t round;           /* answers to an older round are void */
    bool minority_survives;
    struct at_member_id members[AT_MEMBERS_MAX]; /* D */
    uint32_t member_count;
};
struct at_fence_answer {
    uint64_t instance_id;
    struct at_member_id from;
    uint32_t from_incarnation;
    uint32_t round;
    struct at_vector applied; /* all origins; closed epochs that left it by their ends */
    struct at_positions_facts facts;
    struct at_member_seed members[AT_MEMBERS_MAX];
    uint32_t member_count;
};

struct at_copy_open {
    uint64_t instance_id;
    struct at_member_id from;
    uint32_t incarnation;
    struct at_vector needs; /* gaps the donor's V must cover; empty for a newcomer */
};
struct at_copy_opened {
    uint64_t instance_id;
    uint64_t snapshot_id; /* of this donor process only */
    uint64_t bytes;       /* estimate of all parts */
    uint32_t part_count;  /* parts 0 .. part_count-1; part 0 holds catalog, drops, tokens, and what
                             the other parts are */
    struct at_copy_state *state;
};
struct at_copy_ask {
    uint64_t instance_id;
    struct at_member_id from;
    uint64_t snapshot_id;
    uint32_t part;
    struct at_slice cursor; /* where the last chunk of the part ended; empty: its start */
    uint32_t max_bytes;
};
struct at_copy_close {
    uint64_t instance_id;
    struct at_member_id from;
    uint64_t snapshot_id;
};
struct at_copy_chunk {
    uint64_t snapshot_id;
    uint32_t part;
    struct at_slice cursor; /* where this one ends */
    bool last;              /* of the part */
    bool packed;            /* zstd */
    uint32_t raw_bytes;     /* of `items` unpacked */
    uint32_t checksum;      /* crc32c of the unpacked items */
    struct at_slice items;  /* see cluster/model/copy_item.h; opaque here */
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
        struct at_join join;
        struct at_join_answer join_answer;
        struct at_fence fence;
        struct at_fence_answer *fence_answer;
        struct at_copy_open copy_open;
        struct at_copy_opened copy_opened;
        struct at_copy_ask copy_ask;
        struct at_copy_chunk copy_chunk;
        struct at_copy_close copy_close;
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
AT_MUST_USE enum at_code at_join_encode(const struct at_join *m, struct at_buf *out);
AT_MUST_USE enum at_code at_join_answer_encode(const struct at_join_answer *m, struct at_buf *out);
AT_MUST_USE enum at_code at_fence_encode(const struct at_fence *m, struct at_buf *out);
AT_MUST_USE enum at_code at_fence_answer_encode(const struct at_fence_answer *m,
                                                struct at_buf *out);
AT_MUST_USE enum at_code at_copy_open_encode(const struct at_copy_open *m, struct at_buf *out);
AT_MUST_USE enum at_code at_copy_opened_encode(const struct at_copy_opened *m, struct at_buf *out);
AT_MUST_USE enum at_code at_copy_ask_encode(const struct at_copy_ask *m, struct at_buf *out);
AT_MUST_USE enum at_code at_copy_chunk_encode(const struct at_copy_chunk *m, struct at_buf *out);
AT_MUST_USE enum at_code at_copy_close_encode(const struct at_copy_close *m, struct at_buf *out);
AT_MUST_USE enum at_code at_refused_encode(struct at_slice reason, struct at_buf *out);

/* at_message_decode reads any of them. INVALID_ARGUMENT when malformed, over a limit or without a
 * field that it needs; then there is nothing to release. */
AT_MUST_USE enum at_code
at_message_decode(struct at_slice bytes, struct at_arena *arena, struct at_message *ret_message);
void at_message_deinit(struct at_message *m);

#endif
