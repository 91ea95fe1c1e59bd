/* status.h: the result of everything that can fail. PURE.
 *
 * Codes are the 17 gRPC codes with gRPC's numbers, so that mapping one to the
 * wire is the identity. Detail goes into an optional at_error that the caller
 * owns; NULL is legal wherever a function takes `reterr`. No allocation. */
#ifndef ATOLL_BASE_STATUS_H
#define ATOLL_BASE_STATUS_H

#include <assert.h>
#include <stdint.h>

#define AT_CODES(X)           \
    X(OK, 0)                  \
    X(CANCELLED, 1)           \
    X(UNKNOWN, 2)             \
    X(INVALID_ARGUMENT, 3)    \
    X(DEADLINE_EXCEEDED, 4)   \
    X(NOT_FOUND, 5)           \
    X(ALREADY_EXISTS, 6)      \
    X(PERMISSION_DENIED, 7)   \
    X(RESOURCE_EXHAUSTED, 8)  \
    X(FAILED_PRECONDITION, 9) \
    X(ABORTED, 10)            \
    X(OUT_OF_RANGE, 11)       \
    X(UNIMPLEMENTED, 12)      \
    X(INTERNAL, 13)           \
    X(UNAVAILABLE, 14)        \
    X(DATA_LOSS, 15)          \
    X(UNAUTHENTICATED, 16)

enum at_code {
#define AT_CODE_ENUM_(name, number) AT_##name = (number),
    AT_CODES(AT_CODE_ENUM_)
#undef AT_CODE_ENUM_
        AT_CODE_COUNT
};

/* at_error: what went wrong, for people. `where` is a static "file:line". */
struct at_error {
    enum at_code code;
    uint32_t retry_after_ms; /* 0: no advice */
    const char *where;
    char msg[232];
};
static_assert(sizeof(struct at_error) == 248, "at_error stays within four cache lines");

#define AT_MUST_USE __attribute__((warn_unused_result))

/* at_code_name returns e.g. "NOT_FOUND"; numbers that are no code give "UNKNOWN". Static. */
const char *at_code_name(enum at_code code);

/* at_code_from_number maps a wire number to a code; what is not one becomes AT_UNKNOWN. */
enum at_code at_code_from_number(uint32_t number);

#define AT_STR2_(x) #x
#define AT_STR_(x) AT_STR2_(x)
#define AT_WHERE_ __FILE__ ":" AT_STR_(__LINE__)

/* at_fail fills `reterr` and returns `code` (which must not be AT_OK):
 *     return at_fail(reterr, AT_NOT_FOUND, "table %.*s not found", ...);
 * A message that does not fit is cut and ends in "...". */
#define at_fail(reterr, code, ...) at_fail_at((reterr), (code), AT_WHERE_, __VA_ARGS__)

/* at_wrap prefixes the message already in `reterr` with the formatted text and ": ". Returns the
 * code that is in `reterr`, or `code` when reterr is NULL. */
#define at_wrap(reterr, code, ...) at_wrap_at((reterr), (code), __VA_ARGS__)

enum at_code
at_fail_at(struct at_error *reterr, enum at_code code, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
enum at_code at_wrap_at(struct at_error *reterr, enum at_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* AT_TRY returns from the enclosing function when `expr` is not AT_OK. */
#define AT_TRY(expr)                   \
    do {                               \
        enum at_code at_try_ = (expr); \
        if (at_try_ != AT_OK)          \
            return at_try_;            \
    } while (0)

#endif
