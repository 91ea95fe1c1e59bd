#include "base/alloc.h"
#include "cluster/model/filter_impl.h"

/* Questions about a filter that let a reader leave storage alone. All answers err on the side of
 * reading. */

static bool family_passes(const struct filter_step *s, struct at_slice family)
{
    if (s->op == FILTER_FAMILY_REGEX)
        return at_regex_matches(s->regex, family);
    return at_slice_eq(s->bytes, family);
}

static bool any_branch(const struct at_filter *f, const struct filter_step *s, const uint8_t *alive)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (alive[f->branches[s->first + i]])
            return true;
    }
    return false;
}

/* step_lives: what a step leads to is lower and so known already. Asked about a family, a count or
 * a predicate that its cells reach is alive too: they change what comes out of others. */
static bool step_lives(const struct at_filter *f,
                       const struct filter_step *s,
                       const struct at_slice *family,
                       const bool *row_passes,
                       const uint8_t *alive)
{
    switch ((int)s->op) {
    case FILTER_EMIT:
        return true;
    case FILTER_DROP:
        return false;
    case FILTER_FAN:
        return any_branch(f, s, alive);
    case FILTER_MARK:
        return family != NULL;
    case FILTER_COND:
        return (family != NULL && alive[s->next]) || alive[s->first] || alive[s->count];
    case FILTER_SAMPLE:
    case FILTER_ROW_LITERAL:
    case FILTER_ROW_REGEX:
        return (row_passes == NULL || row_passes[s->index]) && alive[s->next];
    case FILTER_FAMILY_LITERAL:
    case FILTER_FAMILY_REGEX:
    case FILTER_COLUMN_RANGE:
        return (family == NULL || family_passes(s, *family)) && alive[s->next];
    case FILTER_ROW_OFFSET:
    case FILTER_ROW_LIMIT:
        return family != NULL || alive[s->next];
    default:
        return alive[s->next];
    }
}

bool at_filter_sweep(const struct at_filter *f,
                     const struct at_slice *family,
                     const bool *row_passes,
                     uint8_t *alive)
{
    for (uint32_t pc = 0; pc < f->step_count; pc++)
        alive[pc] = step_lives(f, &f->steps[pc], family, row_passes, alive);
    return alive[f->entry];
}

bool at_filter_may_pass_family(const struct at_filter *f, struct at_slice family)
{
    if (f->blocked || f->entry == 0)
        return !f->blocked;
    AT_CLEANUP(at_free_ptr) uint8_t *alive = at_alloc(f->step_count);
    return at_filter_sweep(f, &family, NULL, alive);
}

static bool listed(const struct at_slice *names, uint32_t count, struct at_slice name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (at_slice_eq(names[i], name))
            return true;
    }
    return false;
}

uint32_t at_filter_literal_families(const struct at_filter *f,
                                    struct at_slice *ret_names,
                                    uint32_t names_max)
{
    uint32_t count = 0;

    for (uint32_t pc = f->step_count; pc-- > 0 && count < names_max;) {
        const struct filter_step *s = &f->steps[pc];
        bool names_family = s->op == FILTER_FAMILY_LITERAL || s->op == FILTER_COLUMN_RANGE;
        if (names_family && s->bytes.len > 0 && !listed(ret_names, count, s->bytes))
            ret_names[count++] = s->bytes;
    }
    return count;
}

bool at_filter_row_literal(const struct at_filter *f, struct at_slice *ret_row)
{
    for (uint32_t pc = f->entry;; pc = f->steps[pc].next) {
        const struct filter_step *s = &f->steps[pc];
        if (s->op == FILTER_ROW_LITERAL) {
            *ret_row = s->bytes;
            return true;
        }
        if (s->op == FILTER_EMIT || s->op == FILTER_DROP || s->op == FILTER_FAN ||
            s->op == FILTER_COND)
            return false;
    }
}
