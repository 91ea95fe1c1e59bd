/* rule_text.h: garbage collection rules as text: "v2" keeps two versions, "a5" is an age of 5 ms,
 * "n" never, "(v2|a5)" a union, "(v2&a5)" an intersection; one rule in brackets is a union of one.
 */
#ifndef ATOLL_TESTS_SUPPORT_RULE_TEXT_H
#define ATOLL_TESTS_SUPPORT_RULE_TEXT_H

#include <stdlib.h>

#include "base/assert.h"
#include "base/pbwire.h"

#define RULE_TEXT_BYTES_MAX 4096

static inline void rule_text_put(struct at_buf *out, const char **p);

static inline void rule_text_list(struct at_buf *out, const char **p)
{
    struct at_buf rules;
    uint32_t field = 4;

    at_buf_init(&rules, RULE_TEXT_BYTES_MAX);
    while (**p != ')') {
        struct at_buf rule;
        at_buf_init(&rule, RULE_TEXT_BYTES_MAX);
        rule_text_put(&rule, p);
        AT_ASSERT(at_pb_put_bytes(&rules, 1, at_buf_slice(&rule)) == AT_OK);
        at_buf_deinit(&rule);
        if (**p == '&')
            field = 3;
        *p += **p != ')';
    }
    ++*p;
    AT_ASSERT(at_pb_put_bytes(out, field, at_buf_slice(&rules)) == AT_OK);
    at_buf_deinit(&rules);
}

static inline void rule_text_put(struct at_buf *out, const char **p)
{
    char kind = *(*p)++;

    if (kind == '(') {
        rule_text_list(out, p);
    } else if (kind != 'n') {
        char *end = NULL;
        long long number = strtoll(*p, &end, 10);
        *p = end;
        if (kind == 'v') {
            AT_ASSERT(at_pb_put_varint(out, 1, (uint64_t)number) == AT_OK);
            return;
        }
        struct at_buf age;
        at_buf_init(&age, 64);
        AT_ASSERT(at_pb_put_varint(&age, 1, (uint64_t)(number / 1000)) == AT_OK);
        AT_ASSERT(at_pb_put_varint(&age, 2, (uint64_t)(number % 1000 * 1000000)) == AT_OK);
        AT_ASSERT(at_pb_put_bytes(out, 2, at_buf_slice(&age)) == AT_OK);
        at_buf_deinit(&age);
    }
}

/* Appends the serialized google.bigtable.admin.v2.GcRule. */
static inline void rule_text(const char *text, struct at_buf *out)
{
    rule_text_put(out, &text);
    AT_ASSERT(*text == '\0');
}

#endif
