/* text.c: times by the civil calendar (days from March, so that the leap day is a year's last). */
#include "wire/json/text.h"

#define NS_PER_S 1000000000
#define S_PER_DAY 86400
#define TIMESTAMP_S_MIN (-62135596800LL) /* 0001-01-01 */
#define TIMESTAMP_S_MAX 253402300799LL   /* 9999-12-31T23:59:59 */
#define DURATION_S_MAX 315576000000LL

static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    unsigned of_era = (unsigned)(year - era * 400);
    unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    unsigned day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return era * 146097 + (int64_t)day_of_era - 719468;
}

struct civil {
    int64_t year;
    unsigned month;
    unsigned day;
};

static struct civil civil_of(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned of_era = (unsigned)(days - era * 146097);
    unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
    unsigned m = (5 * of_year + 2) / 153;
    struct civil c = {.day = of_year - (153 * m + 2) / 5 + 1, .month = m < 10 ? m + 3 : m - 9};
    c.year = (int64_t)year + era * 400 + (c.month <= 2);
    return c;
}

static unsigned days_in(int64_t year, unsigned month)
{
    static const uint8_t DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return DAYS[month - 1] + (unsigned)(leap && month == 2);
}

static enum at_code write_fraction(struct at_buf *out, uint32_t ns)
{
    if (ns == 0)
        return AT_OK;
    if (ns % 1000000 == 0)
        return at_buf_printf(out, ".%03u", ns / 1000000);
    if (ns % 1000 == 0)
        return at_buf_printf(out, ".%06u", ns / 1000);
    return at_buf_printf(out, ".%09u", ns);
}

enum at_code at_json_timestamp_write(struct at_buf *out, struct at_json_time t)
{
    if (t.s < TIMESTAMP_S_MIN || t.s > TIMESTAMP_S_MAX || t.ns < 0 || t.ns >= NS_PER_S)
        return AT_INVALID_ARGUMENT;
    int64_t days = (t.s - TIMESTAMP_S_MIN) / S_PER_DAY + TIMESTAMP_S_MIN / S_PER_DAY;
    unsigned s = (unsigned)(t.s - days * S_PER_DAY);
    struct civil c = civil_of(days);
    AT_TRY(at_buf_printf(out, "%04d-%02u-%02uT%02u:%02u:%02u", (int)c.year, c.month, c.day,
                         s / 3600, s / 60 % 60, s % 60));
    AT_TRY(write_fraction(out, (uint32_t)t.ns));
    return at_buf_append(out, AT_LIT("Z"));
}

/* Takes exactly `digits` digits off the front. */
static bool take_number(struct at_slice *text, size_t digits, unsigned *ret)
{
    unsigned v = 0;
    if (text->len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return false;
        v = v * 10 + (unsigned)(text->data[i] - '0');
    }
    *text = at_slice_from(*text, digits);
    *ret = v;
    return true;
}

static bool take_char(struct at_slice *text, char c)
{
    if (text->len == 0 || text->data[0] != (uint8_t)c)
        return false;
    *text = at_slice_from(*text, 1);
    return true;
}

/* A point and one to nine digits, or nothing. */
static bool take_fraction(struct at_slice *text, int32_t *ret_ns)
{
    *ret_ns = 0;
    if (!take_char(text, '.'))
        return true;
    size_t digits = 0;
    int32_t ns = 0;
    while (digits < text->len && text->data[digits] >= '0' && text->data[digits] <= '9') {
        if (digits == 9)
            return false;
        ns = ns * 10 + (text->data[digits++] - '0');
    }
    if (digits == 0)
        return false;
    *text = at_slice_from(*text, digits);
    for (; digits < 9; digits++)
        ns *= 10;
    *ret_ns = ns;
    return true;
}

static bool take_offset(struct at_slice *text, int64_t *ret_s)
{
    unsigned hours;
    unsigned minutes;
    *ret_s = 0;
    if (take_char(text, 'Z') || take_char(text, 'z'))
        return true;
    bool behind = take_char(text, '-');
    if (!behind && !take_char(text, '+'))
        return false;
    if (!take_number(text, 2, &hours) || !take_char(text, ':') || !take_number(text, 2, &minutes) ||
        hours > 23 || minutes > 59)
        return false;
    *ret_s = (int64_t)(hours * 3600 + minutes * 60) * (behind ? -1 : 1);
    return true;
}

enum at_code at_json_timestamp_read(struct at_slice text, struct at_json_time *ret)
{
    unsigned year;
    unsigned month;
    unsigned day;
    unsigned hour;
    unsigned minute;
    unsigned second;
    int64_t offset_s;
    struct at_json_time t = {0};
    bool good = take_number(&text, 4, &year) && take_char(&text, '-') &&
                take_number(&text, 2, &month) && take_char(&text, '-') &&
                take_number(&text, 2, &day) && (take_char(&text, 'T') || take_char(&text, 't'));
    good = good && take_number(&text, 2, &hour) && take_char(&text, ':') &&
           take_number(&text, 2, &minute) && take_char(&text, ':') &&
           take_number(&text, 2, &second) && take_fraction(&text, &t.ns) &&
           take_offset(&text, &offset_s) && text.len == 0;
    if (!good || year == 0 || month == 0 || month > 12 || day == 0 || day > days_in(year, month) ||
        hour > 23 || minute > 59 || second > 59)
        return AT_INVALID_ARGUMENT;
    t.s = days_of(year, month, day) * S_PER_DAY + (int64_t)(hour * 3600 + minute * 60 + second) -
          offset_s;
    if (t.s < TIMESTAMP_S_MIN || t.s > TIMESTAMP_S_MAX)
        return AT_INVALID_ARGUMENT;
    *ret = t;
    return AT_OK;
}

enum at_code at_json_duration_write(struct at_buf *out, struct at_json_time t)
{
    bool negative = t.s < 0 || t.ns < 0;
    if (t.s < -DURATION_S_MAX || t.s > DURATION_S_MAX || t.ns <= -NS_PER_S || t.ns >= NS_PER_S ||
        (negative && (t.s > 0 || t.ns > 0)))
        return AT_INVALID_ARGUMENT;
    AT_TRY(at_buf_printf(out, "%s%lld", negative ? "-" : "", (long long)(negative ? -t.s : t.s)));
    AT_TRY(write_fraction(out, (uint32_t)(negative ? -t.ns : t.ns)));
    return at_buf_append(out, AT_LIT("s"));
}

enum at_code at_json_duration_read(struct at_slice text, struct at_json_time *ret)
{
    struct at_json_time t = {0};
    bool negative = take_char(&text, '-');
    size_t digits = 0;
    while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9') {
        t.s = t.s * 10 + (text.data[digits++] - '0');
        if (t.s > DURATION_S_MAX)
            return AT_INVALID_ARGUMENT;
    }
    text = at_slice_from(text, digits);
    if (digits == 0 || !take_fraction(&text, &t.ns) || !take_char(&text, 's') || text.len > 0)
        return AT_INVALID_ARGUMENT;
    if (negative)
        t = (struct at_json_time){-t.s, -t.ns};
    *ret = t;
    return AT_OK;
}

char *at_json_mask_path(struct at_arena *arena, struct at_slice path)
{
    char *snake = at_arena_alloc_raw(arena, 2 * path.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < path.len; i++) {
        char c = (char)path.data[i];
        bool capital = c >= 'A' && c <= 'Z';
        if (capital)
            snake[len++] = '_';
        snake[len++] = capital ? (char)(c - 'A' + 'a') : c;
    }
    snake[len] = '\0';
    return snake;
}
