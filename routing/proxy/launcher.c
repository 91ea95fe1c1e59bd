/* launcher.c: one child per question.
 *
 *   spawn -> write the question, close stdin -> read stdout to its end, hear of the exit -> done
 *
 * A run is over when its three handles are closed. A child that ends without an answer was killed:
 * it is asked once more, for every verb goes on where an earlier run of it stopped. */
#include "routing/proxy/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/log.h"

#define HANDLES 3

struct at_launch_run {
    struct at_launch_run *next;
    struct at_launcher *launcher;
    uv_process_t process;
    uv_pipe_t in;  /* the child's stdin */
    uv_pipe_t out; /* the child's stdout */
    uv_write_t write;
    char *question;
    struct at_buf answer;
    char chunk[4096];
    uint32_t open_count;
    bool spawned;
    bool stopped; /* the router ends */
    bool again;   /* asked for the second time */
    struct at_loop *loop;
    const char *verb;
    at_launch_done *done;
    void *ctx;
};

static void on_exit_(uv_process_t *process, int64_t status, int signal);
static void on_written(uv_write_t *write, int status);
static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf);
static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf);
static void on_closed(uv_handle_t *handle);
static void finish(struct at_launch_run *run);

void at_launcher_init(struct at_launcher *l, const char *program, const char *state_dir)
{
    *l = (struct at_launcher){.program = program, .state_dir = state_dir};
    (void)pthread_mutex_init(&l->lock, NULL);
}

void at_launcher_deinit(struct at_launcher *l)
{
    (void)pthread_mutex_destroy(&l->lock);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void close_all(struct at_launch_run *run)
{
    close_handle((uv_handle_t *)&run->process);
    close_handle((uv_handle_t *)&run->in);
    close_handle((uv_handle_t *)&run->out);
}

void at_launcher_close(struct at_launcher *l)
{
    for (struct at_launch_run *run = l->runs; run; run = run->next) {
        run->stopped = true;
        close_all(run);
    }
}

static int spawn(struct at_launch_run *run, uv_loop_t *uv, const char *verb)
{
    const struct at_launcher *l = run->launcher;
    char parent[16];
    (void)snprintf(parent, sizeof(parent), "%d", (int)getpid());
    const char *arguments[] = {"atoll",      "launch",   verb,   "--state-dir",
                               l->state_dir, "--parent", parent, NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_READABLE_PIPE),
         .data.stream = (uv_stream_t *)&run->in},
        {.flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_WRITABLE_PIPE),
         .data.stream = (uv_stream_t *)&run->out},
        {.flags = UV_INHERIT_FD, .data.fd = 2},
    };
    /* No session of its own, which what it starts would be in: see cli/process.c. */
    uv_process_options_t options = {.file = l->program,
                                    .args = (char **)(uintptr_t)arguments,
                                    .stdio = stdio,
                                    .stdio_count = 3,
                                    .exit_cb = on_exit_};
    return uv_spawn(uv, &run->process, &options);
}

static void ask(struct at_launch_run *run)
{
    uv_loop_t *uv = at_loop_uv(run->loop);
    run->open_count = HANDLES;
    at_buf_clear(&run->answer);
    (void)uv_pipe_init(uv, &run->in, 0);
    (void)uv_pipe_init(uv, &run->out, 0);
    run->in.data = run->out.data = run->process.data = run;
    at_log(AT_LOG_INFO, "launching", AT_KV_STR("verb", run->verb));
    int err = spawn(run, uv, run->verb);
    run->spawned = err == 0;
    if (err != 0 || !run->question) {
        at_log(AT_LOG_ERROR, "the launcher does not start", AT_KV_STR("error", uv_strerror(err)));
        close_all(run);
        return;
    }
    uv_buf_t buf = uv_buf_init(run->question, (unsigned)strlen(run->question));
    if (uv_write(&run->write, (uv_stream_t *)&run->in, &buf, 1, on_written) != 0)
        close_handle((uv_handle_t *)&run->in);
    if (uv_read_start((uv_stream_t *)&run->out, on_alloc, on_read) != 0)
        close_handle((uv_handle_t *)&run->out);
}

void at_launch(struct at_launcher *l,
               struct at_loop *loop,
               const char *verb,
               json_t *spec,
               at_launch_done *done,
               void *ctx)
{
    struct at_launch_run *run = AT_NEW(struct at_launch_run);
    run->launcher = l;
    run->loop = loop;
    run->verb = verb;
    run->done = done;
    run->ctx = ctx;
    run->question = json_dumps(spec, JSON_COMPACT);
    json_decref(spec);
    at_buf_init(&run->answer, AT_LAUNCH_BYTES_MAX);
    (void)pthread_mutex_lock(&l->lock);
    run->next = l->runs;
    l->runs = run;
    (void)pthread_mutex_unlock(&l->lock);
    ask(run);
}

static void on_exit_(uv_process_t *process, int64_t status, int signal)
{
    (void)status;
    (void)signal;
    close_handle((uv_handle_t *)process);
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    close_handle((uv_handle_t *)write->handle);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct at_launch_run *run = handle->data;
    (void)size;
    *buf = uv_buf_init(run->chunk, sizeof(run->chunk));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    struct at_launch_run *run = stream->data;
    if (size < 0 || at_buf_append(&run->answer, at_slice_make(buf->base, (size_t)size)) != AT_OK)
        close_handle((uv_handle_t *)stream);
}

static void on_closed(uv_handle_t *handle)
{
    struct at_launch_run *run = handle->data;
    run->open_count--;
    if (run->open_count == 0)
        finish(run);
}

static void unlink_run(struct at_launch_run *run)
{
    struct at_launcher *l = run->launcher;
    (void)pthread_mutex_lock(&l->lock);
    struct at_launch_run **at = &l->runs;
    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    (void)pthread_mutex_unlock(&l->lock);
}

static enum at_code judge(struct at_launch_run *run, json_t **ret_answer, struct at_error *reterr)
{
    if (run->stopped)
        return at_fail(reterr, AT_UNAVAILABLE, "The router is stopping");
    if (!run->spawned)
        return at_fail(reterr, AT_UNAVAILABLE, "The launcher could not be started");
    *ret_answer = json_loadb((const char *)run->answer.data, run->answer.len, 0, NULL);
    if (json_is_true(json_object_get(*ret_answer, "ok")))
        return AT_OK;
    const char *message = json_string_value(json_object_get(*ret_answer, "message"));
    json_int_t number = json_integer_value(json_object_get(*ret_answer, "code"));
    if (!message || number <= 0)
        return at_fail(reterr, AT_UNAVAILABLE, "The launcher ended without an answer");
    return at_fail(reterr, at_code_from_number((uint32_t)number), "%s", message);
}

static void finish(struct at_launch_run *run)
{
    struct at_error error = {0};
    json_t *answer = NULL;
    if (run->spawned && !run->stopped && !run->again && run->answer.len == 0) {
        at_log(AT_LOG_WARN, "the launcher was killed, it is asked again",
               AT_KV_STR("verb", run->verb));
        run->again = true;
        ask(run);
        return;
    }
    unlink_run(run);
    enum at_code code = judge(run, &answer, &error);
    if (code != AT_OK)
        at_log(AT_LOG_WARN, "the launcher failed", AT_KV_STR("error", error.msg));
    run->done(run->ctx, code, &error, answer);
    json_decref(answer);
    free(run->question);
    at_buf_deinit(&run->answer);
    at_free(run);
}
