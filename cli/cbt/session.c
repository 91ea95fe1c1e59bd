/* session.c: the clients of production retry idempotent calls on UNAVAILABLE, so this does. */
#include "cli/cbt/session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/limits.h"

#define CONNECT_MS 5000
#define ARENA_BYTES (16 * AT_KIB)

void at_cbt_init(struct at_cbt *cbt)
{
    *cbt = (struct at_cbt){.project = "atoll", .instance = "lab", .timeout_ns = UINT64_MAX};
    at_arena_init(&cbt->arena, ARENA_BYTES);
}

enum at_code at_cbt_connect(struct at_cbt *cbt,
                            const char *endpoint,
                            uint32_t connections,
                            struct at_error *reterr)
{
    const char *colon = strrchr(endpoint, ':');
    char *end = NULL;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (!colon || colon == endpoint || *end != '\0' || port == 0 || port > UINT16_MAX)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "endpoint '%s' is not HOST:PORT", endpoint);
    cbt->host = at_dup(endpoint, (size_t)(colon - endpoint));
    cbt->port = (uint16_t)port;
    cbt->instance_name =
        at_arena_printf(&cbt->arena, "projects/%s/instances/%s", cbt->project, cbt->instance);
    cbt->loop = at_loop_new(at_clock_system());
    uint64_t now = at_clock_mono_ns(at_loop_clock(cbt->loop));
    cbt->deadline_ns = cbt->timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + cbt->timeout_ns;
    struct at_grpc_channel_config config = {.host = cbt->host,
                                            .port = cbt->port,
                                            .connection_count = connections,
                                            .connect_timeout_ms = CONNECT_MS};
    return at_grpc_channel_open(cbt->loop, &config, &cbt->channel, reterr);
}

void at_cbt_deinit(struct at_cbt *cbt)
{
    if (cbt->channel)
        at_grpc_channel_close(&cbt->channel);
    if (cbt->loop) {
        at_loop_settle(cbt->loop);
        at_loop_free(&cbt->loop);
    }
    at_free(cbt->host);
    cbt->host = NULL;
    at_arena_deinit(&cbt->arena);
}

const char *at_cbt_name(struct at_cbt *cbt, const char *parent, const char *kind, const char *id)
{
    return at_arena_printf(&cbt->arena, "%s/%s/%s", parent, kind, id);
}

const char *at_cbt_table(struct at_cbt *cbt, const char *table)
{
    return at_cbt_name(cbt, cbt->instance_name, "tables", table);
}

void at_cbt_pause(uint32_t attempt)
{
    struct timespec wait = {.tv_nsec = (long)(50 * AT_MS_NS)};
    for (; attempt > 1 && wait.tv_nsec < (long)(400 * AT_MS_NS); attempt--)
        wait.tv_nsec *= 2;
    (void)nanosleep(&wait, NULL);
}

const struct at_grpc_metadata *at_cbt_features(void)
{
    /* google.bigtable.v2.FeatureFlags: reverse_scans, last_scanned_row_responses */
    static const struct at_grpc_metadata FEATURES = {.name = AT_LIT_INIT("bigtable-features"),
                                                     .value = AT_LIT_INIT("CAEgAQ==")};
    return &FEATURES;
}

enum at_code at_cbt_call(struct at_cbt *cbt,
                         const struct at_cbt_method *method,
                         const void *request,
                         void **ret_answer,
                         struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf bytes;
    AT_CLEANUP(at_buf_deinit) struct at_buf response;
    at_buf_init(&bytes, AT_GRPC_MESSAGE_BYTES_MAX);
    at_buf_init(&response, AT_GRPC_MESSAGE_BYTES_MAX);
    if (at_proto_pack(&bytes, request) != AT_OK)
        return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "the request is too large");
    struct at_grpc_client_request call = {
        .path = method->path,
        .message = at_buf_slice(&bytes),
        .deadline_ns = cbt->deadline_ns,
        .metadata = at_cbt_features(),
        .metadata_count = 1,
    };
    enum at_code code = AT_OK;
    for (uint32_t attempt = 1; attempt <= AT_CBT_ATTEMPTS_MAX; attempt++) {
        at_buf_clear(&response);
        code = at_grpc_unary(cbt->channel, &call, &response, reterr);
        if (code != AT_UNAVAILABLE || !method->idempotent || attempt == AT_CBT_ATTEMPTS_MAX)
            break;
        at_cbt_pause(attempt);
    }
    AT_TRY(code);
    *ret_answer = at_proto_unpack(&cbt->arena, method->answer, at_buf_slice(&response));
    if (!*ret_answer)
        return at_fail(reterr, AT_INTERNAL, "%s: the answer is malformed", method->path);
    return AT_OK;
}

__attribute__((format(printf, 1, 0))) static void log_line(const char *format, va_list arguments)
{
    char date[32] = "";
    struct tm local;
    time_t now = time(NULL);
    if (localtime_r(&now, &local))
        (void)strftime(date, sizeof(date), "%Y/%m/%d %H:%M:%S", &local);
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s ", date);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
}

void at_cbt_log(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(format, arguments);
    va_end(arguments);
}

int at_cbt_fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(format, arguments);
    va_end(arguments);
    return 1;
}

int at_cbt_failed(const char *what, const struct at_error *error)
{
    return at_cbt_fatal("%s: rpc error: code = %s desc = %s", what, at_cbt_code_name(error->code),
                        error->msg);
}

const char *at_cbt_code_name(enum at_code code)
{
    static const char *const NAMES[AT_CODE_COUNT] = {
        [AT_OK] = "OK",
        [AT_CANCELLED] = "Canceled",
        [AT_UNKNOWN] = "Unknown",
        [AT_INVALID_ARGUMENT] = "InvalidArgument",
        [AT_DEADLINE_EXCEEDED] = "DeadlineExceeded",
        [AT_NOT_FOUND] = "NotFound",
        [AT_ALREADY_EXISTS] = "AlreadyExists",
        [AT_PERMISSION_DENIED] = "PermissionDenied",
        [AT_RESOURCE_EXHAUSTED] = "ResourceExhausted",
        [AT_FAILED_PRECONDITION] = "FailedPrecondition",
        [AT_ABORTED] = "Aborted",
        [AT_OUT_OF_RANGE] = "OutOfRange",
        [AT_UNIMPLEMENTED] = "Unimplemented",
        [AT_INTERNAL] = "Internal",
        [AT_UNAVAILABLE] = "Unavailable",
        [AT_DATA_LOSS] = "DataLoss",
        [AT_UNAUTHENTICATED] = "Unauthenticated",
    };
    return (unsigned)code < AT_CODE_COUNT ? NAMES[code] : "Unknown";
}
