/* garbage_batch.h: what a walk found, until the writer has removed it: exact keys, and folds that
 * take the place of some. PURE (memory only).
 *
 * Whoever adds asks at_garbage_batch_full first, once per key it looks at; beyond that there is
 * always room for one key, one fold and AT_KEY_LISTS_AT_ONCE full key lists. */
#ifndef ATOLL_CLUSTER_TABLET_GARBAGE_BATCH_H
#define ATOLL_CLUSTER_TABLET_GARBAGE_BATCH_H

#include "cluster/model/hll.h"
#include "cluster/model/key.h"
#include "cluster/tablet/write.h"

#define AT_GARBAGE_KEYS_MAX 1024
#define AT_GARBAGE_FOLDS_MAX 256
#define AT_GARBAGE_BYTES_MAX (256 * AT_KIB)
#define AT_KEY_LIST_MAX 512
#define AT_KEY_LIST_BYTES_MAX (64 * AT_KIB)
#define AT_KEY_LISTS_AT_ONCE 3

/* Keys that are kept back: they go when it is known that what they go with has gone. */
struct at_key_list {
    struct at_buf bytes;
    uint32_t ends[AT_KEY_LIST_MAX]; /* in bytes */
    uint32_t count;
};
void at_key_list_init(struct at_key_list *l);
void at_key_list_deinit(struct at_key_list *l);
void at_key_list_clear(struct at_key_list *l);
/* at_key_list_add copies a stored key. False: it is full. */
AT_MUST_USE bool at_key_list_add(struct at_key_list *l, struct at_slice key);
/* at_key_list_at: lives until the next add. */
struct at_slice at_key_list_at(const struct at_key_list *l, uint32_t index);

/* Invariant: the buffer never moves, so that keys may point into it. */
struct at_garbage_batch {
    struct at_buf bytes;
    struct at_slice keys[AT_GARBAGE_KEYS_MAX + AT_KEY_LISTS_AT_ONCE * AT_KEY_LIST_MAX + 1];
    struct at_write_fold folds[AT_GARBAGE_FOLDS_MAX + 1];
    uint32_t count;
    uint32_t fold_count;
    uint32_t forgotten;      /* of the keys: markers, and adds that were folded */
    uint64_t schema_version; /* the lowest that any of them was judged by */
};
void at_garbage_batch_init(struct at_garbage_batch *b);
void at_garbage_batch_deinit(struct at_garbage_batch *b);
void at_garbage_batch_clear(struct at_garbage_batch *b);
bool at_garbage_batch_full(const struct at_garbage_batch *b);
/* at_garbage_batch_add adds (copies) a key that goes; _forget one that is a marker or a folded add.
 */
void at_garbage_batch_add(struct at_garbage_batch *b, struct at_slice key, uint64_t schema_version);
void at_garbage_batch_forget(struct at_garbage_batch *b,
                             struct at_slice key,
                             uint64_t schema_version);
/* at_garbage_batch_fold gives a stored add another value; copies both. */
void at_garbage_batch_fold(struct at_garbage_batch *b,
                           struct at_slice key,
                           struct at_slice value,
                           uint64_t schema_version);

#endif
