#include "base/status.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void mark_cut(struct at_error *e, int len);

const char *at_code_name(enum at_code code)
{
    static const char *const names[] = {
#define CODE_NAME(name, number) [number] = #name,
        AT_CODES(CODE_NAME)
#undef CODE_NAME
    };

    return (unsigned)code < AT_CODE_COUNT ? names[code] : "UNKNOWN";
}

enum at_code at_code_from_number(uint32_t number)
{
    return number < AT_CODE_COUNT ? (enum at_code)number : AT_UNKNOWN;
}

enum at_code
at_fail_at(struct at_error *reterr, enum at_code code, const char *where, const char *format, ...)
{
    va_list args;

    AT_ASSERT(code != AT_OK);
    if (reterr == NULL)
        return code;
    reterr->code = code;
    reterr->retry_after_ms = 0;
    reterr->where = where;
    va_start(args, format);
    mark_cut(reterr, vsnprintf(reterr->msg, sizeof(reterr->msg), format, args));
    va_end(args);
    return code;
}

enum at_code at_wrap_at(struct at_error *reterr, enum at_code code, const char *format, ...)
{
    char old[sizeof(reterr->msg)];
    va_list args;

    if (reterr == NULL)
        return code;
    memcpy(old, reterr->msg, sizeof(old));
    old[sizeof(old) - 1] = '\0';
    va_start(args, format);
    int len = vsnprintf(reterr->msg, sizeof(reterr->msg), format, args);
    va_end(args);
    if (len >= 0 && (size_t)len < sizeof(reterr->msg))
        len += snprintf(reterr->msg + len, sizeof(reterr->msg) - (size_t)len, ": %s", old);
    mark_cut(reterr, len);
    return reterr->code;
}

/* `len` is what the text would have needed; a bad format (negative) leaves an empty message. */
static void mark_cut(struct at_error *e, int len)
{
    if (len < 0)
        e->msg[0] = '\0';
    else if ((size_t)len >= sizeof(e->msg))
        memcpy(e->msg + sizeof(e->msg) - sizeof("..."), "...", sizeof("..."));
}
