#include "cli/range_hunt.h"

#include "base/alloc.h"
#include "base/assert.h"

/* Ranges to look at are kept on a stack, the lowest on top; its keys are its own. A piece that
 * differs in the coarsest cut costs its rows once more, that one's a 64th of them, and so on. */

#define PIECE_ROWS_FIRST 4096
#define FAN_OUT 64
#define ARENA_BYTES (64 * AT_KIB)

struct task {
    uint8_t *start;
    size_t start_len;
    uint8_t *end;
    size_t end_len;
    uint64_t piece_rows; /* 0: no cluster has more than one row */
    uint32_t leader;
};

struct hunt {
    const struct at_hunt_port *port;
    uint32_t cluster_count;
    struct at_hunt_totals *totals;
    struct task *tasks;
    size_t count;
    size_t cap;
};

/* One round's answers. */
struct round {
    struct at_hunt_piece *pieces[AT_MEMBERS_MAX];
    uint32_t count;
};

static enum at_code look(struct hunt *h, const struct task *task, struct at_error *reterr);
static enum at_code ask_all(struct hunt *h,
                            const struct task *task,
                            struct at_arena *arena,
                            struct round *ret_round,
                            struct at_error *reterr);
static void push_differing(struct hunt *h, const struct task *task, const struct round *round);
static void push(struct hunt *h, struct at_hunt_range range, uint64_t piece_rows, uint32_t leader);

static struct at_hunt_range range_of(const struct task *task)
{
    return (struct at_hunt_range){at_slice_make(task->start, task->start_len),
                                  at_slice_make(task->end, task->end_len)};
}

static void free_task(struct task *task)
{
    at_free(task->start);
    at_free(task->end);
}

enum at_code at_range_hunt_run(const struct at_hunt_port *port,
                               uint32_t cluster_count,
                               struct at_hunt_totals *ret_totals,
                               struct at_error *reterr)
{
    struct hunt h = {.port = port, .cluster_count = cluster_count, .totals = ret_totals};
    enum at_code code = AT_OK;

    AT_ASSERT(cluster_count > 0 && cluster_count <= AT_MEMBERS_MAX);
    *ret_totals = (struct at_hunt_totals){0};
    push(&h, (struct at_hunt_range){0}, PIECE_ROWS_FIRST, 0);
    while (h.count > 0 && code == AT_OK) {
        struct task task = h.tasks[--h.count];
        if (task.piece_rows == 0)
            code = port->found(port->ctx, range_of(&task), reterr);
        else
            code = look(&h, &task, reterr);
        free_task(&task);
    }
    while (h.count > 0)
        free_task(&h.tasks[--h.count]);
    at_free(h.tasks);
    return code;
}

static enum at_code look(struct hunt *h, const struct task *task, struct at_error *reterr)
{
    struct at_arena arena;
    struct round round = {0};

    at_arena_init(&arena, ARENA_BYTES);
    enum at_code code = ask_all(h, task, &arena, &round, reterr);
    if (code == AT_OK)
        push_differing(h, task, &round);
    at_arena_deinit(&arena);
    return code;
}

/* The leader cuts; the others are asked about what it has looked at. */
static enum at_code ask_all(struct hunt *h,
                            const struct task *task,
                            struct at_arena *arena,
                            struct round *ret_round,
                            struct at_error *reterr)
{
    struct at_hunt_question question = {
        .cluster = task->leader, .range = range_of(task), .piece_rows = task->piece_rows};
    uint32_t count = 0;

    AT_TRY(h->port->ask(h->port->ctx, &question, arena, &ret_round->pieces[task->leader], &count,
                        reterr));
    if (count == 0 || count > AT_HUNT_PIECES_MAX)
        return at_fail(reterr, AT_DATA_LOSS, "an answer has %u pieces", count);
    const struct at_hunt_piece *led = ret_round->pieces[task->leader];
    struct at_slice *cuts = AT_ARENA_ARRAY(arena, struct at_slice, count);
    for (uint32_t i = 0; i + 1 < count; i++)
        cuts[i] = led[i].end;
    question.range.end = led[count - 1].end;
    question.cuts = count > 1 ? cuts : NULL;
    question.cut_count = count - 1;
    question.piece_rows = 0;
    ret_round->count = count;
    for (uint32_t c = 0; c < h->cluster_count; c++) {
        if (c == task->leader)
            continue;
        question.cluster = c;
        AT_TRY(h->port->ask(h->port->ctx, &question, arena, &ret_round->pieces[c], &count, reterr));
        bool fits = count == ret_round->count;
        for (uint32_t i = 0; fits && i < count; i++)
            fits = at_slice_eq(ret_round->pieces[c][i].end, led[i].end);
        if (!fits)
            return at_fail(reterr, AT_DATA_LOSS, "an answer is about other pieces than asked for");
    }
    return AT_OK;
}

static bool equal(const struct hunt *h, const struct round *round, uint32_t piece)
{
    for (uint32_t c = 1; c < h->cluster_count; c++)
        if (!at_slice_eq(round->pieces[c][piece].digest, round->pieces[0][piece].digest))
            return false;
    return true;
}

/* Pushes what is left of the range, then the pieces that differ, the last ones first. */
static void push_differing(struct hunt *h, const struct task *task, const struct round *round)
{
    const struct at_hunt_piece *led = round->pieces[task->leader];
    struct at_hunt_range range = range_of(task);
    struct at_slice last = led[round->count - 1].end;

    if (!at_slice_eq(last, range.end))
        push(h, (struct at_hunt_range){last, range.end}, task->piece_rows, task->leader);
    for (uint32_t i = round->count; i-- > 0;) {
        uint32_t leader = 0;
        for (uint32_t c = 0; c < h->cluster_count; c++) {
            const struct at_hunt_piece *piece = &round->pieces[c][i];
            if (piece->rows > round->pieces[leader][i].rows)
                leader = c;
            h->totals->digested_rows += piece->rows;
            if (task->piece_rows == PIECE_ROWS_FIRST) {
                h->totals->rows[c] += piece->rows;
                h->totals->cells[c] += piece->cells;
            }
        }
        if (equal(h, round, i))
            continue;
        struct at_hunt_range part = {i > 0 ? led[i - 1].end : range.start, led[i].end};
        uint64_t rows = round->pieces[leader][i].rows;
        uint64_t finer = task->piece_rows > FAN_OUT ? task->piece_rows / FAN_OUT : 1;
        push(h, part, rows > 1 ? finer : 0, leader);
    }
}

static void push(struct hunt *h, struct at_hunt_range range, uint64_t piece_rows, uint32_t leader)
{
    if (h->count == h->cap) {
        h->cap = h->cap > 0 ? h->cap * 2 : 64;
        h->tasks = at_realloc(h->tasks, h->cap * sizeof(*h->tasks));
    }
    h->tasks[h->count++] = (struct task){
        .start = (uint8_t *)at_dup(range.start.data, range.start.len),
        .start_len = range.start.len,
        .end = (uint8_t *)at_dup(range.end.data, range.end.len),
        .end_len = range.end.len,
        .piece_rows = piece_rows,
        .leader = leader,
    };
}
