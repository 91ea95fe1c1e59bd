#include "base/alloc.h"
#include "base/assert.h"
#include "replication/peer/rooms.h"

struct at_room_answer *at_room_answer_take(struct at_ask *ask,
                                           void (*run)(struct at_replica_call *call,
                                                       struct at_replica *replica))
{
    struct at_room_answer *answer = AT_NEW(struct at_room_answer);

    at_arena_init(&answer->arena, 4 * AT_KIB);
    answer->call.call.run = run;
    answer->call.on_end = at_room_answer_free;
    answer->question = ask->question; /* its bytes go with it */
    ask->question.impl = NULL;
    ask->question.reply = at_slice_make(NULL, 0);
    enum at_code code = at_message_decode(answer->question.reply, &answer->arena, &answer->message);
    AT_ASSERT((code == AT_OK) == (answer->message.kind != 0));
    return answer;
}

void at_room_answer_free(struct at_room_call *call)
{
    struct at_room_answer *answer = (struct at_room_answer *)call;

    if (answer->message.kind != 0)
        at_message_deinit(&answer->message);
    at_peer_question_done(&answer->question);
    at_arena_deinit(&answer->arena);
    at_free(answer);
}
