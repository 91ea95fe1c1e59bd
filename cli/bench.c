/* bench.c: `atoll bench`: options, preparation, and the report. Works against any server of the
 * API. */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "cli/bench_load.h"
#include "cli/cbt/session.h"
#include "cli/command.h"
#include "google/bigtable/admin/v2/bigtable_table_admin.pb-c.h"

#define CONNECTIONS_MAX 64
#define IN_FLIGHT_MAX 10000
#define THREADS_MAX 64
#define VALUE_BYTES_MAX 1000000
#define ROWS_MAX UINT64_C(1000000000000)

struct bench_options {
    const char *endpoint;
    const char *project;
    const char *instance;
    const char *table;
    const char *body_path;
    struct at_bench_config config;
    bool prepare;
    bool json;
};

enum {
    OPT_ENDPOINT = 256,
    OPT_PROJECT,
    OPT_INSTANCE,
    OPT_TABLE,
    OPT_WORK,
    OPT_CONNECTIONS,
    OPT_IN_FLIGHT,
    OPT_THREADS,
    OPT_SECONDS,
    OPT_ROWS,
    OPT_VALUE_BYTES,
    OPT_PROFILE,
    OPT_PREPARE,
    OPT_BODY,
    OPT_JSON
};

static const struct argp_option OPTIONS[] = {
    {"endpoint", OPT_ENDPOINT, "HOST:PORT", 0, "default: $BIGTABLE_EMULATOR_HOST", 0},
    {"project", OPT_PROJECT, "P", 0, "default: atoll", 0},
    {"instance", OPT_INSTANCE, "I", 0, "default: lab", 0},
    {"table", OPT_TABLE, "T", 0, "default: bench", 0},
    {"app-profile", OPT_PROFILE, "P", 0, NULL, 0},
    {"work", OPT_WORK, "WORK", 0,
     "mutate (MutateRow), read (ReadRows of a key), bulk (MutateRows of 100), scan (ReadRows of "
     "1,000 rows) or mixed (mutate and read); default: mutate",
     0},
    {"connections", OPT_CONNECTIONS, "N", 0, "default: 4", 0},
    {"in-flight", OPT_IN_FLIGHT, "N", 0, "calls at a time; default: 32", 0},
    {"threads", OPT_THREADS, "N", 0, "of this program; default: 1", 0},
    {"seconds", OPT_SECONDS, "N", 0, "default: 10", 0},
    {"rows", OPT_ROWS, "N", 0, "rows of the table; default: 100000", 0},
    {"value-bytes", OPT_VALUE_BYTES, "N", 0, "default: 100", 0},
    {"prepare", OPT_PREPARE, NULL, 0, "create the table and write all rows, instead of a run", 0},
    {"write-body", OPT_BODY, "FILE", 0,
     "write one framed request of the work to FILE, for other load generators, instead of a run",
     0},
    {"json", OPT_JSON, NULL, 0, "for scripts", 0},
    {0},
};

static uint64_t number(struct argp_state *state, const char *arg, uint64_t max)
{
    char *end = NULL;
    unsigned long long n = strtoull(arg, &end, 10);
    if (end == arg || *end != '\0' || n == 0 || n > max || arg[0] == '-')
        argp_error(state, "'%s' is not a number from 1 to %" PRIu64, arg, max);
    return n;
}

static void read_work(struct argp_state *state, const char *arg, enum at_bench_work *ret_work)
{
    for (int i = 0; i < AT_BENCH_WORK_COUNT; i++)
        if (strcmp(arg, at_bench_work_name((enum at_bench_work)i)) == 0) {
            *ret_work = (enum at_bench_work)i;
            return;
        }
    argp_error(state, "there is no work '%s'", arg);
}

static error_t parse_number(int key, const char *arg, struct argp_state *state)
{
    struct at_bench_config *c = &((struct bench_options *)state->input)->config;
    switch (key) {
    case OPT_CONNECTIONS:
        c->connections = (uint32_t)number(state, arg, CONNECTIONS_MAX);
        return 0;
    case OPT_IN_FLIGHT:
        c->in_flight = (uint32_t)number(state, arg, IN_FLIGHT_MAX);
        return 0;
    case OPT_THREADS:
        c->threads = (uint32_t)number(state, arg, THREADS_MAX);
        return 0;
    case OPT_SECONDS:
        c->seconds = (uint32_t)number(state, arg, UINT32_MAX);
        return 0;
    case OPT_ROWS:
        c->rows = number(state, arg, ROWS_MAX);
        return 0;
    case OPT_VALUE_BYTES:
        c->value_bytes = (uint32_t)number(state, arg, VALUE_BYTES_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench_options *o = state->input;
    switch (key) {
    case OPT_ENDPOINT:
        o->endpoint = arg;
        return 0;
    case OPT_PROJECT:
        o->project = arg;
        return 0;
    case OPT_INSTANCE:
        o->instance = arg;
        return 0;
    case OPT_TABLE:
        o->table = arg;
        return 0;
    case OPT_WORK:
        read_work(state, arg, &o->config.work);
        return 0;
    case OPT_PROFILE:
        o->config.profile = arg;
        return 0;
    case OPT_PREPARE:
        o->prepare = true;
        return 0;
    case OPT_BODY:
        o->body_path = arg;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    default:
        return parse_number(key, arg, state);
    }
}

/* --- preparation --- */

static enum at_code create_table(struct at_cbt *cbt, const char *table, struct at_error *reterr)
{
    static const struct at_cbt_method METHOD = {
        "/google.bigtable.admin.v2.BigtableTableAdmin/CreateTable",
        &google__bigtable__admin__v2__table__descriptor, false};
    void *answer = NULL;
    Google__Bigtable__Admin__V2__CreateTableRequest *request =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__create_table_request);
    Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry *entry =
        AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__table__column_families_entry);
    entry->key = at_proto_text("f");
    entry->value = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__column_family);
    entry->value->gc_rule = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__gc_rule);
    entry->value->gc_rule->rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_NUM_VERSIONS;
    entry->value->gc_rule->max_num_versions = 1;
    request->parent = at_proto_text(cbt->instance_name);
    request->table_id = at_proto_text(table);
    request->table = AT_PROTO_NEW(&cbt->arena, google__bigtable__admin__v2__table);
    request->table->n_column_families = 1;
    request->table->column_families = &entry;
    enum at_code code = at_cbt_call(cbt, &METHOD, request, &answer, reterr);
    return code == AT_ALREADY_EXISTS ? AT_OK : code;
}

/* Writes one request as gRPC frames it. */
static enum at_code
write_body(const struct at_bench_config *config, const char *path, struct at_error *reterr)
{
    struct at_bench_request request;
    uint8_t head[5] = {0};
    struct at_clock clock = at_clock_system();
    if (config->work == AT_BENCH_MIXED)
        return at_fail(reterr, AT_INVALID_ARGUMENT, "mixed work has no one request");
    AT_TRY(at_bench_request_init(&request, config->work, config->table, config->profile,
                                 config->value_bytes));
    at_bench_request_set_time(&request, at_clock_wall_ns(&clock) / AT_MS_NS * 1000);
    for (size_t i = 0; i < request.key_count; i++)
        at_bench_request_set_key(&request, i, config->rows / 2 + i);
    at_put_be32(head + 1, (uint32_t)request.bytes.len);
    FILE *out = fopen(path, "w");
    bool ok = out && fwrite(head, 1, sizeof(head), out) == sizeof(head) &&
              fwrite(request.bytes.data, 1, request.bytes.len, out) == request.bytes.len;
    if (out)
        ok = fclose(out) == 0 && ok;
    at_bench_request_deinit(&request);
    return ok ? AT_OK : at_fail(reterr, AT_UNKNOWN, "%s cannot be written", path);
}

/* --- the report --- */

static double ms(uint64_t ns)
{
    return (double)ns / (double)AT_MS_NS;
}

static uint64_t error_count(const struct at_bench_result *r)
{
    uint64_t count = 0;
    for (size_t i = 0; i < AT_CODE_COUNT; i++)
        count += r->errors[i];
    return count;
}

static void print_json(const struct at_bench_config *c, const struct at_bench_result *r)
{
    const char *comma = "";
    const struct at_histogram *h = &r->latency_ns;
    (void)printf("{\"work\":\"%s\",\"seconds\":%.3f,\"calls\":%" PRIu64 ",\"rows\":%" PRIu64
                 ",\"calls_per_s\":%.1f,\"rows_per_s\":%.1f,\"p50_ms\":%.4f,\"p99_ms\":%.4f,"
                 "\"p999_ms\":%.4f,\"max_ms\":%.4f,\"errors\":{",
                 at_bench_work_name(c->work), r->seconds, r->calls, r->rows,
                 (double)r->calls / r->seconds, (double)r->rows / r->seconds,
                 ms(at_histogram_quantile(h, 0.5)), ms(at_histogram_quantile(h, 0.99)),
                 ms(at_histogram_quantile(h, 0.999)), ms(h->max));
    for (uint32_t i = 0; i < AT_CODE_COUNT; i++)
        if (r->errors[i] > 0) {
            (void)printf("%s\"%s\":%" PRIu64, comma, at_code_name((enum at_code)i), r->errors[i]);
            comma = ",";
        }
    (void)puts("}}");
}

static void print_text(const struct at_bench_config *c, const struct at_bench_result *r)
{
    const struct at_histogram *h = &r->latency_ns;
    (void)printf("%s: %" PRIu64 " calls in %.2f s, %.0f calls/s, %.0f rows/s\n"
                 "latency ms: p50 %.3f  p99 %.3f  p99.9 %.3f  max %.3f\n",
                 at_bench_work_name(c->work), r->calls, r->seconds, (double)r->calls / r->seconds,
                 (double)r->rows / r->seconds, ms(at_histogram_quantile(h, 0.5)),
                 ms(at_histogram_quantile(h, 0.99)), ms(at_histogram_quantile(h, 0.999)),
                 ms(h->max));
    for (uint32_t i = 0; i < AT_CODE_COUNT; i++)
        if (r->errors[i] > 0)
            (void)printf("errors: %s %" PRIu64 "\n", at_code_name((enum at_code)i), r->errors[i]);
    if (error_count(r) > 0)
        (void)printf("first error: %s\n", r->first_error.msg);
}

static int run(struct at_cbt *cbt, struct bench_options *o)
{
    struct at_error error;
    struct at_bench_config *c = &o->config;
    AT_CLEANUP(at_free_ptr) struct at_bench_result *result = AT_NEW(struct at_bench_result);
    c->host = cbt->host;
    c->port = cbt->port;
    if (o->prepare) {
        if (create_table(cbt, o->table, &error) != AT_OK)
            return at_cbt_failed("Creating table", &error);
        c->work = AT_BENCH_BULK;
        c->load = true;
    }
    if (at_bench_load(c, result, &error) != AT_OK)
        return at_cbt_failed("Starting", &error);
    if (o->json)
        print_json(c, result);
    else
        print_text(c, result);
    return error_count(result) > 0;
}

int at_command_bench(int argc, char **argv)
{
    static const struct argp ARGP = {
        OPTIONS,
        parse,
        NULL,
        "Drives an endpoint with one kind of call and reports throughput and "
        "latency. Prepare the table first.",
        NULL,
        NULL,
        NULL};
    struct bench_options o = {.endpoint = getenv("BIGTABLE_EMULATOR_HOST"),
                              .table = "bench",
                              .config = {.profile = "",
                                         .connections = 4,
                                         .in_flight = 32,
                                         .threads = 1,
                                         .seconds = 10,
                                         .rows = 100000,
                                         .value_bytes = 100}};
    struct at_error error;
    struct at_cbt cbt;
    int status = 0;
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    at_cbt_init(&cbt);
    cbt.project = o.project ? o.project : cbt.project;
    cbt.instance = o.instance ? o.instance : cbt.instance;
    o.config.table = at_arena_printf(&cbt.arena, "projects/%s/instances/%s/tables/%s", cbt.project,
                                     cbt.instance, o.table);
    if (o.body_path)
        status =
            write_body(&o.config, o.body_path, &error) == AT_OK ? 0 : at_cbt_fatal("%s", error.msg);
    else if (!o.endpoint)
        status = at_cbt_fatal("Missing endpoint: give --endpoint");
    else if (at_cbt_connect(&cbt, o.endpoint, 1, &error) != AT_OK)
        status = at_cbt_fatal("%s", error.msg);
    else
        status = run(&cbt, &o);
    at_cbt_deinit(&cbt);
    return status;
}
