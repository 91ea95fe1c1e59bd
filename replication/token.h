/* token.h: the consistency token: a point that all members must have passed. PURE.
 *
 * Opaque to clients: base64url of msgpack with a checksum; binds instance and table (rules 40, 41).
 * Answers name active members only, a survey asks those, those that answers name, and always the
 * cluster itself, though it has left. What left or was removed comes in with the facts: the end of
 * its last epoch is told by all that know it gone. */
#ifndef ATOLL_REPLICATION_TOKEN_H
#define ATOLL_REPLICATION_TOKEN_H

#include "replication/message.h"

struct at_token {
    uint64_t instance_id;
    uint64_t table_hash;        /* of the full table name and its generation */
    struct at_vector positions; /* maximum over the members reached */
    struct at_member_id asked[AT_MEMBERS_MAX];
    uint32_t asked_count;
    struct at_member_id not_reached[AT_MEMBERS_MAX];
    uint32_t not_reached_count;
};

void at_token_init(struct at_token *t);
void at_token_deinit(struct at_token *t);

/* at_token_note adds one member's answer (NULL: not reached, or its old epochs are not closed). */
void at_token_note(struct at_token *t,
                   struct at_member_id member,
                   const struct at_vector_answer *answer);

/* at_token_encode appends the text form; at_token_decode returns INVALID_ARGUMENT for anything that
 * is not a whole token. */
AT_MUST_USE enum at_code at_token_encode(const struct at_token *t, struct at_buf *out);
AT_MUST_USE enum at_code at_token_decode(struct at_token *t, struct at_slice text);

/* at_token_check: `answers[i]` is what `members[i]` (all active ones, those that
 * answers named, self included) answered just
 * now, NULL when it was not reached. True only by rule 41. */
bool at_token_check(const struct at_token *t,
                    const struct at_member_id *members,
                    const struct at_vector_answer *const *answers,
                    uint32_t count);

#endif
