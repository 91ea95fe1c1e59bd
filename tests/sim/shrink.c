#include "sim/shrink.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct outcome {
    bool failed;
    char check[64];
};

static struct outcome try(const struct sim_schedule *s);
static void run_child(const struct sim_schedule *s, int fd);
static bool without(struct sim_schedule *s, uint32_t from, uint32_t count, const char *check);

static uint64_t mono_ns(void)
{
    struct at_clock clock = at_clock_system();
    return at_clock_mono_ns(&clock);
}

bool sim_shrink(struct sim_schedule *s, uint32_t seconds)
{
    uint64_t end_ns = mono_ns() + seconds * AT_S_NS;
    struct outcome first = try(s);

    if (!first.failed)
        return false;
    for (uint32_t size = s->count / 2; size > 0; size /= 2) {
        bool moved = true;
        while (moved && mono_ns() < end_ns) {
            moved = false;
            for (uint32_t at = 0; at < s->count && mono_ns() < end_ns;)
                if (without(s, at, size, first.check))
                    moved = true;
                else
                    at += size;
        }
    }
    return true;
}

void sim_schedule_print(const struct sim_schedule *s)
{
    (void)printf("clusters %" PRIu32 ", clocks of %" PRIu32 " ms, durable by each commit %" PRIx32
                 ", %s\n",
                 s->node_count, s->grain_ms, s->sync_bits & ((1u << s->node_count) - 1),
                 s->known_schema ? "one table known" : "no table");
    for (uint32_t i = 0; i < s->count; i++)
        (void)printf("  %3" PRIu32 "  +%u ms  %-10s %u %u  dice %016" PRIx64 "\n", i,
                     s->steps[i].after_ms, sim_step_name(s->steps[i].kind), s->steps[i].a,
                     s->steps[i].b, s->steps[i].dice);
}

static bool without(struct sim_schedule *s, uint32_t from, uint32_t count, const char *check)
{
    struct sim_schedule *less = AT_NEW(struct sim_schedule);

    *less = *s;
    count = count < s->count - from ? count : s->count - from;
    less->count = s->count - count;
    memmove(less->steps + from, s->steps + from + count,
            (less->count - from) * sizeof(struct sim_step));
    struct outcome o = less->count == 0 ? (struct outcome){0} : try(less);
    bool same = o.failed && strcmp(o.check, check) == 0;
    if (same)
        *s = *less;
    at_free(less);
    return same;
}

static struct outcome try(const struct sim_schedule *s)
{
    struct outcome o = {0};
    int fds[2];
    int status = 0;

    (void)fflush(stdout);
    if (pipe(fds) != 0)
        return o;
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(fds[0]);
        run_child(s, fds[1]);
        _exit(0);
    }
    (void)close(fds[1]);
    ssize_t n = pid < 0 ? 0 : read(fds[0], o.check, sizeof(o.check) - 1);
    (void)close(fds[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return o;
    if (WIFSIGNALED(status)) {
        (void)snprintf(o.check, sizeof(o.check), "signal %d", WTERMSIG(status));
        o.failed = true;
    } else {
        o.failed = n > 0;
    }
    return o;
}

static void run_child(const struct sim_schedule *s, int fd)
{
    struct sim_world *w = AT_NEW(struct sim_world);
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)signal(SIGABRT, SIG_DFL);
    if (null_fd >= 0)
        (void)dup2(null_fd, STDERR_FILENO);
    sim_run(w, s, false);
    if (w->failed && write(fd, w->check, strlen(w->check)) < 0)
        _exit(1);
}
