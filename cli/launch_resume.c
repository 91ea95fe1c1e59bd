/* launch_resume.c: clusters whose making was not finished when the router was killed.
 *
 *   prepared, not registered   no member knows it: it is dropped, and may be made anew
 *   registered, not started    it is started; it fills itself, and ends the operation
 *
 * What a cluster is only the members know: one of them is asked, for some time, as they may just be
 * starting. Without an answer all stays as it is. */
#include <string.h>
#include <unistd.h>

#include "atoll/v1/control.pb-c.h"
#include "cli/ask.h"
#include "cli/launch.h"

#define SERVING_MS_MAX 30000
#define ASK_MS 1000
#define TRIES 100
#define PAUSE_US 100000

static bool ask_one(const struct at_cluster_config *c,
                    struct at_arena *arena,
                    const Atoll__V1__MembersResponse **ret_members)
{
    Atoll__V1__MembersRequest request = ATOLL__V1__MEMBERS_REQUEST__INIT;
    const struct at_ask ask = {c->host, c->grpc_port, "/atoll.v1.Cluster/Members", ASK_MS};
    void *answer;
    if (at_ask_unary(&ask, &request.base, &atoll__v1__members_response__descriptor, arena, &answer,
                     NULL) != AT_OK)
        return false;
    *ret_members = answer;
    return true;
}

static bool ask_any(struct at_state_dir *s, const Atoll__V1__MembersResponse **ret_members)
{
    for (int i = 0; i < TRIES; i++) {
        for (uint32_t k = 0; k < s->instance.cluster_count; k++) {
            const struct at_cluster_config *c = &s->instance.clusters[k];
            if (!at_process_unborn(s, c) && at_state_dir_running(s, c->id).alive &&
                ask_one(c, &s->arena, ret_members))
                return true;
        }
        (void)usleep(PAUSE_US);
    }
    return false;
}

static bool is_listed(const Atoll__V1__MembersResponse *members, const struct at_cluster_config *c)
{
    for (size_t i = 0; i < members->n_members; i++)
        if (members->members[i]->member_id == c->member &&
            strcmp(members->members[i]->cluster_id, c->id) == 0)
            return true;
    return false;
}

static enum at_code resume_one(struct at_state_dir *s,
                               struct at_cluster_config *c,
                               const Atoll__V1__MembersResponse *members,
                               struct at_error *reterr)
{
    pid_t pid;
    const char *id = c->id;
    if (!is_listed(members, c))
        return at_launch_drop(s, id, reterr);
    if (c->join_hlc == 0) {
        c->join_hlc = members->hlc;
        AT_TRY(at_state_dir_save(s, reterr));
    }
    if (at_state_dir_running(s, id).alive)
        return AT_OK;
    AT_TRY(at_process_spawn(s, id, &pid, reterr));
    return at_process_wait_serving(s, id, pid, SERVING_MS_MAX, reterr);
}

static enum at_code resume(struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    const Atoll__V1__MembersResponse *members = NULL;
    AT_TRY(at_launch_open(l, s, reterr));
    for (uint32_t i = s->instance.cluster_count; i-- > 0;) { /* a dropped one moves those behind */
        if (!at_process_unborn(s, &s->instance.clusters[i]))
            continue;
        if (!members && !ask_any(s, &members))
            return at_fail(reterr, AT_UNAVAILABLE, "no cluster tells whether %s is a member",
                           s->instance.clusters[i].id);
        AT_TRY(resume_one(s, &s->instance.clusters[i], members, reterr));
    }
    return AT_OK;
}

enum at_code at_launch_resume_clusters(struct at_launch *l, struct at_error *reterr)
{
    struct at_state_dir s = {.lock_fd = -1};
    enum at_code code = resume(l, &s, reterr);
    at_state_dir_close(&s);
    return code;
}
