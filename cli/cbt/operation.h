/* operation.h: waits for long-running operations. ADAPTER (gRPC, sleeps). */
#ifndef ATOLL_CLI_CBT_OPERATION_H
#define ATOLL_CLI_CBT_OPERATION_H

#include "cli/cbt/session.h"

/* at_cbt_operation makes the call, whose answer is a google.longrunning.Operation, and waits until
 * that is done. The codes of at_cbt_call, or the operation's own error. Blocks. */
AT_MUST_USE enum at_code at_cbt_operation(struct at_cbt *cbt,
                                          const char *path,
                                          const void *request,
                                          struct at_error *reterr);

#endif
