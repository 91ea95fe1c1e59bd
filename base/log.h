/* log.h: one line per event, logfmt, on stderr. ADAPTER. Any thread.
 *
 *     at_log(AT_LOG_WARN, "peer lagging", AT_KV_STR("peer", id), AT_KV_U64("lag_ms", ms));
 *
 * The message is static text; what varies is in typed fields. Each line is one
 * write(2). A call site that repeats more than 10 times a second is held back
 * and says how many lines were left out. Pure modules do not log. */
#ifndef ATOLL_BASE_LOG_H
#define ATOLL_BASE_LOG_H

#include "base/slice.h"

enum at_log_level { AT_LOG_DEBUG, AT_LOG_INFO, AT_LOG_WARN, AT_LOG_ERROR };

enum at_kv_kind { AT_KV_KIND_STR, AT_KV_KIND_SLICE, AT_KV_KIND_U64, AT_KV_KIND_I64 };

struct at_kv {
    const char *key;
    enum at_kv_kind kind;
    union {
        const char *str;
        struct at_slice slice;
        uint64_t u64;
        int64_t i64;
    } value;
};

#define AT_KV_STR(k, v) ((struct at_kv){.key = (k), .kind = AT_KV_KIND_STR, .value.str = (v)})
#define AT_KV_SLICE(k, v) ((struct at_kv){.key = (k), .kind = AT_KV_KIND_SLICE, .value.slice = (v)})
#define AT_KV_U64(k, v) ((struct at_kv){.key = (k), .kind = AT_KV_KIND_U64, .value.u64 = (v)})
#define AT_KV_I64(k, v) ((struct at_kv){.key = (k), .kind = AT_KV_KIND_I64, .value.i64 = (v)})

/* Rate-limit state of one call site. */
struct at_log_site {
    uint64_t window_s;
    uint32_t count;
    uint32_t held;
};

/* at_log_setup names this process in every line (copied, cut at 63 bytes) and sets the lowest
 * level printed. Call once, from main. */
void at_log_setup(const char *process, enum at_log_level lowest);

void at_log_write(struct at_log_site *site,
                  enum at_log_level level,
                  const char *msg,
                  const struct at_kv *fields,
                  size_t count);

/* The last, empty field lets the macro be used without any. */
#define at_log(level, ...)                                                  \
    do {                                                                    \
        static struct at_log_site at_site_;                                 \
        AT_LOG_PICK_(&at_site_, (level), __VA_ARGS__, ((struct at_kv){0})); \
    } while (0)
#define AT_LOG_PICK_(site, level, msg, ...)                                   \
    at_log_write((site), (level), (msg), (const struct at_kv[]){__VA_ARGS__}, \
                 sizeof((const struct at_kv[]){__VA_ARGS__}) / sizeof(struct at_kv) - 1)

#endif
