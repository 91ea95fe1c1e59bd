/* message_parts.h: what the files message*.c share: the keys of the maps that messages are
 * ({0: kind, 1: ..., 2: ...}), and the writing and reading of single fields. PURE.
 * A key is never given a second meaning. */
#ifndef ATOLL_REPLICATION_MESSAGE_PARTS_H
#define ATOLL_REPLICATION_MESSAGE_PARTS_H

#include "replication/message.h"

#define KEY_KIND 0
#define BIT(key) (UINT32_C(1) << (key))

enum pull_key {
    PULL_REQUEST_ID = 1,
    PULL_INSTANCE,
    PULL_FROM,
    PULL_INCARNATION,
    PULL_APPLIED,
    PULL_DURABLE,
    PULL_FACTS,
    PULL_MEMBERS,
    PULL_SKIP,
    PULL_MAX_BYTES,
    PULL_WAIT_MS,
    PULL_HLC,
    PULL_CONTINUES,
    PULL_UNPACKS
};

enum reply_key {
    REPLY_TO_REQUEST = 1,
    REPLY_INSTANCE,
    REPLY_FROM,
    REPLY_INCARNATION,
    REPLY_HLC,
    REPLY_RUNS,
    REPLY_GAPS,
    REPLY_ENDS_KNOWN,
    REPLY_FACTS,
    REPLY_MEMBERS,
    REPLY_MORE,
    REPLY_PACKED
};

/* All others share these. */
enum small_key {
    SMALL_INSTANCE = 1,
    SMALL_FROM,
    SMALL_ORIGIN,
    SMALL_INCARNATION,
    SMALL_POSITIONS,
    SMALL_READY,
    SMALL_DURABLE,
    SMALL_FACTS,
    SMALL_MEMBERS,
    SMALL_REASON,
    SMALL_ROUND,
    SMALL_KNOWN,
    SMALL_FROM_INCARNATION,
    SMALL_MODE,
    SMALL_CAUGHT_UP,
    SMALL_COPIED_BYTES,
    SMALL_BYTES,
    SMALL_INFO,
    SMALL_REGISTERED,
    SMALL_VERDICT,
    SMALL_HLC,
    SMALL_SURVIVES,
    SMALL_APPLIED
};

enum copy_key {
    COPY_INSTANCE = 1,
    COPY_FROM,
    COPY_INCARNATION,
    COPY_NEEDS,
    COPY_SNAPSHOT,
    COPY_BYTES,
    COPY_PARTS,
    COPY_PART,
    COPY_CURSOR,
    COPY_MAX_BYTES,
    COPY_LAST,
    COPY_PACKED,
    COPY_RAW_BYTES,
    COPY_CHECKSUM,
    COPY_ITEMS,
    COPY_APPLIED,
    COPY_FACTS,
    COPY_HORIZON,
    COPY_HLC,
    COPY_RELEASED,
    COPY_MEMBERS,
    COPY_FORK_FROM,
    COPY_FORK
};

/* --- writing --- */

AT_MUST_USE enum at_code
at_message_head(struct at_buf *out, enum at_message_kind kind, uint32_t fields);
AT_MUST_USE enum at_code at_message_put_u64(struct at_buf *out, uint32_t key, uint64_t v);
AT_MUST_USE enum at_code at_message_put_bool(struct at_buf *out, uint32_t key, bool v);
AT_MUST_USE enum at_code at_message_put_bin(struct at_buf *out, uint32_t key, struct at_slice v);
AT_MUST_USE enum at_code
at_message_put_vector(struct at_buf *out, uint32_t key, const struct at_vector *v);
AT_MUST_USE enum at_code
at_message_put_facts(struct at_buf *out, uint32_t key, const struct at_positions_facts *facts);
AT_MUST_USE enum at_code at_message_put_ids(struct at_buf *out,
                                            uint32_t key,
                                            const struct at_member_id *members,
                                            uint32_t count);
/* Three numbers in the array that is open; epoch 0 stands for no position. */
AT_MUST_USE enum at_code at_message_pack_position(struct at_buf *out, struct at_position p);

/* --- reading --- */

struct at_message_decoder {
    struct at_unpack in;
    struct at_arena *arena;
};

typedef enum at_code (*at_message_field)(struct at_message_decoder *d,
                                         struct at_message *m,
                                         uint64_t key);

/* at_message_fields reads the map; `needed` are bits of keys. */
AT_MUST_USE enum at_code at_message_fields(struct at_message_decoder *d,
                                           struct at_message *m,
                                           at_message_field decode,
                                           uint32_t needed);
AT_MUST_USE enum at_code at_message_id(struct at_unpack *in, struct at_member_id *ret_id);
AT_MUST_USE enum at_code
at_message_ids(struct at_unpack *in, struct at_member_id *ret_ids, uint32_t *ret_count);
AT_MUST_USE enum at_code at_message_position(struct at_unpack *in,
                                             struct at_position *ret_position);
/* Three numbers as at_message_pack_position wrote them. */
AT_MUST_USE enum at_code at_message_unpack_position(struct at_unpack *in,
                                                    struct at_position *ret_position);

/* message_member.c and message_copy.c: m->kind is set. */
AT_MUST_USE enum at_code at_message_member_decode(struct at_message_decoder *d,
                                                  struct at_message *m);
AT_MUST_USE enum at_code at_message_copy_decode(struct at_message_decoder *d, struct at_message *m);

#endif
