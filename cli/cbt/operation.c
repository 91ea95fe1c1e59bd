/* operation.c: an operation that was already done when it was answered is not asked for again.
 */
#include "cli/cbt/operation.h"

#include <time.h>

#include "google/longrunning/operations.pb-c.h"

#define POLL_MS 100
#define POLL_MS_MAX 1000

static enum at_code
poll(struct at_cbt *cbt, Google__Longrunning__Operation **operation, struct at_error *reterr)
{
    static const struct at_cbt_method METHOD = {"/google.longrunning.Operations/GetOperation",
                                                &google__longrunning__operation__descriptor, true};
    void *answer = NULL;
    Google__Longrunning__GetOperationRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__longrunning__get_operation_request);

    request->name = (*operation)->name;
    AT_TRY(at_cbt_call(cbt, &METHOD, request, &answer, reterr));
    *operation = answer;
    return AT_OK;
}

enum at_code
at_cbt_operation(struct at_cbt *cbt, const char *path, const void *request, struct at_error *reterr)
{
    const struct at_cbt_method method = {path, &google__longrunning__operation__descriptor, false};
    void *answer = NULL;

    AT_TRY(at_cbt_call(cbt, &method, request, &answer, reterr));
    Google__Longrunning__Operation *operation = answer;
    for (long wait_ms = POLL_MS; !operation->done;) {
        struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
        (void)nanosleep(&wait, NULL);
        wait_ms = 2 * wait_ms < POLL_MS_MAX ? 2 * wait_ms : POLL_MS_MAX;
        AT_TRY(poll(cbt, &operation, reterr));
    }
    if (operation->result_case != GOOGLE__LONGRUNNING__OPERATION__RESULT_ERROR)
        return AT_OK;
    enum at_code code = at_code_from_number((uint32_t)operation->error->code);
    return code == AT_OK ? AT_OK : at_fail(reterr, code, "%s", operation->error->message);
}
