#include <re2/re2.h>

#include <new>
#include <string>

extern "C" {
#include "base/regex.h"
}

/* RE2 is told to see bytes, not characters: Latin-1 gives each byte its own character. */

struct at_regex {
    explicit at_regex(const re2::StringPiece &pattern, const RE2::Options &options)
        : re(pattern, options)
    {
    }

    RE2 re;
    bool has_literal = false;
    std::string literal;
};

namespace
{

constexpr int64_t kMemoryBytesMax = 8 << 20;

re2::StringPiece piece(struct at_slice s)
{
    return re2::StringPiece(s.len ? reinterpret_cast<const char *>(s.data) : "", s.len);
}

/* All matches lie between `min` and `max`: where the two are equal there is at most one match.
 * RE2 rounds `max` up when it would be longer than asked for, which then is no literal either. */
void find_literal(struct at_regex *regex)
{
    constexpr int literal_bytes_max = 16 << 10;
    std::string min;
    std::string max;

    if (RE2::FullMatch("", regex->re)) {
        regex->has_literal = regex->re.pattern().empty();
        return;
    }
    regex->has_literal = regex->re.PossibleMatchRange(&min, &max, literal_bytes_max) &&
                         min == max && RE2::FullMatch(min, regex->re);
    regex->literal = min;
}

} // namespace

extern "C" {

enum at_code
at_regex_new(struct at_slice pattern, struct at_regex **ret_regex, struct at_error *reterr)
{
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_log_errors(false);
    options.set_max_mem(kMemoryBytesMax);

    struct at_regex *regex = new at_regex(piece(pattern), options);
    if (!regex->re.ok()) {
        enum at_code code = at_fail(reterr, AT_INVALID_ARGUMENT, "%s", regex->re.error().c_str());
        delete regex;
        return code;
    }
    find_literal(regex);
    *ret_regex = regex;
    return AT_OK;
}

void at_regex_free(struct at_regex **regex)
{
    delete *regex;
    *regex = nullptr;
}

bool at_regex_matches(const struct at_regex *regex, struct at_slice text)
{
    return regex->re.Match(piece(text), 0, text.len, RE2::ANCHOR_BOTH, nullptr, 0);
}

bool at_regex_literal(const struct at_regex *regex, struct at_slice *ret_literal)
{
    if (!regex->has_literal)
        return false;
    *ret_literal = at_slice_make(regex->literal.data(), regex->literal.size());
    return true;
}

} // extern "C"
