#include "base/assert.h"
#include "property/model.h"

/* A set of positions goes in, the set of positions behind all possible matches comes out. */

#define POSITIONS_MAX 1024

struct positions {
    bool at[POSITIONS_MAX];
};

struct matcher {
    const char *p; /* in the expression */
    const char *end;
    struct at_slice s;
};

static struct positions alternatives(struct matcher *m, struct positions from);

static uint8_t hex(const char *p)
{
    uint8_t high = (uint8_t)(p[0] <= '9' ? p[0] - '0' : p[0] - 'a' + 10);
    uint8_t low = (uint8_t)(p[1] <= '9' ? p[1] - '0' : p[1] - 'a' + 10);

    return (uint8_t)(high << 4 | low);
}

/* One byte: its class goes into `members`. */
static void read_class(struct matcher *m, bool members[256])
{
    bool negated = false;
    char c = *m->p++;

    memset(members, c == '.', 256);
    if (c == '.') {
        members['\n'] = false;
    } else if (c == '[') {
        negated = *m->p == '^';
        for (m->p += negated; *m->p != ']'; m->p++)
            members[(uint8_t)*m->p] = true;
        m->p++;
    } else if (c == '\\' && *m->p == 'C') {
        m->p++;
        memset(members, true, 256);
    } else if (c == '\\') {
        AT_ASSERT(*m->p == 'x');
        members[hex(m->p + 1)] = true;
        m->p += 3;
    } else {
        members[(uint8_t)c] = true;
    }
    for (size_t i = 0; negated && i < 256; i++)
        members[i] = !members[i];
}

static struct positions atom(struct matcher *m, const struct positions *from)
{
    struct positions to = {{false}};
    bool members[256];

    if (*m->p == '(') {
        m->p++;
        to = alternatives(m, *from);
        m->p++;
        return to;
    }
    read_class(m, members);
    for (size_t i = 0; i < m->s.len; i++)
        to.at[i + 1] = from->at[i] && members[m->s.data[i]];
    return to;
}

static bool join(struct positions *into, const struct positions *more)
{
    bool grew = false;

    for (size_t i = 0; i < POSITIONS_MAX; i++) {
        grew |= more->at[i] && !into->at[i];
        into->at[i] |= more->at[i];
    }
    return grew;
}

static struct positions repeated(struct matcher *m, const struct positions *from)
{
    const char *start = m->p;
    struct positions once = atom(m, from);
    struct positions all = once;
    const char *behind = m->p;
    char how = m->p < m->end ? *m->p : '\0';

    if (how != '*' && how != '+' && how != '?')
        return once;
    while (how != '?') {
        m->p = start;
        once = atom(m, &all);
        if (!join(&all, &once))
            break;
    }
    if (how != '+')
        (void)join(&all, from);
    m->p = behind + 1;
    return all;
}

static struct positions alternatives(struct matcher *m, struct positions from)
{
    struct positions all = {{false}};
    struct positions one = from;

    while (m->p < m->end && *m->p != ')') {
        if (*m->p == '|') {
            (void)join(&all, &one);
            one = from;
            m->p++;
        } else {
            one = repeated(m, &one);
        }
    }
    (void)join(&all, &one);
    return all;
}

bool model_regex_matches(struct at_slice regex, struct at_slice s)
{
    const char *p = (const char *)regex.data;
    struct matcher m = {p, p + regex.len, s};
    struct positions start = {{true}};

    AT_ASSERT(s.len < POSITIONS_MAX);
    return alternatives(&m, start).at[s.len];
}
