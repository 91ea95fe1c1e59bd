#include "cluster/admin/rfc3339.h"

#define MICROS INT64_C(1000000)

/* Takes exactly `digits` digits and the byte behind them, unless that is 0. */
static bool take(struct at_slice *s, size_t digits, char behind, int64_t *ret_value)
{
    size_t len = digits + (behind != 0);

    if (s->len < len || (behind != 0 && s->data[digits] != (uint8_t)behind))
        return false;
    *ret_value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (s->data[i] < '0' || s->data[i] > '9')
            return false;
        *ret_value = *ret_value * 10 + (s->data[i] - '0');
    }
    *s = at_slice_from(*s, len);
    return true;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_in(int64_t year, int64_t month)
{
    static const uint8_t DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return DAYS[month - 1] + (month == 2 && is_leap(year));
}

/* Days since 1970-01-01 (Gregorian, without end). */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t before = year - 1;
    int64_t days = before * 365 + before / 4 - before / 100 + before / 400 - 719162;

    for (int64_t m = 1; m < month; m++)
        days += days_in(year, m);
    return days + day - 1;
}

static bool take_fraction(struct at_slice *s, int64_t *ret_micros)
{
    int64_t unit = MICROS / 10;
    size_t n = 1;

    *ret_micros = 0;
    if (s->len == 0 || s->data[0] != '.')
        return true;
    for (; n < s->len && s->data[n] >= '0' && s->data[n] <= '9'; n++, unit /= 10)
        *ret_micros += (s->data[n] - '0') * unit;
    *s = at_slice_from(*s, n);
    return n > 1 && n <= 10;
}

static bool take_offset(struct at_slice s, int64_t *ret_minutes)
{
    int64_t hours = 0, minutes = 0;

    *ret_minutes = 0;
    if (at_slice_eq_cstr(s, "Z") || at_slice_eq_cstr(s, "z"))
        return true;
    if (s.len != 6 || (s.data[0] != '+' && s.data[0] != '-'))
        return false;
    bool west = s.data[0] == '-';
    s = at_slice_from(s, 1);
    if (!take(&s, 2, ':', &hours) || !take(&s, 2, 0, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_minutes = (west ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

bool at_rfc3339_read(struct at_slice s, int64_t *ret_micros)
{
    int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    int64_t fraction = 0, offset_minutes = 0;

    if (!take(&s, 4, '-', &year) || !take(&s, 2, '-', &month) || !take(&s, 2, 0, &day))
        return false;
    if (s.len == 0 || (s.data[0] != 'T' && s.data[0] != 't'))
        return false;
    s = at_slice_from(s, 1);
    if (!take(&s, 2, ':', &hour) || !take(&s, 2, ':', &minute) || !take(&s, 2, 0, &second))
        return false;
    if (!take_fraction(&s, &fraction) || !take_offset(s, &offset_minutes))
        return false;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in(year, month))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    *ret_micros = (seconds - offset_minutes * 60) * MICROS + fraction;
    return true;
}
