#include "base/log.h"

#include "base/escape.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* A line is put together in a buffer that one write(2) sends, at most PIPE_BUF bytes so that the
 * lines of several processes on one pipe never mix. What does not fit is cut and ends in "...".
 *
 * A site's state is changed by any thread without a lock: two threads that enter a new second at
 * the same time may let a line more or less through, which is fine for a limit on noise. */

#define LINE_BYTES_MAX 4096
#define VALUE_BYTES_MAX 1024
#define LINES_PER_SECOND_MAX 10
#define PROCESS_BYTES_MAX 63

/* The log sink is one of the two global variables of the project (the other: the signal flag). */
static struct {
    char process[PROCESS_BYTES_MAX + 1];
    _Atomic int lowest;
} g_log = {.process = "atoll", .lowest = AT_LOG_INFO};

static bool site_admits(struct at_log_site *site, uint32_t *ret_held);
static enum at_code put_line(struct at_buf *line,
                             enum at_log_level level,
                             const char *msg,
                             const struct at_kv *fields,
                             size_t count);
static enum at_code put_field(struct at_buf *line, const struct at_kv *kv);
static enum at_code put_text(struct at_buf *line, struct at_slice s);
static enum at_code put_time(struct at_buf *line);

void at_log_setup(const char *process, enum at_log_level lowest)
{
    snprintf(g_log.process, sizeof(g_log.process), "%s", process);
    atomic_store_explicit(&g_log.lowest, (int)lowest, memory_order_relaxed);
}

void at_log_write(struct at_log_site *site,
                  enum at_log_level level,
                  const char *msg,
                  const struct at_kv *fields,
                  size_t count)
{
    static const char cut[] = "...\n";
    uint32_t held = 0;
    struct at_buf line;

    if ((int)level < atomic_load_explicit(&g_log.lowest, memory_order_relaxed) ||
        !site_admits(site, &held))
        return;
    at_buf_init(&line, LINE_BYTES_MAX);
    enum at_code code = put_line(&line, level, msg, fields, count);
    if (code == AT_OK && held > 0)
        code = at_buf_printf(&line, " held=%" PRIu32, held);
    if (code == AT_OK)
        code = at_buf_append(&line, AT_LIT("\n"));
    if (code != AT_OK) {
        size_t keep = LINE_BYTES_MAX - (sizeof(cut) - 1);
        if (line.len > keep)
            line.len = keep;
        code = at_buf_append(&line, AT_LIT("...\n"));
    }
    /* Nobody is left to tell when stderr is gone. */
    if (write(STDERR_FILENO, line.data, line.len) < 0)
        (void)code;
    at_buf_deinit(&line);
}

static bool site_admits(struct at_log_site *site, uint32_t *ret_held)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t now_s = (uint64_t)now.tv_sec + 1; /* never 0, which is a site's first state */
    uint64_t window_s = __atomic_load_n(&site->window_s, __ATOMIC_RELAXED);
    if (window_s != now_s && __atomic_compare_exchange_n(&site->window_s, &window_s, now_s, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        __atomic_store_n(&site->count, 0, __ATOMIC_RELAXED);
    if (__atomic_fetch_add(&site->count, 1, __ATOMIC_RELAXED) >= LINES_PER_SECOND_MAX) {
        __atomic_fetch_add(&site->held, 1, __ATOMIC_RELAXED);
        return false;
    }
    *ret_held = __atomic_exchange_n(&site->held, 0, __ATOMIC_RELAXED);
    return true;
}

static enum at_code put_line(struct at_buf *line,
                             enum at_log_level level,
                             const char *msg,
                             const struct at_kv *fields,
                             size_t count)
{
    static const struct {
        int priority; /* sd-daemon(3) */
        const char *name;
    } levels[] = {
        [AT_LOG_DEBUG] = {7, "debug"},
        [AT_LOG_INFO] = {6, "info"},
        [AT_LOG_WARN] = {4, "warn"},
        [AT_LOG_ERROR] = {3, "error"},
    };

    AT_TRY(at_buf_printf(line, "<%d>level=%s time=", levels[level].priority, levels[level].name));
    AT_TRY(put_time(line));
    AT_TRY(at_buf_append(line, AT_LIT(" process=")));
    AT_TRY(put_text(line, at_slice_cstr(g_log.process)));
    AT_TRY(at_buf_append(line, AT_LIT(" msg=")));
    AT_TRY(at_escape_quoted(line, at_slice_cstr(msg)));
    for (size_t i = 0; i < count; i++)
        AT_TRY(put_field(line, &fields[i]));
    return AT_OK;
}

static enum at_code put_field(struct at_buf *line, const struct at_kv *kv)
{
    AT_TRY(at_buf_printf(line, " %s=", kv->key));
    switch (kv->kind) {
    case AT_KV_KIND_STR:
        return put_text(line, at_slice_cstr(kv->value.str));
    case AT_KV_KIND_SLICE:
        return put_text(line, kv->value.slice);
    case AT_KV_KIND_U64:
        return at_buf_printf(line, "%" PRIu64, kv->value.u64);
    case AT_KV_KIND_I64:
        return at_buf_printf(line, "%" PRId64, kv->value.i64);
    }
    return AT_OK;
}

/* Quoted only where logfmt needs it. */
static enum at_code put_text(struct at_buf *line, struct at_slice s)
{
    bool plain = s.len > 0;

    for (size_t i = 0; i < s.len && plain; i++) {
        uint8_t c = s.data[i];
        plain = c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
    }
    bool cut = s.len > VALUE_BYTES_MAX;
    if (cut)
        s.len = VALUE_BYTES_MAX;
    AT_TRY(plain ? at_buf_append(line, s) : at_escape_quoted(line, s));
    return cut ? at_buf_append(line, AT_LIT("...")) : AT_OK;
}

static enum at_code put_time(struct at_buf *line)
{
    struct timespec now;
    struct tm utc;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    return at_buf_printf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", utc.tm_year + 1900,
                         utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                         now.tv_nsec / 1000);
}
