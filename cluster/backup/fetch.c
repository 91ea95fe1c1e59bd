#include "cluster/backup/fetch.h"

#include "atoll/v1/control.pb-c.h"
#include "base/assert.h"
#include "cluster/backup/pace.h"
#include "cluster/backup/scan.h"
#include "wire/grpc_client.h"
#include "wire/proto_alloc.h"

#define PIECE_BYTES AT_MIB
#define ANSWER_BYTES_MAX (2 * AT_MIB)
#define PIECE_MS 5000 /* a piece must come within */
#define CONNECT_MS 2000

struct fetching {
    struct at_backup_fetch *fetch;
    struct at_loop *loop;
    struct at_grpc_channel *channel;
    struct at_backup_out out;
    struct at_arena arena; /* of one piece */
    struct at_buf question;
    struct at_buf answer;
    uint64_t size;
    uint64_t generation; /* 0: not known yet */
};

static enum at_code
ask(struct fetching *f, Atoll__V1__ReadBackupResponse **ret_piece, struct at_error *reterr)
{
    struct at_clock clock = at_clock_system();
    Atoll__V1__ReadBackupRequest request = ATOLL__V1__READ_BACKUP_REQUEST__INIT;

    at_buf_clear(&f->question);
    at_buf_clear(&f->answer);
    at_arena_reset(&f->arena);
    request.name = at_arena_printf(&f->arena, "%s", f->fetch->name);
    request.offset = f->out.bytes;
    request.bytes_max = (uint32_t)PIECE_BYTES;
    AT_TRY(at_proto_pack(&f->question, &request.base));
    struct at_grpc_client_request call = {
        .path = "/atoll.v1.Cluster/ReadBackup",
        .message = at_buf_slice(&f->question),
        .deadline_ns = at_clock_mono_ns(&clock) + PIECE_MS * AT_MS_NS,
    };
    AT_TRY(at_grpc_unary(f->channel, &call, &f->answer, reterr));
    *ret_piece = at_proto_unpack(&f->arena, &atoll__v1__read_backup_response__descriptor,
                                 at_buf_slice(&f->answer));
    return *ret_piece ? AT_OK
                      : at_fail(reterr, AT_INTERNAL, "The donor's answer is no ReadBackupResponse");
}

static enum at_code take_piece(struct fetching *f, bool *ret_done, struct at_error *reterr)
{
    Atoll__V1__ReadBackupResponse *piece = NULL;

    AT_TRY(ask(f, &piece, reterr));
    AT_ASSERT(piece != NULL);
    if (f->generation == 0) {
        f->generation = piece->generation;
        f->size = piece->size;
    }
    if (piece->generation != f->generation || piece->size != f->size)
        return at_fail(reterr, AT_ABORTED, "The source backup became another one meanwhile");
    if (piece->data.len > f->size - f->out.bytes)
        return at_fail(reterr, AT_DATA_LOSS, "The donor sends more than the file has");
    AT_TRY(at_backup_out_put(&f->out, at_proto_bytes(piece->data), reterr));
    *ret_done = f->out.bytes == f->size;
    if (piece->data.len == 0 && !*ret_done)
        return at_fail(reterr, AT_DATA_LOSS, "The donor's file ends before its size");
    if (f->fetch->on_progress && f->size > 0)
        f->fetch->on_progress(f->fetch->ctx, (uint32_t)(f->out.bytes * 100 / f->size));
    return AT_OK;
}

static enum at_code run(struct fetching *f, struct at_error *reterr)
{
    const struct at_grpc_channel_config config = {
        .host = f->fetch->host,
        .port = f->fetch->port,
        .connection_count = 1,
        .connect_timeout_ms = CONNECT_MS,
    };
    struct at_backup_end counts;
    struct at_pace pace;
    bool done = false;

    AT_TRY(at_grpc_channel_open(f->loop, &config, &f->channel, reterr));
    AT_TRY(at_backup_out_open(&f->out, f->fetch->path, reterr));
    at_pace_start(&pace);
    while (!done) {
        if (atomic_load(f->fetch->stop))
            return at_fail(reterr, AT_CANCELLED, "The copy was given up");
        AT_TRY(take_piece(f, &done, reterr));
        at_pace_rest(&pace);
    }
    f->fetch->file_bytes = f->out.bytes;
    AT_TRY(at_backup_out_end(&f->out, reterr));
    enum at_code code = at_backup_check(f->fetch->path, f->fetch->stop, &counts, reterr);
    if (code != AT_OK)
        at_backup_file_remove(f->fetch->path);
    return code;
}

enum at_code at_backup_fetch(struct at_backup_fetch *fetch, struct at_error *reterr)
{
    struct fetching f = {.fetch = fetch, .out = {.fd = -1}};

    f.loop = at_loop_new(at_clock_system());
    at_arena_init(&f.arena, 4 * AT_KIB);
    at_buf_init(&f.question, 4 * AT_KIB);
    at_buf_init(&f.answer, ANSWER_BYTES_MAX);
    enum at_code code = run(&f, reterr);
    at_backup_out_drop(&f.out);
    at_grpc_channel_close(&f.channel);
    at_loop_settle(f.loop);
    at_loop_free(&f.loop);
    at_buf_deinit(&f.question);
    at_buf_deinit(&f.answer);
    at_arena_deinit(&f.arena);
    return code;
}
