#include "base/assert.h"
#include "base/hash.h"
#include "cluster/admin/admin.h"
#include "cluster/service/await.h"
#include "replication/peer/peering.h"
#include "replication/token.h"

/* GenerateConsistencyToken and CheckConsistency: both ask all members what they have durably. A
 * token is bound to the table it was made for, by its name and generation, and to the instance. */

#define SURVEY_MS 1000
#define HASH_SEED 0

struct consistency {
    struct at_service *service;
    struct at_token token;
};

static enum at_code bind_token(struct at_service *service,
                               const char *table_name,
                               struct at_token *ret_token,
                               struct at_error *reterr);
static void on_generate(struct at_grpc_call *call, void *ctx, const struct at_survey *survey);
static void on_check(struct at_grpc_call *call, void *ctx, const struct at_survey *survey);

static struct consistency *consistency_new(struct at_service *service, struct at_grpc_call *call)
{
    struct consistency *c = AT_ARENA_NEW(at_grpc_call_arena(call), struct consistency);

    c->service = service;
    at_token_init(&c->token);
    return c;
}

static void fail_survey(struct at_service *service, struct at_grpc_call *call)
{
    struct at_error error;
    enum at_code code = at_fail(&error, AT_CANCELLED, "the call was cancelled");

    AT_ASSERT(code != AT_OK);
    at_service_fail(service, call, &error);
}

void at_on_generate_consistency_token(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__GenerateConsistencyTokenRequest *in = at_service_unpack(
        service, call,
        &google__bigtable__admin__v2__generate_consistency_token_request__descriptor);

    if (!in)
        return;
    struct consistency *c = consistency_new(service, call);
    if (bind_token(service, in->name, &c->token, &error) != AT_OK) {
        at_service_fail(service, call, &error);
        return;
    }
    at_await_survey(
        service, call,
        &(struct at_await_survey){.timeout_ms = SURVEY_MS, .then = on_generate, .ctx = c});
}

/* Fills in what the token is bound to. */
static enum at_code bind_token(struct at_service *service,
                               const char *table_name,
                               struct at_token *ret_token,
                               struct at_error *reterr)
{
    struct at_slice id;
    struct at_slice name = at_slice_cstr(table_name);
    struct at_replica_view view;

    AT_TRY(at_service_table_id(service, name, &id, reterr));
    struct at_schema *schema = at_store_schema(service->store);
    const struct at_table *table = at_catalog_table(schema->catalog, id);
    uint64_t generation = table ? table->generation : 0;
    at_schema_unref(&schema);
    if (generation == 0)
        return at_admin_no_table(service, id, reterr);
    at_replica_view_init(&view);
    at_store_view(service->store, &view);
    ret_token->instance_id = view.instance_id;
    ret_token->table_hash = at_hash64(name, HASH_SEED + generation);
    at_replica_view_deinit(&view);
    return AT_OK;
}

static void on_generate(struct at_grpc_call *call, void *ctx, const struct at_survey *survey)
{
    struct consistency *c = ctx;
    struct at_service *service = c->service;
    struct at_buf text;
    Google__Bigtable__Admin__V2__GenerateConsistencyTokenResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__GENERATE_CONSISTENCY_TOKEN_RESPONSE__INIT;

    if (!survey) {
        fail_survey(service, call);
        return;
    }
    for (uint32_t i = 0; i < survey->count; i++)
        at_token_note(&c->token, survey->members[i], survey->answers[i]);
    at_buf_init(&text, 2 * AT_TOKEN_BYTES_MAX);
    enum at_code code = at_token_encode(&c->token, &text);
    out.consistency_token = at_admin_text(at_grpc_call_arena(call), at_buf_slice(&text));
    at_token_deinit(&c->token);
    at_buf_deinit(&text);
    if (code == AT_OK) {
        at_service_reply(service, call, &out.base);
    } else {
        struct at_error error;
        code = at_fail(&error, code, "the token is too long");
        AT_ASSERT(code != AT_OK);
        at_service_fail(service, call, &error);
    }
}

static enum at_code prepare_check(struct consistency *c,
                                  const Google__Bigtable__Admin__V2__CheckConsistencyRequest *in,
                                  struct at_error *reterr)
{
    struct at_token ours;

    at_token_init(&ours);
    AT_TRY(bind_token(c->service, in->name, &ours, reterr));
    if (at_token_decode(&c->token, at_slice_cstr(in->consistency_token)) == AT_OK &&
        c->token.instance_id == ours.instance_id && c->token.table_hash == ours.table_hash)
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT, "token \"%s\" not valid", in->consistency_token);
}

/* Both modes are answered alike: all clusters have it, so whoever reads has it. */
void at_on_check_consistency(struct at_grpc_call *call, void *ctx)
{
    struct at_service *service = ctx;
    struct at_error error;
    const Google__Bigtable__Admin__V2__CheckConsistencyRequest *in = at_service_unpack(
        service, call, &google__bigtable__admin__v2__check_consistency_request__descriptor);

    if (!in)
        return;
    struct consistency *c = consistency_new(service, call);
    if (prepare_check(c, in, &error) != AT_OK) {
        at_token_deinit(&c->token);
        at_service_fail(service, call, &error);
        return;
    }
    at_await_survey(service, call,
                    &(struct at_await_survey){.timeout_ms = SURVEY_MS, .then = on_check, .ctx = c});
}

static void on_check(struct at_grpc_call *call, void *ctx, const struct at_survey *survey)
{
    struct consistency *c = ctx;
    struct at_service *service = c->service;
    Google__Bigtable__Admin__V2__CheckConsistencyResponse out =
        GOOGLE__BIGTABLE__ADMIN__V2__CHECK_CONSISTENCY_RESPONSE__INIT;

    if (survey)
        out.consistent = at_token_check(&c->token, survey->members, survey->answers, survey->count);
    at_token_deinit(&c->token);
    if (survey)
        at_service_reply(service, call, &out.base);
    else
        fail_survey(service, call);
}
