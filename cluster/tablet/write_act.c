#include "cluster/tablet/writer.h"

#include "base/assert.h"
#include "base/log.h"

/* Entries that change members. The replica decides whether one is to be written, on this thread and
 * between commits: between the asking and now it may have changed its mind. Each is synced before
 * it is told, under either durability. */

_Static_assert(AT_OPERATION_INFO_BYTES_MAX == AT_MEMBER_INFO_BYTES_MAX, "infos fit");

static void write_act(struct writer *w, struct at_act_write *act);
static enum at_code decide(struct writer *w, struct at_act_write *act, struct at_operation *ret_op);
static void
fill_removal(struct writer *w, const struct at_removal *removal, struct at_operation *op);
static void apply_removal(struct writer *w, const struct at_operation *op);

void acts_write(struct writer *w)
{
    struct at_mail *mail = at_mailbox_take(&w->store->acts);

    while (mail != NULL) {
        struct at_act_write *act = (struct at_act_write *)mail;
        mail = mail->next;
        /* The round may be full, or hold what the replica is not to see half of. */
        if (w->loaded && !w->broken && round_commit(w)) {
            write_act(w, act);
            continue;
        }
        act->code = AT_UNAVAILABLE;
        act->done(act);
    }
}

void act_apply(struct writer *w,
               const struct at_operation *op,
               struct at_position position,
               uint64_t hlc)
{
    struct at_member_seed seed = {op->members[0], op->info};

    switch (op->kind) {
    case AT_OPERATION_MEMBER:
        at_replica_member_joined(w->replica, &seed, position, hlc);
        break;
    case AT_OPERATION_LEAVE:
        at_replica_member_left(w->replica, position);
        break;
    case AT_OPERATION_REMOVE:
        apply_removal(w, op);
        break;
    case AT_OPERATION_RELEASE:
        at_replica_released(w->replica, op->hlc);
        break;
    case AT_OPERATION_ROW:
    case AT_OPERATION_CATALOG:
    case AT_OPERATION_DROP_RANGE:
        AT_ASSERT(!"an operation that changes no members");
    }
    w->round.may_write_known = false;
}

enum at_code act_check(struct writer *w, const struct at_operation *op, struct at_error *reterr)
{
    if (op->kind == AT_OPERATION_MEMBER)
        return at_replica_may_register(w->replica, reterr);
    AT_ASSERT(op->kind == AT_OPERATION_RELEASE); /* the others are decided here */
    return AT_OK;
}

static void write_act(struct writer *w, struct at_act_write *act)
{
    struct at_operation op = {0};

    act->code = decide(w, act, &op);
    if (act->code == AT_OK) {
        uint64_t hlc = round_own(w, &op, 1, at_operation_size_max(&op));
        act_apply(w, &op, w->round.own_last, hlc);
        w->round.sync = true;
        at_log(AT_LOG_INFO,
               op.kind == AT_OPERATION_LEAVE ? "wrote that this cluster leaves"
                                             : "wrote that members are removed",
               AT_KV_U64("seq", w->round.own_last.seq));
    }
    mail_list_put(&w->round.acts, &act->mail);
}

static enum at_code decide(struct writer *w, struct at_act_write *act, struct at_operation *ret_op)
{
    switch (act->act) {
    case AT_ACT_LEAVE:
        ret_op->kind = AT_OPERATION_LEAVE;
        return at_replica_leave_ready(w->replica) ? AT_OK : AT_FAILED_PRECONDITION;
    case AT_ACT_REMOVE:
        break;
    }
    act->removal = (struct at_removal){0};
    if (!at_replica_removal(w->replica, &act->removal))
        return AT_FAILED_PRECONDITION;
    ret_op->kind = AT_OPERATION_REMOVE;
    fill_removal(w, &act->removal, ret_op);
    act->removal.vouches = NULL; /* they live no longer */
    act->removal.vouch_count = 0;
    return at_operation_size_max(ret_op) <= AT_ENTRY_BYTES_MAX ? AT_OK : AT_RESOURCE_EXHAUSTED;
}

/* Into the writer's arena. */
static void
fill_removal(struct writer *w, const struct at_removal *removal, struct at_operation *op)
{
    AT_ASSERT(removal->member_count > 0 && removal->member_count <= AT_MEMBERS_MAX);
    AT_ASSERT(removal->vouch_count <= AT_FACTS_MAX);
    at_arena_reset(&w->arena);
    memcpy(op->members, removal->members, sizeof(op->members));
    op->member_count = removal->member_count;
    op->fork_id = removal->fork_id;
    op->vouch_count = removal->vouch_count;
    op->vouches = AT_ARENA_ARRAY(&w->arena, struct at_operation_vouch, removal->vouch_count);
    for (uint32_t i = 0; i < removal->vouch_count; i++)
        op->vouches[i] =
            (struct at_operation_vouch){removal->vouches[i].voucher, removal->vouches[i].position};
}

static void apply_removal(struct writer *w, const struct at_operation *op)
{
    struct at_removal removal = {
        .member_count = op->member_count,
        .vouches = AT_ARENA_ARRAY(&w->arena, struct at_vouch, op->vouch_count),
        .vouch_count = op->vouch_count,
        .fork_id = op->fork_id,
    };

    memcpy(removal.members, op->members, sizeof(removal.members));
    for (uint32_t i = 0; i < op->vouch_count; i++)
        removal.vouches[i] = (struct at_vouch){op->vouches[i].voucher, op->vouches[i].position};
    at_replica_members_removed(w->replica, &removal);
}
