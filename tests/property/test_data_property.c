#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "property/model.h"
#include "property/shrink.h"
#include "property/world.h"

/* Random programs of data requests get the same answers from a real store and from the model, and
 * leave the same table; also over kills, compactions and an exchange between two stores.
 *
 *   ATOLL_PROPERTY_SEED=n    runs the one program of this seed
 *   ATOLL_PROPERTY_COUNT=n   runs n programs, from seed 1 on */

#define DEFAULT_COUNT 300
#define PROGRAMS_PER_WORLD 100
#define SHRINK_TRIES 1500
#define ANSWER_BYTES_MAX (64 * AT_MIB)

struct checker {
    struct world *worlds[2]; /* of one store and of two; NULL: to be opened */
    uint32_t programs;       /* run on these worlds */
    struct at_arena arena;   /* of one run */
    struct at_buf expected;
    struct at_buf actual;
    struct at_buf why; /* of the last failure */
};

static void must(enum at_code code)
{
    AT_ASSERT(code == AT_OK);
}

static void close_worlds(struct checker *c)
{
    world_close(&c->worlds[0]);
    world_close(&c->worlds[1]);
    c->programs = 0;
}

static bool wrong(struct checker *c, const struct op *op, const char *what)
{
    at_buf_clear(&c->why);
    must(at_buf_printf(&c->why, "%s\n  ", what));
    program_print_op(&c->why, op);
    must(at_buf_printf(&c->why, "\n  expected: %s", at_buf_cstr(&c->expected)));
    must(at_buf_printf(&c->why, "\n  actual:   %s\n", at_buf_cstr(&c->actual)));
    return false;
}

/* --- answers --- */

/* The rows at the front of `text` that are those of `row`, which ends with ';'. */
static bool take_row(struct at_slice *text, const uint8_t *row, size_t len)
{
    if (len == 0 || text->len < len || text->data[len - 1] != ';' ||
        !model_same_rows(at_slice_make(text->data, len), at_slice_make(row, len)))
        return false;
    *text = at_slice_from(*text, len);
    return true;
}

/* A read with a sample gives, of each row, what it gives with all sampled or with none. */
static bool sampled_rows_are_right(struct checker *c, struct model *m, const struct op *op)
{
    struct at_slice rest = at_buf_slice(&c->actual);
    struct op one = *op;

    for (uint32_t n = 0; n < m->count; n++) {
        uint32_t i = op->reversed ? m->count - 1 - n : n;
        struct at_buf both[2];
        bool found = false;
        bool optional = false;
        if (n > 0 && at_slice_eq(m->cells[i].row, m->cells[op->reversed ? i + 1 : i - 1].row))
            continue;
        for (int k = 0; k < 2; k++) {
            struct model *only = AT_ARENA_NEW(&c->arena, struct model);
            at_buf_init(&both[k], ANSWER_BYTES_MAX);
            *only = *m;
            only->sample_passes = k;
            only->count = 0;
            for (uint32_t j = 0; j < m->count; j++)
                if (at_slice_eq(m->cells[j].row, m->cells[i].row))
                    only->cells[only->count++] = m->cells[j];
            model_step(only, &one, &both[k]);
            m->ambiguous |= only->ambiguous;
            found = found || take_row(&rest, both[k].data, both[k].len);
            optional |= both[k].len == 0;
        }
        at_buf_deinit(&both[0]);
        at_buf_deinit(&both[1]);
        if (!found && !optional)
            return false;
    }
    return rest.len == 0;
}

static bool answer_is_right(struct checker *c, struct model *m, const struct op *op)
{
    if (op->kind == OP_READ) {
        if (model_same_rows(at_buf_slice(&c->expected), at_buf_slice(&c->actual)))
            return true;
        if (model_filter_samples(op->filter) && sampled_rows_are_right(c, m, op))
            return true;
        return m->ambiguous;
    }
    return at_slice_eq(at_buf_slice(&c->expected), at_buf_slice(&c->actual));
}

static bool check_op(struct checker *c, struct world *w, struct model *m, const struct op *op)
{
    struct model *before = AT_ARENA_NEW(&c->arena, struct model);

    *before = *m;
    at_buf_clear(&c->expected);
    at_buf_clear(&c->actual);
    world_run(w, op, &c->actual);
    model_step(m, op, &c->expected);
    if (op->kind == OP_CHECK && m->ambiguous) {
        bool matched = strcmp(at_buf_cstr(&c->actual), "matched") == 0;
        *m = *before;
        m->matched = &matched;
        at_buf_clear(&c->expected);
        model_step(m, op, &c->expected);
        m->matched = NULL;
    }
    return answer_is_right(c, m, op) || wrong(c, op, "a wrong answer");
}

static bool check_table(struct checker *c, struct world *w, struct model *m, uint32_t side)
{
    struct op all = {.kind = OP_READ, .side = side};

    return check_op(c, w, m, &all);
}

/* What was being written when the kill came is there as a whole or not at all. */
static bool check_kill(struct checker *c, struct world *w, struct model *m, const struct op *op)
{
    struct op mutate = *op;

    world_run(w, op, &c->actual);
    if (op->row_count > 0) {
        struct model *before = AT_ARENA_NEW(&c->arena, struct model);
        *before = *m;
        mutate.kind = OP_MUTATE_ROW;
        model_step(m, &mutate, &c->expected);
        if (check_table(c, w, before, op->side)) {
            *m = *before;
            return true;
        }
    }
    return check_table(c, w, m, op->side) || wrong(c, op, "something else is left");
}

/* --- programs --- */

static bool check_loose(struct checker *c, struct world *w, const struct program *p)
{
    struct op all = {.kind = OP_READ};

    for (uint32_t i = 0; i < p->count; i++) {
        at_buf_clear(&c->actual);
        world_run(w, &p->ops[i], &c->actual);
    }
    world_exchange(w);
    at_buf_clear(&c->expected);
    at_buf_clear(&c->actual);
    world_run(w, &all, &c->expected);
    all.side = 1;
    world_run(w, &all, &c->actual);
    if (!at_slice_eq(at_buf_slice(&c->expected), at_buf_slice(&c->actual)))
        return wrong(c, &all, "the stores differ");
    return world_digests_equal(w) || wrong(c, &all, "the digests differ");
}

/* What rules condemn goes from both, of the same cells and at the same time: it is not told. */
static void collect_elsewhere(struct world *w, const struct op *op)
{
    struct op other = *op;
    struct at_buf nothing;

    at_buf_init(&nothing, AT_KIB);
    other.side = 1 - op->side;
    world_exchange(w);
    world_run(w, &other, &nothing);
    at_buf_deinit(&nothing);
}

static bool check_foretold(struct checker *c, struct world *w, const struct program *p)
{
    struct model *m = AT_ARENA_NEW(&c->arena, struct model);
    uint32_t side = 0;

    m->arena = &c->arena;
    m->now_micros = PROGRAM_NOW_MICROS + PROGRAM_NOW_REST_NS / 1000;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct op *op = &p->ops[i];
        if (op->side != side)
            world_exchange(w);
        side = op->side;
        if (op->kind == OP_COLLECT && p->mode == PROGRAM_STRICT)
            collect_elsewhere(w, op);
        if (!(op->kind == OP_KILL ? check_kill(c, w, m, op) : check_op(c, w, m, op)))
            return false;
    }
    world_exchange(w);
    for (uint32_t i = 0; i < (p->mode == PROGRAM_ALONE ? 1 : 2); i++)
        if (!check_table(c, w, m, i))
            return false;
    struct op all = {.kind = OP_READ};
    return p->mode == PROGRAM_ALONE || world_digests_equal(w) ||
           wrong(c, &all, "the digests differ");
}

static bool kills(const struct program *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->ops[i].kind == OP_KILL)
            return true;
    return false;
}

static bool check_program(struct checker *c, const struct program *p)
{
    struct world **w = &c->worlds[p->mode == PROGRAM_ALONE ? 0 : 1];

    if (*w == NULL)
        *w = world_open(p->mode == PROGRAM_ALONE ? 1 : 2);
    world_clear(*w);
    at_arena_reset(&c->arena);
    bool ok = p->mode == PROGRAM_LOOSE ? check_loose(c, *w, p) : check_foretold(c, *w, p);
    /* After a kill the stamps of a store are ahead of its clock, which is set back. */
    if (kills(p))
        world_close(w);
    if (++c->programs >= PROGRAMS_PER_WORLD)
        close_worlds(c);
    return ok;
}

static bool fails_afresh(void *ctx, const struct program *p)
{
    struct checker *c = ctx;

    close_worlds(c);
    return !check_program(c, p);
}

/* Prints the shortest program that fails. */
static void report(struct checker *c, const struct program *failed, struct at_arena *arena)
{
    struct program *p = AT_ARENA_NEW(arena, struct program);
    struct shrink s = {fails_afresh, c, arena, SHRINK_TRIES};
    struct at_buf text;

    at_buf_init(&text, AT_MIB);
    *p = *failed;
    must(at_buf_printf(&text, "%s", at_buf_cstr(&c->why)));
    if (fails_afresh(c, p)) {
        shrink_program(&s, p);
        at_buf_clear(&text);
        (void)fails_afresh(c, p);
        must(at_buf_printf(&text, "%s", at_buf_cstr(&c->why)));
    } else {
        must(at_buf_printf(&text, "(only after the programs before it)\n"));
    }
    program_print(&text, p);
    (void)fputs(at_buf_cstr(&text), stderr);
    at_buf_deinit(&text);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void store_and_model_agree_on_random_programs(void **state)
{
    struct checker c = {0};
    struct program *p = at_alloc(sizeof(*p));
    struct at_arena arena;
    uint64_t first = number_of("ATOLL_PROPERTY_SEED", 1);
    uint64_t count =
        getenv("ATOLL_PROPERTY_SEED") ? 1 : number_of("ATOLL_PROPERTY_COUNT", DEFAULT_COUNT);
    bool ok = true;

    (void)state;
    at_arena_init(&arena, 1 << 16);
    at_arena_init(&c.arena, 1 << 20);
    at_buf_init(&c.expected, ANSWER_BYTES_MAX);
    at_buf_init(&c.actual, ANSWER_BYTES_MAX);
    at_buf_init(&c.why, ANSWER_BYTES_MAX);
    for (uint64_t seed = first; ok && seed < first + count; seed++) {
        at_arena_reset(&arena);
        program_make(p, seed, &arena);
        ok = check_program(&c, p);
        if (!ok)
            report(&c, p, &arena);
    }
    close_worlds(&c);
    at_buf_deinit(&c.why);
    at_buf_deinit(&c.actual);
    at_buf_deinit(&c.expected);
    at_arena_deinit(&c.arena);
    at_arena_deinit(&arena);
    at_free(p);
    assert_true(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_and_model_agree_on_random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
