/* message_keys.h: the keys of the maps that messages are: {0: kind, 1: ..., 2: ...}. PURE.
 * For message.c and message_encode.c only. A key is never given a second meaning. */
#ifndef ATOLL_REPLICATION_MESSAGE_KEYS_H
#define ATOLL_REPLICATION_MESSAGE_KEYS_H

#define KEY_KIND 0

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
    PULL_END
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
    REPLY_END
};

/* CLOSE, VECTOR and their answers share these. */
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
    SMALL_FROM_INCARNATION
};

#endif
